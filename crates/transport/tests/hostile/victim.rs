//! A server as an X server is one: a single thread that waits in an epoll set and echoes what its
//! clients say, built from the library's public parts.

use rustix::{
    event::{PollFlags, epoll},
    io::Errno,
    net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, accept_with, bind, listen, socket_with},
    time::Timespec,
};
use slipway_transport::{
    epoll::{EpollSet, Event},
    hub::{Accepted, Hub},
    stream::{How, Stream},
};
use std::{
    collections::HashMap,
    io::{IoSlice, IoSliceMut},
    os::fd::{AsFd, AsRawFd, OwnedFd},
    sync::{Arc, mpsc::Sender},
    time::Duration,
};

/// What happened to a client, told to the test.
#[derive(Debug, PartialEq, Eq, Clone, Copy)]
pub enum Told {
    /// A client came; whether on a line.
    Came(bool),
    /// A client is gone and all of it closed.
    Went,
}

struct Client {
    fd: OwnedFd,
    line: Option<Arc<Stream>>,
    pending: Vec<u8>,
}

const LISTENER: u64 = 0;
const STOP: u64 = 1;

/// Serves until `stop` becomes readable.
pub fn serve(hub: &Arc<Hub>, listener: &OwnedFd, stop: &OwnedFd, told: &Sender<Told>) {
    let epfd = epoll::create(epoll::CreateFlags::CLOEXEC).unwrap();
    epoll::add(&epfd, listener, epoll::EventData::new_u64(LISTENER), epoll::EventFlags::IN).unwrap();
    epoll::add(&epfd, stop, epoll::EventData::new_u64(STOP), epoll::EventFlags::IN).unwrap();
    let set = EpollSet::new(epfd.as_raw_fd()).unwrap();
    set.add_hub(hub);
    let mut clients: HashMap<u64, Client> = HashMap::new();
    let mut next = 2;
    let mut events = Vec::new();
    let mut busy: Vec<u64> = Vec::new();
    loop {
        events.clear();
        let timeout = (!busy.is_empty()).then_some(Duration::ZERO);
        set.wait(&mut events, 64, timeout, &mut |out, room, timeout| kernel_wait(&epfd, out, room, timeout)).unwrap();
        events.extend(busy.drain(..).map(|data| Event { events: 0, data }));
        for event in &events {
            match event.data {
                STOP => return,
                LISTENER => {
                    while let Ok(fd) = accept_with(listener, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK) {
                        let name =
                            rustix::net::getpeername(&fd).ok().flatten().and_then(|name| SocketAddrUnix::try_from(name).ok());
                        let name = name.as_ref().and_then(SocketAddrUnix::abstract_name);
                        let line = match hub.accepted(fd.as_fd(), name, true, false) {
                            Accepted::Line(stream) => Some(stream),
                            Accepted::Plain(_) => None,
                        };
                        let _ = told.send(Told::Came(line.as_ref().is_some_and(|stream| !stream.is_quiet())));
                        watch(&set, &epfd, &fd, line.as_ref(), next);
                        clients.insert(next, Client { fd, line, pending: Vec::new() });
                        next += 1;
                    }
                }
                id => {
                    let Some(client) = clients.get_mut(&id) else { continue };
                    match client.echo() {
                        Ok(false) => {}
                        Ok(true) => busy.push(id),
                        Err(_) => {
                            if client.line.is_some() {
                                set.closing(client.fd.as_raw_fd());
                            }
                            clients.remove(&id);
                            let _ = told.send(Told::Went);
                        }
                    }
                }
            }
        }
    }
}

fn watch(set: &Arc<EpollSet>, epfd: &OwnedFd, fd: &OwnedFd, line: Option<&Arc<Stream>>, id: u64) {
    let events = epoll::EventFlags::IN | epoll::EventFlags::OUT | epoll::EventFlags::ET;
    match line {
        Some(stream) => set.add(fd.as_raw_fd(), stream, events.bits(), id).unwrap(),
        None => epoll::add(epfd, fd, epoll::EventData::new_u64(id), events).unwrap(),
    }
}

fn kernel_wait(epfd: &OwnedFd, out: &mut Vec<Event>, room: usize, timeout: Option<Duration>) -> Result<(), Errno> {
    let mut found = Vec::with_capacity(room.max(1) + 16);
    let time = timeout.map(|t| Timespec { tv_sec: t.as_secs() as i64, tv_nsec: t.subsec_nanos().into() });
    epoll::wait(epfd, rustix::buffer::spare_capacity(&mut found), time.as_ref())?;
    out.extend(found.iter().map(|e| Event { events: { e.flags }.bits(), data: { e.data }.u64() }));
    Ok(())
}

impl Client {
    /// Reads and writes back as much as goes for now; whether there may be more. An error when the
    /// client is gone.
    fn echo(&mut self) -> Result<bool, Errno> {
        let mut buffer = [0; 8192];
        for _ in 0..16 {
            while !self.pending.is_empty() {
                match self.send() {
                    Ok(n) => drop(self.pending.drain(..n)),
                    Err(Errno::AGAIN) => return Ok(false),
                    Err(error) => return Err(error),
                }
            }
            match self.receive(&mut buffer) {
                Ok(0) => return Err(Errno::CONNRESET),
                Ok(n) => self.pending.extend_from_slice(&buffer[..n]),
                Err(Errno::AGAIN) => return Ok(false),
                Err(error) => return Err(error),
            }
        }
        // Somebody who never stops is not served for ever at a stretch.
        Ok(true)
    }

    fn send(&self) -> Result<usize, Errno> {
        match &self.line {
            Some(stream) => stream.send(self.fd.as_fd(), &[IoSlice::new(&self.pending)], &[]),
            None => rustix::net::send(&self.fd, &self.pending, rustix::net::SendFlags::NOSIGNAL),
        }
    }

    fn receive(&self, buffer: &mut [u8]) -> Result<usize, Errno> {
        match &self.line {
            Some(stream) => stream
                .receive(self.fd.as_fd(), &mut [IoSliceMut::new(buffer)], How { descriptors: true, ..How::default() })
                .map(|got| got.bytes),
            None => rustix::io::read(&self.fd, buffer),
        }
    }
}

/// The conditions that the echo waits for.
pub const BOTH: PollFlags = PollFlags::IN.union(PollFlags::OUT);

/// A listening X socket under an abstract name of this process.
pub fn listener(display: u32) -> (OwnedFd, SocketAddrUnix) {
    let name = format!("slipway-hostile-{}-{display}", std::process::id());
    let address = SocketAddrUnix::new_abstract_name(name.as_bytes()).unwrap();
    let fd = socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK, None).unwrap();
    bind(&fd, &address).unwrap();
    listen(&fd, 128).unwrap();
    (fd, address)
}
