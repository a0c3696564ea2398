//! trap.defs over libmach, where its server may be: in another process, or in the caller's and called by messages, by traps,
//! or by traps that are refused now and then.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::built::built;
use crate::support::{include, mig, run};

/// No run takes longer.
const WATCHED: [&str; 2] = ["timeout", "100"];

/// A process that ends with the test.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts a program, which says in a line of its output that it is ready.
fn start(command: &mut Command) -> Ended {
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert!(!line.is_empty(), "{command:?} ended");
    Ended(child)
}

fn build(dir: &Path, library: &Path, options: &[&str]) -> PathBuf {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c");
    run(mig().arg(tests.join("trap.defs")).args(["--trap", "-sheader", "trapsServer.h"]).current_dir(dir));
    for name in ["libmach.so", "libmach.so.1"] {
        std::os::unix::fs::symlink(library, dir.join(name)).unwrap();
    }
    let compile = |file: &Path, extra: &[&str]| {
        let mut command = Command::new("cc");
        command.args(["-std=gnu99", "-g", "-O2", "-Wall", "-c"]).args(options).args(extra);
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
    let program = dir.join("trap_tasks");
    let mut link = Command::new("cc");
    link.args(options).arg("-o").arg(&program);
    link.args(["trapsUser.o", "trapsServer.o", "trap_tasks.o", "trap_client.o", "trap_server.o", "-L.", "-lmach", "-lpthread"]);
    run(link.current_dir(dir));
    program
}

/// A run's transcripts, and what the client printed: calls by trap, calls that asked for one, arrays not copied.
struct Outcome {
    transcripts: [String; 2],
    counts: Vec<u32>,
}

struct Bench {
    dir: tempfile::TempDir,
    program: PathBuf,
}

impl Bench {
    fn new(library: &Path, options: &[&str]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let program = build(dir.path(), library, options);
        Self { dir, program }
    }

    /// The program, behind a command that starts it.
    fn command(&self, before: &[&str]) -> Command {
        let mut words = before.iter().map(AsRef::as_ref).chain([self.program.as_os_str()]);
        let mut command = Command::new(words.next().unwrap());
        command.args(words).current_dir(self.dir.path()).env("LD_LIBRARY_PATH", self.dir.path());
        command.env("SLIPWAY_BOOTSTRAP", self.dir.path().join("socket"));
        command
    }

    fn outcome(&self, printed: &str) -> Outcome {
        let transcripts = ["client", "server"].map(|name| std::fs::read_to_string(self.dir.path().join(name)).unwrap());
        Outcome { transcripts, counts: printed.split_whitespace().map(|n| n.parse().unwrap()).collect() }
    }

    fn in_one_process(&self, mode: &str) -> Outcome {
        let printed = run(self.command(&WATCHED).args([mode, "client", "server"]));
        self.outcome(&printed)
    }

    fn in_two_processes(&self, name_server: &Path) -> Outcome {
        let socket = self.dir.path().join("socket");
        let _names = start(Command::new(name_server).arg("--socket").arg(&socket));
        let server = start(self.command(&[]).args(["server", "server"]));
        let printed = run(self.command(&WATCHED).args(["client", "client"]));
        // The transcript is written line by line, each before its call is answered.
        drop(server);
        self.outcome(&printed)
    }
}

fn assert_same(a: &Outcome, b: &Outcome, what: &str) {
    for (side, (a, b)) in ["client", "server"].into_iter().zip(a.transcripts.iter().zip(&b.transcripts)) {
        let differs = a.lines().zip(b.lines()).enumerate().find(|(_, (a, b))| a != b);
        assert!(differs.is_none(), "{what}: the {side} sees something else: {differs:?}");
        assert_eq!(a.lines().count(), b.lines().count(), "{what}: the {side} sees more or less");
    }
}

fn placements(options: &[&str]) {
    let (library, name_server) = (built("libmach.so"), built("slipway-bootstrap"));
    let bench = Bench::new(&library, options);
    let apart = bench.in_two_processes(&name_server);
    assert!(apart.transcripts.iter().all(|t| t.lines().count() > 500));
    assert_eq!((apart.counts[0], apart.counts[2]), (0, 0));
    let message = bench.in_one_process("message");
    assert_eq!(message.counts, apart.counts);
    assert_same(&apart, &message, "by message in one process");
    let trap = bench.in_one_process("trap");
    // A call finds the port's queue not empty only behind `tell', and once at most.
    assert!(trap.counts[0] + 1 >= trap.counts[1] && trap.counts[2] == 5, "{:?}", trap.counts);
    assert_same(&apart, &trap, "by trap");
    let midway = bench.in_one_process("midway");
    assert!(midway.counts[0] < midway.counts[1], "nothing was refused: {:?}", midway.counts);
    assert_same(&apart, &midway, "by traps that are refused midway");
}

#[test]
fn a_server_is_the_same_wherever_it_is() {
    placements(&[]);
}

#[test]
fn it_is_so_under_the_sanitizers() {
    placements(&["-fsanitize=address,undefined", "-fno-sanitize-recover=undefined"]);
}
