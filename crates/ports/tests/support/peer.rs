//! A peer that speaks the protocol by hand: it has what any peer has, a segment, two sockets and the sending ends
//! of ports that it was given, and writes to them what it likes.
#![allow(unsafe_code, reason = "the end by hand maps the segment as words")]

use super::{
    Msg, send,
    tools::{Dice, until},
};
use rustix::{
    fs::{MemfdFlags, SealFlags},
    net::{AddressFamily, SocketFlags, SocketType},
};
use slipway_fabric::{
    credit::{Closed, Credit, TABLE},
    descriptor::Reserved,
    ring::{RxCursor, TxCursor},
    segment::Segment,
    sync::{AtomicU32, Bytes, Mapping, Ordering::SeqCst, Shared, Zeroed},
};
use slipway_ports::{
    abi::{Code, types},
    line::RING,
    objects,
    task::Task,
    wire::{self, ItemHead, Record, item},
};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use zerocopy::{FromBytes, IntoBytes};

/// The request that makes a line: the protocol's name and version, and the size of a ring.
const ATTACH: [u32; 2] = [0x534d_0007, RING as u32];
/// What both ends write of a segment.
const CONTROL: usize = 4096 + 2 * TABLE;

/// That as words.
#[repr(C)]
struct Words([AtomicU32; CONTROL / 4]);

// SAFETY: atomics of integers only.
unsafe impl Zeroed for Words {}

/// A port of the peer's: its sending end, and its receiving end.
pub struct Port {
    pub s: OwnedFd,
    pub r: OwnedFd,
}

impl Port {
    pub fn new() -> Self {
        let (s, r) = pair();
        Self { s, r }
    }

    /// Gives the library a right to it, as a third party would: its name there, and the pipe that tells when it is gone.
    pub fn give(&self) -> (u32, OwnedFd) {
        let (read, write) = objects::holder_pipe().expect("a pipe");
        let s = self.s.try_clone().expect("a copy");
        (Task::current().import(s, write).expect("a right"), read)
    }

    pub fn identity(&self) -> u64 {
        objects::identity(&self.s).expect("a socket")
    }
}

/// What the holder of a right passes on: the sending end of the port, and the one of its holders' pipe.
pub fn passed_on(name: u32) -> (OwnedFd, OwnedFd) {
    let port = Port::new();
    let (to, _) = port.give();
    assert_eq!(send(&Msg::new(9, (to, types::MOVE_SEND), (0, 0)).ports(types::COPY_SEND, &[name])), Code::SUCCESS);
    let (_, _, mut fds) = Line::take(&port.r).read();
    assert_eq!(fds.len(), 2);
    let holder = fds.pop().expect("two");
    (fds.pop().expect("two"), holder)
}

/// One end of a line.
pub struct Line {
    segment: Segment,
    words: Shared<Words>,
    pub credit: Credit,
    pub tx: TxCursor,
    rx: RxCursor,
    pub bell: OwnedFd,
    pub fd_socket: OwnedFd,
    /// The maker's files: of what both ends write, and of the ring that it writes.
    pub files: [OwnedFd; 2],
    /// The file of the ring that the other end writes, if this end is the maker and has it.
    theirs: Option<OwnedFd>,
}

fn pair() -> (OwnedFd, OwnedFd) {
    objects::socket_pair().expect("sockets")
}

impl Line {
    fn over(segment: Segment, files: [OwnedFd; 2], bell: OwnedFd, fd_socket: OwnedFd) -> Self {
        // SAFETY: it is a file of this size.
        let words = unsafe { Mapping::of_file(files[0].as_fd(), CONTROL) }.expect("a mapping").view(0).expect("all of it");
        let (ours, theirs) = segment.tables(TABLE).expect("tables");
        Self {
            segment,
            words,
            credit: Credit::new(ours, theirs),
            tx: TxCursor::default(),
            rx: RxCursor::default(),
            bell,
            fd_socket,
            files,
            theirs: None,
        }
    }

    /// Makes a line to the port that `s` sends to.
    pub fn make(s: impl AsFd) -> Self {
        Self::make_with(s, pair())
    }

    /// As [`Line::make`], with these bells: ours and the other end's.
    pub fn make_with(s: impl AsFd, (bell, their_bell): (OwnedFd, OwnedFd)) -> Self {
        let (segment, files) = Self::segment();
        segment.rx.disarm_reader();
        let (fd_socket, their_fd_socket) = pair();
        let fds = [files[0].as_fd(), files[1].as_fd(), their_bell.as_fd(), their_fd_socket.as_fd()];
        let sent = objects::send(s.as_fd(), &[ATTACH.as_bytes()], &fds);
        assert!(matches!(sent, Ok(()) | Err(rustix::io::Errno::AGAIN)), "{sent:?}");
        Self::over(segment, files, bell, fd_socket)
    }

    /// As [`Line::make_with`], with a segment that is none of this line's.
    pub fn make_over(s: impl AsFd, files: &[OwnedFd; 2]) -> (OwnedFd, OwnedFd) {
        let ((bell, their_bell), (fd_socket, their_fd_socket)) = (pair(), pair());
        Self::request(s, files, [their_bell.as_fd(), their_fd_socket.as_fd()]);
        (bell, fd_socket)
    }

    /// Asks for a line with sockets that are somebody else's.
    pub fn attach_with(s: impl AsFd, bell: impl AsFd, fd_socket: impl AsFd) -> Segment {
        let (segment, files) = Self::segment();
        Self::request(s, &files, [bell.as_fd(), fd_socket.as_fd()]);
        segment
    }

    /// A segment, and its files for the other end.
    pub fn segment() -> (Segment, [OwnedFd; 2]) {
        Segment::create_apart(TABLE, RING).expect("a segment")
    }

    /// Two connected sockets.
    pub fn pair() -> (OwnedFd, OwnedFd) {
        pair()
    }

    /// Asks for a line.
    pub fn request(s: impl AsFd, files: &[impl AsFd; 2], [bell, fd_socket]: [BorrowedFd<'_>; 2]) {
        let fds = [files[0].as_fd(), files[1].as_fd(), bell, fd_socket];
        until("there is room", || objects::send(s.as_fd(), &[ATTACH.as_bytes()], &fds) != Err(rustix::io::Errno::AGAIN));
    }

    /// Takes the line that somebody makes to the port that `r` receives for.
    pub fn take(r: impl AsFd) -> Self {
        let mut bytes = [0; 64];
        let mut fds: Vec<Reserved> = Vec::new();
        until("a request for a line", || objects::receive(r.as_fd(), &mut bytes, &mut fds).is_ok_and(|n| n == 8));
        let [control, area, bell, fd_socket] =
            <[Reserved; 4]>::try_from(fds).expect("four descriptors").map(Reserved::into_owned);
        let (segment, own) = Segment::open_apart(control.as_fd(), area.as_fd(), TABLE, RING).expect("a good segment");
        objects::send(fd_socket.as_fd(), &[&[1]], &[own.as_fd()]).expect("room");
        Self::over(segment, [control, area], bell, fd_socket)
    }

    /// Writes a record as it should be written, whatever it says; less than all of it if the ring is full.
    pub fn write(&mut self, record: &Record, rest: &[u8], fds: &[BorrowedFd<'_>]) {
        self.write_quietly(record, rest, fds);
        self.segment.tx.wake_reader();
        self.ring();
    }

    /// Wakes the other end as that asks for it: on the line's word, or by the bell.
    pub fn wake(&self) {
        if self.segment.tx.wake_reader() {
            self.ring();
        }
    }

    /// As [`Line::write`]; the other end is not woken.
    pub fn write_quietly(&mut self, record: &Record, rest: &[u8], fds: &[BorrowedFd<'_>]) {
        for some in fds.chunks(objects::FD_BATCH) {
            let _ = objects::send(self.fd_socket.as_fd(), &[&[some.len() as u8]], some);
        }
        for part in [record.as_bytes(), rest] {
            let free = self.segment.tx.free(&mut self.tx, part.len()).unwrap_or(0);
            let _ = self.segment.tx.fill(&mut self.tx, &part[..part.len().min(free)]);
        }
        self.segment.tx.publish(&self.tx);
    }

    /// Whether the other end, while it does `act`, rings the bell of one that sleeps.
    pub fn is_rung_by(&self, act: impl FnOnce()) -> bool {
        while self.take_bell() {}
        self.segment.rx.arm_reader();
        act();
        self.segment.rx.disarm_reader();
        self.take_bell()
    }

    /// Takes a bell; false if there is none.
    pub fn take_bell(&self) -> bool {
        objects::receive(self.bell.as_fd(), &mut [0; 8], &mut Vec::new()).is_ok()
    }

    /// Rings the bell.
    pub fn ring(&self) {
        let _ = objects::send(self.bell.as_fd(), &[&[1]], &[]);
    }

    /// Says that so much was written, without writing it.
    pub fn claim(&mut self, bytes: u64) {
        self.tx.tail = self.tx.tail.wrapping_add(bytes);
        self.segment.tx.publish(&self.tx);
    }

    /// As [`Line::claim`], and forgets it: the next record is written where it would have been.
    pub fn lie(&self, bytes: u64) {
        let tail = self.tx.tail.wrapping_add(bytes);
        self.segment.tx.publish(&TxCursor { tail, ..self.tx });
    }

    /// Bytes that the other end has not taken yet.
    pub fn unread(&mut self) -> u64 {
        self.segment.tx.unread(&mut self.tx).unwrap_or(0)
    }

    /// Whether a record has come.
    pub fn has_come(&mut self) -> bool {
        if self.segment.awaits_area() && self.segment.rx.readable(0) {
            let mut files: Vec<Reserved> = Vec::new();
            objects::receive(self.fd_socket.as_fd(), &mut [0], &mut files).expect("the ring's file goes first");
            self.segment.open_area(files[0].as_fd()).expect("a good area");
            self.theirs = files.pop().map(Reserved::into_owned);
        }
        self.segment.rx.available(&mut self.rx).is_ok_and(|n| n > 0)
    }

    /// The ring that the other end writes, to be written here.
    pub fn map_theirs(&self) -> std::io::Result<Bytes> {
        // SAFETY: the file is that large and sealed.
        let mapping = unsafe { Mapping::of_file(self.theirs.as_ref().unwrap_or(&self.files[1]).as_fd(), RING) };
        Ok(mapping?.bytes(0, RING).expect("all of it"))
    }

    /// How far ahead in what has come these bytes lie.
    pub fn find(&mut self, bytes: &[u8]) -> usize {
        let mut all = vec![0; self.segment.rx.available(&mut self.rx).expect("a good cursor")];
        self.segment.rx.peek(&self.rx, 0, &mut all);
        all.windows(bytes.len()).position(|some| some == bytes).expect("they lie there")
    }

    /// Says that it has taken so much.
    pub fn claim_taken(&mut self, bytes: usize) {
        self.segment.rx.release(&mut self.rx, bytes);
    }

    /// Waits for a record: its head, what follows, and descriptors.
    pub fn read(&mut self) -> (Record, Vec<u8>, Vec<OwnedFd>) {
        until("a record", || self.has_come());
        let mut bytes = [0; wire::RECORD];
        self.segment.rx.peek(&self.rx, 0, &mut bytes);
        let record = Record::read_from_bytes(&bytes).expect("a record");
        let mut rest = vec![0; (record.body + record.items) as usize];
        self.segment.rx.peek(&self.rx, wire::RECORD as u64, &mut rest);
        self.segment.rx.release(&mut self.rx, wire::RECORD + rest.len());
        if self.segment.rx.wake_writer() {
            self.ring();
        }
        let mut fds: Vec<Reserved> = Vec::new();
        // What a reader would leave in the socket comes with the rest.
        while fds.len() < record.fds as usize + 2 * queued(&rest[record.body as usize..]) {
            objects::receive(self.fd_socket.as_fd(), &mut [0], &mut fds).expect("descriptors go first");
        }
        (record, rest, fds.into_iter().map(Reserved::into_owned).collect())
    }

    /// Whether the port at the other end's slot is dead.
    pub fn is_dead(&self, slot: u32) -> bool {
        self.credit.closed(slot).is_some_and(|why| why != Closed::Moved)
    }

    /// Whether the other end has closed the line.
    pub fn is_closed(&self) -> bool {
        objects::hung_up(&self.bell)
    }

    /// Stores a word anywhere in what this end can write of the segment.
    pub fn scribble(&self, at: usize, value: u32) {
        match (at % ((CONTROL + RING) / 4)).checked_sub(CONTROL / 4) {
            None => self.words.0[at % ((CONTROL + RING) / 4)].store(value, SeqCst),
            Some(at) => self.segment.tx.append(&mut TxCursor { tail: 4 * at as u64, ..self.tx }, value.as_bytes()),
        }
    }

    /// Where the word lies that the other end's reader sleeps on.
    pub fn sleeping_word(&self) -> &AtomicU32 {
        let at = std::ptr::from_ref(self.segment.tx.reader_word()) as usize;
        // The word as the ring knows it is in another mapping: the place is the same.
        let boards = [&self.segment.own, &self.segment.peer].map(|board| std::ptr::from_ref(&**board) as usize);
        let base = boards[0].min(boards[1]) - 1024;
        &self.words.0[(at - base) / 4]
    }
}

/// How many rights there are whose descriptors are left in the line's own socket: the last item says so.
fn queued(items: &[u8]) -> usize {
    let head = |count: &usize| {
        let at = items.len().checked_sub(size_of::<ItemHead>() + 8 * count)?;
        Some(ItemHead::read_from_prefix(&items[at..]).ok()?.0)
    };
    let is_it = |count: &usize| head(count).is_some_and(|it| (it.kind, it.count as usize) == (item::QUEUED, *count));
    (1..=wire::QUEUED).find(is_it).unwrap_or(0)
}

/// Descriptors of many kinds, for what should be a socket, a pipe or a sealed memory file.
pub fn odd_descriptors(dice: &mut Dice, known: &[&OwnedFd]) -> Vec<OwnedFd> {
    let copy = |fd: &OwnedFd| fd.try_clone().expect("a copy");
    match dice.below(10) {
        0 => vec![std::fs::File::open("/dev/null").expect("a file").into()],
        1 => vec![memory(dice.below(5000), dice.below(2) == 0)],
        2 => vec![memory(64, true), memory(64, false)],
        3 => {
            let (a, b) = pair();
            vec![a, b]
        }
        4 => {
            // Ends of two pairs: they don't belong together.
            vec![pair().0, pair().1]
        }
        5 => {
            let (read, write) = objects::holder_pipe().expect("a pipe");
            if dice.below(2) == 0 { vec![read] } else { vec![write, read] }
        }
        6 => {
            let (a, b) =
                rustix::net::socketpair(AddressFamily::UNIX, SocketType::DGRAM, SocketFlags::CLOEXEC, None).expect("sockets");
            vec![a, b]
        }
        _ if known.is_empty() => Vec::new(),
        7 => vec![copy(known[dice.below(known.len())]), pair().0],
        8 => vec![pair().1, copy(known[dice.below(known.len())])],
        _ => (0..1 + dice.below(3)).map(|_| copy(known[dice.below(known.len())])).collect(),
    }
}

/// A memory file with plausible lengths at its front.
pub fn memory(len: usize, sealed: bool) -> OwnedFd {
    let file = rustix::fs::memfd_create(c"hostile", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING).expect("a file");
    rustix::fs::ftruncate(&file, len as u64).expect("a size");
    let _ = rustix::io::pwrite(&file, &[len as u64 & !7, 0].as_bytes()[..len.min(16)], 0);
    if sealed {
        rustix::fs::fcntl_add_seals(&file, SealFlags::SHRINK | SealFlags::GROW | SealFlags::WRITE).expect("seals");
    }
    file
}
