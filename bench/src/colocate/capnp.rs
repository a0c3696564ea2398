//! The crate capnp-rpc over AF_UNIX: a call with a blob of bytes each way.

use crate::harness::exchange::{Exchange, idle};
use crate::harness::job::{Job, Side, beside};
use crate::harness::link::Link;
use anyhow::{Context as _, ensure};
use capnp::any_pointer::Owned as AnyPointer;
use capnp::capability::{Client, DispatchCallResult, FromClientHook, FromServer, Params, Promise, Results, Server};
use capnp::data::{Builder, Owned as Data};
use capnp::private::capability::ClientHook;
use capnp_rpc::rpc_twoparty_capnp::Side as Party;
use capnp_rpc::{RpcSystem, twoparty};
use std::ops::Deref;
use std::os::unix::net::UnixStream;
use std::rc::Rc;
use tokio::runtime::{Builder as RuntimeBuilder, Runtime};
use tokio::task::LocalSet;
use tokio_util::compat::{TokioAsyncReadCompatExt, TokioAsyncWriteCompatExt};

/// Of the interface, as a schema would number it.
const INTERFACE: u64 = 0xd1f3_5a07_9be2_4c61;

/// The server's object: answers with so many bytes, or with those that came and another first one.
struct Echo {
    answer: Vec<u8>,
    passed_back: bool,
}

#[derive(Clone)]
struct Dispatch(Rc<Echo>);

impl Deref for Dispatch {
    type Target = Echo;

    fn deref(&self) -> &Echo {
        &self.0
    }
}

impl Server for Dispatch {
    fn dispatch_call(self, _: u64, _: u16, params: Params<AnyPointer>, mut results: Results<AnyPointer>) -> DispatchCallResult {
        let mut answer = || {
            let sent: &[u8] = params.get()?.get_as()?;
            if !self.passed_back {
                return results.get().set_as::<Data>(&self.answer[..]);
            }
            let answer = results.get().initn_as::<Builder<'_>>(sent.len() as u32);
            answer.copy_from_slice(sent);
            if let Some(first) = answer.first_mut() {
                *first ^= 1;
            }
            Ok(())
        };
        DispatchCallResult::new(answer().map_or_else(Promise::err, Promise::ok), false)
    }

    fn as_ptr(&self) -> usize {
        Rc::as_ptr(&self.0) as usize
    }
}

/// What a schema's compiler would have made.
struct EchoClient(Client);

impl FromClientHook for EchoClient {
    fn new(hook: Box<dyn ClientHook>) -> Self {
        Self(Client::new(hook))
    }

    fn into_client_hook(self) -> Box<dyn ClientHook> {
        self.0.hook
    }

    fn as_client_hook(&self) -> &dyn ClientHook {
        &*self.0.hook
    }
}

impl FromServer<Echo> for EchoClient {
    type Dispatch = Dispatch;

    fn from_server(server: Rc<Echo>) -> Dispatch {
        Dispatch(server)
    }
}

/// The RPC system of one side, in the thread that calls; it ends when the other process does.
fn system(stream: UnixStream, side: Party, served: Option<Echo>) -> anyhow::Result<RpcSystem<Party>> {
    stream.set_nonblocking(true).context("O_NONBLOCK")?;
    let (reader, writer) = tokio::net::UnixStream::from_std(stream).context("socket")?.into_split();
    let network =
        twoparty::VatNetwork::new(reader.compat(), writer.compat_write(), side, capnp::message::ReaderOptions::default());
    let served = served.map(|echo| capnp_rpc::new_client::<EchoClient, _>(echo).0);
    Ok(RpcSystem::new(Box::new(network), served))
}

fn runtime() -> anyhow::Result<Runtime> {
    RuntimeBuilder::new_current_thread().enable_io().build().context("runtime")
}

/// The client's end.
struct Capnp {
    runtime: Runtime,
    tasks: LocalSet,
    client: Client,
    bytes: (usize, usize),
    passed_back: bool,
    /// The bytes that are sent next.
    turn: u8,
}

/// One end; the server's is a thread, which ends with its process.
pub fn capnp(link: &mut Link, job: &Job) -> anyhow::Result<Box<dyn Exchange>> {
    let bytes = job.case.test.bytes;
    let passed_back = bytes.0 > 0 && bytes.1 > 0;
    if job.side == Side::Server {
        let (ours, theirs) = UnixStream::pair().context("socketpair")?;
        link.give(theirs)?;
        let echo = Echo { answer: vec![7; bytes.1], passed_back };
        beside(job.cpu, move || runtime()?.block_on(async { system(ours, Party::Server, Some(echo))?.await.context("serve") }))?;
        return idle();
    }
    let (stream, runtime, tasks) = (UnixStream::from(link.take()?), runtime()?, LocalSet::new());
    let client = tasks.block_on(&runtime, async {
        let mut system = system(stream, Party::Client, None)?;
        let client = system.bootstrap(Party::Server);
        tokio::task::spawn_local(system);
        anyhow::Ok(client)
    })?;
    Ok(Box::new(Capnp { runtime, tasks, client, bytes, passed_back, turn: 0 }))
}

impl Exchange for Capnp {
    fn round_trip(&mut self) -> anyhow::Result<()> {
        let (there, back) = self.bytes;
        self.turn = self.turn.wrapping_add(1);
        let due = if self.passed_back { self.turn ^ 1 } else { 7 };
        // From inside, where a task that becomes ready needs no wake-up.
        let response = self.tasks.block_on(&self.runtime, async {
            let mut request = self.client.new_call::<AnyPointer, AnyPointer>(INTERFACE, 0, None);
            request.get().set_as::<Data>(&vec![self.turn; there][..])?;
            request.send().promise.await
        })?;
        let answer = response.get()?.get_as::<&[u8]>()?;
        ensure!(
            answer.len() == back && answer.first().is_none_or(|first| *first == due),
            "the answer is not the one that is due"
        );
        Ok(())
    }
}
