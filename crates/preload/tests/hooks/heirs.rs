//! Epoll sets that other processes get. The kernel's set is told late of what changes at a connection that has no ring yet; before others may look at it, of all.

use std::{ffi::CString, process::Command, ptr};

use libc::{EPOLL_CTL_MOD, EPOLLIN, EPOLLOUT};
use rustix::event::{Timespec, epoll};

use crate::support::{
    Connection, Server,
    calls::{Fd, call, child, close_all, good, join},
    connection::watch,
    hooked, messages,
    watchdog::Step,
};

/// Exits with 0 if the set with the number that it is given says that one can write.
const LOOK: &str = "import select, sys\ne = select.epoll.fromfd(int(sys.argv[1]))\n\
                    sys.exit(0 if any(what & select.EPOLLOUT for _, what in e.poll(0)) else 1)";

/// Whether the kernel's set tells those who wait there without hooks that one can write. (It tells of the hooks' own socket, too.)
fn says_writable(set: Fd) -> bool {
    let mut events = Vec::with_capacity(4);
    // SAFETY: the test's own descriptor, which stays open.
    let set = unsafe { std::os::fd::BorrowedFd::borrow_raw(set) };
    epoll::wait(set, rustix::buffer::spare_capacity(&mut events), Some(&Timespec { tv_sec: 0, tv_nsec: 0 })).expect("a set");
    events.into_iter().any(|epoll::Event { flags, .. }| flags.contains(epoll::EventFlags::OUT))
}

/// A connection without a ring, and a set in which its client is registered to write, of which the kernel knows nothing yet.
struct Late {
    set: Fd,
    connection: Connection,
    _server: Server,
}

impl Late {
    fn new() -> Self {
        let late = Self::of(good(call!(epoll_create1(0))) as Fd);
        assert!(!says_writable(late.set), "the kernel was told at once: there is nothing to test");
        late
    }

    /// Of a set that has nothing yet.
    fn of(set: Fd) -> Self {
        let server = Server::listen();
        watch(set, server.listener, 0, 0);
        let mut event = libc::epoll_event { events: 0, u64: 0 };
        assert_eq!(call!(epoll_wait(set, &raw mut event, 1, 0)), 0, "a wait that the hooks see");
        let connection = server.fresh_connection();
        watch(set, connection.client, EPOLLIN as u32, 7);
        event = libc::epoll_event { events: EPOLLOUT as u32, u64: 7 };
        good(call!(epoll_ctl(set, EPOLL_CTL_MOD, connection.client, &raw mut event)));
        Self { set, connection, _server: server }
    }

    /// What those without hooks and those with them see.
    fn assert_told(&self) {
        assert!(says_writable(self.set));
        let mut event = libc::epoll_event { events: 0, u64: 0 };
        assert_eq!(call!(epoll_wait(self.set, &raw mut event, 1, 0)), 1);
        assert_eq!((event.events, event.u64), (EPOLLOUT as u32, 7));
    }
}

impl Drop for Late {
    fn drop(&mut self) {
        call!(close(self.set));
    }
}

#[test]
fn a_set_that_a_child_inherits() {
    hooked(|| {
        let _step = Step::begin("fork");
        let late = Late::new();
        join(child(|| says_writable(late.set)));
        late.assert_told();
    });
}

#[test]
fn a_set_that_a_spawned_program_inherits() {
    hooked(|| {
        let _step = Step::begin("posix_spawn");
        let late = Late::new();
        let looked = Command::new("python3").args(["-c", LOOK, &late.set.to_string()]).env_remove("LD_PRELOAD").status();
        assert!(looked.expect("start python3").success());
        late.assert_told();
    });
}

#[test]
fn a_set_that_is_kept_over_exec() {
    hooked(|| {
        let _step = Step::begin("exec");
        // All is of the child: no fork tells the kernel's set first.
        join(child(|| {
            let late = Late::new();
            for fd in [late.connection.client, late.connection.server] {
                good(call!(fcntl(fd, libc::F_SETFD, 0)));
            }
            let words = ["python3", "-c", LOOK, &late.set.to_string()].map(|word| CString::new(word).expect("no zero byte"));
            let pointers = [0, 1, 2, 3].map(|at| words[at].as_ptr()).into_iter().chain([ptr::null()]).collect::<Vec<_>>();
            std::mem::forget(late);
            call!(execvp(words[0].as_ptr(), pointers.as_ptr()));
            false
        }));
    });
}

fn pass(set: Fd) {
    let mut ends = [0; 2];
    good(call!(socketpair(libc::AF_UNIX, libc::SOCK_STREAM, 0, ends.as_mut_ptr())));
    assert_eq!(messages::send(ends[0], vec![b"!".to_vec()], &[set], 0).value, 1);
    close_all(ends);
}

#[test]
fn a_set_that_is_passed_in_a_message() {
    hooked(|| {
        let _step = Step::begin("SCM_RIGHTS");
        let late = Late::new();
        pass(late.set);
        late.assert_told();
    });
}

#[test]
fn a_set_with_a_second_number() {
    hooked(|| {
        let _step = Step::begin("dup");
        let late = Late::new();
        let second = good(call!(dup(late.set))) as Fd;
        assert!(says_writable(second));
        late.assert_told();
        call!(close(second));
    });
}

#[test]
fn a_set_that_others_got_while_it_was_empty() {
    hooked(|| {
        let _step = Step::begin("an empty set");
        let fork = |_| join(child(|| true));
        let spawn = |_| assert!(Command::new("true").status().expect("start true").success());
        for give in [fork, spawn, pass] as [fn(Fd); 3] {
            let set = good(call!(epoll_create1(0))) as Fd;
            give(set);
            Late::of(set).assert_told();
        }
    });
}
