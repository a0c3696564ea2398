//! `slipway-bench ipc`: messages and rights, there and back, beside what was published for Mach.
//!
//! The tests are those of Hohmuth and Rudolph's table: a null message (the header), 16, 256 and 4095 longwords, and 1, 16
//! and 256 rights that the receiver deallocates. Beyond them: an RPC, whose answer goes to a send-once right; rights to
//! ports of a third process, passed on; a port that is made and destroyed and never leaves its task.

pub mod echo;
mod floors;
mod iceoryx;
mod line;
mod mach;
mod owner;
mod system;

use crate::channel::theirs;
use crate::harness::exchange::Exchange;
use crate::harness::job::Job;
use crate::harness::link::Link;
use crate::harness::{Code, Test};
use echo::{echo, passed_rights};
use floors::turns;

/// Ports whose memory is measured.
const WEIGHED: u64 = 100_000;
/// Bytes of the longest message.
const LONGEST: usize = 16_424;

pub const CODE: Code = Code { name: "ipc", prepare, special };

/// What a test is about.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// What the machine itself takes.
    Floor,
    /// Bytes.
    Data,
    /// Rights to ports of the sender.
    Rights,
    /// A request with a send-once right, to one port or to several that the server made.
    Rpc,
    /// The same, where the client made the ports and moved their receive rights to the server.
    Moved,
    /// Rights to ports of a third process.
    PassedOn,
    /// A port that never leaves its task.
    MakePort,
}

fn kind(test: &Test) -> Kind {
    match &*test.name {
        "floor" => Kind::Floor,
        "make-port" => Kind::MakePort,
        "rpc-100-moved" => Kind::Moved,
        name if name.starts_with("rpc") => Kind::Rpc,
        name if name.ends_with("passed-on") => Kind::PassedOn,
        _ if test.ports > 0 => Kind::Rights,
        _ => Kind::Data,
    }
}

fn prepare(link: &mut Link, job: &Job) -> anyhow::Result<Box<dyn Exchange>> {
    let rights = kind(job.case.test) == Kind::Rights;
    match &*job.case.method.name {
        "cache-line" => turns(link, job, floors::store, floors::watch),
        "futex" => turns(link, job, floors::wake, floors::sleep),
        "yield" => turns(link, job, floors::store, floors::give_way),
        "copy" => Ok(floors::copy(LONGEST)),
        "clock" => Ok(floors::clock()),
        "pipe" => echo::<system::Pipe>(link, job),
        "socket" if rights => passed_rights::<system::Socket>(link, job),
        "socket" => echo::<system::Socket>(link, job),
        "fabric" => echo::<line::Line>(link, job),
        "ipc-channel" if rights => passed_rights::<theirs::Channels>(link, job),
        "ipc-channel" => echo::<theirs::Bytes>(link, job),
        "iceoryx2" => Ok(Box::new(iceoryx::Iceoryx::new(link, job)?)),
        _ if kind(job.case.test) == Kind::MakePort => Ok(mach::make_port()),
        method => mach::messages(link, job, method == "mach-one-process"),
    }
}

/// The third process of rights that are passed on, and the one that says how many bytes a port takes.
fn special(link: &mut Link, job: &Job) -> anyhow::Result<()> {
    match kind(job.case.test) {
        Kind::PassedOn => owner::own(link, job.case.test.ports),
        _ => {
            println!("{}", mach::weigh(WEIGHED)?);
            Ok(())
        }
    }
}
