//! Records on their way into a line's ring: those that wait for room, and what is needed to take messages back.

use super::{
    BACKLOG, Line,
    parts::{Kept, NO_SLOT, OutFd, Pending, Stall},
};
use crate::{
    objects,
    wire::{RECORD, Record, kind},
};
use rustix::io::Errno;
use slipway_fabric::{Corrupt, descriptor::Reserved};
use std::{
    os::fd::{AsFd, BorrowedFd},
    sync::Arc,
};
use zerocopy::IntoBytes;

/// Of so many records that can wait, one does not.
const QUIET: u32 = 64;

impl Line {
    /// Writes a record and makes it visible; the descriptors go first. It should [fit](Line::check_space): if what it
    /// carries has used that up, it waits for more. Of the descriptors the last `remembered` do not go with it. `Err(Short)` if it is larger than the ring.
    #[inline]
    pub fn write(
        &mut self,
        record: &Record,
        parts: [&[u8]; 2],
        slot: u32,
        fds: Vec<OutFd>,
        remembered: usize,
    ) -> Result<(), Stall> {
        if self.ended {
            return Err(Stall::Broken);
        }
        let len = RECORD + parts[0].len() + parts[1].len();
        let (going, mut sent) = ([record.fds as usize, fds.len() - remembered], 0);
        if self.backlog.is_empty() && self.fits(len)? && (fds.is_empty() || self.send_fds(&fds, going, &mut sent)?) {
            self.segment.tx.fill_headed(&mut self.tx, record.words(), &[], parts[0], 0)?;
            if !parts[1].is_empty() {
                self.segment.tx.append(&mut self.tx, parts[1]);
            }
            self.show(slot, fds);
            return Ok(());
        }
        if len > self.segment.tx.size() {
            return Err(Stall::Short);
        }
        if self.backlog.len() >= BACKLOG {
            self.backlog.clear();
            return Err(Stall::Broken);
        }
        let charge = self.out.take(fds.len(), 0);
        self.backlog.push_back(Pending {
            charge,
            bytes: [record.as_bytes(), parts[0], parts[1]].concat(),
            fds,
            going,
            sent,
            slot,
        });
        self.hurry()?;
        Ok(())
    }

    /// Makes the record that was filled in visible.
    fn show(&mut self, slot: u32, fds: Vec<OutFd>) {
        if slot != NO_SLOT && !fds.is_empty() {
            let charge = self.out.take(fds.len(), 0);
            self.kept.push_back(Kept { end: self.tx.tail, fds, charge });
        }
        self.publish();
        self.release_kept();
    }

    /// Closes the descriptors of records that the other end has taken: as long as they are open here, a pipe does
    /// not hang up and a port does not die. If some are left that are open for nothing else, the bell tells when they are
    /// taken too. One that this process holds for a right of its own is no such descriptor: when it gives that up, it looks here
    /// again ([`Routes::let_go`](crate::routes::Routes::let_go)).
    pub fn release_kept(&mut self) {
        self.release_kept_or(|line| line.kept.iter().flat_map(|kept| &kept.fds).any(|fd| Arc::strong_count(&fd.0) == 1));
    }

    /// As [`Line::release_kept`]. Whether the bell tells of those that are left is as `awaits` says.
    pub(super) fn release_kept_or(&mut self, awaits: impl Fn(&Self) -> bool) {
        for armed in [false, true] {
            if self.kept.is_empty() || armed && !awaits(self) {
                return;
            }
            if armed {
                self.segment.tx.arm_writer();
            }
            if self.segment.tx.unread(&mut self.tx).is_err() {
                return;
            }
            while self.kept.front().is_some_and(|kept| kept.end <= self.tx.head_seen) {
                self.kept.pop_front();
            }
        }
    }

    /// Writes a control record, or keeps it until there is room.
    pub fn post(&mut self, record: Record, fds: Vec<OutFd>) {
        if fds.is_empty() && self.kept.is_empty() && self.fills(&record) {
            self.publish()
        } else {
            self.post_all(&record, [&[], &[]], fds, 0)
        }
    }

    /// As [`Line::post`], of a record without descriptors that the other end need not read before it looks at the line for another
    /// reason. One of [`QUIET`] wakes it: else an end that only sends would get none of its slots back.
    pub fn post_quietly(&mut self, record: Record) {
        self.quiet = (self.quiet + 1) % QUIET;
        if self.quiet > 0 && self.fills(&record) { self.segment.tx.publish(&self.tx) } else { self.post(record, Vec::new()) }
    }

    /// Writes a record that nothing goes with, and does not make it visible yet. False if there is no room, or others wait for some.
    fn fills(&mut self, record: &Record) -> bool {
        !self.ended
            && self.backlog.is_empty()
            && self.fits(RECORD).is_ok_and(|fits| fits)
            && self.segment.tx.fill_headed(&mut self.tx, record.words(), &[], &[], 0).is_ok()
    }

    /// As [`Line::post`], with body and items, and descriptors as [`Line::write`] has them.
    pub fn post_all(&mut self, record: &Record, parts: [&[u8]; 2], fds: Vec<OutFd>, remembered: usize) {
        if self.write(record, parts, NO_SLOT, fds, remembered).is_err() {
            self.ended = true;
            // The watcher hears it hang up, and ends the line.
            let _ = rustix::net::shutdown(&self.bell, rustix::net::Shutdown::Both);
        }
    }

    /// Gives rights for a slot of the other end back, and detaches from it. The owner knows what was sent before from the
    /// order of the records.
    pub fn release_slot(&mut self, slot: u32, rights: u32, attached: bool) {
        if rights > 0 {
            self.post(Record { kind: kind::RELEASE, target: slot, count: rights, ..Record::default() }, Vec::new());
        }
        if attached {
            self.post(Record { kind: kind::DETACH, target: slot, ..Record::default() }, Vec::new());
        }
    }

    /// Writes what waits for room, and sees to it that the bell rings when there is room for the rest.
    pub fn hurry(&mut self) -> Result<(), Corrupt> {
        self.flush()?;
        if !self.backlog.is_empty() {
            self.segment.tx.arm_writer();
            // What was taken before the flag was up rings no bell.
            self.flush()?;
        }
        Ok(())
    }

    /// Writes what waits for room.
    pub fn flush(&mut self) -> Result<(), Corrupt> {
        while let Some(mut next) = self.backlog.pop_front() {
            let len = next.bytes.len();
            let fits = self.fits(len).map_err(|_| Corrupt { what: "size of a record" })?;
            if !fits
                || !self
                    .send_fds(&next.fds, next.going, &mut next.sent)
                    .map_err(|_| Corrupt { what: "socket for descriptors" })?
            {
                self.backlog.push_front(next);
                return Ok(());
            }
            self.segment.tx.fill(&mut self.tx, &next.bytes)?;
            drop(next.charge);
            self.show(next.slot, next.fds);
        }
        Ok(())
    }

    /// Sends the descriptors that are [going](Pending::going) from `sent` on, and counts them there. False if the socket takes no more of them now, or the kernel none.
    fn send_fds(&self, fds: &[OutFd], [ahead, going]: [usize; 2], sent: &mut usize) -> Result<bool, Stall> {
        let (ahead, others) = fds[..going].split_at(ahead.min(going));
        let mut end = 0;
        for some in ahead.chunks(objects::FD_BATCH).chain(others.chunks(objects::FD_BATCH)) {
            end += some.len();
            if end <= *sent {
                continue;
            }
            let some: Vec<BorrowedFd<'_>> = some.iter().map(AsFd::as_fd).collect();
            match objects::send(self.fd_socket.as_fd(), &[&[some.len() as u8]], &some) {
                Ok(()) => *sent = end,
                Err(Errno::WOULDBLOCK) => return Ok(false),
                // Whoever fills the queues of this user, the line is not to end for it.
                Err(Errno::TOOMANYREFS | Errno::NOBUFS | Errno::NOMEM) => {
                    self.out.note_refusal();
                    return Ok(false);
                }
                Err(Errno::PIPE | Errno::CONNRESET | Errno::NOTCONN) => return Err(Stall::Broken),
                Err(_) => return Err(Stall::Short),
            }
        }
        Ok(true)
    }

    /// Sends the file of the ring that this end writes, ahead of the first record. False if the socket can't take it now.
    pub(super) fn send_area(&mut self) -> Result<bool, Stall> {
        if let Some(area) = self.area.clone() {
            if !self.send_fds(&[area], [1, 1], &mut 0)? {
                return Ok(false);
            }
            self.area = None;
        }
        Ok(true)
    }

    /// Takes the file of the ring that this end reads, which lies ahead of the first record.
    ///
    /// # Errors
    /// It does not lie there, or is not what it should be.
    pub fn take_area(&mut self) -> Result<(), Corrupt> {
        let wrong = || Corrupt { what: "file of a ring" };
        let (mut count, mut files) = ([0; 1], Vec::<Reserved>::new());
        let len = objects::receive(self.fd_socket.as_fd(), &mut count, &mut files).map_err(|_| wrong())?;
        let file = files.first().filter(|_| (len, count, files.len()) == (1, [1], 1)).ok_or_else(wrong)?;
        self.segment.open_area(file.as_fd()).map_err(|_| wrong())
    }

    /// Goes on behind the records that the other end has taken, by its cursor as it was last seen: they may be written over from now on. That
    /// cursor is its word. Where records begin is not: there could be bytes in the middle of a message that look like another.
    ///
    /// # Errors
    /// The cursor is in the middle of a record.
    pub(super) fn pass_taken(&mut self) -> Result<(), Corrupt> {
        self.passed = self.first_of_area();
        while self.passed < self.tx.head_seen {
            self.passed += self.record_at(self.passed).1;
        }
        if self.passed == self.tx.head_seen { Ok(()) } else { Err(Corrupt { what: "read cursor" }) }
    }

    /// Where the first record that is known to be whole in the area begins. An area begins anew with a record.
    fn first_of_area(&self) -> u64 {
        self.passed.max(self.tx.base)
    }

    /// A record that this end has written, and its length.
    fn record_at(&self, at: u64) -> (Record, u64) {
        let record = Record::from_words(self.segment.tx.recall_words(&self.tx, at));
        (record, RECORD as u64 + u64::from(record.body) + u64::from(record.items))
    }

    /// The messages to a slot that lie in the ring from position `from` on, read back out of it with their
    /// descriptors, and those that wait for room. The other end can't write there (before Linux 5.1 it can, and what is read is its word). What it has
    /// taken is its word: a record that begins before its `head` counts as taken.
    pub fn read_back(&self, slot: u32, from: u64) -> Vec<(Vec<u8>, Vec<OutFd>)> {
        let mut found = Vec::new();
        let mut at = self.first_of_area();
        while at < self.tx.tail {
            let (record, len) = self.record_at(at);
            if len > self.tx.tail - at {
                break;
            }
            at += len;
            if at - len >= from && record.kind == kind::MESSAGE && record.target == slot {
                let mut bytes = vec![0; len as usize];
                self.segment.tx.recall(&self.tx, at - len, &mut bytes);
                let fds = self.kept.iter().find(|kept| kept.end == at).map(|kept| kept.fds.clone()).unwrap_or_default();
                found.push((bytes, fds));
            }
        }
        let pending = self.backlog.iter().filter(|pending| slot != NO_SLOT && pending.slot == slot);
        found.extend(pending.map(|pending| (pending.bytes.clone(), pending.fds.clone())));
        found
    }
}
