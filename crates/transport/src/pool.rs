//! Where the processes of a forked server keep the offers that they have heard and not used: whichever of them accepts the
//! connection finds its offer there, whichever read it.

use crate::{
    descriptor::Reserved,
    line::{Heard, Message, TOKEN, hear, send_message},
};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use slipway_fabric::sync::{AtomicU32, Ordering::Relaxed};
use std::{io, os::fd::AsFd};

/// How many sockets of a pool have a token that begins with each byte. In the family's memory. It is a hint: a process that was killed
/// between the pool and this leaves a wrong number, and a connection whose offer is not looked for stays on its socket.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Parked([[AtomicU32; 16]; 16]);

impl Parked {
    fn like(&self, token: &[u8; TOKEN]) -> &AtomicU32 {
        &self.0[usize::from(token[0] / 16)][usize::from(token[0] % 16)]
    }

    /// Whether there may be a socket of that token, or one of which no token is known yet.
    pub fn may_hold(&self, token: &[u8; TOKEN]) -> bool {
        [token, &UNKNOWN].iter().any(|token| self.like(token).load(Relaxed) != 0)
    }

    fn take_off(&self, token: &[u8; TOKEN]) {
        let _ = self.like(token).fetch_update(Relaxed, Relaxed, |count| count.checked_sub(1));
    }

    fn forget_all(&self) {
        self.0.iter().flatten().for_each(|count| count.store(0, Relaxed));
    }
}

/// The token of a socket that has not said its own.
pub const UNKNOWN: [u8; TOKEN] = [0; TOKEN];

/// A queue of sockets in the kernel, which the processes inherit.
#[derive(Debug)]
pub struct Pool {
    into: Reserved,
    out: Reserved,
}

impl Pool {
    /// An empty one.
    ///
    /// # Errors
    /// As socketpair(2).
    pub fn new() -> io::Result<Self> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let (into, out) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)?;
        Ok(Self { into: Reserved::aside(into)?, out: Reserved::aside(out)? })
    }

    /// Puts in a socket and what was heard from it. If the queue is full it is closed, and its connection stays on its socket.
    pub fn put(&self, parked: &Parked, socket: Reserved, token: [u8; TOKEN], ring: u64) {
        let message = Message::Parked { token, ring, socket: socket.into_owned() };
        parked.like(&token).fetch_add(1, Relaxed);
        if send_message(self.into.as_fd(), &message).is_err() {
            parked.take_off(&token);
            // Whoever hears next sweeps the pool: what fills it may never be looked for.
            parked.like(&UNKNOWN).fetch_max(1, Relaxed);
        }
    }

    /// Takes out the one that was put in first.
    pub fn take(&self, parked: &Parked) -> Option<(Reserved, [u8; TOKEN], u64)> {
        loop {
            match hear(self.out.as_fd()) {
                Heard::Message(Message::Parked { token, ring, socket }) => {
                    parked.take_off(&token);
                    return Some((Reserved::aside(socket).ok()?, token, ring));
                }
                Heard::Nothing | Heard::Gone => {
                    parked.forget_all();
                    return None;
                }
                // There was no descriptor for its socket.
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::pair::unforked;

    #[test]
    fn what_is_there_is_known_by_its_token_and_comes_in_its_order() {
        let _guard = unforked();
        let (pool, parked) = (Pool::new().expect("a pool"), Parked::default());
        let (first, second, other) = ([1; TOKEN], [2; TOKEN], [3; TOKEN]);
        let put = |token, ring| {
            let (socket, _) =
                socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None).expect("sockets");
            pool.put(&parked, Reserved::aside(socket).expect("room"), token, ring);
        };
        let holds = || [first, second, other].map(|token| parked.may_hold(&token));
        let take = || pool.take(&parked).map(|(_, token, ring)| (token, ring));
        put(first, 4096);
        put(second, 8192);
        assert_eq!(holds(), [true, true, false]);
        assert_eq!(take(), Some((first, 4096)));
        assert_eq!(holds(), [false, true, false]);
        // One that has said nothing yet may be anybody's.
        put(UNKNOWN, 0);
        assert_eq!(holds(), [true; 3]);
        assert_eq!((take(), take(), take()), (Some((second, 8192)), Some((UNKNOWN, 0)), None));
        // What a process left that was killed is forgotten with that.
        assert_eq!(holds(), [false; 3]);
    }

    #[test]
    fn a_pool_without_room_is_looked_at_and_nonsense_in_it_is_passed_over() {
        let _guard = unforked();
        let (pool, parked) = (Pool::new().expect("a pool"), Parked::default());
        let put = |token| {
            let (socket, _) =
                socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None).expect("sockets");
            pool.put(&parked, Reserved::aside(socket).expect("room"), token, 1);
        };
        send_message(pool.into.as_fd(), &Message::Bell).expect("room");
        put([1; TOKEN]);
        put([2; TOKEN]);
        assert_eq!(pool.take(&parked).map(|(_, token, _)| token), Some([1; TOKEN]));
        assert!(parked.may_hold(&[2; TOKEN]));
        while !parked.may_hold(&[3; TOKEN]) {
            put([2; TOKEN]);
        }
        assert!(send_message(pool.into.as_fd(), &Message::Bell).is_err(), "there is room");
    }
}
