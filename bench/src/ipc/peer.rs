//! One of the two processes of a measurement.

use super::cases::{Case, Method, Test};
use super::echo::Echo;
use super::methods::{floors, futex, iceoryx, ipc_channel, line, mach, pipe, socket};
use crate::trips::job::{Args, Side, Work, begin, work};
use crate::trips::{self, Case as _};
use anyhow::bail;

/// What a process is started for.
pub type Job = trips::job::Job<Case>;

/// Does the job of `args`.
///
/// # Errors
/// When the measurement can't be made.
pub fn run(args: &Args) -> anyhow::Result<()> {
    let (mut link, job) = begin::<Case>(args)?;
    match (job.work, job.case.test, job.side) {
        (Work::Own, Test::PassedOn(count), _) => return mach::owner::own(&mut link, count),
        (Work::Weigh(count), _, Side::Client) => {
            println!("{}", mach::local::weigh(count)?);
            return Ok(());
        }
        _ => {}
    }
    match (job.case.method, job.case.test) {
        (Method::CacheLine, _) => work::<floors::CacheLine>(&mut link, &job),
        (Method::Futex, _) => work::<futex::Futex>(&mut link, &job),
        (Method::Yield, _) => work::<floors::Yield>(&mut link, &job),
        (Method::Copy, _) => work::<floors::Copy>(&mut link, &job),
        (Method::Clock, _) => work::<floors::Clock>(&mut link, &job),
        (Method::Pipe, Test::Longwords(_)) => work::<Echo<pipe::Pipe>>(&mut link, &job),
        (Method::Socket, Test::Longwords(_)) => work::<Echo<socket::Socket>>(&mut link, &job),
        (Method::Socket, Test::Ports(_)) => work::<socket::Rights>(&mut link, &job),
        (Method::Fabric, Test::Longwords(_)) => work::<Echo<line::Line>>(&mut link, &job),
        (Method::IpcChannel, Test::Longwords(_)) => work::<Echo<ipc_channel::Bytes>>(&mut link, &job),
        (Method::IpcChannel, Test::Ports(_)) => work::<ipc_channel::Rights>(&mut link, &job),
        (Method::Iceoryx2, Test::Longwords(_)) => work::<iceoryx::Iceoryx>(&mut link, &job),
        (Method::Mach, Test::MakePort) => work::<mach::local::MakePort>(&mut link, &job),
        (Method::Mach | Method::MachSleep, _) => work::<mach::Mach>(&mut link, &job),
        (Method::MachOneProcess, _) => work::<mach::OneProcess>(&mut link, &job),
        _ => bail!("{} can't be done", job.case.name()),
    }
}
