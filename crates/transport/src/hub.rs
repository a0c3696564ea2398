//! The server's side of the rendezvous: offers, what is granted, and questions for the status.

use crate::{
    descriptor::Reserved,
    endpoint::Endpoint,
    ledger::{Ledger, LedgerEntry},
    line::{Heard, LONGEST_TEXT, Message, TOKEN, hear, send_message},
    pool::Pool,
    ports::{end::End, office::Office},
    rendezvous::token_of,
    report,
    settings::{Settings, runtime_dir},
    status::{Connection, Limits, ServerStatus, Transport, Waits, lines},
    stream::{Role, Stream, locked},
};
use rustix::{
    event::epoll,
    fs::Mode,
    io::Errno,
    net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, accept_with, bind, getpeername, listen, socket_with},
};
use slipway_fabric::{
    credentials::{self, Credentials},
    segment::{Segment, segment_size},
    sync::Ordering::Relaxed,
};
use std::{
    io,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    path::PathBuf,
    sync::{Arc, Mutex, Weak},
};

/// Most offers and greetings that wait; beyond it the oldest are dropped and stay on their sockets.
const MOST_WAITING: usize = 128;

/// A server's hub: one for each endpoint that it listens at.
#[derive(Debug)]
pub struct Hub {
    /// The endpoint, for people.
    name: String,
    display: Option<u32>,
    path: PathBuf,
    /// Device and number of the file there.
    file: (u64, u64),
    /// An epoll set of the listening socket and of those whose connection is not accepted yet.
    gate: Reserved,
    listening: Reserved,
    state: Mutex<State>,
    pool: Pool,
    ledger: Arc<Ledger>,
}

#[derive(Debug, Default)]
struct State {
    greetings: Vec<OwnedFd>,
    offers: Vec<Offer>,
    /// This process's streams, by the numbers of their entries.
    streams: Vec<(usize, Weak<Stream>)>,
    told_limit: bool,
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
pub struct PlainClient(Option<LedgerEntry>);

impl PlainClient {
    /// Counts bytes to or from the client.
    pub fn count(&self, received: u64, sent: u64) {
        if let Some(record) = &self.0 {
            let counts = &record.slot().counts;
            counts.received.fetch_add(received, Relaxed);
            counts.sent.fetch_add(sent, Relaxed);
        }
    }

    /// This process forks.
    pub fn before_fork(&self) {
        self.0.iter().for_each(LedgerEntry::before_fork);
    }

    /// This process was forked.
    pub fn after_fork(&self) {
        self.0.iter().for_each(LedgerEntry::inherit);
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

/// The hub's file may be executed, which means nothing to the system: its listening socket was made by another process.
const INHERITED: Mode = Mode::XUSR;

impl Hub {
    /// Opens the hub of `endpoint` in this user's runtime directory, whose listening socket is the calling process's own,
    /// or one that it `inherited`.
    ///
    /// # Errors
    /// There is no such directory, or no socket can be made in it.
    pub fn open(endpoint: &Endpoint, inherited: bool) -> io::Result<Arc<Self>> {
        let dir =
            runtime_dir(true).ok_or_else(|| io::Error::other("no runtime directory is this user's own and closed to others"))?;
        let hub_name = endpoint.hub_name().ok_or_else(|| io::Error::other("there is no file of its name"))?;
        let path = dir.join(&hub_name);
        let listening =
            socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK, None)?;
        // Bound under another name and renamed when it listens: whoever sees the name can connect,
        // and what a killed server left there is replaced.
        let fresh = dir.join(format!(".{hub_name}-{}", std::process::id()));
        let _ = std::fs::remove_file(&fresh);
        bind(&listening, &SocketAddrUnix::new(&fresh)?)?;
        let mode = if inherited { Mode::RUSR | Mode::WUSR | INHERITED } else { Mode::RUSR | Mode::WUSR };
        let ready = listen(&listening, 128)
            .and_then(|()| rustix::fs::chmod(&fresh, mode))
            .and_then(|()| rustix::fs::stat(&fresh))
            .and_then(|file| rustix::fs::rename(&fresh, &path).map(|()| (file.st_dev, file.st_ino)));
        let file = ready.inspect_err(|_| _ = std::fs::remove_file(&fresh))?;
        let gate = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        epoll::add(&gate, &listening, epoll::EventData::new_u64(0), epoll::EventFlags::IN)?;
        let (gate, listening) = (Reserved::new(gate)?, Reserved::new(listening)?);
        let (name, display) = (endpoint.shown(), endpoint.display());
        let (pool, ledger) = (Pool::new()?, Ledger::new(Settings::get().clients)?);
        Ok(Arc::new(Self { name, display, path, file, gate, listening, state: Mutex::default(), pool, ledger }))
    }

    /// Whoever waits for the hub hears of messages to the process's ports, too.
    pub fn watch(&self, office: &Office) {
        let _ = epoll::add(&self.gate, office.gate(), epoll::EventData::new_u64(0), epoll::EventFlags::IN);
    }

    /// Whether a hub's file says that its server inherited the listening socket.
    pub fn is_inherited(file: &rustix::fs::Stat) -> bool {
        Mode::from_raw_mode(file.st_mode).contains(INHERITED)
    }

    /// Whether it is the display's, or else the one at the path of `endpoint`.
    pub fn is_of(&self, endpoint: &Endpoint) -> bool {
        self.path.file_name().is_some_and(|name| endpoint.hub_name().is_some_and(|of| name == of.as_str()))
    }

    /// The display number, of an X server.
    pub fn display(&self) -> Option<u32> {
        self.display
    }

    /// Removes the hub's file, if no other process of the server serves the hub, and no other server has taken its place.
    pub fn retire(&self) {
        if self.ledger.is_over() && rustix::fs::stat(&self.path).is_ok_and(|file| (file.st_dev, file.st_ino) == self.file) {
            let _ = std::fs::remove_file(&self.path);
        }
    }

    /// This process was forked, and has the hub, too.
    pub fn after_fork(&self) {
        self.ledger.inherit();
    }

    /// This process is about to become another program.
    pub fn before_exec(&self) {
        self.ledger.renounce();
    }

    /// This process forks: what it heard and didn't use is for whichever process accepts.
    pub fn before_fork(&self) {
        self.ledger.before_fork();
        if let Ok(mut state) = self.state.try_lock() {
            self.park(&mut state);
        }
    }

    fn park(&self, state: &mut State) {
        for offer in state.offers.drain(..) {
            let _ = epoll::delete(&self.gate, &offer.line);
            self.pool.put(offer.line, offer.token, offer.ring);
        }
        for greeting in state.greetings.drain(..) {
            let _ = epoll::delete(&self.gate, &greeting);
            self.pool.put(greeting, [0; TOKEN], 0);
        }
    }

    /// Hears everybody at the gate: takes offers, answers questions. Never waits.
    pub fn serve(&self) {
        if self.display.is_some() {
            Office::get().iter().for_each(|office| office.collect());
        }
        let mut state = locked(&self.state);
        let _turn = self.ledger.family().lock.lock();
        self.hear_all(&mut state);
        if self.ledger.is_shared() {
            self.park(&mut state);
        }
    }

    fn hear_all(&self, state: &mut State) {
        let mut newcomers = Vec::new();
        for _ in 0..2 * MOST_WAITING {
            match accept_with(&self.listening, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK) {
                Ok(fd) => newcomers.push(fd),
                Err(Errno::INTR | Errno::CONNABORTED) => {}
                Err(_) => break,
            }
        }
        if self.ledger.is_shared() {
            for (socket, token, ring) in self.pool.take() {
                match credentials::peer(&socket) {
                    Ok(from) if ring != 0 => state.offers.push(Offer { token, ring, from, line: socket }),
                    _ => state.greetings.push(socket),
                }
            }
        }
        // Whoever offered and went away without connecting leaves nothing.
        state.offers.retain(|offer| matches!(hear(offer.line.as_fd()), Heard::Nothing));
        for fd in std::mem::take(&mut state.greetings) {
            self.greet(state, fd, false);
        }
        for fd in newcomers {
            self.greet(state, fd, true);
        }
        while state.greetings.len() > MOST_WAITING {
            state.greetings.remove(0);
        }
        while state.offers.len() > MOST_WAITING {
            state.offers.remove(0);
        }
    }

    fn greet(&self, state: &mut State, fd: OwnedFd, newcomer: bool) {
        let heard = hear(fd.as_fd());
        let waits = matches!(heard, Heard::Nothing | Heard::Message(Message::Offer { .. }));
        if self.ledger.is_shared() {
            // A set would go on hearing of sockets that another process has.
        } else if waits && newcomer {
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
                // here would stop the server.
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
    /// limits allow, unless only the kernel can do what is asked of the socket (`plain`). Never waits: an offer is there before its connection.
    pub fn accepted(&self, fd: BorrowedFd<'_>, nonblocking: bool, plain: bool) -> Accepted {
        let peer = credentials::peer(fd).ok();
        let pid = peer.and_then(|p| p.pid).unwrap_or(0);
        let token = getpeername(fd).ok().flatten().and_then(|address| {
            let address = SocketAddrUnix::try_from(address).ok()?;
            token_of(address.abstract_name()?)
        });
        let mut state = locked(&self.state);
        let _turn = self.ledger.family().lock.lock();
        self.hear_all(&mut state);
        let offer = token.and_then(|token| {
            let index = state.offers.iter().position(|o| o.token == token)?;
            let offer = state.offers.swap_remove(index);
            let _ = epoll::delete(&self.gate, &offer.line);
            Some(offer)
        });
        if self.ledger.is_shared() {
            self.park(&mut state);
        }
        // Only the process that connected may have offered; anything else is somebody's trick.
        let offer = offer.filter(|o| peer.is_some_and(|p| p.pid.is_some() && p == o.from));
        if let Some(offer) = offer {
            let line = offer.line;
            if plain {
                let _ = send_message(line.as_fd(), &Message::Decline);
                return Accepted::Plain(Arc::new(PlainClient(self.ledger.add(pid, 0, 0))));
            }
            match self.grant(line.as_fd(), offer.ring, pid) {
                Ok((segment, record)) => {
                    let index = record.index();
                    let hides_end = self.display.is_some();
                    let stream =
                        Reserved::new(line).and_then(|line| Stream::granted(line, segment, record, nonblocking, hides_end));
                    if let Ok(stream) = stream {
                        let stream = Arc::new(stream);
                        state.streams.retain(|(_, s)| s.strong_count() > 0);
                        state.streams.push((index, Arc::downgrade(&stream)));
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
        Accepted::Plain(Arc::new(PlainClient(self.ledger.add(pid, 0, 0))))
    }

    /// The process at the other end of a connection, if it has a number here.
    pub fn peer(fd: BorrowedFd<'_>) -> Option<u32> {
        credentials::peer(fd).ok()?.pid
    }

    /// A connection over ports was just accepted: the stream of its end.
    ///
    /// # Errors
    /// No descriptor or memory is left.
    pub fn accepted_over_ports(&self, end: &Arc<End>, pid: u32, nonblocking: bool) -> io::Result<Arc<Stream>> {
        let record = self.ledger.add(pid, 0, 0);
        report::debug(format_args!("process {pid} connected over Mach ports"));
        Stream::over_ports(Role::Server, end, pid, nonblocking, record, self.display.is_some()).map(Arc::new)
    }

    /// Makes a segment within the limits and sends it; or says which limit is reached.
    fn grant(&self, line: BorrowedFd<'_>, asked: u64, pid: u32) -> Result<(Segment, LedgerEntry), String> {
        let s = Settings::get();
        if self.granted_clients(s.clients) >= s.clients {
            return Err(format!("{} clients use shared memory, the most that SLIPWAY_X11_CLIENTS allows", s.clients));
        }
        let mut ring = usize::try_from(asked).unwrap_or(usize::MAX).clamp(s.min_ring, s.max_ring);
        ring = if ring.is_power_of_two() { ring } else { ring.next_power_of_two() / 2 };
        let fits = |ring| self.ledger.granted().1 + segment_size(ring) as u64 <= s.total;
        if !fits(ring) {
            // Without those that are gone.
            self.ledger.live();
        }
        while !fits(ring) {
            ring /= 2;
            if ring < s.min_ring {
                return Err(format!("all segments together would pass the {} bytes that SLIPWAY_X11_TOTAL allows", s.total));
            }
        }
        let record =
            self.ledger.add(pid, ring as u64, segment_size(ring) as u64).ok_or("there is no place for it in the ledger")?;
        let made = Segment::create(ring).and_then(|(segment, fd)| {
            send_message(line, &Message::Grant { ring: ring as u64, segment: fd })?;
            Ok(segment)
        });
        let segment = made.map_err(|error| format!("no shared memory could be made ({error})"))?;
        Ok((segment, record))
    }

    /// Clients on shared memory; those that are gone don't count where that decides.
    fn granted_clients(&self, most: u32) -> u32 {
        match self.ledger.granted().0 {
            few if few < most => few,
            _ => {
                self.ledger.live();
                self.ledger.granted().0
            }
        }
    }

    fn status(&self, state: &State) -> ServerStatus {
        let s = Settings::get();
        let name =
            |pid: u32| std::fs::read_to_string(format!("/proc/{pid}/comm")).map(|c| c.trim_end().to_owned()).unwrap_or_default();
        let connections = self.ledger.live().into_iter().map(|(index, slot)| {
            // Other processes of the server say where theirs are when they use them.
            let stream = state.streams.iter().find(|(i, _)| *i == index).and_then(|(_, stream)| stream.upgrade());
            let t = slot.counts.read();
            let pid = slot.peer.load(Relaxed);
            Connection {
                pid,
                name: name(pid),
                transport: if slot.counts.over_ports() {
                    Transport::Ports
                } else if stream.map_or_else(|| slot.counts.on_ring(), |s| s.on_ring()) {
                    Transport::Ring
                } else {
                    Transport::Socket
                },
                ring_bytes: slot.ring.load(Relaxed),
                bytes_in: t.received,
                bytes_out: t.sent,
                waits: Waits { looked: t.looked, spun: t.spun, slept: t.slept },
                doorbells_rung: t.rung,
                doorbells_heard: t.heard,
            }
        });
        let connections = connections.collect();
        ServerStatus {
            pid: std::process::id(),
            endpoint: self.name.clone(),
            display: self.display,
            limits: Limits { min_ring: s.min_ring as u64, max_ring: s.max_ring as u64, total: s.total, clients: s.clients },
            granted_bytes: self.ledger.granted().1,
            connections,
        }
    }
}

impl Drop for Hub {
    fn drop(&mut self) {
        self.retire();
    }
}

impl AsFd for Hub {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.gate.as_fd()
    }
}
