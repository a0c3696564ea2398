//! Programs that gcc and clang built with their sanitizers, on shared memory: they start, and have nothing to report.

mod harness;

use harness::build::{asset, scratch};
use harness::process::slipway;
use harness::{Mode, Server};
use slipway_test_support::{output, succeed};
use std::path::{Path, PathBuf};
use std::process::Command;

const COMPILERS: [&str; 2] = ["gcc", "clang"];

/// Compiles tests/c/`name`.c with a sanitizer. None, with a message, without the compiler or its runtime.
fn built_with(compiler: &str, sanitizer: &str, name: &str, dir: &Path) -> Option<PathBuf> {
    let program = dir.join(format!("{name}-{compiler}-{sanitizer}"));
    let flags = ["-g", "-O1", "-pthread", "-o"];
    let mut command = Command::new(compiler);
    command.args(flags).arg(&program).arg(asset(&format!("c/{name}.c"))).args([&format!("-fsanitize={sanitizer}"), "-lX11"]);
    match command.output() {
        Ok(output) if output.status.success() => Some(program),
        Ok(output) => {
            let why = String::from_utf8_lossy(&output.stderr).into_owned();
            let missing = why.contains("cannot find") || why.contains("No such file");
            assert!(missing, "{command:?}: {why}");
            eprintln!("not tested: {compiler} has no runtime for -fsanitize={sanitizer} (libclang-rt-dev)");
            None
        }
        Err(error) => {
            eprintln!("not tested: {compiler}: {error}");
            None
        }
    }
}

#[test]
fn both_ends_of_a_socket() {
    let dir = scratch();
    for compiler in COMPILERS {
        for sanitizer in ["address", "thread", "undefined"] {
            let Some(program) = built_with(compiler, sanitizer, "echo", dir.path()) else { continue };
            // By itself, and below a program without it.
            for shell in [false, true] {
                let socket = program.with_extension(if shell { "shell" } else { "direct" });
                let mut command = slipway();
                command.args(["sockets", "--log", "debug", "--"]);
                if shell {
                    command.args(["sh", "-c", "\"$0\" \"$1\"; code=$?; exit $code"]);
                }
                // It can't see how code synchronises that it didn't build (docs/x11.md).
                command.env("TSAN_OPTIONS", "ignore_noninstrumented_modules=1");
                command.arg(&program).arg(&socket).env("SLIPWAY_RUNTIME_DIR", dir.path().join("run"));
                let outcome = output(&mut command);
                assert!(outcome.status.success() && outcome.stdout == b"done\n", "{command:?}: {outcome:?}");
                let said = String::from_utf8_lossy(&outcome.stderr).into_owned();
                assert!(said.contains("connected through shared memory"), "{command:?}: {said}");
            }
        }
    }
}

#[test]
fn clients_of_x() {
    let dir = scratch();
    let server = Server::start(Mode::Hooked);
    for compiler in COMPILERS {
        // The thread sanitizer calls handlers later.
        for sanitizer in ["address", "undefined"] {
            let Some(program) = built_with(compiler, sanitizer, "handlers", dir.path()) else { continue };
            let mut command = server.client(Mode::Hooked, program.to_str().expect("a path of ours"));
            // It leaves its connection to the system.
            command.env("ASAN_OPTIONS", "detect_leaks=0");
            assert_eq!(succeed(&mut command), "done\n");
        }
    }
}
