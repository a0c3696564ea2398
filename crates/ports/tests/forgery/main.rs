//! A hostile peer that speaks the protocol by hand, and wrongly: what it forges must not reach a port that it has
//! no right to, end or stop the victim, or disturb the victim's other lines.
//!
//! `SLIPWAY_FUZZ_SECONDS` (default 2) is how long the random test goes on, `SLIPWAY_FUZZ_SEED` repeats a run.
#![allow(unsafe_code, reason = "the hostile end maps the segment as words")]
#![allow(clippy::type_complexity, reason = "lists of attacks, each a closure")]

mod random;
#[path = "../support/mod.rs"]
mod support;

use slipway_fabric::sync::Ordering::SeqCst;
use slipway_ports::{
    abi::types,
    line::RING,
    objects,
    wire::{ItemHead, Luggage, RECORD, Record, WireRight, flag, form, item, kind},
};
use std::{
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    time::Instant,
};
use support::peer::*;
use support::stage::*;
use support::{tools::*, *};
use zerocopy::IntoBytes;

fn message(target: u32) -> Record {
    Record { kind: kind::MESSAGE, target, id: 9000, ..Record::default() }
}

fn right(form: u32, value: u32) -> WireRight {
    WireRight { form, value }
}

/// One inline right in an otherwise good message: body and item.
fn one_right(record: Record, right: WireRight, luggage: &[u8]) -> (Record, Vec<u8>) {
    rights(record, &[right], luggage)
}

fn rights(record: Record, rights: &[WireRight], luggage: &[u8]) -> (Record, Vec<u8>) {
    let name = match rights.first().map_or(0, |right| right.form) {
        form::RECEIVE => types::PORT_RECEIVE,
        form::TOKEN | form::TOKEN_BACK | form::ONCE => types::PORT_SEND_ONCE,
        _ => types::PORT_SEND,
    };
    let mut rest = slipway_ports::state::notify::type_word(name, 64, rights.len() as u32).to_le_bytes().to_vec();
    rest.resize(8 + 8 * rights.len(), 0);
    let head = ItemHead { kind: item::PORTS, at: 8, count: rights.len() as u64 };
    rest.extend_from_slice(head.as_bytes());
    rights.iter().for_each(|right| rest.extend_from_slice(right.as_bytes()));
    rest.extend_from_slice(luggage);
    let body = 8 + 8 * rights.len() as u32;
    (Record { body, items: rest.len() as u32 - body, flags: record.flags | flag::COMPLEX, ..record }, rest)
}

fn refused(line: &Line) {
    until("the victim closes the line", || line.is_closed());
}

fn taken(line: &mut Line) {
    let mut unread = 1;
    until("the victim takes the record", || {
        unread = line.unread();
        unread == 0 || line.is_closed()
    });
    assert!(unread == 0 && !line.is_closed(), "the victim refuses a good record");
}

#[test]
fn good_records_are_taken() {
    attacked(
        "good_records_are_taken",
        &[&|line, _| {
            line.write(&message(0), &[], &[]);
            taken(line);
            let (record, rest) = one_right(message(0), right(form::DEAD, 0), &[]);
            line.write(&record, &rest, &[]);
            taken(line);
        }],
    );
}

#[test]
fn wrong_records_end_the_line() {
    let bad = |record: Record| {
        move |line: &mut Line, _: &Stage| {
            line.write(&record, &[0; 64], &[]);
            refused(line);
        }
    };
    let mut attacks: Vec<Box<dyn Fn(&mut Line, &Stage)>> = Vec::new();
    // Slots, tokens and kinds that are none.
    for target in [1, 2, 2047, 2048, 1 << 31, !0] {
        attacks.push(Box::new(bad(message(target))));
        attacks.push(Box::new(bad(Record { kind: kind::ONCE, ..message(target) })));
        attacks.push(Box::new(bad(Record { kind: kind::RELEASE, count: 1, ..message(target) })));
    }
    for number in [0, 12, 77, 255] {
        attacks.push(Box::new(bad(Record { kind: number, ..message(0) })));
    }
    // More than was given.
    for count in [1, 2, 1 << 31, !0] {
        attacks.push(Box::new(bad(Record { kind: kind::RELEASE, count, ..message(0) })));
    }
    // Lengths: odd, too long, more than the ring.
    for (body, items) in [(1, 0), (0, 4), (1 << 20, 0), (!7, 0), (!7, !7), (0, !7), (RING as u32, 0)] {
        attacks.push(Box::new(bad(Record { body, items, ..message(0) })));
    }
    // Descriptors that never come.
    for fds in [1, 253, 254, !0] {
        attacks.push(Box::new(bad(Record { fds, ..message(0) })));
        attacks.push(Box::new(bad(Record { fds, kind: kind::WATCH, ..message(0) })));
    }
    // Reply rights.
    for (form, value) in [
        (form::LINE_RIGHT, 0),
        (form::LINE_RIGHT, !0),
        (form::BACK, 1),
        (form::BACK, !0),
        (form::TOKEN_BACK, 0),
        (form::RECEIVE, 0),
        (99, 0),
    ] {
        attacks.push(Box::new(bad(Record { reply: right(form, value), ..message(0) })));
    }
    attacks.push(Box::new(bad(Record { reply: right(form::SEND, 0), ..message(0) })));
    attacks.push(Box::new(bad(Record { flags: flag::SPILLED, ..message(0) })));
    let attacks: Vec<&dyn Fn(&mut Line, &Stage)> = attacks.iter().map(|attack| &**attack).collect();
    attacked("wrong_records_end_the_line", &attacks);
}

#[test]
fn wrong_items_end_the_line() {
    let bad = |kind: u32, at: u32, count: u64, more: usize| {
        move |line: &mut Line, _: &Stage| {
            let mut rest = vec![0; 16];
            rest.extend_from_slice(ItemHead { kind, at, count }.as_bytes());
            rest.resize(rest.len() + more, 0);
            let record = Record { body: 16, items: rest.len() as u32 - 16, flags: flag::COMPLEX, ..message(0) };
            line.write(&record, &rest, &[]);
            refused(line);
        }
    };
    let mut attacks: Vec<Box<dyn Fn(&mut Line, &Stage)>> = Vec::new();
    for kind in [item::PORTS, item::PORT_ARRAY, item::BYTES] {
        for (at, count) in [(4, 1), (16, 1), (!7, 1), (0, 1 << 40), (0, u64::MAX), (0, u64::MAX / 8 + 1)] {
            attacks.push(Box::new(bad(kind, at, count, 8)));
        }
    }
    attacks.push(Box::new(bad(item::PAGES, 0, 10, 0)));
    attacks.push(Box::new(bad(0, 0, 0, 0)));
    attacks.push(Box::new(bad(55, 0, 0, 8)));
    let attacks: Vec<&dyn Fn(&mut Line, &Stage)> = attacks.iter().map(|attack| &**attack).collect();
    attacked("wrong_items_end_the_line", &attacks);
}

/// Memory that can still change, is too short, or claims to be more than anybody has.
#[test]
fn wrong_memory_ends_the_line() {
    let spilled = |file: fn() -> OwnedFd| {
        move |line: &mut Line, _: &Stage| {
            let file = file();
            line.write(&Record { flags: flag::SPILLED, fds: 1, ..message(0) }, &[], &[file.as_fd()]);
            refused(line);
        }
    };
    let pages = |file: fn() -> OwnedFd| {
        move |line: &mut Line, _: &Stage| {
            let file = file();
            let mut rest = vec![0; 8];
            rest.extend_from_slice(ItemHead { kind: item::PAGES, at: 0, count: 4096 }.as_bytes());
            let record = Record { body: 8, items: 16, fds: 1, flags: flag::COMPLEX, ..message(0) };
            line.write(&record, &rest, &[file.as_fd()]);
            refused(line);
        }
    };
    let huge = |line: &mut Line, _: &Stage| {
        // Nothing is in it: it costs its maker no memory.
        let lengths = [8u64, (1 << 42) - 4096];
        let file = memory(0, false);
        rustix::fs::ftruncate(&file, 1 << 42).expect("a hole");
        rustix::io::pwrite(&file, lengths.as_bytes(), 0).expect("lengths");
        objects::seal(&file).expect("seals");
        line.write(&Record { flags: flag::SPILLED, fds: 1, ..message(0) }, &[], &[file.as_fd()]);
        refused(line);
    };
    attacked(
        "wrong_memory_ends_the_line",
        &[
            &spilled(|| memory(4096, false)),
            &spilled(|| memory(8, true)),
            &spilled(|| std::fs::File::open("/dev/null").expect("a file").into()),
            &pages(|| memory(8192, false)),
            &pages(|| memory(100, true)),
            &huge,
        ],
    );
}

/// A send-once right that is given twice: the second may take nothing away from whoever has the first.
#[test]
fn a_token_given_twice_is_refused_or_dead() {
    attacked(
        "a_token_given_twice_is_refused_or_dead",
        &[
            &|line, _| {
                let twice = right(form::TOKEN, 5);
                let (record, rest) = rights(message(0), &[twice, twice], &[]);
                line.write(&record, &rest, &[]);
                refused(line);
            },
            &|line, _| {
                let (record, rest) = one_right(Record { reply: right(form::TOKEN, 6), ..message(0) }, right(form::TOKEN, 6), &[]);
                line.write(&record, &rest, &[]);
                refused(line);
            },
        ],
    );
}

fn luggage(watches: u32, onces: u32, messages: u64) -> Luggage {
    Luggage {
        qlimit: 5,
        seqno: 0,
        mscount: 0,
        onces,
        watches,
        flags: 0,
        payload: 0,
        messages,
        nsrequest: WireRight::default(),
        pdrequest: WireRight::default(),
    }
}

fn forged_receive(line: &mut Line, fds: &[BorrowedFd<'_>], luggage: &Luggage) {
    let (record, rest) = one_right(message(0), right(form::RECEIVE, 0), luggage.as_bytes());
    line.write(&Record { fds: fds.len() as u16, ..record }, &rest, fds);
}

#[test]
fn receive_rights_are_not_forged() {
    attacked(
        "receive_rights_are_not_forged",
        &[
            &|line, _| {
                // A true one first.
                let (s, r) = objects::socket_pair().expect("sockets");
                forged_receive(line, &[r.as_fd(), s.as_fd()], &luggage(0, 0, 0));
                taken(line);
            },
            &|line, _| {
                let ((s, _a), (_b, r)) = (objects::socket_pair().expect("sockets"), objects::socket_pair().expect("sockets"));
                forged_receive(line, &[r.as_fd(), s.as_fd()], &luggage(0, 0, 0));
                refused(line);
            },
            &|line, stage| {
                // The victim's own port.
                let (_s, r) = objects::socket_pair().expect("sockets");
                forged_receive(line, &[r.as_fd(), stage.open.as_fd()], &luggage(0, 0, 0));
                refused(line);
            },
            &|line, stage| {
                forged_receive(line, &[stage.open.as_fd(), stage.open.as_fd()], &luggage(0, 0, 0));
                refused(line);
            },
            &|line, _| {
                let (s, r) = objects::socket_pair().expect("sockets");
                forged_receive(line, &[r.as_fd(), s.as_fd()], &luggage(1 << 31, !0, 0));
                refused(line);
            },
            &|line, _| {
                let (s, r) = objects::socket_pair().expect("sockets");
                forged_receive(line, &[r.as_fd(), s.as_fd()], &luggage(0, 0, u64::MAX));
                refused(line);
            },
            &|line, _| {
                let (read, write) = objects::holder_pipe().expect("a pipe");
                forged_receive(line, &[read.as_fd(), write.as_fd()], &luggage(0, 0, 0));
                refused(line);
            },
        ],
    );
}

/// Receive rights within the requests of receive rights: as deep as descriptors allow.
#[test]
fn nested_receive_rights_do_not_overflow_the_stack() {
    attacked(
        "nested_receive_rights_do_not_overflow_the_stack",
        &[&|line, _| {
            const DEPTH: usize = 3000;
            let inner = Luggage { nsrequest: right(form::RECEIVE, 0), ..luggage(0, 0, 0) };
            let pairs: Vec<(OwnedFd, OwnedFd)> = (0..DEPTH).map(|_| objects::socket_pair().expect("sockets")).collect();
            let fds: Vec<BorrowedFd<'_>> = pairs.iter().flat_map(|(s, r)| [r.as_fd(), s.as_fd()]).collect();
            let all = inner.as_bytes().repeat(DEPTH);
            let (record, rest) = one_right(message(0), right(form::RECEIVE, 0), &all);
            line.write(&Record { fds: fds.len() as u16, ..record }, &rest, &fds);
            refused(line);
        }],
    );
}

/// Records without an end, and lines without an end: others are served meanwhile.
#[test]
fn a_flood_stops_nobody_else() {
    let test = "a_flood_stops_nobody_else";
    if role().is_some() {
        return victim();
    }
    let _dog = watchdog(test, 2 * WATCHDOG);
    let (mut stage, line) = Stage::new(test);
    drop(line);
    let before = stage.stats();
    let done = slipway_fabric::sync::AtomicBool::new(false);
    let open = stage.open.try_clone().expect("a copy");
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut line = Line::make(&open);
            let look = Record { kind: kind::LOOK, ..Record::default() };
            for _ in 0..RING / RECORD {
                line.write(&look, &[], &[]);
            }
            // The ring is full of records; from here on it costs one store to write all of them again.
            while !done.load(SeqCst) {
                let unread = line.unread();
                line.claim(RING as u64 - unread);
                line.ring();
            }
        });
        for _ in 0..200 {
            stage.round_trip();
        }
        done.store(true, SeqCst);
    });
    for _ in 0..50 {
        let some: Vec<Line> = (0..20).map(|_| Line::make(&stage.open)).collect();
        stage.round_trip();
        drop(some);
    }
    stage.until_clean(Stats { names: before.names + 1, ..before });
    stage.end();
}

/// The other end has the kernel move the victim's thread to a word that nobody knows: it comes back from there.
#[test]
#[allow(clippy::disallowed_methods, reason = "what a hostile end can call")]
fn a_sleeper_that_was_moved_away_comes_back() {
    let test = "a_sleeper_that_was_moved_away_comes_back";
    if role().is_some() {
        return victim();
    }
    let _dog = watchdog(test, 2 * WATCHDOG);
    let (mut stage, line) = Stage::new(test);
    drop(line);
    let active = || {
        let mut line = Line::make(&stage.open);
        line.write(&message(0), &[], &[]);
        taken(&mut line);
        line
    };
    // Others take the place of the honest line among those that the victim looks at itself, and go.
    let line = active();
    let descriptors = || descriptor_list(&stage.child.id().to_string()).len();
    let before = descriptors();
    drop([active(), active(), active()]);
    until("the others are gone", || descriptors() <= before);
    let nowhere = slipway_fabric::sync::AtomicU32::new(0);
    let moved = || {
        use rustix::thread::futex::{Flags, requeue};
        requeue(line.sleeping_word(), Flags::empty(), 0, 1, &nowhere).is_ok_and(|moved| moved == 1)
    };
    until("the victim sleeps, and is moved", moved);
    let asleep = || {
        let threads = std::fs::read_dir(format!("/proc/{}/task", stage.child.id())).expect("/proc").flatten();
        let mut stats = threads.map(|thread| std::fs::read_to_string(thread.path().join("stat")).unwrap_or_default());
        stats.all(|stat| stat.rsplit(") ").next().is_some_and(|rest| rest.starts_with('S')))
    };
    // It may not have been its last sleep.
    let mut looks = 0;
    until("the victim sleeps elsewhere", || {
        looks = if moved() || !asleep() { 0 } else { looks + 1 };
        looks > 20
    });
    stage.round_trip();
    stage.end();
}

/// The word that the victim's thread sleeps on lies where a peer can write: it must hear of others all the same.
#[test]
fn a_sleeper_is_woken_whatever_its_word_says() {
    let test = "a_sleeper_is_woken_whatever_its_word_says";
    if role().is_some() {
        return victim();
    }
    let _dog = watchdog(test, 2 * WATCHDOG);
    let (mut stage, line) = Stage::new(test);
    drop(line);
    for round in 0..40u32 {
        let mut line = Line::make(&stage.open);
        line.write(&message(0), &[], &[]);
        taken(&mut line);
        // The victim's receiver sleeps on this line's word alone by now, or soon.
        let word = line.sleeping_word();
        until("the victim sleeps", || word.load(SeqCst) != 0);
        std::thread::yield_now();
        word.store([0, 5, 1, 2][round as usize % 4], SeqCst);
        stage.round_trip();
    }
    stage.end();
}
