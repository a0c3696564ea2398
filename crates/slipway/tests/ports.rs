//! `slipway ports`: what it says of real processes, which are this test program started again with parts to play.

mod harness;

use harness::mach::{Msg, ROLE, inherited, receive, receive_right, role, rpc, send, start};
use harness::process::{NO_ANSWER, answered};
use harness::{Outcome, Running, SLIPWAY};
use rustix::net::{AddressFamily, SendFlags, SocketAddrUnix, SocketFlags, SocketType, socket_with};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};
use serde_json::{Value, json};
use slipway_ports::{
    abi::{notify, right, types},
    inspect::{Failure, addresses, ask},
    task::Task,
};
use slipway_test_support::until;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};
use std::sync::mpsc::{TryRecvError, channel};
use std::time::{Duration, Instant};

/// Another user than root, and than the tests' own.
const STRANGER: u32 = 54321;

/// As many looks of a watch as a rate may take to be seen on a busy machine.
const LOOKS: u32 = 300;

fn ports(args: &[&str]) -> Command {
    let mut command = Command::new(SLIPWAY);
    command.arg("ports").args(args);
    command
}

/// What it says of a process that answers.
fn run(args: &[&str]) -> Outcome {
    answered(|| ports(args))
}

/// Whether it gets no answer of a process that can't give one.
fn is_silent(pid: &str) -> bool {
    Running::start(ports(&[pid])).finish().code() == NO_ANSWER
}

/// A report to which these processes have answered.
fn report(args: &[&str], of: &[u32]) -> Value {
    let mut report = Value::Null;
    until("they answer", || {
        let text = run(&[args, &["--json"]].concat()).stdout;
        report = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error} in {text}"));
        !report["unanswered"].as_array().expect("a list").iter().any(|silent| of.iter().any(|pid| silent["pid"] == *pid))
    });
    report
}

/// The element of a list for which `key` is `value`.
fn find<'a>(list: &'a Value, key: &str, value: impl Into<Value>) -> &'a Value {
    let value = value.into();
    let list = list.as_array().expect("a list");
    list.iter().find(|it| it[key] == value).unwrap_or_else(|| panic!("no {key} {value} in {list:#?}"))
}

/// What a process says of a name of its first task: the name, and the port.
fn named(process: &Value, name: u32) -> (&Value, &Value) {
    let it = find(&process["tasks"][0]["names"], "name", name);
    (it, if it["port"].is_null() { &Value::Null } else { find(&process["ports"], "port", it["port"].clone()) })
}

/// A helper's end.
struct Helper(Child);

impl Helper {
    fn start(test: &str, role: &str, hello: u32) -> Self {
        Self(start(test, role, hello))
    }

    fn pid(&self) -> String {
        self.0.id().to_string()
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.0), signal).expect("kill");
    }

    /// Stops it: all its threads have when this returns, which a signal that is sent says nothing of.
    fn stop(&self) {
        self.signal(Signal::STOP);
        let it = WaitId::Pid(Pid::from_child(&self.0));
        waitid(it, WaitIdOptions::STOPPED).expect("its stop");
    }

    fn ends_well(mut self) {
        assert!(self.0.wait().expect("its end").success());
    }
}

impl Drop for Helper {
    fn drop(&mut self) {
        // It has ended unless the test failed.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// In a helper: says hello with a send right to a port of its own.
fn greet() -> (u32, u32) {
    let (parent, own) = (inherited(), receive_right());
    send(&Msg::new(1, (parent, types::COPY_SEND), (own, types::MAKE_SEND)));
    (parent, own)
}

/// In a helper: does nothing until it is told to end, or the starter is gone.
fn idle() {
    let (_, own) = greet();
    while receive(own).id() != 0 {}
}

fn tell_to_end(port: u32) {
    send(&Msg::new(0, (port, types::COPY_SEND), (0, 0)));
}

#[test]
fn everything_is_as_it_was_set_up() {
    let test = "everything_is_as_it_was_set_up";
    if role().is_some() {
        let (parent, own) = greet();
        let given = receive(own);
        let (port, once) = (given.value(0), given.value(1));
        for i in 0..3 {
            send(&Msg::new(2, (port, types::COPY_SEND), (0, 0)).int(i));
        }
        send(&Msg::new(3, (parent, types::COPY_SEND), (0, 0)).int(own.into()).int(port.into()).int(once.into()));
        assert_eq!(receive(own).id(), 0);
        return;
    }
    let task = Task::current();
    let (hello, port, set, note) =
        (receive_right(), receive_right(), task.allocate(right::PORT_SET).expect("a set"), receive_right());
    task.set_qlimit(port, 7).expect("a limit");
    let helper = Helper::start(test, "holder", hello);
    let theirs = receive(hello).reply();
    task.mod_refs(theirs, right::SEND, 2).expect("references");
    assert_eq!(task.request_notification(theirs, notify::DEAD_NAME, 0, note, types::MAKE_SEND_ONCE), Ok(0));
    send(&Msg::new(4, (theirs, types::COPY_SEND), (0, 0)).ports(types::MAKE_SEND, &[port]).ports(types::MAKE_SEND_ONCE, &[note]));
    let names = receive(hello);
    let (their_own, their_port, their_once) = (names.value(0), names.value(1), names.value(2));
    assert_eq!(receive(port).value(0), 0);
    assert_eq!(task.request_notification(port, notify::NO_SENDERS, 0, note, types::MAKE_SEND_ONCE), Ok(0));
    task.set_seqno(port, 100).expect("a number");
    task.move_member(port, set).expect("a member");

    let own_pid = std::process::id();
    let both = [own_pid, helper.0.id()];
    let all = report(&[], &both);
    let own = find(&all["processes"], "pid", own_pid);
    let their = find(&all["processes"], "pid", helper.0.id());
    assert_eq!((&own["watcher"], &own["truncated"]), (&json!(true), &json!(false)));

    let (name, at) = named(own, port);
    assert_eq!((&name["rights"], &name["urefs"]), (&json!(["receive"]), &json!(0)));
    let here = &at["here"];
    let expected = json!({
        "in_transit": false, "queued": 2, "qlimit": 7, "seqno": 100, "make_sends": 1, "received": 1, "senders_elsewhere": 1,
        "set": set, "no_senders_request": true, "port_destroyed_request": false, "serves": null, "trap_calls": null,
        "holders": [{"line": here["holders"][0]["line"], "attached": false, "given": 1}],
    });
    assert_eq!((&at["home"], here), (&json!("here"), &expected));
    let peer = json!({"pid": helper.0.id(), "command": their["command"], "names": [{"task": 0, "name": their_port}]});
    assert_eq!(at["peers"], json!([peer]));

    let (name, at) = named(own, theirs);
    assert_eq!((&name["rights"], &name["urefs"], &name["dead_name_request"]), (&json!(["send"]), &json!(3), &json!(true)));
    let peer = json!({"pid": helper.0.id(), "command": their["command"], "names": [{"task": 0, "name": their_own}]});
    assert_eq!((&at["home"], &at["here"], &at["peers"]), (&json!("remote"), &Value::Null, &json!([peer])));
    assert_eq!((&at["ways"][0]["sent"], &at["ways"][0]["waiting"]), (&json!(1), &json!(0)));

    let (name, _) = named(own, set);
    assert_eq!((&name["rights"], &name["members"]), (&json!(["port-set"]), &json!([port])));
    let (name, at) = named(own, task.self_name());
    assert_eq!((&name["rights"], &at["here"]["serves"]), (&json!(["send"]), &json!("task")));

    // The other side tells the same.
    let (name, at) = named(their, their_port);
    assert_eq!((&name["rights"], &name["urefs"]), (&json!(["send"]), &json!(1)));
    assert_eq!(
        (&at["ways"][0]["sent"], &at["ways"][0]["waiting"], &at["ways"][0]["line_rights"]),
        (&json!(3), &json!(2), &json!(1))
    );
    assert_eq!((&at["peers"][0]["pid"], &at["peers"][0]["names"]), (&json!(own_pid), &json!([{"task": 0, "name": port}])));
    assert_eq!(at["identity"], named(own, port).1["identity"]);
    let (name, _) = named(their, their_once);
    assert_eq!((&name["rights"], &name["urefs"]), (&json!(["send-once"]), &json!(1)));
    let line = find(&their["lines"], "line", name["line"].clone());
    assert_eq!((&line["peer"], &line["tokens_held"]), (&json!(own_pid), &json!(1)));

    // Each line is known at both ends.
    let between = |from: &Value, to: u32| {
        let lines = from["lines"].as_array().expect("lines").iter();
        let mut bells: Vec<_> = lines.filter(|line| line["peer"] == to).map(|line| line["bell"].as_u64()).collect();
        bells.sort_unstable();
        bells.len()
    };
    assert_eq!(between(own, helper.0.id()), between(their, own_pid));
    assert!(between(own, helper.0.id()) > 0);

    // One process, and for people.
    let one = report(&[&own_pid.to_string()], &both);
    assert_eq!(one["processes"].as_array().map(Vec::len), Some(1));
    assert_eq!(named(&one["processes"][0], port).1["peers"][0]["pid"], helper.0.id());
    let mut texts = (0..LOOKS).map(|_| run(&[&own_pid.to_string()]).stdout);
    let text = texts.find(|text| !text.contains(&format!("process {}: ", helper.pid()))).expect("its answer");
    let cells = |line: &str| line.trim_matches('│').split('┆').map(|cell| cell.trim().to_owned()).collect::<Vec<_>>();
    let row = text.lines().map(cells).find(|row| row[0] == format!("{port:#x}")).unwrap_or_else(|| panic!("{text}"));
    let command = their["command"].as_str().expect("a name");
    let peer = format!("{} {command} {their_port:#x}", helper.pid());
    assert_eq!(row, [&format!("{port:#x}"), "receive", "-", "2", "7", "1", "-", "n", &peer]);

    tell_to_end(theirs);
    helper.ends_well();
    // Messages that wait hold the rights that they were sent with.
    assert_eq!([receive(set).value(0), receive(set).value(0)], [1, 2]);
    let mut ends = [receive(note).id(), receive(note).id(), receive(note).id()];
    ends.sort_unstable();
    assert_eq!(ends, [notify::NO_SENDERS, notify::SEND_ONCE, notify::DEAD_NAME]);
    let after = report(&[&own_pid.to_string()], &[own_pid]);
    assert_eq!(named(&after["processes"][0], theirs).0["rights"], json!(["dead-name"]));
}

#[test]
fn watching_shows_rates() {
    if role().is_some() {
        let (_, own) = greet();
        loop {
            let msg = receive(own);
            if msg.id() == 0 {
                return;
            }
            send(&Msg::new(msg.id() + 1, (msg.reply(), types::MOVE_SEND_ONCE), (0, 0)));
        }
    }
    let hello = receive_right();
    let helper = Helper::start("watching_shows_rates", "echo", hello);
    let server = receive(hello).reply();
    let (stop, stopped) = channel::<()>();
    let (start, started) = channel::<()>();
    let client = std::thread::spawn(move || {
        let reply = receive_right();
        rpc(10, server, reply);
        start.send(()).expect("the test waits");
        while stopped.try_recv() == Err(TryRecvError::Empty) {
            rpc(10, server, reply);
        }
    });
    started.recv().expect("the first answer");
    let mut watch = Running::start(ports(&[&helper.pid(), "--json", "--watch=0.2"]));
    let mut next = || serde_json::from_str::<Value>(&watch.next_line().expect("a look")).expect("JSON");
    let first = next();
    let served = |report: &Value| {
        let process = &report["processes"][0];
        let busy = process["ports"].as_array().expect("ports").iter().find(|port| port["here"]["received"].as_u64() > Some(0));
        busy.cloned().unwrap_or_else(|| panic!("no busy port in {report:#}"))
    };
    assert_eq!((&first["seconds"], &served(&first)["rate"]), (&Value::Null, &Value::Null));
    let received = |port: &Value| port["here"]["received"].as_u64().expect("a count");
    let mut before = served(&first);
    // Between two looks the client and the helper may have had no turn.
    let mut growth = || {
        let look = next();
        let after = served(&look);
        if received(&after) > received(&before) {
            Some((look, after))
        } else {
            before = after;
            None
        }
    };
    let (second, after) = (0..LOOKS).find_map(|_| growth()).expect("calls go on");
    let seconds = second["seconds"].as_f64().expect("a time");
    assert!(seconds >= 0.2, "{seconds}");
    let rate = after["rate"].as_f64().expect("a rate");
    let expected = (received(&after) - received(&before)) as f64 / seconds;
    assert!(rate > 0.0 && (rate - expected).abs() < 1e-6 * expected, "{rate} of {expected}");
    assert!(second["processes"][0]["received_rate"].as_f64() >= Some(rate * 0.999), "{second:#}");

    let mut people = Running::start(ports(&[&helper.pid(), "--watch=0.2"]));
    people.wait_line(" received (");
    let mut is_busy = || {
        let row = people.wait_line("receive");
        row.split('┆').nth(6).and_then(|rate| rate.trim().parse::<f64>().ok()).is_some_and(|rate| rate > 0.0)
    };
    assert!((0..LOOKS).any(|_| is_busy()), "a rate is shown");

    stop.send(()).expect("the client listens");
    client.join().expect("the client's end");
    tell_to_end(server);
    helper.ends_well();
    // The end of the process ends the watch, and is no failure.
    for watch in [watch, people] {
        assert_eq!((watch.finish().code()), 0);
    }
}

#[test]
fn who_can_not_be_asked_is_told_why() {
    if role().is_some() {
        return idle();
    }
    // One that was killed left nothing behind, and its number is nobody's.
    let hello = receive_right();
    let mut killed = Helper::start("who_can_not_be_asked_is_told_why", "idle", hello);
    let _right = receive(hello).reply();
    assert_eq!(run(&[&killed.pid()]).code(), 0);
    killed.signal(Signal::KILL);
    killed.0.wait().expect("its end");
    let pid = killed.pid();
    let gone = run(&[&pid]);
    assert_eq!((gone.code(), gone.stdout.as_str()), (1, ""));
    assert!(gone.stderr.contains(&format!("no process {pid}")), "{}", gone.stderr);
    assert!(addresses().expect("the kernel's list").iter().all(|address| address.pid != killed.0.id()));

    let plain = Running::start(Command::new("cat"));
    let other = run(&[&plain.pid().to_string(), "--json"]);
    assert_eq!((other.code(), other.stdout.as_str()), (3, ""));
    assert!(other.stderr.contains("does not use Mach"), "{}", other.stderr);
    assert_eq!(run(&["0"]).code(), 2);
}

#[test]
fn a_port_that_died_unnoticed_is_shown_as_dead() {
    let test = "a_port_that_died_unnoticed_is_shown_as_dead";
    match role().as_deref() {
        Some("keeper") => {
            let (parent, own) = greet();
            let kept = receive(own).value(0);
            send(&Msg::new(2, (parent, types::COPY_SEND), (0, 0)).int(kept.into()));
            assert_eq!(receive(own).id(), 0);
            return;
        }
        Some(_) => return idle(),
        None => {}
    }
    let hello = receive_right();
    let mut owner = Helper::start(test, "owner", hello);
    let port = receive(hello).reply();
    let keeper = Helper::start(test, "keeper", hello);
    let theirs = receive(hello).reply();
    // A third party's right comes as descriptors; the keeper never sends with it, and so has no line to the owner.
    send(&Msg::new(1, (theirs, types::COPY_SEND), (0, 0)).ports(types::COPY_SEND, &[port]));
    let kept = receive(hello).value(0);
    let both = [keeper.0.id(), owner.0.id()];
    let seen = || {
        let all = report(&[&keeper.pid()], &both);
        let (name, port) = named(&all["processes"][0], kept);
        (name["rights"].clone(), port["home"].clone(), port["peers"][0]["pid"].clone())
    };
    assert_eq!(seen(), (json!(["send"]), json!("remote"), json!(owner.0.id())));
    owner.signal(Signal::KILL);
    owner.0.wait().expect("its end");
    // The keeper takes what it got of the port out of its line's socket a moment after it came.
    until("the port to be shown as dead", || seen() == (json!(["send"]), json!("dead"), Value::Null));
    tell_to_end(theirs);
    keeper.ends_well();
}

#[test]
fn one_that_is_stopped_holds_nobody_up() {
    if role().is_some() {
        return idle();
    }
    let hello = receive_right();
    let helper = Helper::start("one_that_is_stopped_holds_nobody_up", "idle", hello);
    let theirs = receive(hello).reply();
    let line_peer = || {
        let own = report(&[&std::process::id().to_string()], &[std::process::id(), helper.0.id()]);
        named(&own["processes"][0], theirs).1["peers"].clone()
    };
    assert_eq!(line_peer()[0]["pid"], helper.0.id());
    let mut watch = Running::start(ports(&[&helper.pid(), "--json", "--watch=0.1"]));
    watch.wait_line("{");
    helper.stop();
    let silent = Running::start(ports(&[&helper.pid()])).finish();
    assert_eq!(silent.code(), NO_ANSWER);
    assert!(silent.stderr.contains("stopped"), "{}", silent.stderr);
    let all = report(&[], &[std::process::id()]);
    assert!(find(&all["unanswered"], "pid", helper.0.id())["why"].as_str().is_some_and(|why| why.contains("in time")));
    find(&all["processes"], "pid", std::process::id());
    watch.wait_error("looking again");
    helper.signal(Signal::CONT);
    assert_eq!(run(&[&helper.pid()]).code(), 0);
    tell_to_end(theirs);
    helper.ends_well();
    assert_eq!(watch.finish().code(), 0, "the watch ends with the process");
}

/// Descriptors that a process has open.
fn open_descriptors(pid: u32) -> usize {
    std::fs::read_dir(format!("/proc/{pid}/fd")).expect("its descriptors").count()
}

#[test]
fn askers_cost_a_process_nothing() {
    if role().is_some() {
        return idle();
    }
    let hello = receive_right();
    let helper = Helper::start("askers_cost_a_process_nothing", "idle", hello);
    let theirs = receive(hello).reply();
    let before = open_descriptors(helper.0.id());
    let name = format!("slipway-mach/{}/{}", rustix::process::geteuid().as_raw(), helper.0.id());
    let address = SocketAddrUnix::new_abstract_name(name.as_bytes()).expect("a name");
    // Some leave at once, and some stay without reading.
    let askers: Vec<_> = (0..400)
        .filter_map(|n| {
            let asker = socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None).expect("a socket");
            rustix::net::connect(&asker, &address).expect("it listens");
            // It is not read.
            let _ = rustix::net::send(&asker, &[0xff; 300], SendFlags::NOSIGNAL | SendFlags::DONTWAIT);
            (n % 2 == 0).then_some(asker)
        })
        .collect();
    assert_eq!(run(&[&helper.pid()]).code(), 0, "the last one is answered too");
    // It lets go of the last a moment after that has its answer.
    let deadline = Instant::now() + harness::process::PATIENCE;
    while open_descriptors(helper.0.id()) > before {
        assert!(Instant::now() < deadline, "{} descriptors, {before} before", open_descriptors(helper.0.id()));
        std::thread::yield_now();
    }
    drop(askers);
    tell_to_end(theirs);
    helper.ends_well();
}

/// The processor time that a process has used, in clock ticks.
fn ticks(pid: u32) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).expect("its times");
    let fields: Vec<&str> = stat.rsplit(')').next().expect("what follows the name").split_ascii_whitespace().collect();
    fields[11].parse::<u64>().expect("a time") + fields[12].parse::<u64>().expect("a time")
}

#[test]
fn without_descriptors_nobody_is_answered_and_nothing_spins() {
    if role().is_some() {
        let (parent, own) = greet();
        let mut hoard = Vec::new();
        while let Ok(file) = std::fs::File::open("/dev/null") {
            hoard.push(file);
        }
        send(&Msg::new(2, (parent, types::COPY_SEND), (0, 0)));
        assert_eq!(receive(own).id(), 3);
        drop(hoard);
        send(&Msg::new(4, (parent, types::COPY_SEND), (0, 0)));
        assert_eq!(receive(own).id(), 0);
        return;
    }
    let hello = receive_right();
    let helper = Helper::start("without_descriptors_nobody_is_answered_and_nothing_spins", "starved", hello);
    let theirs = receive(hello).reply();
    assert_eq!(receive(hello).id(), 2);
    let before = ticks(helper.0.id());
    // Each waits two seconds for an answer.
    assert!(is_silent(&helper.pid()) && is_silent(&helper.pid()));
    let spent = ticks(helper.0.id()) - before;
    assert!(spent < 50, "{spent} ticks of the processor's time");
    send(&Msg::new(3, (theirs, types::COPY_SEND), (0, 0)));
    assert_eq!(receive(hello).id(), 4);
    assert_eq!(run(&[&helper.pid()]).code(), 0);
    tell_to_end(theirs);
    helper.ends_well();
}

#[test]
fn of_very_much_a_part_is_shown() {
    if role().is_some() {
        let names: Vec<u32> = (0..20_000).map(|_| receive_right()).collect();
        assert_eq!(names.len(), 20_000);
        return idle();
    }
    let hello = receive_right();
    let helper = Helper::start("of_very_much_a_part_is_shown", "many", hello);
    let theirs = receive(hello).reply();
    let all = report(&[&helper.pid()], &[helper.0.id()]);
    let task = &all["processes"][0]["tasks"][0];
    assert_eq!(all["processes"][0]["truncated"], true);
    let (listed, total) = (task["names"].as_array().expect("names").len() as u64, task["names_total"].as_u64().expect("a count"));
    assert!((1000..20_000).contains(&listed) && total >= 20_000, "{listed} of {total}");
    let text = run(&[&helper.pid()]).stdout;
    assert!(
        text.contains(&format!("Not all is shown: {listed} of {total} names")),
        "{}",
        text.lines().last().unwrap_or_default()
    );
    tell_to_end(theirs);
    helper.ends_well();
}

#[test]
fn strangers_learn_nothing() {
    let own = std::process::id();
    if let Some(asked) = role() {
        // Without the list's filter, as a stranger would ask.
        let all = addresses().expect("the kernel's list");
        let address = all.iter().find(|address| address.pid.to_string() == asked).expect("it is listed");
        let answer = ask(address, Instant::now() + Duration::from_secs(60));
        assert!(matches!(answer, Err(Failure::Refused)), "{answer:?}");
        return;
    }
    let _exported = Task::current().export(receive_right()).expect("now there is a watcher");
    assert_eq!(run(&[&own.to_string()]).code(), 0);
    if !rustix::process::geteuid().is_root() {
        // Nobody else can be played; there is another user's process, though.
        assert_eq!(run(&["1"]).code(), 4);
        return;
    }
    // The programs may lie where a stranger can't go.
    let dir = harness::build::scratch();
    std::fs::set_permissions(dir.path(), PermissionsExt::from_mode(0o755)).expect("chmod");
    let copy = |from: &std::path::Path, name: &str| {
        let to = dir.path().join(name);
        harness::build::copy_program(from, &to);
        to
    };
    let mut tool = Command::new(copy(SLIPWAY.as_ref(), "slipway"));
    tool.args(["ports", &own.to_string()]).uid(STRANGER).gid(STRANGER).current_dir("/");
    let refused = Running::start(tool).finish();
    assert_eq!((refused.code(), refused.stdout.as_str()), (4, ""));
    assert!(refused.stderr.contains("belongs to user 0"), "{}", refused.stderr);
    let mut asker = Command::new(copy(&std::env::current_exe().expect("own path"), "asker"));
    asker.args(["strangers_learn_nothing", "--exact", "--nocapture"]).env(ROLE, own.to_string());
    asker.uid(STRANGER).gid(STRANGER).current_dir("/");
    Running::start(asker).succeed();
}
