//! Single calls in the net that give what they give natively.

mod harness;

use harness::build::{build_c, scratch_in_target};
use harness::process::clean;
use harness::{Running, SLIPWAY};
use std::fs;
use std::path::Path;
use std::process::Command;

/// Each way to run a command: natively, with the server alone, with the emulation library.
const WAYS: [Option<&[&str]>; 3] = [None, Some(&["--net-only"]), Some(&[])];

/// A command that runs these words in a directory, natively or in a layer that is discarded.
fn command(dir: &Path, way: Option<&[&str]>, words: &[&str]) -> Command {
    let net: Vec<&str> =
        way.into_iter().flat_map(|options| [&[SLIPWAY, "unix", "--quiet", "--discard"], options, &["--"]].concat()).collect();
    let words = [&net[..], words].concat();
    let mut command = Command::new(words[0]);
    command.args(&words[1..]).current_dir(dir).env("XDG_STATE_HOME", dir.join("../state"));
    clean(&mut command);
    command
}

/// What these words print each way in a directory that `before` has filled; it must be the same, and they must succeed.
fn same(before: impl Fn(&Path), words: &[&str]) -> String {
    let said = WAYS.map(|way| {
        let dir = scratch_in_target();
        let work = dir.path().join("work");
        fs::create_dir(&work).expect("mkdir");
        before(&work);
        let ran = Running::start(command(&work, way, words)).finish();
        assert_eq!((ran.code(), ran.stderr.as_str()), (0, ""), "{way:?}: {ran:?}");
        ran.stdout
    });
    let [native, served, emulated] = said;
    assert_eq!(served, native, "--net-only");
    assert_eq!(emulated, native);
    native
}

const THREAD: &str = r#"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
static int first_has_ended(void) {
    char path[64], text[512], *state;
    sprintf(path, "/proc/self/task/%d/stat", getpid());
    FILE *file = fopen(path, "r");
    text[fread(text, 1, sizeof text - 1, file)] = 0;
    fclose(file);
    return (state = strrchr(text, ')')) && state[2] == 'Z';
}
static void *second(void *unused) {
    while (!first_has_ended())
        continue;
    close(open("new", O_CREAT | O_WRONLY, 0644));
    int found = 0;
    DIR *dir = opendir(".");
    for (struct dirent *entry; dir && (entry = readdir(dir));)
        found |= !strcmp(entry->d_name, "new");
    errno = 0;
    struct sockaddr_un address = {AF_UNIX, "socket"};
    printf("%d ", found);
    printf("%d ", bind(socket(AF_UNIX, SOCK_STREAM, 0), (void *)&address, sizeof address));
    printf("%d ", inotify_add_watch(inotify_init(), ".", IN_CREATE));
    printf("%d ", chdir("/"));
    printf("%s %s\n", getcwd(0, 0), strerror(errno));
    exit(0);
}
int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, second, 0);
    pthread_exit(0);
}
"#;

#[test]
fn a_thread_goes_on_when_the_first_one_has_ended() {
    let build = |dir: &Path| build_c(THREAD, &dir.join("thread"), &["-pthread"]);
    assert_eq!(same(build, &["./thread"]), "1 0 1 0 / Success\n");
}

#[test]
fn what_a_process_sends_to_its_group_comes_once() {
    let dir = scratch_in_target();
    let work = dir.path().join("work");
    fs::create_dir(&work).expect("mkdir");
    for way in WAYS {
        // What was sent before comes before.
        let script = "trap 'echo one' USR1; trap 'echo two; exit 0' USR2; kill -USR1 0; echo ready; while :; do read x; done";
        let mut running = Running::start(command(&work, way, &["sh", "-c", script]));
        running.wait_line("ready");
        let pid = rustix::process::Pid::from_raw(running.pid().cast_signed()).expect("a process");
        rustix::process::kill_process(pid, rustix::process::Signal::USR2).expect("kill");
        let ran = running.finish();
        assert_eq!((ran.code(), ran.stdout.as_str()), (0, "one\nready\ntwo\n"), "{way:?}: {ran:?}");
    }
}

#[test]
fn a_limit_on_descriptors_is_the_commands_too() {
    let said = same(|_| (), &["sh", "-c", "ulimit -Sn"]);
    assert_ne!(said, "77\n");
    let dir = scratch_in_target();
    let mut limited = Command::new("sh");
    limited.args([
        "-c",
        "ulimit -Sn 77; exec \"$@\"",
        "sh",
        SLIPWAY,
        "unix",
        "--quiet",
        "--discard",
        "--",
        "sh",
        "-c",
        "ulimit -Sn",
    ]);
    limited.env("XDG_STATE_HOME", dir.path().join("state"));
    clean(&mut limited);
    let ran = Running::start(limited).finish();
    assert_eq!((ran.code(), ran.stdout.as_str()), (0, "77\n"), "{ran:?}");
}

const PATH_ONLY: &str = r#"
import ctypes, os
c = ctypes.CDLL(None, use_errno=True)
fd, here = os.open(os.path.abspath("file"), os.O_PATH), os.open("file", os.O_RDONLY)
def call(name, *args):
    print(name, "done" if getattr(c, name)(*args) == 0 else os.strerror(ctypes.get_errno()))
call("fchmod", fd, 0o600); call("fchown", fd, os.getuid(), os.getgid()); call("futimens", fd, None)
call("fsetxattr", fd, b"user.a", b"b", 1, 0); call("fremovexattr", fd, b"user.a")
print(oct(os.stat("file").st_mode))
call("fchownat", fd, b"", os.getuid(), os.getgid(), 0x1000); call("syscall", 452, fd, b"", 0o640, 0x1000)
fd = os.open(os.path.abspath("other"), os.O_PATH); call("utimensat", fd, b"", None, 0x1000)
call("fchmod", here, 0o604); print(oct(os.stat("file").st_mode))
"#;

#[test]
fn nothing_is_changed_by_a_descriptor_that_stands_for_a_name() {
    let fill = |dir: &Path| ["file", "other"].iter().for_each(|name| fs::write(dir.join(name), name).expect("write"));
    let said = same(fill, &["/usr/bin/python3", "-c", PATH_ONLY]);
    assert_eq!(said.matches("Bad file descriptor").count(), 5, "{said}");
}

const RESOLVES: &str = r#"
import ctypes, os
c = ctypes.CDLL(None, use_errno=True)
class How(ctypes.Structure): _fields_ = [("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64)]
here, nofollow = os.open(".", os.O_RDONLY), os.O_PATH | os.O_NOFOLLOW
for path, flags in [("/proc/self/exe", 0), ("/proc/self/exe", nofollow), ("/proc/self/cwd/file", 0), ("/proc/self/root/dev/null", 0),
        ("/proc/thread-self/fd/%d/file" % here, 0), ("/proc/self/status", 0), ("/dev/null", 0), ("file", 0), ("link", 0), ("none", 0)]:
    for dir in here, -100:
        fd = c.syscall(437, dir, path.encode(), ctypes.byref(How(flags, 0, 2)), 24)
        print(path, flags, "opened" if fd >= 0 else os.strerror(ctypes.get_errno()))
"#;

#[test]
fn magic_links_are_not_followed_where_openat2_forbids_it() {
    let fill = |dir: &Path| {
        fs::write(dir.join("file"), "").expect("write");
        std::os::unix::fs::symlink("file", dir.join("link")).expect("link");
    };
    let said = same(fill, &["/usr/bin/python3", "-c", RESOLVES]);
    assert_eq!(said.matches("Too many levels").count(), 8, "{said}");
}

const WITHIN: &str = r#"
import ctypes, errno, os
c = ctypes.CDLL(None, use_errno=True)
class How(ctypes.Structure): _fields_ = [("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64)]
def openat2(dir, path, flags, mode, resolve):
    fd = c.syscall(437, dir, path.encode(), ctypes.byref(How(flags, mode, resolve)), 24)
    return fd if fd >= 0 else -ctypes.get_errno()
def say(*what, fd):
    print(*what, os.readlink("/proc/self/fd/%d" % fd).rsplit("/", 1)[1] if fd >= 0 else errno.errorcode[-fd])
here, sub, proc, file = os.open(".", os.O_RDONLY), os.open("sub", os.O_RDONLY), os.open("/proc", os.O_RDONLY), os.open("file", os.O_RDONLY)
NOFOLLOW, CREATE, EXCL, WRITE, DIR, PATH = os.O_NOFOLLOW, os.O_CREAT, os.O_EXCL, os.O_WRONLY, os.O_DIRECTORY, os.O_PATH
for resolve in 0, 4, 8, 16:
    for path, flags in [("link", 0), ("link", NOFOLLOW), ("dangling", CREATE|EXCL|WRITE), ("dangling", CREATE|WRITE|NOFOLLOW), ("dangling", 0),
            ("file/", 0), ("file/..", 0), ("file/.", 0), ("sub/..", DIR), ("sub/../file", 0), ("sub/", DIR), ("sub/", CREATE|WRITE), ("new/", CREATE|WRITE),
            ("absolute", 0), ("../work/file", 0), ("", 0), ("link/", 0), ("dir/inner", 0), ("dir", DIR|NOFOLLOW), ("dir/", DIR|NOFOLLOW),
            ("none/x", 0), ("/etc/passwd", 0), ("made%d" % resolve, CREATE|WRITE), ("loop", 0), ("loop", NOFOLLOW)]:
        say(resolve, path, oct(flags), fd=openat2(here, path, flags, 0o600 if flags & CREATE else 0, resolve))
    say(resolve, "above", fd=openat2(sub, "../file", 0, 0, resolve)); say(resolve, "in a file", fd=openat2(file, "x", 0, 0, resolve))
    fd = openat2(proc, "self/stat", 0, 0, resolve)
    print("proc", resolve, os.read(fd, 100).split()[0] == str(os.getpid()).encode() if fd >= 0 else errno.errorcode[-fd])
    say("magic", resolve, fd=openat2(proc, "self/fd/%d" % file, 0, 0, resolve))
    say("dangling", resolve, fd=openat2(here, "dangling", CREATE|WRITE, 0o600, resolve)); print(sorted(os.listdir(".")))
    if os.path.exists("target"): os.unlink("target")
for flags, mode, resolve in [(1 << 40, 0, 0), (1 << 30, 0, 0), (0, 0o600, 0), (0, 0, 24), (CREATE|WRITE, 0o10600, 0), (PATH|WRITE, 0, 0),
        (os.O_TMPFILE, 0o600, 0), (PATH|DIR, 0, 8), (os.O_TMPFILE & ~DIR | os.O_RDWR, 0o600, 0), (0, 0, 1 << 33)]:
    print(hex(flags), oct(mode), resolve, openat2(here, ".", flags, mode, resolve) >= 0 or errno.errorcode[ctypes.get_errno()])
for at, path in ("/dev", "null"), ("/proc/self", "stat"), ("/proc/self", "cwd"):
    os.chdir(at); print(path, [openat2(-100, path, flags, 0, resolve) >= 0 for resolve in (4, 8, 16) for flags in (0, PATH|NOFOLLOW)])
"#;

#[test]
fn paths_of_openat2_lead_where_they_may() {
    let fill = |dir: &Path| {
        fs::create_dir(dir.join("sub")).expect("mkdir");
        for name in ["file", "sub/inner"] {
            fs::write(dir.join(name), name).expect("write");
        }
        let links = [("file", "link"), ("target", "dangling"), ("/file", "absolute"), ("sub", "dir"), ("loop", "loop")];
        links.iter().for_each(|(to, name)| std::os::unix::fs::symlink(to, dir.join(name)).expect("link"));
    };
    let said = same(fill, &["/usr/bin/python3", "-c", WITHIN]);
    assert_eq!(said.matches("EINVAL").count(), 9, "{said}");
}

const MANY: &str = r#"
import os
said, say = os.pipe(); end, ends = os.pipe(); seen = set()
for n in range(80):
    if os.fork() == 0:
        os.close(ends)
        try: os.stat("/none")
        except OSError as error: os.write(say, bytes([error.errno]))
        os.read(end, 1); os._exit(0)
    seen |= set(os.read(said, 1))
print(sorted(os.strerror(error) for error in seen))
"#;

#[test]
fn a_server_without_descriptors_says_so() {
    let dir = scratch_in_target();
    let mut limited = Command::new("sh");
    // The server has one for each process.
    limited.args(["-c", "ulimit -n 60; exec \"$@\"", "sh", SLIPWAY, "unix", "--quiet", "--discard", "--net-only", "--"]);
    limited.args(["/usr/bin/python3", "-c", MANY]).env("XDG_STATE_HOME", dir.path().join("state"));
    clean(&mut limited);
    let ran = Running::start(limited).finish();
    assert_eq!((ran.code(), ran.stdout.as_str()), (0, "['No such file or directory', 'Too many open files']\n"), "{ran:?}");
}

#[test]
fn a_process_with_a_number_of_its_own_has_a_directory() {
    if !rustix::process::geteuid().is_root() {
        // Nobody else may make a namespace of processes.
        return;
    }
    let fill = |dir: &Path| {
        for name in ["a", "b"] {
            fs::create_dir(dir.join(name)).expect("mkdir");
            fs::write(dir.join(name).join(name), name).expect("write");
        }
    };
    let script = "cd a; test -e a && echo a; cd ../b; test -e a && echo a in b; test -e b && echo b; cat b";
    assert_eq!(same(fill, &["unshare", "--pid", "--fork", "sh", "-c", script]), "a\nb\nb");
}

const HIGH_BITS: &str = r#"
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>
static void say(const char *what, long result) { printf("%s %s\n", what, result < 0 ? strerror(errno) : "done"); }
int main(void) {
    long high = 1L << 32;
    struct sockaddr_un address = {AF_UNIX, "socket"};
    int listener = socket(AF_UNIX, SOCK_STREAM, 0);
    say("negative", syscall(SYS_bind, listener, &address, -1L));
    say("bind", syscall(SYS_bind, listener, &address, high | sizeof address));
    listen(listener, 1);
    say("connect", syscall(SYS_connect, socket(AF_UNIX, SOCK_STREAM, 0), &address, high | sizeof address));
    char text[4096] = "";
    say("link", syscall(SYS_readlinkat, AT_FDCWD, "/proc/self/exe", text, high | 64));
    say("no room", syscall(SYS_readlinkat, AT_FDCWD, "/proc/self/exe", text, high));
    for (int n = 0; n < 20; n++) {
        sprintf(text, "a name of a file of some length %d", n);
        close(open(text, O_CREAT | O_WRONLY, 0600));
    }
    memset(text, 0x55, sizeof text);
    say("list", syscall(SYS_getdents64, open(".", O_RDONLY), text, high | 128));
    for (unsigned n = 128; n < sizeof text; n++)
        if (text[n] != 0x55)
            return 1;
    return 0;
}
"#;

/// The kernel looks at the lower half of a register only.
#[test]
fn a_length_with_more_bits_than_it_has_is_the_kernels() {
    for way in WAYS {
        let dir = scratch_in_target();
        let work = dir.path().join("work");
        fs::create_dir(&work).expect("mkdir");
        build_c(HIGH_BITS, &dir.path().join("high"), &[]);
        let ran = Running::start(command(&work, way, &["../high"])).finish();
        let said = "negative Invalid argument\nbind done\nconnect done\nlink done\nno room Invalid argument\nlist done\n";
        assert_eq!((ran.code(), ran.stdout.as_str(), ran.stderr.as_str()), (0, said, ""), "{way:?}");
        assert_eq!(work.join("socket").exists(), way.is_none(), "{way:?}");
    }
}

/// What is written by a link of /proc goes where the descriptor leads that the command was given, and nowhere else.
#[test]
fn given_descriptors_are_opened_again() {
    let script = "echo one >/dev/stderr; echo two >>/proc/self/fd/2; sh -c 'echo three >>/dev/fd/2'; cat <&2; chmod 0 /dev/stderr; echo four >&2; \
                  exec 3<file; (echo changed >/dev/fd/3) && cat /dev/fd/3 file";
    for way in [&[][..], &["--net-only"], &["--contain"]] {
        let dir = scratch_in_target();
        let (work, errors) = (dir.path().join("work"), dir.path().join("work/errors"));
        fs::create_dir(&work).expect("mkdir");
        fs::write(work.join("file"), "as it was\n").expect("write");
        let outer = ["sh", "-c", "exec \"$@\" 2<>errors", "sh", SLIPWAY, "unix", "--quiet", "--discard"];
        let words = [&outer[..], way, &["--", "sh", "-c", script]].concat();
        let ran = Running::start(command(&work, None, &words)).finish();
        let written = fs::read_to_string(&errors).expect("read");
        if way == ["--contain"] && written.contains("--contain needs Linux") {
            continue;
        }
        assert_eq!(
            (ran.stdout.as_str(), written.as_str()),
            ("one\ntwo\nthree\nchanged\nchanged\n", "one\ntwo\nthree\nfour\n"),
            "{way:?}"
        );
        assert_eq!(fs::read_to_string(work.join("file")).expect("read"), "as it was\n");
    }
}

const LOST_NAMES: &str = r#"
import os
def read(fd): return open("/dev/fd/%d" % fd).read() + open("/proc/self/fd/%d" % fd).read()
def look(name): stat = os.stat(name); return oct(stat.st_mode), stat.st_mtime, stat.st_size
removed, moved, replaced, kept = [os.open(name, os.O_RDONLY) for name in ("removed", "moved", "replaced", "kept")]
os.unlink("removed"); os.rename("moved", "there"); os.rename("new", "replaced")
print([read(fd) for fd in (removed, moved, replaced, kept)])
print([os.stat("/proc/self/fd/%d" % fd).st_ino == os.fstat(fd).st_ino for fd in (removed, moved, replaced, kept)])
os.fchmod(moved, 0o600); os.utime(moved, (1, 1)); os.fchmod(replaced, 0o600); os.fchmod(removed, 0o600); print(look("there"), look("replaced")[0])
for fd in moved, kept: os.chmod("/dev/fd/%d" % fd, 0o640)
print(look("kept")[0], os.readlink("/proc/self/fd/%d" % kept) == os.path.abspath("kept"))
print(os.stat("/proc/self/ns/net").st_ino == int(os.readlink("/proc/self/ns/net")[5:-1]))
os.close(os.open("/proc/self/ns/net", os.O_RDONLY))
pid = os.fork()
if pid == 0: os.execv("./own", ["./own"])
print(os.waitpid(pid, 0)[1])
"#;

const OWN: &str = r#"
#include <unistd.h>
int main(int argc, char **argv) {
    if (argc > 1)
        return 7;
    unlink(argv[0]);
    execl("/proc/self/exe", argv[0], "again", (char *)0);
    return 1;
}
"#;

#[test]
fn links_of_proc_lead_to_what_is_open() {
    let fill = |dir: &Path| {
        for name in ["removed", "moved", "replaced", "kept", "new"] {
            fs::write(dir.join(name), format!("{name}.")).expect("write");
        }
        build_c(OWN, &dir.join("own"), &[]);
    };
    let said = same(fill, &["/usr/bin/python3", "-c", LOST_NAMES]);
    assert!(said.starts_with("['removed.removed.', 'moved.moved.', 'replaced.replaced.', 'kept.kept.']\n"), "{said}");
    assert!(said.ends_with("\n1792\n"), "{said}");
}

/// What is open to read, and has lost its name, gives nothing that writes.
#[test]
fn a_file_without_its_name_is_not_written() {
    let dir = scratch_in_target();
    let work = dir.path().join("work");
    fs::create_dir(&work).expect("mkdir");
    fs::write(work.join("file"), "as it was").expect("write");
    let script = "exec 3<file; mv file other; (echo changed >/dev/fd/3) 2>/dev/null; (echo changed >/proc/self/fd/3) 2>/dev/null; cat other";
    for way in [&["--net-only"][..], &[]] {
        let ran = Running::start(command(&work, Some(way), &["sh", "-c", script])).finish();
        assert_eq!((ran.code(), ran.stdout.as_str()), (0, "as it was"), "{way:?}: {ran:?}");
        assert_eq!(fs::read_to_string(work.join("file")).expect("read"), "as it was");
    }
}

/// Children are killed while they wait in an open or a connect; the server's threads, of which it has one for each, must end with them.
const KILLED: &str = r#"
import os, signal, socket, time
tasks = "/proc/%d/task/" % os.getppid()
first, deadline = set(os.listdir(tasks)), time.monotonic() + 60
def wait_for(what):
    while not what():
        if time.monotonic() > deadline: raise SystemExit("the server's threads are " + str(set(os.listdir(tasks)) - first))
        os.sched_yield()
def waits():
    try: return any(open(tasks + task + "/stat").read().rsplit(")")[-1].split()[0] == "S" for task in set(os.listdir(tasks)) - first)
    except OSError: return False
def child(what):
    pid = os.fork()
    if pid == 0: what(); os._exit(0)
    return pid
def kill(pid):
    wait_for(waits); os.kill(pid, signal.SIGKILL); os.waitpid(pid, 0); wait_for(lambda: set(os.listdir(tasks)) <= first)
def write(text): os.write(os.open("fifo", os.O_WRONLY), text)
os.mkfifo("fifo")
kill(child(lambda: write(b"early")))
if SERVED: kill(child(lambda: os.open("fifo", os.O_RDONLY)))
listener, others = socket.socket(socket.AF_UNIX), [socket.socket(socket.AF_UNIX) for _ in range(3)]
listener.bind("socket"); listener.listen(0); others[0].connect("socket")
kill(child(lambda: [other.connect("socket") for other in others[1:]]))
pid = child(lambda: write(b"real"))
print(open("fifo").read(), os.waitpid(pid, 0)[1])
"#;

#[test]
fn who_was_killed_opens_nothing() {
    for (way, served) in [(&["--net-only"][..], "True"), (&[], "False"), (&["--contain"], "True")] {
        let dir = scratch_in_target();
        let work = dir.path().join("work");
        fs::create_dir(&work).expect("mkdir");
        let script = KILLED.replace("SERVED", served);
        let ran = Running::start(command(&work, Some(way), &["/usr/bin/python3", "-c", &script])).finish();
        if !ran.stderr.contains("--contain needs Linux") {
            assert_eq!((ran.code(), ran.stdout.as_str(), ran.stderr.as_str()), (0, "real 0\n", ""), "{way:?}");
        }
    }
}

/// Who gives up a lease makes calls before, and whoever waits for it waits alone: else the lease runs out, and can't be given up.
const LEASES: &str = r#"
import fcntl, os, signal
fd = os.open("file", os.O_RDWR | os.O_CREAT, 0o600); os.write(fd, b"contents")
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGIO])
def lease():
    # The server closes what it has handed over an instant later.
    while True:
        try: return fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_WRLCK)
        except BlockingIOError: pass
for call in lambda: os.truncate("file", 3), lambda: os.open("file", os.O_WRONLY | os.O_APPEND), lambda: os.open(os.path.abspath("file"), os.O_RDONLY):
    lease()
    pid = os.fork()
    if pid == 0:
        opened = call()
        os._exit(0 if opened is None or fcntl.fcntl(opened, fcntl.F_GETFL) & os.O_NONBLOCK == 0 else 1)
    signal.sigwait([signal.SIGIO])
    with open("log", "a") as log: log.write("given up\n")
    fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_UNLCK)
    print(os.waitpid(pid, 0)[1])
print(os.fstat(fd).st_size, open("log").read().count("given up"))
"#;

#[test]
fn a_lease_is_given_up_by_calls() {
    assert_eq!(same(|_| (), &["/usr/bin/python3", "-c", LEASES]), "0\n0\n0\n3 3\n");
}

/// Takes leases on files of the host's, runs a command that comes to them, and gives each up when that says that it does something else meanwhile.
const HOLDER: &str = r#"
import fcntl, os, signal, subprocess, sys, time
os.mkdir("dir")
names, fds = ["appended", "changed", "cut", "dir/renamed", "linked", "run"], []
for name in names:
    with open(name, "w") as file: file.write('#!/bin/true\n')
    os.chmod(name, 0o755)
    fds.append(os.open(name, os.O_RDONLY))
    fcntl.fcntl(fds[-1], fcntl.F_SETLEASE, fcntl.F_WRLCK)
start = time.monotonic()
net = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
signal.signal(signal.SIGIO, lambda *_: os.write(net.stdin.fileno(), b"x"))
for name, fd in zip(names, fds):
    made = net.stdout.readline().decode().strip()
    fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_UNLCK)
    print(name, made, net.stdout.readline().decode().strip())
print(net.wait(), time.monotonic() - start < 20)
"#;

const COMES_TO_LEASES: &str = r#"
import os
calls = [lambda: os.close(os.open("appended", os.O_WRONLY | os.O_APPEND)), lambda: os.chmod("changed", 0o700), lambda: os.truncate("cut", 3),
    lambda: os.rename("dir", "moved"), lambda: os.link("linked", "link"), lambda: os.execv("run", ["run"])]
for call in calls:
    pid = os.fork()
    if pid == 0:
        call()
        os._exit(0)
    os.read(0, 1)
    os.mkdir("made%d" % pid)
    print("made", flush=True)
    print(os.waitpid(pid, 0)[1], flush=True)
print([os.stat(name).st_size for name in ("appended", "cut", "moved/renamed", "link")], flush=True)
"#;

#[test]
fn who_waits_for_a_lease_waits_alone() {
    // Natively a copy waits for none.
    for way in [WAYS[1], WAYS[2]] {
        let dir = scratch_in_target();
        let work = dir.path().join("work");
        fs::create_dir(&work).expect("mkdir");
        let inner = command(&work, way, &["/usr/bin/python3", "-c", COMES_TO_LEASES]);
        let words = std::iter::once(inner.get_program()).chain(inner.get_args()).map(|word| word.to_str().expect("a word"));
        let words: Vec<&str> = ["/usr/bin/python3", "-c", HOLDER].into_iter().chain(words).collect();
        let ran = Running::start(command(&work, None, &words)).finish();
        let names = ["appended", "changed", "cut", "dir/renamed", "linked", "run"];
        let said: String = names.iter().map(|name| format!("{name} made 0\n")).collect();
        assert_eq!((ran.code(), ran.stderr.as_str(), ran.stdout), (0, "", said + "0 True\n"), "{way:?}");
    }
}

const RULES: &str = r#"
import errno, os, struct
entry = lambda tag, rights: struct.pack("<HHI", tag, rights, 0xffffffff)
os.umask(0o077); os.mkdir("made")
for dir in "made", "host":
    try: os.setxattr(dir, "system.posix_acl_default", struct.pack("<I", 2) + entry(1, 7) + entry(4, 7) + entry(0x20, 5))
    except OSError as error: print(errno.errorcode[error.errno])
for dir in "made", "host", ".":
    os.close(os.open(dir + "/file", os.O_CREAT | os.O_WRONLY, 0o666)); os.mkdir(dir + "/dir"); os.mkfifo(dir + "/fifo", 0o622)
    unnamed = os.open(dir, os.O_TMPFILE | os.O_RDWR, 0o666)
    print([oct(os.stat(dir + "/" + name).st_mode) for name in ("file", "dir", "fifo")], oct(os.fstat(unnamed).st_mode))
"#;

#[test]
fn rules_for_new_files_take_the_masks_place() {
    same(|dir| fs::create_dir(dir.join("host")).expect("mkdir"), &["/usr/bin/python3", "-c", RULES]);
}

const TERMINAL: &str = r#"
import os, pty
os.symlink("/dev/tty", "link")
pid, fd = pty.fork()
if pid == 0:
    os.write(os.open("link", os.O_WRONLY), b"written\n"); os._exit(0)
print(os.read(fd, 100)); print(os.waitpid(pid, 0)[1])
"#;

#[test]
fn a_link_to_the_terminal_leads_to_the_callers() {
    same(|_| (), &["/usr/bin/python3", "-c", TERMINAL]);
}

const IN_ONE_MEMORY: &str = r#"
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
static volatile int stage;
static int is_there(const char *name) { return access(name, F_OK) == 0; }
static int child(void *unused) {
    while (stage < 1)
        continue;
    int moved = chdir("b");
    stage = 2 + (moved == 0 && is_there("inner") && !is_there("outer"));
    return 0;
}
int main(void) {
    char *stack = malloc(1 << 16);
    printf("%d ", is_there("outer"));
    fflush(stdout);
    int pid = clone(child, stack + (1 << 16), CLONE_VM | SIGCHLD, 0);
    printf("%d ", is_there("outer"));
    stage = 1;
    while (stage < 2)
        continue;
    printf("%d %d %d\n", stage, is_there("outer"), is_there("inner"));
    return waitpid(pid, 0, 0) != pid;
}
"#;

#[test]
fn a_child_in_the_same_memory_has_a_directory_of_its_own() {
    let fill = |dir: &Path| {
        fs::create_dir(dir.join("b")).expect("mkdir");
        ["outer", "b/inner"].iter().for_each(|name| fs::write(dir.join(name), name).expect("write"));
        build_c(IN_ONE_MEMORY, &dir.join("shares"), &[]);
    };
    assert_eq!(same(fill, &["./shares"]), "1 1 3 1 0\n");
}

#[test]
fn what_is_opened_to_write_has_the_opens_flags() {
    same(|dir| fs::write(dir.join("old"), "").expect("write"), &["/usr/bin/python3", "-c", "import fcntl, os
for at in ['new', 'new', 'old', 'old']: print(*[oct(fcntl.fcntl(os.open(at, os.O_CREAT | flags), 3)) for flags in (1, 2, 0o2001, 0o1002)])"]);
}
