//! Which services there are, and what serves them.
//!
//! A service is either *registered*, by a task that has the receive right, or the server's *own*: created on a task's
//! request or configured. The receive right of an own service goes to the task that checks in, with a request
//! to have it back, so that its senders are not cut off when that task ends.

use crate::{clients::Limits, job::Job, mach, services::Service as Configured};
use slipway_bootstrap::config::Program;
use slipway_mach::{
    abi::{self, Code, kind, notify},
    bootstrap::{Service, ServiceName, Status, protocol},
    rights::{Part, ReceiveRight, Received, SendRight},
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
    limits: Limits,
    /// How many services are held for a client, by its port.
    charged: BTreeMap<u32, usize>,
}

/// In place of a client's port: what clients left that are gone.
const ABSENT: u32 = abi::NULL;

#[derive(Debug)]
enum Entry {
    /// The name of a send right, one reference of which is the entry's; and the client that it is charged to.
    Registered(u32, u32),
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
    /// The client that it is charged to, if one created it.
    client: Option<u32>,
}

impl Registry {
    /// An empty one. Notifications of dead names go to `notify`; ports to be received from are put into `set`.
    pub fn new(task: Task, notify: u32, set: u32, limits: Limits) -> Self {
        Self { task, notify, set, services: BTreeMap::new(), limits, charged: BTreeMap::new() }
    }

    /// Whether the port is one that a program of a job asks by.
    pub fn is_jobs(&self, port: u32) -> bool {
        self.programs(port).next().is_some()
    }

    /// A send right to a service.
    ///
    /// # Errors
    /// `UNKNOWN_SERVICE`; `NO_MEMORY`.
    pub fn look_up(&mut self, name: &ServiceName) -> Result<SendRight, Code> {
        let task = self.task;
        match self.find(name)? {
            Entry::Registered(port, _) | Entry::Own(Own { port, .. }) => mach::copy(task, *port).map_err(|_| protocol::NO_MEMORY),
        }
    }

    /// Whether a service is served.
    ///
    /// # Errors
    /// `UNKNOWN_SERVICE`.
    pub fn status(&mut self, name: &ServiceName) -> Result<Status, Code> {
        self.find(name)?;
        Ok(self.status_of(&self.services[name]))
    }

    /// Makes a service known with a port of the server's, for the client that asks by the port `at`: a send right.
    ///
    /// # Errors
    /// `NAME_IN_USE`; `NO_MEMORY`: as much is held for the client as may be.
    pub fn create(&mut self, at: u32, name: &ServiceName) -> Result<SendRight, Code> {
        if self.find(name).is_ok() {
            return Err(protocol::NAME_IN_USE);
        }
        self.check_limits(at)?;
        let own = self.make(None, Some(at)).map_err(|_| protocol::NO_MEMORY)?;
        let Ok(right) = mach::copy(self.task, own.port) else {
            self.unmake(&own);
            return Err(protocol::NO_MEMORY);
        };
        self.services.insert(name.clone(), Entry::Own(own));
        self.charge(at);
        Ok(right)
    }

    /// Makes a port known, for the client that asks by the port `at`.
    ///
    /// # Errors
    /// `NAME_IN_USE`; `NO_MEMORY`: as much is held for the client as may be; `INVALID_RIGHT`: the port is dead, or the server's own.
    pub fn register(&mut self, at: u32, name: &ServiceName, port: SendRight) -> Result<(), Code> {
        if self.find(name).is_ok() {
            return Err(protocol::NAME_IN_USE);
        }
        // A port of the server's own would never be known to be gone.
        if self.task.kind(port.name()).is_ok_and(|kind| kind & abi::kind::RECEIVE != 0) {
            return Err(Code::INVALID_RIGHT);
        }
        self.check_limits(at)?;
        mach::tell_death(self.task, port.name(), self.notify)?;
        self.services.insert(name.clone(), Entry::Registered(port.into_name(), at));
        self.charge(at);
        Ok(())
    }

    /// `NO_MEMORY` if no more may be held for the client, or at all.
    fn check_limits(&self, client: u32) -> Result<(), Code> {
        let of_client = self.charged.get(&client).copied().unwrap_or_default();
        let of_all: usize = self.charged.values().sum();
        if of_client >= self.limits.names_each || of_all >= self.limits.names { Err(protocol::NO_MEMORY) } else { Ok(()) }
    }

    fn charge(&mut self, client: u32) {
        *self.charged.entry(client).or_default() += 1;
    }

    fn release(&mut self, client: u32) {
        if let Some(count) = self.charged.get_mut(&client) {
            *count -= 1;
            if *count == 0 {
                self.charged.remove(&client);
            }
        }
    }

    /// Takes a service out. What it holds is the caller's to give up.
    fn remove(&mut self, name: &ServiceName) -> Option<Entry> {
        let entry = self.services.remove(name)?;
        match &entry {
            Entry::Registered(_, client) | Entry::Own(Own { client: Some(client), .. }) => self.release(*client),
            Entry::Own(_) => {}
        }
        Some(entry)
    }

    /// No task is left that could ask by the port. What was held for it stays and is charged to all clients that are gone,
    /// as much as fits there; services beyond that are forgotten unless a task serves them.
    pub fn client_gone(&mut self, client: u32) {
        let Some(count) = self.charged.remove(&client) else { return };
        let absent = self.charged.get(&ABSENT).copied().unwrap_or_default();
        *self.charged.entry(ABSENT).or_default() += count;
        let mut left = Vec::new();
        for (name, entry) in &mut self.services {
            match entry {
                Entry::Registered(_, by) | Entry::Own(Own { client: Some(by), .. }) if *by == client => *by = ABSENT,
                _ => continue,
            }
            left.push(name.clone());
        }
        if absent + count > self.limits.names_each {
            let task = self.task;
            left.retain(|name| matches!(self.services.get(name), Some(Entry::Own(own)) if own.is_here(task)));
            left.iter().for_each(|name| {
                if let Some(Entry::Own(own)) = self.remove(name) {
                    self.unmake(&own);
                }
            });
        }
    }

    /// Forgets a service that a task registered or created.
    ///
    /// # Errors
    /// `UNKNOWN_SERVICE`; `NOT_PRIVILEGED`: it is configured; `SERVICE_ACTIVE`: a task serves it.
    pub fn forget(&mut self, name: &ServiceName) -> Result<(), Code> {
        let task = self.task;
        match self.find(name)? {
            Entry::Own(Own { job: Some(_), .. }) => return Err(protocol::NOT_PRIVILEGED),
            Entry::Own(own) if !own.is_here(task) => return Err(protocol::SERVICE_ACTIVE),
            Entry::Own(_) | Entry::Registered(..) => {}
        }
        match self.remove(name) {
            Some(Entry::Registered(port, _)) => drop(self.task.deallocate(port)),
            Some(Entry::Own(own)) => self.unmake(&own),
            None => {}
        }
        Ok(())
    }

    /// The receive right of a service, for the client that asks by the port `at`.
    ///
    /// # Errors
    /// `UNKNOWN_SERVICE`; `NOT_PRIVILEGED`: it is another program's; `SERVICE_ACTIVE`: a task serves it.
    pub fn check_in(&mut self, at: u32, name: &ServiceName) -> Result<ReceiveRight, Code> {
        let task = self.task;
        if let Entry::Own(Own { job: Some(job), .. }) = self.find(name)? {
            let wanted = job.service.program.clone();
            if !self.programs(at).any(|program| program.runs_as(&wanted)) {
                return Err(protocol::NOT_PRIVILEGED);
            }
        }
        match self.find(name)? {
            Entry::Own(own) if own.is_here(task) => {
                mach::want_back(task, own.port, own.home).map_err(|_| protocol::NO_MEMORY)?;
                own.job.iter_mut().for_each(|job| job.served());
                // It would ring for ever: nothing more is received here.
                own.bell = None;
                Ok(ReceiveRight::from_name(task, own.port))
            }
            Entry::Own(_) | Entry::Registered(..) => Err(protocol::SERVICE_ACTIVE),
        }
    }

    /// Makes a service known that is served by a program, or gives one that is known another program. A service
    /// that a task registered keeps its port.
    pub fn configure(&mut self, service: Configured) -> Result<(), Code> {
        let name = service.name.clone();
        match self.services.get_mut(&name) {
            Some(Entry::Own(Own { job: Some(job), .. })) => job.configure(service),
            Some(Entry::Own(own)) => {
                own.job = Some(Box::new(Job::new(service)));
                let client = own.client.take();
                client.into_iter().for_each(|client| self.release(client));
            }
            Some(Entry::Registered(..)) => return Err(protocol::NAME_IN_USE),
            None => {
                let own = self.make(Some(Box::new(Job::new(service))), None).map_err(|_| protocol::NO_MEMORY)?;
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

    fn make(&self, job: Option<Box<Job>>, client: Option<u32>) -> Result<Own, Code> {
        let port = mach::port_with_send_right(self.task)?;
        let home = mach::port_in_set(self.task, self.set);
        let own = Own { port, home: *home.as_ref().unwrap_or(&abi::NULL), job, bell: None, client };
        match home.and_then(|_| mach::tell_death(self.task, own.port, self.notify)) {
            Ok(()) => Ok(own),
            Err(code) => {
                self.unmake(&own);
                Err(code)
            }
        }
    }

    /// The program that asks by the port `at`, if it is one that the server started.
    fn programs(&self, at: u32) -> impl Iterator<Item = &Program> {
        let jobs = self.services.values().filter_map(|entry| match entry {
            Entry::Own(own) => own.job.as_deref(),
            Entry::Registered(..) => None,
        });
        jobs.filter(move |job| job.asks_by(at)).map(|job| &job.service.program)
    }

    fn unmake(&self, own: &Own) {
        // No request for its return is left once it is not wanted back.
        let _ = self.task.destroy(own.home);
        // The name may stand for a right that a client registered, too: that reference stays.
        let _ = self.task.mod_refs(own.port, abi::right::RECEIVE, -1);
        let _ = self.task.deallocate(own.port);
    }

    fn status_of(&self, entry: &Entry) -> Status {
        match entry {
            Entry::Own(own) if !own.is_here(self.task) => Status::Active,
            Entry::Own(own) if own.job.is_some() => Status::OnDemand,
            Entry::Own(_) => Status::Inactive,
            Entry::Registered(..) => Status::Active,
        }
    }

    /// All services, by name.
    pub fn list(&self) -> Vec<Service> {
        let services = self.services.iter().map(|(name, entry)| {
            let job = match entry {
                Entry::Own(own) => own.job.as_deref(),
                Entry::Registered(..) => None,
            };
            Service {
                name: name.clone(),
                status: self.status_of(entry),
                program: job.map(|job| job.service.program.shown().into_bytes()).unwrap_or_default(),
                note: job.map(|job| job.note().as_bytes().to_vec()).unwrap_or_default(),
            }
        });
        services.collect()
    }

    /// A notification came to one of the server's ports. A right in it that is not kept is given up.
    pub fn notified(&mut self, at: u32, mut message: Received) {
        if at == self.notify && message.is_notification(notify::DEAD_NAME) {
            message.next_int().into_iter().for_each(|name| self.bury(name));
        } else if message.is_notification(notify::PORT_DESTROYED)
            && let Some(Part::Receive(Some(right))) = message.next_part()
            && self.comes_home(at, right.name())
        {
            right.into_name();
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

    /// A service, by its name. Its port may have died without that having been told yet.
    fn find(&mut self, name: &ServiceName) -> Result<&mut Entry, Code> {
        if let Some(Entry::Registered(port, _) | Entry::Own(Own { port, .. })) = self.services.get(name)
            && self.is_dead(*port)
        {
            self.bury(*port);
        }
        self.services.get_mut(name).ok_or(protocol::UNKNOWN_SERVICE)
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
        let died = |entry: &Entry| matches!(entry, Entry::Registered(port, _) if *port == name);
        let dead: Vec<_> = self.services.iter().filter(|(_, entry)| died(entry)).map(|(name, _)| name.clone()).collect();
        dead.iter().for_each(|name| drop(self.remove(name)));
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
            Entry::Registered(..) => None,
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
