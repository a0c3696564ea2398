//! What the server does with ports, in terms of a task's calls.

use slipway_mach::{
    Request,
    abi::{Code, notify, option, right, types},
    bootstrap::protocol::u32_at,
    task::Task,
};

/// What is received of a message at most, in bytes: requests are shorter, and a longer one is refused whole.
const LONGEST: usize = 64 << 10;

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

/// Asks for a message to `notify` when the port dies. `INVALID_RIGHT` if it is dead.
pub fn tell_death(task: Task, port: u32, notify: u32) -> Result<(), Code> {
    request(task, port, notify::DEAD_NAME, notify)
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

/// The next message at a port or set, if one is there.
pub fn receive(task: Task, from: u32) -> Option<Vec<u8>> {
    let mut buffer = vec![0; LONGEST];
    loop {
        match task.mach_msg(&mut buffer, &look(from, LONGEST, 0)) {
            Code::SUCCESS => {
                let size = u32_at(&buffer, 4) as usize;
                buffer.truncate(size);
                return Some(buffer);
            }
            // Taken and destroyed, as nothing that is said to the server is so long.
            Code::RCV_TOO_LARGE => {}
            _ => return None,
        }
    }
}

/// Whether a message waits at a receive right; it stays there.
pub fn has_message(task: Task, port: u32) -> bool {
    task.mach_msg(&mut [], &look(port, 0, option::RCV_LARGE)) == Code::RCV_TOO_LARGE
}

fn look(from: u32, receive_size: usize, more: u32) -> Request {
    let option = option::RCV_MSG | option::RCV_TIMEOUT | more;
    Request { option, receive_size, receive_name: from, timeout: 0, ..Request::default() }
}

/// Sends a message, or gives up what is in it if it can't be sent at once: no client can keep the server waiting.
pub fn send(task: Task, mut message: Vec<u8>) -> Result<(), Code> {
    let send_size = message.len();
    let request = Request { option: option::SEND_MSG | option::SEND_TIMEOUT, send_size, timeout: 0, ..Request::default() };
    match task.mach_msg(&mut message, &request) {
        Code::SUCCESS => Ok(()),
        Code::SEND_TIMED_OUT => {
            // It came back as if it had been received.
            slipway_mach::bootstrap::protocol::discard(task, &message);
            let to = u32_at(&message, 8);
            if to != 0 {
                let _ = task.deallocate(to);
            }
            Err(Code::SEND_TIMED_OUT)
        }
        code => Err(code),
    }
}
