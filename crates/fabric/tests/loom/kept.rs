//! What threads keep without a lock: what they looked up, by its epoch; and that they sleep in an epoll set. And who sleeps beside a bell that others
//! never get up for.

use super::support::{Bell, Cell, check, ends, spawn};
use slipway_fabric::{
    epoch::Epoch,
    sleepers::{SetSleepers, Unseen},
    sync::{AtomicBool, Mutex, Ordering},
    turn::Turn,
};
use std::sync::Arc;

#[test]
fn what_has_changed_is_not_used_any_more() {
    check(|| {
        let shared = Arc::new((Epoch::new(), Mutex::new(0), AtomicBool::new(false)));
        let changing = {
            let shared = Arc::clone(&shared);
            spawn(move || {
                let (epoch, state, told) = &*shared;
                let mut state = state.lock();
                // In this order, which only the lock makes good.
                epoch.advance();
                *state = 1;
                drop(state);
                told.store(true, Ordering::Release);
            })
        };
        let (epoch, state, told) = &*shared;
        let (kept, at) = epoch.look(|| *state.lock());
        if told.load(Ordering::Acquire) && epoch.is(at) {
            assert_eq!(kept, 1);
        }
        changing.join().unwrap();
        let (kept, at) = epoch.look(|| *state.lock());
        assert!(kept == 1 && epoch.is(at));
    });
}

#[test]
fn a_call_by_what_was_kept_reaches_no_routine_that_was_replaced() {
    check(|| {
        /// A port's routines: the turn that they are called in, and what they use.
        type Gate = (Turn, Cell);
        let fresh = || Arc::new((Turn::new(false, false), Cell::default()));
        let old: Arc<Gate> = fresh();
        let shared = Arc::new((Epoch::new(), Mutex::new(Arc::clone(&old)), Bell::default()));
        let calling = {
            let shared = Arc::clone(&shared);
            spawn(move || {
                let (epoch, gate, bell) = &*shared;
                let (mut kept, mut at) = epoch.look(|| Arc::clone(&gate.lock()));
                for _ in 0..2 {
                    if !epoch.is(at) {
                        (kept, at) = epoch.look(|| Arc::clone(&gate.lock()));
                    }
                    if kept.0.enter() {
                        kept.1.add(1);
                        if kept.0.leave() {
                            bell.ring();
                        }
                    }
                }
            })
        };
        let (epoch, gate, bell) = &*shared;
        let mut guard = gate.lock();
        old.0.close();
        epoch.advance();
        *guard = fresh();
        drop(guard);
        while old.0.calls() > 0 {
            bell.wait();
            bell.drain();
        }
        // As a thread that unloads what they use.
        old.1.add(1);
        calling.join().unwrap();
    });
}

#[test]
fn a_sleeper_in_a_set_is_kicked() {
    check(|| {
        let set: Arc<(Mutex<u32>, SetSleepers, Bell)> = Arc::default();
        let alerting: Vec<_> = (0..2)
            .map(|_| {
                let set = Arc::clone(&set);
                // As `EpollSet::alert`.
                spawn(move || {
                    *set.0.lock() += 1;
                    if !set.1.is_empty() {
                        set.2.kick();
                    }
                })
            })
            .collect();
        // As `EpollSet::wait`, until it has reported both.
        let mut reported = 0;
        while reported < 2 {
            let mut active = set.0.lock();
            let ready = std::mem::take(&mut *active);
            if ready == 0 {
                set.1.sleep(active, || set.2.wait_edge());
            }
            reported += ready;
        }
        alerting.into_iter().for_each(|alerting| alerting.join().unwrap());
    });
}

#[test]
fn a_set_that_becomes_known_hears_of_those_who_wait_in_it_already() {
    check(|| {
        let shared: Arc<(AtomicBool, Unseen, Bell)> = Arc::default();
        let waiting = {
            let shared = Arc::clone(&shared);
            spawn(move || {
                let (known, unseen, bell) = &*shared;
                unseen.wait(|| {
                    if !known.load(Ordering::Relaxed) {
                        bell.wait_edge();
                    }
                });
            })
        };
        let (known, unseen, bell) = &*shared;
        known.store(true, Ordering::Relaxed);
        if unseen.may_wait() {
            bell.kick();
        }
        // One of whom nothing was heard would wait for ever.
        waiting.join().unwrap();
    });
}

#[test]
fn a_bell_that_is_hushed_is_nobodys() {
    check(|| {
        let (mut writer, mut reader) = ends(4);
        // The bell of a byte that was read rings on, for one that never gets up.
        reader.own.sleepers.enter();
        reader.ring.arm_reader();
        writer.write(&[1]);
        assert_eq!(reader.try_read(&mut [0]), 1);
        let (ring, own, seen) = (reader.ring.clone(), Arc::clone(&reader.own), reader.cursor.head);
        let sleeper = {
            let (ring, own) = (ring.clone(), Arc::clone(&own));
            spawn(move || {
                while !ring.readable(seen) {
                    own.sleep(|| ring.arm_reader(), || ring.readable(seen), || ring.disarm_reader());
                }
            })
        };
        // As `Stream::hush`.
        let hushing = spawn(move || {
            own.sleepers.alone(|| {
                let rings = own.bell.rings();
                ring.arm_reader();
                if rings && !ring.readable(seen) {
                    own.bell.hear();
                }
            });
        });
        writer.write(&[2]);
        hushing.join().unwrap();
        sleeper.join().unwrap();
    });
}
