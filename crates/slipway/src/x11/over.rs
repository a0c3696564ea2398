//! `slipway x11 --over ports`: what the hooks need for it, and programs that hold the port of a display.

use std::env;
use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::Command;
use std::thread;

use clap::ValueEnum;
use slipway_mach::{
    Request,
    abi::{Code, HEADER, option, types},
    bootstrap::{inherited::Inheritance, launch},
    rights::{ReceiveRight, Received, SendRight},
    task::Task,
};

use crate::args::Over;
use crate::failure::{Failure, OWN};
use crate::locate;
use crate::program::Program;

const OVER: &str = "SLIPWAY_X11_OVER";
const LIBMACH: &str = "SLIPWAY_LIBMACH";
const HELD: &str = "SLIPWAY_X11_HELD";

/// Most bytes in a request for a connection.
const MOST_BODY: usize = 64;
/// How long a request may wait for room in the queue of the display's port, in milliseconds.
const PATIENCE: u32 = 5_000;

/// The variables that tell the hooks to go over ports, if the option or else the environment says so.
///
/// # Errors
/// The variable has another value; a part that the hooks need is not there.
pub fn variables(option: Option<Over>) -> Result<Vec<(&'static str, OsString)>, Failure> {
    let over = match (option, env::var_os(OVER).filter(|text| !text.is_empty())) {
        (Some(over), _) => over,
        (None, None) => return Ok(Vec::new()),
        (None, Some(text)) => Over::from_str(&text.to_string_lossy(), false).map_err(|_| {
            Failure::usage(format!("environment variable {OVER}={}: expected one of rings, ports", text.to_string_lossy()))
        })?,
    };
    if over == Over::Rings {
        return Ok(vec![(OVER, "rings".into())]);
    }
    let missing = |missing: locate::Missing| Failure::new(OWN, missing.to_string());
    let library = locate::libmach(env::var_os(LIBMACH)).map_err(missing)?;
    let mut variables = vec![(OVER, "ports".into()), (LIBMACH, library.into_os_string())];
    // Found as this program finds it; the hooks are in another place.
    locate::bootstrap().map_err(missing)?;
    if let Ok(program) = launch::find() {
        variables.push((launch::PROGRAM_VARIABLE, program.into_os_string()));
    }
    Ok(variables)
}

/// A display number from `:99`, `:99.0` or `99`.
fn number(display: &str) -> Option<u32> {
    let text = display.strip_prefix(':').unwrap_or(display);
    text.split_once('.').map_or(text, |(number, _)| number).parse().ok()
}

/// Runs the program with a right to a port of this process, from which requests for connections go on to the display: the right ends with
/// this process. Returns the program's exit code, or 128 + the signal that ended it.
///
/// # Errors
/// The display is not to be had over ports, or the program can't be run.
pub fn hold(display: &str, mut command: Command, program: &Program) -> Result<u8, Failure> {
    let number = number(display).ok_or_else(|| Failure::usage(format!("--hold {display}: expected a display such as :99")))?;
    let service = format!("x11.{number}");
    let target = SendRight::look_up(&service).map_err(|why| {
        Failure::new(
            OWN,
            format!("display :{number} can't be held: {why}; start its server with `slipway x11 --over ports -- Xvfb :{number}`"),
        )
    })?;
    let failed = |error: &dyn std::fmt::Display| Failure::own(format!("the port of display :{number}"), error);
    let port = ReceiveRight::new().map_err(|error| failed(&error))?;
    let inheritance = Inheritance::new(Task::current(), port.name()).map_err(|error| failed(&error))?;
    let (_, value) = inheritance.make_inheritable(Path::new(&format!(":{number}"))).map_err(|error| failed(&error))?;
    command.env(HELD, value).env("DISPLAY", format!(":{number}"));
    let mut child = command.spawn().map_err(|error| program.exec_failure(&error))?;
    drop(inheritance);
    thread::spawn(move || {
        while let Ok(request) = port.receive(None) {
            pass_on(request, &target);
        }
    });
    let status = child.wait().map_err(|error| failed(&error))?;
    let code = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0));
    Ok(u8::try_from(code).unwrap_or(OWN))
}

/// Sends a request for a connection on, with the client's right as its reply port. Anything else is dropped.
fn pass_on(mut request: Received, target: &SendRight) {
    let Some(client) = request.take_reply_send() else { return };
    // Nothing of a connection message is typed: this can't be one.
    if request.body().len() > MOST_BODY {
        return;
    }
    let size = HEADER + request.body().len();
    let mut message = Vec::with_capacity(size);
    for word in [types::COPY_SEND | types::MOVE_SEND << 8, size as u32, target.name(), 0, client.name(), 0, 0] {
        message.extend(word.to_ne_bytes());
    }
    message.extend(request.id().to_ne_bytes());
    message.extend(request.body());
    let send =
        Request { option: option::SEND_MSG | option::SEND_TIMEOUT, send_size: size, timeout: PATIENCE, ..Request::default() };
    if Task::current().mach_msg(&mut message, &send) == Code::SUCCESS {
        // It moved.
        client.into_name();
    }
}
