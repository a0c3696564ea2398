//! Messages on a line's own socket (AF_UNIX, SOCK_SEQPACKET): the handshake, bells, and descriptors.
//!
//! Everything that comes in is a peer's word: lengths and kinds are checked, descriptors that no
//! message of that kind carries are closed. The formats are in `docs/ring-abi.md`, "The line's socket".

use rustix::{
    io::Errno,
    net::{
        RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags,
        recv, recvmsg, send, sendmsg,
    },
};
use std::{
    io::{self, IoSlice, IoSliceMut},
    mem::MaybeUninit,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
};

/// The version of the handshake and of the segment's layout. Ends of different versions don't meet.
pub const VERSION: u8 = 2;

/// Most descriptors in one message.
pub const MOST_DESCRIPTORS: usize = slipway_fabric::packet::DESCRIPTORS;

/// Bytes of the random name that ties an offer to the connection it is for.
pub const TOKEN: usize = 16;

/// A message on the line's socket.
#[derive(Debug)]
pub enum Message {
    /// Look at the rings.
    Bell,
    /// A client offers to use shared memory for the connection bound to the name in `token`.
    Offer {
        /// See [`TOKEN`].
        token: [u8; TOKEN],
        /// Bytes a direction that it would like.
        ring: u64,
    },
    /// As `Offer`, for a connection that has been used before: nobody waits for it but an end that was accepted.
    Late {
        /// See [`TOKEN`].
        token: [u8; TOKEN],
        /// Bytes a direction that it would like.
        ring: u64,
    },
    /// Somebody asks for the server's status; the answer is [`Message::Text`]s and an empty one.
    Query,
    /// The server grants a segment whose rings have this many bytes.
    Grant {
        /// Bytes a direction.
        ring: u64,
        /// The segment.
        segment: OwnedFd,
    },
    /// The server declines; the connection stays on its socket.
    Decline,
    /// Descriptors that belong to the stream bytes `at..at + len`.
    FdBatch(FdBatch),
    /// What the sender rings from now on in place of a bell, if the receiver asks for it.
    Doorbell(OwnedFd),
    /// A batch that its receiver has not used and sends back, because the stream returns to the socket.
    Returned(FdBatch),
    /// Lines of a status answer.
    Text(String),
    /// Between the processes of a server: what was heard from a client. A ring of 0: nothing yet.
    Parked {
        /// See [`TOKEN`].
        token: [u8; TOKEN],
        /// Bytes a direction that the client would like.
        ring: u64,
        /// The client.
        socket: OwnedFd,
    },
}

/// Descriptors and their place in the stream.
#[derive(Debug)]
pub struct FdBatch {
    /// Position of the first byte they came with.
    pub at: u64,
    /// How many bytes they came with.
    pub len: u64,
    /// The descriptors.
    pub descriptors: Vec<OwnedFd>,
    /// Some could not be taken: this process had no numbers for them, or they were not asked for.
    pub cut: bool,
}

const BELL: u8 = 0;
const OFFER: u8 = 1;
const QUERY: u8 = 2;
const GRANT: u8 = 3;
const DECLINE: u8 = 4;
const FD_BATCH: u8 = 5;
const RETURNED: u8 = 6;
const TEXT: u8 = 7;
const PARKED: u8 = 8;
const LATE: u8 = 9;
const DOORBELL: u8 = 10;

/// Longest message other than a text, in bytes.
pub(crate) const LONGEST: usize = 64;

/// Longest text, in bytes.
pub const LONGEST_TEXT: usize = 16 * 1024;

fn two_words(kind: u8, a: u64, b: u64) -> [u8; 18] {
    let mut bytes = [0; 18];
    (bytes[0], bytes[1]) = (kind, VERSION);
    bytes[2..10].copy_from_slice(&a.to_le_bytes());
    bytes[10..18].copy_from_slice(&b.to_le_bytes());
    bytes
}

fn offered(kind: u8, token: &[u8; TOKEN], ring: u64) -> [u8; 10 + TOKEN] {
    let mut bytes = [0; 10 + TOKEN];
    (bytes[0], bytes[1]) = (kind, VERSION);
    bytes[2..10].copy_from_slice(&ring.to_le_bytes());
    bytes[10..].copy_from_slice(token);
    bytes
}

fn parse_two_words(bytes: &[u8]) -> Option<(u64, u64)> {
    let words: &[u8; 16] = bytes.get(2..18)?.try_into().ok()?;
    let (a, b) = words.split_at(8);
    Some((u64::from_le_bytes(a.try_into().ok()?), u64::from_le_bytes(b.try_into().ok()?)))
}

fn post(socket: BorrowedFd<'_>, bytes: &[u8], descriptors: &[BorrowedFd<'_>]) -> io::Result<()> {
    let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
    if descriptors.is_empty() {
        send(socket, bytes, flags)?;
    } else {
        let mut space = [MaybeUninit::<u8>::uninit(); rustix::cmsg_space!(ScmRights(MOST_DESCRIPTORS))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        if !control.push(SendAncillaryMessage::ScmRights(descriptors)) {
            return Err(Errno::INVAL.into());
        }
        sendmsg(socket, &[IoSlice::new(bytes)], &mut control, flags)?;
    }
    Ok(())
}

/// Rings the bell of the other end; false if that is gone. A full queue is as good as a bell: then one is there already.
pub fn ring_bell(socket: BorrowedFd<'_>) -> bool {
    !post(socket, &[BELL], &[]).is_err_and(|error| error.kind() != io::ErrorKind::WouldBlock)
}

/// Sends a message without waiting; WouldBlock if the queue is full.
pub fn send_message(socket: BorrowedFd<'_>, message: &Message) -> io::Result<()> {
    match message {
        Message::Bell => post(socket, &[BELL], &[]),
        Message::Offer { token, ring } => post(socket, &offered(OFFER, token, *ring), &[]),
        Message::Late { token, ring } => post(socket, &offered(LATE, token, *ring), &[]),
        Message::Parked { token, ring, socket: parked } => post(socket, &offered(PARKED, token, *ring), &[parked.as_fd()]),
        Message::Query => post(socket, &[QUERY, VERSION], &[]),
        Message::Grant { ring, segment } => post(socket, &two_words(GRANT, *ring, 0), &[segment.as_fd()]),
        Message::Decline => post(socket, &[DECLINE, VERSION], &[]),
        Message::Doorbell(door) => send_doorbell(socket, door.as_fd()),
        Message::FdBatch(batch) => {
            let descriptors: Vec<_> = batch.descriptors.iter().map(AsFd::as_fd).collect();
            send_batch(socket, batch.at, batch.len, &descriptors)
        }
        Message::Returned(batch) => {
            let descriptors: Vec<_> = batch.descriptors.iter().map(AsFd::as_fd).collect();
            return_batch(socket, batch.at, batch.len, &descriptors)
        }
        Message::Text(text) => {
            let mut bytes = vec![TEXT];
            bytes.extend(text.bytes().take(LONGEST_TEXT));
            post(socket, &bytes, &[])
        }
    }
}

/// Sends descriptors ahead of the stream bytes `at..at + len` that they belong to.
pub fn send_batch(socket: BorrowedFd<'_>, at: u64, len: u64, descriptors: &[BorrowedFd<'_>]) -> io::Result<()> {
    post(socket, &two_words(FD_BATCH, at, len), descriptors)
}

/// Sends back descriptors that belong to the stream bytes `at..at + len`.
pub fn return_batch(socket: BorrowedFd<'_>, at: u64, len: u64, descriptors: &[BorrowedFd<'_>]) -> io::Result<()> {
    post(socket, &two_words(RETURNED, at, len), descriptors)
}

/// Sends what rings from now on in place of a bell.
pub fn send_doorbell(socket: BorrowedFd<'_>, door: BorrowedFd<'_>) -> io::Result<()> {
    post(socket, &[DOORBELL, VERSION], &[door])
}

/// What came from a line's socket.
#[derive(Debug)]
pub enum Heard {
    /// A message.
    Message(Message),
    /// Nothing is there now.
    Nothing,
    /// The other end is gone.
    Gone,
    /// Bytes that no correct peer sends.
    Nonsense,
}

/// What is next on a line's socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// Descriptors that belong to the stream bytes `at..at + len`.
    Batch {
        /// Position of the first byte.
        at: u64,
        /// How many bytes.
        len: u64,
    },
    /// Another message, or the end.
    Other,
    /// Nothing now.
    Nothing,
}

/// Looks at what is next without taking it.
pub fn next(socket: BorrowedFd<'_>) -> Next {
    let mut bytes = [0; LONGEST];
    let n = loop {
        match recv(socket, &mut bytes, RecvFlags::PEEK | RecvFlags::DONTWAIT) {
            Err(Errno::INTR | Errno::CONNRESET) => {}
            Err(Errno::AGAIN) => return Next::Nothing,
            Err(_) => return Next::Other,
            Ok((n, _)) => break n,
        }
    };
    match parse(&bytes[..n], Vec::new()) {
        Some(Message::FdBatch(FdBatch { at, len, .. })) => Next::Batch { at, len },
        _ => Next::Other,
    }
}

/// Whether a segment is next.
pub fn is_grant(socket: BorrowedFd<'_>) -> bool {
    let mut kind = [0];
    recv(socket, &mut kind, RecvFlags::PEEK | RecvFlags::DONTWAIT).is_ok_and(|_| kind == [GRANT])
}

/// Takes one message off the socket without waiting.
pub fn hear(socket: BorrowedFd<'_>) -> Heard {
    hear_into(socket, &mut [0; LONGEST], RecvFlags::empty(), true)
}

/// As [`hear`], for messages that carry no descriptors: the kernel drops what was sent with them, and none of it gets a number here.
pub fn hear_words(socket: BorrowedFd<'_>) -> Heard {
    hear_batch(socket, false, false)
}

/// As [`hear`]. `peek`: leaves the message there, and has copies of its descriptors. Descriptors that are not `wanted` are dropped.
pub fn hear_batch(socket: BorrowedFd<'_>, peek: bool, wanted: bool) -> Heard {
    let flags = if peek { RecvFlags::PEEK } else { RecvFlags::empty() };
    hear_into(socket, &mut [0; LONGEST], flags, wanted)
}

/// As [`hear`], for a caller that expects texts.
pub fn hear_text(socket: BorrowedFd<'_>) -> Heard {
    hear_into(socket, &mut vec![0; LONGEST_TEXT + 1], RecvFlags::empty(), true)
}

fn hear_into(socket: BorrowedFd<'_>, bytes: &mut [u8], flags: RecvFlags, descriptors: bool) -> Heard {
    let mut space = [MaybeUninit::<u8>::uninit(); rustix::cmsg_space!(ScmRights(MOST_DESCRIPTORS))];
    let mut control = if descriptors { RecvAncillaryBuffer::new(&mut space) } else { RecvAncillaryBuffer::default() };
    let flags = flags | RecvFlags::DONTWAIT | RecvFlags::CMSG_CLOEXEC;
    let received = loop {
        match recvmsg(socket, &mut [IoSliceMut::new(bytes)], &mut control, flags) {
            // An end that closed with messages unread: the kernel says so once, ahead of what it sent.
            Err(Errno::INTR | Errno::CONNRESET) => {}
            Err(Errno::AGAIN) => return Heard::Nothing,
            Err(_) => return Heard::Gone,
            Ok(received) => break received,
        }
    };
    if received.bytes == 0 {
        return Heard::Gone;
    }
    let mut descriptors = Vec::new();
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(fds) = message {
            descriptors.extend(fds);
        }
    }
    match parse(&bytes[..received.bytes], descriptors) {
        Some(Message::FdBatch(batch)) => {
            let cut = received.flags.contains(ReturnFlags::CTRUNC);
            Heard::Message(Message::FdBatch(FdBatch { cut, ..batch }))
        }
        message => message.map_or(Heard::Nonsense, Heard::Message),
    }
}

/// Reads a message out of bytes and descriptors that a peer sent.
pub fn parse(bytes: &[u8], mut descriptors: Vec<OwnedFd>) -> Option<Message> {
    let kind = *bytes.first()?;
    match kind {
        BELL => return Some(Message::Bell),
        TEXT => return Some(Message::Text(String::from_utf8_lossy(&bytes[1..]).into_owned())),
        _ if bytes.get(1) != Some(&VERSION) => return None,
        _ => {}
    }
    Some(match kind {
        OFFER | LATE | PARKED => {
            let ring = u64::from_le_bytes(bytes.get(2..10)?.try_into().ok()?);
            let token = bytes.get(10..10 + TOKEN)?.try_into().ok()?;
            match kind {
                OFFER => Message::Offer { token, ring },
                LATE => Message::Late { token, ring },
                _ => Message::Parked { token, ring, socket: descriptors.pop()? },
            }
        }
        QUERY => Message::Query,
        GRANT if descriptors.len() == 1 => Message::Grant { ring: parse_two_words(bytes)?.0, segment: descriptors.pop()? },
        DECLINE => Message::Decline,
        DOORBELL if descriptors.len() == 1 => Message::Doorbell(descriptors.pop()?),
        FD_BATCH | RETURNED => {
            let (at, len) = parse_two_words(bytes)?;
            let batch = FdBatch { at, len, descriptors, cut: false };
            if kind == FD_BATCH { Message::FdBatch(batch) } else { Message::Returned(batch) }
        }
        _ => return None,
    })
}
