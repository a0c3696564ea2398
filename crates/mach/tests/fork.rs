//! What a child of fork(2) takes for its name server.
#![allow(unsafe_code, reason = "fork")]

use mach as _;
use slipway_mach::{
    abi::{Code, right, types},
    bootstrap,
    rights::{Outgoing, Part, ReceiveRight, Region},
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
        unsafe { libc::alarm(60) };
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

/// The file is the parent's: its number may be anything's in the child.
#[test]
fn what_a_parent_lent_is_copied_by_its_child() {
    let (bytes, others) = (vec![3; 100_000], vec![4; 100_000]);
    let region = Region::lent(&bytes).expect("memory");
    let code = forked(|| {
        // SAFETY: as above.
        unsafe { libc::alarm(60) };
        let port = ReceiveRight::new().expect("a port");
        let right = port.make_send().expect("a send right");
        // Takes the number, and a place in the child's own list.
        let other = Region::lent(&others).expect("memory");
        for (region, bytes) in [(region, &bytes), (other, &others)] {
            right.send(Outgoing::new(1).memory(region), None).expect("it is sent");
            let got = port.receive(None).expect("a message").next_part();
            let Some(Part::Memory(_, got)) = got else { panic!("{got:?}") };
            assert_eq!((got.len(), got.iter().position(|byte| *byte != bytes[0])), (bytes.len(), None));
        }
        0
    });
    assert_eq!(code, 0, "see above");
}
