//! The processes that time the stages of calls.

use super::stubs::{self, CALLS, Clock, Looped, Readings};
use crate::colocate::cases::{Method, Test};
use crate::colocate::peer::{Traps, settle};
use crate::colocate::stubs::{self as calls, Client};
use crate::stats::median;
use crate::trips::cases::{Method as _, Test as _};
use crate::trips::job::{Args, Job, Side, Work, begin};
use crate::trips::link::Link;
use crate::trips::meet::{End, meet, serve_beside, servers_cpu, two_tasks};
use crate::trips::{self, Placement};
use anyhow::{Context, bail, ensure};
use serde::{Deserialize, Serialize};
use slipway_fabric::turn::Turn;
use slipway_mach::task::Task;
use std::hint::black_box;
use std::time::{Duration, Instant};

/// What is timed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum What {
    /// A message, at the borders between stubs, library and routine.
    Borders,
    /// The halves of its sender's `mach_msg`, which are two calls then.
    Halves,
    /// What is within a call by trap, in loops.
    Loops,
    /// Plain stubs and those that ask for a trap, in turns.
    Stubs,
}

/// One thing to time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Probe {
    /// What.
    pub what: What,
    /// Of which call.
    pub test: Test,
    /// Made how.
    pub method: Method,
    /// Where.
    pub placement: Placement,
}

impl trips::Case for Probe {
    const PEER: &str = "colocate-probe";

    fn placement(&self) -> Placement {
        self.placement
    }

    fn test(&self) -> String {
        self.test.name()
    }

    fn way(&self) -> String {
        format!("{}, {}", self.method.name(), format!("{:?}", self.what).to_lowercase())
    }

    fn sleeps(&self) -> bool {
        false
    }
}

/// A time that was found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// Of what.
    pub part: String,
    /// The median of the run, nanoseconds.
    pub ns: f64,
}

/// Readings on the client's side, in their order.
#[derive(Clone, Copy)]
enum OfClient {
    Called,
    Asks,
    Asked,
    Answered,
    Returned,
}

/// Readings on the server's.
#[derive(Clone, Copy)]
enum OfServer {
    Taken,
    Entered,
    Left,
    Done,
    Replied,
}

/// The border of a stage.
#[derive(Clone, Copy)]
enum Border {
    Client(OfClient),
    Server(OfServer),
}

use Border::{Client as C, Server as S};

/// What is between two readings.
type Span = (&'static str, Border, Border);

/// The client's stub before its `mach_msg`; the names of the times here and below.
pub const CLIENT_BEFORE: &str = "client's stub, before";
/// From there to the server's demultiplexer.
pub const REQUEST: &str = "request";
/// The demultiplexer and the server's stub up to the routine.
pub const SERVER_BEFORE: &str = "server's stub, before";
/// The routine.
pub const ROUTINE: &str = "routine";
/// From there to the end of the demultiplexer.
pub const SERVER_AFTER: &str = "server's stub, after";
/// From there to the end of the client's `mach_msg`.
pub const REPLY: &str = "reply";
/// The rest of the client's stub.
pub const CLIENT_AFTER: &str = "client's stub, after";
/// All of the call.
pub const WHOLE: &str = "all";
/// Sending the request, of [`REQUEST`].
pub const REQUEST_SENT: &str = "request sent";
/// Sending the reply, of [`REPLY`].
pub const REPLY_SENT: &str = "reply sent";
/// A reading of the clock.
pub const STAMP: &str = "stamp";

const BORDERS: [Span; 8] = [
    (CLIENT_BEFORE, C(OfClient::Called), C(OfClient::Asks)),
    (REQUEST, C(OfClient::Asks), S(OfServer::Taken)),
    (SERVER_BEFORE, S(OfServer::Taken), S(OfServer::Entered)),
    (ROUTINE, S(OfServer::Entered), S(OfServer::Left)),
    (SERVER_AFTER, S(OfServer::Left), S(OfServer::Done)),
    (REPLY, S(OfServer::Done), C(OfClient::Answered)),
    (CLIENT_AFTER, C(OfClient::Answered), C(OfClient::Returned)),
    (WHOLE, C(OfClient::Called), C(OfClient::Returned)),
];

const HALVES: [Span; 2] =
    [(REQUEST_SENT, C(OfClient::Asks), C(OfClient::Asked)), (REPLY_SENT, S(OfServer::Done), S(OfServer::Replied))];

/// The nanoseconds between two borders in each call, what a reading takes taken off: the span holds the end of one
/// and the beginning of another, and [`WHOLE`] all that are in it.
fn span(span: &Span, clients: &Readings, servers: &Readings, clock: &Clock, stamp: f64) -> Vec<f64> {
    let (name, from, to) = span;
    let at = |border: Border, call: usize| match border {
        C(reading) => clients[call][reading as usize],
        S(reading) => servers[call][reading as usize],
    };
    let readings = if *name == WHOLE { 7.0 } else { 1.0 };
    let calls = 0..clients.len().min(servers.len());
    calls.map(|call| at(*to, call).wrapping_sub(at(*from, call)) as i64 as f64 * clock.ns - readings * stamp).collect()
}

/// Does the job of `args`.
///
/// # Errors
/// When the measurement can't be made.
pub fn run(args: &Args) -> anyhow::Result<()> {
    let (mut link, job) = begin::<Probe>(args)?;
    let Work::Time(seconds) = job.work else { bail!("nothing but times can be had here") };
    let found = match job.case.what {
        What::Borders | What::Halves => stages(&mut link, &job, seconds)?,
        What::Loops => loops(&mut link, &job, seconds)?,
        What::Stubs => in_turns(&mut link, &job, seconds)?,
    };
    if job.side == Side::Client {
        println!("{}", serde_json::to_string(&found)?);
    }
    Ok(())
}

/// Until the time is over, at least a few times.
fn goes(seconds: f64) -> impl Iterator<Item = u32> {
    let end = Instant::now() + Duration::from_secs_f64(seconds);
    (0..).take_while(move |go| *go < 8 || Instant::now() < end)
}

/// The medians of goes under their names.
#[derive(Default)]
struct Medians(Vec<(String, Vec<f64>)>);

impl Medians {
    fn add(&mut self, part: &str, value: Option<f64>) {
        let Some(value) = value else { return };
        match self.0.iter_mut().find(|(name, _)| name == part) {
            Some((_, values)) => values.push(value),
            None => self.0.push((part.to_owned(), vec![value])),
        }
    }

    fn figures(self) -> Vec<Figure> {
        let figure = |(part, values): (String, Vec<f64>)| Some(Figure { part, ns: median(&values)? });
        self.0.into_iter().filter_map(figure).collect()
    }
}

fn serve_stamped(end: End, cpu: usize) -> anyhow::Result<()> {
    serve_beside(end.task, cpu, move || stubs::serve(end.own))
}

/// A client's end, and where the server's readings come from; None in a process that has no client.
fn stamped_ends(link: &mut Link, job: &Job<Probe>) -> anyhow::Result<Option<(u32, bool)>> {
    if job.case.method == Method::OneProcess {
        let Some(cpu) = servers_cpu(link, job)? else { return Ok(None) };
        let (ours, theirs) = two_tasks()?;
        serve_stamped(theirs, cpu)?;
        ours.task.enter();
        return Ok(Some((ours.other, true)));
    }
    let task = Task::current();
    let (own, other) = meet(task, link, job.side)?;
    if job.side == Side::Client {
        return Ok(Some((other, false)));
    }
    serve_stamped(End { task, own, other }, job.cpu)?;
    while link.announced()?.is_some() {
        let readings: Vec<u8> = stubs::readings(true).iter().flatten().flat_map(|reading| reading.to_ne_bytes()).collect();
        link.send(&readings, &[])?;
    }
    Ok(None)
}

/// The readings of the server's process.
fn take_readings(link: &mut Link) -> anyhow::Result<Readings> {
    let mut bytes = vec![0; size_of_val(&*stubs::readings(true))];
    link.announce(CALLS as u64)?;
    let length = link.receive(&mut bytes, drop)?;
    ensure!(length == bytes.len(), "{length} bytes of readings");
    let words = bytes.as_chunks().0.iter().map(|word| u64::from_ne_bytes(*word)).collect::<Vec<_>>();
    Ok(words.as_chunks().0.to_vec())
}

fn stages(link: &mut Link, job: &Job<Probe>, seconds: f64) -> anyhow::Result<Vec<Figure>> {
    let Probe { what, test, method, .. } = job.case;
    let halves = what == What::Halves;
    let clock = Clock::begin(halves);
    let Some((server, here)) = stamped_ends(link, job)? else { return Ok(Vec::new()) };
    let mut client = Client::take(method)?;
    let mut medians = Medians::default();
    let spans: &[Span] = if halves { &HALVES } else { &BORDERS };
    for go in goes(seconds) {
        stubs::go(&mut client, test, server)?;
        let servers = if here { stubs::readings(true) } else { take_readings(link)? };
        let stamp = median(&stubs::costs()).context("no readings")? * clock.ns;
        // The first go warms both ends up.
        if go > 0 {
            let clients = stubs::readings(false);
            medians.add(STAMP, Some(stamp));
            for one in spans {
                medians.add(one.0, median(&span(one, &clients, &servers, &clock, stamp)));
            }
        }
    }
    Ok(medians.figures())
}

/// Iterations of a loop in a go: some tens of microseconds.
const TIMES: u32 = 2000;

/// A loop around nothing; the names of the times of loops here and below.
pub const LOOP: &str = "loop";
/// The server's routine, as a C call.
pub const LOOP_ROUTINE: &str = "routine called";
/// The server's trap function.
pub const LOOP_FUNCTION: &str = "trap function called";
/// `mach_trap`.
pub const LOOP_TRAP: &str = "mach_trap called";
/// The client's stub.
pub const LOOP_STUB: &str = "trap stub called";
/// A place taken in a turn, and given back.
pub const LOOP_TURN: &str = "turn taken and given back";

fn loops(link: &mut Link, job: &Job<Probe>, seconds: f64) -> anyhow::Result<Vec<Figure>> {
    const LOOPS: [(&str, Looped); 5] = [
        (LOOP, Looped::Nothing),
        (LOOP_ROUTINE, Looped::Routine),
        (LOOP_FUNCTION, Looped::Function),
        (LOOP_TRAP, Looped::Trap),
        (LOOP_STUB, Looped::Stub),
    ];
    let Some(cpu) = servers_cpu(link, job)? else { return Ok(Vec::new()) };
    let (ours, theirs) = two_tasks()?;
    serve_beside(theirs.task, cpu, move || {
        calls::register(theirs.own, false)?;
        calls::serve(theirs.own)
    })?;
    ours.task.enter();
    let mut client = Client::take(Method::Trap)?;
    let test = job.case.test;
    settle(&mut client, Method::Trap, test, ours.other)?;
    let traps = Traps::settle(&mut client, test, ours.other, &[(theirs, 1)])?;
    let mut turns = client.turns();
    let turn = Turn::new(false, false);
    let mut medians = Medians::default();
    let each = |took: Duration| took.as_nanos() as f64 / f64::from(TIMES);
    for _ in goes(seconds) {
        for (name, looped) in LOOPS {
            let start = Instant::now();
            stubs::repeat(&mut client, looped, test, ours.other, TIMES)?;
            medians.add(name, Some(each(start.elapsed())));
            turns += if matches!(looped, Looped::Trap | Looped::Stub) { u64::from(TIMES) } else { 0 };
        }
        let start = Instant::now();
        for _ in 0..TIMES {
            black_box(black_box(&turn).enter() && turn.leave());
        }
        medians.add(LOOP_TURN, Some(each(start.elapsed())));
    }
    traps.check(turns)?;
    Ok(medians.figures())
}

/// Calls in a row by one kind of stubs: some tens of microseconds.
const ROW: u32 = 50;

/// The name of the time of a call by a plain stub, and of one by a stub that asks for a trap.
pub const BY_STUB: [&str; 2] = ["plain stub", "trap stub"];

/// Calls to the same server in another process by stubs of both kinds: a few of one, a few of the other, twice as many
/// of the first, and so on, so that nothing but the stub differs.
fn in_turns(link: &mut Link, job: &Job<Probe>, seconds: f64) -> anyhow::Result<Vec<Figure>> {
    let Probe { test, method, .. } = job.case;
    let task = Task::current();
    let (own, other) = meet(task, link, job.side)?;
    if job.side == Side::Server {
        serve_beside(task, job.cpu, move || {
            if method == Method::MessageTrapStubs {
                calls::register(own, false)?;
            }
            calls::serve(own)
        })?;
        ensure!(link.announced()?.is_none(), "the server was asked for readings");
        return Ok(Vec::new());
    }
    let mut client = Client::take(Method::Message)?;
    let mut medians = Medians::default();
    for go in goes(seconds) {
        for stub in [0, 1, 1, 0] {
            client.change([Method::Message, Method::MessageTrapStubs][stub])?;
            let start = Instant::now();
            (0..ROW).try_for_each(|_| client.call(test, other))?;
            if go > 1 {
                medians.add(BY_STUB[stub], Some(start.elapsed().as_nanos() as f64 / f64::from(ROW)));
            }
        }
    }
    Ok(medians.figures())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_between_readings_of_either_side() {
        let clients: Readings = vec![[100, 120, 0, 900, 910], [1100, 1122, 0, 1910, 1930]];
        let servers: Readings = vec![[400, 410, 412, 430, 0], [1400, 1412, 1414, 1431, 0]];
        let clock = Clock { ns: 0.5 };
        let of = |name: &str| {
            let one = BORDERS.iter().find(|one| one.0 == name).unwrap();
            span(one, &clients, &servers, &clock, 2.0)
        };
        assert_eq!(of(CLIENT_BEFORE), [8.0, 9.0]);
        assert_eq!(of(REQUEST), [138.0, 137.0]);
        assert_eq!(of(ROUTINE), [-1.0, -1.0]);
        assert_eq!(of(REPLY), [233.0, 237.5]);
        assert_eq!(of(WHOLE), [391.0, 401.0]);
    }

    #[test]
    fn figures_are_medians() {
        let mut medians = Medians::default();
        for value in [3.0, 9.0, 1.0] {
            medians.add("a", Some(value));
        }
        medians.add("b", None);
        assert_eq!(medians.figures(), [Figure { part: "a".to_owned(), ns: 3.0 }]);
    }
}
