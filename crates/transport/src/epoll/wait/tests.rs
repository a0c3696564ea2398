use super::{
    super::entry::{EDGE, IDLE_BELLS, ONCE},
    *,
};
use crate::stream::{
    How, MOST_IN_A_TURN, Stream, UNHEARD, ask_kernel,
    pair::{age, asked, asked_before, ends, unforked, within_a_tick},
};
use slipway_fabric::sync::{Forked, ticks};
use std::{
    io::{IoSlice, IoSliceMut},
    os::fd::{AsRawFd, OwnedFd},
    sync::Arc,
};

mod doors;

const IN: u32 = libc::EPOLLIN as u32;
const OUT: u32 = libc::EPOLLOUT as u32;

/// A set of the kernel's, which the tests leave alone, and ours for it.
fn set() -> (OwnedFd, Arc<EpollSet>) {
    let epfd = epoll::create(epoll::CreateFlags::CLOEXEC).expect("a set");
    let set = EpollSet::new(epfd.as_raw_fd()).expect("a set");
    (epfd, set)
}

/// What a wait with room for two reports, where the kernel has so many.
fn wait(set: &EpollSet, found: usize) -> Vec<Event> {
    let mut out = Vec::new();
    let mut kernel = |events: &mut Vec<Event>, _, _| {
        events.extend((0..found).map(|_| Event { events: 1, data: 1 }));
        Ok(())
    };
    assert_eq!(set.wait(&mut out, 2, Some(Duration::ZERO), &mut kernel), Ok(()));
    out
}

fn send(end: &(impl std::ops::Deref<Target = Stream>, OwnedFd), bytes: &[u8]) -> Result<usize, Errno> {
    end.0.send(end.1.as_fd(), &[IoSlice::new(bytes)], &[])
}

fn read(end: &(impl std::ops::Deref<Target = Stream>, OwnedFd)) -> Result<usize, Errno> {
    read_into(end, &mut [0; 8192])
}

fn read_into(end: &(impl std::ops::Deref<Target = Stream>, OwnedFd), to: &mut [u8]) -> Result<usize, Errno> {
    end.0.receive(end.1.as_fd(), &mut [IoSliceMut::new(to)], How::default()).map(|got| got.bytes)
}

/// Both ends of a connection, of which each has sent a byte; only the client's has been read.
fn pair() -> [(Arc<Stream>, OwnedFd); 2] {
    let ends = ends();
    let [client, server] = [ends.client, ends.server].map(|(stream, fd)| (Arc::new(stream), fd));
    assert_eq!((send(&client, b"a"), read(&server)), (Ok(1), Ok(1)));
    [client, server]
}

#[test]
fn what_the_kernel_has_no_news_of_is_not_asked_for_again() {
    let [client, server] = pair();
    assert_eq!(send(&server, b"a"), Ok(1));
    let ((_epfd, set), [idle, _peer]) = (set(), pair());
    set.add(idle.1.as_raw_fd(), &idle.0, IN, 8).expect("room");
    assert_eq!(wait(&set, 2).len(), 2);
    assert_eq!(locked(&set.state).vouched, 0, "there may be more");
    assert_eq!(wait(&set, 1).len(), 1);
    assert_ne!(locked(&set.state).vouched, 0);
    set.add(client.1.as_raw_fd(), &client.0, IN, 7).expect("room");
    let turn = |vouched| {
        age(&client.0, true);
        locked(&set.state).vouched = vouched;
        assert_eq!(wait(&set, 0), [Event { events: IN, data: 7 }]);
        assert_eq!((read(&client), send(&server, b"b")), (Ok(1), Ok(1)));
    };
    // When it is new it is looked at.
    turn(0);
    for (vouches, answers) in [(true, [Err(Errno::AGAIN), Ok(1)]), (false, [Ok(0), Err(Errno::PIPE)])] {
        let said = within_a_tick(|| {
            turn(if vouches { now() } else { 0 });
            assert_eq!(read(&client), Ok(1));
            let said = asked(&client.0);
            assert_eq!(send(&server, b"b"), Ok(1));
            said
        });
        assert_eq!(said, answers);
    }
}

#[test]
fn a_bell_is_as_good_as_asking_the_kernel() {
    let [client, server] = pair();
    let (_epfd, set) = set();
    set.add(server.1.as_raw_fd(), &server.0, IN, 7).expect("room");
    let bell = locked(&set.state).entry(server.1.as_raw_fd()).map(|entry| entry.line_tag).expect("a member");
    // Whether it is asked after a turn that a bell began, or not, as long after the last look at it.
    let turn = |rings: bool, ago: u64| {
        assert_eq!(send(&client, b"b"), Ok(1));
        let mut out = Vec::new();
        let mut kernel = |events: &mut Vec<Event>, _, _| {
            events.extend(rings.then_some(Event { events: IN, data: bell }));
            Ok(())
        };
        locked(&set.state).glanced = 0;
        assert_eq!(set.wait(&mut out, 2, Some(Duration::ZERO), &mut kernel), Ok(()));
        assert_eq!(read(&server), Ok(1));
        asked_before(&server.0, ago);
        asked(&server.0)[0] == Ok(0)
    };
    let asks = |rings, ago| within_a_tick(|| turn(rings, ago));
    let (short, long) = (10_000_000, 30_000_000);
    assert!(asks(false, short));
    assert!(!asks(true, short));
    assert!(asks(true, long));
}

#[test]
fn a_bell_for_space_rings_for_a_set_that_lacked_it() {
    let [client, server] = pair();
    let (_epfd, set) = set();
    set.add(client.1.as_raw_fd(), &client.0, IN | OUT | EDGE, 7).expect("room");
    let wait = || wait(&set, 0).iter().map(|event| event.events).collect::<Vec<_>>();
    let rings = || ask_kernel(client.0.line_socket().as_fd(), PollFlags::IN).contains(PollFlags::IN);
    assert_eq!(wait(), [OUT], "at first");
    assert!(set.lie_down(&mut locked(&set.state)), "nothing is new");
    assert_eq!((send(&client, b"b"), read(&server), rings()), (Ok(1), Ok(1), false));
    assert!(wait().is_empty());
    // One thread finds no space while another sleeps in the set.
    assert!(set.lie_down(&mut locked(&set.state)));
    let full = [0; 5000];
    assert_eq!((send(&client, &full), send(&client, &full)), (Ok(4096), Err(Errno::AGAIN)));
    assert_eq!((read(&server), rings()), (Ok(4096), true));
    client.0.attend();
    set.alert(&client.0);
    assert_eq!(wait(), [OUT]);
    // It sends less than all, and waits without asking for more.
    assert!(set.lie_down(&mut locked(&set.state)));
    assert_eq!(send(&client, &full), Ok(4096));
    assert!(wait().is_empty());
    assert!(set.lie_down(&mut locked(&set.state)));
    assert_eq!((read(&server), rings()), (Ok(4096), true));
    set.alert(&client.0);
    assert_eq!(wait(), [OUT]);
}

#[test]
fn a_read_that_ends_with_its_turn_is_not_the_last() {
    let [client, server] = pair();
    let (_epfd, set) = set();
    set.add(server.1.as_raw_fd(), &server.0, IN | EDGE, 7).expect("room");
    let reports = || wait(&set, 0).len();
    assert_eq!((send(&client, &[0; 4000]), reports()), (Ok(4000), 1));
    server.0.allot(1000);
    assert_eq!(read(&server), Ok(1000));
    assert!(!set.lie_down(&mut locked(&set.state)));
    assert_eq!(reports(), 1, "there is more");
    server.0.allot(1000);
    assert_eq!([read(&server), read(&server), read(&server)], [Ok(1000), Err(Errno::AGAIN), Ok(2000)]);
    assert_eq!(reports(), 0, "it has read on unasked");
    assert!(set.lie_down(&mut locked(&set.state)));
    // It rests before a turn is read: in another thread, or as its program does something else first.
    assert_eq!(send(&client, &[0; 4000]), Ok(4000));
    set.alert(&server.0);
    assert_eq!(reports(), 1);
    server.0.allot(1000);
    assert!(set.lie_down(&mut locked(&set.state)), "nothing is new");
    assert_eq!((read(&server), reports()), (Ok(1000), 1));
    server.0.allot(0);
    assert!(set.lie_down(&mut locked(&set.state)), "nothing is new");
    assert_eq!((read(&server), reports()), (Err(Errno::AGAIN), 1));
}

#[test]
fn a_read_with_room_for_more_than_a_turn_is_a_turn() {
    let [client, server] = pair();
    let (_epfd, set) = set();
    set.add(server.1.as_raw_fd(), &server.0, IN | EDGE, 7).expect("room");
    assert_eq!((send(&client, &[0; 4000]), wait(&set, 0).len()), (Ok(4000), 1));
    server.0.allot(1000);
    assert_eq!(read_into(&server, &mut [0; MOST_IN_A_TURN + 1]), Ok(4000));
    // What comes meanwhile waits for the others.
    assert_eq!((send(&client, b"b"), read(&server)), (Ok(1), Err(Errno::AGAIN)));
    assert_eq!((wait(&set, 0).len(), read(&server)), (1, Ok(1)));
}

/// The server's end is in a set that rests, and the client has sent something, for which its bell has rung.
fn rung(set: &Arc<EpollSet>, [client, server]: &[(Arc<Stream>, OwnedFd); 2], data: u64) {
    set.add(server.1.as_raw_fd(), &server.0, IN, data).expect("room");
    assert!(wait(set, 0).is_empty());
    assert!(set.lie_down(&mut locked(&set.state)));
    assert_eq!((send(client, b"b"), server.0.armed()), (Ok(1), false));
}

#[test]
fn a_bell_that_a_reader_has_taken_the_set_is_told_of() {
    let ends = pair();
    let (_epfd, set) = set();
    rung(&set, &ends, 7);
    let [_, server] = &ends;
    // As one does that looks for descriptors.
    server.0.attend();
    assert_eq!(read(server), Ok(1));
    assert!(locked(&set.state).active.contains(&server.1.as_raw_fd()), "no bell would ring for what comes next");
}

#[test]
fn what_a_thread_leaves_wakes_one_that_sleeps() {
    let pairs = [pair(), pair()];
    let (_epfd, set) = set();
    let [first, second] = &pairs;
    rung(&set, first, 0);
    rung(&set, second, 1);
    let fds = [first, second].map(|[_, server]| server.1.as_raw_fd());
    let bells = fds.map(|fd| locked(&set.state).entry(fd).map(|entry| entry.line_tag).expect("a member"));
    let kicked = || rustix::io::read(set.kick.load().as_fd(), &mut [0u8; 8]).is_ok();
    while kicked() {}
    let mut sleep = |_: &mut Vec<Event>, _, _| {
        // Another thread hears both bells, and has room for one event.
        let mut both = |events: &mut Vec<Event>, _, _| {
            events.extend(bells.map(|data| Event { events: IN, data }));
            Ok(())
        };
        let mut out = Vec::new();
        assert_eq!(set.wait(&mut out, 1, None, &mut both), Ok(()));
        assert_eq!(out.len(), 1);
        assert!(kicked());
        // Nor does it take along the bell of what it has read, and goes on to work for.
        pairs.iter().for_each(|[_, server]| assert_eq!(read(server), Ok(1)));
        assert_eq!(set.wait(&mut out, 2, Some(Duration::ZERO), &mut |_, _, _| Ok(())), Ok(()));
        assert!(pairs.iter().all(|[_, server]| server.0.armed()) && !kicked());
        Err(Errno::INTR)
    };
    assert_eq!(set.wait(&mut Vec::new(), 1, None, &mut sleep), Err(Errno::INTR));
}

#[test]
fn a_set_that_stirs_leaves_the_flag_of_another() {
    let [client, server] = pair();
    let ((_one, reading), (_other, writing)) = (set(), set());
    let fd = server.1.as_raw_fd();
    reading.add(fd, &server.0, IN, 7).expect("room");
    assert!(wait(&reading, 0).is_empty());
    assert!(reading.lie_down(&mut locked(&reading.state)));
    writing.add(fd, &server.0, OUT, 8).expect("room");
    assert!(!writing.lie_down(&mut locked(&writing.state)), "there is space");
    assert!(server.0.armed());
    // Nor does one in a timed wait.
    locked(&writing.state).wake_up();
    assert!(server.0.armed());
    assert_eq!(send(&client, b"b"), Ok(1));
    assert!(!server.0.armed());
}

#[test]
fn bells_that_one_set_takes_the_others_are_told_of() {
    let _guard = unforked();
    let [client, server] = pair();
    let ((_one, first), (_other, second)) = (set(), set());
    for (set, data) in [(&first, 7), (&second, 8)] {
        set.add(server.1.as_raw_fd(), &server.0, IN, data).expect("room");
    }
    for turn in 0..UNHEARD {
        for set in [&first, &second] {
            while !set.lie_down(&mut locked(&set.state)) {
                assert!(ask(set).is_empty());
            }
        }
        assert_eq!(send(&client, b"b"), Ok(1));
        let told = [&first, &second].map(|set| ask(set).first().map(|event| event.data));
        assert_eq!(told, [Some(7), Some(8)], "turn {turn}");
        assert_eq!(read(&server), Ok(1));
    }
}

#[test]
fn one_edge_for_many_bells_is_no_full_queue() {
    let [client, server] = pair();
    let (_epfd, set) = set();
    let fd = server.1.as_raw_fd();
    set.add(fd, &server.0, IN, 7).expect("room");
    assert!(wait(&set, 0).is_empty());
    // Each finds what it waits for before the kernel is asked.
    for _ in 0..2 * UNHEARD {
        assert!(set.lie_down(&mut locked(&set.state)));
        assert_eq!(send(&client, b"b"), Ok(1));
        locked(&set.state).activate(fd);
        assert_eq!(read(&server), Ok(1));
    }
    let queued = || rustix::io::ioctl_fionread(server.0.line_socket().as_fd()).expect("a socket");
    assert!(queued() > crate::line::LONGEST as u64);
    assert!(ask(&set).is_empty());
    assert_eq!(queued(), 0);
}

#[test]
fn bells_of_timed_waits_are_taken_off_the_line() {
    let [client, server] = pair();
    let (_epfd, set) = set();
    set.add(server.1.as_raw_fd(), &server.0, IN, 7).expect("room");
    assert!(wait(&set, 0).is_empty());
    let queued = || rustix::io::ioctl_fionread(server.0.line_socket().as_fd()).expect("a socket");
    let ring = || {
        server.0.arm_lazily();
        client.0.wake_timed_reader();
    };
    ring();
    let one = queued();
    assert!(one > 0);
    for heard in [true, false] {
        // The door that it asks for is not looked for any more then.
        for _ in 0..5 * UNHEARD {
            ring();
            if heard {
                ask(&set);
            }
        }
        ask(&set);
        assert!(queued() <= u64::from(UNHEARD) * one, "{}", queued() / one);
    }
}

#[test]
fn a_change_wakes_a_sleeper_for_what_is_there_only() {
    let [client, server] = pair();
    let (_epfd, set) = set();
    let fd = server.1.as_raw_fd();
    set.add(fd, &server.0, IN, 7).expect("room");
    assert!(wait(&set, 0).is_empty() && set.lie_down(&mut locked(&set.state)));
    let kicked = || rustix::io::read(set.kick.load().as_fd(), &mut [0u8; 8]).is_ok();
    while kicked() {}
    let mut sleep = |_: &mut Vec<Event>, _, _| {
        assert!(set.modify(fd, IN | ONCE, 8) && !kicked() && server.0.armed());
        assert_eq!((send(&client, b"b"), server.0.armed()), (Ok(1), false));
        assert!(set.modify(fd, IN | ONCE, 9) && kicked());
        Err(Errno::INTR)
    };
    assert_eq!(set.wait(&mut Vec::new(), 1, None, &mut sleep), Err(Errno::INTR));
    assert_eq!(wait(&set, 0), [Event { events: IN, data: 9 }]);
}

#[test]
fn a_set_in_which_a_stream_rests_does_not_go_on_hearing_the_bells_of_another() {
    let _guard = unforked();
    let [client, server] = pair();
    let ((_one, resting), (_other, waiting)) = (set(), set());
    let fd = server.1.as_raw_fd();
    waiting.add(fd, &server.0, IN, 7).expect("room");
    resting.add(fd, &server.0, IN | ONCE, 8).expect("room");
    let hears = || {
        for set in [&resting, &waiting] {
            while !set.lie_down(&mut locked(&set.state)) {
                assert!(ask(set).is_empty());
            }
        }
        assert_eq!(send(&client, b"b"), Ok(1));
        let heard = borrow(resting.descriptor(), |set| ask_kernel(set, PollFlags::IN)).contains(PollFlags::IN);
        let told = (ask(&resting).len(), ask(&waiting).len(), read(&server));
        (heard, told)
    };
    assert_eq!(hears(), (true, (1, 1, Ok(1))));
    assert_eq!((0..100).find(|_| hears() == (false, (0, 1, Ok(1)))), Some(IDLE_BELLS as usize + 1));
    // All sets are told of the doorbell, when it comes.
    assert!((0..300).filter(|_| hears().0).count() < 4);
    assert!(server.0.hears_door());
    assert!(resting.modify(fd, IN | ONCE, 8));
    assert_eq!(hears(), (true, (1, 1, Ok(1))));
}

#[test]
fn what_is_taken_over_during_a_wait_is_reported_once() {
    let [client, server] = pair();
    let (_epfd, set) = set();
    let fd = server.1.as_raw_fd();
    set.add(fd, &server.0, IN, 7).expect("room");
    assert!(wait(&set, 0).is_empty());
    // Else the wait would look first, with the set's lock.
    assert!(set.lie_down(&mut locked(&set.state)));
    let mut kernel = |events: &mut Vec<Event>, _, _| {
        locked(&set.state).entry(fd).expect("a member").lent = true;
        assert_eq!(send(&client, b"b"), Ok(1));
        // The kernel had it as the program registered it until now.
        events.push(Event { events: IN, data: 7 });
        set.welcome(&server.0);
        Ok(())
    };
    let mut out = Vec::new();
    assert_eq!(set.wait(&mut out, 8, None, &mut kernel), Ok(()));
    assert_eq!(out, [Event { events: IN, data: 7 }]);
}

#[test]
fn what_came_first_is_reported_first() {
    let pairs = [pair(), pair()];
    let (_epfd, set) = set();
    for (data, [_, server]) in (0..).zip(&pairs) {
        set.add(server.1.as_raw_fd(), &server.0, IN, data).expect("room");
    }
    let turn = |order: [usize; 2]| {
        for at in order {
            assert_eq!(send(&pairs[at][0], b"b"), Ok(1));
            // An emulated processor's clock stands still for a microsecond.
            let sent = ticks();
            while ticks() == sent {}
        }
        let told: Vec<u64> = wait(&set, 0).iter().map(|event| event.data).collect();
        pairs.iter().for_each(|[_, server]| assert_eq!(read(server), Ok(1)));
        told
    };
    turn([0, 1]);
    for _ in 0..8 {
        assert_eq!(turn([1, 0]), [1, 0]);
        assert_eq!(turn([0, 1]), [0, 1]);
    }
}

/// Whether a set that has hardly any trust left looks on after a bell that it saw while it looked at another stream; none: a third party took the
/// processor for long.
fn looks_on_after_a_bell() -> Option<bool> {
    let pairs = [pair(), pair()];
    let (_epfd, set) = set();
    for (data, [_, server]) in (0..).zip(&pairs) {
        set.add(server.1.as_raw_fd(), &server.0, IN, data).expect("room");
    }
    assert!(wait(&set, 0).is_empty());
    assert!(set.lie_down(&mut locked(&set.state)));
    let mut state = locked(&set.state);
    let [first, second] = [0, 1].map(|at| pairs[at][1].1.as_raw_fd());
    state.activate(first);
    let bell = state.entry(second).map(|entry| entry.line_tag).expect("a member");
    let lose = |times| (0..times).for_each(|_| set.spins.learn(Outcome::Lost));
    lose(64);
    set.spins.learn(Outcome::Won);
    lose(1);
    let mut rings = |events: &mut Vec<Event>, _, _| {
        assert_eq!(send(&pairs[1][0], b"b"), Ok(1));
        events.push(Event { events: IN, data: bell });
        Ok(())
    };
    state.glanced = 0;
    let (mut scratch, mut out) = (Vec::new(), Vec::new());
    set.spin(&mut state, None, &mut rings, &mut scratch, &mut out, 2).expect("no error")?;
    assert!(out.is_empty() && state.active.contains(&second));
    lose(2);
    Some(set.spins.longest(1).is_some())
}

#[test]
fn a_bell_while_it_looks_at_others_is_a_look_that_was_worth_it() {
    assert_eq!((0..1000).find_map(|_| looks_on_after_a_bell()), Some(true));
}

#[test]
fn an_answer_is_looked_for_though_the_set_has_rested() {
    let [client, server] = pair();
    let (_epfd, set) = set();
    let fd = server.1.as_raw_fd();
    set.add(fd, &server.0, IN, 7).expect("room");
    assert_eq!(send(&client, b"b"), Ok(1));
    assert_eq!((wait(&set, 0).len(), read(&server)), (1, Ok(1)));
    let looks = |set: &EpollSet| {
        let mut state = locked(&set.state);
        set.spin(&mut state, None, &mut |_, _, _| Ok(()), &mut Vec::new(), &mut Vec::new(), 2).expect("no error");
        state.active.contains(&fd)
    };
    assert!(set.lie_down(&mut locked(&set.state)));
    assert!(!looks(&set), "its program has sent nothing");
    assert_eq!(send(&server, b"question"), Ok(8));
    assert!(looks(&set));
    assert!(set.lie_down(&mut locked(&set.state)));
    assert!(!looks(&set), "the question had its look");
}

#[test]
fn a_timed_wait_is_for_what_leaves_half_of_a_processor() {
    let [client, server] = pair();
    let (_epfd, set) = set();
    let fd = server.1.as_raw_fd();
    set.add(fd, &server.0, IN, 7).expect("room");
    let mut state = locked(&set.state);
    let entry = state.entry(fd).expect("a member");
    let mut time = 1_000_000_000;
    // Batches at intervals of 100 us, each waited for so long.
    let mut flows = |waited| {
        for _ in 0..6 {
            assert_eq!((send(&client, &[0; 4000]), read(&server)), (Ok(4000), Ok(4000)));
            time += 100_000;
            entry.learn_flow(Some(waited), false, time);
        }
        entry.timed_wait(time).is_some()
    };
    assert_eq!([40_000, 60_000, 40_000].map(&mut flows), [false, true, false]);
}

/// A wait that asks the kernel's set, with room for two.
pub(in crate::epoll) fn ask(set: &EpollSet) -> Vec<Event> {
    let mut out = Vec::new();
    let mut kernel = |out: &mut Vec<Event>, most, _| {
        let mut events = Vec::with_capacity(most);
        borrow(set.descriptor(), |set| epoll::wait(set, rustix::buffer::spare_capacity(&mut events), Some(&Default::default())))?;
        out.extend(events.iter().map(|&epoll::Event { flags, data }| Event { events: flags.bits(), data: data.u64() }));
        Ok(())
    };
    set.wait(&mut out, 2, Some(Duration::ZERO), &mut kernel).expect("a wait");
    out
}

#[test]
#[allow(unsafe_code, reason = "a child's first steps")]
fn a_child_knows_nothing_of_a_set_that_another_thread_was_at() {
    let [_client, server] = pair();
    let (_epfd, set) = set();
    set.add(server.1.as_raw_fd(), &server.0, IN, 7).expect("room");
    let line = locked(&set.state).entry(server.1.as_raw_fd()).expect("an entry").line_tag;
    let ((holds, held), (go, wait)) = (std::sync::mpsc::channel(), std::sync::mpsc::channel::<()>());
    std::thread::scope(|scope| {
        let set = &set;
        scope.spawn(move || {
            let _guard = locked(&set.state);
            holds.send(()).expect("a listener");
            let _ = wait.recv();
        });
        held.recv().expect("the other thread");
        let _go = go;
        let code = slipway_test_support::forked(|| {
            // SAFETY: no pointers; the child has the one thread.
            set.after_fork(&unsafe {
                libc::alarm(60);
                Forked::new()
            });
            let mut out = Vec::new();
            let mut kernel = |events: &mut Vec<Event>, _, _| {
                events.extend([line, 9].map(|data| Event { events: IN, data }));
                Ok(())
            };
            assert_eq!(set.wait(&mut out, 4, Some(Duration::ZERO), &mut kernel), Ok(()));
            assert_eq!(out, [Event { events: IN, data: 9 }]);
            assert!(!set.remove(server.1.as_raw_fd()));
            server.0.leave_sets(server.1.as_raw_fd());
            0
        });
        assert_eq!(code, 0);
    });
}
