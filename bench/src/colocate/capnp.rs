//! The crate capnp-rpc over AF_UNIX: a call with a blob of bytes each way.

use crate::harness::exchange::Exchange;
use crate::harness::job::{Job, Side};
use crate::harness::link::Link;
use anyhow::{Context as _, ensure};
use capnp::any_pointer::Owned as AnyPointer;
use capnp::capability::{Client, DispatchCallResult, FromClientHook, FromServer, Params, Promise, Results, Server};
use capnp::data;
use capnp::data::Owned as Data;
use capnp::private::capability::ClientHook;
use capnp_rpc::{RpcSystem, rpc_twoparty_capnp, twoparty};
use futures::executor::LocalPool;
use futures::io::{AsyncRead, AsyncWrite};
use futures::task::LocalSpawnExt;
use rustix::event::{PollFd, PollFlags, poll};
use std::cell::{Cell, RefCell};
use std::io::{self, ErrorKind, Read, Write};
use std::ops::Deref;
use std::os::unix::net::UnixStream;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

/// Of the interface, as a schema would number it.
const INTERFACE: u64 = 0xd1f3_5a07_9be2_4c61;

/// A socket whose reader waits for [`Socket::wait`].
struct Socket {
    stream: UnixStream,
    waiting: RefCell<Option<Waker>>,
}

/// One user of it.
#[derive(Clone)]
struct Half(Rc<Socket>);

impl Socket {
    /// Sleeps until there is something to read, and wakes the reader.
    fn wait(&self) -> anyhow::Result<()> {
        poll(&mut [PollFd::new(&self.stream, PollFlags::IN)], None).context("poll")?;
        self.waiting.take().into_iter().for_each(Waker::wake);
        Ok(())
    }

    fn outcome(&self, context: &Context<'_>, result: io::Result<usize>) -> Poll<io::Result<usize>> {
        match result {
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                *self.waiting.borrow_mut() = Some(context.waker().clone());
                Poll::Pending
            }
            result => Poll::Ready(result),
        }
    }
}

impl AsyncRead for Half {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, into: &mut [u8]) -> Poll<io::Result<usize>> {
        let result = (&self.0.stream).read(into);
        self.0.outcome(context, result)
    }
}

impl AsyncWrite for Half {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, from: &[u8]) -> Poll<io::Result<usize>> {
        let result = (&self.0.stream).write(from);
        self.0.outcome(context, result)
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_close(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

/// The server's object: answers with so many bytes, or with those that came and another first one.
struct Echo {
    answer: Vec<u8>,
    passed_back: bool,
    calls: Cell<u64>,
}

struct Dispatch(Rc<Echo>);

impl Clone for Dispatch {
    fn clone(&self) -> Self {
        Self(Rc::clone(&self.0))
    }
}

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
            self.calls.set(self.calls.get() + 1);
            if !self.passed_back {
                return results.get().set_as::<Data>(&self.answer[..]);
            }
            let answer = results.get().initn_as::<data::Builder<'_>>(sent.len() as u32);
            answer.copy_from_slice(sent);
            if let Some(first) = answer.first_mut() {
                *first ^= 1;
            }
            Ok(())
        };
        let promise = match answer() {
            Ok(()) => Promise::ok(()),
            Err(error) => Promise::err(error),
        };
        DispatchCallResult::new(promise, false)
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

/// One end.
pub struct Capnp {
    socket: Rc<Socket>,
    pool: LocalPool,
    client: Option<Client>,
    calls: Rc<Echo>,
    bytes: (usize, usize),
    /// The bytes that are sent next.
    turn: u8,
}

impl Capnp {
    /// One end.
    pub fn new(link: &mut Link, job: &Job) -> anyhow::Result<Self> {
        let bytes = job.case.test.bytes;
        let stream = match job.side {
            Side::Client => UnixStream::from(link.take()?),
            Side::Server => {
                let (ours, theirs) = UnixStream::pair().context("socketpair")?;
                link.give(theirs)?;
                ours
            }
        };
        stream.set_nonblocking(true).context("O_NONBLOCK")?;
        let socket = Rc::new(Socket { stream, waiting: RefCell::default() });
        let calls = Rc::new(Echo { answer: vec![7; bytes.1], passed_back: bytes.0 > 0 && bytes.1 > 0, calls: Cell::new(0) });
        let side = match job.side {
            Side::Client => rpc_twoparty_capnp::Side::Client,
            Side::Server => rpc_twoparty_capnp::Side::Server,
        };
        let half = || Half(Rc::clone(&socket));
        let network = twoparty::VatNetwork::new(half(), half(), side, capnp::message::ReaderOptions::default());
        let served = (job.side == Side::Server).then(|| capnp_rpc::new_client_from_rc::<EchoClient, _>(Rc::clone(&calls)).0);
        let mut system = RpcSystem::new(Box::new(network), served);
        let client = (job.side == Side::Client).then(|| system.bootstrap(rpc_twoparty_capnp::Side::Server));
        let pool = LocalPool::new();
        // It ends when the other process does.
        pool.spawner().spawn_local(async move { drop(system.await) }).context("spawn")?;
        Ok(Self { socket, pool, client, calls, bytes, turn: 0 })
    }
}

impl Exchange for Capnp {
    fn round_trip(&mut self) -> anyhow::Result<()> {
        let client = self.client.as_ref().context("no client")?;
        let (there, back) = self.bytes;
        self.turn = self.turn.wrapping_add(1);
        let turn = self.turn;
        let due = if self.calls.passed_back { turn ^ 1 } else { 7 };
        let mut request = client.new_call::<AnyPointer, AnyPointer>(INTERFACE, 0, None);
        request.get().set_as::<Data>(&vec![turn; there][..])?;
        let promise = request.send().promise;
        let answered = Rc::new(Cell::new(None));
        let note = Rc::clone(&answered);
        self.pool.spawner().spawn_local(async move {
            let is_due = match promise.await {
                Ok(response) => response
                    .get()
                    .and_then(|answer| answer.get_as::<&[u8]>())
                    .map(|answer| answer.len() == back && answer.first().is_none_or(|first| *first == due)),
                Err(error) => Err(error),
            };
            note.set(Some(is_due));
        })?;
        loop {
            self.pool.run_until_stalled();
            if let Some(is_due) = answered.take() {
                ensure!(is_due?, "the answer is not the one that is due");
                return Ok(());
            }
            self.socket.wait()?;
        }
    }

    fn serve(&mut self, count: u64) -> anyhow::Result<()> {
        let until = self.calls.calls.get() + count;
        loop {
            self.pool.run_until_stalled();
            if self.calls.calls.get() >= until {
                return Ok(());
            }
            self.socket.wait()?;
        }
    }
}
