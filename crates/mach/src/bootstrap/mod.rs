//! The name server as its clients see it: services by name, and how a task gets its first port.
//!
//! A task's bootstrap port leads to the name server. A task that inherited none connects to its user's server, which
//! is started if it doesn't run ([`contact`], [`launch`]). The server is a task like any other: what it is asked
//! and answers are messages ([`protocol`]), and once a client has its rights the server is on no path of a message.
//!
//! A server that ended is replaced by another at the next call: rights that the old one gave stay good, but
//! the new one knows none of the names that programs had registered.

pub mod contact;
pub mod inherited;
#[rustfmt::skip]
#[allow(missing_docs, clippy::missing_errors_doc, reason = "made by mig, and compared with what mig makes")]
pub mod interface;
pub mod launch;
#[rustfmt::skip]
#[allow(missing_docs, clippy::missing_errors_doc, reason = "made by mig, and compared with what mig makes")]
pub mod listing;
pub mod protocol;

pub use contact::{Address, Unreachable};
pub use protocol::{Service, ServiceName, Status};
pub use slipway_fabric::trust;

use crate::{
    abi::{self, Code, right, types},
    mig,
    rights::{ReceiveRight, SendRight},
    task::Task,
};
use contact::Failed;
use interface::Bootstrap;
use listing::Listing;
use std::{mem::ManuallyDrop, os::fd::OwnedFd};

/// Why a call of the name server failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// There is no name server.
    #[error(transparent)]
    Unreachable(#[from] Unreachable),
    /// It said no, or the message could not be sent or received.
    #[error("{}", describe(*.0))]
    Code(Code),
}

impl From<Code> for Error {
    fn from(code: Code) -> Self {
        Self::Code(code)
    }
}

impl Error {
    /// The code for a C program. A server that can't be reached is a dead destination.
    pub fn code(&self) -> Code {
        match self {
            Self::Unreachable(_) => Code::SEND_INVALID_DEST,
            Self::Code(code) => *code,
        }
    }
}

/// A code of the name server's calls in words.
pub fn describe(code: Code) -> String {
    match code {
        protocol::NOT_PRIVILEGED => "the service is not the caller's to use or change".into(),
        protocol::NAME_IN_USE => "there is such a service already".into(),
        protocol::UNKNOWN_SERVICE => "there is no such service".into(),
        protocol::SERVICE_ACTIVE => "another task has checked in".into(),
        protocol::BAD_COUNT => "a count is out of range".into(),
        protocol::NO_MEMORY => "the name server has no memory or descriptors left".into(),
        Code::MIG_BAD_ARGUMENTS => "the name server did not understand the request".into(),
        Code::INVALID_ARGUMENT => format!("the name is empty, or longer than {} bytes", protocol::NAME_MAX - 1),
        Code::MIG_SERVER_DIED => "the name server ended during the call".into(),
        code => code.to_string(),
    }
}

/// A send right to the task's name server: its name, with a reference that is the caller's.
///
/// That is the task's bootstrap port if it has one that lives. Else the one that the program inherited from the name
/// server that started it; else the server that SLIPWAY_BOOTSTRAP names or the user's own is connected to, the latter
/// started if need be. It becomes the task's bootstrap port.
pub fn port(task: Task) -> Result<u32, Error> {
    let name = match task.bootstrap()? {
        abi::NULL | abi::DEAD => {
            let name = connect(task)?;
            // Another thread may have come first; it is the same server.
            task.set_bootstrap(name)?;
            name
        }
        name => name,
    };
    task.note_name_server(name);
    Ok(name)
}

/// Connects to the name server, started if need be: the name of a send right to its port.
fn connect(task: Task) -> Result<u32, Error> {
    let address = Address::find()?;
    if let Some((s, t)) = inherited::find(&address)
        && let Ok(name) = task.import(s, t)
        && name != abi::DEAD
    {
        return Ok(name);
    }
    let (s, t) = reach(&address)?;
    match task.import(s, t) {
        Ok(abi::DEAD) => Err(address.unreachable("it ended just now").into()),
        Ok(name) => Ok(name),
        Err(error) => Err(address.unreachable(error).into()),
    }
}

/// What stands for a send right to the name server at an address. The user's own is started if nobody listens there.
pub fn reach(address: &Address) -> Result<(OwnedFd, OwnedFd), Unreachable> {
    let fds = match contact::greet(&address.socket) {
        Err(Failed::Nobody) if !address.named => {
            launch::launch(&address.socket).map_err(|why| address.unreachable(why))?;
            contact::greet(&address.socket)
        }
        other => other,
    };
    fds.map_err(|why| address.unreachable(why))
}

/// A send right for a service, as a new reference of the caller's. `server` is a name of a send right to the name
/// server; None is the task's own, as [`port`] finds it.
///
/// # Errors
/// The name server's codes are in [`protocol`]: here `UNKNOWN_SERVICE`.
pub fn look_up(task: Task, server: Option<u32>, service: impl AsRef<[u8]>) -> Result<u32, Error> {
    let name = ServiceName::new(service)?;
    let found = call(task, server, |server| lent(task, server).bootstrap_look_up(name.as_c_str()))?;
    found.map(SendRight::into_name).ok_or(Error::Code(protocol::UNKNOWN_SERVICE))
}

/// Makes the port that the caller has as `port` known: the name server gets a send right, copied or made as
/// `disposition` says (`COPY_SEND`, `MAKE_SEND`). A null `port`: the service is no longer known.
///
/// # Errors
/// `NAME_IN_USE` while the port that is known lives; `UNKNOWN_SERVICE` and `NOT_PRIVILEGED` when it can't be forgotten;
/// `NO_MEMORY` when as much is held for the caller as may be.
pub fn register(task: Task, server: Option<u32>, service: impl AsRef<[u8]>, port: u32, disposition: u32) -> Result<(), Error> {
    let name = ServiceName::new(service)?;
    let made = port != abi::NULL && disposition == types::MAKE_SEND;
    if made {
        task.insert_right(port, task, port, types::MAKE_SEND)?;
    }
    let right = (port != abi::NULL).then(|| ManuallyDrop::new(SendRight::from_name(task, port)));
    let result = call(task, server, |server| lent(task, server).bootstrap_register(name.as_c_str(), right.as_deref()));
    if made {
        let _ = task.mod_refs(port, right::SEND, -1);
    }
    result
}

/// The receive right of a service that was created or is configured. It goes back to the name server with its
/// senders, for the next to check in, when the caller gives it up or ends.
///
/// # Errors
/// `UNKNOWN_SERVICE`; `SERVICE_ACTIVE`: another task has it; `NOT_PRIVILEGED`: the name server starts a program for the
/// service, and the caller is not that program.
pub fn check_in(task: Task, server: Option<u32>, service: impl AsRef<[u8]>) -> Result<u32, Error> {
    let name = ServiceName::new(service)?;
    let found = call(task, server, |server| lent(task, server).bootstrap_check_in(name.as_c_str()))?;
    found.map(mig::ReceiveRight::into_name).ok_or(Error::Code(protocol::UNKNOWN_SERVICE))
}

/// Makes a service known with a port of the name server's making: a send right, as a new reference of the
/// caller's. Messages to it wait until a task checks in.
///
/// # Errors
/// `NAME_IN_USE`: there is such a service; `NO_MEMORY`: as much is held for the caller as may be.
pub fn create_service(task: Task, server: Option<u32>, service: impl AsRef<[u8]>) -> Result<u32, Error> {
    let name = ServiceName::new(service)?;
    let found = call(task, server, |server| lent(task, server).bootstrap_create_service(name.as_c_str()))?;
    found.map(SendRight::into_name).ok_or(Error::Code(protocol::UNKNOWN_SERVICE))
}

/// Whether a service is served.
///
/// # Errors
/// `UNKNOWN_SERVICE`: there is no such service.
pub fn status(task: Task, server: Option<u32>, service: impl AsRef<[u8]>) -> Result<Status, Error> {
    let name = ServiceName::new(service)?;
    let number = call(task, server, |server| lent(task, server).bootstrap_status(name.as_c_str()))?;
    u32::try_from(number).ok().and_then(Status::from_number).ok_or(Error::Code(Code::MIG_TYPE_ERROR))
}

/// All services, by name.
///
/// # Errors
/// A code of `mach_msg` or of mig's stubs.
pub fn services(task: Task, server: Option<u32>) -> Result<Vec<Service>, Error> {
    let list = |server| ManuallyDrop::new(Listing(SendRight::from_name(task, server))).list_services();
    let found = call(task, server, list)?;
    found.iter().map(Service::from_info).collect::<Option<_>>().ok_or(Error::Code(Code::MIG_TYPE_ERROR))
}

/// A name server whose name stays the caller's.
fn lent(task: Task, server: u32) -> ManuallyDrop<Bootstrap> {
    ManuallyDrop::new(Bootstrap(SendRight::from_name(task, server)))
}

/// Asks the server. If it turns out to be gone its successor is asked, once; but never in place of a port
/// that the program itself brought.
fn call<T>(task: Task, server: Option<u32>, ask: impl Fn(u32) -> Result<T, mig::Error>) -> Result<T, Error> {
    // The task keeps no name that it does not know of.
    let ask = |server| mig::without_kept_port(|| ask(server)).map_err(|error| error.code);
    let ask_own = || {
        let own = port(task)?;
        let result = ask(own);
        let _ = task.deallocate(own);
        Ok::<_, Error>(result)
    };
    let first = match server {
        Some(name) => ask(name),
        None => ask_own()?,
    };
    match first {
        Err(Code::SEND_INVALID_DEST | Code::MIG_SERVER_DIED) if server.is_none_or(|name| task.is_name_server(name)) => {
            Ok(ask_own()??)
        }
        other => Ok(other?),
    }
}

/// A service that could not be had from the name server, or not be registered there.
#[derive(Debug, thiserror::Error)]
#[error("service \"{service}\": {why}")]
pub struct ServiceError {
    /// The service.
    pub service: String,
    /// Why not.
    #[source]
    pub why: Error,
}

fn serving<T>(service: &str, result: Result<T, Error>) -> Result<T, ServiceError> {
    result.map_err(|why| ServiceError { service: service.into(), why })
}

impl ReceiveRight {
    /// Takes the receive right of a service that is registered as to be started on demand, or created by
    /// `bootstrap_create_service`.
    pub fn check_in(service: &str) -> Result<Self, ServiceError> {
        let task = Task::current();
        Ok(Self::from_name(task, serving(service, check_in(task, None, service))?))
    }
}

impl SendRight {
    /// A send right to a service that is registered with the name server.
    pub fn look_up(service: &str) -> Result<Self, ServiceError> {
        let task = Task::current();
        Ok(Self::from_name(task, serving(service, look_up(task, None, service))?))
    }

    /// Registers the port under a name for others to look up.
    pub fn register(&self, service: &str) -> Result<(), ServiceError> {
        serving(service, register(self.task(), None, service, self.name(), types::COPY_SEND))
    }
}
