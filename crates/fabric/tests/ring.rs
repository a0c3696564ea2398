//! The ring, single-threaded.
#![cfg(not(loom))]
#![allow(unsafe_code, reason = "a mapping of a file that is too short")]
use slipway_fabric::{ring::*, segment::*};
use std::os::fd::AsFd;

fn pair(ring: usize) -> (Segment, Segment) {
    let (maker, fd) = Segment::create(ring).unwrap();
    let guest = Segment::open(fd.as_fd(), ring).unwrap();
    (maker, guest)
}

#[test]
fn bytes_arrive_in_order_round_the_end() {
    let (maker, guest) = pair(4096);
    let (mut tx, mut rx) = (TxCursor::default(), RxCursor::default());
    let (mut next_in, mut next_out) = (0u8, 0u8);
    for step in 0..10_000usize {
        let n = (step * 37) % 4000;
        let n = n.min(maker.tx.free(&mut tx, n).unwrap());
        let data: Vec<u8> = (0..n)
            .map(|_| {
                next_in = next_in.wrapping_add(1);
                next_in
            })
            .collect();
        maker.tx.fill(&mut tx, &data).unwrap();
        maker.tx.publish(&tx);
        let n = guest.rx.available(&mut rx).unwrap().min((step * 53) % 4096);
        let mut out = vec![0; n];
        guest.rx.peek(&rx, 0, &mut out);
        guest.rx.release(&mut rx, n);
        for byte in out {
            next_out = next_out.wrapping_add(1);
            assert_eq!(byte, next_out);
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

#[test]
fn one_bell_for_each_arming() {
    let (maker, guest) = pair(4096);
    let mut tx = TxCursor::default();
    assert!(maker.tx.take_sleeping_reader(), "a fresh reader is asleep");
    assert!(!maker.tx.take_sleeping_reader());
    guest.rx.arm_reader();
    maker.tx.fill(&mut tx, b"x").unwrap();
    maker.tx.publish(&tx);
    assert!(maker.tx.take_sleeping_reader());
    assert!(!maker.tx.take_sleeping_reader());
}

#[test]
fn a_napping_reader_is_woken_by_half_a_ring_or_a_writer_that_waits() {
    let (maker, guest) = pair(4096);
    let mut tx = TxCursor::default();
    let write = |tx: &mut TxCursor, n: usize| {
        maker.tx.fill(tx, &vec![7; n]).unwrap();
        maker.tx.publish(tx);
        (maker.tx.take_sleeping_reader(), maker.tx.take_overfed_reader(tx).unwrap())
    };
    guest.rx.disarm_reader();
    guest.rx.arm_napping_reader();
    assert_eq!(write(&mut tx, 100), (false, false), "not for each batch");
    assert!(guest.rx.reader_armed());
    assert!(maker.tx.take_napping_reader(), "the writer waits");
    assert!(!maker.tx.take_napping_reader(), "once");
    guest.rx.arm_napping_reader();
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
fn a_small_ring_goes_round() {
    let (maker, guest) = pair(4096);
    let (mut tx, mut rx) = (TxCursor::default(), RxCursor::default());
    for _ in 0..10 {
        while let n @ 1.. = maker.tx.free(&mut tx, 3000).unwrap().min(3000) {
            maker.tx.fill(&mut tx, &vec![0; n]).unwrap();
            maker.tx.publish(&tx);
        }
        assert_eq!(guest.rx.refresh_tail(&mut rx), Ok(4096), "all of it is used");
        guest.rx.release(&mut rx, 1500);
    }
}

#[test]
fn a_segment_has_the_memory_of_light_traffic() {
    let (maker, fd) = Segment::create(1 << 18).unwrap();
    let blocks = || rustix::fs::fstat(&fd).unwrap().st_blocks * 512;
    let made = blocks();
    let (mut tx, mut rx) = (TxCursor::default(), RxCursor::default());
    let guest = Segment::open(fd.as_fd(), 1 << 18).unwrap();
    for _ in 0..10_000 {
        assert!(maker.tx.free(&mut tx, 1000).unwrap() >= 1000);
        maker.tx.fill(&mut tx, &[0; 1000]).unwrap();
        maker.tx.publish(&tx);
        assert_eq!(guest.rx.available(&mut rx), Ok(1000));
        guest.rx.release(&mut rx, 1000);
    }
    assert_eq!(blocks(), made);
    assert!(made <= 64 * 1024, "{made} bytes");
}
