//! Programs without hooks go on with a connection over its socket: in order, with nothing lost.

use std::{
    ffi::CString,
    path::{Path, PathBuf},
    process::Command,
    ptr,
    sync::OnceLock,
};

use libc::{c_char, pid_t};

use crate::support::{
    Connection, Fd, Server,
    calls::{call, good, identity, pipe, read_up_to, set_nonblocking, write_all},
    hooked, messages,
    watchdog::Step,
};

/// What a program without hooks sends first.
fn letters(length: usize) -> Vec<u8> {
    (0..length).map(|i| b'A' + (i % 26) as u8).collect()
}

/// The program that goes on, compiled once in each process.
fn carry_on() -> &'static Path {
    static PROGRAM: OnceLock<(tempfile::TempDir, PathBuf)> = OnceLock::new();
    let (_, program) = PROGRAM.get_or_init(|| {
        let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("make a temporary directory");
        let program = dir.path().join("carry_on");
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/c/carry_on.c");
        let done =
            Command::new("cc").args(["-O1", "-Wall", "-Werror", "-o"]).arg(&program).arg(source).output().expect("start cc");
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        (dir, program)
    });
    program
}

/// Arguments as exec takes them.
struct Arguments {
    _strings: Vec<CString>,
    pointers: Vec<*const c_char>,
}

impl Arguments {
    fn new(strings: &[String]) -> Self {
        let strings: Vec<_> = strings.iter().map(|s| CString::new(s.as_str()).expect("no zero byte")).collect();
        let pointers = strings.iter().map(|s| s.as_ptr()).chain([ptr::null()]).collect();
        Self { _strings: strings, pointers }
    }

    fn carry_on(fd: Fd, send: usize, read: usize) -> Self {
        let program = carry_on().to_str().expect("UTF-8").to_owned();
        Self::new(&[program, fd.to_string(), send.to_string(), read.to_string()])
    }

    fn path(&self) -> *const c_char {
        self.pointers[0]
    }
}

/// An environment without hooks.
const PLAIN: [*const c_char; 1] = [ptr::null()];

fn exit_status(pid: pid_t) -> i32 {
    let mut status = -1;
    assert_eq!(call!(waitpid(pid, &raw mut status, 0)), pid);
    status
}

/// Lets the other end of the connection do what its program would: look after it.
fn serve(fd: Fd, expected: usize) -> Vec<u8> {
    read_up_to(fd, expected)
}

/// Lays bytes and descriptors into both rings: 700 bytes that nobody has read, with a descriptor in
/// the middle of those for the client.
fn fill(c: &Connection) -> (Vec<u8>, Vec<u8>, u64) {
    let file = good(call!(memfd_create(c"passed".as_ptr(), libc::MFD_CLOEXEC))) as Fd;
    let (to_server, to_client) = (vec![b'r'; 700], vec![b'e'; 700]);
    write_all(c.client, &to_server);
    write_all(c.server, &to_client[..300]);
    assert_eq!(messages::send(c.server, vec![to_client[..100].to_vec()], &[file], 0).value, 100);
    write_all(c.server, &to_client[..300]);
    let inode = identity(file).1;
    call!(close(file));
    (to_server, to_client, inode)
}

/// The program saw all bytes for the client, then `more`. A read's end isn't seen in its report, but
/// where descriptors come is: after at most the bytes before them.
fn same_report(found: &[u8], inode: u64, more: &[u8]) {
    let mark = format!("[{inode}]").into_bytes();
    let place = found.windows(mark.len()).position(|w| w == mark).expect("the descriptor came");
    assert!(place <= 300, "it came after {place} bytes");
    let bytes = [&found[..place], &found[place + mark.len()..]].concat();
    assert!(bytes == [&[b'e'; 700], more].concat(), "{}", String::from_utf8_lossy(found));
}

#[test]
fn a_program_without_hooks_carries_on() {
    hooked(|| {
        let _step = Step::begin("exec");
        carry_on();
        let server = Server::listen();
        let c = server.connection();
        let (to_server, to_client, inode) = fill(&c);
        let (output, input) = pipe();
        good(call!(fcntl(c.client, libc::F_SETFD, 0)));
        let more = b"sent after the program began".to_vec();
        let arguments = Arguments::carry_on(c.client, 5000, to_client.len() + more.len());
        let pid = good(call!(fork())) as pid_t;
        if pid == 0 {
            call!(dup2(input, 1));
            call!(execve(arguments.path(), arguments.pointers.as_ptr(), PLAIN.as_ptr()));
            call!(_exit(99));
        }
        call!(close(input));
        // The server reads what lay in its ring, and then what the program sends over the socket.
        assert!(serve(c.server, 5700) == [to_server, letters(5000)].concat(), "to the server");
        write_all(c.server, &more);
        let found = read_up_to(output, 1 << 16);
        assert_eq!(exit_status(pid), 0);
        same_report(&found, inode, &more);
        call!(close(output));
        // The parent still holds the connection, and goes on over the socket too.
        c.exchange();
    });
}

#[test]
fn a_program_without_hooks_gets_what_a_peer_that_has_gone_left() {
    hooked(|| {
        let _step = Step::begin("exec behind the end");
        carry_on();
        let server = Server::listen();
        let c = server.connection();
        write_all(c.server, &[b'e'; 700]);
        good(call!(close(c.server)));
        let (output, input) = pipe();
        let arguments = Arguments::carry_on(40, 0, 701);
        let pid = good(call!(fork())) as pid_t;
        if pid == 0 {
            call!(dup2(input, 1));
            call!(dup2(c.client, 40));
            call!(execve(arguments.path(), arguments.pointers.as_ptr(), PLAIN.as_ptr()));
            call!(_exit(99));
        }
        call!(close(input));
        assert_eq!(read_up_to(output, 1 << 16), [b'e'; 700]);
        exit_status(pid);
        call!(close(output));
    });
}

/// Starts `carry_on` by posix_spawn, with the connection as descriptor `target`.
fn spawn(c: &Connection, target: Option<Fd>, arguments: &Arguments, input: Fd) -> pid_t {
    let mut actions = std::mem::MaybeUninit::uninit();
    good(-call!(posix_spawn_file_actions_init(actions.as_mut_ptr())) as isize);
    good(-call!(posix_spawn_file_actions_adddup2(actions.as_mut_ptr(), input, 1)) as isize);
    if let Some(target) = target {
        good(-call!(posix_spawn_file_actions_adddup2(actions.as_mut_ptr(), c.client, target)) as isize);
    }
    let (mut pid, pointers) = (0, arguments.pointers.as_ptr().cast());
    let environment = PLAIN.as_ptr().cast();
    let done = call!(posix_spawn(&raw mut pid, arguments.path(), actions.as_ptr(), ptr::null(), pointers, environment));
    assert_eq!(done, 0);
    call!(posix_spawn_file_actions_destroy(actions.as_mut_ptr()));
    pid
}

fn spawned_carries_on(target: Option<Fd>) {
    let _step = Step::begin("posix_spawn");
    carry_on();
    let server = Server::listen();
    let c = server.connection();
    let (to_server, to_client, inode) = fill(&c);
    let (output, input) = pipe();
    if target.is_none() {
        good(call!(fcntl(c.client, libc::F_SETFD, 0)));
    }
    let arguments = Arguments::carry_on(target.unwrap_or(c.client), 1000, to_client.len());
    let pid = spawn(&c, target, &arguments, input);
    call!(close(input));
    assert!(serve(c.server, 1700) == [to_server, letters(1000)].concat(), "to the server");
    // Whoever waits for the connection's other end lets it return.
    crate::support::calls::ready(c.server, libc::POLLIN);
    let found = read_up_to(output, 1 << 16);
    assert_eq!(exit_status(pid), 0);
    same_report(&found, inode, b"");
    call!(close(output));
}

#[test]
fn a_spawned_program_carries_on() {
    hooked(|| spawned_carries_on(None));
}

#[test]
fn a_spawned_program_carries_on_under_another_number() {
    hooked(|| spawned_carries_on(Some(77)));
}

#[test]
fn programs_that_do_not_inherit_it_leave_it_on_the_ring() {
    hooked(|| {
        let _step = Step::begin("close-on-exec");
        let server = Server::listen();
        let c = server.connection();
        fill(&c);
        let status = Command::new("true").status().expect("start true");
        assert!(status.success());
        assert_eq!(call!(system(c"exit 3".as_ptr())) >> 8, 3);
        let arguments = Arguments::new(&["/bin/true".to_owned()]);
        // SAFETY: the child of vfork only becomes another program, or ends.
        let pid = unsafe { vfork() };
        if pid == 0 {
            call!(execve(arguments.path(), arguments.pointers.as_ptr(), PLAIN.as_ptr()));
            call!(_exit(99));
        }
        assert_eq!(exit_status(pid), 0);
        let (mode, null) = (c"r", ptr::null_mut());
        let stream = call!(popen(c"true".as_ptr(), mode.as_ptr()));
        assert_ne!(stream, null);
        assert_eq!(call!(pclose(stream)), 0);
        assert_eq!(server.transports(), [slipway_transport::status::Transport::Ring]);
        assert_eq!(read_up_to(c.server, 700), [b'r'; 700]);
        assert_eq!(read_up_to(c.client, 700), [b'e'; 700]);
    });
}

unsafe extern "C" {
    fn vfork() -> pid_t;
}

#[test]
fn a_connection_that_is_passed_goes_back_to_its_socket() {
    hooked(|| {
        let _step = Step::begin("SCM_RIGHTS");
        let program = carry_on();
        let server = Server::listen();
        let c = server.connection();
        let (to_server, to_client, inode) = fill(&c);
        // A process without hooks from the start gets it by message, and becomes the program.
        let mut ends = [0; 2];
        good(call!(socketpair(libc::AF_UNIX, libc::SOCK_STREAM, 0, ends.as_mut_ptr())));
        let (output, input) = pipe();
        let script = format!(
            "import array,os,socket\ns=socket.socket(fileno={})\n_,c,_,_=s.recvmsg(1,64)\nf=array.array('i',c[0][2][:4])[0]\n\
             os.set_inheritable(f,True)\nos.dup2({input},1)\nos.execv('{}',['carry_on',str(f),'1000','{}'])",
            ends[1],
            program.display(),
            to_client.len()
        );
        good(call!(fcntl(input, libc::F_SETFD, 0)));
        let mut child = Command::new("python3").args(["-c", &script]).env_remove("LD_PRELOAD").spawn().expect("start python3");
        call!(close(input));
        assert_eq!(messages::send(ends[0], vec![b"!".to_vec()], &[c.client], 0).value, 1);
        assert!(serve(c.server, 1700) == [to_server, letters(1000)].concat(), "to the server");
        crate::support::calls::ready(c.server, libc::POLLIN);
        let found = read_up_to(output, 1 << 16);
        assert!(child.wait().expect("wait").success());
        same_report(&found, inode, b"");
        crate::support::calls::close_all([output, ends[0], ends[1]]);
    });
}

#[test]
fn more_than_a_sockets_buffer_goes_back() {
    crate::support::hooked_with(&[("SLIPWAY_X11_RING", "4M"), ("SLIPWAY_X11_MAX", "4M")], || {
        let _step = Step::begin("a large return");
        carry_on();
        let server = Server::listen();
        let c = server.connection();
        let length = (4 << 20) - 5;
        let data: Vec<u8> = (0..length).map(|i| b'a' + (i % 23) as u8).collect();
        set_nonblocking(c.server, true);
        write_all(c.server, &data);
        set_nonblocking(c.server, false);
        good(call!(fcntl(c.client, libc::F_SETFD, 0)));
        let (output, input) = pipe();
        let arguments = Arguments::carry_on(c.client, 0, length + 4);
        let pid = good(call!(fork())) as pid_t;
        if pid == 0 {
            call!(dup2(input, 1));
            call!(execve(arguments.path(), arguments.pointers.as_ptr(), PLAIN.as_ptr()));
            call!(_exit(99));
        }
        call!(close(input));
        // A server that waits for requests, and answers one that never comes with four bytes.
        let fd = c.server;
        let waiting = std::thread::spawn(move || {
            write_all(fd, b"tail");
            read_up_to(fd, 1)
        });
        let found = read_up_to(output, length + 100);
        assert_eq!(exit_status(pid), 0);
        assert!(found.len() == length + 4 && found[..length] == data && &found[length..] == b"tail", "{} bytes", found.len());
        call!(close(output));
        write_all(c.client, b"x");
        assert_eq!(waiting.join().expect("the server's thread"), b"x");
    });
}
