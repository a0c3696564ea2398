//! The server's loop: connections, requests, notifications, and the programs that serve.

use crate::{
    clients::{Clients, Limits},
    handler::Handler,
    job::Surroundings,
    mach,
    registry::Registry,
    services::{Directory, Service},
    socket::ServerSocket,
    view::{self, View},
};
use anyhow::{Context, Result, anyhow};
use rustix::{
    event::{PollFd, PollFlags, Timespec},
    io::Errno,
    process::{Resource, getrlimit},
};
use slipway_mach::{
    abi::{Code, notify, right},
    bootstrap::{interface, listing},
    mig,
    rights::{PortSet, Received},
    task::Task,
};
use std::{
    ffi::OsStr,
    os::{
        fd::{AsFd, BorrowedFd, OwnedFd},
        unix::net::UnixStream,
    },
    time::{Duration, Instant},
};

/// Messages that are handled before connections are looked at again.
const BATCH: usize = 64;
/// What is received of a message at most, in bytes: requests are shorter, and a longer one is destroyed whole.
const LONGEST: usize = 64 << 10;

/// A name server.
#[derive(Debug)]
pub struct Server {
    task: Task,
    socket: ServerSocket,
    clients: Clients,
    pub(crate) views: Vec<View>,
    /// All that the server receives from.
    set: PortSet,
    bell: OwnedFd,
    pub(crate) registry: Registry,
    directories: Vec<Directory>,
}

fn mach_error(what: &str) -> impl FnOnce(Code) -> anyhow::Error + '_ {
    move |code| anyhow!("{what}: {code}")
}

impl Server {
    /// A server at the socket, with the services of the directories and some more.
    pub fn new(
        socket: ServerSocket,
        directories: Vec<Directory>,
        services: Vec<Service>,
        views: Vec<view::Options>,
    ) -> Result<Self> {
        let task = Task::current();
        let set = task.allocate(right::PORT_SET).map_err(mach_error("port set"))?;
        let notify = mach::port_in_set(task, set).map_err(mach_error("port"))?;
        let views = views.into_iter().map(View::open).collect::<Result<_>>()?;
        let bell = task.pollable(set).context("port set")?;
        let all = PortSet::from_name(task, set);
        let descriptors = getrlimit(Resource::Nofile).current.and_then(|limit| limit.try_into().ok());
        let limits = Limits::of(descriptors.unwrap_or(usize::MAX));
        let (clients, registry) = (Clients::new(task, set, limits), Registry::new(task, notify, set, limits));
        let mut server = Self { task, socket, clients, views, set: all, bell, registry, directories };
        server.read_directories();
        server.configure(services);
        Ok(server)
    }

    /// Reads the service files again if some may be new. Whether that was so.
    pub(crate) fn has_new_files(&mut self) -> bool {
        let changed = self.directories.iter().any(Directory::has_changed);
        if changed {
            self.read_directories();
        }
        changed
    }

    fn read_directories(&mut self) {
        for i in 0..self.directories.len() {
            let (services, wrong) = self.directories[i].read();
            wrong.iter().for_each(|text| eprintln!("slipway-bootstrap: {text}"));
            self.configure(services);
        }
    }

    fn configure(&mut self, services: Vec<Service>) {
        for service in services {
            let name = service.name.clone();
            if let Err(code) = self.registry.configure(service) {
                eprintln!("slipway-bootstrap: {name}: {}", slipway_mach::bootstrap::describe(code));
            }
        }
    }

    /// Serves until `stop` is readable. `reload` is readable when the service files are to be read again. `socket` is
    /// told to programs, if it isn't the user's own server's.
    pub fn run(&mut self, stop: &UnixStream, reload: &UnixStream, socket: Option<&OsStr>, shares_output: bool) -> Result<()> {
        let variable = socket.map(|socket| (slipway_mach::bootstrap::contact::SOCKET_VARIABLE, socket));
        let path = self.socket.path().to_owned();
        let surroundings = Surroundings { task: self.task, set: self.set.name(), socket: &path, variable, shares_output };
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
                let clients = &mut self.clients;
                self.socket.welcome(|connection| clients.welcome(connection, None));
                for (number, view) in self.views.iter_mut().enumerate() {
                    view.socket.welcome(|connection| clients.welcome(connection, Some(number)));
                }
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
            PollFd::from_borrowed_fd(self.socket.listener(), PollFlags::IN),
            PollFd::new(&self.bell, PollFlags::IN),
        ];
        fds.extend(self.views.iter().map(|view| PollFd::from_borrowed_fd(view.socket.listener(), PollFlags::IN)));
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
            let mut message = match self.set.receive_at_most(LONGEST, Some(Duration::ZERO)) {
                Ok(message) => message,
                Err(error) if error.code == Code::RCV_TOO_LARGE => continue,
                Err(_) => return,
            };
            let at = message.port();
            match self.clients.view(at) {
                Some(_) if message.is_notification(notify::NO_SENDERS) => {
                    if message.next_int().is_some_and(|made| self.clients.has_no_senders(at, made)) {
                        self.registry.client_gone(at);
                    }
                }
                Some(view) => self.answer(message, at, view),
                None if self.registry.is_jobs(at) => self.answer(message, at, None),
                None => self.registry.notified(at, message),
            }
        }
    }

    fn answer(&mut self, message: Received, at: u32, view: Option<usize>) {
        let mut handler = Handler::new(self, &message, at, view);
        let answer = interface::demux(&mut handler, message).or_else(|message| listing::demux(&mut handler, *message));
        // A client that is gone has nothing to be told.
        let _ = answer.unwrap_or_else(|message| mig::refuse(*message)).send_at_once();
    }

    /// Starts programs that are wanted, and notes which have ended.
    fn look_after_jobs(&mut self, surroundings: &Surroundings<'_>) {
        let (task, now, mut gone) = (self.task, Instant::now(), Vec::new());
        for own in self.registry.own() {
            let Some(job) = &own.job else { continue };
            let calls = job.is_idle() && own.bell.as_ref().is_some_and(rings) && own.is_wanted(task);
            let Some(job) = &mut own.job else { continue };
            job.reap(now);
            if calls {
                job.want();
            }
            gone.extend(job.start_if_due(now, surroundings));
        }
        gone.into_iter().for_each(|port| self.registry.client_gone(port));
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
