//! What the system has: pipes, and an AF_UNIX socket that keeps messages apart, on which a right is a descriptor.

use super::echo::Carrier;
use crate::harness::exchange::Exchange;
use crate::harness::job::{Job, Side};
use crate::harness::link::{self, Link, MOST_DESCRIPTORS};
use anyhow::{Context, ensure};
use rustix::io::{read, retry_on_intr, write};
use rustix::pipe::{PipeFlags, pipe_with};
use std::os::fd::{AsFd, OwnedFd};

/// One end of two pipes, one each way.
pub struct Pipe {
    from: OwnedFd,
    to: OwnedFd,
}

impl Carrier for Pipe {
    fn new(link: &mut Link, job: &Job) -> anyhow::Result<Self> {
        match job.side {
            Side::Client => Ok(Self { from: link.take()?, to: link.take()? }),
            Side::Server => {
                let pipe = || pipe_with(PipeFlags::CLOEXEC).context("pipe");
                let ((from, theirs_to), (theirs_from, to)) = (pipe()?, pipe()?);
                link.give(theirs_from)?;
                link.give(theirs_to)?;
                Ok(Self { from, to })
            }
        }
    }

    fn send(&mut self, mut message: &[u8]) -> anyhow::Result<()> {
        while !message.is_empty() {
            let written = retry_on_intr(|| write(&self.to, message)).context("write to the pipe")?;
            message = &message[written..];
        }
        Ok(())
    }

    fn receive(&mut self, into: &mut [u8]) -> anyhow::Result<()> {
        let mut got = 0;
        while got < into.len() {
            let length = retry_on_intr(|| read(&self.from, &mut into[got..])).context("read from the pipe")?;
            ensure!(length > 0, "the other process ended");
            got += length;
        }
        Ok(())
    }
}

/// One end of the socket.
pub struct Socket(Link);

impl Carrier for Socket {
    fn new(link: &mut Link, job: &Job) -> anyhow::Result<Self> {
        match job.side {
            Side::Client => Ok(Self(Link::new(link.take()?))),
            Side::Server => {
                let (ours, theirs) = link::pair()?;
                link.give(theirs)?;
                Ok(Self(Link::new(ours)))
            }
        }
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

/// Gives descriptors of its own and closes those that it gets. More of them than one message takes go
/// in several.
pub struct Rights {
    socket: Socket,
    /// A right is one end of a socket pair, whose other end its owner keeps.
    rights: Vec<OwnedFd>,
    _kept: Vec<OwnedFd>,
}

impl Rights {
    fn give(&mut self) -> anyhow::Result<()> {
        for piece in self.rights.chunks(MOST_DESCRIPTORS) {
            let descriptors: Vec<_> = piece.iter().map(AsFd::as_fd).collect();
            self.socket.0.send(&[0; 32], &descriptors)?;
        }
        Ok(())
    }

    fn take(&mut self) -> anyhow::Result<()> {
        let mut taken = 0;
        while taken < self.rights.len() {
            let length = self.socket.0.receive(&mut [0; 32], |descriptor| {
                taken += 1;
                drop(descriptor);
            })?;
            ensure!(length > 0, "the other process ended");
        }
        ensure!(taken == self.rights.len(), "{taken} rights where {} were due", self.rights.len());
        Ok(())
    }
}

impl Rights {
    /// One end, with rights of its own.
    pub fn new(link: &mut Link, job: &Job) -> anyhow::Result<Self> {
        let pairs = (0..job.case.test.ports).map(|_| link::pair()).collect::<anyhow::Result<Vec<_>>>()?;
        let (rights, kept) = pairs.into_iter().unzip();
        Ok(Self { socket: Socket::new(link, job)?, rights, _kept: kept })
    }
}

impl Exchange for Rights {
    fn round_trip(&mut self) -> anyhow::Result<()> {
        self.give()?;
        self.take()
    }

    fn serve(&mut self, count: u64) -> anyhow::Result<()> {
        for _ in 0..count {
            self.take()?;
            self.give()?;
        }
        Ok(())
    }
}
