//! Mach messages: each end has a port, and a send right to the other's.
//!
//! As a Mach program would, an end has one buffer, and sends from it and receives into it with one call.

use super::owner::{self, Owner};
use super::{Kind, kind};
use crate::harness::Test;
use crate::harness::exchange::Exchange;
use crate::harness::job::{Job, Side};
use crate::harness::link::Link;
use crate::meet::{BITS, DATA, Ends, ID, LOCAL, REMOTE, SIZE, receive, send_rights, served};
use anyhow::{Context, anyhow, ensure};
use slipway_mach::Request;
use slipway_mach::abi::typed::type_word;
use slipway_mach::abi::{COMPLEX, Code, HEADER, SLOT, option, right, types};
use slipway_mach::task::Task;
use std::fs;

/// What a message carries.
enum Body {
    /// Nothing.
    Empty,
    /// Longwords; the first and the last tell one message from the next.
    Data,
    /// Rights, sent as this disposition says.
    Rights(u32, Vec<u32>),
}

struct End {
    task: Task,
    own: u32,
    other: u32,
    /// The ports that requests go to in turn, if they are several.
    others: Vec<u32>,
    body: Body,
    /// Whether the request has a send-once right, to which the answer goes; else each end sends to the other's port.
    once: bool,
    buffer: Vec<u8>,
    turn: u32,
    /// Whose rights are passed on.
    _owner: Option<Owner>,
}

impl End {
    fn new(link: &mut Link, job: &Job, Ends { task, own, other }: Ends) -> anyhow::Result<Self> {
        let test = job.case.test;
        let mut owner = None;
        let mut buffer = vec![0; test.bytes.0];
        let body = match kind(test) {
            Kind::Data if buffer.len() > HEADER => {
                let count = test.name.trim_end_matches("-longwords").parse().context("a test of longwords")?;
                buffer[HEADER..DATA].copy_from_slice(&type_word(types::INTEGER_32, 32, count).to_le_bytes());
                Body::Data
            }
            Kind::Rights => Body::Rights(types::MAKE_SEND, make(task, test.ports)?),
            Kind::PassedOn => {
                let names;
                (names, owner) = owner::rights(task, link, job)?;
                Body::Rights(types::COPY_SEND, names)
            }
            _ => Body::Empty,
        };
        let once = matches!(kind(test), Kind::Rpc | Kind::Moved);
        let mut end = Self { task, own, other, others: Vec::new(), body, once, buffer, turn: 0, _owner: owner };
        if once && test.ports > 0 {
            spread(&mut end, job.side, test)?;
        }
        Ok(end)
    }

    /// A word of the header.
    fn get(&self, at: usize) -> u32 {
        // There is one: `new` made it.
        let header: &[u8; HEADER] = self.buffer.first_chunk().unwrap_or(&[0; HEADER]);
        u32::from_le_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]])
    }

    fn put(&mut self, at: usize, value: u32) {
        self.buffer[at..at + 4].copy_from_slice(&value.to_le_bytes());
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
        self.put(BITS, bits);
        self.put(REMOTE, remote.0);
        self.put(LOCAL, local.0);
    }

    /// Writes the next request.
    fn ask(&mut self) {
        let local = if self.once { (self.own, types::MAKE_SEND_ONCE) } else { (0, 0) };
        if !self.others.is_empty() {
            self.other = self.others[self.turn as usize % self.others.len()];
        }
        self.address((self.other, types::COPY_SEND), local);
        self.turn = self.turn.wrapping_add(1);
        self.put(ID, self.turn);
        if matches!(self.body, Body::Data) {
            // At either end, they tell one message from the next.
            self.put(DATA, self.turn);
            self.put(self.buffer.len() - SLOT, self.turn);
        }
    }

    /// Turns the request that came into its answer; the data stays.
    fn answer(&mut self) {
        let reply = (self.get(REMOTE), types::MOVE_SEND_ONCE);
        self.address(if self.once { reply } else { (self.other, types::COPY_SEND) }, (0, 0));
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
        if matches!(self.body, Body::Rights(..)) {
            for slot in self.buffer[DATA..].chunks_exact(SLOT) {
                let name = u32::from_le_bytes(slot[..4].try_into().unwrap_or_default());
                self.task.deallocate(name).context("mach_port_deallocate")?;
            }
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

    /// Answers without end.
    fn serve(&mut self) -> anyhow::Result<()> {
        self.call(option::RCV_MSG)?;
        loop {
            self.take()?;
            self.answer();
            self.call(option::SEND_MSG | option::RCV_MSG)?;
        }
    }
}

fn make(task: Task, count: u32) -> anyhow::Result<Vec<u32>> {
    (0..count).map(|_| task.allocate(right::RECEIVE)).collect::<Result<_, _>>().context("mach_port_allocate")
}

/// Has requests go to several ports of the server: the server makes them and gives rights to them, or the client makes
/// them and moves them there.
fn spread(end: &mut End, side: Side, test: &Test) -> anyhow::Result<()> {
    let is_maker = (side == Side::Client) == (kind(test) == Kind::Moved);
    let ports = if is_maker { make(end.task, test.ports)? } else { Vec::new() };
    let ports = match (side, is_maker) {
        (_, false) => receive(end.task, end.own)?.0,
        (Side::Server, true) => {
            send_rights(end.task, (end.other, types::COPY_SEND), (0, 0), (types::MAKE_SEND, &ports))?;
            ports
        }
        (Side::Client, true) => {
            for port in &ports {
                end.task.insert_right(*port, end.task, *port, types::MAKE_SEND).context("mach_port_insert_right")?;
            }
            send_rights(end.task, (end.other, types::COPY_SEND), (0, 0), (types::MOVE_RECEIVE, &ports))?;
            ports
        }
    };
    if side == Side::Client {
        end.others = ports;
        return Ok(());
    }
    // The server receives from all of them.
    end.own = end.task.allocate(right::PORT_SET).context("mach_port_allocate")?;
    for port in ports {
        end.task.move_member(port, end.own).context("mach_port_move_member")?;
    }
    Ok(())
}

/// Messages between two tasks.
pub fn messages(link: &mut Link, job: &Job, in_one_process: bool) -> anyhow::Result<Box<dyn Exchange>> {
    served(
        (link, job, in_one_process),
        |link, ends| End::new(link, job, ends),
        |mut end| end.serve(),
        |mut end, _| Ok(Box::new(move || end.round_trip())),
    )
}

/// A "round trip" makes a port, which never leaves its task, and destroys it.
pub fn make_port() -> Box<dyn Exchange> {
    let task = Task::current();
    Box::new(move || {
        let name = task.allocate(right::RECEIVE).context("mach_port_allocate")?;
        task.mod_refs(name, right::RECEIVE, -1).context("mach_port_mod_refs")
    })
}

/// By how many bytes of memory the process grows for each of `count` ports.
pub fn weigh(count: u64) -> anyhow::Result<f64> {
    let task = Task::current();
    // What the first of a kind takes is not theirs.
    let mut names = vec![task.allocate(right::RECEIVE).context("mach_port_allocate")?; count as usize];
    let before = resident()?;
    for name in &mut names[1..] {
        *name = task.allocate(right::RECEIVE).context("mach_port_allocate")?;
    }
    let grown = resident()?.saturating_sub(before);
    ensure!(names.iter().all(|&name| task.get_refs(name, right::RECEIVE) == Ok(1)), "a port is not there");
    Ok(grown as f64 / count as f64)
}

/// The process's memory that is there and not of a file, bytes.
fn resident() -> anyhow::Result<u64> {
    let status = fs::read_to_string("/proc/self/status").context("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).context("/proc/self/status has no RssAnon")?;
    let kib = line.split_whitespace().next().and_then(|number| number.parse::<u64>().ok()).context("RssAnon is no number")?;
    Ok(kib * 1024)
}
