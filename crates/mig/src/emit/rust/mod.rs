//! Rust stubs: one module for an interface, with a trait for servers and a client.
//!
//! They share the layout of messages with C by the order of arguments and by what [`crate::layout`] says of limits; what lies
//! in a message, and its checks, are slipway_mach::mig's, which the module calls. There is no dialect in here.

mod check;
mod client;
mod names;
mod server;
mod settings;
mod text;
mod translate;
mod trap;
mod types;
mod unique;
mod view;
mod writer;

pub use check::check;

use crate::model::{Interface, Routine};
use writer::Writer;

/// Which halves a module has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Halves {
    /// For callers.
    Client,
    /// For servers.
    Server,
    /// Both.
    Both,
}

/// The module of an interface that [`check()`] found nothing wrong with. With `traps`, its routines are called where they can
/// be.
pub fn module(interface: &Interface, halves: Halves, traps: bool) -> String {
    let interface = &unique::named(interface);
    let mut body = Writer::default();
    types::define(&mut body, interface);
    text::replies(&mut body, interface);
    if traps {
        trap::define(&mut body, interface);
    }
    if halves != Halves::Server {
        client::client(&mut body, interface, traps);
    }
    if halves != Halves::Client {
        server::server(&mut body, interface, traps);
    }
    let body = body.finish();
    let mut w = Writer::default();
    w.line(format!("// The subsystem {}, made by mig. Do not edit: change the .defs file.", interface.name));
    w.line("");
    w.line("use slipway_mach::mig;");
    imports(&mut w, interface, &body);
    w.line("");
    w.finish() + &body
}

fn imports(w: &mut Writer, interface: &Interface, body: &str) {
    let has = |word: &str| body.split(|c: char| !c.is_alphanumeric()).any(|found| found == word);
    match (has("CStr"), has("CString")) {
        (true, true) => w.line("use std::ffi::{CStr, CString};"),
        (true, false) => w.line("use std::ffi::CStr;"),
        (false, true) => w.line("use std::ffi::CString;"),
        (false, false) => {}
    }
    let times = |r: &Routine| settings::has_times(r);
    if interface.routines().any(times) && has("Duration") {
        w.line("use std::time::Duration;");
    }
}

/// The file name of a module where none was given.
pub fn file_name(interface: &Interface) -> String {
    format!("{}.rs", names::plain_snake(&interface.name))
}
