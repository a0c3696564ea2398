//! What is started when, and what becomes of it.

use std::collections::BTreeMap;
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags};
use slipway_bootstrap::config::OnFailure;
use slipway_bootstrap::supervise::Backoff;
use slipway_domain::spec::{self, Event};
use slipway_mach::bootstrap::contact::{self, SOCKET, SOCKET_VARIABLE};
use slipway_mach::bootstrap::{self, Status};
use slipway_mach::task::Task;

use super::config::{System, TaskConfig};
use super::process::Process;
use crate::failure::{Failure, OWN};
use crate::program::Program;
use crate::run::args::RunOptions;
use crate::run::{server, tasks};
use crate::session::Session;
use crate::session::process::wait;
use crate::session::server::Server;

/// How often it is looked whether a service is there that somebody waits for.
const LOOK: Duration = Duration::from_millis(20);

/// Where a task is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Not to be started before then; at once if none is given.
    Waiting(Option<Instant>),
    /// Its host was told to start it.
    Starting(Instant),
    Running(Instant),
    /// It is not started again.
    Over(i32),
}

#[derive(Debug)]
struct Entry {
    config: TaskConfig,
    state: State,
    /// Whether it was ready once.
    ready: bool,
    backoff: Backoff,
    socket: PathBuf,
}

struct Supervisor {
    tasks: Vec<Entry>,
    main: Option<usize>,
    processes: BTreeMap<String, Process>,
    host: Option<Program>,
    session: Session,
    server: Option<Server>,
    /// The name server's port, for looks at services.
    names: u32,
}

/// Runs the system until it is over. Nothing of it is left when this returns.
///
/// # Errors
/// The name server or the host is missing, or a process can't be watched over.
pub fn run(system: System) -> Result<u8, Failure> {
    let host = if system.tasks.iter().any(|task| task.shared) { Some(tasks::program()?) } else { None };
    let session = Session::start("slipway-run-")?;
    let entry = |(at, config): (usize, TaskConfig)| Entry {
        state: State::Waiting(None),
        ready: false,
        backoff: config.program.backoff.clone(),
        socket: match (&config.provides, &config.look_up) {
            (None, None) => session.directory().join(SOCKET),
            _ => session.directory().join(format!("view-{at}")),
        },
        config,
    };
    let mut supervisor = Supervisor {
        tasks: system.tasks.into_iter().enumerate().map(entry).collect(),
        main: system.main,
        processes: BTreeMap::new(),
        host,
        session,
        server: None,
        names: 0,
    };
    let result = supervisor.run();
    supervisor.close();
    result
}

impl Supervisor {
    fn run(&mut self) -> Result<u8, Failure> {
        self.start_server()?;
        loop {
            self.start_tasks()?;
            if let Some(code) = self.verdict() {
                return Ok(u8::try_from(code).unwrap_or(u8::MAX));
            }
            if let Some(code) = self.wait()? {
                return Ok(code);
            }
            self.hear();
            if let Some(how) = self.server.as_mut().and_then(Server::ended) {
                return Err(Failure::new(OWN, format!("{how} while the system runs")));
            }
        }
    }

    fn start_server(&mut self) -> Result<(), Failure> {
        let socket = self.session.directory().join(SOCKET);
        let view = |entry: &Entry| {
            let rules = serde_json::json!({
                "socket": entry.socket, "look-up": entry.config.look_up, "provide": entry.config.provides,
            });
            (entry.socket != socket).then(|| rules.to_string())
        };
        let views: Vec<String> = self.tasks.iter().filter_map(view).collect();
        let server = self.server.insert(server::start(&self.session, &socket, &RunOptions::default(), &views)?);
        self.session.add_server(server)?;
        server::ready(server, &mut self.session.signals)?;
        let own = |error: &dyn std::fmt::Display| Failure::own("the name server", error);
        let (s, t) = contact::greet(&socket).map_err(|error| own(&error))?;
        self.names = Task::current().import(s, t).map_err(|error| own(&error))?;
        Ok(())
    }

    /// Starts what can be started now.
    fn start_tasks(&mut self) -> Result<(), Failure> {
        for at in 0..self.tasks.len() {
            let State::Waiting(due) = self.tasks[at].state else { continue };
            if due.is_some_and(|due| due > Instant::now()) {
                continue;
            }
            let needs = self.tasks[at].config.after.clone();
            if let Some(lost) = needs.iter().find(|need| self.is_lost(**need)) {
                let why = format!("is not started: {}, which it comes after, is not there", self.tasks[*lost].config.name);
                self.failed(at, &why);
            } else if needs.into_iter().all(|need| self.is_ready(need)) {
                self.start(at)?;
            }
        }
        Ok(())
    }

    /// Whether the task will never be ready.
    fn is_lost(&self, at: usize) -> bool {
        matches!(self.tasks[at].state, State::Over(code) if code != 0 && !self.tasks[at].ready)
    }

    /// Whether the task runs and its services are there, or did so before.
    fn is_ready(&mut self, at: usize) -> bool {
        let entry = &self.tasks[at];
        let ready = entry.ready
            || match entry.state {
                State::Running(_) => {
                    let provides = entry.config.provides.iter().flatten().filter(|name| !name.ends_with('*'));
                    let active = |name: &String| bootstrap::status(Task::current(), Some(self.names), name) == Ok(Status::Active);
                    provides.into_iter().all(active)
                }
                State::Over(code) => code == 0,
                State::Waiting(_) | State::Starting(_) => false,
            };
        self.tasks[at].ready = ready;
        ready
    }

    fn start(&mut self, at: usize) -> Result<(), Failure> {
        let entry = &self.tasks[at];
        let (config, now) = (&entry.config, Instant::now());
        let bootstrap = (SOCKET_VARIABLE, entry.socket.as_path());
        let process = config.process.clone();
        let made = match (&self.host, config.shared) {
            (Some(_), true) if self.processes.contains_key(&process) => Ok(None),
            (Some(host), true) => {
                let sharing = self.tasks.iter().filter(|other| other.config.process == process);
                let env = sharing.flat_map(|other| other.config.program.env.clone()).collect();
                Process::host(&self.session, host, &env, bootstrap).map(Some)
            }
            _ => Process::program(&self.session, &config.program, bootstrap).map(Some),
        };
        match made {
            Ok(None) => {}
            Ok(Some(made)) => _ = self.processes.insert(process.clone(), made),
            Err(error) => {
                let why = format!("cannot execute {}: {error}", config.program.program.display());
                self.ended(at, 127, &why);
                return Ok(());
            }
        }
        if !config.shared {
            self.tasks[at].state = State::Running(now);
            return Ok(());
        }
        let task = spec::Task {
            name: config.name.clone(),
            file: config.program.program.clone(),
            args: config.program.args.clone(),
            bootstrap: Some(entry.socket.clone()),
        };
        if let Some(process) = self.processes.get_mut(&process) {
            process.start(task);
        }
        self.tasks[at].state = State::Starting(now);
        Ok(())
    }

    /// Waits until something happens. The exit code, if that is a signal that ends the system.
    fn wait(&mut self) -> Result<Option<u8>, Failure> {
        let now = Instant::now();
        let due = self.tasks.iter().filter_map(|entry| match entry.state {
            // What waits for another task, and not for a time, is looked at again soon.
            State::Waiting(due) => Some(due.filter(|due| *due > now).unwrap_or(now + LOOK)),
            _ => None,
        });
        let deadline = due.min();
        let mut fds = vec![PollFd::from_borrowed_fd(self.session.signals.as_fd(), PollFlags::IN)];
        for process in self.processes.values() {
            fds.push(PollFd::from_borrowed_fd(process.process.pidfd.as_fd(), PollFlags::IN));
            fds.extend(process.events_fd().map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)));
        }
        wait(&mut fds, deadline).map_err(|error| Failure::own("waiting for the tasks", error))?;
        Ok(self.session.signals.take().first().map(|request| u8::try_from(128 + request.number).unwrap_or(OWN)))
    }

    /// Takes note of what has happened.
    fn hear(&mut self) {
        let names: Vec<String> = self.processes.keys().cloned().collect();
        for name in names {
            let Some(process) = self.processes.get_mut(&name) else { continue };
            // Before what it said: what it said before its end is read in any case.
            let ending = process.process.ended();
            for event in process.events() {
                self.take(event);
            }
            let Some(ending) = ending else { continue };
            self.processes.remove(&name);
            for at in self.living_in(&name) {
                let loading = matches!(self.tasks[at].state, State::Starting(_));
                let file = self.tasks[at].config.program.program.display().to_string();
                let why = match (self.tasks[at].config.shared, loading) {
                    (true, true) => format!("{file}: its process {ending} while the task was loaded"),
                    (true, false) => format!("its process {ending}"),
                    (false, _) => ending.to_string(),
                };
                // A host ends by itself only when it is told to.
                let code = if ending.code() == 0 && self.tasks[at].config.shared { 1 } else { ending.code() };
                self.ended(at, code, &why);
            }
        }
    }

    /// The tasks that are in a process.
    fn living_in(&self, process: &str) -> Vec<usize> {
        let lives = |entry: &Entry| matches!(entry.state, State::Starting(_) | State::Running(_));
        let all = self.tasks.iter().enumerate();
        all.filter(|(_, entry)| entry.config.process == process && lives(entry)).map(|(at, _)| at).collect()
    }

    fn take(&mut self, event: Event) {
        let at = |tasks: &[Entry], name: &str| tasks.iter().position(|entry| entry.config.name == name);
        match event {
            Event::Started(name) => {
                if let Some(at) = at(&self.tasks, &name)
                    && let State::Starting(since) = self.tasks[at].state
                {
                    self.tasks[at].state = State::Running(since);
                }
            }
            Event::Failed(name, why) => {
                if let Some(at) = at(&self.tasks, &name) {
                    // Neither a file that is no task nor a missing symbol gets better by waiting.
                    let why = format!("{}: {why}", self.tasks[at].config.program.program.display());
                    self.failed(at, &why);
                }
            }
            Event::Ended(name, code) => {
                if let Some(at) = at(&self.tasks, &name) {
                    self.ended(at, code, &format!("ended with code {code}"));
                }
            }
        }
    }

    /// A task will not run again.
    fn failed(&mut self, at: usize, why: &str) {
        eprintln!("slipway: {}: {why}", self.tasks[at].config.name);
        self.tasks[at].state = State::Over(1);
    }

    /// A task ended: it starts again or not, as its configuration says.
    fn ended(&mut self, at: usize, code: i32, why: &str) {
        let entry = &mut self.tasks[at];
        let (State::Starting(since) | State::Running(since) | State::Waiting(Some(since))) = entry.state else {
            return self.failed(at, why);
        };
        if !entry.config.program.restart.applies(code) {
            entry.state = State::Over(code);
            if code != 0 && self.main != Some(at) {
                eprintln!("slipway: {}: {why}", entry.config.name);
            }
            return;
        }
        let pause = entry.backoff.pause(since.elapsed());
        entry.state = State::Waiting(Some(Instant::now() + pause));
        eprintln!("slipway: {}: {why}; it starts again in {} s", entry.config.name, pause.as_secs_f64());
    }

    /// The exit code, if the system is over.
    fn verdict(&self) -> Option<i32> {
        let over = |entry: &Entry| match entry.state {
            State::Over(code) => Some(code),
            _ => None,
        };
        if let Some(code) = self.main.and_then(|main| over(&self.tasks[main])) {
            return Some(code);
        }
        let failed = |entry: &&Entry| over(entry).is_some_and(|code| code != 0);
        if let Some(entry) = self.tasks.iter().find(|entry| failed(entry) && entry.config.on_failure == OnFailure::Stop) {
            eprintln!("slipway: {} has failed: all is stopped", entry.config.name);
            return over(entry);
        }
        let codes: Option<Vec<i32>> = self.tasks.iter().map(over).collect();
        codes.map(|codes| codes.into_iter().find(|code| *code != 0).unwrap_or(0))
    }

    /// Ends everything. Later tasks may need the earlier ones while they end.
    fn close(mut self) {
        let mut left: BTreeMap<&str, _> = self.processes.iter_mut().map(|(name, it)| (name.as_str(), &mut it.process)).collect();
        let mut processes: Vec<_> =
            self.tasks.iter().rev().filter_map(|entry| left.remove(entry.config.process.as_str())).collect();
        self.session.close(&mut processes, self.server.as_mut());
    }
}
