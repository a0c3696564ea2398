//! Clients and servers as tasks: in two processes, and in one, by messages, by traps, and by traps that are refused now and then.
//! Both sides see the same, and have the same when it is over.

use crate::programs::{built, include_and_example, succeed};
use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// Rounds before what is had is counted, and rounds after that.
const ROUNDS: u32 = 20;

/// Where the server is, and how calls come to it.
#[derive(Debug, Clone, Copy)]
struct Placement {
    mode: &'static str,
    together: bool,
}

const PLACEMENTS: [Placement; 5] = [
    Placement { mode: "message", together: false },
    // Traps that can't be had.
    Placement { mode: "trap", together: false },
    Placement { mode: "message", together: true },
    Placement { mode: "trap", together: true },
    Placement { mode: "midway", together: true },
];

/// The interfaces, and the directories of their files.
fn interfaces() -> [(&'static str, PathBuf); 3] {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c");
    let (_, example) = include_and_example();
    [("sampler", example.join("sampler.defs")), ("tidy", example.join("tidy.defs")), ("traps", tests.join("trap.defs"))]
}

/// Compiles a party in C into a shared object; `options` are the stubs'.
fn c_task(directory: &Path, role: &str, options: &[&str]) -> PathBuf {
    let (include, example) = include_and_example();
    let (tests, own) = ("tests/c", "tests/matrix/party.c");
    let [tests, own] = [tests, own].map(|path| Path::new(env!("CARGO_MANIFEST_DIR")).join(path));
    let place = directory.join(format!("{role}{}", options.concat()));
    fs::create_dir(&place).expect("make a directory");
    for (name, defs) in interfaces() {
        let mut mig = Command::new(env!("CARGO_BIN_EXE_mig"));
        mig.arg("-I").arg(&include).args(options).arg("-sheader").arg(format!("{name}Server.h")).arg(defs);
        succeed(mig.current_dir(&place));
    }
    let output = place.join(format!("{role}.so"));
    let half = if role == "server" { "Server" } else { "User" };
    let mut cc = Command::new("cc");
    cc.args(["-std=gnu99", "-g", "-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-I."]);
    cc.arg("-I").arg(include).arg("-I").arg(&example).arg("-I").arg(&tests);
    if role == "server" {
        cc.arg("-DSERVER");
    } else {
        cc.arg("-Wl,--wrap=mach_trap");
    }
    cc.arg("-o").arg(&output);
    cc.args(interfaces().map(|(name, _)| format!("{name}{half}.c")));
    let other = ["sampler", "tidy"].map(|name| example.join(format!("{name}_{role}.c")));
    cc.args(other).arg(tests.join(format!("trap_{role}.c"))).arg(own);
    let library = built("slipway-libmach", "libmach.so");
    succeed(cc.arg("-L").arg(library.parent().expect("a directory")).args(["-lmach", "-lpthread"]).current_dir(&place));
    output
}

/// What a run came to.
struct Outcome {
    /// The client's transcript, and the server's.
    transcripts: [String; 2],
    /// Calls by trap, calls that asked for one, and how much the client's process and the server's grew, in pages.
    counts: Vec<i64>,
}

/// Runs a client and a server.
fn run(directory: &Path, server: &Path, client: &Path, placement: Placement) -> Outcome {
    let system = tempfile::tempdir_in(directory).expect("make a directory");
    let file = |name: &str| system.path().join(name);
    let process = if placement.together { "one" } else { "another" };
    let text = format!(
        "main = 'client'\n[task.server]\nfile = {server:?}\nprocess = 'one'\nargs = [{:?}, {:?}]\nprovides = ['sampler']\n\
         [task.client]\nfile = {client:?}\nprocess = '{process}'\nargs = ['{ROUNDS}', {:?}]\nafter = ['server']\n",
        placement.mode,
        file("server"),
        file("client"),
    );
    fs::write(file("system.toml"), text).expect("write the configuration");
    built("slipway-bootstrap", "slipway-bootstrap");
    built("slipway-domain", "slipway-domain");
    let mut slipway = Command::new("timeout");
    slipway.args(["--foreground", "100"]).arg(built("slipway", "slipway")).args(["run", "--config"]).arg(file("system.toml"));
    let said = succeed(&mut slipway);
    let counts: Vec<i64> = said.split_whitespace().map(|word| word.parse().expect("a number")).collect();
    assert_eq!(counts.len(), 4, "{said}");
    let transcripts = ["client", "server"].map(|name| fs::read_to_string(file(name)).expect("a transcript"));
    Outcome { transcripts, counts }
}

/// The first line that differs, as the whole is long.
fn assert_same(a: &Outcome, b: &Outcome, what: &str) {
    for (side, a, b) in [("client", &a.transcripts[0], &b.transcripts[0]), ("server", &a.transcripts[1], &b.transcripts[1])] {
        let differs = a.lines().zip(b.lines()).enumerate().find(|(_, (a, b))| a != b);
        assert!(differs.is_none(), "{what}: the {side} sees something else: {differs:?}");
        assert_eq!(a.lines().count(), b.lines().count(), "{what}: the {side} sees more or less");
    }
}

#[test]
fn calls_are_the_same_wherever_the_server_is() {
    let directory = tempfile::tempdir().expect("make a directory");
    let server = c_task(directory.path(), "server", &["--trap"]);
    let client = c_task(directory.path(), "client", &["--trap"]);
    let plain = c_task(directory.path(), "client", &[]);
    let first = run(directory.path(), &server, &plain, PLACEMENTS[0]);
    // Stubs that know no traps, beside a server that does.
    let old = run(directory.path(), &server, &plain, Placement { mode: "trap", together: true });
    assert_same(&first, &old, "stubs without traps");
    assert_eq!((first.counts[1], old.counts[1]), (0, 0));
    for placement in PLACEMENTS {
        let outcome = run(directory.path(), &server, &client, placement);
        let what = format!("{placement:?}");
        let [trapped, asked, grown, server_grown] = outcome.counts[..] else { unreachable!() };
        println!("{what}: {:?}", outcome.counts);
        match (placement.mode, placement.together) {
            // A call finds a message before it only behind one that the client did not wait for.
            ("trap", true) => assert!(trapped > asked * 9 / 10, "{what}: {trapped} of {asked}"),
            ("midway", _) => assert!(0 < trapped && trapped < asked, "{what}: {trapped} of {asked}"),
            _ => assert_eq!(trapped, 0, "{what}"),
        }
        // A page for each round would be a leak.
        assert!(grown.max(server_grown) < i64::from(ROUNDS), "{what}: {grown} and {server_grown} pages more");
        assert!(outcome.transcripts.iter().all(|text| text.lines().count() > 500), "{what}");
        assert_same(&first, &outcome, &what);
    }
}
