//! The server's loop: connections, requests, notifications, and the programs that serve.

use crate::{
    config::{Directory, Program},
    job::Surroundings,
    mach,
    registry::Registry,
    seat::Seat,
    view::{self, View},
};
use anyhow::{Context, Result, anyhow};
use rustix::{
    event::{PollFd, PollFlags, Timespec},
    io::Errno,
};
use slipway_mach::{
    abi::{Code, right, types},
    bootstrap::protocol::{self, Answer, Request, u32_at},
    task::Task,
};
use std::{
    ffi::OsStr,
    os::{
        fd::{AsFd, BorrowedFd, OwnedFd},
        unix::net::UnixStream,
    },
    time::Instant,
};

/// Messages that are handled before connections are looked at again.
const BATCH: usize = 64;

/// A name server.
#[derive(Debug)]
pub struct Server {
    task: Task,
    seat: Seat,
    /// What clients have a send right to.
    port: u32,
    views: Vec<View>,
    /// All that the server receives from.
    set: u32,
    bell: OwnedFd,
    registry: Registry,
    directories: Vec<Directory>,
}

fn mach_error(what: &str) -> impl FnOnce(Code) -> anyhow::Error + '_ {
    move |code| anyhow!("{what}: {code}")
}

impl Server {
    /// A server at the seat, with the programs of the directories and some more.
    pub fn new(seat: Seat, directories: Vec<Directory>, programs: Vec<Program>, views: Vec<view::Options>) -> Result<Self> {
        let task = Task::current();
        let set = task.allocate(right::PORT_SET).map_err(mach_error("port set"))?;
        let [port, notify] =
            [task.allocate(right::RECEIVE), task.allocate(right::RECEIVE)].map(|made| made.map_err(mach_error("port")));
        let (port, notify) = (port?, notify?);
        for member in [port, notify] {
            task.move_member(member, set).map_err(mach_error("port set"))?;
        }
        let open = |options| {
            let port = task.allocate(right::RECEIVE).map_err(mach_error("port"))?;
            task.move_member(port, set).map_err(mach_error("port set"))?;
            View::open(options, port)
        };
        let views = views.into_iter().map(open).collect::<Result<_>>()?;
        let bell = task.pollable(set).context("port set")?;
        let registry = Registry::new(task, notify, set);
        let mut server = Self { task, seat, port, views, set, bell, registry, directories };
        server.read_directories();
        server.configure(programs);
        Ok(server)
    }

    fn read_directories(&mut self) {
        for i in 0..self.directories.len() {
            let (programs, wrong) = self.directories[i].read();
            wrong.iter().for_each(|text| eprintln!("slipway-bootstrap: {text}"));
            self.configure(programs);
        }
    }

    fn configure(&mut self, programs: Vec<Program>) {
        for program in programs {
            let name = program.name.clone();
            if let Err(code) = self.registry.configure(program) {
                eprintln!("slipway-bootstrap: {name}: {}", slipway_mach::bootstrap::describe(code));
            }
        }
    }

    /// Serves until `stop` is readable. `reload` is readable when the service files are to be read again. `socket` is
    /// told to programs, if it isn't the user's own server's.
    pub fn run(&mut self, stop: &UnixStream, reload: &UnixStream, socket: Option<&OsStr>, shares_output: bool) -> Result<()> {
        let variable = socket.map(|socket| (slipway_mach::bootstrap::contact::SOCKET_VARIABLE, socket));
        let surroundings = Surroundings { variable, shares_output };
        loop {
            let ready = self.wait(stop.as_fd(), reload.as_fd())?;
            if ready.stop {
                return Ok(());
            }
            if ready.reload {
                let _ = rustix::io::read(reload, &mut [0; 64]);
                self.read_directories();
            }
            if ready.clients {
                self.seat.welcome(self.task, self.port);
                self.views.iter_mut().for_each(|view| view.seat.welcome(self.task, view.port));
            }
            if ready.messages {
                self.take_messages();
            }
            self.look_after_jobs(&surroundings);
        }
    }

    fn wait(&mut self, stop: BorrowedFd<'_>, reload: BorrowedFd<'_>) -> Result<Ready> {
        let now = Instant::now();
        let mut fds = vec![
            PollFd::from_borrowed_fd(stop, PollFlags::IN),
            PollFd::from_borrowed_fd(reload, PollFlags::IN),
            PollFd::from_borrowed_fd(self.seat.listener(), PollFlags::IN),
            PollFd::new(&self.bell, PollFlags::IN),
        ];
        fds.extend(self.views.iter().map(|view| PollFd::from_borrowed_fd(view.seat.listener(), PollFlags::IN)));
        let views = 4..fds.len();
        let mut due: Option<Instant> = None;
        for own in self.registry.own() {
            let Some(job) = &own.job else { continue };
            fds.extend(job.pidfd().map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)));
            fds.extend(own.bell.as_ref().filter(|_| job.is_idle()).map(|fd| PollFd::new(fd, PollFlags::IN)));
            due = [due, job.due(now)].into_iter().flatten().min();
        }
        let timeout = due.map(|due| {
            let left = due.saturating_duration_since(now);
            Timespec { tv_sec: left.as_secs() as i64, tv_nsec: i64::from(left.subsec_nanos()) }
        });
        match rustix::event::poll(&mut fds, timeout.as_ref()) {
            Ok(_) => {}
            Err(Errno::INTR) => return Ok(Ready::default()),
            Err(error) => return Err(error).context("poll"),
        }
        let is = |i: usize| !fds[i].revents().is_empty();
        Ok(Ready { stop: is(0), reload: is(1), clients: is(2) || views.into_iter().any(is), messages: is(3) })
    }

    fn take_messages(&mut self) {
        for _ in 0..BATCH {
            // After the last one the bell is quiet.
            let Some(message) = mach::receive(self.task, self.set) else { return };
            let at = u32_at(&message, 16);
            let view = self.views.iter().position(|view| view.port == at);
            if at == self.port || view.is_some() {
                self.answer(&message, view);
            } else {
                self.registry.notified(at, &message);
                self.drop_reply(&message);
            }
        }
    }

    fn drop_reply(&self, message: &[u8]) {
        let reply = u32_at(message, 8);
        protocol::discard_right(self.task, reply, types::PORT_SEND);
    }

    fn answer(&mut self, message: &[u8], view: Option<usize>) {
        let reply = (u32_at(message, 8), u32_at(message, 0) & 0xff);
        if reply.0 == 0 {
            return protocol::discard(self.task, message);
        }
        let answer = Request::decode(message).and_then(|request| {
            if let Some(view) = view {
                self.views[view].check(&request)?;
            }
            match self.registry.handle(&request) {
                // The user may have just written its file.
                Err(protocol::UNKNOWN_SERVICE) if self.directories.iter().any(Directory::has_changed) => {
                    self.read_directories();
                    self.registry.handle(&request)
                }
                other => other,
            }
        });
        let answer = match (answer, view) {
            (Ok(Answer::Services(mut services)), Some(view)) => {
                services.retain(|service| self.views[view].shows(service));
                Ok(Answer::Services(services))
            }
            (answer, _) => answer,
        };
        if answer.is_err() {
            protocol::discard(self.task, message);
        }
        let out = protocol::encode_reply(protocol::message_id(message), reply, &answer);
        match mach::send(self.task, out) {
            // The rights went with the message, or came back when it did.
            Ok(()) | Err(Code::SEND_TIMED_OUT) => {}
            Err(_) => self.drop_reply(message),
        }
    }

    /// Starts programs that are wanted, and notes which have ended.
    fn look_after_jobs(&mut self, surroundings: &Surroundings<'_>) {
        let (task, now) = (self.task, Instant::now());
        for own in self.registry.own() {
            let Some(job) = &own.job else { continue };
            let calls = job.is_idle() && own.bell.as_ref().is_some_and(rings) && own.is_wanted(task);
            let Some(job) = &mut own.job else { continue };
            job.reap(now);
            if calls {
                job.want();
            }
            job.start_if_due(now, surroundings);
        }
    }
}

fn rings(bell: &OwnedFd) -> bool {
    let mut fds = [PollFd::new(bell, PollFlags::IN)];
    rustix::event::poll(&mut fds, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })).is_ok_and(|n| n > 0)
}

/// What there is to do.
#[derive(Debug, Default)]
struct Ready {
    stop: bool,
    reload: bool,
    clients: bool,
    messages: bool,
}
