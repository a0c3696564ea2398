//! Programs that filter their system calls (seccomp).

use libc::{
    BPF_ABS, BPF_JEQ, BPF_JMP, BPF_K, BPF_LD, BPF_RET, BPF_W, EPOLLIN, SECCOMP_FILTER_FLAG_TSYNC, SECCOMP_SET_MODE_FILTER,
    SYS_seccomp, c_long,
};
use slipway_transport::status::Transport;
use std::{ptr, sync::mpsc, thread};

use crate::{
    support::{
        Server,
        calls::{call, child, close_all, good, join, read_up_to, until_asleep, write_all},
        connection::{Connection, watch},
        hooked, hooked_with,
        watchdog::Step,
    },
    waiting::{epoll, epoll_set},
};

/// Calls that the hooks make, and a program of reads and writes does not.
const FORBIDDEN: [c_long; 13] = [
    libc::SYS_recvmsg,
    libc::SYS_sendmsg,
    libc::SYS_recvfrom,
    libc::SYS_sendto,
    libc::SYS_ppoll,
    libc::SYS_accept4,
    libc::SYS_memfd_create,
    libc::SYS_ftruncate,
    libc::SYS_getsockopt,
    libc::SYS_setsockopt,
    libc::SYS_fcntl,
    libc::SYS_prlimit64,
    libc::SYS_sched_yield,
];

/// A filter without these calls, which `set` sets.
fn forbid(numbers: &[c_long], set: &dyn Fn(*const libc::sock_fprog) -> i32) {
    let statement = |code, value| call!(BPF_STMT(code as u16, value));
    let mut steps = vec![statement(BPF_LD | BPF_W | BPF_ABS, 0)];
    for number in numbers {
        steps.push(call!(BPF_JUMP((BPF_JMP | BPF_JEQ | BPF_K) as u16, *number as u32, 0, 1)));
        steps.push(statement(BPF_RET | BPF_K, libc::SECCOMP_RET_KILL_PROCESS));
    }
    steps.push(statement(BPF_RET | BPF_K, libc::SECCOMP_RET_ALLOW));
    assert_eq!(call!(prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)), 0);
    assert_eq!(set(&libc::sock_fprog { len: steps.len() as u16, filter: steps.as_mut_ptr() }), 0);
}

fn by_number(flags: libc::c_ulong, program: *const libc::sock_fprog) -> i32 {
    call!(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, program)) as i32
}

#[test]
fn a_program_that_filters_its_calls_is_left_to_itself() {
    let by_prctl =
        |program: *const libc::sock_fprog| call!(prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, program, 0, 0));
    let filtered = |set: &dyn Fn(*const libc::sock_fprog) -> i32| {
        let server = Server::listen();
        let c = server.connection();
        assert_eq!(server.transports(), [Transport::Ring]);
        write_all(c.server, b"before");
        // What libseccomp asks is no filter.
        assert_eq!(call!(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, 0)), -1);
        assert_eq!(server.transports(), [Transport::Ring]);
        forbid(&FORBIDDEN, set);
        assert_eq!(read_up_to(c.client, 6), b"before");
        let client = server.connect();
        let accepted = call!(accept(server.listener, ptr::null_mut(), ptr::null_mut()));
        for each in [c, Connection { client, server: accepted }] {
            for _ in 0..200 {
                write_all(each.client, b"?");
                assert_eq!(read_up_to(each.server, 1), b"?");
                write_all(each.server, b"!");
                assert_eq!(read_up_to(each.client, 1), b"!");
            }
        }
        true
    };
    hooked(|| {
        let _step = Step::begin("a filter");
        join(child(|| filtered(&by_prctl)));
        join(child(|| filtered(&|program| by_number(0, program))));
    });
}

/// What the C library calls for epoll_wait(3) and close(3) is not this.
const NOT_ITS_OWN: &[c_long] = &[
    libc::SYS_getpid,
    libc::SYS_epoll_pwait2,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_epoll_pwait,
];

#[test]
fn its_epoll_sets_are_left_to_the_kernel() {
    hooked(|| {
        let _step = Step::begin("a filter beside a set");
        join(child(|| {
            let server = Server::listen();
            let (set, c, idle) = (epoll_set(), server.connection(), server.connection());
            watch(set, server.listener, EPOLLIN as u32, 1);
            watch(set, c.server, EPOLLIN as u32, 2);
            watch(set, idle.server, (EPOLLIN | libc::EPOLLONESHOT) as u32, 3);
            let turn = || {
                write_all(c.client, b"?");
                assert_eq!(epoll(set, -1), [(2, EPOLLIN as u32)]);
                assert_eq!(read_up_to(c.server, 1), b"?");
            };
            turn();
            // It has reported, and doesn't again.
            write_all(idle.client, b"!");
            assert_eq!(epoll(set, -1), [(3, EPOLLIN as u32)]);
            assert_eq!(read_up_to(idle.server, 1), b"!");
            turn();
            forbid(&[&FORBIDDEN, NOT_ITS_OWN].concat(), &|program| by_number(0, program));
            write_all(idle.client, b"!");
            for _ in 0..20 {
                turn();
                assert_eq!(epoll(set, 0), []);
            }
            let mut event = libc::epoll_event { events: EPOLLIN as u32, u64: 4 };
            good(call!(epoll_ctl(set, libc::EPOLL_CTL_MOD, idle.server, &raw mut event)));
            assert_eq!(epoll(set, -1), [(4, EPOLLIN as u32)]);
            let client = server.connect();
            let mut told = epoll(set, -1);
            told.sort_unstable();
            assert_eq!(told, [(1, EPOLLIN as u32), (4, EPOLLIN as u32)]);
            let accepted = good(call!(accept(server.listener, ptr::null_mut(), ptr::null_mut()))) as i32;
            watch(set, accepted, EPOLLIN as u32, 5);
            close_all([idle.server, accepted, client, c.server, set]);
            true
        }));
    });
}

#[test]
fn and_so_are_those_that_a_child_has_of_its_parent() {
    hooked(|| {
        let _step = Step::begin("a filter of a child");
        let server = Server::listen();
        let (set, c) = (epoll_set(), server.connection());
        watch(set, server.listener, EPOLLIN as u32, 1);
        watch(set, c.server, EPOLLIN as u32, 2);
        let turn = || {
            write_all(c.client, b"??");
            for _ in 0..2 {
                assert_eq!(epoll(set, -1), [(2, EPOLLIN as u32)]);
                assert_eq!(crate::support::calls::ready(set, libc::POLLIN), libc::POLLIN);
                assert_eq!(read_up_to(c.server, 1), b"?");
            }
            assert_eq!(epoll(set, 0), []);
        };
        turn();
        join(child(|| {
            forbid(&[&FORBIDDEN, NOT_ITS_OWN].concat(), &|program| by_number(0, program));
            (0..20).for_each(|_| turn());
            let client = server.connect();
            assert_eq!(epoll(set, -1), [(1, EPOLLIN as u32)]);
            close_all([good(call!(accept(server.listener, ptr::null_mut(), ptr::null_mut()))) as i32, client]);
            true
        }));
        // The parent has its set as it was.
        (0..20).for_each(|_| turn());
        let mut event = libc::epoll_event { events: libc::EPOLLOUT as u32, u64: 3 };
        good(call!(epoll_ctl(set, libc::EPOLL_CTL_MOD, c.server, &raw mut event)));
        assert_eq!(epoll(set, -1), [(3, libc::EPOLLOUT as u32)]);
        good(call!(epoll_ctl(set, libc::EPOLL_CTL_DEL, c.server, ptr::null_mut())));
        assert_eq!(epoll(set, 0), []);
        call!(close(set));
    });
}

#[test]
fn threads_that_sleep_are_back_in_their_own_calls() {
    hooked(|| {
        let _step = Step::begin("a filter beside sleepers");
        join(child(|| {
            let server = Server::listen();
            let c = server.connection();
            let (client, listener) = (c.client, server.listener);
            let (tell, told) = mpsc::channel();
            let number = tell.clone();
            let reader = thread::spawn(move || {
                let _ = number.send(call!(syscall(libc::SYS_gettid)));
                read_up_to(client, 20)
            });
            let acceptor = thread::spawn(move || {
                let _ = tell.send(call!(syscall(libc::SYS_gettid)));
                good(call!(accept(listener, ptr::null_mut(), ptr::null_mut())))
            });
            told.iter().take(2).for_each(until_asleep);
            forbid(&FORBIDDEN, &|program| by_number(SECCOMP_FILTER_FLAG_TSYNC, program));
            for _ in 0..20 {
                write_all(c.server, b"x");
            }
            assert_eq!(reader.join().expect("the reader"), [b'x'; 20]);
            server.connect();
            acceptor.join().expect("the acceptor");
            true
        }));
    });
}

/// The kernel makes a call again, after a signal, that it let in before there was a filter.
#[test]
fn a_thread_that_sleeps_on_its_socket_is_in_its_own_call() {
    hooked_with(&[("SLIPWAY_X11_AFTER", "64")], || {
        let _step = Step::begin("a filter beside sleepers without a line");
        join(child(|| {
            crate::waiting::handle(libc::SIGUSR1, libc::SA_RESTART);
            let server = Server::listen();
            let [read, polled] = [server.fresh_connection(), server.fresh_connection()];
            let (tell, told) = mpsc::channel();
            let number = tell.clone();
            let (reads, polls) = (read.client, polled.client);
            let reader = thread::spawn(move || {
                let _ = number.send(call!(syscall(libc::SYS_gettid)));
                read_up_to(reads, 1)
            });
            let poller = thread::spawn(move || {
                let _ = tell.send(call!(syscall(libc::SYS_gettid)));
                crate::support::calls::poll(&[(polls, libc::POLLIN)], -1)
            });
            let threads: Vec<_> = told.iter().take(2).collect();
            threads.into_iter().for_each(until_asleep);
            forbid(&FORBIDDEN, &|program| by_number(SECCOMP_FILTER_FLAG_TSYNC, program));
            let id = std::os::unix::thread::JoinHandleExt::as_pthread_t(&reader);
            for _ in 0..100 {
                assert_eq!(call!(pthread_kill(id, libc::SIGUSR1)), 0);
            }
            write_all(read.server, b"x");
            assert_eq!(reader.join().expect("the reader"), b"x");
            write_all(polled.server, b"x");
            assert_eq!(poller.join().expect("the poller"), Ok(vec![libc::POLLIN]));
            true
        }));
    });
}
