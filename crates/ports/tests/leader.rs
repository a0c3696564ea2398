//! A leader that is about to sleep on a line's word while a sender of its process has a message for it.
//!
//! The leader is stopped where no test could stop it by waiting: a filter of system calls (seccomp(2)) turns its call of futex(2)
//! into a signal, whose handler goes on when the test says so. By then the leader has released the lock.
#![allow(unsafe_code, reason = "a filter of system calls, and the handler of its signal")]

mod support;

use libc::{BPF_ABS, BPF_JEQ, BPF_JMP, BPF_K, BPF_LD, BPF_RET, BPF_W, c_int, c_void, siginfo_t, sock_filter, ucontext_t};
use slipway_fabric::{
    ring::FUTEX_WAIT,
    sync::{AtomicBool, Ordering::SeqCst},
};
use slipway_ports::{
    abi::{Code, option, right, types},
    msg::Request,
    task::Task,
    wire::{Record, kind},
};
use std::{mem::zeroed, ptr::null_mut, sync::mpsc::channel, thread::scope};
use support::{peer::Line, tools::*, *};

/// The leader is about to sleep.
static ABOUT_TO: AtomicBool = AtomicBool::new(false);
/// It may go on.
static MAY_GO_ON: AtomicBool = AtomicBool::new(false);

/// In place of the leader's call of futex(2), which fails as if the word had another value.
extern "C" fn stop(_: c_int, _: *mut siginfo_t, context: *mut c_void) {
    ABOUT_TO.store(true, SeqCst);
    until("the leader may go on", || MAY_GO_ON.load(SeqCst));
    // SAFETY: the kernel gives a handler with SA_SIGINFO the context that it goes back to.
    let context = unsafe { &mut (*context.cast::<ucontext_t>()).uc_mcontext };
    #[cfg(target_arch = "x86_64")]
    (context.gregs[libc::REG_RAX as usize] = -i64::from(libc::EAGAIN));
    #[cfg(target_arch = "aarch64")]
    (context.regs[0] = -i64::from(libc::EAGAIN) as u64);
}

/// From here on [`stop`] runs when the calling thread would sleep on a word that is shared with another process.
fn stop_before_sleeping() {
    let load = |at| sock_filter { code: (BPF_LD | BPF_W | BPF_ABS) as u16, jt: 0, jf: 0, k: at };
    let unless = |k, skip| sock_filter { code: (BPF_JMP | BPF_JEQ | BPF_K) as u16, jt: 0, jf: skip, k };
    let end = |k| sock_filter { code: (BPF_RET | BPF_K) as u16, jt: 0, jf: 0, k };
    // What is loaded is a seccomp_data: the call's number is at 0, and the low half of its second argument at 24.
    let mut filter = [
        load(0),
        unless(libc::SYS_futex as u32, 3),
        load(24),
        unless(libc::FUTEX_WAIT as u32, 1),
        end(libc::SECCOMP_RET_TRAP),
        end(libc::SECCOMP_RET_ALLOW),
    ];
    let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_mut_ptr() };
    // SAFETY: the action is a valid one; the kernel copies the filter, which concerns this thread alone.
    unsafe {
        let mut action: libc::sigaction = zeroed();
        action.sa_sigaction = stop as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO;
        assert_eq!(libc::sigaction(libc::SIGSYS, &raw const action, null_mut()), 0);
        assert_eq!(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
        let set = libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program);
        assert_eq!(set, 0, "a filter of system calls: {}", std::io::Error::last_os_error());
    }
}

/// The sender leaves the message in the queue. If it handed it over, it would be the next leader itself and arm the word again:
/// the first would go to sleep on that, with its message in its hands.
#[test]
fn a_leader_about_to_sleep_on_a_line_is_handed_nothing() {
    let _dog = watchdog("a_leader_about_to_sleep_on_a_line_is_handed_nothing", WATCHDOG);
    let task = Task::current();
    let (service, reply) = (receive_right(), receive_right());
    task.insert_right(service, task, service, types::MAKE_SEND).expect("a send right");
    let (s, _t) = task.export(service).expect("sockets");
    let mut line = Line::make(&s);
    scope(|scope| {
        scope.spawn(|| {
            assert_eq!(receive(service).id(), 1, "it looks at the line from here on");
            stop_before_sleeping();
            let msg = receive(service);
            let answer = Msg::new(3, (msg.reply(), types::MOVE_SEND_ONCE), (0, 0));
            assert_eq!((msg.id(), send(&answer)), (2, Code::SUCCESS));
        });
        line.write(&Record { kind: kind::MESSAGE, id: 1, ..Record::default() }, &[], &[]);
        until("the leader is about to sleep", || ABOUT_TO.load(SeqCst));
        let word = line.sleeping_word();
        let before = word.load(SeqCst);
        let mut after = before;
        let call = || rpc(2, service, reply, |msg| msg);
        let answer = woken_by(call, || {
            after = word.load(SeqCst);
            MAY_GO_ON.store(true, SeqCst);
        });
        assert_eq!(answer.id(), 3);
        assert_eq!(before, FUTEX_WAIT, "it was about to sleep on another word");
        assert_ne!(after, FUTEX_WAIT, "it would go to sleep");
    });
}

/// Receives a small message, however long that takes.
fn receive_calmly(name: u32) -> Code {
    let mut buffer = [0; 256];
    let request = Request { option: option::RCV_MSG, receive_size: buffer.len(), receive_name: name, ..Request::default() };
    Task::current().mach_msg(&mut buffer, &request)
}

/// What is remembered of the name by then is what the next receiver has looked up.
#[test]
fn a_leader_about_to_sleep_hears_that_its_port_died_when_another_has_its_name() {
    const NAME: u32 = 0x77;
    let test = "a_leader_about_to_sleep_hears_that_its_port_died_when_another_has_its_name";
    if role().is_none() {
        // In a process of its own there is one line to look at.
        return well(vec![start(test, "receivers", receive_right())]);
    }
    let _dog = watchdog(test, WATCHDOG);
    let task = Task::current();
    task.allocate_name(right::RECEIVE, NAME).expect("a free name");
    let (s, _t) = task.export(NAME).expect("sockets");
    let mut line = Line::make(&s);
    let other = receive_right();
    let (tell, told) = channel();
    let (tell_second, second_told) = channel();
    scope(|scope| {
        // A thread's first wait has more to do than others, and has what is remembered forgotten.
        let second = scope.spawn(move || {
            for name in [other, NAME] {
                second_told.recv().expect("the test goes on");
                tell.send(thread_number()).expect("the test waits");
                assert_eq!(receive_calmly(name), Code::SUCCESS);
            }
        });
        tell_second.send(()).expect("it waits");
        let number = told.recv().expect("its number");
        until_asleep(number);
        assert_eq!(send(&Msg::new(1, (other, types::MAKE_SEND), (0, 0))), Code::SUCCESS);
        let (received, is_received) = channel();
        let first = scope.spawn(move || {
            for _ in 0..8 {
                assert_eq!(receive_calmly(NAME), Code::SUCCESS);
                received.send(()).expect("the test waits");
            }
            stop_before_sleeping();
            receive_calmly(NAME)
        });
        for _ in 0..8 {
            line.write_quietly(&Record { kind: kind::MESSAGE, id: 1, ..Record::default() }, &[], &[]);
            line.wake();
            is_received.recv().expect("it was received");
        }
        until("the leader is about to sleep", || ABOUT_TO.load(SeqCst));
        task.destroy(NAME).expect("it lives until now");
        task.allocate_name(right::RECEIVE, NAME).expect("a free name");
        tell_second.send(()).expect("it waits");
        told.recv().expect("it goes on");
        until_asleep_with(number, || {});
        ABOUT_TO.store(false, SeqCst);
        MAY_GO_ON.store(true, SeqCst);
        until("the leader has looked", || first.is_finished() || ABOUT_TO.load(SeqCst));
        let waits = ABOUT_TO.load(SeqCst);
        // One for each, if both wait there.
        for id in [2, 3] {
            assert_eq!(send(&Msg::new(id, (NAME, types::MAKE_SEND), (0, 0))), Code::SUCCESS);
        }
        second.join().expect("no panic");
        assert_eq!((first.join().expect("no panic"), waits), (Code::RCV_PORT_DIED, false));
    });
}
