//! Which processes may ask, what is read of the kernel's list, and answers that are none.

use super::{
    Failure, HELLO, Inspector, Snapshot, answer, ask, file_of, may_ask, objects,
    query::{Address, MOST, addresses, parse},
};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
use slipway_fabric::descriptor::Reserved;
use slipway_test_support::{WATCHDOG, until};
use std::{
    os::fd::{AsFd, OwnedFd},
    time::{Duration, Instant},
};

/// Long enough for an answer that comes.
fn soon() -> Instant {
    Instant::now() + WATCHDOG
}

/// The address with a name that somebody listens at. The kernel's list may leave a socket out while others come and go.
fn listed(name: &str) -> Address {
    let mut address = None;
    until("it is listed", || {
        address = addresses().expect("the kernel's list").into_iter().find(|it| it.name == name);
        address.is_some()
    });
    address.expect("it was found")
}

/// A listener in the place of a process that there is not, the `nth` of this one's, of this user; and its address.
fn listener(nth: u32) -> (OwnedFd, Address) {
    let (user, pid) = (rustix::process::geteuid().as_raw(), 4_000_000_000 + 16 * std::process::id() + nth);
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = rustix::net::socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None).expect("a socket");
    let name = format!("slipway-mach/{user}/{pid}");
    rustix::net::bind(&socket, &SocketAddrUnix::new_abstract_name(name.as_bytes()).expect("a name")).expect("a free name");
    rustix::net::listen(&socket, 4).expect("listen");
    (socket, listed(&name))
}

/// What [`ask`] comes to at an address where `serve` answers as often as anybody asks: other processes may, too.
fn served(address: &Address, mut serve: impl FnMut()) -> Result<Snapshot, Failure> {
    std::thread::scope(|scope| {
        let asking = scope.spawn(|| ask(address, soon()));
        until("it is answered", || {
            serve();
            asking.is_finished()
        });
        asking.join().expect("no panic")
    })
}

/// What [`ask`] makes of a packet with a file, or with none, or of a connection that is closed at once.
fn asked(nth: u32, packet: Option<(&[u8], Option<OwnedFd>)>) -> Failure {
    let (socket, address) = listener(nth);
    let serve = || {
        if let (Ok(connection), Some((bytes, file))) = (rustix::net::accept(&socket), &packet) {
            let files: Vec<_> = file.iter().map(AsFd::as_fd).collect();
            let _ = objects::send(connection.as_fd(), &[bytes], &files);
        }
    };
    served(&address, serve).expect_err("no answer")
}

fn file(bytes: &[u8]) -> OwnedFd {
    let file = objects::memory_file(bytes.len() as u64).expect("a memory file");
    rustix::io::pwrite(&file, bytes, 0).expect("written");
    file
}

fn sealed(bytes: &[u8]) -> OwnedFd {
    let file = file(bytes);
    objects::seal(&file).expect("sealed");
    file
}

#[test]
fn only_its_user_and_root_may_ask() {
    assert!(may_ask(1000, 1000) && may_ask(0, 1000) && may_ask(0, 0) && may_ask(0, 65534));
    assert!(!may_ask(1001, 1000) && !may_ask(1000, 0) && !may_ask(65534, 65534));
}

#[test]
fn the_kernels_list_is_read_with_care() {
    let line = |flags: &str, name: &str| format!("0000000000000000: 00000002 00000000 {flags} 0005 01 4242 {name}\n");
    let listens = "00010000";
    let mut table = "Num       RefCount Protocol Flags    Type St Inode Path\n".to_owned();
    for name in ["@slipway-mach/1000/7", "@slipway-mach/1000/7", "@slipway-mach/0/9.15", "@slipway-mach/1000/3"] {
        table.push_str(&line(listens, name));
    }
    let strange = [
        "@slipway-mach/1000",
        "@slipway-mach/x/1",
        "@slipway-mach/1000/+3",
        "@slipway-mach/1/2/3",
        "@slipway-mach/1/2.",
        "@slipway-mach/1/99999999999",
    ];
    for name in strange.into_iter().chain([
        "slipway-mach/1000/5",
        "/tmp/slipway-mach/1/5",
        "@slipway-mach/1/6 x",
        "@slipway-mach/1/6.x",
        "",
    ]) {
        table.push_str(&line(listens, name));
    }
    table.push_str(&line("00000000", "@slipway-mach/1000/8"));
    table.push_str("@slipway-mach/1/1\n\u{fffd}\n");
    let found: Vec<(u32, u32)> = parse(&table).into_iter().map(|it| (it.user, it.pid)).collect();
    assert_eq!(found, [(1000, 3), (1000, 7), (0, 9)]);
}

/// The name that an inspector listens at.
fn name_of(inspector: &Inspector) -> String {
    let name = rustix::net::getsockname(inspector.socket()).expect("a name");
    let name = SocketAddrUnix::try_from(name).expect("a Unix name");
    String::from_utf8_lossy(name.abstract_name().expect("abstract")).into_owned()
}

#[test]
fn this_process_answers_itself() {
    let inspector = Inspector::open().expect("a listening socket");
    let address = listed(&name_of(&inspector));
    let snapshot = || crate::process::Process::get().lock().snapshot();
    let snapshot = served(&address, || answer(inspector.socket(), &snapshot).expect("nobody is left waiting"));
    let snapshot = snapshot.expect("an answer");
    assert_eq!(snapshot.pid, std::process::id());
    assert_eq!(snapshot.tasks[0].names[0].rights, [super::Held::Send], "mach_task_self");
}

#[test]
fn a_taken_name_is_no_obstacle() {
    let inspectors = [Inspector::open().expect("one"), Inspector::open().expect("another")];
    let [first, second] = inspectors.each_ref().map(name_of);
    assert_ne!(first, second);
}

#[test]
fn strange_answers_are_told_from_answers() {
    let json = serde_json::to_vec(&Snapshot::default()).expect("JSON");
    assert!(matches!(asked(1, None), Failure::Refused));
    assert!(matches!(asked(2, Some((b"hello", Some(sealed(&json))))), Failure::Strange("no greeting")));
    assert!(matches!(asked(3, Some((&[b'x'; 500], None))), Failure::Strange("no greeting")));
    assert!(matches!(asked(4, Some((HELLO, None))), Failure::Strange("no file")));
    assert!(matches!(asked(5, Some((HELLO, Some(file(&json))))), Failure::Strange("no sealed file")));
    let (pipe, _other) = objects::holder_pipe().expect("a pipe");
    assert!(matches!(asked(6, Some((HELLO, Some(pipe)))), Failure::Strange("no sealed file")));
    assert!(matches!(asked(7, Some((HELLO, Some(sealed(&json[1..]))))), Failure::Strange("no snapshot")));
    let deep = [b'['; 100_000];
    assert!(matches!(asked(8, Some((HELLO, Some(sealed(&deep))))), Failure::Strange("no snapshot")));
    let vast = objects::memory_file(1 << 40).expect("a memory file");
    objects::seal(&vast).expect("sealed");
    assert!(matches!(asked(9, Some((HELLO, Some(vast)))), Failure::Strange("too large")));
}

#[test]
fn an_answer_of_many_small_parts_is_not_read() {
    for (nth, part) in [(12, "{},"), (13, "[],")] {
        let json = format!("{{\"ports\":[{}{{}}]}}", part.repeat(MOST));
        assert!(matches!(asked(nth, Some((HELLO, Some(sealed(json.as_bytes()))))), Failure::Strange("too many parts")));
    }
}

#[test]
fn who_does_not_answer_costs_no_more_than_the_time() {
    let (socket, address) = listener(10);
    let patience = Duration::from_millis(50);
    assert!(matches!(ask(&address, Instant::now() + patience), Err(Failure::Silent)));
    // Nobody accepts: the queue is full before long, and connecting itself would wait.
    let full = (0..16).map(|_| ask(&address, Instant::now() + Duration::from_millis(1)));
    assert!(full.into_iter().all(|asked| matches!(asked, Err(Failure::Silent))));
    drop(socket);
    assert!(matches!(ask(&address, soon()), Err(Failure::Gone)));
}

#[test]
fn an_answer_is_of_the_process_that_it_says() {
    let (socket, real) = listener(11);
    let lie = Snapshot { pid: 1, command: "init".into(), sent: 5, ..Snapshot::default() };
    let file = Reserved::new(file_of(&lie).expect("a file")).expect("a descriptor");
    let serve = || {
        if let Ok(connection) = rustix::net::accept(&socket) {
            let _ = objects::send(connection.as_fd(), &[HELLO], &[file.as_fd()]);
        }
    };
    let snapshot = served(&real, serve).expect("an answer");
    assert_eq!((snapshot.pid, snapshot.sent), (std::process::id(), 5));
    assert_ne!(snapshot.command, "init");
}
