//! Which processes may ask, what is read of the kernel's list, and answers that are none.

use super::{
    Failure, HELLO, Inspector, Snapshot, answer, ask, file_of, may_ask, objects,
    query::{Address, addresses, parse},
};
use rustix::{
    event::{PollFd, PollFlags},
    net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType},
};
use slipway_fabric::descriptor::Reserved;
use std::{
    os::fd::{AsFd, OwnedFd},
    time::{Duration, Instant},
};

/// Long enough for an answer that comes.
fn soon() -> Instant {
    Instant::now() + Duration::from_secs(20)
}

fn address(user: u32, pid: u32) -> Option<Address> {
    addresses().expect("the kernel's list").into_iter().find(|it| (it.user, it.pid) == (user, pid))
}

/// A listener in the place of process `pid`, which is none, of this user; and its address.
fn listener(pid: u32) -> (OwnedFd, Address) {
    let user = rustix::process::geteuid().as_raw();
    let socket =
        rustix::net::socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None).expect("a socket");
    let name = format!("slipway-mach/{user}/{pid}");
    rustix::net::bind(&socket, &SocketAddrUnix::new_abstract_name(name.as_bytes()).expect("a name")).expect("a free name");
    rustix::net::listen(&socket, 4).expect("listen");
    let address = address(user, pid).expect("it is listed");
    (socket, address)
}

/// What [`ask`] makes of a packet with a file, or with none, or of a connection that is closed at once.
fn asked(pid: u32, packet: Option<(&[u8], Option<OwnedFd>)>) -> Failure {
    let (socket, address) = listener(pid);
    std::thread::scope(|scope| {
        let asking = scope.spawn(|| ask(&address, soon()));
        let connection = rustix::net::accept(&socket).expect("it connects");
        if let Some((bytes, file)) = packet {
            let files: Vec<_> = file.iter().map(AsFd::as_fd).collect();
            objects::send(connection.as_fd(), &[bytes], &files).expect("a packet");
        }
        drop(connection);
        asking.join().expect("no panic").expect_err("no answer")
    })
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
    let name = name_of(&inspector);
    let address = addresses().expect("the kernel's list").into_iter().find(|it| it.name == name).expect("it is listed");
    let asking = std::thread::spawn(move || ask(&address, soon()));
    rustix::event::poll(&mut [PollFd::new(&inspector.socket(), PollFlags::IN)], None).expect("poll");
    let snapshot = || crate::process::Process::get().lock().snapshot();
    answer(inspector.socket(), &snapshot).expect("nobody is left waiting");
    let snapshot = asking.join().expect("no panic").expect("an answer");
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
    assert!(matches!(asked(4_000_000_001, None), Failure::Refused));
    assert!(matches!(asked(4_000_000_002, Some((b"hello", Some(sealed(&json))))), Failure::Strange("no greeting")));
    assert!(matches!(asked(4_000_000_003, Some((&[b'x'; 500], None))), Failure::Strange("no greeting")));
    assert!(matches!(asked(4_000_000_004, Some((HELLO, None))), Failure::Strange("no file")));
    assert!(matches!(asked(4_000_000_005, Some((HELLO, Some(file(&json))))), Failure::Strange("no sealed file")));
    let (pipe, _other) = objects::holder_pipe().expect("a pipe");
    assert!(matches!(asked(4_000_000_006, Some((HELLO, Some(pipe)))), Failure::Strange("no sealed file")));
    assert!(matches!(asked(4_000_000_007, Some((HELLO, Some(sealed(&json[1..]))))), Failure::Strange("no snapshot")));
    let deep = [b'['; 100_000];
    assert!(matches!(asked(4_000_000_008, Some((HELLO, Some(sealed(&deep))))), Failure::Strange("no snapshot")));
    let vast = objects::memory_file(1 << 40).expect("a memory file");
    objects::seal(&vast).expect("sealed");
    assert!(matches!(asked(4_000_000_009, Some((HELLO, Some(vast)))), Failure::Strange("too large")));
}

#[test]
fn who_does_not_answer_costs_no_more_than_the_time() {
    let (socket, address) = listener(4_000_000_010);
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
    let (socket, real) = listener(4_000_000_011);
    std::thread::scope(|scope| {
        let asking = scope.spawn(|| ask(&real, soon()));
        let connection = rustix::net::accept(&socket).expect("it connects");
        let lie = Snapshot { pid: 1, command: "init".into(), sent: 5, ..Snapshot::default() };
        let file = Reserved::new(file_of(&lie).expect("a file")).expect("a descriptor");
        objects::send(connection.as_fd(), &[HELLO], &[file.as_fd()]).expect("a packet");
        let snapshot = asking.join().expect("no panic").expect("an answer");
        assert_eq!((snapshot.pid, snapshot.sent), (std::process::id(), 5));
        assert_ne!(snapshot.command, "init");
    });
}
