//! Names: registered, looked up, forgotten.

mod support;

use mach as _;
use slipway_mach::{
    abi::typed::type_word,
    abi::{self, Code, notify, right, types},
    bootstrap::{
        self, Status,
        protocol::{self, NAME_MAX},
    },
};
use support::*;

#[test]
fn a_service_is_found_by_its_name() {
    match role().as_deref() {
        Some("server") => {
            let port = registered("org.example.echo");
            say("there");
            for _ in 0..2 {
                let message = receive(port);
                answer(&message, number(&message).0 + 1);
            }
            listen();
        }
        Some("client") => {
            let (port, reply) = (found("org.example.echo"), receive_right());
            send(port, 41, reply);
            assert_eq!(number(&receive(reply)).0, 42);
            assert_eq!(found("org.example.echo"), port, "one name for one port");
            assert_eq!(bootstrap::status(me(), None, "org.example.echo"), Ok(Status::Active));
            assert_eq!(
                refused(bootstrap::register(me(), None, "org.example.echo", reply, types::MAKE_SEND)),
                protocol::NAME_IN_USE
            );
            assert_eq!(refused(bootstrap::create_service(me(), None, "org.example.echo")), protocol::NAME_IN_USE);
            assert_eq!(refused(bootstrap::check_in(me(), None, "org.example.echo")), protocol::SERVICE_ACTIVE);
            assert_eq!(refused(bootstrap::look_up(me(), None, "org.example.other")), protocol::UNKNOWN_SERVICE);
        }
        Some("after") => assert_eq!(refused(bootstrap::look_up(me(), None, "org.example.echo")), protocol::UNKNOWN_SERVICE),
        _ => {
            let user = User::new("a_service_is_found_by_its_name");
            let mut server = user.start("server");
            server.hears("there");
            user.run("client");
            user.run("client");
            server.kill();
            // The kernel tells the name server by itself, which nothing here can wait for.
            eventually("the name of a dead port is not known", || user.start("after").end().success());
        }
    }
}

#[test]
fn names_are_given_back() {
    if role().is_none() {
        return User::new("names_are_given_back").run("all");
    }
    let forget = |name| bootstrap::register(me(), None, name, abi::NULL, types::MAKE_SEND);
    assert_eq!(refused(forget("a")), protocol::UNKNOWN_SERVICE);
    let port = registered("a");
    bootstrap::register(me(), None, "b", port, types::MAKE_SEND).expect("one port under two names");
    forget("a").expect("forgotten");
    assert_eq!(refused(bootstrap::look_up(me(), None, "a")), protocol::UNKNOWN_SERVICE);
    assert_eq!(found("b"), port);
    registered("a");
    forget("b").expect("forgotten");
    // The server kept no right to it, and says so to who asks.
    let old = me().request_notification(port, notify::NO_SENDERS, 0, port, types::MAKE_SEND_ONCE);
    assert_eq!(old, Ok(0));
    me().mod_refs(port, right::SEND, -1).expect("the right that was looked up");
    assert_eq!(message_id(&receive(port)), notify::NO_SENDERS);
    // A port that dies takes all its names along.
    let port = registered("c");
    bootstrap::register(me(), None, "d", port, types::MAKE_SEND).expect("one port under two names");
    me().destroy(port).expect("destroyed");
    for name in ["c", "d"] {
        assert!((0..100_000).any(|_| bootstrap::look_up(me(), None, name).is_err()), "{name} is still known");
    }
    registered("d");
    let names: Vec<_> =
        bootstrap::services(me(), None).expect("the services").into_iter().map(|it| it.name.to_string()).collect();
    assert_eq!(names, ["a", "d"]);
    let longest = "x".repeat(NAME_MAX - 1);
    let port = registered(&longest);
    assert_eq!(found(&longest), port);
    for wrong in ["", "a\0b", &"x".repeat(NAME_MAX)] {
        assert_eq!(refused(bootstrap::look_up(me(), None, wrong)), Code::INVALID_ARGUMENT);
    }
}

#[test]
fn many_names() {
    if role().is_none() {
        return User::new("many_names").run("all");
    }
    // An eighth of the descriptors that the server may open.
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).maximum;
    let count = limit.map_or(2000, |limit| (limit / 8).min(2000));
    let port = receive_right();
    for i in 0..count {
        bootstrap::register(me(), None, format!("service.{i}"), port, types::MAKE_SEND).expect("registered");
    }
    let services = bootstrap::services(me(), None).expect("the services, in a message far larger than others");
    assert_eq!(services.len() as u64, count);
    assert!(services.iter().all(|it| it.status == Status::Active));
    assert_eq!(found("service.34"), port);
}

/// The ids of requests.
const CHECK_IN: i32 = 402;
const REGISTER: i32 = 403;
const LOOK_UP: i32 = 404;
const LIST: i32 = 408;

/// Asks the server with a message as it is: the return code of its answer.
fn ask(message: Vec<u8>, reply: u32) -> Code {
    assert_eq!(send_raw(message), Code::SUCCESS);
    Code(u32_at(&receive(reply), 40) as i32)
}

#[test]
fn malformed_requests_are_refused_and_leave_nothing() {
    if role().is_none() {
        return User::new("malformed_requests_are_refused_and_leave_nothing").run("all");
    }
    let server = bootstrap::port(me()).expect("the name server");
    let (reply, gift) = (receive_right(), receive_right());
    let request = |id| header(id, (server, types::COPY_SEND), (reply, types::MAKE_SEND_ONCE));
    let bad = Code::MIG_BAD_ARGUMENTS;
    assert_eq!(ask(request(1), reply), Code::MIG_BAD_ID);
    assert_eq!(ask(request(LOOK_UP), reply), bad, "no name");
    let mut number = request(LOOK_UP);
    number.extend(type_word(types::INTEGER_32, 32, 1).to_le_bytes());
    number.extend([0; 8]);
    assert_eq!(ask(number, reply), bad, "a number for a name");
    // Rights that nobody asked for come to nothing: inline, and as a name's type says to the server only.
    for id in [1, LOOK_UP, REGISTER, LIST, notify::PORT_DESTROYED, notify::DEAD_NAME] {
        let mut rights = request(id);
        rights[3] |= 0x80;
        rights.extend(type_word(types::MAKE_SEND, 64, 3).to_le_bytes());
        (0..3).for_each(|_| rights.extend(u64::from(gift).to_le_bytes()));
        assert!([bad, Code::MIG_BAD_ID].contains(&ask(rights, reply)), "{id}");
    }
    // Nobody waits for an answer.
    let mut silent = header(CHECK_IN, (server, types::COPY_SEND), (0, 0));
    silent.extend(type_word(12, 8, NAME_MAX as u32).to_le_bytes());
    silent.extend([b'x'; NAME_MAX]);
    assert_eq!(send_raw(silent), Code::SUCCESS);
    // Longer than anything that the server understands.
    let mut long = header(1, (server, types::COPY_SEND), (0, 0));
    long.resize(1 << 20, 0);
    assert_eq!(send_raw(long), Code::SUCCESS);
    let dead = receive_right();
    me().insert_right(dead, me(), dead, types::MAKE_SEND).expect("a send right");
    me().mod_refs(dead, right::RECEIVE, -1).expect("destroyed");
    assert!(bootstrap::register(me(), None, "dead", dead, types::COPY_SEND).is_err());
    // A right that died on its way takes no name back, as a null right does.
    let known = registered("known");
    assert!(bootstrap::register(me(), None, "known", dead, types::COPY_SEND).is_err());
    assert_eq!(found("known"), known);
    bootstrap::register(me(), None, "known", 0, types::COPY_SEND).expect("forgotten");
    // None of it is left with the server.
    let old = me().request_notification(gift, notify::NO_SENDERS, 0, gift, types::MAKE_SEND_ONCE);
    assert_eq!(old, Ok(0));
    assert_eq!(message_id(&receive(gift)), notify::NO_SENDERS);
    assert_eq!(found_after_all(), 0);
}

/// The server still works.
fn found_after_all() -> usize {
    let before = bootstrap::services(me(), None).expect("the services").len();
    let port = registered("works");
    assert_eq!(found("works"), port);
    before
}
