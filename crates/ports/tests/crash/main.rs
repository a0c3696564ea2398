//! Tasks that are killed at random points under load: every survivor learns of it, nobody hangs, nothing leaks.
//!
//! `SLIPWAY_FUZZ_SEED` repeats the run of a seed that a failure printed.
#![allow(unsafe_code, reason = "memory that comes with messages")]

mod parts;
#[path = "../support/mod.rs"]
mod support;

use parts::*;
use rustix::process::Pid;
use slipway_fabric::sync::{AtomicU64, Ordering::SeqCst, pages};
use slipway_ports::{
    abi::{Code, kind, notify, right, types},
    task::Task,
};
use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
    thread::scope,
    time::Instant,
};
use support::{
    nursery::{Nursery, kill, serve},
    tools::*,
    *,
};

/// One at a time: each counts what the process holds.
fn alone() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs a topology until so many tasks are killed: `round` kills some and says how many.
fn topology(test: &str, kills: usize, round: fn(&Nursery, u32, &mut Dice) -> usize) {
    if role().is_some() {
        return serve(play);
    }
    let _one = alone();
    let _dog = watchdog(test, 6 * WATCHDOG);
    let before = holdings();
    let seed = seed();
    let _named = NamedSeed(seed);
    eprintln!("{test}: seed {seed}");
    let mut dice = Dice::new(seed);
    let hello = receive_right();
    let nursery = Nursery::start(test, hello);
    let start = Instant::now();
    let mut killed = 0;
    let mut settled = None;
    while killed < kills {
        killed += round(&nursery, hello, &mut dice);
        // After the first rounds nothing is made for the first time any more.
        match settled {
            Some(holdings) => until_held(holdings),
            None if killed >= SETTLED => settled = Some(holdings()),
            None => {}
        }
    }
    eprintln!("{test}: {killed} killed in {:?}", start.elapsed());
    nursery.end();
    until_held(Holdings { fds: before.fds + 8, maps: before.maps, names: before.names });
}

/// After so many kills a task holds no more than before.
const SETTLED: usize = 25;

/// Each topology twice: for some kills, and for a thousand.
macro_rules! topologies {
    ($($test:ident, $long:ident: $round:ident;)*) => { $(
        #[test]
        fn $test() {
            topology(stringify!($test), 2 * SETTLED, $round);
        }

        #[test]
        #[ignore = "long: a thousand kills"]
        fn $long() {
            topology(stringify!($long), 1000, $round);
        }
    )* };
}

topologies! {
    clients_die, clients_die_by_the_thousand: kill_clients;
    servers_die, servers_die_by_the_thousand: kill_servers;
    relays_die, relays_die_by_the_thousand: kill_relays;
    holders_of_a_moving_port_die, holders_of_a_moving_port_die_by_the_thousand: kill_holders;
}

/// A message that must come; the last thing known is told if it does not.
fn await_message(from: u32, what: &str) -> Msg {
    receive_within(from, SOON).unwrap_or_else(|code| panic!("{what}: {code:?}"))
}

/// A new child that has said hello: its process and the send right that came with it.
fn child(nursery: &Nursery, hello: u32, part: i32, dice: &mut Dice) -> (Pid, u32) {
    let pid = nursery.spawn(part, dice.any());
    let msg = await_message(hello, "a child's hello");
    assert_eq!(msg.id(), HELLO);
    (pid, msg.reply())
}

/// What a server knows of a client.
struct Client {
    pid: Pid,
    /// Messages until it is killed.
    fuse: usize,
    /// The client's own port.
    port: u32,
    no_senders: bool,
    once: bool,
    dead: bool,
}

/// Takes a new client: it gets a send right to a port of its own, and a send-once right that it will never use.
fn take_client(nursery: &Nursery, hello: u32, set: u32, dice: &mut Dice) -> (u32, Client) {
    let task = Task::current();
    let (pid, port) = child(nursery, hello, CLIENT, dice);
    let own = receive_right();
    task.move_member(own, set).expect("a member");
    let welcome = Msg::new(WELCOME, (port, types::COPY_SEND), (own, types::MAKE_SEND)).ports(types::MAKE_SEND_ONCE, &[own]);
    assert_eq!(send(&welcome), Code::SUCCESS);
    assert_eq!(task.request_notification(own, notify::NO_SENDERS, 0, own, types::MAKE_SEND_ONCE), Ok(0));
    assert_eq!(task.request_notification(port, notify::DEAD_NAME, 0, own, types::MAKE_SEND_ONCE), Ok(0));
    (own, Client { pid, fuse: dice.below(60), port, no_senders: false, once: false, dead: false })
}

/// Serves a message of a client: checks what came with it, gives it back, and answers.
fn answer(msg: &Msg) {
    let task = Task::current();
    let mut extra = None;
    match msg.id() {
        PLAIN => assert_eq!(msg.u64(40) >> 32, 7),
        MEMORY => {
            let (len, at) = (msg.u64(40), msg.u64(56) as usize);
            let mut bytes = vec![0; len as usize];
            pages::read(at, &mut bytes).expect("the memory that came");
            assert!(bytes.iter().all(|byte| *byte == (len % 251) as u8));
            // SAFETY: memory of this test, which nothing else refers to.
            unsafe { pages::deallocate(at, pages::whole_pages(len as usize).expect("a size")) }.expect("our memory");
        }
        RIGHTS => {
            let count = (msg.u64(32) >> 32) as usize;
            for i in 0..count {
                let name = msg.u32(40 + 8 * i);
                // One comes back with the answer, the others are given up.
                if i == 0 && msg.reply() != 0 {
                    extra = Some(name);
                } else {
                    drop_right(name);
                }
            }
        }
        other => panic!("message {other} of a client"),
    }
    if msg.reply() == 0 {
        return;
    }
    let mut answer = Msg::new(msg.id() + 100, (msg.reply(), types::MOVE_SEND_ONCE), (0, 0)).int(1);
    if let Some(name) = extra {
        answer = answer.ports(types::MOVE_SEND, &[name]);
    }
    match send(&answer) {
        Code::SUCCESS => {}
        // It died; or the port, and the right in the message with it.
        Code::SEND_INVALID_DEST | Code::SEND_INVALID_RIGHT => {
            let _ = task.deallocate(msg.reply());
            let _ = extra.map(|name| task.deallocate(name));
        }
        code => panic!("an answer: {code:?}"),
    }
}

fn kill_clients(nursery: &Nursery, hello: u32, dice: &mut Dice) -> usize {
    const CLIENTS: usize = 4;
    let task = Task::current();
    let set = task.allocate(right::PORT_SET).expect("a set");
    let mut clients: HashMap<u32, Client> = (0..CLIENTS).map(|_| take_client(nursery, hello, set, dice)).collect();
    let mut killed = 0;
    while !clients.is_empty() {
        let msg = await_message(set, "a client's message or the news of its death");
        let own = msg.u32(16);
        let client = clients.get_mut(&own).expect("a client's port");
        match msg.id() {
            notify::NO_SENDERS => client.no_senders = true,
            notify::SEND_ONCE => client.once = true,
            notify::DEAD_NAME => client.dead = true,
            _ => {
                answer(&msg);
                if client.fuse == 0 {
                    kill(client.pid);
                    killed += 1;
                }
                client.fuse = client.fuse.wrapping_sub(1);
            }
        }
        if client.no_senders && client.once && client.dead {
            assert_eq!(task.kind(client.port).map(|it| it & kind::DEAD_NAME), Ok(kind::DEAD_NAME));
            task.destroy(client.port).expect("a dead name");
            task.mod_refs(own, right::RECEIVE, -1).expect("a port of ours");
            clients.remove(&own);
            if killed + clients.len() < 8 * CLIENTS {
                clients.extend([take_client(nursery, hello, set, dice)]);
            }
        }
    }
    task.mod_refs(set, right::PORT_SET, -1).expect("a set of ours");
    killed
}

/// Calls a server until it is dead. Each request is answered, or its reply right comes back as a notification.
fn call_until_dead(server: u32, calls: &AtomicU64, mut dice: Dice) {
    let task = Task::current();
    let reply = receive_right();
    loop {
        let (msg, memory) = random_request(server, Some(reply), &mut dice);
        let code = send(&msg);
        drop(memory);
        match code {
            Code::SUCCESS => {}
            Code::SEND_INVALID_DEST => break,
            code => panic!("a request: {code:?}"),
        }
        let answer = await_message(reply, "an answer, or the news that there is none");
        match answer.id() {
            notify::SEND_ONCE => {}
            id => {
                assert_eq!(id, msg.id() + 100);
                drop_carried(&answer);
            }
        }
        calls.fetch_add(1, SeqCst);
    }
    task.mod_refs(reply, right::RECEIVE, -1).expect("a port of ours");
}

fn kill_servers(nursery: &Nursery, hello: u32, dice: &mut Dice) -> usize {
    let task = Task::current();
    let (pid, server) = child(nursery, hello, SERVER, dice);
    let news = receive_right();
    assert_eq!(task.request_notification(server, notify::DEAD_NAME, 0, news, types::MAKE_SEND_ONCE), Ok(0));
    let calls = AtomicU64::new(0);
    let fuse = dice.below(80) as u64;
    let flooders = dice.below(2);
    scope(|scope| {
        for _ in 0..3 {
            let dice = Dice::new(dice.any());
            let calls = &calls;
            scope.spawn(move || call_until_dead(server, calls, dice));
        }
        for _ in 0..flooders {
            // Waits for room most of the time.
            scope.spawn(
                move || {
                    while send(&Msg::new(PLAIN, (server, types::COPY_SEND), (0, 0)).int(7 << 32)) == Code::SUCCESS {}
                },
            );
        }
        until("the calls before the kill", || calls.load(SeqCst) >= fuse);
        kill(pid);
    });
    let msg = await_message(news, "the news of the server's death");
    assert_eq!((msg.id(), msg.u32(40)), (notify::DEAD_NAME, server));
    task.mod_refs(news, right::RECEIVE, -1).expect("a port of ours");
    assert!(is_dead(server));
    task.destroy(server).expect("a dead name");
    1
}

fn kill_relays(nursery: &Nursery, hello: u32, dice: &mut Dice) -> usize {
    let task = Task::current();
    let mut relays: Vec<(Pid, u32)> = (0..3).map(|_| child(nursery, hello, RELAY, dice)).collect();
    let news = receive_right();
    let shared = receive_right();
    for (i, (_, port)) in relays.iter().enumerate() {
        assert_eq!(task.request_notification(*port, notify::DEAD_NAME, 0, news, types::MAKE_SEND_ONCE), Ok(0));
        // Each knows the next by a right that a third party, this one, gives it; and all a port here.
        let next = relays.get(i + 1).map_or(0, |(_, next)| *next);
        let welcome = Msg::new(WELCOME, (*port, types::COPY_SEND), (0, 0)).ports(types::MAKE_SEND, &[shared]);
        let welcome = if next == 0 { welcome } else { welcome.ports(types::COPY_SEND, &[next]) };
        assert_eq!(send(&welcome), Code::SUCCESS);
    }
    let reply = receive_right();
    let first = relays[0].1;
    let (mut made, mut back) = (0, 0);
    let mut fuse = dice.below(60);
    let mut killed = 0;
    let mut lost = false;
    // Every send-once right that was made comes back once: as an answer, or as a notification.
    while !lost || back < made {
        while !lost && made - back < 8 {
            let msg = Msg::new(PLAIN, (first, types::COPY_SEND), (reply, types::MAKE_SEND_ONCE)).int(made);
            match send_for(&msg, Some(1)) {
                Code::SUCCESS => made += 1,
                Code::SEND_TIMED_OUT => {
                    made += drop_taken_back();
                    break;
                }
                Code::SEND_INVALID_DEST => lost = true,
                code => panic!("a message to the first: {code:?}"),
            }
        }
        let msg = await_message(reply, "an answer from the end of the line, or a notification");
        assert!(matches!(msg.id(), notify::SEND_ONCE | PLAIN), "{}", msg.id());
        back += 1;
        if fuse == 0 && killed < 3 {
            kill(relays.swap_remove(dice.below(relays.len())).0);
            killed += 1;
            fuse = dice.below(20);
        }
        fuse = fuse.saturating_sub(1);
        // With all dead, what is on its way comes back by itself.
        lost |= killed == 3;
    }
    while let Some((pid, _)) = relays.pop() {
        kill(pid);
        killed += 1;
    }
    assert_eq!(task.request_notification(shared, notify::NO_SENDERS, 0, news, types::MAKE_SEND_ONCE), Ok(0));
    // A message that waits is a sender, and one of a relay that was killed just now may come yet.
    let set = task.allocate(right::PORT_SET).expect("a set");
    [news, shared].iter().for_each(|port| task.move_member(*port, set).expect("a member"));
    let mut told = 0;
    while told < 4 {
        let msg = await_message(set, "the news of three deaths and of no senders");
        if msg.u32(16) == shared {
            continue;
        }
        match msg.id() {
            notify::DEAD_NAME => task.destroy(msg.u32(40)).expect("a dead name"),
            id => assert_eq!(id, notify::NO_SENDERS),
        }
        told += 1;
    }
    for port in [news, shared, reply] {
        task.mod_refs(port, right::RECEIVE, -1).expect("a port of ours");
    }
    task.mod_refs(set, right::PORT_SET, -1).expect("a set of ours");
    killed
}

/// Drops what a timed-out send gave back, the send-once right that was made for it: how many.
fn drop_taken_back() -> u64 {
    let task = Task::current();
    let names = task.names().expect("a live task");
    let given_back = names.iter().filter(|(_, it)| it & kind::SEND_ONCE != 0);
    given_back.map(|(name, _)| task.deallocate(*name).expect("a right of ours")).count() as u64
}

fn kill_holders(nursery: &Nursery, hello: u32, dice: &mut Dice) -> usize {
    let task = Task::current();
    let holders: Vec<(Pid, u32)> = (0..2).map(|_| child(nursery, hello, HOLDER, dice)).collect();
    let (sender, sender_port) = child(nursery, hello, SENDER, dice);
    let moving = receive_right();
    let news = receive_right();
    let log = receive_right();
    task.insert_right(moving, task, moving, types::MAKE_SEND).expect("a send right");
    for (i, (_, port)) in holders.iter().enumerate() {
        let welcome = Msg::new(WELCOME, (*port, types::COPY_SEND), (0, 0))
            .ports(types::COPY_SEND, &[holders[1 - i].1])
            .ports(types::MAKE_SEND, &[log]);
        assert_eq!(send(&welcome), Code::SUCCESS);
    }
    let welcome = Msg::new(WELCOME, (sender_port, types::COPY_SEND), (0, 0)).ports(types::COPY_SEND, &[moving]);
    assert_eq!(send(&welcome), Code::SUCCESS);
    let begin = Msg::new(MOVING, (holders[0].1, types::COPY_SEND), (0, 0)).ports(types::MOVE_RECEIVE, &[moving]);
    assert_eq!(send(&begin), Code::SUCCESS);
    let asked = task.request_notification(moving, notify::DEAD_NAME, 0, news, types::MAKE_SEND_ONCE);
    assert_eq!(asked, Ok(0));
    // The parent sends too, and hears from the holders what they got.
    let mut seen: HashMap<u64, u64> = HashMap::new();
    let mut fuse = dice.below(60);
    let (mut sent, mut alive) = (0u64, true);
    let mut killed = false;
    while alive {
        match send_for(&Msg::new(PLAIN, (moving, types::COPY_SEND), (0, 0)).int(sent), Some(5)) {
            Code::SUCCESS => sent += 1,
            Code::SEND_TIMED_OUT => {}
            Code::SEND_INVALID_DEST => alive = false,
            code => panic!("a message to the moving port: {code:?}"),
        }
        while let Ok(msg) = receive_within(log, 0) {
            // Two holders' reports overtake each other, but none comes twice.
            let number = msg.u64(40);
            assert_eq!(seen.insert(number, 1), None, "{number:#x} was received twice");
            if fuse == 0 && !killed {
                kill(holders[dice.below(2)].0);
                killed = true;
            }
            fuse = fuse.saturating_sub(1);
        }
    }
    let msg = await_message(news, "the news of the moving port's death");
    assert_eq!((msg.id(), msg.u32(40)), (notify::DEAD_NAME, moving));
    for (pid, _) in &holders {
        let _ = rustix::process::kill_process(*pid, rustix::process::Signal::KILL);
    }
    kill(sender);
    for port in [holders[0].1, holders[1].1, sender_port] {
        until("the dead name", || is_dead(port));
        task.destroy(port).expect("a dead name");
    }
    task.destroy(moving).expect("a dead name");
    for port in [news, log] {
        task.mod_refs(port, right::RECEIVE, -1).expect("a port of ours");
    }
    3
}
