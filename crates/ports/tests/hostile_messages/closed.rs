//! A program that closes all descriptors, the library's too.

use super::*;
use slipway_ports::{abi::option, msg::Request};
use std::{
    io::{ErrorKind, Read, Write},
    os::{
        fd::{AsRawFd, FromRawFd},
        unix::net::UnixStream,
    },
};

/// As closefrom(3) does, but for those of the test itself.
fn close_all_above_standard() {
    let all = std::fs::read_dir("/proc/self/fd").expect("/proc").flatten();
    let numbers: Vec<i32> = all.map(|fd| fd.file_name().to_string_lossy().parse().expect("a number")).collect();
    for fd in numbers.into_iter().filter(|fd| slipway_fabric::descriptor::is_reserved(*fd)) {
        // SAFETY: the library is to find out by itself; the rest of the test goes on with its own.
        unsafe { libc::close(fd) };
    }
}

#[test]
fn a_process_that_closed_all_descriptors_is_told_and_begins_anew() {
    alone("closed::a_process_that_closed_all_descriptors_is_told_and_begins_anew", friend, |test| {
        let friend = Friend::new(test);
        let (task, told) = (Task::current(), receive_right());
        let asked =
            task.request_notification(friend.server, slipway_ports::abi::notify::DEAD_NAME, 0, told, types::MAKE_SEND_ONCE);
        asked.expect("a live port");
        close_all_above_standard();
        let news = receive(told);
        assert_eq!((news.id(), is_dead(friend.server)), (slipway_ports::abi::notify::DEAD_NAME, true));
        assert_ne!(send(&Msg::new(ECHO, (friend.server, types::COPY_SEND), (0, 0))), Code::SUCCESS);
        let mut child = friend.child;
        child.kill().expect("it lives until now");
        child.wait().expect("its end");
        // It closed them one after the other: what the library had opened meanwhile may be among them, which is found out later.
        until("the library has descriptors again", || task.export(told).is_ok());
        let another = Friend::new(test);
        another.end();
    });
}

/// A receive that a signal would end, and for which the thread has a descriptor.
fn receive_interruptibly(port: u32, timeout: Option<u32>) -> Code {
    let mut buffer = vec![0; 1024];
    let request = Request {
        option: option::RCV_MSG | option::RCV_INTERRUPT | timeout.map_or(0, |_| option::RCV_TIMEOUT),
        receive_size: buffer.len(),
        receive_name: port,
        timeout: timeout.unwrap_or(0),
        ..Request::default()
    };
    Task::current().mach_msg(&mut buffer, &request)
}

/// What the program has at a number that was the library's: a stream, in which something lies.
struct Own {
    number: i32,
    other: UnixStream,
}

const LIES: &[u8] = b"the program's own";

impl Own {
    /// As by closefrom(3) and what the program opens then.
    fn in_place_of(number: i32) -> Self {
        let (mut other, own) = UnixStream::pair().expect("sockets");
        other.write_all(LIES).expect("room");
        other.set_nonblocking(true).expect("a flag of ours");
        // SAFETY: the library is to find out by itself.
        assert_eq!(unsafe { libc::dup3(own.as_raw_fd(), number, libc::O_CLOEXEC) }, number);
        Self { number, other }
    }

    /// It is there, with what lay in it, and nothing was written to it.
    fn check(mut self) {
        // SAFETY: it was put there, and nobody is to have closed it. If somebody has, the read fails.
        let mut own = unsafe { UnixStream::from_raw_fd(self.number) };
        own.set_nonblocking(true).expect("it is open");
        let mut bytes = [0; 64];
        assert_eq!(own.read(&mut bytes).ok(), Some(LIES.len()), "{} was read", self.number);
        let wrote = self.other.read(&mut bytes).map_err(|error| error.kind());
        assert_eq!(wrote, Err(ErrorKind::WouldBlock), "{} was written to, or closed", self.number);
    }
}

#[test]
fn what_the_program_has_in_place_of_the_librarys_descriptors_is_left_alone() {
    let test = "closed::what_the_program_has_in_place_of_the_librarys_descriptors_is_left_alone";
    alone(
        test,
        || (),
        |_| {
            let (task, [quiet, polled, awaited]) = (Task::current(), [(); 3].map(|()| receive_right()));
            for port in [polled, awaited] {
                task.insert_right(port, task, port, types::MAKE_SEND).expect("a send right");
            }
            let _polled = task.pollable(polled).expect("a descriptor");
            let step = std::sync::Barrier::new(2);
            std::thread::scope(|scope| {
                let (tell, told) = std::sync::mpsc::channel();
                let sleeper = scope.spawn(move || {
                    tell.send(thread_number()).expect("the test waits");
                    receive_interruptibly(awaited, None)
                });
                let waits = scope.spawn(|| {
                    for _ in 0..3 {
                        assert_eq!(receive_interruptibly(quiet, Some(1)), Code::RCV_TIMED_OUT);
                        step.wait();
                        step.wait();
                    }
                });
                step.wait();
                until_asleep(told.recv().expect("its number"));
                let reserved = || (0..1 << 16).filter(|number| slipway_fabric::descriptor::is_reserved(*number));
                let own: Vec<Own> = reserved().map(Own::in_place_of).collect();
                assert!(own.len() > 4, "the test has something to look at");
                // First it may be that nobody has noticed yet.
                for noticed in [false, true] {
                    if noticed {
                        until("the library knows of it", || reserved().all(|number| own.iter().all(|own| own.number != number)));
                    }
                    step.wait();
                    step.wait();
                    for id in 0..2 {
                        assert_eq!(send(&Msg::new(id, (polled, types::COPY_SEND), (0, 0))), Code::SUCCESS);
                        assert_eq!(receive(polled).id(), id);
                        assert_eq!(receive_within(polled, 0).err(), Some(Code::RCV_TIMED_OUT));
                    }
                }
                step.wait();
                waits.join().expect("no panic");
                assert_eq!(send(&Msg::new(1, (awaited, types::COPY_SEND), (0, 0))), Code::SUCCESS);
                assert_eq!(sleeper.join().expect("no panic"), Code::SUCCESS);
                own.into_iter().for_each(Own::check);
            });
        },
    );
}
