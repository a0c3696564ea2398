//! Deaths: what is only said of one, and what one leaves behind.

use super::*;
use slipway_fabric::credit::{Closed, RxCount};
use slipway_ports::abi::notify;

/// A peer gives another's port as its own and says that it is dead; then the owner moves it to the victim.
#[test]
fn hearsay_of_a_death_stops_no_receive_right() {
    alone("deaths::hearsay_of_a_death_stops_no_receive_right", friend, |test| {
        let friend = Friend::new(test);
        let own = receive_right();
        let (s, _t) = Task::current().export(own).expect("sockets");
        let (port, mut hostile, mut owner) = (Port::new(), Line::make(&s), Line::make(&s));
        let (record, rest) = one_right(message(0), types::PORT_SEND, right(form::FIRST_LINE_RIGHT, 1));
        hostile.write(&Record { fds: 1, ..record }, &rest, &[port.s.as_fd()]);
        let name = receive(own).u32(40);
        // A right in a message keeps what is known of the port.
        let waiting = Msg::new(1, (receive_right(), types::MAKE_SEND), (0, 0)).ports(types::COPY_SEND, &[name]);
        assert_eq!(send(&waiting), Code::SUCCESS);
        hostile.credit.close(1, &RxCount::default(), Closed::Dead);
        hostile.ring();
        until("the victim has heard of a death", || is_dead(name));
        let (record, mut rest) = one_right(message(0), types::PORT_RECEIVE, right(form::RECEIVE, 0));
        rest.resize(rest.len() + size_of::<Luggage>(), 0);
        let record = Record { items: record.items + size_of::<Luggage>() as u32, fds: 2, ..record };
        owner.write(&record, &rest, &[port.r.as_fd(), port.s.as_fd()]);
        let moved = receive(own).u32(40);
        let mut sender = Line::make(&port.s);
        sender.write(&Record { id: 4, ..message(0) }, &[], &[]);
        assert_eq!(receive(moved).id(), 4);
        assert!(!owner.is_closed(), "it did nothing wrong");
        friend.end();
    });
}

/// A right to a dead port waits in a message, and the program had asked for the death.
#[test]
fn a_dead_ports_right_in_a_message_keeps_the_watcher_asleep() {
    alone("deaths::a_dead_ports_right_in_a_message_keeps_the_watcher_asleep", friend, |test| {
        let friend = Friend::new(test);
        let task = Task::current();
        let port = Port::new();
        let (name, _) = port.give();
        let (kept, told) = (receive_right(), receive_right());
        let asked = task.request_notification(name, notify::DEAD_NAME, 0, told, types::MAKE_SEND_ONCE);
        asked.expect("a live port");
        let waiting = Msg::new(1, (kept, types::MAKE_SEND), (0, 0)).ports(types::COPY_SEND, &[name]);
        assert_eq!(send(&waiting), Code::SUCCESS);
        drop(port);
        assert_eq!(receive(told).id(), notify::DEAD_NAME);
        until_asleep(watcher());
        assert_eq!(receive(kept).u32(40), !0);
        friend.end();
    });
}

/// The watcher's number.
fn watcher() -> i32 {
    let is_it = |task: &std::fs::DirEntry| {
        std::fs::read_to_string(task.path().join("comm")).is_ok_and(|name| name.trim() == "slipway-watcher")
    };
    let mut it = None;
    // A thread takes its name when it begins.
    until("the watcher has its name", || {
        it = std::fs::read_dir("/proc/self/task").expect("/proc").flatten().find(is_it);
        it.is_some()
    });
    it.expect("a watcher").file_name().to_string_lossy().parse().expect("a number")
}
