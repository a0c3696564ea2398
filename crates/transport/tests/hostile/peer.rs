//! A peer that breaks every rule: it has the segment, the line's socket and the X socket, as any
//! peer has, and writes to them what it likes.

use rustix::net::{
    AddressFamily, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, Shutdown, SocketAddrUnix, SocketFlags, SocketType, bind,
    connect, send, sendmsg, shutdown, socket_with,
};
use slipway_fabric::{
    segment::segment_size,
    sync::{AtomicU32, AtomicU64, Mapping, Ordering::SeqCst, Shared, Zeroed},
};
use slipway_test_support::Dice;
use slipway_transport::line::{self, Heard, MOST_DESCRIPTORS, Message, TOKEN};
use std::{
    io::IoSlice,
    mem::MaybeUninit,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    path::Path,
    sync::Arc,
};

/// The page of control words, as words of either size.
#[repr(C)]
struct Words([AtomicU32; 1024]);
#[repr(C)]
struct LongWords([AtomicU64; 512]);

// SAFETY: atomics of integers only.
unsafe impl Zeroed for Words {}
// SAFETY: as above.
unsafe impl Zeroed for LongWords {}

/// Bytes from the start of a ring's control words (`docs/ring-abi.md`): first the 64-bit words.
pub const TAIL: usize = 0;
pub const BASE: usize = 8;
pub const START: usize = 16;
pub const STATE: usize = 24;
pub const ATTACHMENTS: usize = 28;
pub const HINT: usize = 32;
pub const HEAD: usize = 128;
pub const READER_WAITS: usize = 256;
pub const GIVES_BACK: usize = 260;
const HEARS_ALL: usize = 264;
const ASKS_TIME: usize = 268;
const ASKS_DOOR: usize = 272;
pub const WRITER_WAITS: usize = 384;
const LONG: [usize; 4] = [TAIL, BASE, START, HEAD];
const SHORT: [usize; 9] = [STATE, ATTACHMENTS, HINT, READER_WAITS, GIVES_BACK, HEARS_ALL, ASKS_TIME, ASKS_DOOR, WRITER_WAITS];
/// Bytes of one ring's control words; the boards follow both.
const RING: usize = 512;

/// What is in the peer's power.
pub struct Peer {
    pub line: OwnedFd,
    pub x: OwnedFd,
    pub ring: usize,
    words: Shared<Words>,
    long: Shared<LongWords>,
    /// The ring that the peer writes, and the one that it reads.
    tx: usize,
    rx: usize,
    null: OwnedFd,
}

impl Peer {
    /// Over a segment that the victim granted (the peer is the client) or that the peer made.
    pub fn over(line: OwnedFd, x: OwnedFd, segment: BorrowedFd<'_>, ring: usize, client: bool) -> Self {
        // SAFETY: the victim made the segment, of this size.
        let mapping: Arc<Mapping> = unsafe { Mapping::of_file(segment, segment_size(ring)) }.unwrap();
        let null = std::fs::File::open("/dev/null").unwrap().into();
        let (tx, rx) = if client { (RING, 0) } else { (0, RING) };
        Self { line, x, ring, words: mapping.view(0).unwrap(), long: mapping.view(0).unwrap(), tx, rx, null }
    }

    /// Connects to a hooked server as a client does. None if the server declines.
    pub fn connect(hub: &Path, server: &SocketAddrUnix, dice: &mut Dice) -> Option<Self> {
        let (line, x) = offer(hub, server, &token(dice), 64 << 10);
        wait_readable(&line);
        match line::hear(line.as_fd()) {
            Heard::Message(Message::Grant { ring, segment }) => {
                Some(Self::over(line, x, segment.as_fd(), usize::try_from(ring).unwrap(), true))
            }
            _ => None,
        }
    }

    pub fn store(&self, at: usize, value: u64) {
        if LONG.contains(&(at % RING)) {
            self.long.0[at / 8].store(value, SeqCst);
        } else {
            self.words.0[at / 4].store(value as u32, SeqCst);
        }
    }

    pub fn load(&self, at: usize) -> u64 {
        if LONG.contains(&(at % RING)) { self.long.0[at / 8].load(SeqCst) } else { self.words.0[at / 4].load(SeqCst).into() }
    }

    /// Where `word` of the ring that the peer writes lies.
    pub fn mine(&self, word: usize) -> usize {
        self.tx + word
    }

    /// Where `word` of the ring that the victim writes lies.
    pub fn theirs(&self, word: usize) -> usize {
        self.rx + word
    }

    pub fn bell(&self) {
        line::ring_bell(self.line.as_fd());
    }

    /// Opens the ring as a correct client does.
    pub fn open(&self) {
        self.store(self.mine(STATE), 1);
    }

    /// Claims to have written `n` bytes, whatever lies there.
    pub fn write(&self, n: u64) {
        self.store(self.mine(TAIL), self.load(self.mine(TAIL)).wrapping_add(n));
        self.bell();
    }

    /// Every message that a hostile end can think of, and some that it can't.
    pub fn send_line(&self, bytes: &[u8], descriptors: usize) -> bool {
        let fds = vec![self.null.as_fd(); descriptors];
        send_with(self.line.as_fd(), bytes, &fds)
    }

    pub fn batch(&self, kind: u8, at: u64, len: u64, descriptors: usize) -> bool {
        let mut bytes = vec![kind, line::VERSION];
        bytes.extend(at.to_le_bytes());
        bytes.extend(len.to_le_bytes());
        self.send_line(&bytes, descriptors)
    }

    /// Does one thing that no correct peer does, or one that it does.
    pub fn misbehave(&self, dice: &mut Dice) {
        let word = |dice: &mut Dice| {
            let place = dice.below(LONG.len() + SHORT.len() + 1);
            let ring = if dice.below(2) == 0 { self.tx } else { self.rx };
            match (LONG.iter().chain(&SHORT)).nth(place) {
                Some(word) => ring + word,
                None => 2 * RING + 128 * dice.below(2),
            }
        };
        match dice.below(16) {
            0..=3 => {
                let at = word(dice);
                self.store(at, self.strange(at, dice));
            }
            4 => {
                let at = word(dice);
                let (a, b) = (self.strange(at, dice), self.load(at));
                for _ in 0..dice.below(200) {
                    self.store(at, a);
                    self.store(at, b);
                }
            }
            5 => self.words.0[dice.below(1024)].store(dice.any() as u32, SeqCst),
            6 | 7 => self.write(dice.below(self.ring) as u64),
            8 => self.store(self.theirs(HEAD), self.load(self.theirs(TAIL))),
            9 => self.open(),
            10 => {
                let at = self.load(self.mine(TAIL)).wrapping_add(dice.any() % 5).wrapping_sub(2);
                let (kind, many) = (5 + dice.below(2) as u8, [0, 1, 3, MOST_DESCRIPTORS][dice.below(4)]);
                self.batch(kind, at, dice.any() % 3, many);
                let count = self.mine(ATTACHMENTS);
                self.store(count, self.load(count) + dice.any() % 2);
            }
            11 => {
                let kind = dice.below(11) as u8;
                let mut bytes = vec![kind, line::VERSION];
                let n = dice.below(100);
                bytes.extend(dice.bytes(n));
                bytes.truncate(dice.below(bytes.len() + 1));
                self.send_line(&bytes, [0, 0, 1, MOST_DESCRIPTORS][dice.below(4)]);
            }
            12 => {
                let n = 1 + dice.below(50);
                for _ in 0..n {
                    self.bell();
                }
            }
            13 => {
                let bytes = vec![7; dice.below(300)];
                send_with(self.x.as_fd(), &bytes, &[]);
            }
            14 if dice.below(10) == 0 => {
                let _ = shutdown(&self.x, [Shutdown::Read, Shutdown::Write, Shutdown::Both][dice.below(3)]);
            }
            15 if dice.below(10) == 0 => {
                let _ = shutdown(&self.line, Shutdown::Both);
            }
            _ => self.bell(),
        }
    }

    /// A value for the word at `at` that is wrong in an interesting way.
    fn strange(&self, at: usize, dice: &mut Dice) -> u64 {
        let (now, size) = (self.load(at), self.ring as u64);
        let near = [
            now.wrapping_add(1),
            now.wrapping_sub(1),
            now.wrapping_add(size),
            now.wrapping_add(size + 1),
            now.wrapping_sub(size),
        ];
        let far = [0, 1, 2, 3, size - 1, size, size + 1, u64::MAX, 1 << 63, 1 << 31, u64::from(u32::MAX), dice.any()];
        let choice = dice.below(near.len() + far.len());
        near.iter().chain(&far).nth(choice).copied().unwrap_or(0)
    }
}

/// A fresh name for an offer.
pub fn token(dice: &mut Dice) -> [u8; TOKEN] {
    let mut token = [0; TOKEN];
    token.copy_from_slice(&dice.bytes(TOKEN));
    token
}

/// Offers shared memory under `token` and connects under it, as two steps of one client.
pub fn offer(hub: &Path, server: &SocketAddrUnix, token: &[u8; TOKEN], ring: u64) -> (OwnedFd, OwnedFd) {
    let line = connect_hub(hub);
    line::send_message(line.as_fd(), &Message::Offer { token: *token, ring }).unwrap();
    (line, connect_as(server, token))
}

/// A connection to the hub that has said nothing yet.
pub fn connect_hub(hub: &Path) -> OwnedFd {
    let line = socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None).unwrap();
    connect(&line, &SocketAddrUnix::new(hub).unwrap()).unwrap();
    line
}

/// An X connection from a socket that is named after `token`.
pub fn connect_as(server: &SocketAddrUnix, token: &[u8; TOKEN]) -> OwnedFd {
    let x = socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None).unwrap();
    let digits: String = token.iter().map(|byte| format!("{byte:02x}")).collect();
    bind(&x, &SocketAddrUnix::new_abstract_name(format!("slipway-line-{digits}").as_bytes()).unwrap()).unwrap();
    connect(&x, server).unwrap();
    x
}

/// Waits until `fd` has something, under a watchdog.
pub fn wait_readable(fd: &OwnedFd) {
    use rustix::event::{PollFd, PollFlags, poll};
    let mut fds = [PollFd::new(fd, PollFlags::IN)];
    let limit = rustix::time::Timespec { tv_sec: super::WATCHDOG.as_secs() as i64, tv_nsec: 0 };
    assert_eq!(poll(&mut fds, Some(&limit)), Ok(1), "nobody answers");
}

fn send_with(socket: BorrowedFd<'_>, bytes: &[u8], descriptors: &[BorrowedFd<'_>]) -> bool {
    let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
    if descriptors.is_empty() {
        return send(socket, bytes, flags).is_ok();
    }
    let mut space = [MaybeUninit::<u8>::uninit(); rustix::cmsg_space!(ScmRights(MOST_DESCRIPTORS))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    assert!(control.push(SendAncillaryMessage::ScmRights(descriptors)));
    sendmsg(socket, &[IoSlice::new(bytes)], &mut control, flags).is_ok()
}
