//! A program that closes all descriptors, the library's too.

use super::*;

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
