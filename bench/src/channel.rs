//! `slipway-bench channel`: the crate ipc-channel, and ours with its interface over Mach ports, by the same code.
//!
//! Bytes there and back; many messages and one answer; a set of receivers; channels that are made and sent; memory that goes with a value.

use crate::harness::Code;
use crate::harness::exchange::Exchange;
use crate::harness::job::{Job, Side};
use crate::harness::link::Link;
use crate::ipc::echo::{Carrier, Message, Rights, echo};
use anyhow::{Context, ensure};
use serde::{Deserialize, Serialize};

pub const CODE: Code = Code { name: "channel", prepare, special: |_, _| Ok(()) };

/// The bytes of a page of memory, each of which the receiver looks at.
const PAGE: usize = 4096;

fn prepare(link: &mut Link, job: &Job) -> anyhow::Result<Box<dyn Exchange>> {
    match &*job.case.method.name {
        "ipc-channel" => theirs::prepare(link, job),
        _ => ours::prepare(link, job),
    }
}

/// What a server does for each round trip.
struct Serving<F>(F);

impl<F: FnMut() -> anyhow::Result<()>> Exchange for Serving<F> {
    fn round_trip(&mut self) -> anyhow::Result<()> {
        anyhow::bail!("a server makes no round trips")
    }

    fn answer(&mut self) -> anyhow::Result<()> {
        (self.0)()
    }
}

fn serving(serve: impl FnMut() -> anyhow::Result<()> + 'static) -> anyhow::Result<Box<dyn Exchange>> {
    Ok(Box::new(Serving(serve)))
}

/// Everything, over one of the crates.
macro_rules! over {
    ($module:ident, $krate:ident) => {
        pub mod $module {
            use super::*;
            use $krate::ipc::{
                self, IpcBytesReceiver, IpcBytesSender, IpcOneShotServer, IpcReceiver, IpcReceiverSet, IpcSender, IpcSharedMemory,
            };

            fn failed(error: $krate::IpcError) -> anyhow::Error {
                anyhow::anyhow!("{}: {error:?}", stringify!($krate))
            }

            /// Connects both processes by two channels, which the client makes: what this side sends by, and receives from.
            fn meet<To, From>(
                link: &mut Link,
                job: &Job,
                channel: impl Fn() -> std::io::Result<(To, From)>,
            ) -> anyhow::Result<(To, From)>
            where
                To: Serialize + for<'de> Deserialize<'de>,
                From: Serialize + for<'de> Deserialize<'de>,
            {
                if job.side == Side::Server {
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
                    let (to, from) = meet(link, job, ipc::bytes_channel)?;
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
                    let (to, from) = meet(link, job, ipc::channel)?;
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

            pub(super) fn prepare(link: &mut Link, job: &Job) -> anyhow::Result<Box<dyn Exchange>> {
                match &*job.case.test.name {
                    "stream" => stream(link, job),
                    name if name.starts_with("set") => set(link, job),
                    "sender" => sender(link, job),
                    "receiver" => receiver(link, job),
                    "memory" => memory(link, job, false),
                    "memory-made" => memory(link, job, true),
                    _ => echo::<Bytes>(link, job),
                }
            }

            /// Takes the number that was sent last.
            fn due(from: &IpcReceiver<u64>, number: u64) -> anyhow::Result<()> {
                let got = from.recv().map_err(failed)?;
                ensure!(got == number, "{got} where {number} was due");
                Ok(())
            }

            /// Many messages one way, and one back.
            fn stream(link: &mut Link, job: &Job) -> anyhow::Result<Box<dyn Exchange>> {
                let (to, from) = meet(link, job, ipc::bytes_channel)?;
                let (mut message, count) = (Message::new(job.case.test.bytes.0), job.case.test.each);
                if job.side == Side::Server {
                    return serving(move || {
                        (1..count)
                            .try_for_each(|_| from.recv().map(drop))
                            .and_then(|()| from.recv())
                            .map_err(failed)
                            .and_then(|last| to.send(&last).context("send"))
                    });
                }
                Ok(Box::new(move || {
                    (0..count).try_for_each(|_| to.send(message.next()).context("send"))?;
                    message.check(&from.recv().map_err(failed)?)
                }))
            }

            /// Messages to the receivers of a set, each to another, and one back.
            fn set(link: &mut Link, job: &Job) -> anyhow::Result<Box<dyn Exchange>> {
                let (to, from) = meet::<IpcSender<(u64, Vec<IpcSender<u64>>)>, _>(link, job, ipc::channel)?;
                let (many, count) = (job.case.test.ports as usize, job.case.test.each);
                if job.side == Side::Server {
                    let mut set = IpcReceiverSet::new().context("set")?;
                    let mut senders = Vec::new();
                    for _ in 0..many {
                        let (sender, receiver) = ipc::channel::<u64>().context("channel")?;
                        set.add(receiver).context("set")?;
                        senders.push(sender);
                    }
                    for piece in senders.chunks(Channels::MOST) {
                        to.send((0, piece.to_vec())).map_err(failed)?;
                    }
                    // The set's channels stay open, whatever becomes of the client.
                    return serving(move || {
                        let (mut left, mut sum) = (count as usize, 0);
                        while left > 0 {
                            let results = set.select().context("select")?;
                            left = left.checked_sub(results.len()).context("too many messages")?;
                            for result in results {
                                sum += result.unwrap().1.to::<u64>().context("message")?;
                            }
                        }
                        ensure!(senders.len() == many);
                        to.send((sum, Vec::new())).map_err(failed)
                    });
                }
                let mut senders = Vec::new();
                while senders.len() < many {
                    senders.extend(from.recv().map_err(failed)?.1);
                }
                let mut turn = 0;
                Ok(Box::new(move || {
                    let mut sum = 0;
                    for _ in 0..count {
                        turn += 1;
                        sum += turn;
                        senders[turn as usize % many].send(turn).map_err(failed)?;
                    }
                    let got = from.recv().map_err(failed)?.0;
                    ensure!(got == sum, "{got} where {sum} was due");
                    Ok(())
                }))
            }

            /// A channel whose sender goes there, and is used once.
            fn sender(link: &mut Link, job: &Job) -> anyhow::Result<Box<dyn Exchange>> {
                let (to, from) = meet::<IpcSender<(u64, IpcSender<u64>)>, _>(link, job, ipc::channel)?;
                if job.side == Side::Server {
                    return serving(move || {
                        let (number, back) = from.recv().map_err(failed)?;
                        back.send(number).map_err(failed)
                    });
                }
                let mut turn = 0;
                Ok(Box::new(move || {
                    turn += 1;
                    let (sender, receiver) = ipc::channel().context("channel")?;
                    to.send((turn, sender)).map_err(failed)?;
                    due(&receiver, turn)
                }))
            }

            /// A channel whose receiver goes there, and gets one message.
            fn receiver(link: &mut Link, job: &Job) -> anyhow::Result<Box<dyn Exchange>> {
                let (to, from) = meet::<IpcSender<(u64, Option<IpcReceiver<u64>>)>, _>(link, job, ipc::channel)?;
                if job.side == Side::Server {
                    return serving(move || {
                        let (_, receiver) = from.recv().map_err(failed)?;
                        let number = receiver.context("a receiver was due")?.recv().map_err(failed)?;
                        to.send((number, None)).map_err(failed)
                    });
                }
                let mut turn = 0;
                Ok(Box::new(move || {
                    turn += 1;
                    let (sender, receiver) = ipc::channel().context("channel")?;
                    to.send((0, Some(receiver))).map_err(failed)?;
                    sender.send(turn).map_err(failed)?;
                    let (got, _) = from.recv().map_err(failed)?;
                    ensure!(got == turn, "{got} where {turn} was due");
                    Ok(())
                }))
            }

            /// Memory that goes there and is looked at, the same each time or `made` anew.
            fn memory(link: &mut Link, job: &Job, made: bool) -> anyhow::Result<Box<dyn Exchange>> {
                let (to, from) = meet::<IpcSender<(u64, Option<IpcSharedMemory>)>, _>(link, job, ipc::channel)?;
                if job.side == Side::Server {
                    return serving(move || {
                        let (number, memory) = from.recv().map_err(failed)?;
                        let looked: u64 =
                            memory.context("memory was due")?.iter().step_by(PAGE).map(|byte| u64::from(*byte)).sum();
                        to.send((number + looked, None)).map_err(failed)
                    });
                }
                let bytes = vec![1; job.case.test.bytes.0];
                let looked = bytes.len().div_ceil(PAGE) as u64;
                let (kept, mut turn) = (IpcSharedMemory::from_bytes(&bytes), 0);
                Ok(Box::new(move || {
                    turn += 1;
                    let memory = if made { IpcSharedMemory::from_bytes(&bytes) } else { kept.clone() };
                    to.send((turn, Some(memory))).map_err(failed)?;
                    let (got, _) = from.recv().map_err(failed)?;
                    ensure!(got == turn + looked, "{got} where {} was due", turn + looked);
                    Ok(())
                }))
            }
        }
    };
}

over!(theirs, ipc_channel);
over!(ours, slipway_ipc_channel);
