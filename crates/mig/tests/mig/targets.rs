//! A client and a server in Rust of targets.defs: translated targets and arguments, and reply ports whose kind is said at run time.

use mach as _;
use slipway_mach::mig::{self, Code, ReceiveRight, ReplyRight, SendRight, Target};
use slipway_mig_interfaces::targets::{AnsweredLaterReplyPort, AnsweredReplyPort, OpenReplyPort, Targets, TargetsServer, demux};
use std::time::Duration;

/// What a port stands for: the number of its name, and whether it came as the target.
struct Thing {
    name: u32,
    target: bool,
}

#[derive(Default)]
struct Server {
    waiting: Option<AnsweredLaterReplyPort>,
    told: Vec<(i32, bool)>,
}

impl TargetsServer for Server {
    type ThingRef = Thing;

    fn find_thing(&mut self, target: Target) -> Thing {
        let Target::Port(name) = target else { panic!("a payload: {target:?}") };
        Thing { name, target: true }
    }

    fn find_thing_2(&mut self, right: Option<SendRight>) -> Thing {
        Thing { name: right.map_or(0, |right| right.name()), target: false }
    }

    fn join(&mut self, own: Thing, other: Thing) -> Result<i32, Code> {
        assert!(own.target && !other.target);
        Ok(if own.name == other.name { 1 } else { 2 })
    }

    fn join_twice(&mut self, own: Thing, one: Thing, two: Thing) -> Result<(), Code> {
        if own.target && one.name == two.name { Ok(()) } else { Err(Code::INVALID_ARGUMENT) }
    }

    fn answered(&mut self, _: Target, reply: AnsweredReplyPort) {
        reply.answer(Ok(7)).expect("an answer");
    }

    fn answered_later(&mut self, own: Thing, later: AnsweredLaterReplyPort) {
        assert!(own.target);
        match self.told.last() {
            Some((value, _)) => later.answer(Ok(*value)).expect("an answer"),
            None => self.waiting = Some(later),
        }
    }

    fn told(&mut self, _: Target, reply: Option<ReplyRight>, value: i32) -> Result<(), Code> {
        self.told.push((value, reply.is_some()));
        if let Some(waiting) = self.waiting.take() {
            waiting.answer(Ok(value)).expect("an answer");
        }
        Ok(())
    }

    fn open(&mut self, _: Target, reply: OpenReplyPort) {
        reply.answer(Err(Code::NO_SPACE)).expect("an answer");
    }
}

#[test]
fn translated_targets_and_open_reply_ports() {
    const PATIENCE: Option<Duration> = Some(Duration::from_secs(60));
    let (service, other) = (ReceiveRight::new().expect("a port"), ReceiveRight::new().expect("a port"));
    let things = [&service, &other].map(|port| port.make_send().expect("a right"));
    let [own, _] = &things;
    let client = Targets(own.try_clone().expect("a right"));
    let serving = std::thread::spawn(move || {
        let mut server = Server::default();
        for _ in 0..7 {
            mig::serve_one(&service, PATIENCE, |request| demux(&mut server, request)).expect("a request");
        }
        server.told
    });
    let [own, other] = &things;
    assert_eq!(client.join(Some(own)).expect("an answer"), 1);
    assert_eq!(client.join(Some(other)).expect("an answer"), 2);
    client.join_twice(Some(other), Some(other)).expect("an answer");
    let reply = ReceiveRight::new().expect("a port");
    assert_eq!(client.answered(&reply).expect("an answer"), 7);
    assert_eq!(client.open(&reply).expect_err("an error").code, Code::NO_SPACE);
    let later = Targets(own.try_clone().expect("a right"));
    let asking = std::thread::spawn(move || later.answered_later(&reply).expect("an answer"));
    // The two requests may come in either order.
    client.told(9).expect("a request");
    assert_eq!(asking.join().expect("an answer"), 9);
    assert_eq!(serving.join().expect("a server"), [(9, false)]);
}
