//! Messages whose senders end before they learn that the port moved.
//!
//! What was sent to a slot, and not accepted when it closed, is taken back by its sender. One that has ended can't. So the old owner keeps a
//! send right to a port that moved while something lies in the ring of a line whose other end may send to it. When that end has seen the
//! closed slot, the right is given up ([`left`](super::left)); when it is gone, the old owner sends what it left on, in its place.
//!
//! Two processes that end at the same time: a sender says that it leaves, and then looks at the gate once more; an old owner closes the gate,
//! and then looks whether the sender leaves. At least one of them sees the other. The old owner waits for the end of one that leaves.

use super::{Deferred, Routes, Upcall};
use crate::{
    objects,
    routes::import::View,
    state::{LineId, PortId, Right},
    wire::parse::Parsed,
};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use slipway_fabric::{Corrupt, spin::now};

/// How long, in nanoseconds, a process that ends waits for others that do so at the same time.
const LAST_MOMENT: u64 = 1_000_000_000;

/// How long, in nanoseconds, a process that has said that it leaves takes nothing back: it is gone by then, also where it gets the processor
/// seldom, and one that ends in the middle of it loses messages. Less than [`LAST_MOMENT`].
const LAST_LOOK: u64 = 900_000_000;

/// Between two looks whether one of them has taken back what it left.
const LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: 5_000_000 };

impl Routes {
    /// A message to a slot that had closed, whose sender is gone: it goes on to where the port is now.
    ///
    /// # Errors
    /// The message breaks the rules.
    pub(crate) fn send_on(&mut self, number: LineId, port: PortId, parsed: Parsed) -> Result<(), Corrupt> {
        let Some(mut message) = self.import(View::Reader(number), parsed)? else { return Ok(()) };
        self.state.port_mut(port).srights += 1;
        message.dest = Right::Send(port);
        self.upcall(Upcall::PutBack(port, vec![message]));
        Ok(())
    }

    /// Lines whose other ends leave, and have left something for a port that moved: waits until they are gone, for a moment.
    pub(crate) fn await_leavers(&self) -> Vec<LineId> {
        let until = now() + LAST_MOMENT;
        let is_gone = |number: &LineId| {
            let Some(line) = self.lines.get(*number) else { return false };
            let leaves = || line.left.iter().any(|(slot, _)| line.credit.is_leaving(*slot));
            // It may yet have seen the closed gate with that last look.
            while leaves() && now() < until {
                let mut bell = [PollFd::new(&line.bell, PollFlags::empty())];
                if poll(&mut bell, Some(&LOOK)).is_ok_and(|n| n > 0) {
                    return true;
                }
            }
            objects::hung_up(&line.bell)
        };
        let lines: Vec<LineId> = self.lines.iter().filter(|(_, line)| !line.left.is_empty()).map(|(number, _)| number).collect();
        lines.into_iter().filter(is_gone).collect()
    }

    /// This process ends: what the owners of its slots have not accepted by now is theirs to send on, if they close them later.
    pub(crate) fn leave(&mut self) {
        let open = self.lines.iter().flat_map(|(number, line)| {
            let unaccepted = |slot: &u32| {
                line.outs[*slot as usize]
                    .as_ref()
                    .is_some_and(|out| !out.closed && line.credit.unaccepted(*slot, &out.count) != 0)
            };
            (0..line.outs.len() as u32).filter(unaccepted).map(move |slot| (number, slot))
        });
        for (number, slot) in open.collect::<Vec<_>>() {
            if let Some(line) = self.lines.get(number) {
                line.credit.leave(slot);
            }
            self.look_at_gate(number, slot);
        }
        self.left_at = now();
    }

    /// As [`Routes::look_at_gate`], for a thread that is to send nothing itself. A process that has just [left](Self::leave) looks later.
    pub(crate) fn look_at_gate_in_time(&mut self, number: LineId, slot: u32) {
        if self.is_leaving() {
            return self.retry_later(Deferred::Stir(number));
        }
        self.look_at_gate(number, slot);
    }

    /// This process has sent to a slot that is closed, and takes that back whether it leaves or not.
    pub(crate) fn stay(&mut self) {
        self.left_at = 0;
    }

    /// Whether this process has just said that it leaves.
    pub(crate) fn is_leaving(&self) -> bool {
        self.left_at != 0 && now() - self.left_at < LAST_LOOK
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        dispatch::Inner,
        line::{Line, RING},
        routes::{Route, Trust, watch::Watch},
        state::message::Message,
        wire::{Record, kind},
    };
    use slipway_fabric::{
        credit::{Closed, Credit, RxCount, TABLE},
        descriptor::Reserved,
        ring::TxCursor,
        segment::Segment,
    };
    use std::os::fd::AsFd;

    fn reserved(fd: impl Into<std::os::fd::OwnedFd>) -> Reserved {
        Reserved::new(fd.into()).expect("a descriptor")
    }

    /// It may end while it takes back, and what it has then said that it took is nobody's.
    #[test]
    fn a_process_that_leaves_takes_nothing_back_at_once() {
        let mut inner = Inner::default();
        inner.routes.watch = Watch::deaf();
        let (s, r) = objects::socket_pair().expect("sockets");
        let held = inner.import_send(reserved(s), reserved(objects::holder_pipe().expect("a pipe").1));
        let Ok(Right::Send(port)) = held else { panic!("a right") };
        let (segment, [control, area]) = Segment::create_apart(TABLE, RING).expect("a segment");
        let (owner, file) = Segment::open_apart(control.as_fd(), area.as_fd(), TABLE, RING).expect("the same");
        let owners = owner.tables(TABLE).map(|(ours, theirs)| Credit::new(ours, theirs)).expect("tables");
        let ((bell, _bell), (fds, owners_fds)) =
            (objects::socket_pair().expect("sockets"), objects::socket_pair().expect("sockets"));
        let accounts = [inner.ledger.apart(), inner.ledger.apart()];
        let number = inner.lines.insert(Line::new(segment, reserved(bell), reserved(fds), true, accounts).expect("a line"));
        inner.lines.get_mut(number).expect("the line").learn(0, port);
        let route = Route { line: number, slot: 0, line_rights: 0, attached: true, trust: Trust::Proven };
        inner.remote_mut(port).expect("a remote port").routes.push(route);
        let message = Message {
            id: 1,
            complex: false,
            dest: Right::Send(port),
            reply: Right::Null,
            body: Vec::new(),
            short: false,
            sender: Default::default(),
            items: Default::default(),
            origin: None,
            charge: Default::default(),
        };
        inner.send(Box::new(message)).expect("it is sent");

        inner.leave();
        owners.close(0, &RxCount::default(), Closed::Moved);
        let moved = Record { kind: kind::MOVED, target: 0, fds: 1, ..Record::default() };
        let (pipe, write) = objects::holder_pipe().expect("a pipe");
        for fd in [file.as_fd(), write.as_fd()] {
            objects::send(owners_fds.as_fd(), &[&[1]], &[fd]).expect("room");
        }
        drop(write);
        let mut tx = TxCursor::default();
        owner.tx.fill_headed(&mut tx, moved.words(), &[], &[], 0).expect("room");
        owner.tx.publish(&tx);
        inner.line_stirs(number);
        assert!(owners.is_leaving(0) && !owners.is_seen(0) && !objects::hung_up(&pipe));
        inner.left_at = now() - LAST_LOOK;
        inner.line_stirs(number);
        assert!(owners.is_seen(0), "it lives, and takes back what it can");
        let request = objects::receive_request(r.as_fd()).expect("a request");
        assert_eq!(request.fds.len(), 4, "a line for what it took back");
        inner.settle();
        drop(inner);
        assert!(objects::hung_up(&pipe));
    }
}
