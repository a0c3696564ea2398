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

/// What a message carries behind its header. Each has a loop of its own, so that a null message takes no more than its own steps.
trait Load {
    /// Writes what all messages have.
    fn begin(&self, _body: &mut [u8]) {}

    /// Writes it, and tells what that adds to the header's bits.
    fn write(&self, _body: &mut [u8]) -> u32 {
        0
    }

    /// Has one message differ from the next.
    fn mark(&self, _body: &mut [u8], _turn: u32) {}

    /// Whether the message that came has not the marks of the one that was sent.
    fn is_torn(&self, _body: &[u8], _turn: u32) -> bool {
        false
    }

    /// Gives up the rights of the message that came.
    fn take(&self, _task: Task, _body: &[u8]) -> anyhow::Result<()> {
        Ok(())
    }
}

struct Nothing;

impl Load for Nothing {}

/// So many longwords, of which the first and the last are marks.
struct Data(u32);

/// Where the marks are.
fn marks(body: &[u8]) -> [usize; 2] {
    [DATA - HEADER, body.len() - SLOT]
}

impl Load for Data {
    fn begin(&self, body: &mut [u8]) {
        body[..DATA - HEADER].copy_from_slice(&type_word(types::INTEGER_32, 32, self.0).to_le_bytes());
    }

    fn mark(&self, body: &mut [u8], turn: u32) {
        marks(body).into_iter().for_each(|at| body[at..at + 4].copy_from_slice(&turn.to_le_bytes()));
    }

    fn is_torn(&self, body: &[u8], turn: u32) -> bool {
        marks(body).into_iter().any(|at| body[at..at + 4] != turn.to_le_bytes())
    }
}

/// Rights, sent as this disposition says.
struct Rights(u32, Vec<u32>);

impl Load for Rights {
    fn write(&self, body: &mut [u8]) -> u32 {
        let Self(disposition, names) = self;
        let (word, slots) = body.split_at_mut(DATA - HEADER);
        word.copy_from_slice(&type_word(*disposition, 64, names.len() as u32).to_le_bytes());
        for (slot, name) in slots.chunks_exact_mut(SLOT).zip(names) {
            slot.copy_from_slice(&u64::from(*name).to_le_bytes());
        }
        COMPLEX
    }

    fn take(&self, task: Task, body: &[u8]) -> anyhow::Result<()> {
        for slot in body[DATA - HEADER..].chunks_exact(SLOT) {
            let name = u32::from_le_bytes(slot[..4].try_into().unwrap_or_default());
            task.deallocate(name).context("mach_port_deallocate")?;
        }
        Ok(())
    }
}

/// An end. If `ONCE`, the request has a send-once right, to which the answer goes; else each end sends to the other's port.
struct End<L, const ONCE: bool> {
    task: Task,
    own: u32,
    other: u32,
    /// The ports that requests go to in turn, if they are several.
    others: Vec<u32>,
    load: L,
    buffer: Vec<u8>,
    turn: u32,
}

const NO_HEADER: &str = "a message has a header";

fn word(header: &[u8; HEADER], at: usize) -> u32 {
    u32::from_le_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]])
}

fn set(header: &mut [u8; HEADER], at: usize, value: u32) {
    header[at..at + 4].copy_from_slice(&value.to_le_bytes());
}

impl<L: Load, const ONCE: bool> End<L, ONCE> {
    fn new(job: &Job, Ends { task, own, other }: Ends, load: L) -> anyhow::Result<Self> {
        let test = job.case.test;
        let mut end = Self { task, own, other, others: Vec::new(), load, buffer: vec![0; test.bytes.0], turn: 0 };
        end.load.begin(&mut end.buffer[HEADER..]);
        if ONCE && test.ports > 0 {
            spread(&mut end, job.side, test)?;
        }
        Ok(end)
    }

    /// Addresses the message, and loads it.
    #[inline]
    fn address(&mut self, remote: (u32, u32), local: (u32, u32)) -> anyhow::Result<()> {
        let (header, body) = self.buffer.split_first_chunk_mut().context(NO_HEADER)?;
        set(header, BITS, remote.1 | local.1 << 8 | self.load.write(body));
        set(header, REMOTE, remote.0);
        set(header, LOCAL, local.0);
        Ok(())
    }

    /// Writes the next request.
    #[inline]
    fn ask(&mut self) -> anyhow::Result<()> {
        let local = if ONCE { (self.own, types::MAKE_SEND_ONCE) } else { (0, 0) };
        if !self.others.is_empty() {
            self.other = self.others[self.turn as usize % self.others.len()];
        }
        self.address((self.other, types::COPY_SEND), local)?;
        self.turn = self.turn.wrapping_add(1);
        let turn = self.turn;
        let (header, body) = self.buffer.split_first_chunk_mut().context(NO_HEADER)?;
        set(header, ID, turn);
        self.load.mark(body, turn);
        Ok(())
    }

    /// Turns the request that came into its answer; the data stays.
    #[inline]
    fn answer(&mut self) -> anyhow::Result<()> {
        let header = self.buffer.first_chunk().context(NO_HEADER)?;
        let to = if ONCE { (word(header, REMOTE), types::MOVE_SEND_ONCE) } else { (self.other, types::COPY_SEND) };
        self.address(to, (0, 0))
    }

    /// Sends what is in the buffer, receives into it, or one after the other.
    #[inline]
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
        let (task, due) = (self.task, self.buffer.len());
        let (header, body) = self.buffer.split_first_chunk().context(NO_HEADER)?;
        let size = word(header, SIZE) as usize;
        ensure!(size == due, "a message of {size} bytes");
        self.load.take(task, body)
    }

    #[inline]
    fn round_trip(&mut self) -> anyhow::Result<()> {
        self.ask()?;
        self.call(option::SEND_MSG | option::RCV_MSG)?;
        let turn = self.turn;
        let (header, body) = self.buffer.split_first_chunk().context(NO_HEADER)?;
        ensure!(word(header, ID) == turn && !self.load.is_torn(body, turn), "the answer is not that to the request");
        self.take()
    }

    /// Answers without end.
    fn serve(&mut self) -> anyhow::Result<()> {
        self.call(option::RCV_MSG)?;
        loop {
            self.take()?;
            self.answer()?;
            self.call(option::SEND_MSG | option::RCV_MSG)?;
        }
    }
}

fn make(task: Task, count: u32) -> anyhow::Result<Vec<u32>> {
    (0..count).map(|_| task.allocate(right::RECEIVE)).collect::<Result<_, _>>().context("mach_port_allocate")
}

/// Has requests go to several ports of the server: the server makes them and gives rights to them, or the client makes
/// them and moves them there.
fn spread<L, const ONCE: bool>(end: &mut End<L, ONCE>, side: Side, test: &Test) -> anyhow::Result<()> {
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
    let test = job.case.test;
    let at = (link, job, in_one_process);
    match kind(test) {
        Kind::Data if test.bytes.0 == HEADER => between::<_, false>(at, |_, _| Ok((Nothing, None))),
        Kind::Data => between::<_, false>(at, |_, _| {
            Ok((Data(test.name.trim_end_matches("-longwords").parse().context("a test of longwords")?), None))
        }),
        Kind::Rights => between::<_, false>(at, |_, task| Ok((Rights(types::MAKE_SEND, make(task, test.ports)?), None))),
        Kind::PassedOn => between::<_, false>(at, |link, task| {
            let (names, owner) = owner::rights(task, link, job)?;
            Ok((Rights(types::COPY_SEND, names), owner))
        }),
        _ => between::<_, true>(at, |_, _| Ok((Nothing, None))),
    }
}

/// The same with a load, and perhaps the process whose rights those are.
fn between<L: Load + Send + 'static, const ONCE: bool>(
    (link, job, in_one_process): (&mut Link, &Job, bool),
    load: impl Fn(&mut Link, Task) -> anyhow::Result<(L, Option<Owner>)>,
) -> anyhow::Result<Box<dyn Exchange>> {
    served(
        (link, job, in_one_process),
        |link, ends| {
            let (load, owner) = load(link, ends.task)?;
            Ok((End::<L, ONCE>::new(job, ends, load)?, owner))
        },
        |(mut end, _owner)| end.serve(),
        |(mut end, owner), _| {
            Ok(Box::new(move || {
                let _owner = &owner;
                end.round_trip()
            }))
        },
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
