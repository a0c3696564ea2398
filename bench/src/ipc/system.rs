//! What the system has: pipes, and an AF_UNIX socket that keeps messages apart, on which a right is a descriptor.

use super::echo::{Carrier, Rights};
use crate::harness::job::{Job, Side};
use crate::harness::link::{self, Link, MOST_DESCRIPTORS};
use anyhow::{Context, ensure};
use std::io::{PipeReader, PipeWriter, Read, Write, pipe};
use std::os::fd::{AsFd, OwnedFd};

/// One end of two pipes, one each way.
pub struct Pipe {
    from: PipeReader,
    to: PipeWriter,
}

impl Carrier for Pipe {
    fn new(link: &mut Link, job: &Job) -> anyhow::Result<Self> {
        if job.side == Side::Client {
            return Ok(Self { from: link.take()?.into(), to: link.take()?.into() });
        }
        let ((from, theirs_to), (theirs_from, to)) = (pipe().context("pipe")?, pipe().context("pipe")?);
        link.give(theirs_from)?;
        link.give(theirs_to)?;
        Ok(Self { from, to })
    }

    fn send(&mut self, message: &[u8]) -> anyhow::Result<()> {
        self.to.write_all(message).context("write to the pipe")
    }

    fn receive(&mut self, into: &mut [u8]) -> anyhow::Result<()> {
        self.from.read_exact(into).context("read from the pipe")
    }
}

/// One end of the socket.
pub struct Socket(Link);

fn connected(link: &mut Link, job: &Job) -> anyhow::Result<Socket> {
    if job.side == Side::Client {
        return Ok(Socket(Link::new(link.take()?)));
    }
    let (ours, theirs) = link::pair()?;
    link.give(theirs)?;
    Ok(Socket(Link::new(ours)))
}

impl Carrier for Socket {
    fn new(link: &mut Link, job: &Job) -> anyhow::Result<Self> {
        connected(link, job)
    }

    fn send(&mut self, message: &[u8]) -> anyhow::Result<()> {
        self.0.send_bytes(message)
    }

    fn receive(&mut self, into: &mut [u8]) -> anyhow::Result<()> {
        let length = self.0.receive_bytes(into)?;
        ensure!(length == into.len(), "a message of {length} bytes where {} were due", into.len());
        Ok(())
    }
}

/// Rights, each one end of a socket pair, whose other end its owner keeps.
impl Rights for Socket {
    type Right = OwnedFd;
    type Kept = OwnedFd;

    const MOST: usize = MOST_DESCRIPTORS;

    fn new(link: &mut Link, job: &Job) -> anyhow::Result<Self> {
        connected(link, job)
    }

    fn make() -> anyhow::Result<(OwnedFd, OwnedFd)> {
        link::pair()
    }

    fn send(&mut self, rights: &[OwnedFd]) -> anyhow::Result<()> {
        let descriptors: Vec<_> = rights.iter().map(AsFd::as_fd).collect();
        self.0.send(&[0; 32], &descriptors)
    }

    fn receive(&mut self) -> anyhow::Result<usize> {
        let mut taken = 0;
        let length = self.0.receive(&mut [0; 32], |descriptor| {
            taken += 1;
            drop(descriptor);
        })?;
        ensure!(length > 0, "the other process ended");
        Ok(taken)
    }
}
