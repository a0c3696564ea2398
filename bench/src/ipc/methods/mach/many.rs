//! Requests to many ports of the server.

use super::End;
use crate::trips::job::Side;
use crate::trips::meet::{receive, send_rights};
use anyhow::Context;
use slipway_mach::abi::{right, types};

/// So many ports that the server makes, and gives rights to.
///
/// # Errors
/// When the other process is gone, or doesn't answer.
pub fn owned(end: &mut End, side: Side, count: u32) -> anyhow::Result<()> {
    match side {
        Side::Client => end.others = receive(end.task, end.own)?.0,
        Side::Server => {
            let ports = make(end, count)?;
            send_rights(end.task, (end.other, types::COPY_SEND), (0, 0), (types::MAKE_SEND, &ports))?;
            listen(end, &ports)?;
        }
    }
    Ok(())
}

/// So many ports that the client makes, and moves to the server.
///
/// # Errors
/// As for [`owned`].
pub fn moved(end: &mut End, side: Side, count: u32) -> anyhow::Result<()> {
    match side {
        Side::Client => {
            let ports = make(end, count)?;
            for port in &ports {
                let made = end.task.insert_right(*port, end.task, *port, types::MAKE_SEND);
                made.context("mach_port_insert_right")?;
            }
            send_rights(end.task, (end.other, types::COPY_SEND), (0, 0), (types::MOVE_RECEIVE, &ports))?;
            end.others = ports;
        }
        Side::Server => {
            let ports = receive(end.task, end.own)?.0;
            listen(end, &ports)?;
        }
    }
    Ok(())
}

fn make(end: &End, count: u32) -> anyhow::Result<Vec<u32>> {
    let ports = (0..count).map(|_| end.task.allocate(right::RECEIVE));
    ports.collect::<Result<_, _>>().context("mach_port_allocate")
}

/// Receives from all of the ports.
fn listen(end: &mut End, ports: &[u32]) -> anyhow::Result<()> {
    let set = end.task.allocate(right::PORT_SET).context("mach_port_allocate")?;
    for port in ports {
        end.task.move_member(*port, set).context("mach_port_move_member")?;
    }
    end.own = set;
    Ok(())
}
