//! What local sockets of commands in the net are called.

mod harness;

use harness::build::scratch_in_target;
use harness::process::clean;
use harness::{Outcome, Running, SLIPWAY};
use std::fs;
use std::path::Path;
use std::process::Command;

/// Each way to run a command: natively, with the emulation library, with the server alone, against malice.
const WAYS: [Option<&[&str]>; 4] = [None, Some(&[]), Some(&["--net-only"]), Some(&["--contain"])];

/// What a program of Python's prints natively; in the net it must print that, too.
fn same(program: &str) -> String {
    let mut native = String::new();
    for way in WAYS {
        let dir = scratch_in_target();
        let work = dir.path().join("work");
        fs::create_dir_all(work.join("d")).expect("mkdir");
        fs::write(work.join("old"), "a file of the host's").expect("write");
        let net = way.map(|options| [&[SLIPWAY, "unix", "--quiet", "--discard"], options, &["--"]].concat());
        let ran = run(&work, &[&net.unwrap_or_default()[..], &["/usr/bin/python3", "-c", program]].concat());
        if ran.stderr.contains("--contain needs Linux") {
            eprintln!("not tried: {}", ran.stderr);
            continue;
        }
        assert_eq!((ran.code(), ran.stderr.as_str()), (0, ""), "{way:?}");
        if way.is_none() {
            native = ran.stdout;
            continue;
        }
        let differs = native.lines().zip(ran.stdout.lines()).find(|(native, net)| native != net);
        assert_eq!(differs, None, "{way:?}");
        assert_eq!(ran.stdout.len(), native.len(), "{way:?}");
    }
    native
}

fn run(dir: &Path, words: &[&str]) -> Outcome {
    let mut command = Command::new(words[0]);
    command.args(&words[1..]).current_dir(dir).env("XDG_STATE_HOME", dir.join("../state"));
    clean(&mut command);
    Running::start(command).finish()
}

const NAMES: &str = r#"
import ctypes, os, socket
libc, here, kept = ctypes.CDLL(None, use_errno=True), os.getcwd(), []
def called(socket, which):
    return getattr(socket, which)().replace(here, "HERE")
def look(name, listener, client, server):
    print(name.replace(here, "HERE"), called(listener, "getsockname"), called(client, "getpeername"), called(server, "getsockname"))
    print(repr(client.getsockname()), repr(server.getpeername()), oct(os.stat(name).st_mode))
def make(name):
    listener, client = socket.socket(socket.AF_UNIX), socket.socket(socket.AF_UNIX)
    listener.bind(name); listener.listen(1); client.connect(name)
    kept.append((name, listener, client, listener.accept()[0]))
    look(*kept[-1])
os.umask(0o027)
os.symlink("d", "link"); os.unlink("old"); os.chdir("d"); os.chdir("..")
for name in ["plain", "./dot", "d/name", "d//same", "link/named", here + "/link/again", here + "/abs", "old", "x" * 92, "x" * 107, "d/" + "y" * 105]:
    make(name)
for count in range(60):
    os.mkdir("d/%d" % count); make("d/%d/same" % count); make(here + "/d/%d/abs" % count)
for one in kept:
    look(*one)

# One name again and again.
for count in range(3):
    os.unlink("./dot"); make("./dot")
os.chdir("d"); make("../dots")
for name in ["../dots", ".", "none/x", "none/", "../dots/", "none/./"]:
    try:
        socket.socket(socket.AF_UNIX).bind(name)
    except OSError as error:
        print(error)

# What the kernel knows is its own to tell.
client, listener = socket.socket(socket.AF_UNIX), socket.socket(socket.AF_UNIX)
listener.bind("accepts"); listener.listen(1); client.bind("connects"); client.connect("accepts")
print(listener.accept()[1])
internet = socket.socket(); internet.bind(("127.0.0.1", 0)); internet.listen(1)
other = socket.create_connection(internet.getsockname())
print(internet.getsockname()[0], other.getpeername() == internet.getsockname())
try:
    internet.getpeername()
except OSError as error:
    print(error)

# Addresses that fill the structure, and room for less.
def raw(fd, room, address=None):
    buffer, size = ctypes.create_string_buffer(b"=" * 128), ctypes.c_int(room)
    failed = libc.getsockname(fd, buffer if address is None else ctypes.c_void_p(address), ctypes.byref(size))
    print(os.strerror(ctypes.get_errno()) if failed else (size.value, buffer.value.rstrip(b"=")))
for name in [b"z" * 108, b"./" + b"z" * 106, b"../d/" + b"v" * 103, b"../d/w"]:
    full = socket.socket(socket.AF_UNIX)
    address = socket.AF_UNIX.to_bytes(2, "little") + name
    print(libc.bind(full.fileno(), address, len(address)))
    for room in [128, 111, 110, 20, 2, 0, -1]:
        raw(full.fileno(), room)
    raw(full.fileno(), 128, 8)
raw(1000, 128); raw(2, 128); raw(-1, 128)
"#;

#[test]
fn a_socket_is_called_what_the_program_called_it() {
    let said = same(NAMES);
    assert!(said.contains("d/59/same d/59/same d/59/same") && said.contains("HERE/d/7/abs HERE/d/7/abs"), "{said}");
}

const MANAGER: &str = r"
import multiprocessing
manager = multiprocessing.get_context('fork').Manager()
values = manager.list([1, 2]); values.append(3); print(list(values))
";

#[test]
fn a_server_is_found_by_what_it_says_it_is_called() {
    assert_eq!(same(MANAGER), "[1, 2, 3]\n");
}
