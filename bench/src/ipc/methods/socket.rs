//! An AF_UNIX socket that keeps messages apart. A right is a descriptor.

use crate::ipc::cases::{Case, Test};
use crate::ipc::echo::Carrier;
use crate::ipc::peer::Job;
use crate::trips::exchange::Exchange;
use crate::trips::job::Side;
use crate::trips::link::{self, Link, MOST_DESCRIPTORS};
use anyhow::{bail, ensure};
use std::os::fd::{AsFd, OwnedFd};

/// One end of the socket.
pub struct Socket(Link);

impl Carrier for Socket {
    fn prepare(link: &mut Link, job: &Job) -> anyhow::Result<Self> {
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

impl Exchange for Rights {
    type Case = Case;

    fn prepare(link: &mut Link, job: &Job) -> anyhow::Result<Self> {
        let Test::Ports(count) = job.case.test else { bail!("no test of rights") };
        let pairs = (0..count).map(|_| link::pair()).collect::<anyhow::Result<Vec<_>>>()?;
        let (rights, kept) = pairs.into_iter().unzip();
        Ok(Self { socket: Socket::prepare(link, job)?, rights, _kept: kept })
    }

    fn round_trip(&mut self) -> anyhow::Result<()> {
        self.give()?;
        self.take()
    }

    fn serve(&mut self) -> anyhow::Result<()> {
        self.take()?;
        self.give()
    }
}
