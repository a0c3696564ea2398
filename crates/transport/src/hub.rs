//! The server's side of the rendezvous: offers, what is granted, and questions for the status.

use crate::{
    descriptor::Reserved,
    endpoint::Endpoint,
    epoll::EpollSet,
    gate::{Gate, INHERITED, MOST_FOREIGN, MOST_WAITING},
    ledger::{Ledger, LedgerEntry, alive},
    line::{Heard, LONGEST_TEXT, Message, TOKEN, hear_words, send_message},
    options::inherits_need,
    pool::UNKNOWN,
    ports::{end::End, office::Office},
    rendezvous::token_of,
    report,
    settings::{Settings, runtime_dir},
    status::{Connection, Limits, ServerStatus, Transport, Waits, lines},
    stream::{Prospect, Role, Stream, locked, refusal, refused},
};
use arc_swap::ArcSwapOption;
use rustix::{event::epoll, fs::Mode, process::geteuid};
use slipway_fabric::{
    credentials::{self, Credentials},
    sync::{AtomicU32, ForkMutex, Forked, Guard, Ordering::Relaxed},
};
use std::{
    io,
    os::fd::{AsFd, BorrowedFd},
    path::PathBuf,
    sync::{Arc, Weak},
};

/// A server's hub: one for each endpoint that it listens at.
#[derive(Debug)]
pub struct Hub {
    /// The endpoint, for people.
    name: String,
    display: Option<u32>,
    path: PathBuf,
    inherited: bool,
    /// The process that made it, and its user then.
    process: u32,
    user: u32,
    /// None while the program has a use for every descriptor.
    gate: ArcSwapOption<Gate>,
    /// Where the program waits for the gate.
    sets: ForkMutex<Vec<Weak<EpollSet>>>,
    state: ForkMutex<State>,
    ledger: Arc<Ledger>,
    /// 1: an accepted socket needed the kernel for none of the options that it has from the listening one.
    needs_nothing: AtomicU32,
    /// Connections that this process has accepted.
    accepted: AtomicU32,
}

#[derive(Debug, Default)]
struct State {
    greetings: Vec<Reserved>,
    offers: Vec<Offer>,
    /// This process's streams, with the numbers of their entries and the names of their clients' sockets.
    streams: Vec<(usize, [u8; TOKEN], Weak<Stream>)>,
    /// What the last [`sweep`] left of each.
    offers_swept: usize,
    streams_swept: usize,
}

impl State {
    /// Whether this process has an end that still looks for the offer of that client, whose socket has the name of `token`.
    fn awaits(&self, token: &[u8; TOKEN], from: Credentials) -> bool {
        let is_it = |stream: Arc<Stream>| stream.is_quiet() && from.pid == Some(stream.peer_pid);
        self.streams.iter().any(|(_, of, stream)| of == token && stream.upgrade().is_some_and(is_it))
    }

    /// Drops the oldest that wait: connections are accepted in their order.
    fn drop_surplus(&mut self) {
        let most = MOST_WAITING.max(self.streams.len());
        self.greetings.drain(..self.greetings.len().saturating_sub(MOST_WAITING));
        self.offers.drain(..self.offers.len().saturating_sub(most));
    }

    /// Keeps a newcomer that has said nothing yet; of other users' not many.
    fn keep(&mut self, greeting: Reserved) {
        let is_foreign = |fd: &Reserved| credentials::peer(fd).is_ok_and(|peer| peer.uid != geteuid().as_raw());
        if !is_foreign(&greeting) || self.greetings.iter().filter(|known| is_foreign(known)).count() < MOST_FOREIGN {
            self.greetings.push(greeting);
        }
    }
}

/// Looks for what is of no use any more in a list that has doubled since the last time: an entry is looked at about twice, however many
/// there are.
fn sweep<T>(list: &mut Vec<T>, left: &mut usize, is_of_use: impl FnMut(&T) -> bool) {
    if list.len() > 2 * *left {
        list.retain(is_of_use);
        *left = list.len();
    }
}

#[derive(Debug)]
struct Offer {
    token: [u8; TOKEN],
    ring: u64,
    from: Credentials,
    line: Reserved,
}

/// A server that never sleeps hears those at the hub once in so many connections that it accepts.
const BETWEEN_LOOKS: u32 = 16;

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

    /// No child came of it.
    pub fn fork_failed(&self) {
        self.0.iter().for_each(LedgerEntry::fork_failed);
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
        let gate = ArcSwapOption::from_pointee(Gate::open(&path, inherited)?);
        let (name, display) = (endpoint.shown(), endpoint.display());
        let ledger = Ledger::new(Settings::get().clients)?;
        let (sets, state) = (ForkMutex::default(), ForkMutex::default());
        let (process, user) = (std::process::id(), geteuid().as_raw());
        let (needs_nothing, accepted) = Default::default();
        let hub = Self { name, display, path, inherited, process, user, gate, sets, state, ledger, needs_nothing, accepted };
        Ok(Arc::new(hub))
    }

    /// What the program must wait for on the hub's behalf; None if there is nothing now.
    pub fn gate(&self) -> Option<Arc<Gate>> {
        self.gate.load_full()
    }

    /// The program waits for the gate in `set`.
    pub fn join(&self, set: &Arc<EpollSet>) {
        let mut sets = locked(&self.sets);
        sets.retain(|known| known.strong_count() > 0 && !std::ptr::eq(known.as_ptr(), Arc::as_ptr(set)));
        sets.push(Arc::downgrade(set));
    }

    /// The program wants every descriptor: closes the gate. Clients that wait there stay on their sockets.
    pub fn give_up(&self) {
        if let Some(mut state) = self.state.try_lock() {
            self.retire();
            (state.offers, state.greetings) = Default::default();
            self.gate.store(None);
        }
    }

    /// Opens the gate again, if it was closed and no other process of the server may have one.
    fn reopen(&self) {
        if self.gate.load().is_some() || (self.ledger.is_shared() && !self.ledger.is_over()) {
            return;
        }
        let Ok(gate) = Gate::open(&self.path, self.inherited || self.process != std::process::id()) else { return };
        // Where the family is said to share it, offers are looked for in its pool.
        if self.ledger.is_shared() && !gate.pool() {
            return;
        }
        let gate = Arc::new(gate);
        self.gate.store(Some(Arc::clone(&gate)));
        let sets: Vec<_> = locked(&self.sets).iter().filter_map(Weak::upgrade).collect();
        for set in sets {
            set.wait_for(self, gate.as_fd());
        }
        if self.display.is_some() {
            Office::get().iter().for_each(|office| self.watch(office));
        }
    }

    /// Whoever waits for the hub hears of messages to the process's ports, too.
    pub fn watch(&self, office: &Office) {
        if let Some(gate) = self.gate() {
            let _ = epoll::add(&gate.set, office.gate(), epoll::EventData::new_u64(0), epoll::EventFlags::IN);
        }
    }

    /// Whether a hub's file says that its server inherited the listening socket.
    pub fn is_inherited(file: &rustix::fs::Stat) -> bool {
        Mode::from_raw_mode(file.st_mode).contains(INHERITED)
    }

    /// Whether a client is of another user than the listener is for the client, whatever user this process has become since.
    pub fn is_foreign(&self, client: Credentials) -> bool {
        client.uid != self.user
    }

    /// This process has called listen(2) again: if it was forked, the listening socket is another's than the hub in the kernel's eyes.
    pub fn listen_again(&self) {
        let is_own = |gate: &Arc<Gate>| rustix::fs::stat(&self.path).is_ok_and(|file| (file.st_dev, file.st_ino) == gate.file);
        if self.process != std::process::id() && self.gate().is_some_and(|gate| is_own(&gate)) {
            let _ = rustix::fs::chmod(&self.path, Mode::RUSR | Mode::WUSR | INHERITED);
        }
    }

    /// This process sets an option of the listening socket that connections have from it.
    pub fn option_set(&self) {
        self.ledger.family().option_set.store(1, Relaxed);
    }

    /// Whether `fd`, which was just accepted, has an option from the listening socket that only the kernel can honour. Once one was set, each connection is asked,
    /// as it has those of the moment at which its client connected.
    pub fn needs_kernel(&self, fd: BorrowedFd<'_>) -> bool {
        if self.needs_nothing.load(Relaxed) != 0 && self.ledger.family().option_set.load(Relaxed) == 0 {
            return false;
        }
        let needs = inherits_need(fd);
        self.needs_nothing.store((!needs).into(), Relaxed);
        needs
    }

    /// Whether it is the display's, or else the one at the path of `endpoint`.
    pub fn is_of(&self, endpoint: &Endpoint) -> bool {
        self.path.file_name().is_some_and(|name| endpoint.hub_name().is_some_and(|of| name == of.as_str()))
    }

    /// The turn to take a connection that is there, if no other thread of the server's processes has it.
    pub fn try_accepting(&self) -> Option<Guard<'_>> {
        self.ledger.family().accepting.try_lock()
    }

    /// The display number, of an X server.
    pub fn display(&self) -> Option<u32> {
        self.display
    }

    /// Removes the hub's file, if no other process of the server serves the hub, and no other server has taken its place.
    pub fn retire(&self) {
        let Some(gate) = self.gate() else { return };
        if self.ledger.is_over() && rustix::fs::stat(&self.path).is_ok_and(|file| (file.st_dev, file.st_ino) == gate.file) {
            let _ = rustix::fs::unlink(&self.path);
        }
    }

    /// This process was forked, and has the hub, too. Offers that another thread was at just then are the parent's.
    pub fn after_fork(&self, child: &Forked) {
        self.sets.after_fork(child);
        self.state.after_fork(child);
        self.ledger.inherit();
    }

    /// This process is about to become another program.
    pub fn before_exec(&self) {
        self.ledger.renounce();
    }

    /// This process forks: what it heard and didn't use is for whichever process accepts.
    pub fn before_fork(&self) {
        self.ledger.before_fork();
        let Some(gate) = self.gate() else { return };
        gate.pool();
        if let Some(mut state) = self.state.try_lock() {
            // Not waited for: a signal handler that forks may have interrupted its holder.
            let _turn = self.ledger.family().lock.try_lock();
            self.park(&gate, &mut state);
        }
    }

    /// No child came of it.
    pub fn fork_failed(&self) {
        self.ledger.fork_failed();
    }

    fn park(&self, gate: &Gate, state: &mut State) {
        let parked = &self.ledger.family().parked;
        state.offers.drain(..).for_each(|offer| gate.park(parked, offer.line, offer.token, offer.ring));
        state.greetings.drain(..).for_each(|greeting| gate.park(parked, greeting, UNKNOWN, 0));
    }

    /// Hears everybody at the gate: takes offers, answers questions. Never waits.
    pub fn serve(&self) {
        if self.display.is_some() {
            Office::get().iter().for_each(|office| office.collect());
        }
        let Some(gate) = self.gate() else { return };
        let mut state = locked(&self.state);
        let turn = self.ledger.family().lock.lock();
        let served = if self.ledger.is_shared() {
            self.hear_until(&gate, &mut state, &UNKNOWN, |_| false).1
        } else {
            self.hear_all(&gate, &mut state)
        };
        drop((turn, state));
        if !served {
            // Connections that can't be accepted would keep the set ready for ever.
            self.give_up();
        }
    }

    /// False if there is no descriptor for a newcomer.
    fn hear_all(&self, gate: &Gate, state: &mut State) -> bool {
        let (newcomers, served) = gate.admit(2 * MOST_WAITING, &mut { MOST_FOREIGN });
        // Whoever offered and went away without connecting leaves nothing for long.
        let State { offers, offers_swept, .. } = state;
        sweep(offers, offers_swept, |offer| matches!(hear_words(offer.line.as_fd()), Heard::Nothing));
        for fd in std::mem::take(&mut state.greetings) {
            self.greet(gate, state, fd, false);
        }
        for fd in newcomers {
            self.greet(gate, state, fd, true);
        }
        state.drop_surplus();
        served
    }

    /// As [`Hub::hear_all`], where the server has forked: hears those at the gate, and looks at the pool if one like `token` may be there, until an offer `is_it`.
    /// The others go into the pool, in their order: as clients mostly offer and servers look for it in one order, too, a process finds its own soon.
    fn hear_until(
        &self,
        gate: &Gate,
        state: &mut State,
        token: &[u8; TOKEN],
        is_it: impl Fn(&Offer) -> bool,
    ) -> (Option<Offer>, bool) {
        let parked = &self.ledger.family().parked;
        let mut pool = gate.pool.get().filter(|_| parked.may_hold(token));
        let (mut served, mut left, mut foreign) = (true, 2 * MOST_WAITING, MOST_FOREIGN);
        let heard = state.offers.iter().position(&is_it);
        let mut found = heard.map(|at| state.offers.remove(at));
        while left > 0 && found.is_none() {
            if let Some((socket, token, ring)) = pool.and_then(|pool| pool.take(parked)) {
                match credentials::peer(&socket) {
                    Ok(from) if ring != 0 => state.offers.push(Offer { token, ring, from, line: socket }),
                    _ => self.greet(gate, state, socket, false),
                }
            } else {
                pool = None;
                let (newcomers, are_all) = gate.admit(1, &mut foreign);
                served &= are_all;
                left = if newcomers.is_empty() { 0 } else { left - 1 };
                newcomers.into_iter().for_each(|fd| self.greet(gate, state, fd, true));
            }
            found = state.offers.pop_if(|offer| is_it(offer));
        }
        // Whoever offered and went away leaves nothing for long.
        state.offers.retain(|offer| matches!(hear_words(offer.line.as_fd()), Heard::Nothing));
        state.drop_surplus();
        self.park(gate, state);
        (found, served)
    }

    fn greet(&self, gate: &Gate, state: &mut State, fd: Reserved, newcomer: bool) {
        let heard = hear_words(fd.as_fd());
        let waits = matches!(heard, Heard::Nothing);
        if self.ledger.is_shared() {
            // A set would go on hearing of sockets that another process has.
        } else if waits && newcomer {
            let _ = epoll::add(&gate.set, &fd, epoll::EventData::new_u64(0), epoll::EventFlags::IN);
        } else if !waits && !newcomer {
            let _ = epoll::delete(&gate.set, &fd);
        }
        match heard {
            Heard::Nothing => state.keep(fd),
            Heard::Message(message @ (Message::Offer { token, ring } | Message::Late { token, ring })) => {
                let is_late = matches!(message, Message::Late { .. });
                if let Ok(from) = credentials::peer(&fd)
                    // Else its connection stays on its socket.
                    && (!is_late || self.ledger.is_shared() || state.awaits(&token, from))
                {
                    state.offers.push(Offer { token, ring, from, line: fd });
                }
            }
            // Other users get no status.
            Heard::Message(Message::Query)
                if credentials::peer(&fd).is_ok_and(|asks| [0, geteuid().as_raw()].contains(&asks.uid)) =>
            {
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

    /// The end of a connection that was just accepted as `fd`, whose client's socket has this abstract `name`, unless only the kernel can do what is asked of
    /// the socket, or the program may want the descriptor (`plain`). Never waits: the offer comes when the connection has been used, or is there
    /// before it.
    pub fn accepted(self: &Arc<Self>, fd: BorrowedFd<'_>, name: Option<&[u8]>, nonblocking: bool, plain: bool) -> Accepted {
        let peer = credentials::peer(fd).ok();
        let pid = peer.and_then(|p| p.pid).unwrap_or(0);
        let token = name.map(token_of);
        if !plain {
            self.reopen();
        }
        // A client that offers at once is found when the connection has been used, too; and one that asks for the status has not long to wait.
        let looks = Settings::get().after == 0 || self.accepted.fetch_add(1, Relaxed).is_multiple_of(BETWEEN_LOOKS);
        let client = token.zip(peer).filter(|(_, peer)| peer.pid.is_some());
        let mut state = locked(&self.state);
        let turn = self.ledger.family().lock.lock();
        let made = client.and_then(|(token, from)| {
            let offer = if looks { self.offer_of(&mut state, &token, from) } else { None };
            // Without a gate no offer will be heard.
            let record = if plain || self.gate().is_none() { None } else { self.ledger.add(pid) }?;
            let index = record.index();
            let stream = match offer {
                Some(offer) => self.take(offer, record, nonblocking),
                None => {
                    let prospect = Prospect::Server { hub: Arc::downgrade(self), kept: None, token, from };
                    Stream::quiet(prospect, Some(record), nonblocking, self.display.is_some()).ok()
                }
            };
            stream.map(|stream| (index, token, Arc::new(stream)))
        });
        if let Some((index, token, stream)) = made {
            let State { streams, streams_swept, .. } = &mut *state;
            sweep(streams, streams_swept, |(.., stream)| stream.strong_count() > 0);
            state.streams.push((index, token, Arc::downgrade(&stream)));
            drop((turn, state));
            if Settings::get().after == 0 {
                stream.grant();
            }
            return Accepted::Line(stream);
        }
        Accepted::Plain(Arc::new(PlainClient(self.ledger.add(pid))))
    }

    /// The offer for a connection that was accepted before, from the client `from`, whose socket has the name of `token`: its line, and bytes a
    /// direction. None if it is not there, or another thread is at the hub.
    pub fn find(&self, token: &[u8; TOKEN], from: Credentials) -> Option<(Reserved, u64)> {
        let mut state = self.state.try_lock()?;
        let _turn = self.ledger.family().lock.lock();
        self.offer_of(&mut state, token, from).map(|offer| (offer.line, offer.ring))
    }

    /// Called with the family's lock held.
    fn offer_of(&self, state: &mut State, token: &[u8; TOKEN], from: Credentials) -> Option<Offer> {
        let gate = self.gate()?;
        // Only the process that connected may have offered.
        let is_it = |offer: &Offer| offer.token == *token && offer.from == from;
        if self.ledger.is_shared() {
            return self.hear_until(&gate, state, token, is_it).0;
        }
        self.hear_all(&gate, state);
        let index = state.offers.iter().position(is_it);
        index.map(|index| state.offers.remove(index))
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
        let record = self.ledger.add(pid);
        report::debug(format_args!("process {pid} connected over Mach ports"));
        Stream::over_ports(Role::Server, end, pid, nonblocking, record, self.display.is_some()).map(Arc::new)
    }

    /// The server's end of a connection whose client offers shared memory. None if it stays on
    /// its socket: the client hears that its offer is gone.
    fn take(&self, offer: Offer, record: LedgerEntry, nonblocking: bool) -> Option<Stream> {
        if let Some(why) = refusal(&self.ledger) {
            refused(&why, record.slot().peer.load(Relaxed));
            return None;
        }
        Stream::heard(offer.line, offer.ring, self.is_foreign(offer.from), record, nonblocking, self.display.is_some()).ok()
    }

    fn status(&self, state: &State) -> ServerStatus {
        let s = Settings::get();
        let name = |pid: u32| std::fs::read(format!("/proc/{pid}/comm")).map(|name| printable(&name)).unwrap_or_default();
        let connections = self.ledger.live().into_iter().map(|(index, slot)| {
            // Other processes of the server say where theirs are when they use them.
            let stream = state.streams.iter().find(|(i, ..)| *i == index).and_then(|(.., stream)| stream.upgrade());
            let t = slot.counts.read();
            let mut pid = slot.peer.load(Relaxed);
            if !alive(pid)
                && let Some(heir) = stream.as_ref().and_then(|stream| stream.peer_heir()).filter(|heir| alive(*heir))
            {
                // Kept for the other processes, which may not have the segment.
                slot.peer.store(heir, Relaxed);
                pid = heir;
            }
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

/// The name that a process has given itself, for a line of text.
fn printable(name: &[u8]) -> String {
    String::from_utf8_lossy(name).trim_end().replace(char::is_control, "?")
}

impl Drop for Hub {
    fn drop(&mut self) {
        self.retire();
    }
}
