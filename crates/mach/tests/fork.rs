//! What a child of fork(2) takes for its name server.
#![allow(unsafe_code, reason = "fork")]

use mach as _;
use slipway_mach::{
    abi::{Code, right, types},
    bootstrap,
    task::Task,
};
use slipway_test_support::forked;

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
