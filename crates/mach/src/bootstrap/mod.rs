//! The name server as its clients see it: services by name, and how a task gets its first port.
//!
//! A task's bootstrap port leads to the name server. A task that inherited none connects to its user's server, which
//! is started if it doesn't run ([`contact`], [`launch`]). The server is a task like any other: what it is asked
//! and answers are messages ([`protocol`]), and once a client has its rights the server is on no path of a message.
//!
//! A server that ended is replaced by another at the next call: what was bought from the old one stays good, but
//! the new one knows none of the names that programs had registered.

pub mod contact;
pub mod launch;
pub mod protocol;

pub use contact::{Place, Unreachable};
pub use protocol::{Service, ServiceName, Status};

use crate::{
    abi::{self, Code, HEADER, notify, option, right},
    task::Task,
};
use contact::Failed;
use protocol::{Answer, Request, u32_at};
use std::os::fd::OwnedFd;

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
        protocol::BAD_ARGUMENTS => "the name server did not understand the request".into(),
        Code::INVALID_ARGUMENT => format!("the name is empty, or longer than {} bytes", protocol::NAME_MAX - 1),
        Code::MIG_SERVER_DIED => "the name server ended during the call".into(),
        code => code.to_string(),
    }
}

/// A send right to the task's name server: its name, with a reference that is the caller's.
///
/// That is the task's bootstrap port if it has one that lives. Else the server that SLIPWAY_BOOTSTRAP names or the
/// user's own is connected to, the latter started if need be, and becomes the task's bootstrap port.
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
    let place = Place::find()?;
    let (s, t) = reach(&place)?;
    match task.import(s, t) {
        Ok(abi::DEAD) => Err(place.unreachable("it ended just now").into()),
        Ok(name) => Ok(name),
        Err(error) => Err(place.unreachable(error).into()),
    }
}

/// What stands for a send right to the name server at a place. The user's own is started if nobody listens there.
pub fn reach(place: &Place) -> Result<(OwnedFd, OwnedFd), Unreachable> {
    let fds = match contact::greet(&place.socket) {
        Err(Failed::Nobody) if !place.named => {
            launch::launch(&place.socket).map_err(|why| place.unreachable(why))?;
            contact::greet(&place.socket)
        }
        other => other,
    };
    fds.map_err(|why| place.unreachable(why))
}

/// A send right for a service, as a new reference of the caller's. `server` is a name of a send right to the name
/// server; None is the task's own, as [`port`] finds it.
///
/// The name server's codes are in [`protocol`]: here `UNKNOWN_SERVICE`.
pub fn look_up(task: Task, server: Option<u32>, service: impl AsRef<[u8]>) -> Result<u32, Error> {
    right_of(call(task, server, &Request::LookUp(ServiceName::new(service)?), 0)?)
}

/// Makes the port that the caller has as `port` known: the name server gets a send right, copied or made as
/// `disposition` says (`COPY_SEND`, `MAKE_SEND`). A null `port`: the service is no longer known.
///
/// `NAME_IN_USE` while the port that is known lives; `UNKNOWN_SERVICE` and `NOT_PRIVILEGED` when it can't be forgotten.
pub fn register(task: Task, server: Option<u32>, service: impl AsRef<[u8]>, port: u32, disposition: u32) -> Result<(), Error> {
    call(task, server, &Request::Register(ServiceName::new(service)?, port), disposition).map(drop)
}

/// The receive right of a service that was created or is configured. It goes back to the name server with its
/// senders, for the next to check in, when the caller gives it up or ends.
///
/// `UNKNOWN_SERVICE`; `SERVICE_ACTIVE`: another task has it.
pub fn check_in(task: Task, server: Option<u32>, service: impl AsRef<[u8]>) -> Result<u32, Error> {
    right_of(call(task, server, &Request::CheckIn(ServiceName::new(service)?), 0)?)
}

/// Makes a service known with a port of the name server's making: a send right, as a new reference of the
/// caller's. Messages to it wait until a task checks in.
///
/// `NAME_IN_USE`: there is such a service.
pub fn create_service(task: Task, server: Option<u32>, service: impl AsRef<[u8]>) -> Result<u32, Error> {
    right_of(call(task, server, &Request::CreateService(ServiceName::new(service)?), 0)?)
}

/// Whether a service is served. `UNKNOWN_SERVICE`: there is no such service.
pub fn status(task: Task, server: Option<u32>, service: impl AsRef<[u8]>) -> Result<Status, Error> {
    match call(task, server, &Request::Status(ServiceName::new(service)?), 0)? {
        Answer::Status(status) => Ok(status),
        _ => Err(Code::MIG_SERVER_DIED.into()),
    }
}

/// All services, by name.
pub fn services(task: Task, server: Option<u32>) -> Result<Vec<Service>, Error> {
    match call(task, server, &Request::Info, 0)? {
        Answer::Services(services) => Ok(services),
        _ => Err(Code::MIG_SERVER_DIED.into()),
    }
}

fn right_of(answer: Answer) -> Result<u32, Error> {
    match answer {
        Answer::Right(name, _) if name != abi::NULL && name != abi::DEAD => Ok(name),
        // It died on its way.
        Answer::Right(..) => Err(protocol::UNKNOWN_SERVICE.into()),
        _ => Err(Code::MIG_SERVER_DIED.into()),
    }
}

/// Asks the server. If it turns out to be gone its successor is asked, once; but never in place of a port
/// that the program itself brought.
fn call(task: Task, server: Option<u32>, request: &Request, disposition: u32) -> Result<Answer, Error> {
    let first = match server {
        Some(name) => rpc(task, name, request, disposition),
        None => ask_own(task, request, disposition)?,
    };
    match first {
        Err(Code::SEND_INVALID_DEST | Code::MIG_SERVER_DIED) if server.is_none_or(|name| task.is_name_server(name)) => {
            Ok(ask_own(task, request, disposition)??)
        }
        other => Ok(other?),
    }
}

fn ask_own(task: Task, request: &Request, disposition: u32) -> Result<Result<Answer, Code>, Error> {
    let own = port(task)?;
    let result = rpc(task, own, request, disposition);
    let _ = task.deallocate(own);
    Ok(result)
}

fn rpc(task: Task, server: u32, request: &Request, disposition: u32) -> Result<Answer, Code> {
    let reply = task.reply_port()?;
    let result = exchange(task, server, reply, request, disposition);
    let _ = task.mod_refs(reply, right::RECEIVE, -1);
    result
}

fn exchange(task: Task, server: u32, reply: u32, request: &Request, disposition: u32) -> Result<Answer, Code> {
    let mut buffer = request.encode(server, reply, disposition);
    let send_size = buffer.len();
    buffer.resize(send_size.max(1024), 0);
    let mut asked = crate::Request {
        option: option::SEND_MSG | option::RCV_MSG | option::RCV_LARGE,
        send_size,
        receive_size: buffer.len(),
        receive_name: reply,
        ..Default::default()
    };
    loop {
        match task.mach_msg(&mut buffer, &asked) {
            Code::SUCCESS => break,
            Code::RCV_TOO_LARGE => {
                let size = (u32_at(&buffer, 4) as usize).max(HEADER);
                buffer.resize(size, 0);
                asked = crate::Request { option: option::RCV_MSG | option::RCV_LARGE, send_size: 0, receive_size: size, ..asked };
            }
            code => return Err(code),
        }
    }
    buffer.truncate(u32_at(&buffer, 4) as usize);
    if protocol::message_id(&buffer) == notify::SEND_ONCE {
        return Err(Code::MIG_SERVER_DIED);
    }
    let answer = request.decode_reply(&buffer);
    if answer.is_err() {
        protocol::discard(task, &buffer);
    }
    answer
}
