//! The tasks of a command line: started in their order, until the last one ends.

use crate::{News, hooks, library::Library, task};
use slipway_domain::spec::Task;
use std::{
    collections::{BTreeMap, BTreeSet},
    process::ExitCode,
    sync::mpsc,
    time::{Duration, Instant},
};

/// How long the next task waits for one that neither serves nor ends.
const HEAD_START: Duration = Duration::from_secs(1);
/// How often it is looked at meanwhile.
const LOOK: Duration = Duration::from_millis(1);

/// What is known of the tasks.
#[derive(Default)]
struct Known {
    names: BTreeMap<u32, String>,
    ended: BTreeSet<u32>,
    /// The one whose end is that of all, once it is started.
    last: Option<u32>,
    /// The code that it ended with.
    code: Option<i32>,
}

impl Known {
    fn hear(&mut self, news: News) {
        match news {
            News::Task(task::News::Ended(number, code)) => {
                self.ended.insert(number);
                if self.last == Some(number) {
                    self.code = Some(code);
                } else if code != 0 {
                    let name = self.names.get(&number).map_or("a task", String::as_str);
                    eprintln!("slipway: {name}: ended with code {code}");
                }
            }
            // As with a process: its entry has left by pthread_exit.
            News::Task(task::News::Alone(number)) => task::end(number, 0),
            News::Task(task::News::Over(number)) => task::unload(number),
            News::Command(_) | News::Alone => {}
        }
    }
}

/// Runs tasks until the last one ends. Each is started when the one before it serves or has ended, so that a client finds
/// the services of the servers before it.
///
/// # Errors
/// One can't be loaded: which, and why.
pub fn run(
    tasks: Vec<Task>,
    library: &'static Library,
    send: &mpsc::Sender<News>,
    receive: &mpsc::Receiver<News>,
) -> Result<ExitCode, String> {
    let mut known = Known::default();
    let mut before = None;
    for task in tasks {
        let since = Instant::now();
        while before.is_some_and(|number| !known.ended.contains(&number) && !library.waits_for_requests(number))
            && since.elapsed() < HEAD_START
        {
            receive.recv_timeout(LOOK).into_iter().for_each(|news| known.hear(news));
        }
        let shown = task.file.display().to_string();
        let send = send.clone();
        let tell = move |news| drop(send.send(News::Task(news)));
        let number = task::start(task, library, tell).map_err(|why| format!("{shown}: {why}"))?;
        known.names.insert(number, shown);
        before = Some(number);
    }
    known.last = before;
    while known.code.is_none()
        && let Ok(news) = receive.recv()
    {
        known.hear(news);
    }
    hooks::end(known.code.unwrap_or(0))
}
