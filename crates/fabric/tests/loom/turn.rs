//! The turn of calls and messages: a receiver that lends its place, callers that take it, and threads that bar them.

use super::support::{Bell, Cell, check, spawn};
use slipway_fabric::{sync::Mutex, turn::Turn};
use std::sync::Arc;

/// A server with one thread, as `slipway_ports::trap` uses the turn: what is done with the process's lock held is done
/// so here.
struct Server {
    turn: Turn,
    /// The lock, and whether somebody waits for calls to leave.
    waits: Mutex<bool>,
    told: Bell,
    /// What one thread at a time has: the server's state.
    state: Cell,
}

impl Server {
    /// One whose thread waits in a receive.
    fn receiving(serial: bool) -> Arc<Self> {
        let turn = Turn::new(serial, false);
        assert!(!serial || turn.offer());
        Arc::new(Self { turn, waits: Mutex::new(false), told: Bell::default(), state: Cell::default() })
    }

    /// A call, if there is a turn for it.
    fn call(&self, run: impl FnOnce()) -> bool {
        let enters = self.turn.enter();
        if enters {
            run();
            if self.turn.leave() {
                let mut waits = self.waits.lock();
                if std::mem::take(&mut *waits) {
                    self.told.ring();
                }
            }
        }
        enters
    }

    /// Waits until `done`, which is asked with the lock held.
    fn wait(&self, mut done: impl FnMut() -> bool) {
        loop {
            let mut waits = self.waits.lock();
            if done() {
                return;
            }
            *waits = true;
            drop(waits);
            self.told.wait();
            self.told.drain();
        }
    }
}

#[test]
fn a_call_and_the_receiver_whose_place_it_takes_exclude_each_other() {
    check(|| {
        let server = Server::receiving(true);
        let callers: Vec<_> = (0..2)
            .map(|_| {
                let server = Arc::clone(&server);
                spawn(move || server.call(|| server.state.add(1)))
            })
            .collect();
        // Its wait has ended: it wants its place back.
        server.wait(|| server.turn.withdraw());
        server.state.add(1);
        let made: u32 = callers.into_iter().map(|caller| u32::from(caller.join().unwrap())).sum();
        assert_eq!((server.state.get(), server.turn.calls()), (made + 1, 0));
        assert!(!server.turn.enter(), "no place was given back twice");
    });
}

#[test]
fn a_place_that_is_lent_again_shows_what_its_receiver_did() {
    check(|| {
        let server = Server::receiving(true);
        let caller = {
            let server = Arc::clone(&server);
            spawn(move || server.call(|| server.state.add(1)))
        };
        server.wait(|| server.turn.withdraw());
        server.state.add(1);
        server.wait(|| server.turn.offer());
        let made = server.call(|| server.state.add(1));
        let also = caller.join().unwrap();
        // The place may be the other's just then.
        assert!(made || also);
        assert_eq!(server.state.get(), 1 + u32::from(made) + u32::from(also));
    });
}

#[test]
fn nobody_overtakes_a_message_of_his_own() {
    check(|| {
        let server = Server::receiving(true);
        let receiver = {
            let server = Arc::clone(&server);
            spawn(move || {
                // Woken by the message, which it takes with its place.
                let turn = &server.turn;
                server.wait(|| turn.withdraw());
                server.state.add(1);
                let _lock = server.waits.lock();
                turn.set_queued(false);
                assert!(turn.offer());
            })
        };
        {
            let _lock = server.waits.lock();
            server.turn.set_queued(true);
        }
        let mut seen = None;
        server.call(|| seen = Some(server.state.get()));
        assert!(seen.is_none_or(|seen| seen == 1), "the call came first");
        receiver.join().unwrap();
    });
}

#[test]
fn who_withdraws_the_routines_finds_nobody_in_them() {
    check(|| {
        let server = Server::receiving(false);
        let callers: Vec<_> = (0..2)
            .map(|_| {
                let server = Arc::clone(&server);
                let own = Arc::new(Cell::default());
                let uses = Arc::clone(&own);
                (own, spawn(move || server.call(|| uses.add(1))))
            })
            .collect();
        server.turn.close();
        server.wait(|| server.turn.calls() == 0);
        // As a thread that unloads what they use.
        callers.iter().for_each(|(own, _)| own.add(1));
        assert!(!server.turn.enter());
        for (own, caller) in callers {
            let made = caller.join().unwrap();
            assert_eq!(own.get(), 1 + u32::from(made));
        }
    });
}
