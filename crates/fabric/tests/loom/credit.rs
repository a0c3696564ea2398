//! Credit for a slot: a sender that waits for it, and a gate that closes while messages are on their way.

use super::support::{Reader, Writer, check, credit, ends, spawn};
use slipway_fabric::credit::{Closed, Credit, Refused, RxCount, TxCount};

/// The limit where the receiver has said none.
const LIMIT: u32 = 1;

/// A sender to slot 0: a message is a byte.
struct Sender {
    writer: Writer,
    credit: Credit,
    count: TxCount,
}

/// The receiver of slot 0.
struct Receiver {
    reader: Reader,
    credit: Credit,
    count: RxCount,
}

fn line(ring: usize) -> (Sender, Receiver) {
    let ((writer, reader), (tx, rx)) = (ends(ring), credit());
    (Sender { writer, credit: tx, count: TxCount::default() }, Receiver { reader, credit: rx, count: RxCount::default() })
}

impl Sender {
    /// Sends a message, if it may. A slot that is closed by then is its to see.
    fn send(&mut self) -> Result<(), Refused> {
        self.credit.check(0, &mut self.count, LIMIT)?;
        self.count.add();
        assert_eq!(self.writer.try_write(&[1]), 1, "the ring has room for as many as the limit allows");
        Ok(())
    }

    /// Sleeps until `done` may be so.
    fn wait(&mut self, mut done: impl FnMut(&mut Self) -> bool) {
        while !done(self) {
            let (ring, own) = (self.writer.ring.clone(), std::sync::Arc::clone(&self.writer.own));
            own.sleep(|| ring.arm_writer(), || done(self), || {});
        }
    }

    /// Takes back what was not accepted: how many.
    fn take_back(&mut self) -> u32 {
        let back = self.credit.unaccepted(0, &self.count);
        self.credit.see(0);
        self.writer.peer.bell.ring();
        back
    }
}

impl Receiver {
    /// Takes a message out of the ring, if there is one.
    fn read(&mut self) -> bool {
        let reader = &mut self.reader;
        let any = reader.ring.available(&mut reader.cursor).unwrap() > 0;
        if any {
            reader.ring.release(&mut reader.cursor, 1);
        }
        any
    }

    fn wake(&self) {
        if self.reader.ring.wake_writer() {
            self.reader.peer.bell.ring();
        }
    }

    fn close(&mut self) {
        self.credit.close(0, &self.count, Closed::Moved);
        self.wake();
        self.reader.peer.bell.ring();
    }

    /// Drops what lies in the ring, once the sender has taken it back: how many.
    fn drop_rest(&mut self) -> u32 {
        while !self.credit.is_seen(0) {
            self.reader.own.bell.wait();
            self.reader.own.bell.drain();
        }
        std::iter::from_fn(|| self.read().then_some(())).count() as u32
    }
}

#[test]
fn a_sender_out_of_credit_is_woken() {
    check(|| {
        let (mut sender, mut receiver) = line(4);
        let receiving = spawn(move || {
            for _ in 0..2 {
                while !receiver.read() {
                    receiver.reader.sleep();
                }
                receiver.credit.accept_and_take(0, &mut receiver.count);
                receiver.wake();
            }
        });
        for _ in 0..2 {
            sender.wait(|sender| sender.credit.check(0, &mut sender.count, LIMIT).is_ok());
            sender.send().unwrap();
        }
        receiving.join().unwrap();
        assert_eq!(sender.credit.untaken(0, &sender.count), 0);
    });
}

#[test]
fn a_queue_that_is_emptied_later_wakes_its_sender() {
    check(|| {
        let (mut sender, mut receiver) = line(4);
        sender.send().unwrap();
        assert!(receiver.read());
        receiver.credit.accept(0, &mut receiver.count);
        assert_eq!(sender.send(), Err(Refused::Full), "accepted is not taken");
        let receiving = spawn(move || {
            receiver.credit.take(0, &mut receiver.count);
            receiver.wake();
        });
        sender.wait(|sender| sender.credit.check(0, &mut sender.count, LIMIT).is_ok());
        receiving.join().unwrap();
    });
}

#[test]
fn a_higher_limit_wakes_a_sender() {
    check(|| {
        let (mut sender, receiver) = line(4);
        sender.send().unwrap();
        let receiving = spawn(move || {
            receiver.credit.open(0, 2);
            receiver.wake();
        });
        sender.wait(|sender| sender.credit.check(0, &mut sender.count, LIMIT).is_ok());
        receiving.join().unwrap();
    });
}

#[test]
fn a_gate_that_closes_wakes_a_sender_out_of_credit() {
    check(|| {
        let (mut sender, mut receiver) = line(4);
        sender.send().unwrap();
        let receiving = spawn(move || receiver.close());
        sender.wait(|sender| sender.credit.check(0, &mut sender.count, LIMIT) != Err(Refused::Full));
        assert_eq!((sender.send(), sender.take_back()), (Err(Refused::Closed), 1));
        receiving.join().unwrap();
    });
}

#[test]
fn a_sender_takes_back_what_was_not_accepted_and_nothing_else() {
    check(|| {
        let (mut sender, mut receiver) = line(4);
        let receiving = spawn(move || {
            // One message at most is accepted before the port moves, and perhaps none.
            let accepted = u32::from(receiver.read());
            (0..accepted).for_each(|_| receiver.credit.accept_and_take(0, &mut receiver.count));
            receiver.wake();
            receiver.close();
            (accepted, receiver.drop_rest())
        });
        let sent = (0..2).filter(|_| sender.send().is_ok()).count() as u32;
        while sender.credit.closed(0).is_none() {
            // As the watcher, which hears the bell.
            sender.writer.own.bell.wait();
            sender.writer.own.bell.drain();
        }
        let back = sender.take_back();
        let (accepted, dropped) = receiving.join().unwrap();
        assert_eq!((accepted + back, dropped), (sent, back));
    });
}

/// A sender that ends takes its message back, or the owner, which has closed the slot, knows that it is the owner's to deliver.
#[test]
fn a_sender_that_ends_and_a_port_that_moves_see_each_other() {
    check(|| {
        let (mut sender, mut receiver) = line(4);
        let sender = spawn(move || {
            let sent = sender.send().is_ok();
            sender.credit.leave(0);
            let back = sender.credit.closed(0).map_or(0, |_| sender.take_back());
            (sent, back)
        });
        receiver.close();
        let (left, leaving) = (receiver.reader.ring.readable(0), receiver.credit.is_leaving(0));
        let (sent, back) = sender.join().unwrap();
        let delivers = left && leaving && !receiver.credit.is_seen(0);
        assert_eq!(u32::from(delivers) + back, u32::from(sent), "once, and not twice");
    });
}

/// The record by which a sender says that it is done with a slot.
const LAST: u8 = 2;
/// The one by which a sender names the slot for another port.
const NAMED: u8 = 3;
/// The one by which a sender says that it names none.
const NONE: u8 = 4;

/// As [`line`], with a slot 0 that had a message, and whose port died. The sender has seen that.
fn line_of_dead() -> (Sender, Receiver) {
    let (mut sender, mut receiver) = line(4);
    sender.send().unwrap();
    assert!(receiver.read());
    receiver.credit.accept_and_take(0, &mut receiver.count);
    receiver.credit.close(0, &receiver.count, Closed::Dead);
    assert_eq!((sender.credit.closed(0), sender.take_back()), (Some(Closed::Dead), 0));
    receiver.reader.own.bell.drain();
    (sender, receiver)
}

impl Sender {
    /// Sends what it may to the port that the slot stands for now, until that moves: how many were sent, and how many taken back.
    fn use_again(&mut self) -> (u32, u32) {
        let sent = (0..2).filter(|_| self.send().is_ok()).count() as u32;
        while self.credit.closed(0).is_none() {
            self.writer.own.bell.wait();
            self.writer.own.bell.drain();
        }
        (sent, self.take_back())
    }

    /// Begins another use.
    fn begin_again(&mut self) {
        self.credit.unsee(0);
        self.count = TxCount::default();
        assert_eq!(self.credit.untaken(0, &self.count), 0, "nothing is left of the first use");
    }
}

impl Receiver {
    /// Takes the sender's word that it is done with the slot.
    fn reset(&mut self) {
        assert_eq!(self.reader.read(1), [LAST]);
        self.credit.reset(0);
        self.count = RxCount::default();
    }

    /// Accepts one message at most for the slot's second port, which moves: how many were accepted, and how many dropped.
    fn use_again(&mut self) -> (u32, u32) {
        let accepted = u32::from(self.read());
        (0..accepted).for_each(|_| self.credit.accept_and_take(0, &mut self.count));
        self.wake();
        self.close();
        (accepted, self.drop_rest())
    }
}

/// An even slot: its sender names it again once it sees that it is reset, and is told of that by nobody.
#[test]
fn a_slot_that_its_sender_names_again_is_as_at_first() {
    check(|| {
        let (mut sender, mut receiver) = line_of_dead();
        let receiving = spawn(move || {
            receiver.reset();
            let named = receiver.reader.read(1) == [NAMED];
            named.then(|| {
                receiver.credit.open(0, LIMIT);
                receiver.use_again()
            })
        });
        sender.writer.write(&[LAST]);
        if sender.credit.is_reset(0) {
            sender.begin_again();
            sender.writer.write(&[NAMED]);
            let (sent, back) = sender.use_again();
            let (accepted, dropped) = receiving.join().unwrap().expect("it was named");
            assert_eq!((accepted + back, dropped), (sent, back));
        } else {
            sender.writer.write(&[NONE]);
            assert_eq!(receiving.join().unwrap(), None);
        }
    });
}
