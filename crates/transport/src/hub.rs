//! The server's side of the rendezvous: offers, what is granted, and questions for the status.

use crate::{
    descriptor::Reserved,
    line::{Heard, LONGEST_TEXT, Message, TOKEN, hear, send_message},
    rendezvous::token_of,
    report,
    settings::{Settings, runtime_dir},
    status::{Connection, Limits, ServerStatus, Transport, Waits, hub_path, lines},
    stream::{Stream, locked},
};
use rustix::{
    event::epoll,
    io::Errno,
    net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, accept_with, bind, getpeername, listen, socket_with},
};
use slipway_fabric::{
    credentials::{self, Credentials},
    segment::{Segment, segment_size},
    sync::{AtomicU32, AtomicU64, Ordering::Relaxed},
};
use std::{
    io,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    path::PathBuf,
    sync::{Arc, Mutex, Weak},
};

/// Most offers and greetings that wait; beyond it the oldest are dropped and stay on their sockets.
const MOST_WAITING: usize = 128;

/// A server's hub: one for each display it listens on.
#[derive(Debug)]
pub struct Hub {
    display: u32,
    path: PathBuf,
    /// An epoll set of the listening socket and of those whose connection is not accepted yet.
    gate: Reserved,
    listening: Reserved,
    state: Mutex<State>,
    granted: Arc<Granted>,
}

#[derive(Debug, Default)]
struct State {
    greetings: Vec<OwnedFd>,
    offers: Vec<Offer>,
    streams: Vec<Weak<Stream>>,
    plain: Vec<Weak<PlainClient>>,
    told_limit: bool,
}

/// What is granted now. Apart from the hub's lock, as streams end anywhere.
#[derive(Debug, Default)]
struct Granted {
    clients: AtomicU32,
    bytes: AtomicU64,
}

#[derive(Debug)]
struct Offer {
    token: [u8; TOKEN],
    ring: u64,
    from: Credentials,
    line: OwnedFd,
}

/// A client that stays on its socket, for the status.
#[derive(Debug)]
pub struct PlainClient {
    pid: u32,
    /// Bytes from the client.
    pub received: AtomicU64,
    /// Bytes to the client.
    pub sent: AtomicU64,
}

/// A part of what a server grants, given back when dropped.
#[derive(Debug)]
pub struct Allowance {
    granted: Arc<Granted>,
    bytes: u64,
}

impl Drop for Allowance {
    fn drop(&mut self) {
        self.granted.clients.fetch_sub(1, Relaxed);
        self.granted.bytes.fetch_sub(self.bytes, Relaxed);
    }
}

/// What an accepted connection is.
#[derive(Debug)]
pub enum Accepted {
    /// It has a line.
    Line(Arc<Stream>),
    /// It stays on its socket.
    Plain(Arc<PlainClient>),
}

impl Hub {
    /// Opens the hub of `display` in this user's runtime directory.
    pub fn open(display: u32) -> io::Result<Arc<Self>> {
        let dir =
            runtime_dir(true).ok_or_else(|| io::Error::other("no runtime directory is this user's own and closed to others"))?;
        let path = hub_path(&dir, display);
        let listening =
            socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK, None)?;
        // Bound under another name and renamed when it listens: whoever sees the name can connect,
        // and what a killed server left there is replaced.
        let fresh = dir.join(format!(".x11-{display}-{}", std::process::id()));
        let _ = std::fs::remove_file(&fresh);
        bind(&listening, &SocketAddrUnix::new(&fresh)?)?;
        let ready = listen(&listening, 128).and_then(|()| rustix::fs::rename(&fresh, &path));
        if let Err(error) = ready {
            let _ = std::fs::remove_file(&fresh);
            return Err(error.into());
        }
        let gate = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        epoll::add(&gate, &listening, epoll::EventData::new_u64(0), epoll::EventFlags::IN)?;
        let (gate, listening) = (Reserved::new(gate)?, Reserved::new(listening)?);
        Ok(Arc::new(Self { display, path, gate, listening, state: Mutex::default(), granted: Arc::default() }))
    }

    /// The display number.
    pub fn display(&self) -> u32 {
        self.display
    }

    /// Removes the hub's socket from the file system, as a server does when it ends.
    pub fn unlink(&self) {
        let _ = std::fs::remove_file(&self.path);
    }

    /// Hears everybody at the gate: takes offers, answers questions. Never waits.
    pub fn serve(self: &Arc<Self>) {
        let mut state = locked(&self.state);
        let mut newcomers = Vec::new();
        for _ in 0..2 * MOST_WAITING {
            match accept_with(&self.listening, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK) {
                Ok(fd) => newcomers.push(fd),
                Err(Errno::INTR | Errno::CONNABORTED) => {}
                Err(_) => break,
            }
        }
        // Whoever offered and went away without connecting leaves nothing.
        state.offers.retain(|offer| matches!(hear(offer.line.as_fd()), Heard::Nothing));
        for fd in std::mem::take(&mut state.greetings) {
            self.greet(&mut state, fd, false);
        }
        for fd in newcomers {
            self.greet(&mut state, fd, true);
        }
        while state.greetings.len() > MOST_WAITING {
            state.greetings.remove(0);
        }
        while state.offers.len() > MOST_WAITING {
            state.offers.remove(0);
        }
    }

    fn greet(self: &Arc<Self>, state: &mut State, fd: OwnedFd, newcomer: bool) {
        let heard = hear(fd.as_fd());
        let waits = matches!(heard, Heard::Nothing | Heard::Message(Message::Offer { .. }));
        if waits && newcomer {
            let _ = epoll::add(&self.gate, &fd, epoll::EventData::new_u64(0), epoll::EventFlags::IN);
        } else if !waits && !newcomer {
            let _ = epoll::delete(&self.gate, &fd);
        }
        match heard {
            Heard::Nothing => state.greetings.push(fd),
            Heard::Message(Message::Offer { token, ring }) => {
                if let Ok(from) = credentials::peer(&fd) {
                    state.offers.push(Offer { token, ring, from, line: fd });
                }
            }
            Heard::Message(Message::Query) => {
                let status = self.status(state);
                // A question whose answer doesn't fit the socket's queue is cut short; blocking
                // here would stop the X server.
                let mut page = String::new();
                for line in lines(&status) {
                    if page.len() + line.len() + 1 > LONGEST_TEXT {
                        let _ = send_message(fd.as_fd(), &Message::Text(std::mem::take(&mut page)));
                    }
                    page += &line;
                    page.push('\n');
                }
                let _ = send_message(fd.as_fd(), &Message::Text(page));
                let _ = send_message(fd.as_fd(), &Message::Text(String::new()));
            }
            _ => {}
        }
    }

    /// Finds the offer for a connection that was just accepted as `fd`, and grants it what the
    /// limits allow. Never waits: an offer is there before its connection.
    pub fn accepted(self: &Arc<Self>, fd: BorrowedFd<'_>, nonblocking: bool) -> Accepted {
        self.serve();
        let peer = credentials::peer(fd).ok();
        let pid = peer.and_then(|p| p.pid).unwrap_or(0);
        let token = getpeername(fd).ok().flatten().and_then(|address| {
            let address = SocketAddrUnix::try_from(address).ok()?;
            token_of(address.abstract_name()?)
        });
        let mut state = locked(&self.state);
        let offer = token.and_then(|token| {
            let index = state.offers.iter().position(|o| o.token == token)?;
            let offer = state.offers.swap_remove(index);
            let _ = epoll::delete(&self.gate, &offer.line);
            Some(offer)
        });
        // Only the process that connected may have offered; anything else is somebody's trick.
        let offer = offer.filter(|o| peer.is_some_and(|p| p.pid.is_some() && p == o.from));
        if let Some(offer) = offer {
            let line = offer.line;
            match self.grant(line.as_fd(), offer.ring) {
                Ok((segment, allowance)) => {
                    let stream = Reserved::new(line).and_then(|line| Stream::granted(line, segment, allowance, pid, nonblocking));
                    if let Ok(stream) = stream {
                        let stream = Arc::new(stream);
                        state.streams.retain(|s| s.strong_count() > 0);
                        state.streams.push(Arc::downgrade(&stream));
                        report::debug(format_args!("process {pid} connected through shared memory"));
                        return Accepted::Line(stream);
                    }
                }
                Err(why) => {
                    // A client that has gone meanwhile is nothing to warn of.
                    let told = send_message(line.as_fd(), &Message::Decline).is_ok();
                    if told && !std::mem::replace(&mut state.told_limit, true) {
                        report::warn(format_args!("{why}; process {pid} stays on its socket (said once)"));
                    }
                }
            }
        }
        let plain = Arc::new(PlainClient { pid, received: AtomicU64::new(0), sent: AtomicU64::new(0) });
        state.plain.retain(|p| p.strong_count() > 0);
        state.plain.push(Arc::downgrade(&plain));
        Accepted::Plain(plain)
    }

    /// Makes a segment within the limits and sends it; or says which limit is reached.
    fn grant(&self, line: BorrowedFd<'_>, asked: u64) -> Result<(Segment, Allowance), String> {
        let s = Settings::get();
        if self.granted.clients.load(Relaxed) >= s.clients {
            return Err(format!("{} clients use shared memory, the most that SLIPWAY_X11_CLIENTS allows", s.clients));
        }
        let mut ring = usize::try_from(asked).unwrap_or(usize::MAX).clamp(s.min_ring, s.max_ring);
        ring = if ring.is_power_of_two() { ring } else { ring.next_power_of_two() / 2 };
        while self.granted.bytes.load(Relaxed) + segment_size(ring) as u64 > s.total {
            ring /= 2;
            if ring < s.min_ring {
                return Err(format!("all segments together would pass the {} bytes that SLIPWAY_X11_TOTAL allows", s.total));
            }
        }
        let made = Segment::create(ring).and_then(|(segment, fd)| {
            send_message(line, &Message::Grant { ring: ring as u64, segment: fd })?;
            Ok(segment)
        });
        let segment = made.map_err(|error| format!("no shared memory could be made ({error})"))?;
        let bytes = segment_size(ring) as u64;
        self.granted.bytes.fetch_add(bytes, Relaxed);
        self.granted.clients.fetch_add(1, Relaxed);
        Ok((segment, Allowance { granted: Arc::clone(&self.granted), bytes }))
    }

    fn status(&self, state: &State) -> ServerStatus {
        let s = Settings::get();
        let name =
            |pid: u32| std::fs::read_to_string(format!("/proc/{pid}/comm")).map(|c| c.trim_end().to_owned()).unwrap_or_default();
        let lines = state.streams.iter().filter_map(Weak::upgrade).map(|stream| {
            let t = stream.counts();
            Connection {
                pid: stream.peer_pid,
                name: name(stream.peer_pid),
                transport: if stream.on_ring() { Transport::Ring } else { Transport::Socket },
                ring_bytes: stream.ring_size() as u64,
                bytes_in: t.received,
                bytes_out: t.sent,
                waits: Waits { looked: t.looked, spun: t.spun, slept: t.slept },
                doorbells_rung: t.rung,
                doorbells_heard: t.heard,
            }
        });
        let plain = state.plain.iter().filter_map(Weak::upgrade).map(|client| Connection {
            pid: client.pid,
            name: name(client.pid),
            transport: Transport::Socket,
            ring_bytes: 0,
            bytes_in: client.received.load(Relaxed),
            bytes_out: client.sent.load(Relaxed),
            waits: Waits::default(),
            doorbells_rung: 0,
            doorbells_heard: 0,
        });
        ServerStatus {
            pid: std::process::id(),
            display: self.display,
            limits: Limits { min_ring: s.min_ring as u64, max_ring: s.max_ring as u64, total: s.total, clients: s.clients },
            granted_bytes: self.granted.bytes.load(Relaxed),
            connections: lines.chain(plain).collect(),
        }
    }
}

impl AsFd for Hub {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.gate.as_fd()
    }
}
