//! Which services there are, and who serves them.
//!
//! A service is either *registered*, by a task that has the receive right, or the server's *own*: created on a task's
//! request or configured. The receive right of an own service goes to the task that checks in, with a request
//! to have it back, so that its senders are not cut off when that task ends.

use crate::{config::Program, job::Job, mach};
use slipway_mach::{
    abi::{Code, kind, notify, right, types},
    bootstrap::{
        Service, ServiceName, Status,
        protocol::{self, Answer, Request, u32_at},
    },
    task::Task,
};
use std::{collections::BTreeMap, os::fd::OwnedFd};

/// All services.
#[derive(Debug)]
pub struct Registry {
    task: Task,
    /// Where dead names are told.
    notify: u32,
    /// The set that ports are put into that the server receives from.
    set: u32,
    services: BTreeMap<ServiceName, Entry>,
}

#[derive(Debug)]
enum Entry {
    /// The name of a send right, one reference of which is the entry's.
    Registered(u32),
    Own(Own),
}

/// A service of the server's own.
#[derive(Debug)]
pub struct Own {
    /// A send right, and the receive right while no task has checked in.
    port: u32,
    /// Where the receive right comes back: a receive right.
    home: u32,
    /// The program that serves it, if it is configured.
    pub job: Option<Box<Job>>,
    /// Readable while messages may wait for the program to be started.
    pub bell: Option<OwnedFd>,
}

impl Registry {
    /// An empty one. Notifications of dead names go to `notify`; ports to be received from are put into `set`.
    pub fn new(task: Task, notify: u32, set: u32) -> Self {
        Self { task, notify, set, services: BTreeMap::new() }
    }

    /// Answers a request. Rights in it that are not kept are the caller's to give up.
    pub fn handle(&mut self, request: &Request) -> Result<Answer, Code> {
        if let Some(name) = request.name() {
            self.look_for_death(name);
        }
        match request {
            Request::LookUp(name) => match self.services.get(name).ok_or(protocol::UNKNOWN_SERVICE)? {
                Entry::Registered(port) | Entry::Own(Own { port, .. }) => Ok(Answer::Right(*port, types::COPY_SEND)),
            },
            Request::Status(name) => {
                let entry = self.services.get(name).ok_or(protocol::UNKNOWN_SERVICE)?;
                Ok(Answer::Status(self.status(entry)))
            }
            Request::Register(name, 0) => self.forget(name),
            Request::Register(name, port) => self.register(name, *port),
            Request::CreateService(name) if self.services.contains_key(name) => Err(protocol::NAME_IN_USE),
            Request::CreateService(name) => {
                let own = self.make(None).map_err(|_| protocol::NO_MEMORY)?;
                let port = own.port;
                self.services.insert(name.clone(), Entry::Own(own));
                Ok(Answer::Right(port, types::COPY_SEND))
            }
            Request::CheckIn(name) => self.check_in(name),
            Request::Info => Ok(Answer::Services(self.list())),
        }
    }

    fn register(&mut self, name: &ServiceName, port: u32) -> Result<Answer, Code> {
        if self.services.contains_key(name) {
            return Err(protocol::NAME_IN_USE);
        }
        mach::tell_death(self.task, port, self.notify)?;
        self.services.insert(name.clone(), Entry::Registered(port));
        Ok(Answer::Done)
    }

    fn forget(&mut self, name: &ServiceName) -> Result<Answer, Code> {
        match self.services.get(name).ok_or(protocol::UNKNOWN_SERVICE)? {
            Entry::Own(Own { job: Some(_), .. }) => return Err(protocol::NOT_PRIVILEGED),
            Entry::Own(own) if !own.is_here(self.task) => return Err(protocol::SERVICE_ACTIVE),
            Entry::Own(_) | Entry::Registered(_) => {}
        }
        match self.services.remove(name) {
            Some(Entry::Registered(port)) => drop(self.task.deallocate(port)),
            Some(Entry::Own(own)) => self.unmake(&own),
            None => {}
        }
        Ok(Answer::Done)
    }

    fn check_in(&mut self, name: &ServiceName) -> Result<Answer, Code> {
        let task = self.task;
        match self.services.get_mut(name).ok_or(protocol::UNKNOWN_SERVICE)? {
            Entry::Own(own) if own.is_here(task) => {
                mach::want_back(task, own.port, own.home).map_err(|_| protocol::NO_MEMORY)?;
                own.job.iter_mut().for_each(|job| job.served());
                // It would ring for ever: nothing more is received here.
                own.bell = None;
                Ok(Answer::Right(own.port, types::MOVE_RECEIVE))
            }
            Entry::Own(_) | Entry::Registered(_) => Err(protocol::SERVICE_ACTIVE),
        }
    }

    /// Makes a service known that is served by a program, or gives one that is known another program. A service
    /// that a task registered keeps its port.
    pub fn configure(&mut self, program: Program) -> Result<(), Code> {
        let name = program.name.clone();
        match self.services.get_mut(&name) {
            Some(Entry::Own(Own { job: Some(job), .. })) => job.program = program,
            Some(Entry::Own(own)) => own.job = Some(Box::new(Job::new(program))),
            Some(Entry::Registered(_)) => return Err(protocol::NAME_IN_USE),
            None => {
                let own = self.make(Some(Box::new(Job::new(program)))).map_err(|_| protocol::NO_MEMORY)?;
                self.services.insert(name.clone(), Entry::Own(own));
            }
        }
        if let Some(Entry::Own(own)) = self.services.get_mut(&name)
            && own.bell.is_none()
            && own.is_here(self.task)
        {
            own.bell = self.task.pollable(own.port).ok();
        }
        Ok(())
    }

    fn make(&self, job: Option<Box<Job>>) -> Result<Own, Code> {
        let own =
            Own { port: mach::port_with_send_right(self.task)?, home: self.task.allocate(right::RECEIVE)?, job, bell: None };
        let made = self.task.move_member(own.home, self.set);
        match made.and_then(|()| mach::tell_death(self.task, own.port, self.notify)) {
            Ok(()) => Ok(own),
            Err(code) => {
                self.unmake(&own);
                Err(code)
            }
        }
    }

    fn unmake(&self, own: &Own) {
        // No request for its return is left once it is not wanted back.
        let _ = self.task.destroy(own.home);
        let _ = self.task.destroy(own.port);
    }

    fn status(&self, entry: &Entry) -> Status {
        match entry {
            Entry::Own(own) if !own.is_here(self.task) => Status::Active,
            Entry::Own(own) if own.job.is_some() => Status::OnDemand,
            Entry::Own(_) => Status::Inactive,
            Entry::Registered(_) => Status::Active,
        }
    }

    fn list(&self) -> Vec<Service> {
        let services = self.services.iter().map(|(name, entry)| {
            let job = match entry {
                Entry::Own(own) => own.job.as_deref(),
                Entry::Registered(_) => None,
            };
            Service {
                name: name.clone(),
                status: self.status(entry),
                program: job.map(|job| job.program.shown().into_bytes()).unwrap_or_default(),
                note: job.map(|job| job.note().as_bytes().to_vec()).unwrap_or_default(),
            }
        });
        services.collect()
    }

    /// A notification came to one of the server's ports. Rights in it that are not kept are given up.
    pub fn notified(&mut self, at: u32, message: &[u8]) {
        // A name or a right follows the type of the only item.
        let name = u32_at(message, 40);
        match protocol::message_id(message) {
            notify::DEAD_NAME if at == self.notify => self.bury(name),
            notify::PORT_DESTROYED if self.comes_home(at, name) => {}
            _ => protocol::discard(self.task, message),
        }
    }

    /// Whether `name` is the receive right of the service whose home `at` is; it is looked after again then.
    fn comes_home(&mut self, at: u32, name: u32) -> bool {
        let task = self.task;
        let Some(own) = self.own().find(|own| own.home == at && own.port == name) else { return false };
        if own.job.is_some() {
            own.bell = task.pollable(own.port).ok();
        }
        true
    }

    /// A port may have died without that having been told yet.
    fn look_for_death(&mut self, name: &ServiceName) {
        if let Some(Entry::Registered(port) | Entry::Own(Own { port, .. })) = self.services.get(name) {
            let port = *port;
            if self.is_dead(port) {
                self.bury(port);
            }
        }
    }

    fn is_dead(&self, name: u32) -> bool {
        self.task.kind(name).is_ok_and(|it| it & kind::DEAD_NAME != 0)
    }

    /// A port is dead: so are the services that were registered with it, while own ones get another port.
    fn bury(&mut self, name: u32) {
        // A notification that some task made up names what it likes.
        if !self.is_dead(name) {
            return;
        }
        self.services.retain(|_, entry| !matches!(entry, Entry::Registered(port) if *port == name));
        let _ = self.task.destroy(name);
        let (task, notify) = (self.task, self.notify);
        for own in self.own().filter(|own| own.port == name) {
            let Ok(port) = mach::port_with_send_right(task) else { continue };
            let _ = mach::tell_death(task, port, notify);
            own.port = port;
            own.bell = own.job.as_ref().and_then(|_| task.pollable(port).ok());
        }
    }

    /// The services of the server's own.
    pub fn own(&mut self) -> impl Iterator<Item = &mut Own> {
        self.services.values_mut().filter_map(|entry| match entry {
            Entry::Own(own) => Some(own),
            Entry::Registered(_) => None,
        })
    }
}

impl Own {
    /// Whether the server has the receive right: no task has checked in, or the one that had is gone.
    fn is_here(&self, task: Task) -> bool {
        task.kind(self.port).is_ok_and(|it| it & kind::RECEIVE != 0)
    }

    /// Whether a message waits for a program to be started: the server has the receive right, and its queue is not empty.
    pub fn is_wanted(&self, task: Task) -> bool {
        mach::has_message(task, self.port)
    }
}
