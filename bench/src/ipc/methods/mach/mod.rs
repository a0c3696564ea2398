//! Mach messages: each end has a port, and a send right to the other's.
//!
//! As a Mach program would, an end has one buffer, and sends from it and receives into it with one call.

pub mod local;
mod many;
pub mod owner;

use crate::ipc::cases::{Case, Test};
use crate::ipc::peer::Job;
use crate::trips::exchange::Exchange;
use crate::trips::link::Link;
use crate::trips::meet::{BITS, DATA, ID, LOCAL, REMOTE, SIZE, meet, serve_beside, servers_cpu, two_tasks};
use anyhow::{Context, anyhow, ensure};
use owner::Owner;
use slipway_mach::Request;
use slipway_mach::abi::typed::type_word;
use slipway_mach::abi::{COMPLEX, Code, HEADER, SLOT, option, right, types};
use slipway_mach::task::Task;

/// The word at `at` of a header.
fn word(header: &[u8; HEADER], at: usize) -> u32 {
    u32::from_le_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]])
}

/// What a message carries.
enum Body {
    /// Nothing.
    Empty,
    /// Longwords; the first and the last tell one message from the next.
    Data,
    /// Rights, sent as this disposition says.
    Rights(u32, Vec<u32>),
}

/// What a message is addressed to, beside the body.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reply {
    /// Each end sends to the other's port.
    Plain,
    /// The request has a send-once right, to which the answer goes.
    Once,
}

/// One end.
struct End {
    task: Task,
    own: u32,
    other: u32,
    /// The ports that requests go to in turn, if they are several.
    others: Vec<u32>,
    body: Body,
    reply: Reply,
    buffer: Vec<u8>,
    turn: u32,
}

impl End {
    fn new(task: Task, test: Test, own: u32, other: u32) -> anyhow::Result<Self> {
        let mut buffer = vec![0; test.bytes()];
        let body = match test {
            Test::Longwords(count) if count > 0 => {
                buffer[HEADER..DATA].copy_from_slice(&type_word(types::INTEGER_32, 32, count).to_le_bytes());
                Body::Data
            }
            Test::Ports(count) => {
                let ports = (0..count).map(|_| task.allocate(right::RECEIVE));
                Body::Rights(types::MAKE_SEND, ports.collect::<Result<_, _>>().context("mach_port_allocate")?)
            }
            _ => Body::Empty,
        };
        let once = matches!(test, Test::Rpc | Test::RpcOwned(_) | Test::RpcMoved(_));
        let reply = if once { Reply::Once } else { Reply::Plain };
        Ok(Self { task, own, other, others: Vec::new(), body, reply, buffer, turn: 0 })
    }

    fn header(&self) -> &[u8; HEADER] {
        // There is one: `new` made it.
        self.buffer.first_chunk().unwrap_or(&[0; HEADER])
    }

    fn get(&self, at: usize) -> u32 {
        word(self.header(), at)
    }

    /// Writes the words from `DATA` on that tell one message from the next, at either end.
    fn mark(&mut self) {
        let end = self.buffer.len() - SLOT;
        for at in [DATA, end] {
            self.buffer[at..at + 4].copy_from_slice(&self.turn.to_le_bytes());
        }
    }

    /// Whether the message that came has not the marks of the one that was sent.
    fn is_torn(&self) -> bool {
        let end = self.buffer.len() - SLOT;
        [DATA, end].iter().any(|at| self.buffer[*at..at + 4] != self.turn.to_le_bytes())
    }

    fn address(&mut self, remote: (u32, u32), local: (u32, u32)) {
        let mut bits = remote.1 | local.1 << 8;
        if let Body::Rights(disposition, names) = &self.body {
            bits |= COMPLEX;
            let word = type_word(*disposition, 64, names.len() as u32);
            self.buffer[HEADER..DATA].copy_from_slice(&word.to_le_bytes());
            for (slot, name) in self.buffer[DATA..].chunks_exact_mut(SLOT).zip(names) {
                slot.copy_from_slice(&u64::from(*name).to_le_bytes());
            }
        }
        if let Some(header) = self.buffer.first_chunk_mut::<HEADER>() {
            for (at, value) in [(BITS, bits), (REMOTE, remote.0), (LOCAL, local.0)] {
                header[at..at + 4].copy_from_slice(&value.to_le_bytes());
            }
        }
    }

    /// Writes the next request.
    fn ask(&mut self) {
        let local = match self.reply {
            Reply::Plain => (0, 0),
            Reply::Once => (self.own, types::MAKE_SEND_ONCE),
        };
        if !self.others.is_empty() {
            self.other = self.others[self.turn as usize % self.others.len()];
        }
        self.address((self.other, types::COPY_SEND), local);
        self.turn = self.turn.wrapping_add(1);
        if let Some(header) = self.buffer.first_chunk_mut::<HEADER>() {
            header[ID..ID + 4].copy_from_slice(&self.turn.to_le_bytes());
        }
        if matches!(self.body, Body::Data) {
            self.mark();
        }
    }

    /// Turns the request that came into its answer; the data stays.
    fn answer(&mut self) {
        let remote = match self.reply {
            Reply::Plain => (self.other, types::COPY_SEND),
            Reply::Once => (self.get(REMOTE), types::MOVE_SEND_ONCE),
        };
        self.address(remote, (0, 0));
    }

    /// Sends what is in the buffer, receives into it, or one after the other.
    fn call(&mut self, option: u32) -> anyhow::Result<()> {
        let size = self.buffer.len();
        let request = Request { option, send_size: size, receive_size: size, receive_name: self.own, timeout: 0, notify: 0 };
        match self.task.mach_msg(&mut self.buffer, &request) {
            Code::SUCCESS => Ok(()),
            code => Err(anyhow!("mach_msg: {code}")),
        }
    }

    /// Gives up the rights of the message that came.
    #[inline]
    fn take(&mut self) -> anyhow::Result<()> {
        ensure!(self.get(SIZE) as usize == self.buffer.len(), "a message of {} bytes", self.get(SIZE));
        if matches!(self.body, Body::Rights(..)) { self.give_up() } else { Ok(()) }
    }

    fn give_up(&self) -> anyhow::Result<()> {
        for slot in self.buffer[DATA..].chunks_exact(SLOT) {
            let name = u32::from_le_bytes(slot[..4].try_into().unwrap_or_default());
            self.task.deallocate(name).context("mach_port_deallocate")?;
        }
        Ok(())
    }

    fn round_trip(&mut self) -> anyhow::Result<()> {
        self.ask();
        self.call(option::SEND_MSG | option::RCV_MSG)?;
        let torn = matches!(self.body, Body::Data) && self.is_torn();
        ensure!(self.get(ID) == self.turn && !torn, "the answer is not that to the request");
        self.take()
    }

    fn serve(&mut self, count: u64) -> anyhow::Result<()> {
        if count == 0 {
            return Ok(());
        }
        self.call(option::RCV_MSG)?;
        self.take()?;
        for _ in 1..count {
            self.answer();
            self.call(option::SEND_MSG | option::RCV_MSG)?;
            self.take()?;
        }
        self.answer();
        self.call(option::SEND_MSG)
    }
}

/// An end in a process of its own.
pub struct Mach {
    end: End,
    _owner: Option<Owner>,
}

impl Exchange for Mach {
    type Case = Case;

    fn prepare(link: &mut Link, job: &Job) -> anyhow::Result<Self> {
        let task = Task::current();
        let (own, other) = meet(task, link, job.side)?;
        let mut end = End::new(task, job.case.test, own, other)?;
        let mut owner = None;
        match job.case.test {
            Test::PassedOn(count) => {
                let names;
                (names, owner) = owner::rights(task, link, job, count)?;
                end.body = Body::Rights(types::COPY_SEND, names);
            }
            Test::RpcOwned(count) => many::owned(&mut end, job.side, count)?,
            Test::RpcMoved(count) => many::moved(&mut end, job.side, count)?,
            _ => {}
        }
        Ok(Self { end, _owner: owner })
    }

    fn round_trip(&mut self) -> anyhow::Result<()> {
        self.end.round_trip()
    }

    fn serve(&mut self) -> anyhow::Result<()> {
        self.end.serve(1)
    }

    fn serve_all(&mut self, count: u64) -> anyhow::Result<()> {
        self.end.serve(count)
    }
}

/// Both ends in the client's process, a thread and a space each. The server's process lends its CPU.
pub enum OneProcess {
    /// The client's end.
    Client(Box<ClientEnd>),
    /// In the server's process.
    Nothing,
}

/// The client's end, where the server's has a thread.
pub struct ClientEnd(End);

impl Exchange for OneProcess {
    type Case = Case;

    fn prepare(link: &mut Link, job: &Job) -> anyhow::Result<Self> {
        let Some(cpu) = servers_cpu(link, job)? else { return Ok(Self::Nothing) };
        let (ours, theirs) = two_tasks()?;
        let mut server = End::new(theirs.task, job.case.test, theirs.own, theirs.other)?;
        let client = End::new(ours.task, job.case.test, ours.own, ours.other)?;
        serve_beside(theirs.task, cpu, move || server.serve(u64::MAX))?;
        ours.task.enter();
        Ok(Self::Client(Box::new(ClientEnd(client))))
    }

    fn round_trip(&mut self) -> anyhow::Result<()> {
        match self {
            Self::Client(end) => end.0.round_trip(),
            Self::Nothing => Ok(()),
        }
    }

    fn serve(&mut self) -> anyhow::Result<()> {
        Ok(())
    }

    fn serve_all(&mut self, _: u64) -> anyhow::Result<()> {
        Ok(())
    }
}
