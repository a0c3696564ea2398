//! How the server starts, ends and is replaced; and what is said when it can't be reached.

mod support;

use mach as _;
use rustix::{
    net,
    process::{PidfdFlags, Signal, pidfd_open, pidfd_send_signal},
};
use slipway_mach::{
    abi::Code,
    bootstrap::{self, protocol},
};
use std::{
    fs,
    process::{Command, Stdio},
    time::{Duration, Instant},
};
use support::*;

#[test]
fn many_start_it_at_once() {
    if let Some(role) = role() {
        listen();
        registered(&role);
        say("registered");
        listen();
        for i in 0..8 {
            found(&format!("task{i}"));
        }
        say("found");
        listen();
        return;
    }
    let user = User::new("many_start_it_at_once");
    fs::write(user.socket(), "what a killed server left").expect("a file");
    let mut tasks: Vec<_> = (0..8).map(|i| user.start(&format!("task{i}"))).collect();
    tasks.iter_mut().for_each(|task| task.tell("go"));
    tasks.iter_mut().for_each(|task| task.hears("registered"));
    tasks.iter_mut().for_each(|task| task.tell("look"));
    tasks.iter_mut().for_each(|task| task.hears("found"));
    tasks.into_iter().for_each(Running::succeeds);
    let left: Vec<_> = fs::read_dir(user.dir.path()).expect("the directory").flatten().map(|it| it.file_name()).collect();
    for name in ["bootstrap", "bootstrap.lock", "bootstrap.log"] {
        assert!(left.iter().any(|it| it == name), "{left:?}");
    }
    assert_eq!(fs::read_to_string(user.dir.path().join("bootstrap.log")).expect("the log"), "");
    user.end_server(Signal::TERM);
    assert!(!user.socket().exists(), "a server that ends in order removes its socket");
}

#[test]
fn established_connections_survive_its_end() {
    match role().as_deref() {
        Some("server") => {
            let port = registered("echo");
            say("there");
            loop {
                let message = receive(port);
                answer(&message, number(&message).0 + 1);
                if number(&message).0 == 0 {
                    return;
                }
            }
        }
        Some("client") => {
            let own = bootstrap::port(me()).expect("the name server");
            let (port, reply) = (found("echo"), receive_right());
            let rpc = |number_sent| {
                send(port, number_sent, reply);
                assert_eq!(number(&receive(reply)).0, number_sent + 1);
            };
            rpc(1);
            say("connected");
            listen();
            rpc(2);
            // The next call finds the new server, also by the name that stood for the old one.
            assert_eq!(refused(bootstrap::look_up(me(), None, "echo")), protocol::UNKNOWN_SERVICE);
            assert_eq!(refused(bootstrap::look_up(me(), Some(own), "echo")), protocol::UNKNOWN_SERVICE);
            let other = registered("other");
            assert_eq!(bootstrap::look_up(me(), Some(own), "other"), Ok(other));
            // A port that the program brought itself stands for itself only.
            assert_eq!(refused(bootstrap::look_up(me(), Some(0x7777), "other")), Code::SEND_INVALID_DEST);
            rpc(0);
        }
        _ => {
            let user = User::new("established_connections_survive_its_end");
            for signal in [Signal::TERM, Signal::KILL] {
                let mut server = user.start("server");
                server.hears("there");
                let mut client = user.start("client");
                client.hears("connected");
                user.end_server(signal);
                client.tell("go on");
                client.succeeds();
                server.succeeds();
            }
        }
    }
}

#[test]
fn a_forked_child_inherits_it() {
    if role().is_none() {
        let user = User::new("a_forked_child_inherits_it");
        let mut task = user.start("parent");
        task.hears("ready");
        // Without its socket the server can be asked by inheritance only.
        let elsewhere = user.dir.path().join("elsewhere");
        fs::rename(user.socket(), &elsewhere).expect("renamed");
        task.tell("fork");
        task.succeeds();
        return fs::rename(elsewhere, user.socket()).expect("renamed");
    }
    let port = registered("parent");
    say("ready");
    listen();
    #[allow(unsafe_code, reason = "a fork without exec is what is tested")]
    // SAFETY: the child makes calls that are made for a forked child, and leaves without unwinding.
    let pid = unsafe { libc::fork() };
    if pid == 0 {
        let sent = std::panic::catch_unwind(|| send(found("parent"), 7, 0));
        #[allow(unsafe_code, reason = "no exit handler of the test harness may run")]
        // SAFETY: ends the process at once.
        unsafe {
            libc::_exit(i32::from(sent.is_err()))
        }
    }
    assert_eq!(number(&receive(port)).0, 7);
}

/// What a task is told that can't reach a server.
fn complaint(user: &User, prepare: impl FnOnce(&mut Command) -> &mut Command) -> String {
    let mut command = user.task("complains");
    prepare(&mut command);
    let mut task = Running::start(command);
    let said = task.hear();
    task.succeeds();
    said
}

#[test]
fn errors_say_what_was_tried_and_what_to_do() {
    if role().is_some() {
        let error = bootstrap::look_up(me(), None, "x").expect_err("no server");
        assert_eq!(error.code(), Code::SEND_INVALID_DEST);
        return say(&error.to_string());
    }
    let user = User::new("errors_say_what_was_tried_and_what_to_do");
    let named = user.dir.path().join("private");
    let contains = |said: String, parts: &[&str]| parts.iter().for_each(|part| assert!(said.contains(part), "{part}: {said}"));

    let said = complaint(&user, |command| command.env("SLIPWAY_BOOTSTRAP", &named));
    contains(said, &[&named.display().to_string(), "SLIPWAY_BOOTSTRAP", "nobody listens", "slipway-bootstrap --socket"]);

    let said = complaint(&user, |command| command.env("SLIPWAY_BOOTSTRAP_SERVER", "/nonexistent/server"));
    contains(said, &[&user.socket().display().to_string(), "/nonexistent/server", "start it with `slipway-bootstrap`"]);

    let said = complaint(&user, |command| command.env_remove("SLIPWAY_BOOTSTRAP_SERVER").env("PATH", "/nonexistent"));
    contains(said, &["not installed", "/nonexistent/slipway-bootstrap", "SLIPWAY_BOOTSTRAP_SERVER"]);

    let said = complaint(&user, |command| command.env("SLIPWAY_BOOTSTRAP_SERVER", "/bin/true"));
    contains(said, &["/bin/true ended at once"]);

    let said = complaint(&user, |command| command.env("SLIPWAY_RUNTIME_DIR", "/nonexistent/dir"));
    contains(said, &["mode 0700", "SLIPWAY_RUNTIME_DIR"]);

    // The server itself says what it lacks: its lock is a directory.
    fs::create_dir(user.dir.path().join("bootstrap.lock")).expect("a directory");
    contains(complaint(&user, |command| command), &["bootstrap.lock", "directory"]);
    fs::remove_dir(user.dir.path().join("bootstrap.lock")).expect("removed");

    // Something else listens there.
    let stranger = net::socket_with(net::AddressFamily::UNIX, net::SocketType::SEQPACKET, net::SocketFlags::CLOEXEC, None);
    let stranger = stranger.expect("a socket");
    net::bind(&stranger, &net::SocketAddrUnix::new(&named).expect("a path")).expect("bound");
    net::listen(&stranger, 1).expect("listens");
    let answering = std::thread::spawn(move || {
        let connection = net::accept(&stranger).expect("a connection");
        net::send(&connection, b"what do you want", net::SendFlags::NOSIGNAL).expect("an answer");
    });
    let said = complaint(&user, |command| command.env("SLIPWAY_BOOTSTRAP", &named));
    contains(said, &["no name server of this version"]);
    answering.join().expect("the stranger");
}

#[test]
fn a_second_server_leaves_it_to_the_first() {
    let user = User::new("a_second_server_leaves_it_to_the_first");
    let start = || {
        Running::start({
            let mut command = user.command(SERVER);
            command.stderr(Stdio::null());
            command
        })
    };
    let mut first = start();
    assert_eq!(first.line(), "ready");
    let pid = user.server();
    let mut second = start();
    assert_eq!(second.line(), "ready");
    second.succeeds();
    assert_eq!(user.server(), pid);
}

#[test]
fn an_idle_server_does_nothing() {
    if role().is_some() {
        registered("idle");
        say("there");
        listen();
        return;
    }
    let user = User::new("an_idle_server_does_nothing");
    user.configure("waits.for.messages", "none", "");
    let mut task = user.start("task");
    task.hears("there");
    let pid = user.server().expect("a server").as_raw_nonzero();
    let spent = || {
        let threads = fs::read_dir(format!("/proc/{pid}/task")).expect("threads").flatten();
        // A thread that has ended since it was listed has no status.
        let status = threads.filter_map(|thread| fs::read_to_string(thread.path().join("status")).ok());
        status
            .flat_map(|text| text.lines().filter(|line| line.contains("ctxt_switches")).map(str::to_owned).collect::<Vec<_>>())
            .collect::<Vec<_>>()
    };
    // Asking who listens was a connection, which it has answered once it sleeps again.
    let mut before = spent();
    for _ in 0..2000 {
        let now = spent();
        if std::mem::replace(&mut before, now.clone()) == now && stays_so(&before, &spent) {
            return;
        }
    }
    panic!("the server never sleeps for long: {before:?}");
}

/// Whether nothing changes while other processes come and go. The library's own thread looks around every two seconds.
fn stays_so<T: PartialEq>(before: &T, spent: &dyn Fn() -> T) -> bool {
    let start = Instant::now();
    while start.elapsed() < Duration::from_millis(100) {
        assert!(Command::new("/bin/true").status().expect("a program").success());
    }
    *before == spent()
}

#[test]
fn service_files_are_checked_and_read_again() {
    if role().is_some() {
        let program = || bootstrap::services(me(), None).expect("the services")[0].program.clone();
        assert_eq!(program(), b"/bin/one");
        say("one");
        listen();
        // The signal was sent before this was asked; the server may still take up the question first.
        assert!((0..100_000).any(|_| program() == b"/bin/two"), "the file was not read again");
        return;
    }
    let user = User::new("service_files_are_checked_and_read_again");
    let file = user.dir.path().join("config/slipway/services/x.toml");
    let check = || user.command(SERVER).arg("--check").output().expect("an answer");
    fs::write(&file, "name = 'x'\nprogram = '/bin/one'\ncolour = 'red'").expect("a file");
    let wrong = check();
    assert_eq!(wrong.status.code(), Some(1));
    let said = String::from_utf8_lossy(&wrong.stderr);
    assert!(said.contains("x.toml:3: ") && said.contains("colour"), "{said}");

    fs::write(&file, "name = 'x'\nprogram = '/bin/one'").expect("a file");
    let right = check();
    assert_eq!((right.status.code(), right.stdout.as_slice()), (Some(0), &b"x: /bin/one\n"[..]));
    let mut task = user.start("asks");
    task.hears("one");
    fs::write(&file, "name = 'x'\nprogram = '/bin/two'").expect("a file");
    let server = pidfd_open(user.server().expect("a server"), PidfdFlags::empty()).expect("a process");
    pidfd_send_signal(&server, Signal::HUP).expect("a signal");
    task.tell("read again");
    task.succeeds();
}
