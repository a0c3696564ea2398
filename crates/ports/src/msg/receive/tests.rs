//! What a receive comes to whose port or set changes while it waits. The test has the lock until all is done: the thread that waits sees only how that is left.

use crate::{
    abi::{Code, kind, option, right, types},
    dispatch::Inner,
    msg::Request,
    state::{SpaceId, space::Object},
    task::Task,
    waiting::For,
};
use slipway_test_support::{Msg, WATCHDOG, until, watchdog};
use std::thread::scope;

const NAME: u32 = 0x77;
const OTHER: u32 = 0x78;

fn mach_msg(task: Task, buffer: &mut [u8], option: u32) -> Code {
    let (size, timeout) = (buffer.len(), WATCHDOG.as_millis() as u32);
    task.mach_msg(
        buffer,
        &Request { option, send_size: size, receive_size: size, receive_name: NAME, timeout, ..Request::default() },
    )
}

/// Sends a message by way of the queue, if the name has a receive right or a set: a receive that goes on ends with it.
fn send_to(task: Task, name: u32) {
    let port = match task.kind(name) {
        Ok(kind::PORT_SET) => {
            let port = task.allocate(right::RECEIVE).expect("a port");
            task.move_member(port, name).expect("a member");
            port
        }
        Ok(it) if it & kind::RECEIVE != 0 => name,
        _ => return,
    };
    let mut msg = Msg::new(5, (port, types::MAKE_SEND), (0, 0)).bytes(&[0; 600]);
    assert_eq!(mach_msg(task, &mut msg.0, option::SEND_MSG), Code::SUCCESS);
}

fn object(inner: &Inner, space: SpaceId, name: u32) -> Object {
    inner.state.space(space).get(name).expect("a name").object
}

/// What a receive from a new port or set comes to when that changes so.
fn received(right: u32, change: impl FnOnce(&mut Inner, SpaceId)) -> Code {
    let _dog = watchdog("a receive", WATCHDOG);
    let task = Task::new();
    task.allocate_name(right, NAME).expect("a free name");
    let what = match object(&task.lock(), task.space(), NAME) {
        Object::Port(port) => For::Port(port),
        Object::Set(set) => For::Set(set),
        it => panic!("{it:?}"),
    };
    let code = scope(|scope| {
        let waiter = scope.spawn(|| mach_msg(task, &mut [0; 1024], option::RCV_MSG | option::RCV_TIMEOUT));
        until("it waits", || task.lock().waiting.awaited().any(|it| it == what));
        change(&mut task.lock(), task.space());
        [NAME, OTHER].into_iter().for_each(|name| send_to(task, name));
        waiter.join().expect("no panic")
    });
    task.terminate();
    code
}

/// Destroys the port or set, and makes another one with its number.
fn make_another(inner: &mut Inner, space: SpaceId, right: u32, name: u32) {
    let was = object(inner, space, NAME);
    inner.state.port_destroy(space, NAME).expect("it lives until now");
    inner.settle();
    inner.state.port_allocate_name(space, right, name).expect("a free name");
    assert_eq!(object(inner, space, name), was, "the number is not used again, so that this shows nothing");
}

#[test]
fn a_receive_ends_with_its_port_or_set_whatever_has_the_number_next() {
    for right in [right::RECEIVE, right::PORT_SET] {
        for name in [NAME, OTHER] {
            let code = received(right, |inner, space| make_another(inner, space, right, name));
            assert_eq!(code, Code::RCV_PORT_DIED, "{right} {name:#x}");
        }
    }
}

/// As in Mach, where a receive right has no receivers left when it is taken out of its space.
#[test]
fn a_receive_ends_when_its_receive_right_is_moved_wherever_that_goes() {
    for name in [NAME, OTHER] {
        let code = received(right::RECEIVE, |inner, space| {
            let moved = inner.state.copyin(space, NAME, types::MOVE_RECEIVE).expect("a receive right");
            inner.state.port_insert_right(space, name, moved).expect("a free name");
        });
        assert_eq!(code, Code::RCV_PORT_DIED, "back as {name:#x}");
    }
    let code = received(right::RECEIVE, |inner, space| {
        let (moved, to) = (inner.state.copyin(space, NAME, types::MOVE_RECEIVE), inner.state.new_space());
        inner.state.copyout(to, moved.expect("a receive right")).expect("a name");
        inner.settle();
        inner.state.port_allocate_name(space, right::RECEIVE, NAME).expect("a free name");
        inner.state.terminate(to);
    });
    assert_eq!(code, Code::RCV_PORT_DIED, "to another task");
}

#[test]
fn a_receive_goes_on_when_its_port_or_set_has_another_name() {
    for right in [right::RECEIVE, right::PORT_SET] {
        for another in [false, true] {
            let code = received(right, |inner, space| {
                inner.state.port_rename(space, NAME, OTHER).expect("a free name");
                if another {
                    inner.state.port_allocate_name(space, right::RECEIVE, NAME).expect("a free name");
                }
            });
            assert_eq!(code, Code::SUCCESS, "{right} {another}");
        }
    }
}

#[test]
fn a_receive_ends_when_its_port_comes_into_a_set() {
    let code = received(right::RECEIVE, |inner, space| {
        inner.state.port_allocate_name(space, right::PORT_SET, OTHER).expect("a free name");
        inner.state.port_move_member(space, NAME, OTHER).expect("a member");
    });
    assert_eq!(code, Code::RCV_PORT_CHANGED);
}
