//! The sampler in C and in Rust as tasks: each client with each server, in one process and in two.

use crate::programs::{built, example, include_and_example, succeed};
use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// Makes a task of a party in C whose source is that of a program.
fn c_task(directory: &Path, role: &str, half: &str) -> PathBuf {
    let (include, sources) = include_and_example();
    for name in ["sampler", "tidy"] {
        let mut mig = Command::new(env!("CARGO_BIN_EXE_mig"));
        mig.arg("-I").arg(&include).arg("-sheader").arg(format!("{name}Server.h")).arg(sources.join(format!("{name}.defs")));
        succeed(mig.current_dir(directory));
    }
    let text = "#include <mach/task_main.h>\nextern int program(void);\n\
                MACH_TASK_MAIN(argc, argv) { (void) argc; (void) argv; return program(); }\n";
    fs::write(directory.join("entry.c"), text).expect("write a source file");
    let output = directory.join(format!("{role}.so"));
    let mut cc = Command::new("cc");
    cc.args(["-std=gnu99", "-g", "-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-DMAIN", "-Dmain=program", "-I."]);
    cc.arg("-I").arg(include).arg("-I").arg(&sources).arg("-o").arg(&output);
    cc.args(["sampler", "tidy"].map(|name| sources.join(format!("{name}_{role}.c")))).arg("entry.c");
    cc.args(["sampler", "tidy"].map(|name| format!("{name}{half}.c")));
    let library = built("slipway-libmach", "libmach.so");
    succeed(cc.arg("-L").arg(library.parent().expect("a directory")).arg("-lmach").current_dir(directory));
    output
}

/// Runs a client and a server, in processes of these names. The client must succeed.
fn run(directory: &Path, server: &Path, client: &Path, processes: [&str; 2]) {
    let text = format!(
        "main = 'client'\n[task.server]\nfile = {server:?}\nprocess = {:?}\nprovides = ['sampler']\n\
         [task.client]\nfile = {client:?}\nprocess = {:?}\nafter = ['server']\n",
        processes[0], processes[1],
    );
    let file = directory.join("system.toml");
    fs::write(&file, text).expect("write the configuration");
    let mut slipway = Command::new("timeout");
    slipway.args(["--foreground", "100"]).arg(built("slipway", "slipway")).args(["run", "--config"]).arg(file);
    let said = succeed(&mut slipway);
    assert!(said.ends_with("every routine answered as it should\n"), "{server:?} {client:?}: {said}");
}

#[test]
fn every_client_talks_to_every_server_as_tasks() {
    let directory = tempfile::tempdir().expect("make a directory");
    built("slipway-bootstrap", "slipway-bootstrap");
    built("slipway-domain", "slipway-domain");
    let servers = [c_task(directory.path(), "server", "Server"), example("sampler_server_task")];
    let clients = [c_task(directory.path(), "client", "User"), example("sampler_client_task")];
    for processes in [["one", "one"], ["one", "another"]] {
        for server in &servers {
            clients.iter().for_each(|client| run(directory.path(), server, client, processes));
        }
    }
}
