//! Clients and servers as tasks, in C and in Rust: in two processes, and in one, by messages, by traps, and by traps that are
//! refused now and then. Both sides see the same, and have the same when it is over.

use crate::{programs::include_and_example, replies::ROUNDS as REPLIES, same::assert_same};
use slipway_test_support::{built, example, succeed};
use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// Rounds before what is had is counted, and rounds after that.
const ROUNDS: u32 = 20;

/// The pages of an arena of the heap, 64 MiB.
const ARENA: i64 = 64 << 8;

/// Where the server is, and how calls come to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Placement {
    way: &'static str,
    together: bool,
}

/// What the others are compared with.
const APART: Placement = Placement { way: "message", together: false };

const TRAPS: Placement = Placement { way: "trap", together: true };

const PLACEMENTS: [Placement; 4] = [
    // Traps that can't be had.
    Placement { way: "trap", together: false },
    Placement { way: "message", together: true },
    TRAPS,
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
        _ => c_task(&place, "User", options, &sources, &["-Dmach_trap=party_trap"]),
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
    slipway.args(["--foreground", "600"]).arg(built("slipway")).args(["run", "--config"]).arg(file);
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
    /// How often the server had an array of the client's own.
    lent: i64,
}

/// A party: its file, and the word before its roles' names.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Party<'a>(&'a Path, &'a str);

fn calls(server: Party<'_>, client: Party<'_>, placement: Placement) -> Outcome {
    let directory = tempfile::tempdir().expect("make a directory");
    let file = |name: &str| directory.path().join(name).display().to_string();
    let rounds = ROUNDS.to_string();
    let files = ["server", "client"].map(file);
    let [serves, calls] = [format!("{}server", server.1), format!("{}client", client.1)];
    let mut words = vec![calls.as_str(), &rounds, &files[1]];
    // Noise is for stubs that ask for traps.
    words.extend((placement.way == "midway").then_some("noise"));
    let said = run((server.0, &[&serves, placement.way, &files[0]]), (client.0, &words), placement.together);
    let counts = said.lines().last().unwrap_or_default().split(' ').map(|word| word.parse().expect("a number"));
    let [messages, grown, servers, lent] = counts.collect::<Vec<i64>>()[..] else { panic!("{said}") };
    let transcripts = ["client", "server"].map(|name| fs::read_to_string(directory.path().join(name)).expect("a transcript"));
    Outcome { transcripts, messages, grown: grown.max(servers), lent }
}

/// Runs until as many messages were taken as are to be expected, which is a matter of luck where some calls are refused.
fn calls_with(
    server: Party<'_>,
    client: Party<'_>,
    placement: Placement,
    first: &Outcome,
    expected: impl Fn(i64) -> bool,
) -> Outcome {
    let mut seen = Vec::new();
    let mut more = Vec::new();
    loop {
        let what = format!("{client:?} with {server:?}, {placement:?}");
        let outcome = calls(server, client, placement);
        assert_same(&first.transcripts, &outcome.transcripts, &what);
        // A page for each round would be a leak, each time. A thread of the library has a stack of 17, and may have an arena of
        // the heap.
        if outcome.grown % ARENA >= i64::from(ROUNDS) {
            more.push(outcome.grown);
            assert!(more.len() < 4, "{what}: {more:?} pages more");
            continue;
        }
        if expected(outcome.messages) {
            return outcome;
        }
        seen.push(outcome.messages);
        assert!(seen.len() < 5, "{what}: {seen:?} messages");
    }
}

/// The arrays that a client lends in all, if it may.
const LENT: i64 = 5 * ROUNDS as i64;

/// A server with each of its clients.
struct Pairs<'a> {
    server: Party<'a>,
    in_c: bool,
    clients: &'a [Party<'a>],
    /// Whose stubs know messages only.
    old: &'a [(Party<'a>, Party<'a>)],
}

/// Each pair wherever its server is, compared with `first`.
fn compare(pairs: &Pairs<'_>, plain: Party<'_>, first: &Outcome) {
    let Pairs { server, in_c, clients, old } = *pairs;
    for &client in clients {
        let traps = client != plain;
        let all = calls_with(server, client, APART, first, |_| true).messages;
        for placement in PLACEMENTS {
            let outcome = calls_with(server, client, placement, first, |messages| match placement {
                // Some of the routines go by message always. A call finds a message before it only behind one that its
                // client did not wait for.
                TRAPS if traps => messages < all / 3,
                // Half of the calls have noise before them.
                Placement { way: "midway", .. } if traps => (all / 6..all * 9 / 10).contains(&messages),
                // The client in Rust asks until it has been forgotten, which takes a time or two.
                _ => messages.abs_diff(all) < all.unsigned_abs() / 20,
            });
            // What is `const' is the caller's own for a server in C; in Rust it is always the server's.
            let lent = match placement {
                TRAPS if in_c && traps => LENT / 2..=LENT,
                Placement { way: "midway", .. } if in_c => 0..=LENT,
                _ => 0..=0,
            };
            assert!(lent.contains(&outcome.lent), "{client:?} with {server:?}, {placement:?}: {} lent", outcome.lent);
        }
    }
    for &(server, client) in old {
        let all = calls_with(server, client, APART, first, |_| true).messages;
        let same = |messages: i64| messages.abs_diff(all) < all.unsigned_abs() / 20;
        let outcome = calls_with(server, client, TRAPS, first, same);
        assert_eq!(outcome.lent, 0, "{client:?} with {server:?}");
    }
}

/// Which clients a server is compared with.
#[derive(Clone, Copy, PartialEq)]
enum Clients {
    /// The one in the other language.
    Other,
    /// That, one in the same language, and those with stubs that know no traps.
    All,
}

/// Compares the pairs of one server, which is in C or in Rust.
fn wherever_the_server_is(in_c: bool, which: Clients) {
    let directory = tempfile::tempdir().expect("make a directory");
    let [c_server, c_client] = ["server", "client"].map(|role| c_party(directory.path(), role, &["--trap"]));
    let (plain, rust) = (c_party(directory.path(), "client", &[]), rust_party());
    let [c_server, c_client, plain, rust] = [&c_server, &c_client, &plain, &rust].map(|file| Party(file, ""));
    // With stubs of trap.defs that were made without traps.
    let old = Party(rust.0, "old-");
    let first = calls(c_server, plain, APART);
    assert!(first.transcripts.iter().all(|text| text.lines().count() > 500));
    let pairs = if in_c {
        Pairs { server: c_server, in_c, clients: &[c_client, rust], old: &[(c_server, old), (old, c_client)] }
    } else {
        Pairs { server: rust, in_c, clients: &[c_client, rust, plain], old: &[(rust, old), (old, rust)] }
    };
    let other = [if in_c { rust } else { c_client }];
    let pairs = if which == Clients::All { pairs } else { Pairs { clients: &other, old: &[], ..pairs } };
    compare(&pairs, plain, &first);
}

#[test]
fn calls_to_a_server_in_c_are_the_same_wherever_it_is() {
    wherever_the_server_is(true, Clients::Other);
}

#[test]
fn calls_to_a_server_in_rust_are_the_same_wherever_it_is() {
    wherever_the_server_is(false, Clients::Other);
}

#[test]
#[ignore = "long: 14 pairs of processes"]
fn all_calls_to_a_server_in_c_are_the_same_wherever_it_is() {
    wherever_the_server_is(true, Clients::All);
}

#[test]
#[ignore = "long: 19 pairs of processes"]
fn all_calls_to_a_server_in_rust_are_the_same_wherever_it_is() {
    wherever_the_server_is(false, Clients::All);
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
