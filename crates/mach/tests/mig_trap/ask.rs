//! Asking before a call whether it would be made.

use super::{Changed, Mix, Server, good, mix, receive, table, until_made};
use slipway_fabric::sync::{AtomicBool, Ordering};
use slipway_mach::{
    mig::{self, Called, Code, Item, ReceiveRight, Trap, Trapped, Traps},
    rights::Outgoing,
};
use std::thread;

/// A routine of another interface.
enum Nothing {}

impl Trap for Nothing {
    const ID: i32 = 7;
    const NAME: &'static str = "nothing";
    const TRIED: &'static str = "nothing";
    const ITEMS: &'static [Item] = &[];
}

impl Trapped<Server<'_>> for Nothing {
    fn serve(_: &mut Server<'_>, _: &mut Called<Self>) -> Result<(), Code> {
        Ok(())
    }
}

#[test]
fn a_stub_may_ask_whether_a_call_would_be_made() {
    let (port, other) = (ReceiveRight::new().expect("a port"), ReceiveRight::new().expect("a port"));
    let (to, elsewhere) = (port.make_send().expect("a send right"), other.make_send().expect("a send right"));
    assert!(!mig::may_call::<Mix>(&to), "nothing is registered");
    // Two interfaces, of which the thread keeps one at a time.
    let mut count = Traps::new(7, 1);
    count.add::<Nothing>();
    let run = || {
        for _ in 0..2 {
            assert!(mig::may_call::<Mix>(&to) && mig::may_call::<Nothing>(&to));
            assert!(!mig::may_call::<Changed>(&to) && !mig::may_call::<Mix>(&elsewhere));
        }
        to.send(Outgoing::new(1), None).expect("a message");
        assert!(!mig::may_call::<Mix>(&to), "a message waits");
        receive(&port);
        assert!(mig::may_call::<Mix>(&to));
    };
    mig::with_shared_traps(&port, Server(&good), table().and(count), run).expect("a registration");
    assert!(!mig::may_call::<Mix>(&to), "the routines were withdrawn");

    // One call at a time: a caller inside it is told of the deadlock, which only a call does.
    let within = AtomicBool::new(false);
    let work = |call: &mut Called<Mix>| {
        within.store(mig::may_call::<Mix>(&to), Ordering::Relaxed);
        let others = thread::scope(|scope| scope.spawn(|| mig::may_call::<Mix>(&to)).join().expect("a thread"));
        assert!(!others, "the server is busy");
        good(call)
    };
    let ended = mig::with_traps(&port, &mut Server(&work), table(), |_| {
        assert!(!mig::may_call::<Mix>(&to), "nobody receives");
        thread::scope(|scope| {
            scope.spawn(|| receive(&port));
            let made = until_made(|| mig::may_call::<Mix>(&to).then(|| mix::<Mix>(&to, 1, &[2], "", 4)).flatten());
            assert_eq!(made, Ok((3, vec![2], String::new())));
            to.send(Outgoing::new(1), None).expect("a message");
        });
    });
    ended.expect("a registration");
    assert!(within.into_inner());
}
