//! Descriptors ahead of their reader.

use super::super::{
    OUTPUT,
    pair::{Ends, ends},
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
