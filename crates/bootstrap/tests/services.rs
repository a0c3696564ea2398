//! Services of the server's own: created, checked in, started on demand; and what becomes of them when tasks die.

mod support;

use mach as _;
use slipway_mach::{
    abi::{Code, kind, notify, right, types},
    bootstrap::{self, Status, protocol},
};
use slipway_test_support::Msg;
use std::fs;
use support::*;

fn status(name: &str) -> Status {
    bootstrap::status(me(), None, name).expect("the service")
}

fn checked_in(name: &str) -> u32 {
    bootstrap::check_in(me(), None, name).expect("the receive right")
}

/// Answers `count` messages with their number plus one.
fn serve(port: u32, count: usize) {
    for _ in 0..count {
        let message = receive(port);
        answer(&message, number(&message).0 + 1);
    }
}

fn ask(port: u32, reply: u32, number_sent: u64) {
    send(port, number_sent, reply);
    let answer = receive(reply);
    assert_eq!((message_id(&answer), number(&answer).0), (1100, number_sent + 1));
}

#[test]
fn messages_wait_until_a_task_checks_in() {
    match role().as_deref() {
        Some("client") => {
            let port = bootstrap::create_service(me(), None, "s").expect("created");
            assert_eq!(refused(bootstrap::create_service(me(), None, "s")), protocol::NAME_IN_USE);
            assert_eq!(status("s"), Status::Inactive);
            assert_eq!(found("s"), port);
            (0..5).for_each(|i| send(port, i, 0));
            say("sent");
            listen();
            assert_eq!(status("s"), Status::Active);
            let reply = receive_right();
            ask(port, reply, 100);
        }
        Some("server") => {
            assert_eq!(refused(bootstrap::check_in(me(), None, "other")), protocol::UNKNOWN_SERVICE);
            let port = checked_in("s");
            assert_eq!(me().kind(port), Ok(kind::RECEIVE));
            assert_eq!(refused(bootstrap::check_in(me(), None, "s")), protocol::SERVICE_ACTIVE);
            assert_eq!(refused(bootstrap::register(me(), None, "s", 0, types::MAKE_SEND)), protocol::SERVICE_ACTIVE);
            (0..5).for_each(|i| assert_eq!(number(&receive(port)).0, i));
            say("in");
            serve(port, 1);
            // Given up in order, it goes back.
            me().mod_refs(port, right::RECEIVE, -1).expect("given up");
            let port = checked_in("s");
            me().destroy(port).expect("given up");
            assert_eq!(status("s"), Status::Inactive);
            bootstrap::register(me(), None, "s", 0, types::MAKE_SEND).expect("forgotten");
            assert_eq!(refused(bootstrap::check_in(me(), None, "s")), protocol::UNKNOWN_SERVICE);
        }
        _ => {
            let user = User::new("messages_wait_until_a_task_checks_in");
            let mut client = user.start("client");
            client.hears("sent");
            let mut server = user.start("server");
            server.hears("in");
            client.tell("ask");
            server.succeeds();
            client.succeeds();
        }
    }
}

#[test]
fn senders_are_not_cut_off_when_the_task_is_killed() {
    match role().as_deref() {
        Some("client") => {
            let port = bootstrap::create_service(me(), None, "s").expect("created");
            let reply = receive_right();
            say("created");
            for round in 0..4 {
                listen();
                ask(port, reply, 10 * round);
                say("answered");
                listen();
                // Nobody answers this one: its server is killed with it, and its reply right says so.
                send(port, 1, reply);
                say("asked");
                assert_eq!(message_id(&receive(reply)), notify::SEND_ONCE);
                // These wait for the next server, or were read by nobody.
                (0..3).for_each(|i| send(port, 100 + i, 0));
                say("sent");
                assert_eq!(me().kind(port), Ok(kind::SEND), "the port lives");
            }
        }
        Some("server") => {
            let port =
                (0..1_000_000).find_map(|_| bootstrap::check_in(me(), None, "s").ok()).expect("the receive right comes back");
            if listen() == "waiting" {
                (0..3).for_each(|i| assert_eq!(number(&receive(port)).0, 100 + i));
            }
            say("in");
            serve(port, 1);
            let _unanswered = receive(port);
            say("received");
            listen();
        }
        _ => {
            let user = User::new("senders_are_not_cut_off_when_the_task_is_killed");
            let mut client = user.start("client");
            client.hears("created");
            for round in 0..4 {
                let mut server = user.start("server");
                server.tell(if round > 0 { "waiting" } else { "none" });
                server.hears("in");
                client.tell("ask");
                client.hears("answered");
                client.tell("again");
                client.hears("asked");
                server.hears("received");
                server.kill();
                client.hears("sent");
            }
            client.succeeds();
        }
    }
}

/// Every request is answered, or told that it never will be, whenever the server is killed.
#[test]
fn servers_killed_under_load() {
    const ROUNDS: usize = 60;
    match role().as_deref() {
        Some("client") => {
            let port = bootstrap::create_service(me(), None, "s").unwrap_or_else(|_| found("s"));
            let replies: Vec<u32> = (0..4).map(|_| receive_right()).collect();
            say("created");
            let (mut answered, mut lost) = (0u64, 0u64);
            let stdin = std::io::stdin();
            rustix::fs::fcntl_setfl(&stdin, rustix::fs::OFlags::NONBLOCK).expect("a flag");
            // Until the test says something.
            while rustix::io::read(&stdin, &mut [0; 1]) == Err(rustix::io::Errno::WOULDBLOCK) {
                replies.iter().for_each(|reply| send(port, answered, *reply));
                for reply in &replies {
                    match message_id(&receive(*reply)) {
                        1100 => answered += 1,
                        notify::SEND_ONCE => lost += 1,
                        other => panic!("message {other}"),
                    }
                }
            }
            assert_eq!(me().kind(port), Ok(kind::SEND), "the port lives");
            say(&format!("{answered} answered, {lost} lost"));
            // Of each client only what the dead process had taken.
            assert!(answered > 0 && lost <= 4 * ROUNDS as u64, "{answered} answered, {lost} lost");
        }
        Some("server") => {
            let port =
                (0..1_000_000).find_map(|_| bootstrap::check_in(me(), None, "s").ok()).expect("the receive right comes back");
            for count in 0.. {
                serve(port, 1);
                if count == 0 {
                    say("serves");
                }
            }
        }
        _ => {
            let user = User::new("servers_killed_under_load");
            let mut clients: Vec<_> = (0..3).map(|_| user.start("client")).collect();
            clients.iter_mut().for_each(|client| client.hears("created"));
            let mut descriptors = Vec::new();
            for round in 0..ROUNDS {
                let mut server = user.start("server");
                server.hears("serves");
                // Killed at once, or a little later: while something else is done.
                assert!((0..round % 7).all(|_| user.server().is_some()));
                descriptors.push(user.descriptors());
                server.kill();
            }
            // What the dead had is closed: as many are open in each round, some of them late.
            let (early, late) = (&descriptors[5..15], &descriptors[ROUNDS - 10..]);
            assert!(late.iter().min() <= early.iter().max(), "{descriptors:?}");
            let server = user.start("server");
            clients.iter_mut().for_each(|client| client.tell("stop"));
            clients.iter_mut().for_each(|client| assert!(client.hear().contains("answered")));
            clients.into_iter().for_each(Running::succeeds);
            server.kill();
        }
    }
}

#[test]
fn a_right_that_was_passed_on_comes_back_too() {
    match role().as_deref() {
        Some("middle") => {
            let port = checked_in("s");
            let next = found("next");
            let message = Msg::new(7, (next, types::COPY_SEND), (0, 0)).ports(types::MOVE_RECEIVE, &[port]);
            assert_eq!(send_raw(message.0), Code::SUCCESS);
        }
        Some("last") => {
            let next = registered("next");
            say("there");
            let port = u32_at(&receive(next), 40);
            say("has it");
            serve(port, 1);
            say("served");
            listen();
        }
        Some("client") => {
            let (port, reply) = (bootstrap::create_service(me(), None, "s").expect("created"), receive_right());
            say("created");
            listen();
            ask(port, reply, 1);
            listen();
            let again = (0..1_000_000).find_map(|_| bootstrap::check_in(me(), None, "s").ok());
            assert_eq!(again, Some(port), "the receive right joins the name of the send right");
            send(port, 5, 0);
            assert_eq!(number(&receive(port)).0, 5);
        }
        _ => {
            let user = User::new("a_right_that_was_passed_on_comes_back_too");
            let mut client = user.start("client");
            client.hears("created");
            let mut last = user.start("last");
            last.hears("there");
            user.run("middle");
            last.hears("has it");
            client.tell("ask");
            last.hears("served");
            last.kill();
            client.tell("check in");
            client.succeeds();
        }
    }
}

#[test]
fn a_program_starts_with_the_first_message() {
    match role().as_deref() {
        Some("service") => serve(checked_in("on.demand"), 2),
        Some("client") => {
            assert_eq!(status("on.demand"), Status::OnDemand);
            assert_eq!(refused(bootstrap::create_service(me(), None, "on.demand")), protocol::NAME_IN_USE);
            assert_eq!(refused(bootstrap::register(me(), None, "on.demand", 0, types::MAKE_SEND)), protocol::NOT_PRIVILEGED);
            let (port, reply) = (found("on.demand"), receive_right());
            // Each process serves two and ends; the next message starts the next one.
            (0..6).for_each(|i| ask(port, reply, i));
            let services = bootstrap::services(me(), None).expect("the services");
            assert_eq!(services[0].note, b"", "{services:?}");
            assert!(services[0].program.starts_with(b"/"), "{services:?}");
        }
        Some("late client") => {
            assert_eq!(status("late"), Status::OnDemand, "its file is newer than the server");
            assert_eq!(refused(bootstrap::look_up(me(), None, "broken")), protocol::UNKNOWN_SERVICE);
        }
        _ => {
            let user = User::new("a_program_starts_with_the_first_message");
            user.configure("on.demand", "service", "");
            user.run("client");
            user.configure("late", "service", "");
            fs::write(user.dir.path().join("config/slipway/services/broken.toml"), "name = 7").expect("a file");
            user.run("late client");
            let log = fs::read_to_string(user.dir.path().join("bootstrap.log")).expect("the log");
            assert!(log.contains("broken.toml") && log.contains("invalid type"), "{log}");
        }
    }
}

/// The file that says so to the process of this number.
fn seen(marks: &str, number: usize) -> String {
    format!("{marks}.{number}")
}

#[test]
fn a_program_that_crashes_is_started_again_after_a_pause() {
    match role().as_deref() {
        Some("service") => {
            let marks = std::env::var("MARKS").expect("a file");
            let file = fs::OpenOptions::new().append(true).create(true).open(&marks);
            std::io::Write::write_all(&mut file.expect("a file"), b"x").expect("written");
            let number = fs::read(&marks).expect("read").len();
            // The note of an end is there until the next.
            eventually("the client has seen how the last one ended", || {
                number == 1 || fs::exists(seen(&marks, number)).is_ok_and(|is| is)
            });
            match number {
                1 => std::process::abort(),
                2 => std::process::exit(3),
                _ => serve(checked_in("crashes"), 1),
            }
        }
        Some("client") => {
            let (port, reply) = (found("crashes"), receive_right());
            send(port, 1, reply);
            let marks = std::env::var("MARKS").expect("a file");
            for (number, end) in [(2, "killed by SIGABRT (6)"), (3, "code 3")] {
                let note = || bootstrap::services(me(), None).expect("the services").swap_remove(0).note;
                eventually(end, || String::from_utf8_lossy(&note()).contains(end));
                fs::write(seen(&marks, number), "").expect("a file");
            }
            assert_eq!(number(&receive(reply)).0, 2);
        }
        _ => {
            let user = User::new("a_program_that_crashes_is_started_again_after_a_pause");
            let marks = user.dir.path().join("marks");
            // Without a message, too, as soon as it has crashed once.
            user.configure("crashes", "service", "restart = 'on-crash'");
            let mut client = user.task("client");
            client.env("MARKS", &marks);
            let start = std::time::Instant::now();
            Running::start(client).succeeds();
            assert!(start.elapsed().as_millis() >= 1500, "half a second, and a second, of pause");
            assert_eq!(fs::read(&marks).expect("the marks").len(), 3);
        }
    }
}

#[test]
fn a_program_that_cannot_start_is_told_of() {
    if role().is_some() {
        let port = found("missing");
        send(port, 1, 0);
        let told = (0..).any(|_| {
            let services = bootstrap::services(me(), None).expect("the services");
            String::from_utf8_lossy(&services[0].note).contains("cannot start /nonexistent/program")
        });
        assert!(told);
        return;
    }
    let user = User::new("a_program_that_cannot_start_is_told_of");
    let file = user.dir.path().join("config/slipway/services/missing.toml");
    fs::write(file, "name = 'missing'\nprogram = '/nonexistent/program'").expect("a file");
    user.run("client");
}

/// What the name server starts a program for is that program's alone, whoever asks first.
#[test]
fn a_configured_service_is_checked_in_by_its_program_only() {
    let refusal = |server, name| refused(bootstrap::check_in(me(), server, name));
    match role().as_deref() {
        Some("service") => {
            // The other service's is the same program; the third's is another one.
            let port = checked_in("kept");
            // It may come back a little later than the first when the process before ends.
            assert!((0..1_000_000).any(|_| bootstrap::check_in(me(), None, "kept too").is_ok()));
            assert_eq!(refusal(None, "kept"), protocol::SERVICE_ACTIVE);
            assert_eq!(refusal(None, "of others"), protocol::NOT_PRIVILEGED);
            // What the program asks by is passed on, and must be good for nothing once the program runs anew.
            let server = bootstrap::port(me()).expect("the name server");
            let message = Msg::new(7, (found("keeper"), types::COPY_SEND), (0, 0)).ports(types::COPY_SEND, &[server]);
            assert_eq!(send_raw(message.0), Code::SUCCESS);
            serve(port, 1);
        }
        Some("client") => {
            let keeper = registered("keeper");
            let (port, reply) = (found("kept"), receive_right());
            let refused_all = |server| {
                ["kept", "kept too"].iter().for_each(|name| {
                    assert_eq!(refusal(server, name), protocol::NOT_PRIVILEGED, "{name}");
                })
            };
            refused_all(None);
            ask(port, reply, 1);
            let old = u32_at(&receive(keeper), 40);
            refused_all(None);
            ask(port, reply, 2);
            let new = u32_at(&receive(keeper), 40);
            assert_ne!(old, new);
            assert_eq!(refusal(Some(old), "kept"), Code::SEND_INVALID_DEST);
            assert_eq!(refusal(Some(new), "of others"), protocol::NOT_PRIVILEGED);
        }
        _ => {
            let user = User::new("a_configured_service_is_checked_in_by_its_program_only");
            ["kept", "kept too"].iter().for_each(|name| user.configure_as(name, "service", "", "kept"));
            user.configure("of others", "none", "");
            user.run("client");
        }
    }
}

/// A program that runs under another server than the one that started it asks that one.
#[test]
fn what_is_inherited_is_one_servers() {
    match role().as_deref() {
        Some("service") => {
            let port = checked_in("s");
            // A program that was started by a program asks by what that one inherited.
            let mut child = std::process::Command::new(std::env::current_exe().expect("the test's own path"));
            child.args(std::env::args_os().skip(1)).env(ROLE, "child");
            assert!(child.status().expect("the child").success());
            child.env(ROLE, "stranger").env("SLIPWAY_BOOTSTRAP", "/nonexistent/server");
            assert!(child.status().expect("the child").success());
            serve(port, 1);
        }
        Some("child") => assert_eq!(refused(bootstrap::check_in(me(), None, "s")), protocol::SERVICE_ACTIVE),
        Some("stranger") => assert_eq!(refused(bootstrap::check_in(me(), None, "s")), Code::SEND_INVALID_DEST),
        Some("client") => ask(found("s"), receive_right(), 1),
        _ => {
            let user = User::new("what_is_inherited_is_one_servers");
            user.configure("s", "service", "");
            user.run("client");
        }
    }
}
