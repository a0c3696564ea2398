//! The ring, the sleep/wake protocol, credit, the lock and the turn: each body runs in every interleaving that loom
//! finds (`scripts/loom.sh`), and natively with real threads and a real socket for a bell.
#![cfg_attr(loom, allow(unsafe_code, clippy::disallowed_types, reason = "loom's cells are how it finds data races"))]

mod credit;
mod kept;
#[path = "../support/mod.rs"]
mod support;
mod turn;

#[cfg(loom)]
use slipway_fabric::{
    ring::TxCursor,
    sync::Ordering::{Relaxed, Release},
};
use slipway_fabric::{
    ring::{self, CLOSED, OPEN, Ring, UNOPENED},
    sync::{AtomicU32, Lock, Mutex, Ordering},
};
use std::sync::Arc;
use support::{Cell, Line, Reader, check, ends, spawn};

#[test]
fn bytes_are_published_before_they_are_read() {
    check(|| {
        let (mut writer, mut reader) = ends(4);
        let reading = spawn(move || {
            let mut seen = Vec::new();
            let mut buffer = [0; 4];
            for _ in 0..2 {
                let n = reader.try_read(&mut buffer);
                seen.extend_from_slice(&buffer[..n]);
            }
            (reader, seen)
        });
        assert_eq!(writer.try_write(&[1, 2]), 2);
        assert_eq!(writer.try_write(&[3]), 1);
        let (mut reader, mut seen) = reading.join().unwrap();
        let rest = 3 - seen.len();
        seen.extend(reader.read(rest));
        assert_eq!(seen, [1, 2, 3]);
    });
}

#[test]
fn a_reader_that_falls_asleep_is_woken() {
    check(|| {
        let (mut writer, mut reader) = ends(4);
        let reading = spawn(move || reader.read(2));
        writer.write(&[1]);
        writer.write(&[2]);
        assert_eq!(reading.join().unwrap(), [1, 2]);
    });
}

#[test]
fn a_writer_at_a_full_ring_is_woken() {
    check(|| {
        let (mut writer, mut reader) = ends(2);
        assert_eq!(writer.try_write(&[1, 2]), 2);
        let reading = spawn(move || {
            let mut byte = [0];
            assert_eq!(reader.try_read(&mut byte), 1);
            (reader, byte[0])
        });
        writer.write(&[3]);
        let (mut reader, first) = reading.join().unwrap();
        assert_eq!(first, 1);
        assert_eq!(reader.read(2), [2, 3]);
    });
}

#[test]
fn a_writer_is_woken_once_there_is_room_enough() {
    check(|| {
        let (mut writer, mut reader) = ends(4);
        assert_eq!(writer.try_write(&[1, 2, 3, 4]), 4);
        // Byte by byte up to the point at which the ring counts as writable, and no further.
        let enough = (1..=4).find(|n| reader.ring.writable(4 - n)).unwrap();
        assert!(enough > 1, "one byte of four is no reason to wake anybody");
        let reading = spawn(move || {
            for _ in 0..enough {
                assert_eq!(reader.try_read(&mut [0]), 1);
            }
        });
        writer.write(&[5]);
        reading.join().unwrap();
    });
}

/// Sleeps as `wait::for_line` does, until `room` bytes are free (W11, W13).
fn sleep_for_room(ring: &Ring, tail: u64, room: usize) {
    while !ring.has_room(tail, room) {
        let flag = ring.arm_writer_for_room(room);
        if !ring.has_room(tail, room) {
            ring.writer_word().wait(flag, None);
        }
    }
}

/// Takes what is there byte by byte, and wakes the writer of each (R13).
fn take(reader: &mut Reader, count: usize) {
    for _ in 0..count {
        assert!(reader.ring.available(&mut reader.cursor).unwrap() > 0);
        reader.ring.release(&mut reader.cursor, 1);
        assert!(!reader.ring.wake_writer_for_room(&reader.cursor), "nobody hears a bell");
    }
}

#[test]
fn a_writer_that_waits_for_much_room_is_woken_once_it_is_there() {
    check(|| {
        let (mut writer, mut reader) = ends(4);
        assert_eq!(writer.try_write(&[1, 2, 3, 4]), 4);
        let ring = writer.ring.clone();
        let reading = spawn(move || take(&mut reader, 4));
        sleep_for_room(&ring, 4, 4);
        reading.join().unwrap();
    });
}

#[test]
fn writers_that_wait_for_different_room_are_each_woken() {
    check(|| {
        let (mut writer, mut reader) = ends(8);
        assert_eq!(writer.try_write(&[1; 8]), 8);
        // The second waits for less, and the reader never comes to what the first waits for before it is awake.
        let (ring, first) = (writer.ring.clone(), writer.ring.clone());
        let large = spawn(move || sleep_for_room(&first, 8, 6));
        let small = spawn(move || sleep_for_room(&ring, 8, 4));
        take(&mut reader, 4);
        small.join().unwrap();
        take(&mut reader, 2);
        large.join().unwrap();
    });
}

#[test]
fn news_that_are_no_room_wake_a_writer_that_waits_for_it() {
    check(|| {
        let (mut writer, reader) = ends(4);
        assert_eq!(writer.try_write(&[1, 2, 3, 4]), 4);
        let closed = Arc::new(AtomicU32::new(0));
        let closing = {
            let closed = Arc::clone(&closed);
            spawn(move || {
                closed.store(1, Ordering::Release);
                assert!(!reader.ring.wake_writer());
            })
        };
        while closed.load(Ordering::Acquire) == 0 {
            let flag = writer.ring.arm_writer_for_room(4);
            if closed.load(Ordering::Acquire) == 0 {
                writer.ring.writer_word().wait(flag, None);
            }
        }
        closing.join().unwrap();
    });
}

#[test]
fn both_ends_sleep_on_each_other() {
    check(|| {
        let (mut writer, mut reader) = ends(2);
        let reading = spawn(move || reader.read(3));
        writer.write(&[1, 2, 3]);
        assert_eq!(reading.join().unwrap(), [1, 2, 3]);
    });
}

#[test]
fn an_empty_ring_begins_again_at_the_front() {
    check(|| {
        // Half of four: the third byte finds the ring either empty, and rewinds it, or not.
        let (mut writer, mut reader) = ends(4);
        let reading = spawn(move || {
            let mut seen = reader.read(2);
            seen.extend(reader.read(2));
            seen
        });
        writer.write(&[1, 2]);
        writer.write(&[3]);
        writer.write(&[4]);
        assert_eq!(reading.join().unwrap(), [1, 2, 3, 4]);
    });
}

#[test]
fn every_sleeper_on_one_line_is_woken() {
    check(|| {
        let (mut writer, reader) = ends(4);
        let (ring, own) = (reader.ring.clone(), Arc::clone(&reader.own));
        let sleepers: Vec<_> = (0..2)
            .map(|_| {
                let (ring, own) = (ring.clone(), Arc::clone(&own));
                // Each waits for any byte that it has not seen, and consumes none.
                spawn(move || {
                    while !ring.readable(0) {
                        own.sleep(|| ring.arm_reader(), || ring.readable(0), || ring.disarm_reader());
                    }
                })
            })
            .collect();
        writer.write(&[1]);
        for sleeper in sleepers {
            sleeper.join().unwrap();
        }
    });
}

#[test]
fn a_sleeper_that_returns_to_sleep_keeps_no_other_asleep() {
    check(|| {
        let (mut writer, reader) = ends(4);
        let (ring, own) = (reader.ring.clone(), Arc::clone(&reader.own));
        let wait_past = move |seen: u64| {
            while ring.tail_mark() <= seen {
                own.sleep(|| ring.arm_reader(), || ring.tail_mark() > seen, || ring.disarm_reader());
            }
        };
        let once = wait_past.clone();
        let first = spawn(move || once(0));
        let second = spawn(move || {
            wait_past(0);
            wait_past(1);
        });
        writer.write(&[1]);
        writer.write(&[2]);
        first.join().unwrap();
        second.join().unwrap();
    });
}

#[test]
fn a_sleeper_in_poll_leaves_an_epoll_set_awake() {
    check(|| {
        let (mut writer, reader) = ends(4);
        let (ring, own) = (reader.ring.clone(), Arc::clone(&reader.own));
        let set = {
            let (ring, own) = (ring.clone(), Arc::clone(&own));
            // As `EpollSet::wait`: arms, looks again, sleeps for an edge; counts as no sleeper.
            spawn(move || {
                while !ring.readable(0) {
                    ring.arm_reader();
                    if !ring.readable(0) {
                        own.bell.wait_edge();
                    }
                }
            })
        };
        let polling = spawn(move || {
            while !ring.readable(0) {
                own.sleep(|| ring.arm_reader(), || ring.readable(0), || ring.disarm_reader());
                // As `Stream::alert_sets`.
                own.bell.kick();
            }
        });
        writer.write(&[1]);
        polling.join().unwrap();
        set.join().unwrap();
    });
}

#[test]
fn a_poll_that_times_out_leaves_an_epoll_set_armed() {
    check(|| {
        let (mut writer, reader) = ends(4);
        let (ring, own) = (reader.ring.clone(), Arc::clone(&reader.own));
        let timed_out = {
            let (ring, own) = (ring.clone(), Arc::clone(&own));
            // As `Stream::get_up` without a bell, on a stream that is in a set.
            spawn(move || {
                own.sleepers.enter();
                ring.arm_reader();
                own.sleepers.leave(|| {});
            })
        };
        let set = spawn(move || {
            while !ring.readable(0) {
                ring.arm_reader();
                if !ring.readable(0) {
                    own.bell.wait_edge();
                }
            }
        });
        writer.write(&[1]);
        timed_out.join().unwrap();
        set.join().unwrap();
    });
}

#[test]
fn a_nap_keeps_nobody_else_asleep() {
    check(|| {
        let (mut writer, reader) = ends(4);
        let (ring, own) = (reader.ring.clone(), Arc::clone(&reader.own));
        let waiting = {
            let (ring, own) = (ring.clone(), Arc::clone(&own));
            // As `EpollSet::wait` does around a timed wait, whose time runs out.
            spawn(move || {
                ring.arm_timed_reader();
                own.sleepers.if_none(|| ring.disarm_reader());
            })
        };
        let sleeper = spawn(move || {
            while !ring.readable(0) {
                own.sleep(|| ring.arm_reader(), || ring.readable(0), || ring.disarm_reader());
            }
        });
        writer.write(&[1]);
        waiting.join().unwrap();
        sleeper.join().unwrap();
    });
}

#[test]
fn a_reader_in_a_timed_wait_is_woken_by_a_writer_that_waits() {
    check(|| {
        let (mut writer, reader) = ends(4);
        let (ring, own) = (reader.ring.clone(), Arc::clone(&reader.own));
        // The wait's own end is not modelled: without the bell it would last for ever.
        let waiting = spawn(move || {
            while !ring.readable(0) {
                ring.arm_timed_reader();
                if !ring.readable(0) {
                    own.bell.wait_edge();
                }
            }
        });
        writer.write(&[1]);
        if writer.ring.take_timed_reader() {
            writer.peer.bell.ring();
        }
        waiting.join().unwrap();
    });
}

#[test]
fn a_closed_ring_is_drained_before_the_socket_is_read() {
    check(|| {
        let (mut writer, mut reader) = ends(4);
        assert_eq!(reader.ring.opening().0, UNOPENED);
        let reading = spawn(move || {
            let mut seen = Vec::new();
            loop {
                // In this order: the state, then the tail once more.
                let (state, start) = reader.ring.opening();
                assert!(state == UNOPENED || start == 7, "the start is published with the state");
                let mut byte = [0];
                if reader.try_read(&mut byte) == 1 {
                    seen.push(byte[0]);
                } else if state == CLOSED {
                    return seen;
                } else {
                    let ring = &reader.ring;
                    let mark = ring.hint_mark();
                    let stirs = || ring.readable(reader.cursor.head) || ring.opening().0 == CLOSED || ring.hint_mark() != mark;
                    reader.own.sleep(|| ring.arm_reader(), stirs, || ring.disarm_reader());
                }
            }
        });
        writer.ring.open(7);
        // Published and closed with nothing between that would order the two by the way.
        writer.ring.fill(&mut writer.cursor, &[1]).unwrap();
        writer.ring.publish(&writer.cursor);
        writer.ring.close();
        // As `Stream::give_back` does.
        writer.ring.hint();
        writer.peer.bell.ring();
        assert_eq!(reading.join().unwrap(), [1]);
    });
}

#[test]
fn what_is_given_back_continues_where_the_reader_stopped() {
    check(|| {
        let (mut writer, mut reader) = ends(4);
        writer.ring.open(0);
        assert_eq!(reader.ring.opening(), (OPEN, 0));
        let reading = spawn(move || {
            let mut byte = [0];
            let n = reader.ring.available(&mut reader.cursor).unwrap().min(1);
            reader.ring.peek(&reader.cursor, 0, &mut byte[..n]);
            // Nothing lies between the two that would order them by the way.
            reader.ring.release(&mut reader.cursor, n);
            reader.ring.give_back();
            byte[..n].to_vec()
        });
        let mut direct = Vec::new();
        let mut recalled = Vec::new();
        let take_back = |writer: &mut support::Writer, recalled: &mut Vec<u8>| {
            let n = writer.ring.unread(&mut writer.cursor).unwrap() as usize;
            *recalled = vec![0; n];
            writer.ring.recall(&writer.cursor, writer.cursor.head_seen, recalled);
        };
        let mut returned = false;
        for byte in [1, 2, 3] {
            if !returned && writer.ring.reader_gave_back() {
                returned = true;
                take_back(&mut writer, &mut recalled);
            }
            if returned {
                direct.push(byte);
            } else {
                assert_eq!(writer.try_write(&[byte]), 1);
            }
        }
        let mut all = reading.join().unwrap();
        if !returned {
            assert!(writer.ring.reader_gave_back());
            take_back(&mut writer, &mut recalled);
        }
        all.extend(recalled);
        all.extend(direct);
        assert_eq!(all, [1, 2, 3]);
    });
}

#[test]
fn attachments_and_hints_come_with_their_bytes() {
    check(|| {
        let (mut writer, mut reader) = ends(4);
        let reading = spawn(move || {
            assert_eq!(reader.read(1), [1]);
            reader.ring.attachments()
        });
        writer.ring.count_attachment();
        writer.write(&[1]);
        assert_eq!(reading.join().unwrap(), 1);
    });
}

#[test]
fn the_lock_excludes_and_wakes() {
    check(|| {
        let shared = Arc::new((Lock::default(), Cell::default()));
        let others: Vec<_> = (0..2)
            .map(|_| {
                let shared = Arc::clone(&shared);
                spawn(move || {
                    let _guard = shared.0.lock();
                    shared.1.add(1);
                })
            })
            .collect();
        {
            let _guard = shared.0.lock();
            shared.1.add(1);
        }
        for other in others {
            other.join().unwrap();
        }
        let _guard = shared.0.lock();
        assert_eq!(shared.1.get(), 3);
    });
}

#[test]
fn the_mutex_excludes_and_wakes() {
    check(|| {
        let shared = Arc::new(Mutex::new(0));
        let others: Vec<_> = (0..2)
            .map(|_| {
                let shared = Arc::clone(&shared);
                spawn(move || *shared.lock() += 1)
            })
            .collect();
        *shared.lock() += 1;
        for other in others {
            other.join().unwrap();
        }
        assert_eq!(*shared.lock(), 3);
    });
}

#[cfg(loom)]
#[test]
fn a_killed_writers_successor_shows_what_was_kept() {
    check(|| {
        let (writer, mut reader) = ends(4);
        // The family's cursor, as `TxState` of an end's state: what is kept is not shown yet.
        let family = Arc::new((Lock::default(), slipway_fabric::sync::AtomicU64::new(0)));
        let reading = spawn(move || reader.read(2));
        let ring = writer.ring.clone();
        let killed = {
            let (family, ring) = (Arc::clone(&family), ring.clone());
            spawn(move || {
                let guard = family.0.lock();
                let mut cursor = TxCursor { tail: family.1.load(Relaxed), ..TxCursor::default() };
                ring.fill(&mut cursor, &[1]).unwrap();
                family.1.store(cursor.tail, Release);
                guard.abandon();
            })
        };
        let mut shown = 0;
        let mut succeed = |byte: &[u8]| {
            let guard = family.0.lock();
            let mut cursor = TxCursor { tail: family.1.load(Relaxed), ..TxCursor::default() };
            assert_eq!(guard.is_orphaned(), cursor.tail > shown, "what is not shown is known to be so");
            ring.fill(&mut cursor, byte).unwrap();
            family.1.store(cursor.tail, Release);
            ring.publish(&cursor);
            if ring.take_sleeping_reader().is_some() {
                writer.peer.bell.ring();
            }
            shown = cursor.tail;
        };
        succeed(&[2]);
        killed.join().unwrap();
        succeed(&[]);
        let read = reading.join().unwrap();
        assert!([[1, 2], [2, 1]].contains(&[read[0], read[1]]), "{read:?}");
    });
}

#[test]
fn nobody_drains_a_bell_that_somebody_sleeps_on() {
    check(|| {
        let (mut writer, reader) = ends(4);
        let (ring, own) = (reader.ring.clone(), Arc::clone(&reader.own));
        let sleeper = spawn(move || {
            while !ring.readable(0) {
                own.sleep(|| ring.arm_reader(), || ring.readable(0), || ring.disarm_reader());
            }
        });
        // As `Stream::heard_in_set` and a reader that looks for a parcel.
        let own = Arc::clone(&reader.own);
        let other = spawn(move || own.sleepers.if_none(|| own.bell.drain()));
        writer.write(&[1]);
        other.join().unwrap();
        sleeper.join().unwrap();
    });
}

#[test]
fn a_set_at_its_doorbell_and_a_sleeper_beside_it_are_both_woken() {
    check(|| {
        let (writer, reader) = ends(4);
        // The set hears the doorbell and the line's socket, and is told by a thread that takes the latter's bell.
        let heard = Line::new();
        let (ring, own, told) = (reader.ring.clone(), Arc::clone(&reader.own), Arc::clone(&heard));
        let sleeper = spawn(move || {
            while !ring.readable(0) {
                own.sleep(|| ring.arm_reader(), || ring.readable(0), || ring.disarm_reader());
                told.bell.ring();
            }
        });
        let (ring, bell) = (reader.ring.clone(), Arc::clone(&heard));
        let set = spawn(move || {
            while !ring.readable(0) {
                ring.arm_reader_at_door();
                if !ring.readable(0) {
                    bell.bell.wait();
                    bell.bell.drain();
                }
            }
        });
        let mut cursor = writer.cursor;
        writer.ring.fill(&mut cursor, &[1]).unwrap();
        writer.ring.publish(&cursor);
        let rung = writer.ring.take_sleeping_reader();
        if rung.is_some() {
            heard.bell.ring();
        }
        if rung == Some(ring::Bell::Line) {
            writer.peer.bell.ring();
        }
        sleeper.join().unwrap();
        set.join().unwrap();
    });
}
