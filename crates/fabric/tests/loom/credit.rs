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
