//! How two tasks come to have send rights to each other's ports, and single messages of the set-up.

use crate::harness::exchange::{Exchange, idle};
use crate::harness::job::{Job, Side, beside};
use crate::harness::link::Link;
use anyhow::{Context, anyhow, ensure};
use slipway_mach::Request;
use slipway_mach::abi::typed::type_word;
use slipway_mach::abi::{COMPLEX, Code, HEADER, SLOT, option, right, types};
use slipway_mach::task::Task;

/// Where in a header the fields are, bytes.
pub const BITS: usize = 0;
pub const SIZE: usize = 4;
pub const REMOTE: usize = 8;
pub const LOCAL: usize = 16;
pub const ID: usize = 28;
/// Where a message's data begins, after its descriptor.
pub const DATA: usize = HEADER + SLOT;

/// Longest wait for a message of the set-up, milliseconds.
const SOON: u32 = 20_000;

/// Room for a message of the set-up: as many rights as a test has.
const ROOM: usize = DATA + 256 * SLOT;

/// A port of this task, and a send right to one of the other process. The first right goes as descriptors,
/// the second in a message.
fn meet(task: Task, link: &mut Link, side: Side) -> anyhow::Result<Ends> {
    let own = task.allocate(right::RECEIVE).context("mach_port_allocate")?;
    if side == Side::Server {
        give_right(task, link, own)?;
        return Ok(Ends { task, own, other: receive(task, own)?.1 });
    }
    let other = take_right(task, link)?;
    send(task, (other, types::COPY_SEND), (own, types::MAKE_SEND), &[])?;
    Ok(Ends { task, own, other })
}

/// Sends a send right for a port of this task as descriptors.
pub fn give_right(task: Task, link: &mut Link, port: u32) -> anyhow::Result<()> {
    let (sending, holder) = task.export(port).context("can't export a port")?;
    link.give(sending)?;
    link.give(holder)
}

/// Takes what [`give_right`] sent: its name.
pub fn take_right(task: Task, link: &mut Link) -> anyhow::Result<u32> {
    let (sending, holder) = (link.take()?, link.take()?);
    task.import(sending, holder).context("can't import a right")
}

/// Sends one message with send rights for ports of this task.
pub fn send(task: Task, remote: (u32, u32), local: (u32, u32), ports: &[u32]) -> anyhow::Result<()> {
    send_rights(task, remote, local, (types::MAKE_SEND, ports))
}

/// Sends one message with rights, as the disposition says.
pub fn send_rights(task: Task, remote: (u32, u32), local: (u32, u32), rights: (u32, &[u32])) -> anyhow::Result<()> {
    let (disposition, ports) = rights;
    let mut message = vec![0; HEADER];
    let complex = if ports.is_empty() { 0 } else { COMPLEX };
    message[BITS..SIZE].copy_from_slice(&(remote.1 | local.1 << 8 | complex).to_le_bytes());
    message[REMOTE..REMOTE + 4].copy_from_slice(&remote.0.to_le_bytes());
    message[LOCAL..LOCAL + 4].copy_from_slice(&local.0.to_le_bytes());
    if !ports.is_empty() {
        message.extend(type_word(disposition, 64, ports.len() as u32).to_le_bytes());
        ports.iter().for_each(|name| message.extend(u64::from(*name).to_le_bytes()));
    }
    let option = option::SEND_MSG | option::SEND_TIMEOUT;
    let request = Request { option, send_size: message.len(), timeout: SOON, ..Request::default() };
    match task.mach_msg(&mut message, &request) {
        Code::SUCCESS => Ok(()),
        code => Err(anyhow!("mach_msg, the first message sent: {code}")),
    }
}

/// Receives one message: the rights in it, and the name of its reply port.
pub fn receive(task: Task, port: u32) -> anyhow::Result<(Vec<u32>, u32)> {
    let mut message = vec![0; ROOM];
    let option = option::RCV_MSG | option::RCV_TIMEOUT;
    let request = Request { option, receive_size: ROOM, receive_name: port, timeout: SOON, ..Request::default() };
    match task.mach_msg(&mut message, &request) {
        Code::SUCCESS => {}
        code => return Err(anyhow!("mach_msg, the first message received: {code}")),
    }
    let word = |at: usize| u32::from_le_bytes(message[at..at + 4].try_into().unwrap_or_default());
    let size = word(SIZE) as usize;
    ensure!((HEADER..=ROOM).contains(&size), "a message of {size} bytes");
    let names = (DATA..size).step_by(SLOT).map(word).collect();
    Ok((names, word(REMOTE)))
}

/// A task's own port, and its send right to the other's.
#[derive(Debug, Clone, Copy)]
pub struct Ends {
    pub task: Task,
    pub own: u32,
    pub other: u32,
}

/// Two new tasks of this process that have send rights to each other's ports.
fn two_tasks() -> anyhow::Result<(Ends, Ends)> {
    let (ours, theirs) = (Task::new(), Task::new());
    let port = |task: Task| task.allocate(right::RECEIVE).context("mach_port_allocate");
    let (our_port, their_port) = (port(ours)?, port(theirs)?);
    let give = |from: Task, name, to| from.extract_right(name, types::MAKE_SEND, to).context("mach_port_extract_right");
    let (to_us, to_them) = (give(ours, our_port, theirs)?, give(theirs, their_port, ours)?);
    Ok((Ends { task: ours, own: our_port, other: to_them }, Ends { task: theirs, own: their_port, other: to_us }))
}

/// Calls, or messages, to a server: a thread that ends with its process, which is the other one, or the client's, where it has a
/// task of its own. `make` makes either's end; the client gets the server's rights too, if they are in its process.
pub fn served<E: Send + 'static>(
    (link, job, in_one_process): (&mut Link, &Job, bool),
    make: impl Fn(&mut Link, Ends) -> anyhow::Result<E>,
    serve: impl FnOnce(E) -> anyhow::Result<()> + Send + 'static,
    client: impl FnOnce(E, Option<Ends>) -> anyhow::Result<Box<dyn Exchange>>,
) -> anyhow::Result<Box<dyn Exchange>> {
    let (mine, theirs) = match (in_one_process, job.side) {
        (true, Side::Server) => (None, None),
        (true, Side::Client) => two_tasks().map(|(ours, theirs)| (Some(ours), Some(theirs)))?,
        (false, side) => {
            let ends = meet(Task::current(), link, side)?;
            if side == Side::Client { (Some(ends), None) } else { (None, Some(ends)) }
        }
    };
    if let Some(ends) = theirs {
        let end = make(link, ends)?;
        serve_beside(ends.task, job.servers_cpu, move || serve(end))?;
    }
    let Some(ends) = mine else { return idle() };
    let end = make(link, ends)?;
    ends.task.enter();
    client(end, theirs)
}

/// Starts a thread that works for `task` and stays on `cpu`.
pub fn serve_beside(task: Task, cpu: usize, serve: impl FnOnce() -> anyhow::Result<()> + Send + 'static) -> anyhow::Result<()> {
    beside(cpu, move || {
        task.enter();
        serve()
    })
}

/// What a function in C returned: a code of Mach.
pub fn outcome(what: &str, code: i32) -> anyhow::Result<()> {
    ensure!(code == 0, "{what}: {}", slipway_mach::abi::Code(code));
    Ok(())
}
