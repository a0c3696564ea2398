//! What a child of fork(2) takes for its name server.
#![allow(unsafe_code, reason = "fork")]

use mach as _;
use slipway_mach::{
    abi::{Code, right, types},
    bootstrap,
    task::Task,
};

/// Runs `body` in a forked process: its exit code, 99 if it panicked.
fn forked(body: impl FnOnce() -> i32) -> i32 {
    // SAFETY: the child goes on in this thread alone and ends by _exit.
    let pid = unsafe { libc::fork() };
    assert!(pid >= 0, "fork: {}", std::io::Error::last_os_error());
    if pid == 0 {
        let code = std::panic::catch_unwind(std::panic::AssertUnwindSafe(body)).unwrap_or(99);
        // SAFETY: ends the process.
        unsafe { libc::_exit(code) };
    }
    let mut status = 0;
    // SAFETY: waits for the child of this call.
    assert_eq!(unsafe { libc::waitpid(pid, &mut status, 0) }, pid);
    assert!(libc::WIFEXITED(status), "the child was ended by a signal: {status:#x}");
    libc::WEXITSTATUS(status)
}

#[test]
fn a_childs_names_are_not_its_parents_name_server() {
    let task = Task::current();
    let make = || {
        let port = task.allocate(right::RECEIVE).expect("a port");
        task.insert_right(port, task, port, types::MAKE_SEND).expect("a send right");
        port
    };
    // Not a name that the child has, too.
    let ports: Vec<u32> = (0..100).map(|_| make()).collect();
    let server = ports[99];
    let before = task.bootstrap().expect("a name");
    task.set_bootstrap(server).expect("a bootstrap port");
    assert_eq!(bootstrap::port(task), Ok(server));
    let code = forked(|| {
        // SAFETY: ends this process if it waits for an answer, which nobody gives.
        unsafe { libc::alarm(30) };
        let child = Task::current();
        let own = child.allocate(right::RECEIVE).expect("a port");
        child.insert_right(own, child, own, types::MAKE_SEND).expect("a send right");
        child.set_bootstrap(own).expect("a bootstrap port");
        assert_eq!(bootstrap::look_up(child, Some(server), "service"), Err(Code::SEND_INVALID_DEST.into()));
        0
    });
    assert_eq!(code, 0, "see above");
    task.set_bootstrap(before).expect("a bootstrap port");
    ports.into_iter().for_each(|port| task.destroy(port).expect("a port"));
}
