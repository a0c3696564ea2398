//! What it costs to be there: to start a program by `slipway`, to make a connection, to run a program that asks the server
//! for a few things. The scheduler places the processes; the two sides take turns.

use super::plan::Stage;
use super::server::{Server, Setup};
use crate::harness::format::{median, microseconds, ratio};
use crate::harness::process::Interrupt;
use crate::harness::table::table;
use anyhow::{Context, bail, ensure};
use serde::Serialize;
use std::env;
use std::ffi::OsStr;
use std::fs;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};
use std::time::Instant;

/// Turns of each pair of sides, of which the median counts.
const TURNS: usize = 61;

/// Connections in a turn: fewer than those after which a process makes most of the next ones without an offer in mind.
const CONNECTIONS: u32 = 48;

/// Programs that ask an X server for a few things and end; those that are installed are run.
const PROGRAMS: [(&str, &[&str]); 5] =
    [("xdpyinfo", &[]), ("xwininfo", &["-root"]), ("xrandr", &[]), ("xprop", &["-root"]), ("xset", &["q"])];

/// A cost, in microseconds.
#[derive(Debug, Clone, Serialize)]
pub struct Cost {
    pub what: String,
    pub plain_us: f64,
    pub ours_us: f64,
    /// What it is more with us.
    pub more_us: f64,
    /// The rate with us divided by the plain one.
    pub ratio: f64,
}

/// Measures all costs.
pub fn measure(setup: &Setup, interrupt: &Interrupt) -> anyhow::Result<Vec<Cost>> {
    let plain = Server::start(setup, 0, None, None)?;
    let hooked = Server::start(setup, 1, None, Some(Stage::Full))?;
    let preload = hooked.preload.as_ref().context("the hooked server has no preload library")?;
    let bare = || Ok(Command::new("/bin/true"));
    let launched = |how: &'static str| {
        move || {
            let mut command = Command::new(&setup.slipway);
            command.args([how, "--", "/bin/true"]).env("SLIPWAY_PRELOAD", preload);
            Ok(command)
        }
    };
    let loaded = || {
        let mut command = Command::new("/bin/true");
        command.env("LD_PRELOAD", preload);
        Ok(command)
    };
    let mut costs = vec![
        pair("start of /bin/true, the library alone", interrupt, [&bare, &loaded], elapsed)?,
        pair("start of /bin/true by slipway x11", interrupt, [&bare, &launched("x11")], elapsed)?,
        pair("start of /bin/true by slipway sockets", interrupt, [&bare, &launched("sockets")], elapsed)?,
    ];
    let client = |server: &Server, program: &OsStr, arguments: &[&str]| {
        let mut command = Command::new(program);
        command.args(arguments);
        server.environment(&mut command, true);
        Ok(command)
    };
    let this = env::current_exe().context("own path")?;
    let count = CONNECTIONS.to_string();
    let connect = |server| client(server, this.as_os_str(), &["connect", &count]);
    costs.push(pair("connection to an X server", interrupt, [&|| connect(&plain), &|| connect(&hooked)], printed)?);
    for (program, arguments) in PROGRAMS {
        let run = |server| client(server, OsStr::new(program), arguments);
        if run(&plain)?.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success()) {
            costs.push(pair(program, interrupt, [&|| run(&plain), &|| run(&hooked)], elapsed)?);
        }
    }
    Ok(costs)
}

type Side<'a> = &'a dyn Fn() -> anyhow::Result<Command>;

fn pair(
    what: &str,
    interrupt: &Interrupt,
    sides: [Side<'_>; 2],
    time: fn(Command) -> anyhow::Result<f64>,
) -> anyhow::Result<Cost> {
    let mut found = [Vec::new(), Vec::new()];
    for turn in 0..TURNS {
        for at in [turn % 2, 1 - turn % 2] {
            interrupt.check()?;
            found[at].push(time(sides[at]()?).with_context(|| what.to_owned())?);
        }
    }
    let [plain_us, ours_us] = found.map(|times| median(&times).unwrap_or(0.0));
    Ok(Cost { what: what.to_owned(), plain_us, ours_us, more_us: ours_us - plain_us, ratio: plain_us / ours_us })
}

/// Microseconds from the start of a program to its end.
fn elapsed(mut command: Command) -> anyhow::Result<f64> {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let start = Instant::now();
    let status = command.spawn().and_then(|mut child| child.wait());
    let time = start.elapsed();
    ensure!(status.as_ref().is_ok_and(|status| status.success()), "{command:?}: {status:?}");
    Ok(time.as_secs_f64() * 1e6)
}

/// What a program prints.
fn printed(mut command: Command) -> anyhow::Result<f64> {
    let output = command.stdin(Stdio::null()).output().with_context(|| format!("{command:?}"))?;
    ensure!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8_lossy(&output.stdout).trim().parse()?)
}

/// The table for people.
pub fn shown(costs: &[Cost]) -> String {
    let heading = ["", "plain\nus", "ours\nus", "more\nus", "rate,\ntimes plain"].map(str::to_owned).to_vec();
    let more = |us: f64| if us < 0.0 { format!("-{}", microseconds(-us)) } else { microseconds(us) };
    let row = |cost: &Cost| {
        vec![cost.what.clone(), microseconds(cost.plain_us), microseconds(cost.ours_us), more(cost.more_us), ratio(cost.ratio)]
    };
    format!(
        "\nwhat it costs to be there: medians of {TURNS} turns, placed by the scheduler\n{}\n",
        table(heading, 4, costs.iter().map(row))
    )
}

/// `slipway-bench connect`: makes connections to the display, each with its greeting, and prints the microseconds of one.
pub fn connect(count: u32) -> anyhow::Result<()> {
    let display = env::var("DISPLAY").context("DISPLAY")?;
    let number: u32 = display.trim_start_matches(':').parse().with_context(|| format!("DISPLAY={display}"))?;
    let path = format!("/tmp/.X11-unix/X{number}");
    let cookie = env::var_os("XAUTHORITY").map(fs::read).transpose().context("XAUTHORITY")?;
    let greeting = greeting(&cookie.and_then(|entries| last_field(&entries)).unwrap_or_default());
    let mut rest = Vec::new();
    let start = Instant::now();
    for _ in 0..count {
        let mut server = UnixStream::connect(&path).with_context(|| path.clone())?;
        server.write_all(&greeting)?;
        let mut head = [0; 8];
        server.read_exact(&mut head)?;
        rest.resize(4 * usize::from(u16::from_le_bytes([head[6], head[7]])), 0);
        server.read_exact(&mut rest)?;
        if head[0] != 1 {
            bail!("the server of {display} refuses: {}", String::from_utf8_lossy(&rest));
        }
    }
    println!("{}", start.elapsed().as_secs_f64() * 1e6 / f64::from(count.max(1)));
    Ok(())
}

/// The cookie in a file of one entry: a family, then fields with their lengths, of which it is the last.
fn last_field(entry: &[u8]) -> Option<Vec<u8>> {
    let mut rest = entry.get(2..)?;
    let mut field = None;
    while let [high, low, tail @ ..] = rest {
        let length = usize::from(u16::from_be_bytes([*high, *low]));
        field = Some(tail.get(..length)?);
        rest = &tail[length..];
    }
    field.map(<[u8]>::to_vec)
}

/// The first message of a client of X11, little-endian.
fn greeting(cookie: &[u8]) -> Vec<u8> {
    const NAME: &[u8] = b"MIT-MAGIC-COOKIE-1";
    let name = if cookie.is_empty() { &[][..] } else { NAME };
    let mut bytes = vec![b'l', 0, 11, 0, 0, 0, name.len() as u8, 0, cookie.len() as u8, 0, 0, 0];
    for field in [name, cookie] {
        bytes.extend(field);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cookie_of_an_entry() {
        assert_eq!(last_field(b"\xff\xff\0\0\0\0\0\x12MIT-MAGIC-COOKIE-1\0\x02ab").as_deref(), Some(&b"ab"[..]));
        assert_eq!(last_field(b""), None);
    }

    #[test]
    fn a_greeting_is_padded() {
        assert_eq!(greeting(b"ab").len(), 12 + 20 + 4);
        assert_eq!(greeting(b"").len(), 12);
    }
}
