//! The library's own interfaces, as `include/mach/*.defs` describe them: what mig makes of them is compiled, and talks with
//! the library and with the name server.

use crate::support;
use slipway_test_support::{NameServer, repository};
use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    process::{Command, ExitCode},
};

/// Stubs of one of the library's interfaces, callers' with the prefix `stub_`, in a directory of their own.
pub fn stubs(name: &str) -> PathBuf {
    let directory = support::program(&format!("stubs-{name}"));
    std::fs::create_dir_all(&directory).expect("make a directory");
    let file = |end: &str| directory.join(format!("{name}{end}")).into_os_string();
    let defs = repository(&format!("include/mach/{name}.defs")).into_os_string();
    let mig = |options: Vec<OsString>| {
        let words = ["-n".into(), "-I".into(), repository("include").into()].into_iter().chain(options).chain([defs.clone()]);
        assert!(slipway_mig::cli::run(words) == ExitCode::SUCCESS, "mig refuses {name}.defs");
    };
    mig(vec!["-prefix".into(), "stub_".into(), "-user".into(), file("User.c"), "-header".into(), file("User.h")]);
    mig(vec!["-server".into(), file("Server.c"), "-sheader".into(), file("Server.h")]);
    directory
}

/// A program of `tests/c/stubs` with the stubs of the interface that it is about.
fn compile(name: &str) -> PathBuf {
    let stubs = stubs(name);
    let [user, server, directory] = [stubs.join(format!("{name}User.c")), stubs.join(format!("{name}Server.c")), stubs]
        .map(|path: PathBuf| path.display().to_string());
    let sources = [&format!("stubs/{name}.c"), "stubs/stubs.c", "check.c"];
    support::compile(&format!("stubs-of-{name}"), &sources, &["-I", &directory, &user, &server])
}

fn run(program: &Path, socket: Option<&Path>) {
    let mut command = Command::new(program);
    command.envs(socket.map(|socket| ("SLIPWAY_BOOTSTRAP", socket)));
    support::run(&mut command);
}

#[test]
fn the_name_servers_messages_are_those_of_its_interface() {
    let program = compile("bootstrap");
    let directory = tempfile::tempdir().expect("make a directory");
    let socket = directory.path().join("bootstrap");
    let _server = NameServer::start(&socket);
    run(&program, Some(&socket));
}

#[test]
fn notifications_are_those_of_their_interface() {
    run(&compile("notify"), None);
}
