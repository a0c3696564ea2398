//! Displays over ports: serving one, and connecting to one.
//!
//! The connection is a real one where the socket can be reached: the kernel has its credentials, its end and its descriptors. Where it can't, the
//! server makes one to itself in the client's stead, and the client has a pair of its own. In both cases the server finds the connection message by the
//! name of the socket that connected, as it finds an offer of shared memory.

use super::{
    end::End,
    libmach::{Mach, Name},
    message::{CONNECT, Received, SUMMON},
    office::Office,
};
use crate::{
    descriptor::Reserved,
    endpoint::Endpoint,
    line::TOKEN,
    rendezvous::{name_of_ports, token_of_ports},
    report,
    settings::Settings,
    stream::{Role, Stream, locked},
};
use rustix::{
    io::Errno,
    net::{
        AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, connect, getpeername, getsockname, socket_with, socketpair,
    },
};
use slipway_abi::HEADER;
use slipway_fabric::sync::ForkMutex;
use std::{
    ffi::CString,
    io,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    sync::Arc,
};
use zerocopy::{FromBytes, IntoBytes};

/// Most clients that have asked and not connected; beyond it the oldest are dropped.
const MOST_WAITING: usize = 128;

/// How long a client waits for room in the queue of a display's port, in milliseconds.
const PATIENCE: u32 = 5_000;

/// The displays that a process serves: nearly always one.
#[derive(Debug, Default)]
pub struct Displays {
    list: ForkMutex<Vec<Display>>,
    /// Accepted connections whose message has not come yet: the first of a process goes through its watcher, and the socket may be faster.
    expected: ForkMutex<Vec<([u8; TOKEN], Arc<End>)>>,
}

#[derive(Debug)]
struct Display {
    number: u32,
    /// 0 until the name server has answered.
    port: Name,
    /// Where the server listens.
    address: SocketAddrUnix,
    waiting: Vec<Waiting>,
}

/// A client that has asked for a connection.
#[derive(Debug)]
struct Waiting {
    token: [u8; TOKEN],
    /// The right to its port.
    send: Name,
    pid: u32,
    /// The client's half of a connection that the server made in its stead.
    half: Option<Reserved>,
}

fn service(display: u32) -> CString {
    CString::new(format!("x11.{display}")).unwrap_or_default()
}

fn address(endpoint: &Endpoint) -> Option<SocketAddrUnix> {
    match endpoint {
        Endpoint::Path(path) | Endpoint::Bound(path, ..) => SocketAddrUnix::new(path.as_path()).ok(),
        Endpoint::Abstract(name) => SocketAddrUnix::new_abstract_name(name).ok(),
    }
}

fn body(token: [u8; TOKEN]) -> [u64; 3] {
    let mut words = [0, 0, std::process::id().into()];
    words[..2].as_mut_bytes().copy_from_slice(&token);
    words
}

impl Displays {
    /// A message that came to no end. False if it means nothing.
    pub fn hear(&self, mach: &Mach, front: &Received, buffer: &[u64]) -> bool {
        let mut displays = locked(&self.list);
        let Some(display) = displays.iter_mut().find(|display| display.port == front.at) else { return false };
        if front.complex || front.size != HEADER + 24 || front.reply == 0 {
            return false;
        }
        let Ok((token, _)) = <[u8; TOKEN]>::read_from_prefix(buffer[4..].as_bytes()) else { return false };
        match front.id {
            CONNECT => {
                let expected = {
                    let mut expected = locked(&self.expected);
                    let at = expected.iter().position(|(of, _)| *of == token);
                    at.map(|at| expected.remove(at).1)
                };
                if let Some(end) = expected {
                    return end.accept(front.reply);
                }
                // A client that tries once more has given up the port of its first try.
                display.waiting.retain(|client| {
                    let given_up = client.token == token && mach.is_dead(client.send);
                    if given_up {
                        mach.drop_send(client.send);
                    }
                    !given_up
                });
                let pid = buffer[6] as u32;
                display.waiting.push(Waiting { token, send: front.reply, pid, half: None });
                if display.waiting.len() > MOST_WAITING {
                    mach.drop_send(display.waiting.remove(0).send);
                }
                true
            }
            SUMMON => {
                if let Some(at) = display.waiting.iter().position(|client| client.token == token) {
                    match stand_in(&display.address, token) {
                        Ok(half) => display.waiting[at].half = Some(half),
                        Err(error) => {
                            report::warn(format_args!("a client that came over ports alone can't be served: {error}"));
                            // Its connection ends with the right.
                            mach.drop_send(display.waiting.remove(at).send);
                        }
                    }
                }
                // The right came with it once more.
                false
            }
            _ => false,
        }
    }
}

/// Connects to the server's own socket under a client's name.
fn stand_in(address: &SocketAddrUnix, token: [u8; TOKEN]) -> io::Result<Reserved> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = Reserved::make_aside(|| socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None))?;
    bind(&socket, &SocketAddrUnix::new_abstract_name(&name_of_ports(&token))?)?;
    connect(&socket, address)?;
    Ok(socket)
}

impl Office {
    /// Serves a display whose server listens at `endpoint`, and registers it with the name server.
    pub fn serve(&self, display: u32, endpoint: &Endpoint) {
        let Some(address) = address(endpoint) else { return };
        let mut displays = locked(&self.displays.list);
        if let Some(known) = displays.iter_mut().find(|known| known.number == display) {
            known.address = address;
            return;
        }
        displays.push(Display { number: display, port: 0, address, waiting: Vec::new() });
        drop(displays);
        // The name server's answer is waited for without the lock, which whoever takes a message needs.
        let served = self.mach.serve(&service(display));
        let mut displays = locked(&self.displays.list);
        match served {
            Ok(port) => {
                self.mach.widen(port);
                displays.iter_mut().filter(|served| served.number == display).for_each(|served| served.port = port);
                self.mach.move_to(port, self.set);
            }
            Err(code) => {
                displays.retain(|served| served.number != display);
                let why = self.mach.describe(code);
                report::warn(format_args!("display :{display} can't be had over Mach ports: service x11.{display}: {why}"));
            }
        }
    }

    /// The end of a connection that was just accepted as `fd`, and the client's process if it is known, if its client asked for one over ports.
    pub fn accepted(self: &Arc<Self>, fd: BorrowedFd<'_>) -> Option<(Arc<End>, Option<u32>)> {
        let address = SocketAddrUnix::try_from(getpeername(fd).ok()??).ok()?;
        let token = token_of_ports(address.abstract_name()?)?;
        let end = End::new(self).ok()?;
        self.collect();
        let mut displays = locked(&self.displays.list);
        let mut client = || {
            displays.iter_mut().find_map(|display| {
                let at = display.waiting.iter().position(|client| client.token == token)?;
                Some(display.waiting.remove(at))
            })
        };
        while let Some(client) = client() {
            if end.accept(client.send) {
                client.half.into_iter().for_each(|half| end.keep(half));
                return Some((end, Some(client.pid)));
            }
            // It is gone, or has tried once more.
            self.mach.drop_send(client.send);
        }
        // With the displays still held: a thread that takes the message just now finds it here.
        let mut expected = locked(&self.displays.expected);
        expected.retain(|(_, end)| !end.is_over());
        expected.push((token, Arc::clone(&end)));
        Some((end, None))
    }
}

/// A client's connection to a display, before its socket is connected.
#[derive(Debug)]
pub struct Call {
    office: Arc<Office>,
    end: Arc<End>,
    /// The right to the display's port.
    display: Name,
    token: [u8; TOKEN],
}

impl Call {
    /// Asks the server of the display for a connection over ports for the socket `fd`, which is about to connect. None if
    /// there is no such server, or the socket has a name already that says otherwise.
    pub fn begin(fd: BorrowedFd<'_>, endpoint: &Endpoint) -> Option<Self> {
        let number = endpoint.display()?;
        let office = Office::get()?;
        // A socket that tried to connect before keeps its name. The server drops the first try's message, as its port is gone.
        let earlier = getsockname(fd).ok().and_then(|name| token_of_ports(SocketAddrUnix::try_from(name).ok()?.abstract_name()?));
        let token = earlier.or_else(|| {
            let mut token = [0; TOKEN];
            rustix::rand::getrandom(&mut token, rustix::rand::GetRandomFlags::empty()).is_ok_and(|n| n == TOKEN).then_some(token)
        })?;
        let display = held(&office, number).or_else(|| office.mach.look_up(&service(number)).ok())?;
        let call = match End::new(&office) {
            Ok(end) => Self { office, end, display, token },
            Err(_) => {
                office.mach.drop_send(display);
                return None;
            }
        };
        // First the message, then the name: a server that sees the name waits for the message.
        let name = || SocketAddrUnix::new_abstract_name(&name_of_ports(&token)).is_ok_and(|name| bind(fd, &name).is_ok());
        let asked = call.end.introduce(CONNECT, display, &body(token), PATIENCE).is_ok() && (earlier.is_some() || name());
        if !asked {
            call.end.close();
        }
        asked.then_some(call)
    }

    /// The socket connected, or failed to with `error`: the client's end. None if the program is to be told of the failure.
    pub fn connected(self, fd: BorrowedFd<'_>, error: Option<Errno>, nonblocking: bool) -> Option<Stream> {
        let stream = match error {
            None => self.stream(nonblocking),
            Some(Errno::NOENT | Errno::CONNREFUSED | Errno::ACCESS | Errno::NOTDIR | Errno::PERM) => {
                self.stand_in(fd, nonblocking)
            }
            Some(_) => None,
        };
        if stream.is_none() {
            self.end.close();
        }
        stream
    }

    fn stream(&self, nonblocking: bool) -> Option<Stream> {
        Stream::over_ports(Role::Client, &self.end, 0, nonblocking, None, false).ok()
    }

    /// No socket of the display can be reached: the server makes a connection in this one's stead, and the program's descriptor
    /// becomes half of a pair.
    fn stand_in(&self, fd: BorrowedFd<'_>, nonblocking: bool) -> Option<Stream> {
        let flags = SocketFlags::CLOEXEC | if nonblocking { SocketFlags::NONBLOCK } else { SocketFlags::empty() };
        let (theirs, ours) = socketpair(AddressFamily::UNIX, SocketType::STREAM, flags, None).ok()?;
        let ours = Reserved::aside(ours).ok()?;
        self.end.introduce(SUMMON, self.display, &body(self.token), PATIENCE).ok()?;
        put_over(&theirs, fd).ok()?;
        self.end.keep(ours);
        self.stream(nonblocking)
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        self.office.mach.drop_send(self.display);
    }
}

/// dup3(2) onto a descriptor of the program's, which is closed on exec as before.
pub fn put_over(from: impl AsFd, to: BorrowedFd<'_>) -> Result<(), Errno> {
    use std::os::fd::{AsRawFd, FromRawFd, IntoRawFd};
    let cloexec = rustix::io::fcntl_getfd(to)?.contains(rustix::io::FdFlags::CLOEXEC);
    #[allow(unsafe_code, reason = "the program's descriptor keeps its number")]
    // SAFETY: the number is open, and stays the program's: it is let go of again below.
    let mut to = unsafe { OwnedFd::from_raw_fd(to.as_raw_fd()) };
    let flags = if cloexec { rustix::io::DupFlags::CLOEXEC } else { rustix::io::DupFlags::empty() };
    let result = rustix::io::dup3(from, &mut to, flags);
    let _ = to.into_raw_fd();
    result
}

/// The right to the display that the program inherited, if it did.
fn held(office: &Office, display: u32) -> Option<Name> {
    let mut parts = Settings::get().held.as_deref()?.splitn(3, ':');
    let mut number = || parts.next()?.parse::<u64>().ok();
    let (socket, inode) = (i32::try_from(number()?).ok()?, number()?);
    if parts.next()?.strip_prefix(':')?.parse::<u32>() != Ok(display) {
        return None;
    }
    #[allow(unsafe_code, reason = "the number of an inherited descriptor comes as text")]
    // SAFETY: it is not -1, and is looked at only, with calls that fail if it is closed or another file's.
    let socket = unsafe { BorrowedFd::borrow_raw(socket) };
    // The program may have opened something else under the number.
    rustix::fs::fstat(socket).ok().filter(|file| file.st_ino == inode)?;
    let mut fds = Vec::new();
    let packet = slipway_fabric::packet::peek(socket, &mut [0; 8], |fd| fds.push(fd)).ok()?;
    let [sending, holder] = <[OwnedFd; 2]>::try_from(fds).ok().filter(|_| packet.len == 8)?;
    office.mach.import(sending, holder).ok()
}
