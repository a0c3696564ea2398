//! How two tasks come to have send rights to each other's ports, and single messages of the set-up.

use super::{BITS, DATA, HEADER, LOCAL, REMOTE, SIZE, SLOT, SOON};
use crate::trips::job::Side;
use crate::trips::link::Link;
use anyhow::{Context, anyhow, ensure};
use slipway_ports::abi::{COMPLEX, Code, option, right, types};
use slipway_ports::msg::Request;
use slipway_ports::state::notify::type_word;
use slipway_ports::task::Task;

/// Room for a message of the set-up: as many rights as a test has.
const ROOM: usize = DATA + 256 * SLOT;

/// A port of this task, and a send right to one of the other process. The first right goes as descriptors,
/// the second in a message.
///
/// # Errors
/// When the other process is gone, or doesn't answer.
pub fn meet(task: Task, link: &mut Link, side: Side) -> anyhow::Result<(u32, u32)> {
    let own = task.allocate(right::RECEIVE).context("mach_port_allocate")?;
    if side == Side::Server {
        give_right(task, link, own)?;
        return Ok((own, receive(task, own)?.1));
    }
    let other = take_right(task, link)?;
    send(task, (other, types::COPY_SEND), (own, types::MAKE_SEND), &[])?;
    Ok((own, other))
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
    let mut message = vec![0; HEADER];
    let complex = if ports.is_empty() { 0 } else { COMPLEX };
    message[BITS..SIZE].copy_from_slice(&(remote.1 | local.1 << 8 | complex).to_le_bytes());
    message[REMOTE..REMOTE + 4].copy_from_slice(&remote.0.to_le_bytes());
    message[LOCAL..LOCAL + 4].copy_from_slice(&local.0.to_le_bytes());
    if !ports.is_empty() {
        message.extend(type_word(types::MAKE_SEND, 64, ports.len() as u32).to_le_bytes());
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
