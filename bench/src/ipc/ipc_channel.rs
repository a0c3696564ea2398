//! The crate ipc-channel.

use super::echo::{Carrier, Rights};
use crate::harness::job::{Job, Side};
use crate::harness::link::Link;
use anyhow::{Context, ensure};
use ipc_channel::IpcError;
use ipc_channel::ipc::{self, IpcBytesReceiver, IpcBytesSender, IpcOneShotServer, IpcReceiver, IpcSender};
use serde::{Deserialize, Serialize};

fn failed(error: IpcError) -> anyhow::Error {
    anyhow::anyhow!("ipc-channel: {error:?}")
}

/// Connects both processes by two channels, which the client makes: what this side sends by, and receives from.
fn meet<To, From>(link: &mut Link, side: Side, channel: impl Fn() -> std::io::Result<(To, From)>) -> anyhow::Result<(To, From)>
where
    To: Serialize + for<'de> Deserialize<'de>,
    From: Serialize + for<'de> Deserialize<'de>,
{
    if side == Side::Server {
        let (server, name) = IpcOneShotServer::new().context("one-shot server")?;
        link.tell(&name)?;
        return Ok(server.accept().map_err(failed)?.1);
    }
    let ((to, theirs_from), (theirs_to, from)) = (channel().context("channel")?, channel().context("channel")?);
    IpcSender::connect(link.hear()?).context("connect")?.send((theirs_to, theirs_from)).map_err(failed)?;
    Ok((to, from))
}

/// Bytes, by byte channels.
pub struct Bytes {
    to: IpcBytesSender,
    from: IpcBytesReceiver,
}

impl Carrier for Bytes {
    fn new(link: &mut Link, job: &Job) -> anyhow::Result<Self> {
        let (to, from) = meet(link, job.side, ipc::bytes_channel)?;
        Ok(Self { to, from })
    }

    fn send(&mut self, message: &[u8]) -> anyhow::Result<()> {
        self.to.send(message).context("send")
    }

    fn receive(&mut self, into: &mut [u8]) -> anyhow::Result<()> {
        let message = self.from.recv().map_err(failed)?;
        ensure!(message.len() == into.len(), "a message of {} bytes where {} were due", message.len(), into.len());
        into.copy_from_slice(&message);
        Ok(())
    }
}

/// Rights, each the sender of a channel.
pub struct Channels {
    to: IpcSender<Vec<IpcSender<()>>>,
    from: IpcReceiver<Vec<IpcSender<()>>>,
}

impl Rights for Channels {
    type Right = IpcSender<()>;
    type Kept = IpcReceiver<()>;

    /// The crate refuses more descriptors.
    const MOST: usize = 64;

    fn new(link: &mut Link, job: &Job) -> anyhow::Result<Self> {
        let (to, from) = meet(link, job.side, ipc::channel)?;
        Ok(Self { to, from })
    }

    fn make() -> anyhow::Result<(Self::Right, Self::Kept)> {
        ipc::channel().context("channel")
    }

    fn send(&mut self, rights: &[Self::Right]) -> anyhow::Result<()> {
        self.to.send(rights.to_vec()).map_err(failed)
    }

    fn receive(&mut self) -> anyhow::Result<usize> {
        Ok(self.from.recv().map_err(failed)?.len())
    }
}
