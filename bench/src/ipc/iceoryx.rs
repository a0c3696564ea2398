//! The crate iceoryx2: two services of one publisher and one subscriber each, polled without a pause.
//!
//! It copies nothing by itself. The client's data is written into the loaned sample; the server copies
//! what it got into its answer; the client reads the answer where it lies.

use super::echo::Message;
use crate::harness::exchange::Exchange;
use crate::harness::job::{Job, Side};
use crate::harness::link::Link;
use anyhow::Context;
use iceoryx2::port::publisher::Publisher;
use iceoryx2::port::subscriber::Subscriber;
use iceoryx2::prelude::*;
use iceoryx2::sample::Sample;
use std::hint::black_box;

/// One end. The order of the fields is that of their ends.
pub struct Iceoryx {
    to: Publisher<ipc::Service, [u8], ()>,
    from: Subscriber<ipc::Service, [u8], ()>,
    message: Message,
    _node: Node<ipc::Service>,
}

impl Iceoryx {
    fn publish(to: &Publisher<ipc::Service, [u8], ()>, bytes: &[u8]) -> anyhow::Result<()> {
        let sample = to.loan_slice_uninit(bytes.len()).context("loan")?;
        let receivers = sample.write_from_slice(bytes).send().context("send")?;
        anyhow::ensure!(receivers == 1, "the message went to {receivers} subscribers");
        Ok(())
    }

    fn wait(&self) -> anyhow::Result<Sample<ipc::Service, [u8], ()>> {
        loop {
            if let Some(sample) = self.from.receive().context("receive")? {
                return Ok(sample);
            }
            std::hint::spin_loop();
        }
    }
}

/// What keeps the measurements apart: each has its own directory, and names of its own in shared memory.
fn config(directory: &std::path::Path) -> anyhow::Result<Config> {
    let mut config = Config::global_config().clone();
    let root = directory.to_str().context("directory")?;
    config.global.set_root_path(&Path::new(root.as_bytes()).with_context(|| root.to_owned())?);
    // What is left in shared memory is found by it.
    let prefix = format!("{}_", directory.file_name().context("directory")?.to_string_lossy());
    config.global.prefix = FileName::new(prefix.as_bytes()).with_context(|| prefix.to_owned())?;
    Ok(config)
}

impl Iceoryx {
    pub fn new(link: &mut Link, job: &Job) -> anyhow::Result<Self> {
        set_log_level(LogLevel::Error);
        let config = config(&job.directory)?;
        let node = NodeBuilder::new()
            .config(&config)
            .signal_handling_mode(SignalHandlingMode::Disabled)
            .create::<ipc::Service>()
            .context("node")?;
        let service = |name: &str| -> anyhow::Result<_> {
            let name = ServiceName::new(name).context("service name")?;
            node.service_builder(&name)
                .publish_subscribe::<[u8]>()
                .max_publishers(1)
                .max_subscribers(1)
                .history_size(0)
                .subscriber_max_buffer_size(1)
                .enable_safe_overflow(false)
                .open_or_create()
                .context("service")
        };
        let (there, back) = (service("slipway-bench/there")?, service("slipway-bench/back")?);
        let (outward, inward) = match job.side {
            Side::Client => (&there, &back),
            Side::Server => (&back, &there),
        };
        let length = job.case.test.bytes.0;
        let to = outward.publisher_builder().initial_max_slice_len(length).create();
        let from = inward.subscriber_builder().create();
        let to = to.context("publisher")?;
        let from = from.context("subscriber")?;
        // Neither must send before the other can receive.
        link.tell("ready")?;
        link.hear()?;
        Ok(Self { to, from, message: Message::new(length), _node: node })
    }
}

impl Exchange for Iceoryx {
    fn round_trip(&mut self) -> anyhow::Result<()> {
        Self::publish(&self.to, self.message.next())?;
        let answer = self.wait()?;
        black_box(answer.iter().fold(0, |all, byte| all ^ byte));
        self.message.check(&answer)
    }

    fn answer(&mut self) -> anyhow::Result<()> {
        let request = self.wait()?;
        Self::publish(&self.to, &request)
    }
}
