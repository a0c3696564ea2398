//! What a program can do with its connection, and how to choose it at random.

use std::ffi::c_int;

use libc::{
    EPOLLET, EPOLLIN, EPOLLONESHOT, EPOLLOUT, EPOLLPRI, EPOLLRDHUP, MSG_CMSG_CLOEXEC, MSG_DONTWAIT, MSG_NOSIGNAL, MSG_PEEK,
    MSG_TRUNC, MSG_WAITALL, POLLIN, POLLOUT, POLLPRI, POLLRDHUP, POLLRDNORM, POLLWRNORM,
};
use proptest::{bits, collection::vec, prelude::*};

use crate::support::messages::space;

/// One end of the connection: 0 is the client, 1 the server.
pub type End = usize;

/// The calls that send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SendBy {
    Write,
    WriteV,
    Send,
    SendTo,
    SendMsg,
}

/// The calls that receive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReceiveBy {
    Read,
    ReadV,
    Recv,
    RecvFrom,
    /// With so many bytes for control data.
    RecvMsg(usize),
}

/// The calls that copy a descriptor.
#[derive(Debug, Clone, Copy)]
pub enum CopyBy {
    Dup,
    /// Over another copy, if there is one.
    Dup2,
    Dup3,
    FDupFd,
    FDupFdCloexec,
    /// To where [`Op::CloseRange`] finds it.
    High,
}

/// One operation, the same on both connections.
#[derive(Debug, Clone)]
pub enum Op {
    Send {
        end: End,
        copy: usize,
        by: SendBy,
        lengths: Vec<usize>,
        flags: c_int,
        files: Vec<usize>,
    },
    Receive {
        end: End,
        copy: usize,
        by: ReceiveBy,
        lengths: Vec<usize>,
        flags: c_int,
    },
    Poll {
        events: [i16; 2],
        copy: usize,
    },
    Select {
        sets: [[bool; 3]; 2],
    },
    EpollAdd {
        end: End,
        events: u32,
    },
    EpollModify {
        end: End,
        events: u32,
    },
    EpollDelete {
        end: End,
    },
    EpollWait,
    /// FIONREAD.
    Length {
        end: End,
        copy: usize,
    },
    /// A socket option that reads the same.
    Option {
        end: End,
        name: c_int,
    },
    Nonblocking {
        end: End,
        on: bool,
        ioctl: bool,
    },
    Shutdown {
        end: End,
        how: c_int,
    },
    Copy {
        end: End,
        from: usize,
        by: CopyBy,
    },
    Close {
        end: End,
        copy: usize,
    },
    CloseRange,
    /// A call that puts the hooked connection back on its socket.
    GiveBack {
        end: End,
    },
}

impl Op {
    /// The end that it is done on, if it is one.
    pub fn end(&self) -> Option<End> {
        match self {
            Op::Send { end, .. }
            | Op::Receive { end, .. }
            | Op::EpollAdd { end, .. }
            | Op::EpollModify { end, .. }
            | Op::EpollDelete { end }
            | Op::Length { end, .. }
            | Op::Option { end, .. }
            | Op::Nonblocking { end, .. }
            | Op::Shutdown { end, .. }
            | Op::Copy { end, .. }
            | Op::Close { end, .. }
            | Op::GiveBack { end } => Some(*end),
            Op::Poll { .. } | Op::Select { .. } | Op::EpollWait | Op::CloseRange => None,
        }
    }
}

fn end() -> impl Strategy<Value = End> {
    0..2_usize
}

/// Mostly the first descriptor, now and then a copy.
fn copy() -> impl Strategy<Value = usize> {
    prop_oneof![3 => Just(0), 1 => 0..4_usize]
}

fn length() -> impl Strategy<Value = usize> {
    prop_oneof![2 => Just(0), 6 => 1..40_usize, 4 => 40..700_usize, 1 => 700..2600_usize]
}

fn lengths(most: usize) -> impl Strategy<Value = Vec<usize>> {
    prop_oneof![4 => vec(length(), 1), 1 => vec(length(), 0..most)]
}

/// Any of these flags, each seldom.
fn flags(all: &'static [c_int]) -> impl Strategy<Value = c_int> {
    vec(prop::bool::weighted(0.25), all.len())
        .prop_map(|chosen| all.iter().zip(chosen).filter(|(_, chosen)| *chosen).fold(0, |flags, (flag, _)| flags | flag))
}

fn send() -> impl Strategy<Value = Op> {
    use SendBy::{Send, SendMsg, SendTo, Write, WriteV};
    let by = prop_oneof![Just(Write), Just(WriteV), Just(Send), Just(SendTo), Just(SendMsg), Just(SendMsg)];
    let files = prop_oneof![2 => Just(Vec::new()), 1 => vec(0..4_usize, 1..4)];
    (end(), copy(), by, lengths(6), flags(&[MSG_DONTWAIT, MSG_NOSIGNAL]), files)
        .prop_map(|(end, copy, by, lengths, flags, files)| Op::Send { end, copy, by, lengths, flags, files })
}

fn receive() -> impl Strategy<Value = Op> {
    use ReceiveBy::{Read, ReadV, Recv, RecvFrom, RecvMsg};
    let room = prop_oneof![1 => Just(0), 1 => 1..20_usize, 1 => Just(space(1)), 3 => Just(space(8))];
    let by =
        prop_oneof![Just(Read), Just(ReadV), Just(Recv), Just(RecvFrom), room.clone().prop_map(RecvMsg), room.prop_map(RecvMsg)];
    let length = prop_oneof![3 => length(), 1 => Just(3000_usize)];
    let lengths = prop_oneof![4 => vec(length, 1), 1 => lengths(6)];
    (end(), copy(), by, lengths, flags(&[MSG_DONTWAIT, MSG_PEEK, MSG_WAITALL, MSG_CMSG_CLOEXEC, MSG_TRUNC]))
        .prop_map(|(end, copy, by, lengths, flags)| Op::Receive { end, copy, by, lengths, flags })
}

fn poll_events() -> impl Strategy<Value = i16> {
    let all = POLLIN | POLLOUT | POLLPRI | POLLRDHUP | POLLRDNORM | POLLWRNORM;
    prop_oneof![Just(POLLIN), Just(POLLOUT), Just(POLLIN | POLLOUT), bits::i16::masked(all)]
}

fn epoll_events() -> impl Strategy<Value = u32> {
    let conditions = (EPOLLIN | EPOLLOUT | EPOLLPRI | EPOLLRDHUP) as u32;
    let conditions = prop_oneof![Just((EPOLLIN | EPOLLOUT) as u32), Just(EPOLLIN as u32), bits::u32::masked(conditions)];
    let modes = prop_oneof![3 => Just(0), 2 => Just(EPOLLET as u32), 1 => Just(EPOLLONESHOT as u32),
        1 => Just(EPOLLONESHOT as u32 | EPOLLET as u32)];
    (conditions, modes).prop_map(|(conditions, modes)| conditions | modes)
}

fn copying() -> impl Strategy<Value = Op> {
    use CopyBy::{Dup, Dup2, Dup3, FDupFd, FDupFdCloexec, High};
    let by = prop_oneof![Just(Dup), Just(Dup2), Just(Dup3), Just(FDupFd), Just(FDupFdCloexec), Just(High)];
    (end(), 0..4_usize, by).prop_map(|(end, from, by)| Op::Copy { end, from, by })
}

/// Any operation, as often as programs might do it.
pub fn operation() -> impl Strategy<Value = Op> {
    prop_oneof![
        30 => send(),
        30 => receive(),
        6 => ([poll_events(), poll_events()], copy()).prop_map(|(events, copy)| Op::Poll { events, copy }),
        3 => any::<[[bool; 3]; 2]>().prop_map(|sets| Op::Select { sets }),
        4 => (end(), epoll_events()).prop_map(|(end, events)| Op::EpollAdd { end, events }),
        3 => (end(), epoll_events()).prop_map(|(end, events)| Op::EpollModify { end, events }),
        1 => end().prop_map(|end| Op::EpollDelete { end }),
        10 => Just(Op::EpollWait),
        4 => (end(), copy()).prop_map(|(end, copy)| Op::Length { end, copy }),
        2 => (end(), prop_oneof![Just(libc::SO_ERROR), Just(libc::SO_TYPE), Just(libc::SO_ACCEPTCONN)])
            .prop_map(|(end, name)| Op::Option { end, name }),
        2 => (end(), any::<bool>(), any::<bool>()).prop_map(|(end, on, ioctl)| Op::Nonblocking { end, on, ioctl }),
        1 => (end(), 0..3_i32).prop_map(|(end, how)| Op::Shutdown { end, how }),
        4 => copying(),
        2 => (end(), 0..4_usize).prop_map(|(end, copy)| Op::Close { end, copy }),
        1 => Just(Op::CloseRange),
        1 => end().prop_map(|end| Op::GiveBack { end }),
    ]
}

/// A connection's life: how much the client does before it is accepted, and everything.
#[derive(Clone)]
pub struct Life {
    pub early: usize,
    pub ops: Vec<Op>,
}

impl std::fmt::Debug for Life {
    /// An operation a line.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "accepted after {} of", self.early)?;
        self.ops.iter().try_for_each(|op| write!(f, "\n  {op:?}"))
    }
}

/// Any life.
pub fn life() -> impl Strategy<Value = Life> {
    (prop_oneof![2 => Just(0), 1 => 1..6_usize], vec(operation(), 1..90)).prop_map(|(early, ops)| Life { early, ops })
}
