//! Descriptors ahead of their reader.

use super::super::{
    OUTPUT,
    pair::{Ends, ends, unforked},
    *,
};
use crate::line::MOST_DESCRIPTORS;
use std::{
    io::{IoSlice, IoSliceMut},
    os::fd::{AsFd, OwnedFd},
};

impl Ends {
    /// Sends a byte with so many descriptors from the client.
    fn pass(&self, byte: u8, count: usize) -> Result<usize, Errno> {
        let fd = self.client.1.as_fd();
        self.client.0.send(fd, &[IoSlice::new(&[byte])], &vec![fd; count])
    }

    /// What the server gets with one byte.
    fn receive_byte(&self, how: How) -> Result<(u8, Vec<OwnedFd>), Errno> {
        let mut byte = [0];
        let got = self.server.0.receive(self.server.1.as_fd(), &mut [IoSliceMut::new(&mut byte)], how)?;
        assert!(got.bytes == 1 && got.dropped != how.descriptors);
        Ok((byte[0], got.descriptors))
    }

    fn is_writable(&self) -> bool {
        self.client.0.look(self.client.1.as_fd(), OUTPUT, None).intersects(OUTPUT)
    }
}

const WITH: How = How { peek: false, descriptors: true, bare: false };

#[test]
fn a_sender_ahead_by_too_many_descriptors_waits() {
    for count in [1, 2, MOST_DESCRIPTORS] {
        let ends = ends();
        let (mut sent, mut read) = (0_u32, 0_u32);
        for round in 0..4 {
            while ends.is_writable() {
                match ends.pass(sent as u8, count) {
                    Ok(1) => sent += 1,
                    error => assert_eq!(error, Err(Errno::AGAIN)),
                }
            }
            let ahead = sent - read;
            assert!((ahead + 1) as usize * count > 250, "round {round} of {count}: {ahead}");
            // The reader may have to take all that lie there, and the line stays.
            ends.server.0.attend();
            while !ends.is_writable() {
                let (byte, descriptors) = ends.receive_byte(WITH).expect("it was sent");
                assert_eq!((byte, descriptors.len()), (read as u8, count));
                read += 1;
            }
        }
        assert!(ends.client.0.on_ring() && ends.server.0.line_alive());
    }
}

/// What the server's line still says to a sleeper.
fn rings(ends: &Ends) -> bool {
    let line = ends.server.0.line_socket();
    super::super::ask_kernel(line.as_fd(), rustix::event::PollFlags::IN).contains(rustix::event::PollFlags::IN)
}

/// A thread that waits for something else than bytes is woken once more.
fn sleep_and_wake(ends: &Ends) {
    ends.server.0.lie_down(OUTPUT, usize::MAX).get_up(rings(ends));
}

#[test]
fn what_a_read_does_not_reach_stays_on_the_line() {
    let ends = ends();
    for (byte, count) in [(1, 2), (2, 1), (3, 0), (4, 3)] {
        assert_eq!(ends.pass(byte, count), Ok(1));
    }
    let (peeked, bare) = (How { peek: true, ..WITH }, How::default());
    for (byte, count, left) in [(1, 2, true), (2, 1, true), (3, 0, true), (4, 3, false)] {
        for how in [peeked, WITH] {
            let got = ends.receive_byte(how).map(|(byte, descriptors)| (byte, descriptors.len()));
            assert_eq!(got, Ok((byte, count)));
            assert!(locked(&ends.server.0.mail).batches.is_empty());
        }
        assert_eq!(rings(&ends), left, "behind {byte}");
    }
    // By a read of nothing, by one that drops them, and by one of bytes that are far behind.
    let (server, fd) = (&ends.server.0, ends.server.1.as_fd());
    for byte in [5, 6] {
        assert_eq!(ends.pass(byte, 2), Ok(1));
    }
    assert_eq!(server.receive(fd, &mut [IoSliceMut::new(&mut [])], WITH).map(|got| got.descriptors.len()), Ok(2));
    assert_eq!(ends.receive_byte(WITH).map(|(byte, descriptors)| (byte, descriptors.len())), Ok((5, 0)));
    assert_eq!(ends.receive_byte(bare).map(|(byte, _)| byte), Ok(6));
    assert!(!rings(&ends) && server.on_ring());
}

#[test]
fn a_batch_in_the_way_of_a_sleeper_waits_out_of_the_programs_sight() {
    let ends = ends();
    for byte in 0..3 {
        assert_eq!(ends.pass(byte, 2), Ok(1));
    }
    let wakes = std::iter::repeat_with(|| sleep_and_wake(&ends)).take(20).take_while(|()| rings(&ends)).count();
    assert!(wakes < 20, "the sleeper does not sleep");
    for byte in 0..3 {
        let held: Vec<_> = locked(&ends.server.0.mail).batches.iter().flat_map(|p| &p.descriptors).map(number).collect();
        assert!(held.len() == 2 * (3 - byte) && held.into_iter().all(crate::descriptor::is_reserved));
        for how in [How { peek: true, ..WITH }, WITH] {
            let (got, descriptors) = ends.receive_byte(how).expect("it was sent");
            assert_eq!((usize::from(got), descriptors.len()), (byte, 2));
            assert!(!descriptors.iter().map(number).any(crate::descriptor::is_reserved));
        }
    }
    assert!(ends.server.0.on_ring());
}

fn number(fd: impl AsFd) -> std::os::fd::RawFd {
    std::os::fd::AsRawFd::as_raw_fd(&fd.as_fd())
}

/// Another process would miss what this one holds; and what only one may hold is not to keep the other from sleeping.
#[test]
fn a_family_leaves_batches_to_the_process_that_reads() {
    let ends = ends();
    ends.server.0.state.common.forked.store(1, Relaxed);
    assert_eq!((ends.pass(0, 1), ends.pass(1, 1)), (Ok(1), Ok(1)));
    for _ in 0..20 {
        sleep_and_wake(&ends);
        ends.server.0.attend();
    }
    let is_left = || locked(&ends.server.0.mail).batches.is_empty() && rings(&ends);
    assert!(is_left());
    assert_eq!(ends.receive_byte(WITH).map(|(byte, descriptors)| (byte, descriptors.len())), Ok((0, 1)));
    // The bell that may lie between the two, and the second.
    (0..2).for_each(|_| sleep_and_wake(&ends));
    assert!(is_left());
    // As if it had slept for long.
    locked(&ends.server.0.mail).left.as_mut().expect("it is there").1 = 1;
    sleep_and_wake(&ends);
    let (server, fd) = (&ends.server.0, ends.server.1.as_fd());
    server.look(fd, OUTPUT, None);
    let got = loop {
        ends.client.0.look(ends.client.1.as_fd(), OUTPUT, None);
        match ends.receive_byte(WITH) {
            Err(Errno::AGAIN) => server.look(fd, OUTPUT, None),
            got => break got,
        };
    };
    assert_eq!(got.map(|(byte, descriptors)| (byte, descriptors.len())), Ok((1, 1)));
    assert!(server.is_plain());
}

/// What came before the line ended is delivered.
#[test]
fn a_peer_that_goes_leaves_what_it_sent() {
    let _guard = unforked();
    let Ends { client, server } = ends();
    let own = server.1.as_fd();
    for byte in 0..3 {
        assert_eq!(client.0.send(client.1.as_fd(), &[IoSlice::new(&[byte])], &[own]), Ok(1));
    }
    drop(client);
    // It learns of the end while it sends.
    assert_eq!(server.0.send(own, &[IoSlice::new(b"x")], &[own]), Err(Errno::PIPE));
    for byte in 0..3 {
        let mut to = [0];
        let got = server.0.receive(own, &mut [IoSliceMut::new(&mut to)], WITH).expect("it was sent");
        assert_eq!((to[0], got.descriptors.len()), (byte, 1));
    }
}
