//! Two pipes.

use crate::ipc::echo::Carrier;
use crate::ipc::peer::Job;
use crate::trips::job::Side;
use crate::trips::link::Link;
use anyhow::{Context, ensure};
use rustix::io::{Errno, read, write};
use rustix::pipe::{PipeFlags, pipe_with};
use std::os::fd::OwnedFd;

/// One end of two pipes, one each way.
pub struct Pipe {
    from: OwnedFd,
    to: OwnedFd,
}

impl Carrier for Pipe {
    fn prepare(link: &mut Link, job: &Job) -> anyhow::Result<Self> {
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
            match write(&self.to, message) {
                Err(Errno::INTR) => {}
                written => message = &message[written.context("write to the pipe")?..],
            }
        }
        Ok(())
    }

    fn receive(&mut self, into: &mut [u8]) -> anyhow::Result<()> {
        let mut got = 0;
        while got < into.len() {
            match read(&self.from, &mut into[got..]) {
                Err(Errno::INTR) => {}
                length => {
                    let length = length.context("read from the pipe")?;
                    ensure!(length > 0, "the other process ended");
                    got += length;
                }
            }
        }
        Ok(())
    }
}
