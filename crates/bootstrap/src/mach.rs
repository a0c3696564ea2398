//! What the server does with ports, in terms of a task's calls.

use slipway_mach::{
    Request,
    abi::{Code, notify, option, right, types},
    rights::SendRight,
    task::Task,
};

/// A new receive right, with a send right under the same name.
pub fn port_with_send_right(task: Task) -> Result<u32, Code> {
    let port = task.allocate(right::RECEIVE)?;
    match task.insert_right(port, task, port, types::MAKE_SEND) {
        Ok(()) => Ok(port),
        Err(code) => {
            let _ = task.destroy(port);
            Err(code)
        }
    }
}

/// A new receive right in a set.
pub fn port_in_set(task: Task, set: u32) -> Result<u32, Code> {
    let port = task.allocate(right::RECEIVE)?;
    match task.move_member(port, set) {
        Ok(()) => Ok(port),
        Err(code) => {
            let _ = task.destroy(port);
            Err(code)
        }
    }
}

/// One more reference of a send right.
pub fn copy(task: Task, port: u32) -> Result<SendRight, Code> {
    task.mod_refs(port, right::SEND, 1)?;
    Ok(SendRight::from_name(task, port))
}

/// Asks for a message to `notify` when the port dies. `INVALID_RIGHT` if it is dead.
pub fn tell_death(task: Task, port: u32, notify: u32) -> Result<(), Code> {
    request(task, port, notify::DEAD_NAME, notify)
}

/// Asks for a message to `port` itself when no send right to it is left: at once if there is none.
pub fn tell_no_senders(task: Task, port: u32) -> Result<(), Code> {
    request(task, port, notify::NO_SENDERS, port)
}

/// Asks for the receive right `port` at `home`, should it be destroyed elsewhere.
pub fn want_back(task: Task, port: u32, home: u32) -> Result<(), Code> {
    request(task, port, notify::PORT_DESTROYED, home)
}

fn request(task: Task, port: u32, what: i32, to: u32) -> Result<(), Code> {
    let before = task.request_notification(port, what, 0, to, types::MAKE_SEND_ONCE)?;
    if before != 0 {
        // A request that was there: it is told that it was replaced, which nobody minds.
        let _ = task.deallocate(before);
    }
    Ok(())
}

/// Whether a message waits at a receive right; it stays there.
pub fn has_message(task: Task, port: u32) -> bool {
    let option = option::RCV_MSG | option::RCV_TIMEOUT | option::RCV_LARGE;
    let look = Request { option, receive_name: port, ..Request::default() };
    task.mach_msg(&mut [], &look) == Code::RCV_TOO_LARGE
}
