//! The crate ipc-channel.

use super::echo::Carrier;
use crate::harness::exchange::Exchange;
use crate::harness::job::{Job, Side};
use crate::harness::link::Link;
use anyhow::{Context, ensure};
use ipc_channel::IpcError;
use ipc_channel::ipc::{self, IpcBytesReceiver, IpcBytesSender, IpcOneShotServer, IpcReceiver, IpcSender};
use serde::{Deserialize, Serialize};

/// Most senders in one message: the crate refuses more descriptors.
const MOST_RIGHTS: usize = 64;

/// What the client sends to the server's name to be connected with it.
#[derive(Serialize, Deserialize)]
struct Hello<T> {
    /// Where the server is to take from.
    requests: T,
}

/// Connects both processes: each ends up with what the other made by `half`, which gives what is sent to
/// the other and what is kept.
fn meet<Given, Kept>(
    link: &mut Link,
    side: Side,
    half: impl FnOnce() -> anyhow::Result<(Given, Kept)>,
) -> anyhow::Result<(Given, Kept)>
where
    Given: Serialize + for<'de> Deserialize<'de>,
{
    let (given, kept) = half()?;
    // Each listens at a name of its own for what the other gives.
    let (server, name) = IpcOneShotServer::<Hello<Given>>::new().context("one-shot server")?;
    let other = match side {
        Side::Server => {
            link.tell(&name)?;
            link.hear()?
        }
        Side::Client => {
            let other = link.hear()?;
            link.tell(&name)?;
            other
        }
    };
    let to_other = IpcSender::connect(other).context("connect")?;
    to_other.send(Hello { requests: given }).map_err(failed)?;
    let (_, hello) = server.accept().map_err(failed)?;
    Ok((hello.requests, kept))
}

fn failed(error: IpcError) -> anyhow::Error {
    anyhow::anyhow!("ipc-channel: {error:?}")
}

/// Bytes, by byte channels.
pub struct Bytes {
    to: IpcBytesSender,
    from: IpcBytesReceiver,
}

impl Carrier for Bytes {
    fn new(link: &mut Link, job: &Job) -> anyhow::Result<Self> {
        let (to, from) = meet(link, job.side, || ipc::bytes_channel().context("channel"))?;
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

/// A right is the sender of a channel.
type Right = IpcSender<()>;

/// Gives senders of its own and drops those that it gets, in several messages where there are many.
pub struct Rights {
    to: IpcSender<Vec<Right>>,
    from: IpcReceiver<Vec<Right>>,
    rights: Vec<Right>,
    _kept: Vec<IpcReceiver<()>>,
}

impl Rights {
    fn give(&mut self) -> anyhow::Result<()> {
        for piece in self.rights.chunks(MOST_RIGHTS) {
            self.to.send(piece.to_vec()).map_err(failed)?;
        }
        Ok(())
    }

    fn take(&mut self) -> anyhow::Result<()> {
        let mut taken = 0;
        while taken < self.rights.len() {
            taken += self.from.recv().map_err(failed)?.len();
        }
        ensure!(taken == self.rights.len(), "{taken} rights where {} were due", self.rights.len());
        Ok(())
    }
}

impl Rights {
    /// One end, with rights of its own.
    pub fn new(link: &mut Link, job: &Job) -> anyhow::Result<Self> {
        let (to, from) = meet(link, job.side, || ipc::channel().context("channel"))?;
        let channels = (0..job.case.test.ports).map(|_| ipc::channel().context("channel")).collect::<anyhow::Result<Vec<_>>>()?;
        let (rights, kept) = channels.into_iter().unzip();
        Ok(Self { to, from, rights, _kept: kept })
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
