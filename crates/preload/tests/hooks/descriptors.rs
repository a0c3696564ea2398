//! Descriptors are the program's: it gets the numbers that it would get without hooks, and finds none left only where it would.

use std::{
    collections::BTreeSet,
    sync::{PoisonError, RwLock},
    thread,
};

use libc::{EPOLL_CTL_ADD, EPOLL_CTL_DEL, EPOLLIN, POLLIN};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use slipway_transport::status::Transport;

use crate::support::{
    Fd, Server,
    calls::{call, child, errno, good, identity, join, pipe, poll, read_up_to, write_all},
    connection::connect,
    hooked, messages,
    watchdog::Step,
};

/// Descriptors that the programs of these tests may have: more than are kept free for them, by far.
const LIMIT: u64 = 200;

/// Whether the library can go above the program's limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Limit {
    Soft,
    Hard,
}

/// The kernel counts what a user has sent and not received against the limit of each of its processes that sends: a test that leaves much under
/// way writes, one whose processes are limited reads.
static UNDER_WAY: RwLock<()> = RwLock::new(());

/// As [`hooked`], for processes with a limit.
fn limited<F: FnOnce()>(body: F) {
    let _guard = UNDER_WAY.read().unwrap_or_else(PoisonError::into_inner);
    hooked(body);
}

/// Sets the limit; the numbers that are free below it.
fn limit(kind: Limit) -> BTreeSet<Fd> {
    let maximum = if kind == Limit::Hard { Some(LIMIT) } else { getrlimit(Resource::Nofile).maximum };
    setrlimit(Resource::Nofile, Rlimit { current: Some(LIMIT), maximum }).expect("a limit");
    let free = (0..LIMIT as Fd).filter(|fd| call!(fcntl(*fd, libc::F_GETFD)) < 0).collect();
    assert_eq!(getrlimit(Resource::Nofile).current, Some(LIMIT));
    free
}

/// What a call that makes a descriptor must give: the lowest free number, or an error if there is none.
#[track_caller]
fn expect(free: &mut BTreeSet<Fd>, made: Fd) -> Option<Fd> {
    let error = errno();
    assert_eq!(made, free.first().copied().unwrap_or(-1), "errno {error}, {} are free", free.len());
    if free.pop_first().is_none() {
        assert_eq!(error, libc::EMFILE);
    }
    (made >= 0).then_some(made)
}

fn open_file() -> Fd {
    call!(open(c"/dev/null".as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC))
}

#[derive(Debug, Clone, Copy)]
enum How {
    Poll,
    Select,
    Epoll(Fd),
}

impl How {
    /// Which of them can be read.
    fn wait(self, fds: &[Fd]) -> Vec<Fd> {
        match self {
            Self::Poll => {
                let wanted: Vec<_> = fds.iter().map(|fd| (*fd, POLLIN)).collect();
                let found = poll(&wanted, -1).expect("poll");
                fds.iter().zip(found).filter(|(_, revents)| *revents != 0).map(|(fd, _)| *fd).collect()
            }
            Self::Select => {
                // SAFETY: a set of zeros is empty.
                let mut set: libc::fd_set = unsafe { std::mem::zeroed() };
                fds.iter().for_each(|fd| call!(FD_SET(*fd, &raw mut set)));
                let (none, last) = (std::ptr::null_mut(), fds.iter().max().copied().unwrap_or(-1));
                good(call!(select(last + 1, &raw mut set, none, none, std::ptr::null_mut())));
                fds.iter().copied().filter(|fd| call!(FD_ISSET(*fd, &raw const set))).collect()
            }
            Self::Epoll(set) => {
                let mut events = [libc::epoll_event { events: 0, u64: 0 }; 8];
                let count = good(call!(epoll_wait(set, events.as_mut_ptr(), 8, -1)));
                events[..count as usize].iter().map(|event| event.u64 as Fd).collect()
            }
        }
    }

    fn control(self, operation: i32, fd: Fd) {
        if let Self::Epoll(set) = self {
            let mut event = libc::epoll_event { events: EPOLLIN as u32, u64: fd as u64 };
            good(call!(epoll_ctl(set, operation, fd, &raw mut event)));
        }
    }
}

/// A server that accepts as many as it can, and answers them. It says how many will have a place, and when all are taken.
fn serve(server: &Server, mut free: BTreeSet<Fd>, how: How, tell: Fd, stop: Fd) {
    write_all(tell, &(free.len() as u32).to_ne_bytes());
    let mut fds = vec![stop, server.listener];
    fds.iter().for_each(|fd| how.control(EPOLL_CTL_ADD, *fd));
    loop {
        for fd in how.wait(&fds) {
            if fd == stop {
                return;
            }
            if fd == server.listener {
                let made = call!(accept4(fd, std::ptr::null_mut(), std::ptr::null_mut(), libc::SOCK_CLOEXEC));
                if let Some(new) = expect(&mut free, made) {
                    how.control(EPOLL_CTL_ADD, new);
                    fds.push(new);
                } else {
                    expect(&mut free, open_file());
                    how.control(EPOLL_CTL_DEL, fd);
                    fds.retain(|other| *other != fd);
                    write_all(tell, b"full");
                }
                continue;
            }
            let request = read_up_to(fd, 4);
            if request.len() == 4 {
                write_all(fd, &request);
                continue;
            }
            good(call!(close(fd)));
            fds.retain(|other| *other != fd);
            free.insert(fd);
            if !fds.contains(&server.listener) {
                how.control(EPOLL_CTL_ADD, server.listener);
                fds.push(server.listener);
            }
        }
    }
}

fn ask(fd: Fd, count: u32) {
    for i in 0..count {
        write_all(fd, &i.to_ne_bytes());
        assert_eq!(read_up_to(fd, 4), i.to_ne_bytes());
    }
}

fn rings(server: &Server) -> usize {
    server.ask().expect("an answer").connections.iter().filter(|c| c.transport == Transport::Ring).count()
}

/// More clients than a server has descriptors for.
fn crowd(kind: Limit, waits_in_epoll: bool, how: How) {
    let _step = Step::begin("more clients than descriptors");
    let (told, tell) = pipe();
    let (stop, stopping) = pipe();
    let (named, naming) = pipe();
    let pid = child(|| {
        call!(close(stopping));
        let mut free = limit(kind);
        let server = Server::listen();
        expect(&mut free, server.listener);
        let how = if waits_in_epoll { How::Epoll(good(call!(epoll_create1(libc::EPOLL_CLOEXEC))) as Fd) } else { how };
        if let How::Epoll(set) = how {
            expect(&mut free, set);
        }
        write_all(naming, &server.display.to_ne_bytes());
        serve(&server, free, how, tell, stop);
        std::mem::forget(server);
        true
    });
    let number = |fd| u32::from_ne_bytes(read_up_to(fd, 4).try_into().expect("four bytes"));
    let display = number(named);
    let server = Server { display, listener: -1, name: format!("\0/tmp/.X11-unix/X{display}").into_bytes() };
    let capacity = number(told) as usize;
    let mut clients = Vec::new();
    for i in 0..capacity {
        clients.push(server.connect());
        ask(clients[i], 2);
        if i == capacity / 3 || (i == capacity - 1 && kind == Limit::Soft) {
            assert_eq!(rings(&server), clients.len(), "all on shared memory");
        }
    }
    clients.iter().for_each(|fd| ask(*fd, 1));
    let waiting: Vec<_> = (0..20).map(|_| server.connect()).collect();
    assert_eq!(read_up_to(told, 4), b"full");
    clients.iter().for_each(|fd| ask(*fd, 3));
    for (gone, next) in clients.iter().step_by(7).zip(&waiting) {
        write_all(*next, &7_u32.to_ne_bytes());
        good(call!(close(*gone)));
        assert_eq!(read_up_to(*next, 4), 7_u32.to_ne_bytes());
    }
    // The others go, and the server has room: with the next that it accepts it offers shared memory again.
    clients.iter().enumerate().filter(|(i, _)| i % 7 != 0).for_each(|(_, fd)| _ = call!(close(*fd)));
    let served = waiting.len().min(capacity.div_ceil(7));
    waiting[..served].iter().for_each(|fd| ask(*fd, 2));
    let newcomer = server.connect();
    ask(newcomer, 3);
    // Until the server has heard that those are gone.
    let left = waiting.len() + 1 + capacity.div_ceil(7).saturating_sub(waiting.len());
    while server.ask().expect("an answer").connections.len() != left {}
    let before = rings(&server);
    let late: Vec<_> = (0..5).map(|_| server.connect()).collect();
    late.iter().for_each(|fd| ask(*fd, 3));
    assert_eq!(rings(&server), before + late.len(), "as at the beginning");
    write_all(stopping, b".");
    join(pid);
}

#[test]
fn a_poll_server_below_its_limit() {
    limited(|| crowd(Limit::Soft, false, How::Poll));
}

#[test]
fn a_poll_server_at_its_limit() {
    limited(|| crowd(Limit::Hard, false, How::Poll));
}

#[test]
fn a_select_server_below_its_limit() {
    limited(|| crowd(Limit::Soft, false, How::Select));
}

#[test]
fn a_select_server_at_its_limit() {
    limited(|| crowd(Limit::Hard, false, How::Select));
}

#[test]
fn an_epoll_server_below_its_limit() {
    limited(|| crowd(Limit::Soft, true, How::Poll));
}

#[test]
fn an_epoll_server_at_its_limit() {
    limited(|| crowd(Limit::Hard, true, How::Poll));
}

/// A client with more connections than descriptors.
fn client(kind: Limit) {
    let _step = Step::begin("a client with many connections");
    let server = Server::listen();
    let pid = child(|| {
        // The library's own of the listening socket are its copies, as the parent's.
        call!(close(server.listener));
        let mut free = limit(kind);
        let mut fds = Vec::new();
        while let Some(fd) = expect(&mut free, call!(socket(libc::AF_UNIX, libc::SOCK_STREAM | libc::SOCK_CLOEXEC, 0))) {
            good(connect(fd, &server.name));
            ask(fd, 2);
            fds.push(fd);
            if fds.len() % 10 == 0
                && let Some(file) = expect(&mut free, open_file())
            {
                free.insert(file);
                good(call!(close(file)));
            }
        }
        fds.iter().for_each(|fd| ask(*fd, 3));
        let gone = fds.pop().expect("one");
        good(call!(close(gone)));
        free.insert(gone);
        let file = expect(&mut free, open_file());
        file.is_some() && expect(&mut free, open_file()).is_none()
    });
    let accepting = server.listener;
    thread::spawn(move || {
        loop {
            let fd = good(call!(accept4(accepting, std::ptr::null_mut(), std::ptr::null_mut(), libc::SOCK_CLOEXEC))) as Fd;
            thread::spawn(move || {
                while let request @ [_, ..] = &read_up_to(fd, 4)[..] {
                    write_all(fd, request);
                }
                call!(close(fd));
            });
        }
    });
    join(pid);
    std::mem::forget(server);
}

#[test]
fn a_client_below_its_limit() {
    limited(|| client(Limit::Soft));
}

#[test]
fn a_client_at_its_limit() {
    limited(|| client(Limit::Hard));
}

#[test]
fn nothing_is_lost_when_a_line_is_given_up() {
    limited(|| {
        let _step = Step::begin("what lies in a line that is given up");
        limit(Limit::Hard);
        let server = Server::listen();
        let (c, idle) = (server.connection(), server.connection());
        let files: Vec<Fd> = (0..2).map(|_| call!(memfd_create(c"passed".as_ptr(), libc::MFD_CLOEXEC))).collect();
        write_all(c.client, b"one ");
        messages::send(c.client, vec![b"two ".to_vec()], &[files[0]], 0);
        write_all(c.client, b"three ");
        messages::send(c.server, vec![b"four ".to_vec()], &[files[1]], 0);
        write_all(c.server, b"five");
        let taken: Vec<_> = std::iter::from_fn(|| Some(open_file()).filter(|fd| *fd >= 0)).collect();
        let highest = taken.iter().max().copied();
        assert_eq!((highest, errno()), (Some(LIMIT as Fd - 1), libc::EMFILE), "the library has none left");
        taken.into_iter().for_each(|fd| _ = good(call!(close(fd))));
        write_all(c.client, b"six");
        let mut heard = Vec::new();
        let mut passed = Vec::new();
        while heard.len() < 17 {
            let got = messages::receive(c.server, &[100], messages::space(1), 0);
            heard.extend(got.bytes);
            passed.extend(got.files.iter().map(|file| (file.0, file.1)));
        }
        assert_eq!((heard, passed), (b"one two three six".to_vec(), vec![identity(files[0])]));
        let got = messages::receive(c.client, &[5], messages::space(1), 0);
        assert_eq!((got.bytes, got.files.len()), (b"four ".to_vec(), 1));
        assert_eq!(read_up_to(c.client, 4), b"five");
        idle.exchange();
        c.exchange();
    });
}

/// What fcntl(2) returns is a descriptor for two commands only: a signal's number is none, though the library has the next.
#[test]
fn numbers_that_are_no_descriptors() {
    const F_SETSIG: i32 = 10;
    const F_GETSIG: i32 = 11;
    limited(|| {
        let _step = Step::begin("numbers");
        setrlimit(Resource::Nofile, Rlimit { current: Some(60), maximum: Some(60) }).expect("a limit");
        let server = Server::listen();
        let c = server.connection();
        let file = open_file();
        for signal in 40..64 {
            good(call!(fcntl(file, F_SETSIG, signal)));
            assert_eq!(call!(fcntl(file, F_GETSIG)), signal);
        }
        assert_eq!(server.transports(), [Transport::Ring]);
        c.exchange();
    });
}

/// EMFILE may mean another limit than that of the program's descriptors: nothing is given up for it.
#[test]
fn inotify_instances_are_used_up() {
    limited(|| {
        let _step = Step::begin("inotify instances");
        let (told, tell) = pipe();
        let (stop, stopping) = pipe();
        let pid = child(|| {
            call!(close(stopping));
            limit(Limit::Hard);
            let server = Server::listen();
            write_all(tell, &server.display.to_ne_bytes());
            let first = server.accept();
            // A user of this test's own, if there may be one: the instances are counted for each.
            call!(setresuid(54_321, 54_321, 54_321));
            while call!(inotify_init1(libc::IN_CLOEXEC)) >= 0 {}
            assert_eq!(errno(), libc::EMFILE);
            let file = open_file();
            if file < 0 {
                write_all(tell, b"many");
                return true;
            }
            good(call!(close(file)));
            write_all(tell, b"none");
            let mut fds = vec![stop, server.listener, first];
            loop {
                let ready = How::Poll.wait(&fds);
                if ready.contains(&stop) {
                    std::mem::forget(server);
                    return true;
                }
                for fd in ready {
                    if fd == server.listener {
                        fds.push(server.accept());
                    } else {
                        write_all(fd, &read_up_to(fd, 4));
                    }
                }
            }
        });
        let display = u32::from_ne_bytes(read_up_to(told, 4).try_into().expect("four bytes"));
        let server = Server { display, listener: -1, name: format!("\0/tmp/.X11-unix/X{display}").into_bytes() };
        let first = server.connect();
        if read_up_to(told, 4) == b"many" {
            eprintln!(
                "not run: this system allows more inotify instances (fs.inotify.max_user_instances) than a process has descriptors here"
            );
            return join(pid);
        }
        ask(first, 3);
        let second = server.connect();
        ask(second, 3);
        assert_eq!(rings(&server), 2);
        write_all(stopping, b".");
        join(pid);
    });
}

/// A server that has forked, and whose child is gone, offers shared memory again after it needed every descriptor.
#[test]
fn after_a_child_is_gone() {
    limited(|| {
        let _step = Step::begin("a child that is gone");
        limit(Limit::Hard);
        let server = Server::listen();
        drop(server.connection());
        join(child(|| true));
        let taken: Vec<_> = std::iter::from_fn(|| Some(open_file()).filter(|fd| *fd >= 0)).collect();
        taken.into_iter().for_each(|fd| _ = good(call!(close(fd))));
        // With this one the hub is there again.
        drop(server.fresh_connection());
        server.connection().exchange();
    });
}

/// A message of four bytes with so many descriptors.
fn pass(fd: Fd, number: u32, files: &[Fd], flags: i32) -> bool {
    let sent = messages::send(fd, vec![number.to_ne_bytes().to_vec()], files, flags);
    assert!(sent.value == 4 || sent.errno == libc::EAGAIN && flags != 0, "{sent:?}");
    sent.value == 4
}

#[track_caller]
fn take(fd: Fd, number: u32, count: usize) {
    let got = messages::receive(fd, &[4], messages::space(count), 0);
    assert_eq!((got.bytes, got.files.len(), got.flags), (number.to_ne_bytes().to_vec(), count, 0), "message {number}");
}

/// As on a socket: it waits for the reader, or is told to.
#[test]
fn a_sender_of_many_descriptors_that_are_not_read() {
    let _guard = UNDER_WAY.write().unwrap_or_else(PoisonError::into_inner);
    hooked(|| {
        let _step = Step::begin("many descriptors");
        let server = Server::listen();
        for count in [1, 2, 100] {
            let c = server.connection();
            let files = vec![open_file(); count];
            let (mut sent, mut read) = (0, 0);
            for _ in 0..5 {
                while pass(c.client, sent, &files, libc::MSG_DONTWAIT) {
                    sent += 1;
                }
                assert_eq!(poll(&[(c.client, libc::POLLOUT)], 0), Ok(vec![0]), "after {sent}");
                take(c.server, read, count);
                read += 1;
            }
            (read..sent).for_each(|number| take(c.server, number, count));
            assert_eq!(poll(&[(c.client, libc::POLLOUT)], 0), Ok(vec![libc::POLLOUT]));
            thread::scope(|scope| {
                scope.spawn(|| (0..2000).for_each(|number| assert!(pass(c.client, number, &files, 0))));
                (0..2000).for_each(|number| take(c.server, number, count));
            });
            c.exchange();
            assert_eq!(server.transports().last(), Some(&Transport::Ring));
            good(call!(close(files[0])));
        }
    });
}

/// What has come and was not received is nothing that the program could meet by its number.
#[test]
fn descriptors_that_are_not_received_yet() {
    hooked(|| {
        let _step = Step::begin("descriptors under way");
        let server = Server::listen();
        let c = server.connection();
        let files: Vec<Fd> = (0..3).map(|_| call!(memfd_create(c"passed".as_ptr(), libc::MFD_CLOEXEC))).collect();
        let receive = || messages::receive_open(c.server, &[4], messages::space(1), 0);
        // Held by a thread that waited for something else, or not.
        for waits in [false, true] {
            (0..3).for_each(|i| assert!(pass(c.client, i, &files[i as usize..][..1], 0)));
            if waits {
                assert_eq!(poll(&[(c.server, 0)], 20), Ok(vec![0]));
            }
            let (_, first) = receive();
            let own = first[0] + 1;
            good(call!(dup2(files[0], own)));
            let (second, numbers) = receive();
            assert_eq!((second.files, numbers.len()), (vec![(identity(files[1]).0, identity(files[1]).1, false)], 1));
            assert!(numbers[0] > own, "{numbers:?} has to be another than {own}");
            assert_eq!(identity(own), identity(files[0]), "the program's own");
            good(call!(close_range(own as u32, own as u32 + 50, 0)));
            let (third, numbers) = messages::receive_open(c.server, &[4], messages::space(1), libc::MSG_CMSG_CLOEXEC);
            assert_eq!(third.files, [(identity(files[2]).0, identity(files[2]).1, true)]);
            assert_eq!(numbers, [own], "the lowest that is free");
            first.into_iter().chain(numbers).for_each(|fd| _ = good(call!(close(fd))));
        }
        assert_eq!(server.transports(), [Transport::Ring]);
    });
}

/// A thread that waits in an epoll set, of which this tells when it sleeps.
fn await_sleep(thread: i32) {
    let path = format!("/proc/self/task/{thread}/syscall");
    let waits = [crate::waking::EPOLL_WAIT, libc::SYS_epoll_pwait, libc::SYS_epoll_pwait2].map(|n| n.to_string());
    let is_asleep = |call: String| waits.iter().any(|wait| call.split(' ').next() == Some(wait));
    while !std::fs::read_to_string(&path).is_ok_and(is_asleep) {
        thread::yield_now();
    }
}

/// Neither the sender of too many descriptors nor their reader, which waits for space itself, sleeps through what it waits for.
#[test]
fn epoll_sets_of_both_ends_while_descriptors_are_not_read() {
    let _guard = UNDER_WAY.write().unwrap_or_else(PoisonError::into_inner);
    hooked(|| {
        let _step = Step::begin("epoll sets beside many descriptors");
        let server = Server::listen();
        let file = open_file();
        for edge in [0, libc::EPOLLET as u32] {
            let c = server.connection();
            let sets = [c.client, c.server].map(|fd| {
                let set = good(call!(epoll_create1(libc::EPOLL_CLOEXEC))) as Fd;
                crate::support::connection::watch(set, fd, libc::EPOLLOUT as u32 | edge, 0);
                set
            });
            let wait = |set, timeout| {
                let mut event = libc::epoll_event { events: 0, u64: 0 };
                good(call!(epoll_wait(set, &raw mut event, 1, timeout)))
            };
            sets.iter().for_each(|set| assert_eq!(wait(*set, -1), 1));
            let data = [1; 4096];
            assert_eq!(good(call!(send(c.server, data.as_ptr().cast(), 4096, libc::MSG_DONTWAIT))), 4096);
            assert_eq!(call!(send(c.server, data.as_ptr().cast(), 1, libc::MSG_DONTWAIT)), -1);
            let (mut sent, mut read) = (0, 0);
            while pass(c.client, sent, &[file], libc::MSG_DONTWAIT) {
                sent += 1;
            }
            let asleep = |set, awake: &mut dyn FnMut()| {
                thread::scope(|scope| {
                    let (tell, told) = std::sync::mpsc::channel();
                    let waiter = scope.spawn(move || {
                        tell.send(call!(gettid())).expect("somebody listens");
                        wait(set, -1)
                    });
                    await_sleep(told.recv().expect("a thread"));
                    awake();
                    assert_eq!(waiter.join().expect("no panic"), 1);
                });
            };
            asleep(sets[1], &mut || assert_eq!(read_up_to(c.client, 4096), data));
            assert_eq!(wait(sets[0], 0), 0);
            asleep(sets[0], &mut || {
                while read < sent {
                    take(c.server, read, 1);
                    read += 1;
                }
            });
            sets.into_iter().for_each(|set| _ = good(call!(close(set))));
            c.exchange();
        }
    });
}
