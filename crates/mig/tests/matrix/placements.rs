//! Clients and servers as tasks, in C and in Rust: in two processes, and in one, by messages, by traps, and by traps that are
//! refused now and then. Both sides see the same, and have the same when it is over.

use crate::{
    built::{built, example},
    programs::{include_and_example, succeed},
    replies::ROUNDS as REPLIES,
};
use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// Rounds before what is had is counted, and rounds after that.
const ROUNDS: u32 = 10;

/// Where the server is, and how calls come to it.
#[derive(Debug, Clone, Copy)]
struct Placement {
    way: &'static str,
    together: bool,
}

const PLACEMENTS: [Placement; 5] = [
    Placement { way: "message", together: false },
    // Traps that can't be had.
    Placement { way: "trap", together: false },
    Placement { way: "message", together: true },
    Placement { way: "trap", together: true },
    Placement { way: "midway", together: true },
];

/// The interfaces, and where their files are.
fn interfaces() -> [(&'static str, PathBuf); 3] {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c");
    let (_, example) = include_and_example();
    [("sampler", example.join("sampler.defs")), ("tidy", example.join("tidy.defs")), ("traps", tests.join("trap.defs"))]
}

/// Makes a shared object in C of the stubs of one half, and of `sources`.
fn c_task(place: &Path, half: &str, options: &[&str], sources: &[PathBuf], defined: &[&str]) -> PathBuf {
    let (include, example) = include_and_example();
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c");
    fs::create_dir(place).expect("make a directory");
    for (name, defs) in interfaces() {
        let mut mig = Command::new(env!("CARGO_BIN_EXE_mig"));
        mig.arg("-I").arg(&include).args(options).arg("-sheader").arg(format!("{name}Server.h")).arg(defs);
        succeed(mig.current_dir(place));
    }
    let mut cc = Command::new("cc");
    cc.args(["-std=gnu99", "-g", "-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-I."]).args(defined);
    cc.arg("-I").arg(include).arg("-I").arg(&example).arg("-I").arg(&tests).args(["-o", "task.so"]);
    cc.args(interfaces().map(|(name, _)| format!("{name}{half}.c"))).args(sources);
    let library = built("libmach.so");
    succeed(cc.arg("-L").arg(library.parent().expect("a directory")).args(["-lmach", "-lpthread"]).current_dir(place));
    place.join("task.so")
}

/// The party in C; `options` are its stubs'.
fn c_party(directory: &Path, role: &str, options: &[&str]) -> PathBuf {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let (_, example) = include_and_example();
    let mut sources = ["sampler", "tidy"].map(|name| example.join(format!("{name}_{role}.c"))).to_vec();
    sources.extend([own.join(format!("c/trap_{role}.c")), own.join("matrix/party.c")]);
    let place = directory.join(format!("{role}{}", options.concat()));
    match role {
        "server" => c_task(&place, "Server", options, &sources, &["-DSERVER"]),
        _ => c_task(&place, "User", options, &sources, &[]),
    }
}

/// The party in Rust.
fn rust_party() -> PathBuf {
    example("matrix_party")
}

/// A task's file and its arguments.
type Task<'a> = (&'a Path, &'a [&'a str]);

/// Runs a client and a server, in one process or in two: what they say. The client must succeed.
fn run(server: Task<'_>, client: Task<'_>, together: bool) -> String {
    for other in ["slipway-bootstrap", "slipway-domain"] {
        built(other);
    }
    let directory = tempfile::tempdir().expect("make a directory");
    let file = directory.path().join("system.toml");
    let text = format!(
        "main = 'client'\n[task.server]\nfile = {:?}\nprocess = 'one'\nargs = {:?}\nprovides = {:?}\n\
         [task.client]\nfile = {:?}\nprocess = {:?}\nargs = {:?}\nafter = ['server']\n",
        server.0,
        server.1,
        // A server that lies has one port.
        if server.1 == ["liar"] { &["sampler"][..] } else { &["sampler", "traps"] },
        client.0,
        if together { "one" } else { "another" },
        client.1,
    );
    fs::write(&file, text).expect("write the configuration");
    let mut slipway = Command::new("timeout");
    slipway.args(["--foreground", "100"]).arg(built("slipway")).args(["run", "--config"]).arg(file);
    succeed(&mut slipway)
}

/// What a run of many calls came to.
struct Outcome {
    /// The client's transcript, and the server's.
    transcripts: [String; 2],
    /// Messages that it took.
    messages: i64,
    /// How much larger a process became, in pages.
    grown: i64,
}

fn calls(server: &Path, client: &Path, placement: Placement) -> Outcome {
    let directory = tempfile::tempdir().expect("make a directory");
    let file = |name: &str| directory.path().join(name).display().to_string();
    let rounds = ROUNDS.to_string();
    let files = ["server", "client"].map(file);
    let (server, client) = ((server, ["server", placement.way, &files[0]]), (client, ["client", &rounds, &files[1]]));
    let said = run((server.0, &server.1), (client.0, &client.1), placement.together);
    let counts = said.lines().last().unwrap_or_default().split(' ').map(|word| word.parse().expect("a number"));
    let [messages, grown, servers] = counts.collect::<Vec<i64>>()[..] else { panic!("{said}") };
    let transcripts = ["client", "server"].map(|name| fs::read_to_string(directory.path().join(name)).expect("a transcript"));
    Outcome { transcripts, messages, grown: grown.max(servers) }
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
    let [c_server, c_client] = ["server", "client"].map(|role| c_party(directory.path(), role, &["--trap"]));
    let plain = c_party(directory.path(), "client", &[]);
    let rust = rust_party();
    let first = calls(&c_server, &plain, PLACEMENTS[0]);
    assert!(first.transcripts.iter().all(|text| text.lines().count() > 500));
    for (server, client) in [(&c_server, &c_client), (&c_server, &rust), (&rust, &c_client), (&rust, &rust), (&rust, &plain)] {
        let mut all = None;
        for placement in PLACEMENTS {
            let what = format!("{client:?} with {server:?}, {placement:?}");
            let outcome = calls(server, client, placement);
            assert_same(&first, &outcome, &what);
            // Some of the routines go by message always. A call finds a message before it only behind one that its
            // client did not wait for.
            let all = *all.get_or_insert(outcome.messages);
            let few = all / 3;
            match placement {
                Placement { way: "trap", together: true } if *client != plain => assert!(outcome.messages < few, "{what}"),
                Placement { way: "midway", .. } if *client != plain => {
                    assert!((few / 2..all - 10).contains(&outcome.messages), "{what}: {} of {all}", outcome.messages);
                }
                // The client in Rust asks until it has been forgotten, which takes a time or two.
                _ => assert!(outcome.messages.abs_diff(all) < all.unsigned_abs() / 20, "{what}: {} of {all}", outcome.messages),
            }
            // A page for each round would be a leak.
            assert!(outcome.grown < i64::from(ROUNDS), "{what}: {} pages more", outcome.grown);
        }
    }
}

/// What was said of damaged messages, line by line.
fn said(all: &str) -> Vec<String> {
    all.lines().filter_map(|line| line.find("said").map(|at| line[at..].to_owned())).collect()
}

#[test]
fn damaged_messages_are_taken_alike_wherever_they_come_from() {
    let directory = tempfile::tempdir().expect("make a directory");
    let (c_server, rust) = (c_party(directory.path(), "server", &["--trap"]), rust_party());
    let transcript = directory.path().join("transcript").display().to_string();
    let requests = |server: &Path, way: &str, together: bool| {
        said(&run((server, &["server", way, &transcript]), (&rust, &["damage"]), together))
    };
    let apart = requests(&c_server, "message", false);
    assert!(apart.len() > 1000);
    for server in [&c_server, &rust] {
        for (way, together) in [("message", true), ("trap", true), ("trap", false)] {
            assert!(requests(server, way, together) == apart, "requests to {server:?}, {way}, {together}");
        }
    }

    let replies = [Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/matrix/replies.c")];
    let c_caller = c_task(&directory.path().join("replies"), "User", &["--trap"], &replies, &[]);
    let rounds = REPLIES.to_string();
    let told = |client: Task<'_>, together: bool| said(&run((&rust, &["liar"]), client, together));
    let apart = told((&c_caller, &[&rounds]), false);
    assert_eq!(apart.len(), 12 * REPLIES);
    for (client, together) in
        [((&*c_caller, &[&*rounds][..]), true), ((&*rust, &["caller"][..]), true), ((&*rust, &["caller"]), false)]
    {
        assert!(told(client, together) == apart, "replies to {client:?}, {together}");
    }
}
