//! Many ports that one thread receives from, each with a server of its own, by message and by trap.

use mach as _;
use slipway_mach::{
    abi::{right, types},
    mig::{
        self, Call, Called, Code, Count, INTEGER_32, Item, Reader, ReceiveRight, Received, Request, SendRight, Served, Service,
        Slot, Trap, Trapped, Traps, Writer,
    },
    rights::Outgoing,
    task::Task,
};
use slipway_test_support::{until, watchdog};
use std::{
    sync::{Arc, Barrier, Mutex, Weak},
    thread::{self, JoinHandle},
    time::Duration,
};

const LIMIT: Duration = Duration::from_secs(120);

/// What a call has its server do before it is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Work {
    Count,
    /// Waits at the first of the server's barriers, and then at the other.
    Wait,
    Panic,
    /// Removes the port that it came to.
    Remove,
}

/// Counts its calls, not in one step.
struct Counter {
    calls: i32,
    barriers: Arc<[Barrier; 2]>,
    service: Weak<Service<Counter>>,
    port: u32,
    /// Shows that the server is there.
    _there: Arc<()>,
}

enum Step {}

impl Trap for Step {
    const ID: i32 = 700;
    const NAME: &'static str = "step";
    const TRIED: &'static str = "test.step";
    const ITEMS: &'static [Item] =
        &[Item::new(mig::IN, INTEGER_32, Count::One, 4, 4), Item::new(mig::OUT, INTEGER_32, Count::One, 4, 4)];
}

impl Trapped<Counter> for Step {
    fn serve(server: &mut Counter, call: &mut Called<Self>) -> Result<(), Code> {
        let work: i32 = call.value()?;
        let count = server.step(work)?;
        call.give(|results| results.value(&count))
    }
}

impl Counter {
    fn step(&mut self, work: i32) -> Result<i32, Code> {
        let before = std::hint::black_box(self.calls);
        match work {
            w if w == Work::Wait as i32 => self.barriers.iter().for_each(|barrier| _ = barrier.wait()),
            w if w == Work::Panic as i32 => panic!("as the test wants"),
            w if w == Work::Remove as i32 => {
                self.service.upgrade().expect("a service").remove(self.port).map_err(|error| error.code)?;
            }
            _ => thread::yield_now(),
        }
        self.calls = before + 1;
        Ok(self.calls)
    }
}

fn demux(server: &mut Counter, request: Received) -> Served {
    if request.id() != Step::ID {
        return Err(Box::new(request));
    }
    Ok(mig::answer(request, server, |server, request: &mut Reader, reply: &mut Writer<'static>| {
        let work: i32 = request.value(INTEGER_32)?;
        request.finish()?;
        let count = server.step(work)?;
        reply.value(INTEGER_32, &count);
        Ok(())
    }))
}

fn by_message(to: &SendRight, work: Work) -> Result<i32, Code> {
    let mut request = Request::new(Step::ID, Step::TRIED);
    request.value(INTEGER_32, &(work as i32));
    request.call(to, 4096, |reply| reply.value(INTEGER_32)).map_err(|error| error.code)
}

/// None if no call is made.
fn by_trap(to: &SendRight, work: Work) -> Option<Result<i32, Code>> {
    let mut count = Slot::<1>::new();
    let mut call = Call::<Step, 2>::new();
    call.value(&(work as i32));
    call.output(&mut count);
    let made = call.make(to)?;
    Some(made.map(|()| count.get()).map_err(|error| error.code))
}

/// A port that is served, as its clients have it.
struct Port {
    name: u32,
    to: SendRight,
    barriers: Arc<[Barrier; 2]>,
    there: Weak<()>,
}

/// A service in a task of its own, whose client the test is.
struct Fixture {
    service: Arc<Service<Counter>>,
    task: Task,
    client: Task,
    serves: Option<JoinHandle<Code>>,
}

impl Fixture {
    fn new(traps: bool) -> Self {
        let (task, client) = (Task::new(), Task::new());
        task.enter();
        let mut table = Traps::new(Step::ID, 1);
        table.add::<Step>();
        let service = Arc::new(Service::new(traps.then_some(table)).expect("a service"));
        client.enter();
        let own = Arc::clone(&service);
        let serves = thread::spawn(move || {
            task.enter();
            match own.serve(demux) {
                Ok(never) => match never {},
                Err(error) => error.code,
            }
        });
        Self { service, task, client, serves: Some(serves) }
    }

    fn port(&self) -> Port {
        let barriers = Arc::new([Barrier::new(2), Barrier::new(2)]);
        let name = self.task.allocate(right::RECEIVE).expect("a port");
        let port = ReceiveRight::from_name(self.task, name);
        let told = self.task.extract_right(name, types::MAKE_SEND, self.client).expect("a right");
        let to = SendRight::from_name(self.client, told);
        self.task.enter();
        port.notify_no_senders(port.make_send_once().expect("a right")).expect("a request");
        self.client.enter();
        let there = Arc::new(());
        let weak = Arc::downgrade(&there);
        let service = Arc::downgrade(&self.service);
        let server = Counter { calls: 0, barriers: Arc::clone(&barriers), service, port: name, _there: there };
        self.service.add(port, server).expect("an addition");
        Port { name, to, barriers, there: weak }
    }

    /// Runs a client's work on a thread of its own.
    fn client<T: Send + 'static>(&self, port: &Arc<Port>, work: impl FnOnce(&Port) -> T + Send + 'static) -> JoinHandle<T> {
        let (port, client) = (Arc::clone(port), self.client);
        thread::spawn(move || {
            client.enter();
            work(&port)
        })
    }
}

impl Drop for Fixture {
    fn drop(&mut self) {
        self.task.terminate();
        let ended = self.serves.take().expect("a thread").join();
        assert!(thread::panicking() || matches!(ended, Ok(Code::RCV_PORT_DIED | Code::RCV_INVALID_NAME)), "{ended:?}");
    }
}

fn is_gone(port: &Weak<()>) -> bool {
    port.strong_count() == 0
}

#[test]
fn each_port_has_a_server_of_its_own() {
    let _limit = watchdog("servers of several ports", LIMIT);
    for traps in [false, true] {
        let fixture = Fixture::new(traps);
        let ports: Vec<Port> = (0..5).map(|_| fixture.port()).collect();
        for (turns, port) in ports.iter().enumerate() {
            for turn in 0..turns {
                assert_eq!(by_message(&port.to, Work::Count), Ok(2 * turn as i32 + 1));
                // A call needs no thread that receives.
                let called = by_trap(&port.to, Work::Count).or_else(|| (!traps).then(|| by_message(&port.to, Work::Count)));
                assert_eq!(called, Some(Ok(2 * turn as i32 + 2)));
            }
            assert_eq!(fixture.task.trap_calls(port.name), traps.then_some(turns as u64));
        }
        let unknown = Request::new(Step::ID + 1, "another").call(&ports[0].to, 4096, |_| Ok(()));
        assert_eq!(unknown.map_err(|error| error.code), Err(Code::MIG_BAD_ID));
        fixture.task.enter();
        assert_eq!(fixture.service.serve(demux).expect_err("a second thread").code, Code::FAILURE);
        fixture.client.enter();
    }
}

#[test]
fn a_port_goes_with_its_last_sender_or_when_it_is_removed() {
    let _limit = watchdog("ports that go", LIMIT);
    for traps in [false, true] {
        let fixture = Fixture::new(traps);
        let (kept, left, removed) = (fixture.port(), fixture.port(), fixture.port());
        by_message(&left.to, Work::Count).expect("a call");
        drop(left.to);
        until("the server is dropped", || is_gone(&left.there));
        fixture.service.remove(removed.name).expect("a removal");
        assert!(is_gone(&removed.there));
        assert_eq!(by_message(&removed.to, Work::Count), Err(Code::SEND_INVALID_DEST));
        assert_eq!(by_trap(&removed.to, Work::Count), None);
        let again = fixture.service.remove(removed.name).expect_err("no such port");
        assert_eq!(again.code, Code::INVALID_NAME);
        // A routine can't have its own port removed.
        assert_eq!(by_message(&kept.to, Work::Remove), Err(Code::TRAP_DEADLOCK));
        assert_eq!(by_trap(&kept.to, Work::Remove), traps.then_some(Err(Code::TRAP_DEADLOCK)));
        assert_eq!(by_message(&kept.to, Work::Count), Ok(1));
        let there = kept.there.clone();
        drop(fixture);
        assert!(is_gone(&there), "the end of the task leaves a server");
    }
}

#[test]
fn a_routine_that_takes_long_keeps_its_own_port_only() {
    let _limit = watchdog("long routines", LIMIT);
    for traps in [false, true] {
        let fixture = Fixture::new(traps);
        let other = fixture.port();
        let long: Vec<_> = (0..3).map(|_| Arc::new(fixture.port())).collect();
        let mut calls = Vec::new();
        for port in &long {
            let call = move |port: &Port| match traps {
                true => by_trap(&port.to, Work::Wait).expect("a call"),
                false => by_message(&port.to, Work::Wait),
            };
            calls.push(fixture.client(port, call));
            port.barriers[0].wait();
            // Those that come behind it wait, and there are more of them than of threads.
            calls.extend((0..2).map(|_| fixture.client(port, |port| by_message(&port.to, Work::Count))));
            for _ in 0..10 {
                by_message(&other.to, Work::Count).expect("a call");
            }
        }
        for port in &long {
            port.barriers[1].wait();
        }
        let mut counts: Vec<i32> = calls.into_iter().map(|call| call.join().expect("a thread").expect("a call")).collect();
        counts.sort_unstable();
        assert_eq!(counts, [1, 1, 1, 2, 2, 2, 3, 3, 3]);
        for port in &long {
            assert_eq!(by_message(&port.to, Work::Count), Ok(4), "a port is served again");
        }
        assert_eq!(by_message(&other.to, Work::Count), Ok(31));
    }
}

#[test]
fn a_port_is_removed_when_the_call_in_it_is_done() {
    let _limit = watchdog("removals", LIMIT);
    for by_message_too in [false, true] {
        let fixture = Fixture::new(true);
        let port = Arc::new(fixture.port());
        let call = fixture.client(&port, |port| by_trap(&port.to, Work::Wait));
        port.barriers[0].wait();
        // A message that waits for the server is answered, if it was received before the port died.
        let waiting = by_message_too.then(|| fixture.client(&port, |port| by_message(&port.to, Work::Count)));
        let service = Arc::clone(&fixture.service);
        let name = port.name;
        let removal = thread::spawn(move || service.remove(name));
        until("the routines are withdrawn", || fixture.task.trap_calls(name).is_none());
        assert_eq!(by_trap(&port.to, Work::Count), None);
        assert!(!is_gone(&port.there));
        port.barriers[1].wait();
        assert_eq!(call.join().expect("a thread"), Some(Ok(1)));
        removal.join().expect("a thread").expect("a removal");
        if let Some(waiting) = waiting {
            let code = waiting.join().expect("a thread");
            assert!(matches!(code, Ok(2) | Err(Code::MIG_SERVER_DIED | Code::SEND_INVALID_DEST)), "{code:?}");
        }
        until("the server is dropped", || is_gone(&port.there));
        assert_eq!(by_message(&fixture.port().to, Work::Count), Ok(1));
    }
}

#[test]
fn a_right_that_dies_under_a_call_ends_nothing_else() {
    let _limit = watchdog("a right that dies", LIMIT);
    let fixture = Fixture::new(true);
    let (port, other) = (Arc::new(fixture.port()), fixture.port());
    let call = fixture.client(&port, |port| by_trap(&port.to, Work::Wait));
    port.barriers[0].wait();
    fixture.task.mod_refs(port.name, right::RECEIVE, -1).expect("the right");
    assert_eq!(by_trap(&port.to, Work::Count), None);
    assert_eq!(by_message(&port.to, Work::Count), Err(Code::SEND_INVALID_DEST));
    assert_eq!(by_message(&other.to, Work::Count), Ok(1));
    assert_eq!(by_trap(&other.to, Work::Count), Some(Ok(2)));
    port.barriers[1].wait();
    assert_eq!(call.join().expect("a thread"), Some(Ok(1)));
    fixture.service.remove(port.name).expect("a removal");
    assert!(is_gone(&port.there));
    assert_eq!(by_message(&other.to, Work::Count), Ok(3));
    // Such a port can't be added.
    let dead = ReceiveRight::from_name(fixture.task, port.name);
    let there = Arc::new(());
    let barriers = Arc::new([Barrier::new(2), Barrier::new(2)]);
    let server = Counter { calls: 0, barriers, service: Weak::new(), port: 0, _there: Arc::clone(&there) };
    fixture.service.add(dead, server).expect_err("no right");
    assert_eq!(Arc::strong_count(&there), 1);
}

#[test]
fn a_panic_ends_its_call_and_no_more() {
    let _limit = watchdog("panics", LIMIT);
    let fixture = Fixture::new(true);
    let port = fixture.port();
    for count in 1..=3 {
        assert_eq!(by_message(&port.to, Work::Panic), Err(Code::MIG_SERVER_DIED));
        assert_eq!(by_trap(&port.to, Work::Panic), Some(Err(Code::MIG_SERVER_DIED)));
        assert_eq!(by_message(&port.to, Work::Count), Ok(count));
    }
}

#[test]
fn messages_that_nobody_understands_or_waits_for_are_no_matter() {
    let _limit = watchdog("bad messages", LIMIT);
    let fixture = Fixture::new(true);
    let port = fixture.port();
    for id in [Step::ID, Step::ID + 100, 65, 70, 0, -1] {
        port.to.send(Outgoing::new(id), None).expect("a message");
        port.to.send(Outgoing::new(id).ints(&[1, 2, 3]), None).expect("a message");
    }
    assert_eq!(by_message(&port.to, Work::Count), Ok(1));
}

#[test]
fn calls_from_everywhere_are_counted() {
    const TURNS: i32 = 300;
    let _limit = watchdog("calls from everywhere", LIMIT);
    let fixture = Fixture::new(true);
    let ports: Vec<_> = (0..3).map(|_| Arc::new(fixture.port())).collect();
    let last: Arc<Mutex<Vec<i32>>> = Arc::default();
    let callers: Vec<_> = (0..2)
        .flat_map(|_| &ports)
        .map(|port| {
            let last = Arc::clone(&last);
            fixture.client(port, move |port| {
                let mut count = 0;
                for turn in 0..TURNS {
                    let made = if turn % 3 == 0 { None } else { by_trap(&port.to, Work::Count) };
                    let next = made.unwrap_or_else(|| by_message(&port.to, Work::Count)).expect("a call");
                    assert!(next > count, "{next} after {count}");
                    count = next;
                }
                last.lock().expect("no panic").push(count);
            })
        })
        .collect();
    // Meanwhile others come and go.
    while callers.iter().any(|caller| !caller.is_finished()) {
        let port = fixture.port();
        assert_eq!(by_message(&port.to, Work::Count), Ok(1));
        fixture.service.remove(port.name).expect("a removal");
    }
    callers.into_iter().for_each(|caller| caller.join().expect("a caller"));
    let last = last.lock().expect("no panic").clone();
    assert_eq!(last.iter().filter(|count| **count == 2 * TURNS).count(), ports.len(), "{last:?}");
}
