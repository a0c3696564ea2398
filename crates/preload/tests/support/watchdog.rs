//! Nothing here waits for ever.

use std::{
    io::Read,
    os::unix::process::CommandExt,
    process::{Command, ExitStatus},
    sync::{Mutex, PoisonError, mpsc},
    thread,
    time::Duration,
};

use rustix::process::{Pid, Signal, kill_process_group};

/// After this many seconds something hangs: a watchdog, not a measure of speed.
const PATIENCE: Duration = Duration::from_secs(600);

/// The same for a test that doesn't come any further.
const STEP: Duration = Duration::from_secs(240);

/// Runs a command to its end in a process group of its own, which is killed if it hangs.
pub fn output(mut command: Command, what: &str) -> (ExitStatus, String, String) {
    let mut child = command.process_group(0).spawn().unwrap_or_else(|error| panic!("start {what}: {error}"));
    let (mut out, mut err) = (child.stdout.take().expect("piped"), child.stderr.take().expect("piped"));
    let group = Pid::from_child(&child);
    let (done, over) = mpsc::channel::<()>();
    let guard = thread::spawn({
        let what = what.to_owned();
        move || {
            if over.recv_timeout(PATIENCE) == Err(mpsc::RecvTimeoutError::Timeout) {
                eprintln!("watchdog: {what} hangs and is killed");
                let _ = kill_process_group(group, Signal::KILL);
            }
        }
    });
    let reader = thread::spawn(move || {
        let mut text = Vec::new();
        let _ = err.read_to_end(&mut text);
        String::from_utf8_lossy(&text).into_owned()
    });
    let mut text = Vec::new();
    let _ = out.read_to_end(&mut text);
    let errors = reader.join().expect("read standard error");
    let status = child.wait().expect("wait");
    drop(done);
    guard.join().expect("the watchdog");
    (status, String::from_utf8_lossy(&text).into_owned(), errors)
}

static DOING: Mutex<(String, usize)> = Mutex::new((String::new(), 0));

/// Says what the test does now, for the message of a watchdog that bites.
pub fn doing(what: impl Into<String>) {
    *DOING.lock().unwrap_or_else(PoisonError::into_inner) = (what.into(), 0);
}

/// Says how far it has come.
pub fn at_step(step: usize) {
    DOING.lock().unwrap_or_else(PoisonError::into_inner).1 = step;
}

/// Ends the process with a message if the guard isn't dropped in time, and the test says nothing new of how far it has come.
pub struct Step(Option<mpsc::Sender<()>>);

impl Step {
    /// Begins a step; what it does can be told by [`doing`].
    pub fn begin(name: &'static str) -> Self {
        let (sender, over) = mpsc::channel();
        thread::spawn(move || {
            let mut last = None;
            while over.recv_timeout(STEP) == Err(mpsc::RecvTimeoutError::Timeout) {
                let doing = DOING.lock().unwrap_or_else(PoisonError::into_inner).clone();
                if last.as_ref() == Some(&doing) {
                    eprintln!("watchdog: {name} hangs at step {} of: {}", doing.1, doing.0);
                    std::process::abort();
                }
                last = Some(doing);
            }
        });
        Self(Some(sender))
    }
}

impl Drop for Step {
    fn drop(&mut self) {
        self.0.take();
    }
}
