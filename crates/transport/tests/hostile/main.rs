//! A hostile peer: everything that one end of a line can write, written wrongly, while the other end
//! serves somebody else. Nothing may panic, block, read outside the segment or grow without bound.
//!
//! `SLIPWAY_FUZZ_SECONDS` (default 2) is how long each random test goes on, `SLIPWAY_FUZZ_SEED`
//! repeats the run of a seed that a failure printed.
#![allow(unsafe_code, reason = "the hostile end maps the segment, and sets this process's environment")]

mod handshakes;
mod peer;
mod stage;
mod victim;

use peer::*;
use rustix::{
    io::Errno,
    net::{AddressFamily, SocketFlags, SocketType, socketpair},
};
use slipway_fabric::{
    segment::Segment,
    sync::{AtomicBool, Ordering::SeqCst},
};
use slipway_test_support::{Dice, NamedSeed, fuzz_time, seed};
use slipway_transport::{
    descriptor::Reserved,
    line::{self, MOST_DESCRIPTORS, Message},
    stream::{How, Stream},
};
use stage::{Good, Stage};
use std::{
    io::{IoSlice, IoSliceMut},
    os::fd::{AsFd, OwnedFd},
    path::PathBuf,
    sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError, mpsc::channel},
    time::{Duration, Instant},
};
use victim::Told;

/// A wait this long is one that nothing will end.
pub const WATCHDOG: Duration = Duration::from_secs(60);

/// The directory of the hubs of this process.
pub fn runtime_dir() -> PathBuf {
    static DIR: LazyLock<PathBuf> = LazyLock::new(|| {
        let dir = std::env::temp_dir().join(format!("slipway-hostile-{}", std::process::id()));
        // SAFETY: nothing reads the environment meanwhile: every test passes through `alone` first.
        unsafe {
            std::env::set_var("SLIPWAY_RUNTIME_DIR", &dir);
            std::env::set_var("SLIPWAY_LOG", "off");
            std::env::set_var("SLIPWAY_X11_AFTER", "0");
        }
        dir
    });
    DIR.clone()
}

/// Runs one test at a time, as they count the descriptors of the process, and under a watchdog.
fn alone(body: impl FnOnce() + Send + 'static) {
    static ONE: Mutex<()> = Mutex::new(());
    let _guard: MutexGuard<'_, ()> = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    std::fs::create_dir_all(runtime_dir()).unwrap();
    std::fs::set_permissions(runtime_dir(), std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
    let (tell, told) = channel();
    let thread = std::thread::spawn(move || {
        body();
        let _ = tell.send(());
    });
    let outcome = told.recv_timeout(4 * WATCHDOG + 2 * fuzz_time());
    assert_ne!(outcome, Err(std::sync::mpsc::RecvTimeoutError::Timeout), "the test hangs");
    let ended = thread.join();
    let _ = std::fs::remove_dir_all(runtime_dir());
    if let Err(panic) = ended {
        std::panic::resume_unwind(panic);
    }
}

/// Runs `body` with one seed after the other until the time is up; a failure names its seed.
fn fuzz(mut body: impl FnMut(&mut Dice)) {
    let (first, only) = seed();
    let start = Instant::now();
    let mut rounds = 0u64;
    while rounds == 0 || (!only && start.elapsed() < fuzz_time()) {
        let seed = first + rounds;
        let _named = NamedSeed(seed);
        body(&mut Dice::new(seed));
        rounds += 1;
    }
    eprintln!("hostile: {rounds} rounds from seed {first}");
}

fn open_descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

/// Values that are wrong for most words, given what the word is now and the size of the ring.
fn wrong_values(now: u64, size: u64) -> [u64; 16] {
    [
        0,
        1,
        2,
        3,
        now.wrapping_add(1),
        now.wrapping_sub(1),
        now.wrapping_add(size),
        now.wrapping_add(size + 1),
        now.wrapping_sub(size),
        size,
        1 << 31,
        1 << 63,
        u64::from(u32::MAX),
        u64::MAX,
        u64::MAX - size,
        0x5555_5555_5555_5555,
    ]
}

/// Runs `body` with a victim of its own and a good client beside it: in the end that client is still on its ring, and no
/// descriptor is left.
fn beside_a_good_client(display: u32, body: impl FnOnce(&Stage, &mut Good) + Send + 'static) {
    alone(move || {
        let before = open_descriptors();
        let stage = Stage::new(display);
        let mut good = stage.client();
        body(&stage, &mut good);
        assert!(good.on_ring());
        drop(good);
        stage.expect(Told::Went);
        stage.end();
        assert_eq!(open_descriptors(), before);
    });
}

#[test]
fn every_word_wrong_in_every_way() {
    beside_a_good_client(600, |stage, good| {
        let words = [TAIL, BASE, START, STATE, ATTACHMENTS, HINT, HEAD, READER_WAITS, GIVES_BACK, WRITER_WAITS];
        let mut dice = Dice::new(1);
        for word in words {
            for which in 0..16 {
                for theirs in [false, true] {
                    // Once before the ring opens, once with bytes under way in both directions.
                    for busy in [false, true] {
                        let peer = stage.peer(&mut dice);
                        if busy {
                            peer.open();
                            peer.write(100);
                        }
                        let at = if theirs { peer.theirs(word) } else { peer.mine(word) };
                        peer.store(at, wrong_values(peer.load(at), peer.ring as u64)[which]);
                        peer.bell();
                        peer.write(10);
                        if which % 4 == 0 {
                            good.round_trip();
                        }
                        drop(peer);
                        stage.expect(Told::Went);
                    }
                }
            }
            good.round_trip();
        }
    });
}

#[test]
fn random_misbehaviour_beside_a_good_client() {
    beside_a_good_client(601, |stage, good| {
        fuzz(|dice| {
            let peer = stage.peer(dice);
            if dice.below(4) > 0 {
                peer.open();
                peer.write(dice.below(peer.ring) as u64);
            }
            for step in 0..dice.below(60) {
                peer.misbehave(dice);
                if step % 20 == 0 {
                    good.round_trip();
                }
            }
            drop(peer);
            stage.expect(Told::Went);
            good.round_trip();
        });
    });
}

/// Runs `attack` over and over in a thread while a good client makes its round trips.
fn under_attack(display: u32, attack: impl Fn(&Peer, &mut Dice) + Send + 'static) {
    beside_a_good_client(display, |stage, good| {
        let peer = stage.peer(&mut Dice::new(3));
        let over = Arc::new(AtomicBool::new(false));
        let attacker = {
            let over = Arc::clone(&over);
            std::thread::spawn(move || {
                peer.open();
                let mut dice = Dice::new(4);
                while !over.load(SeqCst) {
                    attack(&peer, &mut dice);
                }
            })
        };
        for _ in 0..300 {
            good.round_trip();
        }
        over.store(true, SeqCst);
        attacker.join().unwrap();
        stage.expect(Told::Went);
    });
}

#[test]
fn a_flood_of_bells_starves_nobody() {
    under_attack(602, |peer, _| peer.bell());
}

#[test]
fn words_that_flicker_starve_nobody() {
    under_attack(603, |peer, dice| {
        let words = [TAIL, HINT, STATE, READER_WAITS, WRITER_WAITS, GIVES_BACK];
        let choice = if dice.below(1000) == 0 { words.len() } else { 5 };
        let word = words[dice.below(choice)];
        let at = peer.mine(word);
        let now = peer.load(at);
        for _ in 0..1000 {
            peer.store(at, now ^ 1);
            peer.store(at, now);
        }
    });
}

#[test]
fn a_flicker_of_the_tail_alone_starves_nobody() {
    under_attack(604, |peer, dice| {
        let at = peer.mine(TAIL);
        peer.store(at, peer.load(at) + u64::from(dice.below(100) == 0));
        peer.store(peer.mine(READER_WAITS), 1);
        peer.store(peer.theirs(READER_WAITS), 1);
        peer.store(peer.theirs(HEAD), peer.load(peer.theirs(TAIL)));
    });
}

#[test]
fn descriptors_that_nobody_asked_for_stay_few() {
    beside_a_good_client(605, |stage, good| {
        let peer = stage.peer(&mut Dice::new(5));
        let mine = open_descriptors();
        peer.open();
        let mut sent = 0;
        // Far ahead of any byte, so that the victim never comes to use them.
        for _ in 0..2000 {
            while peer.batch(5, 1 << 40, 1, MOST_DESCRIPTORS) {
                sent += 1;
                if sent % 50 == 0 {
                    break;
                }
            }
            peer.store(peer.mine(ATTACHMENTS), sent);
            peer.write(1);
            good.round_trip();
            let held = open_descriptors().saturating_sub(mine);
            // Beside the two of a doorbell each way between the good client and the victim, and the set that the client sleeps in.
            assert!(held <= 2 * MOST_DESCRIPTORS + 5, "the victim holds {held} descriptors of a hostile peer");
        }
        assert!(sent > 0);
        drop(peer);
        stage.expect(Told::Went);
    });
}

#[test]
fn messages_of_any_bytes_are_parsed_or_refused() {
    alone(|| {
        let before = open_descriptors();
        fuzz(|dice| {
            for _ in 0..1000 {
                let n = dice.below(80);
                let mut bytes = dice.bytes(n);
                if let Some(kind) = bytes.first_mut() {
                    *kind %= 12;
                }
                if let Some(version) = bytes.get_mut(1)
                    && dice.below(4) > 0
                {
                    *version = line::VERSION;
                }
                let descriptors: Vec<OwnedFd> =
                    (0..dice.below(4)).map(|_| std::fs::File::open("/dev/null").unwrap().into()).collect();
                let count = descriptors.len();
                match line::parse(&bytes, descriptors) {
                    Some(Message::FdBatch(p) | Message::Returned(p)) => {
                        assert_eq!(p.descriptors.len(), count)
                    }
                    Some(Message::Grant { .. }) => assert_eq!(count, 1),
                    Some(Message::Offer { .. }) => assert!(bytes.len() >= 26),
                    Some(Message::Text(text)) => assert!(text.len() <= 3 * bytes.len()),
                    Some(_) => assert!(!bytes.is_empty()),
                    None => {}
                }
            }
            assert_eq!(open_descriptors(), before);
        });
    });
}

/// A client's end whose server is hostile, and perhaps another user's: the line, the X socket of the client, and the peer's.
fn client_of_hostile_server(foreign: bool) -> (Stream, OwnedFd, OwnedFd, OwnedFd) {
    let pair = |kind| socketpair(AddressFamily::UNIX, kind, SocketFlags::CLOEXEC, None).unwrap();
    let ((line, theirs), (x, their_x)) = (pair(SocketType::SEQPACKET), pair(SocketType::STREAM));
    let stream = Stream::offered(Reserved::new(line).unwrap(), std::process::id(), foreign, true).unwrap();
    (stream, x, theirs, their_x)
}

#[test]
fn segments_that_can_not_be_used_leave_the_client_on_its_socket() {
    use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, ftruncate, memfd_create};
    alone(|| {
        let before = open_descriptors();
        let file = |size: u64, seals: SealFlags| -> OwnedFd {
            let fd = memfd_create(c"hostile", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING).unwrap();
            ftruncate(&fd, size).unwrap();
            fcntl_add_seals(&fd, seals).unwrap();
            fd
        };
        let open = |path| -> OwnedFd { std::fs::File::open(path).unwrap().into() };
        let cases: Vec<(u64, OwnedFd)> = vec![
            (65536, file(1 << 20, SealFlags::empty())),
            (65536, file(4096, SealFlags::SHRINK)),
            (65536, file(1 << 20, SealFlags::SHRINK | SealFlags::WRITE)),
            (0, file(1 << 20, SealFlags::SHRINK)),
            (u64::MAX, file(1 << 20, SealFlags::SHRINK)),
            (1 << 63, file(1 << 20, SealFlags::SHRINK)),
            (65537, file(1 << 20, SealFlags::SHRINK)),
            (2048, file(1 << 20, SealFlags::SHRINK)),
            (65536, open("/dev/null")),
            (65536, open("/")),
            (65536, open("/proc/self/maps")),
        ];
        for (ring, segment) in cases {
            let (stream, x, line, their_x) = client_of_hostile_server(false);
            line::send_message(line.as_fd(), &Message::Grant { ring, segment }).unwrap();
            assert_eq!(stream.send(x.as_fd(), &[IoSlice::new(b"hello")], &[]), Ok(5));
            let mut buffer = [0; 16];
            assert_eq!(rustix::io::read(&their_x, &mut buffer), Ok(5));
            rustix::io::write(&their_x, b"there").unwrap();
            let got = stream.receive(x.as_fd(), &mut [IoSliceMut::new(&mut buffer)], How::default()).unwrap();
            assert_eq!(&buffer[..got.bytes], b"there");
            assert!(stream.is_plain());
        }
        assert_eq!(open_descriptors(), before);
    });
}

/// One thread plays both ends, so that a seed says exactly what happens.
#[test]
fn random_misbehaviour_step_by_step() {
    alone(|| {
        let before = open_descriptors();
        fuzz(|dice| {
            let (stream, x, line, their_x) = client_of_hostile_server(dice.below(3) == 0);
            let ring = 4096 << dice.below(3);
            let (segment, fd) = Segment::create(ring).unwrap();
            drop(segment);
            line::send_message(line.as_fd(), &Message::Grant { ring: ring as u64, segment: fd.try_clone().unwrap() }).unwrap();
            let peer = Peer::over(line, their_x, fd.as_fd(), ring, false);
            drop(fd);
            if dice.below(4) > 0 {
                peer.open();
            }
            for _ in 0..dice.below(200) {
                if dice.below(2) == 0 {
                    peer.misbehave(dice);
                }
                use_stream(&stream, &x, dice);
            }
        });
        assert_eq!(open_descriptors(), before);
    });
}

/// One thing that a program does with its connection.
fn use_stream(stream: &Stream, x: &OwnedFd, dice: &mut Dice) {
    let x = x.as_fd();
    let mut buffer = vec![0; dice.below(9000)];
    match dice.below(12) {
        0..=3 => {
            let how = How { peek: dice.below(4) == 0, descriptors: dice.below(2) == 0, ..How::default() };
            let room = buffer.len();
            let (a, b) = buffer.split_at_mut(room / 3);
            if let Ok(got) = stream.receive(x, &mut [IoSliceMut::new(a), IoSliceMut::new(b)], how) {
                assert!(got.bytes <= room);
                assert!(how.descriptors && !stream.is_foreign() || got.descriptors.is_empty());
            }
        }
        4..=6 => {
            let passed = vec![x; [0, 0, 1, 3][dice.below(4)]];
            match stream.send(x, &[IoSlice::new(&buffer)], &passed) {
                Ok(n) => assert!(n <= buffer.len()),
                Err(error) => assert_ne!(error, Errno::FAULT),
            }
        }
        7 | 8 => {
            let want = victim::BOTH;
            let got = stream.look(x, want, None);
            let _ = (stream.stirs(want), stream.needs_kernel(), stream.kernel_interest(want), got);
        }
        9 => {
            assert!(stream.readable_bytes(0) <= stream.ring_size());
            assert!(stream.unread_bytes() <= stream.ring_size());
        }
        10 => {
            stream.lie_down(victim::BOTH, usize::MAX).get_up(dice.below(2) == 0);
            stream.attend();
        }
        _ if dice.below(40) == 0 => stream.give_back(),
        _ => stream.note_socket_event(),
    }
}
