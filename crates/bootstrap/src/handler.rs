//! What the server answers: the routines of its interfaces.

use crate::{registry::Registry, server::Server, view::Use};
use slipway_mach::{
    abi::{self, Code},
    bootstrap::{
        ServiceName,
        interface::BootstrapServer,
        listing::{ListingServer, ServiceInfo},
        protocol::UNKNOWN_SERVICE,
    },
    mig::{Array, ReceiveRight, SendRight, Target},
    rights::Received,
};
use std::ffi::CString;

/// The server, and where a request came from.
pub struct Handler<'a> {
    server: &'a mut Server,
    /// The port that the request came to.
    at: u32,
    view: Option<usize>,
    /// Whether the last thing in the request is the name of a dead port, as a right to register may be.
    carries_dead: bool,
}

impl<'a> Handler<'a> {
    /// One that got `message` at the port `at`, which belongs to the view.
    pub fn new(server: &'a mut Server, message: &Received, at: u32, view: Option<usize>) -> Self {
        let carries_dead = message.body().ends_with(&u64::from(abi::DEAD).to_le_bytes());
        Self { server, at, view, carries_dead }
    }

    /// The service of that name, if the client may do that with it.
    fn service(&self, name: &CString, what: Use) -> Result<ServiceName, Code> {
        let name = ServiceName::new(name.to_bytes())?;
        self.view.map_or(Ok(()), |view| self.server.views[view].check(what, &name))?;
        Ok(name)
    }

    /// What the registry says, once more if the user has just written a service's file.
    fn ask<T>(&mut self, question: impl Fn(&mut Registry) -> Result<T, Code>) -> Result<T, Code> {
        match question(&mut self.server.registry) {
            Err(UNKNOWN_SERVICE) if self.server.has_new_files() => question(&mut self.server.registry),
            other => other,
        }
    }
}

impl BootstrapServer for Handler<'_> {
    fn bootstrap_check_in(&mut self, _bp: Target, name: CString) -> Result<Option<ReceiveRight>, Code> {
        let (at, name) = (self.at, self.service(&name, Use::Provide)?);
        self.ask(|registry| registry.check_in(at, &name)).map(Some)
    }

    fn bootstrap_register(&mut self, _bp: Target, name: CString, port: Option<SendRight>) -> Result<(), Code> {
        let name = self.service(&name, Use::Provide)?;
        match port {
            Some(port) => self.server.registry.register(self.at, &name, port),
            // A null right takes the name back; one to a port that died meanwhile does not.
            None if self.carries_dead => Err(Code::INVALID_RIGHT),
            None => self.ask(|registry| registry.forget(&name)),
        }
    }

    fn bootstrap_look_up(&mut self, _bp: Target, name: CString) -> Result<Option<SendRight>, Code> {
        let name = self.service(&name, Use::LookUp)?;
        self.ask(|registry| registry.look_up(&name)).map(Some)
    }

    fn bootstrap_status(&mut self, _bp: Target, name: CString) -> Result<i32, Code> {
        let name = self.service(&name, Use::LookUp)?;
        self.ask(|registry| registry.status(&name)).map(|status| status.number() as i32)
    }

    fn bootstrap_create_service(&mut self, _bp: Target, name: CString) -> Result<Option<SendRight>, Code> {
        let (at, name) = (self.at, self.service(&name, Use::Provide)?);
        self.ask(|registry| registry.create(at, &name)).map(Some)
    }
}

impl ListingServer for Handler<'_> {
    fn list_services(&mut self, _server: Target) -> Result<Array<ServiceInfo>, Code> {
        let mut services = self.server.registry.list();
        if let Some(view) = self.view {
            services.retain(|service| self.server.views[view].shows(service));
        }
        Ok(services.iter().map(|service| service.to_info()).collect::<Vec<_>>().into())
    }
}
