//! A line's number is used again when the line has ended: what referred to that line must not refer to the next.

use super::*;
use rustix::io::Errno;
use slipway_fabric::credit::{Closed, RxCount};
use slipway_ports::line::HELD;

/// The hostile line is gone, and `stale` was a right to answer over it. An honest client makes the next line, and asks with
/// the same token: nothing but its answer reaches it.
fn next_client_has_its_own_answer(test: &str, before: usize, stale: u32) {
    until("the hostile line is gone", || descriptors() <= before);
    let hello = receive_right();
    let client = start(test, "client", hello);
    let asked = receive(hello);
    assert_eq!(asked.id(), ASK);
    send(&Msg::new(666, (stale, types::MOVE_SEND_ONCE), (0, 0)));
    assert_eq!(send(&Msg::new(ASK + 1, (asked.reply(), types::MOVE_SEND_ONCE), (0, 0))), Code::SUCCESS);
    well(vec![client]);
    assert!(is_dead(stale), "the right died with its line");
}

fn client() {
    let answer = rpc(ASK, inherited(), receive_right(), |msg| msg);
    assert_eq!(answer.id(), ASK + 1, "an answer that was meant for another");
}

/// With as many of its tokens held as there may be, a peer gives one again.
#[test]
fn a_token_given_again_leaves_the_right_with_its_line() {
    alone("numbers::a_token_given_again_leaves_the_right_with_its_line", client, |test| {
        let own = receive_right();
        let (s, _t) = Task::current().export(own).expect("sockets");
        let before = descriptors();
        let mut line = Line::make(&s);
        let mut ask = |token| line.write(&Record { reply: right(form::TOKEN, token), ..message(0) }, &[], &[]);
        ask(0);
        let first = receive(own).reply();
        for token in 1..HELD as u32 {
            ask(token);
            receive(own);
        }
        ask(0);
        // The message may be delivered; its reply right is dead, and the line ends.
        until("the victim closes the line", || {
            assert!(!receive_within(own, 1).is_ok_and(|again| again.reply() != slipway_ports::abi::DEAD));
            line.is_closed()
        });
        drop(line);
        next_client_has_its_own_answer(test, before, first);
    });
}

/// A peer gives a token again that is on its way home, in a message that is then taken back.
#[test]
fn a_token_that_is_taken_back_leaves_the_right_with_its_line() {
    alone("numbers::a_token_that_is_taken_back_leaves_the_right_with_its_line", client, |test| {
        let own = receive_right();
        let (s, _t) = Task::current().export(own).expect("sockets");
        let before = descriptors();
        let mut line = Line::make(&s);
        let port = Port::new();
        let (record, rest) = one_right(message(0), types::PORT_SEND, right(form::FIRST_LINE_RIGHT, 1));
        line.write(&Record { fds: 1, reply: right(form::TOKEN, 0), ..record }, &rest, &[port.s.as_fd()]);
        let given = receive(own);
        let (first, to) = (given.reply(), given.u32(40));
        let home = Msg::new(7, (to, types::COPY_SEND), (0, 0)).ports(types::MOVE_SEND_ONCE, &[first]);
        assert_eq!(send(&home), Code::SUCCESS);
        line.write(&Record { reply: right(form::TOKEN, 0), ..message(0) }, &[], &[]);
        let stale = receive(own).reply();
        line.credit.close(1, &RxCount::default(), Closed::Moved);
        line.ring();
        let next = Line::take(&port.r);
        drop((line, next, port));
        next_client_has_its_own_answer(test, before, stale);
    });
}

/// A record that no line takes, on one with messages that were not taken: they stay there, and what follows goes over one other line.
#[test]
fn a_bad_record_has_nothing_sent_twice() {
    alone("numbers::a_bad_record_has_nothing_sent_twice", friend, |test| {
        let mut friend = Friend::new(test);
        let port = Port::new();
        let (name, _) = port.give();
        for id in 1..=3 {
            assert_eq!(send(&Msg::new(id, (name, types::COPY_SEND), (0, 0))), Code::SUCCESS);
        }
        let mut line = Line::take(&port.r);
        line.write(&message(77), &[], &[]);
        until("the victim closes the line", || line.is_closed());
        assert_eq!([(); 3].map(|()| line.read().0.id), [1, 2, 3]);
        assert_eq!(send(&Msg::new(4, (name, types::COPY_SEND), (0, 0))), Code::SUCCESS);
        let mut next = Line::take(&port.r);
        assert_eq!(next.read().0.id, 4);
        // The victim is through with the line when it does anything else.
        friend.round_trip();
        assert!(!next.is_closed());
        assert_eq!(objects::receive(port.r.as_fd(), &mut [0; 64], &mut Vec::new()), Err(Errno::WOULDBLOCK), "a third line");
        friend.end();
    });
}
