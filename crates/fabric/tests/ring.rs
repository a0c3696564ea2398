//! The ring, single-threaded.
#![cfg(not(loom))]
#![allow(unsafe_code, reason = "mappings of a file that is too short, and of one that is sealed")]
use slipway_fabric::{ring::*, segment::*};
use std::os::fd::AsFd;

fn pair(ring: usize) -> (Segment, Segment) {
    let (host, fd) = Segment::create(ring).unwrap();
    let client = Segment::open(fd.as_fd(), ring).unwrap();
    (host, client)
}

#[test]
fn bytes_arrive_in_order_round_the_end() {
    let (host, client) = pair(4096);
    let (mut tx, mut rx) = (TxCursor::default(), RxCursor::default());
    let (mut next_in, mut next_out) = (0u8, 0u8);
    for step in 0..10_000usize {
        let n = (step * 37) % 4000;
        let n = n.min(host.tx.free(&mut tx, n).unwrap());
        let data: Vec<u8> = (0..n)
            .map(|_| {
                next_in = next_in.wrapping_add(1);
                next_in
            })
            .collect();
        host.tx.fill(&mut tx, &data).unwrap();
        host.tx.publish(&tx);
        let n = client.rx.available(&mut rx).unwrap().min((step * 53) % 4096);
        let mut out = vec![0; n];
        client.rx.peek(&rx, 0, &mut out);
        client.rx.release(&mut rx, n);
        for byte in out {
            next_out = next_out.wrapping_add(1);
            assert_eq!(byte, next_out);
        }
    }
}

#[test]
fn what_follows_words_is_filled_up_round_the_end() {
    let (host, client) = pair(4096);
    let (mut tx, mut rx) = (TxCursor::default(), RxCursor::default());
    // Nothing that is written here is zero, and the ring is never empty: it goes round.
    let (mut unread, mut turn) = (std::collections::VecDeque::<Vec<u8>>::new(), 0usize);
    for step in 0..20_000usize {
        let mut byte = || {
            turn += 1;
            (turn % 255 + 1) as u8
        };
        let mut word = || u64::from_ne_bytes(std::array::from_fn(|_| byte()));
        let (head, words) = ([word()], (0..step % 5).map(|_| word()).collect::<Vec<_>>());
        let rest: Vec<u8> = (0..step * 7 % 41).map(|_| byte()).collect();
        let pad = rest.len().next_multiple_of(8) - rest.len();
        let mut all: Vec<u8> =
            head.iter().chain(&words).flat_map(|word| word.to_ne_bytes()).chain(rest.iter().copied()).collect();
        all.resize(all.len() + pad, 0);
        assert!(host.tx.free(&mut tx, all.len()).unwrap() >= all.len());
        host.tx.fill_headed(&mut tx, head, &words, &rest, pad).unwrap();
        host.tx.publish(&tx);
        unread.push_back(all);
        if unread.len() > 1 + step % 30 {
            let all = unread.pop_front().unwrap();
            let mut out = vec![0; all.len()];
            assert!(client.rx.available(&mut rx).unwrap() >= out.len());
            client.rx.peek(&rx, 0, &mut out);
            client.rx.release(&mut rx, out.len());
            assert_eq!(out, all, "step {step}");
        }
    }
}

#[test]
fn a_segment_that_can_shrink_is_refused() {
    use rustix::fs::*;
    let fd = memfd_create(c"loose", MemfdFlags::ALLOW_SEALING).unwrap();
    ftruncate(&fd, segment_size(4096) as u64).unwrap();
    assert!(Segment::open(fd.as_fd(), 4096).is_err());
    let (_maker, fd) = Segment::create(4096).unwrap();
    assert!(Segment::open(fd.as_fd(), 8192).is_err(), "larger than the file");
    assert!(Segment::open(fd.as_fd(), 5000).is_err(), "no power of two");
    assert!(ftruncate(&fd, 0).is_err(), "sealed");
}

/// The reader could change what its writer reads back.
#[test]
fn a_ring_in_a_file_of_its_own_can_be_written_by_its_writer_only() {
    use rustix::{fs::*, io::Errno};
    use slipway_fabric::sync::{Mapping, pages};
    let (mut host, [control, area]) = Segment::create_apart(4096, 8192).unwrap();
    let (mut client, own) = Segment::open_apart(control.as_fd(), area.as_fd(), 4096, 8192).unwrap();
    let (mut tx, mut rx) = ([TxCursor::default(); 2], RxCursor::default());
    client.tx.fill(&mut tx[1], b"from the client.").unwrap();
    client.tx.publish(&tx[1]);
    assert!(host.awaits_area() && !client.awaits_area() && host.rx.readable(0));
    assert!(host.rx.available(&mut rx).is_err(), "nothing is read before the area has come");
    host.open_area(own.as_fd()).unwrap();
    assert!(!host.awaits_area());
    host.tx.fill(&mut tx[0], b"from the host...").unwrap();
    host.tx.publish(&tx[0]);
    for (segment, wrote) in [(&mut host, b"from the client."), (&mut client, b"from the host...")] {
        let (mut rx, mut bytes) = (RxCursor::default(), [0; 16]);
        assert_eq!(segment.rx.available(&mut rx), Ok(16));
        segment.rx.peek(&rx, 0, &mut bytes);
        assert_eq!(&bytes, wrote);
    }
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    for file in [&area, &own] {
        // SAFETY: the file has that size and is sealed against shrinking.
        let mapped = unsafe { Mapping::of_file(file.as_fd(), 8192) }.map_err(|error| Errno::from_io_error(&error));
        assert_eq!(mapped.err(), Some(Some(Errno::PERM)));
        assert_eq!(rustix::io::pwrite(file, b"x", 0), Err(Errno::PERM));
        let hole = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        assert_eq!(fallocate(file, hole, 0, 4096), Err(Errno::PERM));
        let inode = fstat(file).unwrap().st_ino.to_string();
        let of_file = maps.lines().map(|line| line.split_whitespace().collect::<Vec<_>>()).filter(|words| words[4] == inode);
        let mut ends: Vec<_> = of_file.map(|words| (words[1], words[0])).collect();
        ends.sort_unstable();
        assert_eq!([ends[0].0, ends[1].0], ["r--s", "rw-s"], "the reader and the writer");
        let reader = usize::from_str_radix(ends[0].1.split('-').next().unwrap(), 16).unwrap();
        // SAFETY: it fails; and if not, nothing writes there.
        let changed = unsafe { pages::protect(reader, 4096, true, true, false) };
        assert_eq!(changed.map_err(|error| Errno::from_io_error(&error)), Err(Some(Errno::ACCESS)));
    }
}

#[test]
fn one_bell_for_each_arming() {
    let (host, client) = pair(4096);
    let mut tx = TxCursor::default();
    assert_eq!(host.tx.take_sleeping_reader(), Some(Bell::Line), "a fresh reader is asleep");
    assert_eq!(host.tx.take_sleeping_reader(), None);
    client.rx.arm_reader();
    host.tx.fill(&mut tx, b"x").unwrap();
    host.tx.publish(&tx);
    assert_eq!(host.tx.take_sleeping_reader(), Some(Bell::Line));
    assert_eq!(host.tx.take_sleeping_reader(), None);
}

#[test]
fn a_sleeper_at_the_line_is_woken_in_place_of_one_at_the_doorbell() {
    let (host, client) = pair(4096);
    let (mut tx, mut rx) = (TxCursor::default(), RxCursor::default());
    let mut rings = || {
        host.tx.fill(&mut tx, b"x").unwrap();
        host.tx.publish(&tx);
        client.rx.available(&mut rx).unwrap();
        client.rx.release(&mut rx, 1);
        (host.tx.take_sleeping_reader(), client.rx.take_sleeping_writer(&rx))
    };
    rings();
    client.rx.arm_reader_at_door();
    host.tx.arm_writer_at_door();
    assert_eq!(rings(), (Some(Bell::Door), Some(Bell::Door)));
    assert_eq!(rings(), (None, None));
    client.rx.arm_reader();
    host.tx.arm_writer();
    client.rx.arm_reader_at_door();
    host.tx.arm_writer_at_door();
    assert_eq!(rings(), (Some(Bell::Line), Some(Bell::Line)));
    client.rx.arm_reader_at_door();
    host.tx.arm_writer_at_door();
    client.rx.arm_reader();
    host.tx.arm_writer();
    assert_eq!(rings(), (Some(Bell::Line), Some(Bell::Line)));
    client.rx.arm_timed_reader();
    client.rx.arm_reader_at_door();
    assert_eq!(rings().0, Some(Bell::Door), "which is no longer timed");
}

#[test]
fn a_reader_in_a_timed_wait_is_woken_by_half_a_ring_or_a_writer_that_waits() {
    let (host, client) = pair(4096);
    let mut tx = TxCursor::default();
    let write = |tx: &mut TxCursor, n: usize| {
        host.tx.fill(tx, &vec![7; n]).unwrap();
        host.tx.publish(tx);
        (host.tx.take_sleeping_reader().is_some(), host.tx.take_overfed_reader(tx).unwrap())
    };
    client.rx.disarm_reader();
    client.rx.arm_timed_reader();
    assert_eq!(write(&mut tx, 100), (false, false), "not for each batch");
    assert!(client.rx.reader_armed());
    assert!(host.tx.take_timed_reader(), "the writer waits");
    assert!(!host.tx.take_timed_reader(), "once");
    client.rx.arm_timed_reader();
    assert_eq!(write(&mut tx, 2000), (false, true), "half full");
    assert_eq!(write(&mut tx, 100), (false, false), "once");
}

/// A ring whose area has memory for `len` bytes and no more: a touch behind them kills the process.
fn short_of_memory(len: usize) -> Ring {
    use rustix::fs::*;
    let fd = memfd_create(c"short", MemfdFlags::CLOEXEC).unwrap();
    ftruncate(&fd, 4096 + len as u64).unwrap();
    // SAFETY: the ring asks for memory before it touches any, which is what is tested.
    let mapping = unsafe { slipway_fabric::sync::Mapping::of_file(fd.as_fd(), 4096 + (1 << 18)) }.unwrap();
    Ring::new(mapping.view(0).unwrap(), mapping.bytes(4096, 1 << 18).unwrap())
}

#[test]
fn a_ring_without_memory_is_a_smaller_one() {
    let ring = short_of_memory(64 * 1024);
    let (mut tx, mut rx) = (TxCursor::default(), RxCursor::default());
    assert!(ring.free(&mut tx, 1000).unwrap() >= 1000);
    // Never more than the ring says, until it has said that there is no room.
    let mut written = 0;
    loop {
        let n = ring.free(&mut tx, 5000).unwrap().min(5000);
        if n == 0 {
            break;
        }
        ring.fill(&mut tx, &vec![written as u8; n]).unwrap();
        ring.publish(&tx);
        written += n;
    }
    assert_eq!(written, 64 * 1024);
    assert_eq!(ring.free(&mut tx, 1).unwrap(), 0);
    assert!(!tx.is_empty());
    // The reader makes room at the front.
    assert_eq!(ring.available(&mut rx).unwrap(), written);
    ring.release(&mut rx, written);
    let room = ring.free(&mut tx, 30_000).unwrap();
    assert!((30_000..=64 * 1024).contains(&room), "{room}");
    ring.fill(&mut tx, &vec![1; 30_000]).unwrap();
    ring.publish(&tx);
    // What is larger than all the memory there is never fits.
    ring.available(&mut rx).unwrap();
    ring.release(&mut rx, 30_000);
    assert!(ring.free(&mut tx, 100_000).unwrap() < 100_000 && tx.is_empty());
}

#[test]
fn a_ring_without_memory_asks_for_all_of_it_now_and_then() {
    let ring = short_of_memory(64 * 1024);
    let mut tx = TxCursor::default();
    let mut asks = |tail| {
        tx = TxCursor { tail, head_seen: tail, base: tail, ..tx };
        ring.begin(&mut tx, 32 * 1024, || false).unwrap();
        tx.asks_at
    };
    let four = 4 << 18;
    assert_eq!([four - 1, four, four + 1, 2 * four - 1, 2 * four].map(&mut asks), [0, 2 * four, 2 * four, 2 * four, 4 * four]);
}

/// What comes to the front lies in the reader's cache, so that a large write there takes twice as long, unless both ends use that cache.
#[test]
fn a_large_write_stays_out_of_the_front_with_its_small_parts() {
    let (host, client) = pair(1 << 18);
    let (mut tx, mut rx) = (TxCursor::default(), RxCursor::default());
    let mut begins = |(parts, is_near): ([usize; 2], bool)| {
        let n = parts.iter().sum();
        assert!(host.tx.free(&mut tx, n).unwrap() >= n);
        host.tx.begin(&mut tx, n, || is_near).unwrap();
        let at = tx.tail - tx.base;
        parts.iter().for_each(|len| host.tx.append(&mut tx, &vec![1; *len]));
        host.tx.publish(&tx);
        assert_eq!(client.rx.refresh_tail(&mut rx), Ok(n));
        client.rx.release(&mut rx, n);
        at
    };
    let (large, small) = ([24, 40_000], [24, 20]);
    // The area has memory where it was written, until it has been carried four times.
    assert!((0..27).all(|_| begins((large, false)) == 0));
    let writes = [(large, false), (large, false), (large, true), (small, true), (large, false), (small, false)];
    assert_eq!(writes.map(&mut begins), [40_024, 80_048, 0, 0, 44, 0]);
}

#[test]
fn a_small_ring_goes_round() {
    let (host, client) = pair(4096);
    let (mut tx, mut rx) = (TxCursor::default(), RxCursor::default());
    for _ in 0..10 {
        while let n @ 1.. = host.tx.free(&mut tx, 3000).unwrap().min(3000) {
            host.tx.fill(&mut tx, &vec![0; n]).unwrap();
            host.tx.publish(&tx);
        }
        assert_eq!(client.rx.refresh_tail(&mut rx), Ok(4096), "all of it is used");
        client.rx.release(&mut rx, 1500);
    }
}

#[test]
fn a_segment_has_the_memory_of_light_traffic() {
    let (host, fd) = Segment::create(1 << 18).unwrap();
    let blocks = || rustix::fs::fstat(&fd).unwrap().st_blocks * 512;
    let made = blocks();
    let (mut tx, mut rx) = (TxCursor::default(), RxCursor::default());
    let client = Segment::open(fd.as_fd(), 1 << 18).unwrap();
    for _ in 0..10_000 {
        assert!(host.tx.free(&mut tx, 1000).unwrap() >= 1000);
        host.tx.fill(&mut tx, &[0; 1000]).unwrap();
        host.tx.publish(&tx);
        assert_eq!(client.rx.available(&mut rx), Ok(1000));
        client.rx.release(&mut rx, 1000);
    }
    assert_eq!(blocks(), made);
    assert!(made <= 64 * 1024, "{made} bytes");
}
