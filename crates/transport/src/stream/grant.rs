//! A server's answer to an offer: a segment, within the limits, once the connection has been used enough to pay for it.
//!
//! To make, map and give up a segment costs both ends together some twenty system calls and as many pages, about as much as
//! a dozen questions and answers on the socket. A connection that ends sooner, as most programs' do that ask an X
//! server for something and print it, never pays for it; one that goes on has lost a few slow answers, once.

use super::{Stream, locked, state::phase};
use crate::{
    ledger::Ledger,
    line::{Message, send_message},
    report,
    settings::Settings,
};
use slipway_fabric::{
    segment::{Segment, segment_size},
    sync::{AtomicU32, Ordering::Relaxed},
};
use std::os::fd::{AsFd, BorrowedFd};

/// Bytes that count as one use.
const USE: usize = 4096;

/// 1: it was said that a limit is reached.
static TOLD: AtomicU32 = AtomicU32::new(0);

impl Stream {
    /// Counts a receive or a send of so many bytes on the socket, which may be the one after which the connection gets its line
    /// or its segment. `fd` is a descriptor of the socket.
    pub(super) fn count_use(&self, fd: BorrowedFd<'_>, bytes: usize) {
        let hears = || self.state.common.phase.load(Relaxed) == phase::HEARD;
        if !self.is_quiet() && !hears() {
            return;
        }
        let uses = 1 + u32::try_from(bytes / USE).unwrap_or(u32::MAX - 1);
        let used = self.used.fetch_add(uses, Relaxed).saturating_add(uses);
        if self.is_quiet() && used >= self.due.load(Relaxed) {
            self.get_line(fd, used);
        }
        if hears() && used >= Settings::get().after {
            self.grant();
        }
    }

    /// Answers the client's offer, if that wasn't done: makes a segment and sends it, or declines.
    pub fn grant(&self) {
        let _mail = locked(&self.mail);
        if self.state.common.phase.load(Relaxed) != phase::HEARD {
            return;
        }
        match self.make_segment() {
            Ok(segment) => {
                report::debug(format_args!("process {} is connected through shared memory", self.peer_pid));
                self.adopt(segment);
            }
            Err(why) => {
                // A client that has gone meanwhile is nothing to warn of.
                if send_message(self.line_socket().as_fd(), &Message::Decline).is_ok() {
                    refused(&why, self.peer_pid);
                }
                self.state.common.phase.store(phase::PLAIN, Relaxed);
            }
        }
    }

    /// The connection stays on its socket: tells a client that still waits for an answer.
    pub(super) fn decline(&self) {
        if self.state.common.phase.load(Relaxed) == phase::HEARD {
            let _ = send_message(self.line_socket().as_fd(), &Message::Decline);
        }
    }

    fn make_segment(&self) -> Result<Segment, String> {
        let record = self.record.as_ref().ok_or("this end is no server's")?;
        let ledger = record.ledger();
        let _turn = ledger.family().lock.lock();
        if let Some(why) = refusal(ledger) {
            return Err(why);
        }
        let s = Settings::get();
        let asked = usize::try_from(self.offer.load(Relaxed)).unwrap_or(usize::MAX).clamp(s.min_ring, s.max_ring);
        let mut ring = if asked.is_power_of_two() { asked } else { asked.next_power_of_two() / 2 };
        let fits = |ring| ledger.granted().1 + segment_size(ring) as u64 <= s.total;
        if !fits(ring) {
            // Without those that are gone.
            ledger.live();
        }
        while !fits(ring) {
            ring /= 2;
            if ring < s.min_ring {
                return Err(format!("all segments together would pass the {} bytes that SLIPWAY_X11_TOTAL allows", s.total));
            }
        }
        let (segment, fd) = Segment::create(ring).map_err(|error| format!("no shared memory could be made ({error})"))?;
        send_message(self.line_socket().as_fd(), &Message::Grant { ring: ring as u64, segment: fd })
            .map_err(|error| format!("a segment could not be sent ({error})"))?;
        record.charge(ring as u64, segment_size(ring) as u64);
        Ok(segment)
    }
}

/// Says, once, why a client of a server stays on its socket.
pub fn refused(why: &str, pid: u32) {
    if TOLD.swap(1, Relaxed) == 0 {
        report::warn(format_args!("{why}; process {pid} stays on its socket (said once)"));
    }
}

/// Why a server takes no further client on shared memory. Called with the family's lock held.
pub fn refusal(ledger: &Ledger) -> Option<String> {
    let most = Settings::get().clients;
    if ledger.granted().0 >= most {
        // Those that are gone don't count where that decides.
        ledger.live();
    }
    (ledger.granted().0 >= most).then(|| format!("{most} clients use shared memory, the most that SLIPWAY_X11_CLIENTS allows"))
}
