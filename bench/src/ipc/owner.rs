//! Rights that are passed on: those of a third process, which has the ports.

use crate::harness::job::{Job, Side, Work};
use crate::harness::link::{self, Link};
use crate::meet::{give_right, receive, send, take_right};
use anyhow::{Context, ensure};
use slipway_mach::abi::{right, types};
use slipway_mach::task::Task;
use std::process::{Child, Command};

/// The third process: it ends when this is dropped, at the latest with its parent.
pub struct Owner {
    process: Child,
    link: Option<Link>,
}

impl Drop for Owner {
    fn drop(&mut self) {
        drop(self.link.take());
        let _ = self.process.wait();
    }
}

/// So many send rights to ports of the owner, other ones on either side. The client starts the owner.
pub fn rights(task: Task, link: &mut Link, job: &Job) -> anyhow::Result<(Vec<u32>, Option<Owner>)> {
    let (owner, service) = match job.side {
        Side::Client => {
            let mut owner = start(job)?;
            let to_owner = owner.link.as_mut().context("no link to the owner")?;
            let service = take_right(task, to_owner)?;
            // The server's, passed on as it is.
            for _ in 0..2 {
                link.give(to_owner.take()?)?;
            }
            (Some(owner), service)
        }
        Side::Server => (None, take_right(task, link)?),
    };
    let reply = task.allocate(right::RECEIVE).context("mach_port_allocate")?;
    send(task, (service, types::COPY_SEND), (reply, types::MAKE_SEND_ONCE), &[])?;
    let (names, _) = receive(task, reply)?;
    ensure!(names.len() == job.case.test.ports as usize, "the owner gave {} rights", names.len());
    Ok((names, owner))
}

fn start(job: &Job) -> anyhow::Result<Owner> {
    let (near, far) = link::pair()?;
    let job = Job { work: Work::Special, ..job.clone() };
    let mut command = Command::new(std::env::current_exe().context("own path")?);
    let process = command.args(job.arguments()?).stdin(far).spawn().context("can't start the owner")?;
    Ok(Owner { process, link: Some(Link::new(near)) })
}

/// What the owner does: has ports, gives rights to them to both sides, and stays until they are done.
pub fn own(link: &mut Link, count: u32) -> anyhow::Result<()> {
    let task = Task::current();
    let port = || task.allocate(right::RECEIVE).context("mach_port_allocate");
    let service = port()?;
    for _ in 0..2 {
        give_right(task, link, service)?;
    }
    let mut kept = Vec::new();
    for _ in 0..2 {
        let (_, reply) = receive(task, service)?;
        let ports = (0..count).map(|_| port()).collect::<anyhow::Result<Vec<_>>>()?;
        send(task, (reply, types::MOVE_SEND_ONCE), (0, 0), &ports)?;
        kept.push(ports);
    }
    ensure!(link.announced()?.is_none(), "the owner was asked for answers");
    Ok(())
}
