//! One-shot servers: a name that leads to a channel, once.
//!
//! The name is the path of a socket in the user's runtime directory, which is closed to other users. A thread waits there for the one
//! client and gives it a send right, so that the client can connect and send before anybody accepts.

use super::{error::OsError, message::IpcMessage, receiver::OsIpcReceiver, sender::OsIpcSender};
use rustix::{
    io::Errno,
    net::{AddressFamily, Shutdown, SocketAddrUnix, SocketFlags, SocketType, accept_with, bind, listen, shutdown, socket_with},
    rand::{GetRandomFlags, getrandom},
};
use slipway_fabric::runtime::runtime_dir;
use slipway_mach::{
    abi,
    bootstrap::{Unreachable, contact},
    rights::{ReceiveRight, SendRight},
    task::Task,
};
use std::{
    fs, io,
    os::fd::{AsFd, OwnedFd},
    path::{Path, PathBuf},
    sync::Arc,
    thread::{self, JoinHandle},
};

/// The stack of the thread that waits for the client, in bytes.
const STACK: usize = 128 << 10;

/// A channel whose first sender goes to the first process that connects to its name.
pub struct OsIpcOneShotServer {
    port: Arc<ReceiveRight>,
    listener: Listener,
}

/// The socket of a server, and the thread that waits there.
struct Listener {
    socket: Arc<OwnedFd>,
    path: PathBuf,
    thread: Option<JoinHandle<io::Result<()>>>,
    process: u32,
}

impl Drop for Listener {
    fn drop(&mut self) {
        // A child made by fork has neither the thread nor the right to end what its parent does.
        if self.process != std::process::id() {
            return;
        }
        // Ends the thread's wait.
        let _ = shutdown(&self.socket, Shutdown::Both);
        let _ = self.join();
        let _ = fs::remove_file(&self.path);
    }
}

impl Listener {
    /// Waits until the client was served.
    fn join(&mut self) -> io::Result<()> {
        self.thread
            .take()
            .map_or(Ok(()), |thread| thread.join().unwrap_or_else(|_| Err(io::Error::other("the server's thread panicked"))))
    }
}

impl OsIpcOneShotServer {
    /// A server, and its name.
    ///
    /// # Errors
    /// There is no directory for its socket, no memory, or no thread.
    pub fn new() -> Result<(Self, String), OsError> {
        let port = Arc::new(super::port()?);
        let mut random = [0; 16];
        getrandom(&mut random, GetRandomFlags::empty()).map_err(io::Error::from)?;
        let dir = runtime_dir(true).ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, Unreachable::NoDirectory))?;
        let path = std::path::absolute(dir)?.join(format!("channel-{:032x}", u128::from_ne_bytes(random)));
        let name = path.to_str().map(str::to_owned);
        let name =
            name.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidFilename, "the runtime directory's name is no UTF-8"))?;
        let socket = Arc::new(open(&path)?);
        let mut listener = Listener { socket: socket.clone(), path, thread: None, process: std::process::id() };
        let shared = port.clone();
        listener.thread =
            Some(thread::Builder::new().name("one-shot-server".into()).stack_size(STACK).spawn(move || serve(&socket, &shared))?);
        Ok((Self { port, listener }, name))
    }

    /// Waits for the client's first message: the receiver of the channel, and the message.
    ///
    /// # Errors
    /// `Disconnected` if the client connected and went without sending anything; no descriptor was left to give it a sender.
    pub fn accept(self) -> Result<(OsIpcReceiver, IpcMessage), OsError> {
        let Self { port, mut listener } = self;
        listener.join()?;
        drop(listener);
        let port = Arc::into_inner(port).ok_or_else(|| io::Error::other("the channel is in use"))?;
        let receiver = OsIpcReceiver::new(port);
        let message = receiver.recv()?;
        Ok((receiver, message))
    }
}

/// A socket that listens at a path.
fn open(path: &Path) -> io::Result<OwnedFd> {
    let socket = socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
    bind(&socket, &SocketAddrUnix::new(path)?)?;
    listen(&socket, 8)?;
    Ok(socket)
}

/// Gives a client of this user's a send right. Ends without one when the server is given up.
fn serve(socket: &OwnedFd, port: &ReceiveRight) -> io::Result<()> {
    loop {
        let client = match accept_with(socket, SocketFlags::CLOEXEC) {
            // The server was given up.
            Err(Errno::INVAL) => return Ok(()),
            Err(Errno::INTR | Errno::CONNABORTED) => continue,
            other => other?,
        };
        match contact::welcome(client.as_fd(), Task::current(), usize::MAX, |_| Ok(port.name())) {
            Ok(()) => {
                // Others that come are told so, and don't wait until the channel is accepted.
                let _ = shutdown(socket, Shutdown::Both);
                return Ok(());
            }
            // Another user's, or gone: the next one may be the client.
            Err(error) if is_of_client(error.kind()) => {}
            Err(error) => return Err(error),
        }
    }
}

/// Whether it failed because of the client, and not for want of descriptors.
fn is_of_client(kind: io::ErrorKind) -> bool {
    matches!(kind, io::ErrorKind::PermissionDenied | io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset)
}

/// Connects to the server of a name.
pub(super) fn connect(name: &str) -> Result<OsIpcSender, OsError> {
    let failed = |error: contact::Failed| match error {
        contact::Failed::Nobody => {
            io::Error::new(io::ErrorKind::ConnectionRefused, format!("no one-shot server has the name {name}"))
        }
        contact::Failed::Other(error) => error,
    };
    let (sending, holder) = contact::greet(Path::new(name)).map_err(failed)?;
    let task = Task::current();
    match task.import(sending, holder)? {
        abi::NULL | abi::DEAD => Ok(OsIpcSender::default()),
        right => Ok(OsIpcSender::new(SendRight::from_name(task, right))),
    }
}
