//! A mistake: a task with a Mach of its own, as programs have it, which is not loaded.

use mach as _;
use slipway_mach::rights::ReceiveRight;
use std::ffi::OsString;

slipway_domain::task_main!(run);

fn run(_arguments: Vec<OsString>) -> i32 {
    i32::from(ReceiveRight::new().is_err())
}
