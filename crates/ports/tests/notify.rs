//! MACH_SEND_NOTIFY: what finds no room is taken all the same, and its sender told when it is received.

mod support;

use slipway_ports::{
    abi::{Code, notify, option, right, types},
    msg::Request,
    task::Task,
};
use support::*;

/// Sends with these options beside, and `told` for the notification.
fn send_telling(msg: &Msg, options: u32, told: u32) -> Code {
    let mut buffer = msg.0.clone();
    let option = option::SEND_MSG | option::SEND_NOTIFY | options;
    let request = Request { option, send_size: buffer.len(), notify: told, ..Request::default() };
    Task::current().mach_msg(&mut buffer, &request)
}

fn nothing_at(port: u32) {
    assert_eq!(receive_within(port, 0).err(), Some(Code::RCV_TIMED_OUT));
}

/// Fills the port's queue of two, sends one more and a further one, and receives them by `take`.
fn over_the_limit(port: u32, told: u32, mut take: impl FnMut() -> i32) {
    let msg = |id| Msg::new(id, (port, types::COPY_SEND), (0, 0));
    assert_eq!(send_telling(&msg(0), 0, told), Code::SUCCESS);
    // Whether or not there is room.
    assert_eq!(send_telling(&msg(1), option::SEND_CANCEL, 0), Code::SEND_INVALID_NOTIFY);
    assert_eq!(send_telling(&msg(1), option::SEND_CANCEL, told), Code::SUCCESS);
    assert_eq!(send_telling(&msg(2), 0, 0), Code::SEND_INVALID_NOTIFY);
    assert_eq!(send_telling(&msg(2), 0, port), if own(port) { Code::SEND_WILL_NOTIFY } else { Code::SEND_INVALID_NOTIFY });
    if own(port) {
        // The notification would come to the port itself, behind the rest.
        assert_eq!([take(), take(), take(), take()], [0, 1, 2, notify::MSG_ACCEPTED]);
        assert_eq!((send_telling(&msg(0), 0, told), send_telling(&msg(1), 0, told)), (Code::SUCCESS, Code::SUCCESS));
    }
    assert_eq!(send_telling(&msg(2), 0, told), Code::SEND_WILL_NOTIFY);
    assert_eq!(send_telling(&msg(3), 0, told), Code::SEND_NOTIFY_IN_PROGRESS);
    assert_eq!((take(), take()), (0, 1));
    nothing_at(told);
    assert_eq!(take(), 2);
    let accepted = receive(told);
    assert_eq!((accepted.id(), accepted.u32(40)), (notify::MSG_ACCEPTED, port));

    // An earlier request is taken back for a new one, and tells no name.
    assert_eq!([0, 1].map(|id| send_telling(&msg(id), 0, told)), [Code::SUCCESS; 2]);
    assert_eq!(send_telling(&msg(2), 0, told), Code::SEND_WILL_NOTIFY);
    assert_eq!(send_telling(&msg(3), option::SEND_CANCEL, 0), Code::SEND_INVALID_NOTIFY);
    assert_eq!(send_telling(&msg(3), option::SEND_CANCEL, told), Code::SEND_WILL_NOTIFY);
    assert_eq!([take(), take(), take(), take()], [0, 1, 2, 3]);
    let told = [receive(told).u32(40), receive(told).u32(40)];
    assert_eq!(told, [0, port]);
}

fn own(port: u32) -> bool {
    Task::current().get_refs(port, right::RECEIVE) == Ok(1)
}

#[test]
fn within_a_task() {
    let (port, told) = (receive_right(), receive_right());
    let task = Task::current();
    task.insert_right(port, task, port, types::MAKE_SEND).expect("a send right");
    task.set_qlimit(port, 2).expect("a limit");
    over_the_limit(port, told, || receive(port).id());
    // It is told as well when the message dies with its port.
    let msg = Msg::new(0, (port, types::COPY_SEND), (0, 0));
    assert_eq!([send_telling(&msg, 0, told), send_telling(&msg, 0, told)], [Code::SUCCESS; 2]);
    assert_eq!(send_telling(&msg, 0, told), Code::SEND_WILL_NOTIFY);
    task.destroy(port).expect("a port of ours");
    assert_eq!(receive(told).id(), notify::MSG_ACCEPTED);
}

/// A message with a wrong right is destroyed from its front: the send right to the port, and then its receive right.
#[test]
fn what_was_taken_for_a_wrong_message_goes_in_order() {
    let (port, told) = (receive_right(), receive_right());
    let task = Task::current();
    task.insert_right(port, task, port, types::MAKE_SEND).expect("a send right");
    assert_eq!(task.request_notification(port, notify::NO_SENDERS, 0, told, types::MAKE_SEND_ONCE), Ok(0));
    let wrong =
        Msg::new(1, (port, types::MOVE_SEND), (0, 0)).ports(types::MOVE_RECEIVE, &[port]).ports(types::MAKE_SEND, &[port]);
    assert_eq!(send(&wrong), Code::SEND_INVALID_RIGHT);
    assert_eq!(receive(told).id(), notify::NO_SENDERS);
    nothing_at(told);
}

#[test]
fn between_processes() {
    if role().is_some() {
        let parent = inherited();
        let (own, control) = (receive_right(), receive_right());
        Task::current().set_qlimit(own, 2).expect("a limit");
        assert_eq!(send(&Msg::new(1, (parent, types::COPY_SEND), (own, types::MAKE_SEND))), Code::SUCCESS);
        assert_eq!(send(&Msg::new(1, (parent, types::COPY_SEND), (control, types::MAKE_SEND))), Code::SUCCESS);
        loop {
            let go = receive(control);
            if go.id() == 0 {
                // With a message over the limit in its queue.
                return;
            }
            let id = receive(own).id();
            assert_eq!(send(&Msg::new(id, (go.reply(), types::MOVE_SEND_ONCE), (0, 0))), Code::SUCCESS);
        }
    }
    let (hello, told, reply) = (receive_right(), receive_right(), receive_right());
    let mut child = start("between_processes", "receiver", hello);
    let (port, control) = (receive(hello).reply(), receive(hello).reply());
    over_the_limit(port, told, || rpc(1, control, reply, |msg| msg).id());
    let msg = Msg::new(0, (port, types::COPY_SEND), (0, 0));
    assert_eq!([send_telling(&msg, 0, told), send_telling(&msg, 0, told)], [Code::SUCCESS; 2]);
    assert_eq!(send_telling(&msg, 0, told), Code::SEND_WILL_NOTIFY);
    assert_eq!(send(&Msg::new(0, (control, types::COPY_SEND), (0, 0))), Code::SUCCESS);
    assert_eq!(receive(told).id(), notify::MSG_ACCEPTED);
    assert!(child.wait().expect("the receiver's end").success());
}
