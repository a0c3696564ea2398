//! What stubs in Rust call servers of their process with: what it does with stubs that are wrong, and with servers that fail.
//! The stubs that mig writes are tested with their compiler.
#![allow(unsafe_code, reason = "leaving a call has no safe face")]

use mach as _;
use slipway_fabric::sync::{AtomicBool, Ordering};
use slipway_mach::{
    mig::{
        self, Call, Called, Code, Count, Item, Kind, List, Packed, PortSet, ReceiveRight, SendRight, Slot, Target, Text, Trap,
        Trapped, Traps,
    },
    rights::Outgoing,
    task::Task,
};
use std::{
    ffi::CString,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Barrier, Mutex},
    thread,
};

#[path = "mig_trap/ask.rs"]
mod ask;
#[path = "mig_trap/odd.rs"]
mod odd;

unsafe extern "C" {
    /// What the host of tasks calls when a task calls `exit`.
    fn slipway_domain_leave_call();
}

const INT: Kind = mig::INTEGER_32;

/// A routine that has one of each: numbers, an array, a string and what comes out.
enum Mix {}

impl Trap for Mix {
    const ID: i32 = 500;
    const NAME: &'static str = "mix";
    const TRIED: &'static str = "test.mix";
    const ITEMS: &'static [Item] = &[
        Item::new(mig::IN, INT, Count::One, 4, 4),
        Item::new(mig::IN, INT, Count::UpTo(4), 4, 4),
        Item::new(mig::IN | mig::TEXT, mig::STRING, Count::UpTo(8), 1, 1),
        Item::new(mig::OUT, INT, Count::One, 4, 4),
        Item::new(mig::OUT | mig::COUNT_IN_OUT, INT, Count::UpTo(4), 4, 4),
        Item::new(mig::OUT | mig::TEXT, mig::STRING, Count::UpTo(8), 1, 1),
    ];
}

/// The same by name and number, but for the size of the array.
enum Changed {}

impl Trap for Changed {
    const ID: i32 = Mix::ID;
    const NAME: &'static str = Mix::NAME;
    const TRIED: &'static str = Mix::TRIED;
    const ITEMS: &'static [Item] = &[
        Item::new(mig::IN, INT, Count::One, 4, 4),
        Item::new(mig::IN, INT, Count::UpTo(5), 4, 4),
        Item::new(mig::IN | mig::TEXT, mig::STRING, Count::UpTo(8), 1, 1),
        Item::new(mig::OUT, INT, Count::One, 4, 4),
        Item::new(mig::OUT | mig::COUNT_IN_OUT, INT, Count::UpTo(4), 4, 4),
        Item::new(mig::OUT | mig::TEXT, mig::STRING, Count::UpTo(8), 1, 1),
    ];
}

type Work<'a> = dyn Fn(&mut Called<Mix>) -> Result<(), Code> + Sync + 'a;

/// A server that does with a call what a test says.
#[derive(Clone, Copy)]
struct Server<'a>(&'a Work<'a>);

impl<'a> Trapped<Server<'a>> for Mix {
    fn serve(server: &mut Server<'a>, call: &mut Called<Self>) -> Result<(), Code> {
        (server.0)(call)
    }
}

fn table<'a, W: mig::Way<Server<'a>>>() -> Traps<Server<'a>, W> {
    let mut table = Traps::new(Mix::ID, 1);
    table.add::<Mix>();
    table
}

type Reply = (i32, Vec<i32>, String);

/// A good stub: what came back, or none if the call was not made.
fn mix<R: Trap>(to: &SendRight, number: i32, list: &[i32], text: &str, room: u32) -> Option<Result<Reply, Code>> {
    let text = CString::new(text).expect("a string");
    let list = Packed::new(list);
    let (mut sum, mut out, mut said) = (Slot::<1>::new(), List::<i32>::within(4, room), Text::new(8));
    let mut call = Call::<R, 8>::new();
    call.value(&number);
    call.array(&list);
    call.text(&text);
    call.output(&mut sum);
    call.list(&mut out);
    call.room(&mut said);
    let made = call.make(to)?;
    Some(made.map_err(|error| error.code).map(|()| {
        let said = said.take().expect("a string").into_string().expect("letters");
        (sum.get(), out.take().expect("an array"), said)
    }))
}

/// Takes what came, and gives back the sum, the array backwards and the string.
fn good(call: &mut Called<Mix>) -> Result<(), Code> {
    let number: i32 = call.value()?;
    let list: Vec<i32> = call.list()?;
    let text = call.text()?;
    assert!(call.room()? <= 4);
    assert!(matches!(call.target(), Target::Port(_)));
    let sum = number + list.iter().sum::<i32>();
    let back: Vec<i32> = list.into_iter().rev().collect();
    call.give(|results| {
        results.value(&sum);
        results.list(&back);
        results.text(&text);
    })
}

/// Runs a client beside a server that takes any number of calls at once.
fn shared<T>(work: &Work<'_>, client: impl FnOnce(&SendRight) -> T) -> T {
    let port = ReceiveRight::new().expect("a port");
    let to = port.make_send().expect("a send right");
    let result = mig::with_shared_traps(&port, Server(work), table(), || client(&to));
    assert!(mix::<Mix>(&to, 1, &[], "", 4).is_none(), "a server that has ended is called");
    result.expect("a registration")
}

#[test]
fn what_goes_in_comes_back() {
    shared(&good, |to| {
        assert_eq!(mix::<Mix>(to, 1, &[2, 3], "text", 4), Some(Ok((6, vec![3, 2], "text".into()))));
        assert_eq!(mix::<Mix>(to, 1, &[], "longer than it may be", 9), Some(Ok((1, vec![], "longer ".into()))));
        // More than there is room for.
        assert_eq!(mix::<Mix>(to, 1, &[2, 3], "", 1), Some(Err(Code::MIG_ARRAY_TOO_LARGE)));
        // Too much for the interface is a matter of the message's stub.
        assert_eq!(mix::<Mix>(to, 1, &[0; 5], "", 4), None);
        assert_eq!(mix::<Changed>(to, 1, &[2, 3], "", 4), None, "a routine that was changed is called");
    });
}

#[test]
fn a_stub_that_is_wrong_makes_no_call() {
    shared(&|_: &mut Called<Mix>| panic!("a wrong stub called"), |to| {
        let list = Packed::new(&[1i32]);
        let bytes = Packed::new(&[1u8; 4]);
        let text = c"text";
        type Bad<'a> = Call<'a, Mix, 8>;
        let bad: [&dyn Fn(&mut Bad<'_>); 4] = [&|_| {}, &|call| call.value(&1i64), &|call| call.value(&1u8), &|call| {
            call.value(&1i32);
            call.value(&1i32);
        }];
        for fill in bad {
            let (mut sum, mut out, mut said) = (Slot::<1>::new(), List::<i32>::new(4), Text::new(8));
            let mut call = Bad::new();
            fill(&mut call);
            call.array(&list);
            call.text(text);
            call.output(&mut sum);
            call.list(&mut out);
            call.room(&mut said);
            assert_eq!(call.make(to), None);
        }
        // One thing or another that is not as it should be.
        for wrong in 0..8 {
            let (mut sum, mut none) = (Slot::<1>::new(), Slot::<0>::new());
            let (mut out, mut small, mut large) = (List::<i32>::new(4), List::<u8>::new(4), List::<i64>::new(4));
            let (mut said, mut short) = (Text::new(8), Text::new(7));
            let mut call = Bad::new();
            call.value(&1i32);
            call.array(if wrong == 0 { &bytes } else { &list });
            if wrong != 1 {
                call.text(text);
            }
            match wrong {
                2 => call.output(&mut none),
                3 => call.input(&mut sum, &1i32),
                _ => call.output(&mut sum),
            }
            match wrong {
                4 => call.list(&mut small),
                5 => call.list(&mut large),
                _ => call.list(&mut out),
            }
            call.room(if wrong == 6 { &mut short } else { &mut said });
            if wrong == 7 {
                call.text(text);
            }
            assert_eq!(call.make(to), None, "{wrong}");
        }
        // A block that is too small.
        let mut call = Call::<Mix, 1>::new();
        let (mut sum, mut out, mut said) = (Slot::<1>::new(), List::<i32>::new(4), Text::new(8));
        call.value(&1i32);
        call.array(&list);
        call.text(text);
        call.output(&mut sum);
        call.list(&mut out);
        call.room(&mut said);
        assert_eq!(call.make(to), None);
    });
}

#[test]
fn a_routine_that_is_wrong_gives_an_error_and_writes_nothing() {
    let returned: [(&Work<'_>, Code); 10] = [
        (&|_| Ok(()), Code::MIG_TYPE_ERROR),
        (&|_| Err(Code::SUCCESS), Code::MIG_TYPE_ERROR),
        (&|_| Err(Code(77)), Code(77)),
        (&|_| Err(Code::MIG_NO_REPLY), Code::MIG_SERVER_DIED),
        (&|_| Err(Code::MIG_DESTROY_REQUEST), Code::MIG_SERVER_DIED),
        (&|call| call.value::<i64>().map(drop), Code::MIG_BAD_ARGUMENTS),
        (&|call| call.give(|results| results.value(&1i32)), Code::MIG_TYPE_ERROR),
        (&|call| call.give(|results| results.value(&1u8)), Code::MIG_TYPE_ERROR),
        (
            &|call| {
                call.give(|results| {
                    results.value(&1i32);
                    results.list(&[1i32; 5]);
                    results.text(c"text");
                })
            },
            Code::MIG_ARRAY_TOO_LARGE,
        ),
        (
            &|call| {
                call.give(|results| {
                    results.value(&1i32);
                    results.list(&[1i32; 2]);
                    results.text(c"text");
                    results.text(c"text");
                })
            },
            Code::MIG_TYPE_ERROR,
        ),
    ];
    for (number, (work, code)) in returned.into_iter().enumerate() {
        shared(work, |to| {
            let list = Packed::new(&[1i32]);
            let (mut sum, mut out, mut said) = (Slot::<1>::new(), List::<i32>::within(4, 4), Text::new(8));
            let mut call = Call::<Mix, 8>::new();
            call.value(&1i32);
            call.array(&list);
            call.text(c"");
            call.output(&mut sum);
            call.list(&mut out);
            call.room(&mut said);
            let made = call.make(to).expect("a call").expect_err("an error");
            assert_eq!((made.code, made.tried), (code, Mix::TRIED), "{number}");
            assert_eq!((sum.get::<i32>(), out.take(), said.take()), (0, Ok(vec![0; 4]), Ok(CString::default())), "{number}");
        });
    }
}

#[test]
fn a_panic_ends_its_call_and_no_more() {
    let work = |call: &mut Called<Mix>| {
        let number: i32 = call.value()?;
        match number {
            0 => panic!("as the test wants"),
            1 => std::panic::panic_any(Worse),
            _ => {
                let _: Vec<i32> = call.list()?;
                call.give(|results| {
                    results.value(&number);
                    results.list::<i32>(&[]);
                    results.text(c"");
                })
            }
        }
    };
    shared(&work, |to| {
        for number in [0, 1, 2, 0, 1, 2] {
            let expected = if number < 2 { Err(Code::MIG_SERVER_DIED) } else { Ok((2, vec![], String::new())) };
            assert_eq!(mix::<Mix>(to, number, &[], "", 4), Some(expected));
            assert!(!thread::panicking());
        }
    });
    assert!(catch_unwind(AssertUnwindSafe(|| shared(&good, |_| panic!("in the server's scope")))).is_err());
}

/// What panics once more when it is dropped.
struct Worse;

impl Drop for Worse {
    fn drop(&mut self) {
        if !thread::panicking() {
            panic!("worse");
        }
    }
}

#[test]
fn a_right_of_another_task_makes_no_call() {
    shared(&good, |to| {
        thread::scope(|scope| {
            let others = scope.spawn(|| {
                Task::new().enter();
                mix::<Mix>(to, 1, &[], "", 4)
            });
            assert_eq!(others.join().expect("a thread"), None);
        });
    });
}

#[test]
fn calls_of_a_shared_server_are_made_at_once() {
    let both = Barrier::new(2);
    let work = |call: &mut Called<Mix>| {
        both.wait();
        good(call)
    };
    shared(&work, |to| {
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| assert_eq!(mix::<Mix>(to, 1, &[2], "", 4), Some(Ok((3, vec![2], String::new())))));
            }
        });
    });
}

#[test]
fn a_withdrawal_waits_for_calls_from_before_the_port_came_into_a_set() {
    let (port, set) = (ReceiveRight::new().expect("a port"), PortSet::new().expect("a set"));
    let to = port.make_send().expect("a send right");
    let (in_it, go, done) = (Barrier::new(2), Barrier::new(2), AtomicBool::new(false));
    let work = |call: &mut Called<Mix>| {
        in_it.wait();
        go.wait();
        let result = good(call);
        done.store(true, Ordering::Release);
        result
    };
    let run = || {
        thread::scope(|scope| {
            let call = scope.spawn(|| mix::<Mix>(&to, 1, &[2], "", 4));
            in_it.wait();
            set.add(&port).expect("a member");
            let withdrawal = scope.spawn(|| {
                Task::current().withdraw_traps(port.name()).expect("a withdrawal");
                done.load(Ordering::Acquire)
            });
            // From then on it waits.
            while Task::current().trap_calls(port.name()).is_some() {
                thread::yield_now();
            }
            go.wait();
            assert!(withdrawal.join().expect("a thread"), "the call was still in the routine");
            assert_eq!(call.join().expect("a thread"), Some(Ok((3, vec![2], String::new()))));
        });
    };
    mig::with_shared_traps(&port, Server(&work), table(), run).expect("a registration");
}

#[test]
fn a_port_with_a_payload_gets_messages() {
    let port = ReceiveRight::new().expect("a port");
    let to = port.make_send().expect("a send right");
    let made = || mix::<Mix>(&to, 1, &[2], "", 4).is_some();
    let run = || {
        let mut seen = vec![made()];
        Task::current().set_payload(port.name(), 77).expect("a payload");
        seen.push(made());
        Task::current().clear_payload(port.name()).expect("no payload");
        seen.push(made());
        seen
    };
    let seen = mig::with_shared_traps(&port, Server(&good), table(), run).expect("a registration");
    assert_eq!(seen, [true, false, true], "a server that knows its port by a payload learns it from messages");
}

#[test]
fn a_call_that_is_left_ends_with_its_server() {
    let work = |call: &mut Called<Mix>| {
        if call.value::<i32>()? == 0 {
            // As `exit` does: what the routine holds is not given back.
            // SAFETY: no thread uses the routine's stack.
            unsafe { slipway_domain_leave_call() };
        }
        Err(Code(77))
    };
    let died = Some(Err(Code::MIG_SERVER_DIED));
    shared(&work, |to| assert_eq!(mix::<Mix>(to, 0, &[], "", 4), died));
    let port = ReceiveRight::new().expect("a port");
    let to = port.make_send().expect("a send right");
    let ended = mig::with_traps(&port, &mut Server(&work), table(), |_| {
        thread::scope(|scope| {
            scope.spawn(|| receive(&port));
            assert_eq!(Some(until_made(|| mix::<Mix>(&to, 0, &[], "", 4))), died);
            to.send(Outgoing::new(1), None).expect("a message");
        });
    });
    ended.expect("a registration");
}

/// Serves messages, of which there are none but the one that ends it.
fn receive(port: &ReceiveRight) {
    let end = port.receive(None).expect("a message");
    assert_eq!(end.id(), 1);
}

fn until_made<T>(mut call: impl FnMut() -> Option<T>) -> T {
    loop {
        match call() {
            Some(made) => return made,
            None => thread::yield_now(),
        }
    }
}

#[test]
fn a_server_that_calls_itself_is_told() {
    let port = ReceiveRight::new().expect("a port");
    let to = port.make_send().expect("a send right");
    let seen = Mutex::new(Vec::new());
    let work = |call: &mut Called<Mix>| {
        if let Some(inner) = mix::<Mix>(&to, 1, &[], "", 4) {
            seen.lock().expect("no panic").push(inner);
        }
        good(call)
    };
    // With two threads that receive there is a place for the inner call, which would wait for the server's lock.
    for receivers in [1, 2] {
        let mut server = Server(&work);
        mig::with_traps(&port, &mut server, table(), |behind| {
            thread::scope(|scope| {
                for _ in 0..receivers {
                    scope.spawn(|| receive(&port));
                }
                for _ in 0..10 {
                    assert_eq!(until_made(|| mix::<Mix>(&to, 1, &[2], "", 4)), Ok((3, vec![2], String::new())));
                }
                let inner = behind.with(|_| behind.with(|_| ()).is_none());
                assert_eq!(inner, Some(true), "a thread gets a server that it has");
                (0..receivers).for_each(|_| to.send(Outgoing::new(1), None).expect("a message"));
            });
        })
        .expect("a registration");
    }
    let seen = seen.into_inner().expect("no panic");
    assert!(!seen.is_empty() && seen.iter().all(|code| *code == Err(Code::TRAP_DEADLOCK)), "{seen:?}");
}

#[test]
fn the_server_is_one_threads_at_a_time() {
    struct Counter(u64);
    enum Count1 {}
    impl Trap for Count1 {
        const ID: i32 = 7;
        const NAME: &'static str = "count";
        const TRIED: &'static str = "count";
        const ITEMS: &'static [Item] = &[];
    }
    impl Trapped<Counter> for Count1 {
        fn serve(server: &mut Counter, _: &mut Called<Self>) -> Result<(), Code> {
            // Not one step, so that two at once would lose some.
            let before = std::hint::black_box(server.0);
            thread::yield_now();
            server.0 = before + 1;
            Ok(())
        }
    }
    const CALLS: u64 = 500;
    let port = ReceiveRight::new().expect("a port");
    let to = port.make_send().expect("a send right");
    let mut server = Counter(0);
    let mut table = Traps::new(7, 1);
    table.add::<Count1>();
    let direct = mig::with_traps(&port, &mut server, table, |behind| {
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| receive(&port));
            }
            let callers: Vec<_> = (0..2)
                .map(|_| {
                    scope.spawn(|| (0..CALLS).for_each(|_| until_made(|| Call::<Count1, 0>::new().make(&to)).expect("a call")))
                })
                .collect();
            let mut direct = 0;
            while callers.iter().any(|caller| !caller.is_finished()) {
                behind.with(|server| server.0 += 1).expect("the server");
                direct += 1;
            }
            (0..2).for_each(|_| to.send(Outgoing::new(1), None).expect("a message"));
            direct
        })
    });
    assert_eq!(server.0, 2 * CALLS + direct.expect("a registration"));
    assert!(Call::<Count1, 0>::new().make(&to).is_none());
}
