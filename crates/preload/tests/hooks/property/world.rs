//! A connection with its descriptors, on which operations are done.

use std::ffi::c_int;

use libc::{O_CLOEXEC, SOL_SOCKET};

use super::operation::{CopyBy, End, Op, ReceiveBy, SendBy};
use crate::support::{
    calls::{self, Answer, Fd, call, outcome, take_sigpipe, vectors},
    messages,
};

/// One connection; the hooked one and the model are two.
pub struct World {
    /// The descriptors of each end; none when it is closed or not accepted yet.
    pub ends: [Vec<Fd>; 2],
    /// An epoll set.
    pub set: Fd,
    /// Numbers from here on, a hundred, are for copies that are closed as a range.
    pub high: Fd,
}

impl World {
    /// With a client's end and none of the server's.
    pub fn new(client: Fd, high: Fd) -> Self {
        let set = calls::good(call!(epoll_create1(O_CLOEXEC))) as Fd;
        Self { ends: [vec![client], Vec::new()], set, high }
    }

    /// The descriptor that an operation goes through.
    pub fn through(&self, end: End, copy: usize) -> Option<Fd> {
        let copies = &self.ends[end];
        copies.get(copy).or(copies.first()).copied()
    }

    /// Does `op`. `dont_wait` is for calls that might block; `data` is what a send sends.
    pub fn run(&mut self, op: &Op, dont_wait: bool, data: &[u8], files: &[Fd]) -> Answer {
        let more = if dont_wait { libc::MSG_DONTWAIT } else { 0 };
        let mut answer = match op {
            Op::Send { end, copy, by, lengths, flags, files: chosen } => {
                let Some(fd) = self.through(*end, *copy) else { return Answer::default() };
                let chosen: Vec<_> = chosen.iter().map(|i| files[*i]).collect();
                send(fd, *by, cut(data, lengths), flags | more, &chosen)
            }
            Op::Receive { end, copy, by, lengths, flags } => {
                let Some(fd) = self.through(*end, *copy) else { return Answer::default() };
                receive(fd, *by, lengths, flags | more, dont_wait)
            }
            Op::Poll { events, copy } => self.poll(*events, *copy),
            Op::Select { sets } => self.select(sets),
            Op::EpollAdd { end, events } => self.control(libc::EPOLL_CTL_ADD, *end, *events),
            Op::EpollModify { end, events } => self.control(libc::EPOLL_CTL_MOD, *end, *events),
            Op::EpollDelete { end } => self.control(libc::EPOLL_CTL_DEL, *end, 0),
            Op::EpollWait => self.epoll_wait(),
            Op::Length { end, copy } => self.through(*end, *copy).map_or_else(Answer::default, |fd| {
                let mut length: c_int = -1;
                let answer = outcome(call!(ioctl(fd, libc::FIONREAD, &raw mut length)));
                Answer { bytes: length.to_ne_bytes().to_vec(), ..answer }
            }),
            Op::Option { end, name } => self.through(*end, 0).map_or_else(Answer::default, |fd| option(fd, *name)),
            Op::Nonblocking { end, on, ioctl } => {
                let Some(fd) = self.through(*end, 0) else { return Answer::default() };
                if *ioctl {
                    let mut on = c_int::from(*on);
                    outcome(call!(ioctl(fd, libc::FIONBIO, &raw mut on)))
                } else {
                    calls::set_nonblocking(fd, *on);
                    outcome(call!(fcntl(fd, libc::F_GETFL)))
                }
            }
            Op::Shutdown { end, how } => {
                self.through(*end, 0).map_or_else(Answer::default, |fd| outcome(call!(shutdown(fd, *how))))
            }
            Op::Copy { end, from, by } => self.copy(*end, *from, *by),
            Op::Close { end, copy } => self.close(*end, *copy),
            Op::CloseRange => self.close_range(),
            Op::GiveBack { end } => self.give_back(*end),
        };
        answer.sigpipe = take_sigpipe();
        answer
    }

    fn poll(&self, events: [i16; 2], copy: usize) -> Answer {
        let wanted: Vec<_> = (0..2).filter_map(|end| Some((self.through(end, copy)?, events[end]))).collect();
        match calls::poll(&wanted, 0) {
            Ok(answers) => Answer { bytes: answers.iter().flat_map(|a| a.to_ne_bytes()).collect(), ..Answer::default() },
            Err(errno) => Answer { value: -1, errno, ..Answer::default() },
        }
    }

    fn select(&self, wanted: &[[bool; 3]; 2]) -> Answer {
        // SAFETY: a set of zeros is empty.
        let mut sets: [libc::fd_set; 3] = unsafe { std::mem::zeroed() };
        let fds: Vec<_> = (0..2).filter_map(|end| Some((end, self.through(end, 0)?))).collect();
        for (end, fd) in &fds {
            for (set, wanted) in sets.iter_mut().zip(wanted[*end]) {
                if wanted {
                    call!(FD_SET(*fd, set));
                }
            }
        }
        let [read, write, except] = &mut sets;
        let mut time = libc::timeval { tv_sec: 0, tv_usec: 0 };
        let count = fds.iter().map(|(_, fd)| fd + 1).max().unwrap_or(0);
        let answer = outcome(call!(select(count, read, write, except, &raw mut time)));
        let bytes = fds.iter().flat_map(|(_, fd)| sets.each_ref().map(|set| u8::from(call!(FD_ISSET(*fd, set)))));
        Answer { bytes: bytes.collect(), ..answer }
    }

    fn control(&self, operation: c_int, end: End, events: u32) -> Answer {
        let Some(fd) = self.through(end, 0) else { return Answer::default() };
        let mut event = libc::epoll_event { events, u64: end as u64 };
        outcome(call!(epoll_ctl(self.set, operation, fd, &raw mut event)))
    }

    /// The events of each end, in `files` as (end, events).
    fn epoll_wait(&self) -> Answer {
        let mut events = [libc::epoll_event { events: 0, u64: 0 }; 8];
        let answer = outcome(call!(epoll_wait(self.set, events.as_mut_ptr(), 8, 0)));
        let count = answer.value.max(0) as usize;
        let mut files: Vec<_> = events[..count].iter().map(|e| (e.u64, u64::from(e.events), false)).collect();
        files.sort_unstable();
        Answer { files, ..answer }
    }

    fn copy(&mut self, end: End, from: usize, by: CopyBy) -> Answer {
        let Some(fd) = self.through(end, from).filter(|_| self.ends[end].len() < 5) else { return Answer::default() };
        let over = self.ends[end].get(1).copied();
        let new = match (by, over) {
            (CopyBy::Dup2, Some(over)) => call!(dup2(fd, over)),
            (CopyBy::Dup3, Some(over)) => call!(dup3(fd, over, O_CLOEXEC)),
            (CopyBy::FDupFd, _) => call!(fcntl(fd, libc::F_DUPFD, 3)),
            (CopyBy::FDupFdCloexec, _) => call!(fcntl(fd, libc::F_DUPFD_CLOEXEC, 3)),
            (CopyBy::High, _) => call!(fcntl(fd, libc::F_DUPFD, self.high)),
            _ => call!(dup(fd)),
        };
        let answer = outcome(new);
        if new >= 0 && !self.ends[end].contains(&new) {
            self.ends[end].push(new);
        }
        Answer { value: answer.value.min(0), ..answer }
    }

    fn close(&mut self, end: End, copy: usize) -> Answer {
        if self.ends[end].is_empty() {
            return Answer::default();
        }
        let copy = copy.min(self.ends[end].len() - 1);
        if self.ends[end].len() > 1 && copy == 0 {
            // The kernel goes on reporting a registration while copies of the file are open.
            self.control(libc::EPOLL_CTL_DEL, end, 0);
        }
        outcome(call!(close(self.ends[end].remove(copy))))
    }

    fn close_range(&mut self) -> Answer {
        for end in 0..2 {
            if self.ends[end].len() > 1 && self.ends[end][0] >= self.high {
                self.control(libc::EPOLL_CTL_DEL, end, 0);
            }
            self.ends[end].retain(|fd| *fd < self.high);
        }
        let (first, last) = (self.high as u32, self.high as u32 + 99);
        outcome(call!(close_range(first, last, 0)))
    }

    fn give_back(&self, end: End) -> Answer {
        let Some(fd) = self.through(end, 0) else { return Answer::default() };
        // Asks for nothing, and is one of the options that only the kernel can honour.
        let off: c_int = 0;
        let size = size_of::<c_int>() as libc::socklen_t;
        let answer = outcome(call!(setsockopt(fd, SOL_SOCKET, libc::SO_PASSCRED, (&raw const off).cast(), size)));
        if let Some(other) = self.through(1 - end, 0) {
            // The other end hears of it in its next wait, which is now.
            calls::ready(other, libc::POLLIN);
        }
        answer
    }
}

impl Drop for World {
    fn drop(&mut self) {
        calls::close_all(self.ends.iter().flatten().copied());
        calls::close_all([self.set]);
    }
}

/// `data` in pieces of these lengths.
fn cut(mut data: &[u8], lengths: &[usize]) -> Vec<Vec<u8>> {
    let mut piece = |n: &usize| {
        let (piece, rest) = data.split_at(*n);
        data = rest;
        piece.to_vec()
    };
    lengths.iter().map(&mut piece).collect()
}

fn send(fd: Fd, by: SendBy, mut buffers: Vec<Vec<u8>>, flags: c_int, files: &[Fd]) -> Answer {
    if by == SendBy::SendMsg {
        return messages::send(fd, buffers, files, flags);
    }
    let vectors = vectors(&mut buffers);
    let whole = buffers.concat();
    let (from, length) = (whole.as_ptr().cast(), whole.len());
    outcome(match by {
        SendBy::Write => call!(write(fd, from, length)),
        SendBy::WriteV => call!(writev(fd, vectors.as_ptr(), vectors.len() as c_int)),
        SendBy::Send => call!(send(fd, from, length, flags)),
        SendBy::SendTo | SendBy::SendMsg => call!(sendto(fd, from, length, flags, std::ptr::null(), 0)),
    })
}

fn receive(fd: Fd, by: ReceiveBy, lengths: &[usize], flags: c_int, dont_wait: bool) -> Answer {
    let by = match by {
        ReceiveBy::Read | ReceiveBy::ReadV if dont_wait => ReceiveBy::Recv,
        by => by,
    };
    let whole = [lengths.iter().sum()];
    let lengths = if by == ReceiveBy::ReadV { lengths } else { &whole[..] };
    if let ReceiveBy::RecvMsg(room) = by {
        return messages::receive(fd, lengths, room, flags);
    }
    let mut buffers: Vec<_> = lengths.iter().map(|n| vec![0xee; *n]).collect();
    let vectors = vectors(&mut buffers);
    let (mut address, mut space) = (no_address(), size_of::<libc::sockaddr_un>() as libc::socklen_t);
    let count = vectors.len() as c_int;
    let first = |i: usize| vectors.get(i).map_or((std::ptr::null_mut(), 0), |v| (v.iov_base, v.iov_len));
    let (to, length) = first(0);
    let answer = outcome(match by {
        ReceiveBy::Read => call!(read(fd, to, length)),
        ReceiveBy::ReadV | ReceiveBy::RecvMsg(_) => call!(readv(fd, vectors.as_ptr(), count)),
        ReceiveBy::Recv => call!(recv(fd, to, length, flags)),
        ReceiveBy::RecvFrom => call!(recvfrom(fd, to, length, flags, (&raw mut address).cast(), &raw mut space)),
    });
    let bytes = messages::filled(&buffers, answer.value);
    Answer { bytes, ..answer }
}

fn no_address() -> libc::sockaddr_un {
    crate::support::connection::address(b"").0
}

fn option(fd: Fd, name: c_int) -> Answer {
    let mut value: c_int = -1;
    let mut size = size_of::<c_int>() as libc::socklen_t;
    let answer = outcome(call!(getsockopt(fd, SOL_SOCKET, name, (&raw mut value).cast(), &raw mut size)));
    Answer { bytes: value.to_ne_bytes().to_vec(), ..answer }
}
