//! Runs one life of a connection on both worlds and compares.

use std::os::fd::BorrowedFd;

use libc::{EPOLLET, EPOLLIN, EPOLLONESHOT, MSG_PEEK, MSG_WAITALL};
use proptest::{prelude::*, test_runner::TestCaseError};
use rustix::event::{PollFd, PollFlags, Timespec};
use slipway_transport::status::Transport;

use super::{
    operation::{self, End, Op, ReceiveBy, SendBy},
    world::World,
};
use crate::support::{
    Connection, Server, begins_on_ring,
    calls::{Answer, Fd, call, good},
    watchdog::{Step, at_step, doing},
};

/// Most bytes on the way in one direction: a ring of 4 KiB still counts as writable then.
const MOST_BYTES: usize = 2900;

/// Most messages on the way in one direction: a socket's buffer still counts as writable then.
const MOST_MESSAGES: usize = 30;

/// What lies unread, as the model has it.
#[derive(Debug, Default, Clone, Copy)]
struct Way {
    sent: usize,
    unread: usize,
    messages: usize,
    /// So many of the bytes sent may have gone over the socket before the ring.
    before: usize,
}

/// What happened since the last report.
#[derive(Debug, Default, Clone, Copy)]
struct News {
    /// Added or modified.
    fresh: bool,
    /// A half was shut down, or the other end closed.
    ended: bool,
    /// Bytes came.
    arrived: bool,
}

struct Life {
    hooked: World,
    model: World,
    /// From each end.
    ways: [Way; 2],
    /// What each end is registered for in the epoll set.
    registered: [Option<u32>; 2],
    /// Something happened that an edge-triggered registration must report.
    news: [News; 2],
    /// The last waits repeated a report for this end.
    repeated: [u8; 2],
    /// An end went back to its socket.
    given_back: [bool; 2],
    /// 1: the client has done something after it was accepted; 2: the server after it.
    met: u8,
    closed: [bool; 2],
    files: Vec<Fd>,
}

/// That these connections are worth testing.
pub fn assert_on_ring(server: &Server) {
    let connection = server.connection();
    assert_eq!(server.transports(), [Transport::Ring]);
    drop(connection);
}

/// Lives one life.
pub fn live(server: &Server, life: &operation::Life) -> Result<(), TestCaseError> {
    let operation::Life { early, ops } = life;
    let _step = Step::begin("a life");
    doing(format!("{life:?}"));
    let pair = std::mem::ManuallyDrop::new(Connection::plain());
    let size = 1 << 20;
    for fd in [pair.client, pair.server] {
        good(call!(setsockopt(fd, libc::SOL_SOCKET, libc::SO_SNDBUF, (&raw const size).cast(), 4)));
    }
    let files: Vec<Fd> = (0..4).map(|_| good(call!(memfd_create(c"passed".as_ptr(), libc::MFD_CLOEXEC))) as Fd).collect();
    let mut life = Life {
        hooked: World::new(server.connect(), 300),
        model: World::new(pair.client, 400),
        ways: [Way::default(); 2],
        registered: [None; 2],
        news: [News::default(); 2],
        repeated: [0; 2],
        given_back: [false; 2],
        met: 0,
        closed: [false; 2],
        files,
    };
    let early = (*early).min(ops.len());
    for op in ops[..early].iter().filter(|op| !matches!(op, Op::Close { .. } | Op::CloseRange)) {
        life.step(op)?;
    }
    life.hooked.ends[1].push(server.accept());
    life.model.ends[1].push(pair.server);
    ops[early..].iter().enumerate().try_for_each(|(i, op)| {
        at_step(early + i);
        life.step(op)
    })
}

impl Life {
    fn step(&mut self, op: &Op) -> Result<(), TestCaseError> {
        let Some(op) = self.sensible(op) else { return Ok(()) };
        let dont_wait = self.might_block(&op);
        let data = self.data(&op);
        let model = self.model.run(&op, dont_wait, &data, &self.files);
        let hooked = self.hooked.run(&op, dont_wait, &data, &self.files);
        if let Op::EpollWait = op {
            let hooked = self.wait_for_all(&model, hooked);
            self.compare_events(&model, &hooked)?;
        } else {
            self.repeated = [0; 2];
            let model = as_peeked(&op, &hooked, &model);
            if !self.short_peek(&op, &hooked, &model) {
                prop_assert_eq!(&hooked, &model, "hooked, model: {:?}", op);
            }
        }
        self.account(&op, &model);
        self.note_meeting(&op);
        Ok(())
    }

    /// The operation as far as both buffers hold it, and None where it makes no sense.
    fn sensible(&self, op: &Op) -> Option<Op> {
        if op.end().is_some_and(|end| self.model.ends[end].is_empty()) {
            return None;
        }
        let mut op = op.clone();
        if let Op::Send { end, lengths, by, files, .. } = &mut op {
            let way = self.ways[*end];
            if way.messages >= MOST_MESSAGES {
                return None;
            }
            let mut room = MOST_BYTES - way.unread;
            for length in lengths.iter_mut() {
                *length = (*length).min(room);
                room -= *length;
            }
            if *by != SendBy::SendMsg {
                files.clear();
            }
        }
        if let Op::Receive { by: ReceiveBy::Read | ReceiveBy::ReadV, flags, .. } = &mut op {
            *flags = 0;
        }
        Some(op)
    }

    /// Whether a receive might wait: what the model says when it is asked without hooks.
    fn might_block(&self, op: &Op) -> bool {
        let Op::Receive { end, copy, lengths, flags, .. } = op else { return false };
        let Some(fd) = self.model.through(*end, *copy) else { return false };
        // SAFETY: open while the model holds it.
        let fd = unsafe { BorrowedFd::borrow_raw(fd) };
        let mut fds = [PollFd::from_borrowed_fd(fd, PollFlags::IN | PollFlags::RDHUP)];
        let ready = rustix::event::poll(&mut fds, Some(&Timespec::default())) == Ok(1);
        let all = flags & MSG_WAITALL != 0 && flags & MSG_PEEK == 0;
        let ended = fds[0].revents().intersects(PollFlags::RDHUP | PollFlags::HUP);
        !ready || (all && !ended && self.ways[1 - end].unread < lengths.iter().sum())
    }

    /// The bytes that a send sends: each differs from its neighbours.
    fn data(&self, op: &Op) -> Vec<u8> {
        let Op::Send { end, lengths, .. } = op else { return Vec::new() };
        let from = self.ways[*end].sent;
        (from..from + lengths.iter().sum::<usize>()).map(|i| (i % 251) as u8).collect()
    }

    fn account(&mut self, op: &Op, answer: &Answer) {
        let done = answer.value.max(0) as usize;
        match op {
            Op::Send { end, .. } if done > 0 => {
                let way = &mut self.ways[*end];
                *way = Way { sent: way.sent + done, unread: way.unread + done, messages: way.messages + 1, ..*way };
                self.news[1 - end].arrived = true;
            }
            Op::Receive { end, flags, .. } if flags & MSG_PEEK == 0 => {
                let way = &mut self.ways[1 - end];
                way.unread = way.unread.saturating_sub(done);
                if way.unread == 0 {
                    way.messages = 0;
                }
            }
            Op::Shutdown { end, .. } => {
                self.news[*end].ended |= answer.value == 0;
                self.news[1 - end].ended |= answer.value == 0;
            }
            Op::EpollAdd { end, events } | Op::EpollModify { end, events } if answer.value == 0 => {
                self.registered[*end] = Some(*events);
                self.news[*end].fresh = true;
            }
            Op::EpollDelete { end } if answer.value == 0 => self.registered[*end] = None,
            Op::Close { end, copy } => {
                if *copy == 0 {
                    self.registered[*end] = None;
                }
                self.note_closed();
            }
            Op::CloseRange => self.note_closed(),
            Op::GiveBack { end } => self.given_back[*end] = true,
            _ => {}
        }
    }

    fn note_closed(&mut self) {
        for end in 0..2 {
            if self.model.ends[end].is_empty() && !std::mem::replace(&mut self.closed[end], true) {
                self.registered[end] = None;
                self.news[1 - end].ended = true;
            }
        }
    }

    /// While a set's rings have news, the rest of it has its turn every few microseconds only.
    fn wait_for_all(&mut self, model: &Answer, mut hooked: Answer) -> Answer {
        let has = |answer: &Answer, end: u64| answer.files.iter().any(|(e, ..)| *e == end);
        for _ in 0..1000 {
            let missing = (0..2).find(|end| has(model, *end) && !has(&hooked, *end));
            let Some(end) = missing.filter(|_| hooked.value > 0) else { break };
            let again = self.hooked.run(&Op::EpollWait, false, &[], &[]);
            hooked.files.extend(again.files.iter().filter(|(e, ..)| *e == end));
        }
        hooked
    }

    /// Whether an edge-triggered set must report this end.
    fn must_report(&self, end: End, registered: u32) -> bool {
        let News { fresh, ended, arrived } = self.news[end];
        fresh || ended || (arrived && registered & EPOLLIN as u32 != 0 && self.ways[1 - end].unread > 0)
    }

    /// Level-triggered reports are the same. Edge-triggered ones are, where something happened since
    /// the last. Beyond that the kernel also reports when a reader made room, and a hooked set may
    /// report once more what is true: no program can count on either.
    fn compare_events(&mut self, model: &Answer, hooked: &Answer) -> Result<(), TestCaseError> {
        prop_assert_eq!((hooked.value < 0, hooked.errno), (model.value < 0, model.errno));
        for end in 0..2 {
            // A server hears of the end when it has read all that came before it: see `has_last_words`.
            let ends = (libc::EPOLLHUP | libc::EPOLLRDHUP | libc::EPOLLERR) as u32;
            let hidden = if end == 1 && self.ways[0].unread > 0 { ends } else { 0 };
            let of = |answer: &Answer| {
                let found = answer.files.iter().find(|(e, ..)| *e == end as u64);
                found.map(|(_, events, _)| *events as u32 & !hidden).filter(|events| *events != 0)
            };
            let told = model.files.iter().any(|(e, events, _)| *e == end as u64 && *events as u32 & hidden != 0);
            let (hooked, model) = (of(hooked), of(model));
            let registered = self.registered[end].unwrap_or(0);
            let edge = registered & EPOLLET as u32 != 0;
            let one_only = hooked.is_some() != model.is_some();
            let excused = edge && one_only && !self.must_report(end, registered) && (model.is_some() || self.repeated[end] < 2);
            if !excused {
                self.repeated[end] = 0;
                prop_assert_eq!(hooked, model, "events (hooked, model) of end {}, registered {:#x}", end, registered);
            } else if let Some(events) = hooked {
                let fd = self.model.through(end, 0).expect("it is registered");
                let truth = crate::support::calls::ready(fd, (registered & 0x3fff) as i16) as u32 & !hidden;
                prop_assert_eq!(events, truth, "a repeated report of end {}", end);
                self.repeated[end] += 1;
            }
            self.news[end] = News::default();
            // Where one of them has used up what the other has still to tell, both begin again.
            if told || (excused && registered & EPOLLONESHOT as u32 != 0) {
                let again = Op::EpollModify { end, events: registered };
                self.model.run(&again, false, &[], &[]);
                self.hooked.run(&again, false, &[], &[]);
                self.news[end].fresh = true;
            }
        }
        Ok(())
    }

    /// A peek doesn't see behind the place where the stream goes back, nor over to the ring if descriptors are there; a read does.
    fn short_peek(&self, op: &Op, hooked: &Answer, model: &Answer) -> bool {
        let Op::Receive { end, flags, lengths, .. } = op else { return false };
        let way = &self.ways[1 - end];
        let late = way.unread > 0 && !begins_on_ring();
        let seam = self.given_back[0] || self.given_back[1] || way.sent - way.unread < way.before || late;
        // A peek for no bytes shows the kernel's next descriptors wherever they are.
        let nothing = lengths.iter().sum::<usize>() == 0 && hooked.value == 0 && model.value == 0;
        let short = hooked.value > 0 && hooked.value < model.value && model.bytes.starts_with(&hooked.bytes);
        seam && flags & MSG_PEEK != 0 && (short || nothing)
    }

    /// Keeps account of the bytes that may go over the socket before the ends have met.
    fn note_meeting(&mut self, op: &Op) {
        // What opens a ring. Some calls for no bytes never look at the connection.
        let acts = |end| match op {
            Op::Send { end: e, lengths, .. } => *e == end && lengths.iter().sum::<usize>() > 0,
            Op::Poll { .. } => true,
            _ => false,
        };
        let accepted = self.closed[1] || !self.model.ends[1].is_empty();
        self.met |= u8::from(accepted && acts(0));
        if self.met & 1 != 0 && acts(1) {
            self.met |= 2;
        }
        for way in self.ways.iter_mut().filter(|_| self.met < 3) {
            way.before = way.sent;
        }
    }
}

/// The model's answer as far as a peek can be held to it: the kernel looks on through what it wasn't
/// asked for, and hands out the descriptors of the next message that has some.
fn as_peeked(op: &Op, hooked: &Answer, model: &Answer) -> Answer {
    let mut model = model.clone();
    if matches!(op, Op::Receive { flags, .. } if flags & MSG_PEEK != 0)
        && hooked.files.is_empty()
        && hooked.flags & libc::MSG_CTRUNC == 0
    {
        model.files.clear();
        model.control = 0;
        model.flags &= !libc::MSG_CTRUNC;
    }
    model
}

impl Drop for Life {
    fn drop(&mut self) {
        for file in self.files.drain(..) {
            call!(close(file));
        }
    }
}
