//! trap.defs over libmach under the compiler's sanitizers: both sides in one process, by messages, by traps, and by traps that
//! are refused now and then.

use std::path::Path;
use std::process::Command;

use slipway_test_support::built;

use crate::same::assert_same;
use crate::support::{include, mig, run};
use crate::trap::SANITIZERS;

/// Builds the program `trap_tasks`.
fn build(dir: &Path) {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c");
    run(mig().arg(tests.join("trap.defs")).args(["--trap", "-sheader", "trapsServer.h"]).current_dir(dir));
    for name in ["libmach.so", "libmach.so.1"] {
        std::os::unix::fs::symlink(built("libmach.so"), dir.join(name)).unwrap();
    }
    let compile = |file: &Path, extra: &[&str]| {
        let mut command = Command::new("cc");
        command.args(["-std=gnu99", "-g", "-O2", "-Wall", "-c"]).args(SANITIZERS).args(extra);
        for place in [include(), tests.clone(), dir.to_owned()] {
            command.arg("-I").arg(place);
        }
        run(command.arg(file).current_dir(dir));
    };
    compile(Path::new("trapsUser.c"), &["-include", "mach/trap.h", "-Dmach_trap=counted_trap"]);
    compile(Path::new("trapsServer.c"), &[]);
    for name in ["trap_tasks.c", "trap_client.c", "trap_server.c"] {
        compile(&tests.join(name), &[]);
    }
    let mut link = Command::new("cc");
    link.args(SANITIZERS).args(["-o", "trap_tasks"]);
    link.args(["trapsUser.o", "trapsServer.o", "trap_tasks.o", "trap_client.o", "trap_server.o", "-L.", "-lmach", "-lpthread"]);
    run(link.current_dir(dir));
}

/// A run's transcripts, and what the client printed: calls by trap, calls that asked for one, arrays not copied.
fn outcome(dir: &Path, mode: &str) -> ([String; 2], [u32; 3]) {
    let mut command = Command::new("timeout");
    command.args(["600", "./trap_tasks", mode, "client", "server"]).current_dir(dir).env("LD_LIBRARY_PATH", dir);
    let printed = run(&mut command);
    let counts: Vec<u32> = printed.split_whitespace().map(|number| number.parse().unwrap()).collect();
    let transcripts = ["client", "server"].map(|name| std::fs::read_to_string(dir.join(name)).unwrap());
    (transcripts, counts.try_into().unwrap())
}

#[test]
fn no_way_of_calling_does_what_sanitizers_object_to() {
    let dir = tempfile::tempdir().unwrap();
    build(dir.path());
    let (message, counts) = outcome(dir.path(), "message");
    assert!(message.iter().all(|transcript| transcript.lines().count() > 500));
    assert_eq!((counts[0], counts[2]), (0, 0));
    let (trap, counts) = outcome(dir.path(), "trap");
    // A call finds the port's queue not empty only behind `tell', and once at most.
    assert!(counts[0] + 1 >= counts[1] && counts[2] == 5, "{counts:?}");
    assert_same(&message, &trap, "by trap");
    let (midway, counts) = outcome(dir.path(), "midway");
    assert!(counts[0] < counts[1], "nothing was refused: {counts:?}");
    assert_same(&message, &midway, "by traps that are refused midway");
}
