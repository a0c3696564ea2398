//! What is behind a received message: its number, and the kernel's word on its sender.

use super::super::format::Origin;
use crate::{dialect::Trailer, state::message::Sender};

/// A trailer of type 0 and of eight bytes: all that was asked for is that there is one.
pub const FRONT: [u8; 8] = [0, 0, 0, 0, 8, 0, 0, 0];

/// Who sent a message, as numbers of the kernel.
struct Tokens {
    euid: u32,
    egid: u32,
    uid: u32,
    gid: u32,
    pid: u32,
}

impl Tokens {
    fn of(sender: Sender) -> Self {
        match sender {
            Sender::Own => Self {
                euid: rustix::process::geteuid().as_raw(),
                egid: rustix::process::getegid().as_raw(),
                uid: rustix::process::getuid().as_raw(),
                gid: rustix::process::getgid().as_raw(),
                pid: std::process::id(),
            },
            Sender::Other { pid, uid, gid } => Self { euid: uid, egid: gid, uid, gid, pid: pid as u32 },
        }
    }
}

/// Writes a trailer to the front of `place`, as much of it as was asked for.
#[cold]
#[inline(never)]
pub fn write(place: &mut [u8], asked: Trailer, seqno: u32, origin: impl FnOnce() -> Origin) {
    let origin = origin();
    let it = Tokens::of(origin.sender);
    let mut words = [0; 15];
    words[1] = asked.size() as u32;
    words[2] = seqno;
    // The security token: user and group.
    (words[3], words[4]) = (it.euid, it.egid);
    // The audit token: audit user, user and group in effect, the real ones, process, session and the process number's version.
    words[5..13].copy_from_slice(&[it.uid, it.euid, it.egid, it.uid, it.gid, it.pid, 0, 0]);
    (words[13], words[14]) = (origin.context as u32, (origin.context >> 32) as u32);
    for (place, word) in place.chunks_exact_mut(4).zip(words).take(asked.size() / 4) {
        place.copy_from_slice(&word.to_le_bytes());
    }
}
