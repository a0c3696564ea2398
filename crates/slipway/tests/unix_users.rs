//! Root's process that becomes another user, and executes nothing, may do the same in the net as natively.

mod harness;

use harness::process::clean;
use harness::{Running, SLIPWAY};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

/// What scripts begin with.
const BEGIN: &str = r#"
import ctypes, errno, os, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
def tried(act):
    try: return act()
    except OSError as error: return errno.errorcode[error.errno]
def called(function, *args):
    if (result := function(*args)) >= 0: return result
    return errno.errorcode[ctypes.get_errno()]
def become(): os.setgroups([]); os.setgid(65534); os.setuid(65534)
os.umask(0)
"#;

/// What a script of Python's says as root, which must be the same in the net as natively; nothing where only root can say it.
fn same(script: &str) -> Option<String> {
    if !rustix::process::geteuid().is_root() {
        eprintln!("not tried: only root becomes another user");
        return None;
    }
    let said = |net: &[&str]| {
        let dir = tempfile::tempdir().expect("directory");
        let work = dir.path().join("work");
        fs::create_dir(&work).expect("mkdir");
        [dir.path(), &work].iter().for_each(|dir| fs::set_permissions(dir, fs::Permissions::from_mode(0o777)).expect("chmod"));
        fs::write(work.join("secret"), "text").expect("write");
        fs::set_permissions(work.join("secret"), fs::Permissions::from_mode(0o600)).expect("chmod");
        let script = [BEGIN, script].concat();
        let words = [net, &["/usr/bin/python3", "-c", &script]].concat();
        let mut command = Command::new(words[0]);
        clean(command.args(&words[1..]).env("XDG_STATE_HOME", dir.path().join("state")).current_dir(&work));
        let ran = Running::start(command).finish();
        assert_eq!(ran.stderr, "", "{ran:?}");
        ran.stdout
    };
    let native = said(&[]);
    for net in [&[][..], &["--net-only"]] {
        assert_eq!(said(&[&[SLIPWAY, "unix", "-q", "--discard"], net, &["--"]].concat()), native, "{net:?}");
    }
    Some(native)
}

#[test]
fn what_root_had_opened_gets_no_name() {
    let said = same(
        r#"
fds = [os.open("secret", os.O_RDWR), os.open("new", os.O_CREAT | os.O_RDWR, 0o600), os.open(".", os.O_TMPFILE | os.O_RDWR, 0o600)]
fds += [os.open("secret", os.O_RDONLY), os.open("secret", os.O_PATH), os.pipe()[0]]
become()
print([called(libc.linkat, fd, b"", -100, f"l{at}".encode(), 0x1000) for at, fd in enumerate(fds)], sorted(os.listdir()))
"#,
    );
    assert!(said.is_none_or(|said| said.contains("['new', 'secret']")));
}

#[test]
fn access_is_that_of_the_real_user() {
    let said = same(
        r#"
def asked():
    for name in "secret", "own", "dark/f", f"/proc/self/fd/{fd}": print([os.access(name, mode, effective_ids=of) for of in (False, True) for mode in (os.F_OK, os.R_OK, os.W_OK)], end=" ")
    print(called(libc.access, b"secret", os.R_OK))
os.mkdir("dark", 0o700); open("dark/f", "w").close(); open("own", "w").close(); os.chmod("own", 0o600); os.chown("own", 65534, 65534)
fd = os.open("secret", os.O_RDONLY)
def group(*ids): os.setgroups([]); os.setresgid(*ids)
for users in (65534, 0, 0), (0, 65534, 0), (0, 65534, 65534), (65534, 65534, 0), (1, 65534, 0):
    if (child := os.fork()) == 0: group(*users); os.setresuid(*users); asked(); sys.stdout.flush(); os._exit(0)
    os.waitpid(child, 0)
"#,
    );
    assert!(said.is_none_or(|said| said.starts_with("[True, False, False, True, True, True] ")));
}

/// By their names in /proc, and those of others.
#[test]
fn own_descriptors_are_used_as_natively() {
    let said = same(
        r#"
import re, signal
def opened(name, mode, gone):
    fd = os.open(name, os.O_CREAT | os.O_RDWR, 0o600); os.fchmod(fd, mode); os.write(fd, b"text")
    if gone: os.unlink(name)
    return fd
files = [opened("named", 0o666, False), opened("closed", 0o600, False), opened("gone", 0o666, True), opened("dark", 0o600, True)]
unnamed = [os.open(".", os.O_TMPFILE | os.O_RDWR, 0o600), os.pipe()[1]]
same = os.fork()
if same == 0: become(); os.write(unnamed[1], b"x"); signal.pause()
root = os.getpid()
def all(at, fds, names):
    at_dir = tried(lambda: os.open(at, os.O_RDONLY)); print(names, type(at_dir), type(tried(lambda: os.listdir(at))))
    for fd, name in zip(fds, names):
        link = f"{at}/{fd}"
        acts = lambda: os.stat(link).st_size, lambda: re.split("[:#]", os.readlink(link).replace(os.getcwd(), ""))[0], lambda: os.open(link, os.O_RDONLY) > 0, lambda: os.open(link, os.O_WRONLY) > 0, \
            lambda: os.access(link, os.W_OK, effective_ids=True), lambda: os.statvfs(link).f_bsize > 0, lambda: os.utime(link), lambda: os.chmod(link, 0o644), lambda: name == "pipe" or os.truncate(link, 1), \
            lambda: os.link(link, f"linked-{name}", follow_symlinks=True), lambda: os.stat(link + "/."), lambda: os.open(str(fd), os.O_RDWR, dir_fd=at_dir) > 0 if type(at_dir) is int else at_dir
        print(name, [tried(act) for act in acts])
child = os.fork()
if child == 0:
    become()
    own = opened("own", 0o600, True), *os.pipe()
    for at in "/proc/self/fd", "/dev/fd", "/proc/thread-self/fd", f"/proc/self/task/{os.getpid()}/fd": all(at, [*files, *own], ["named", "closed", "gone", "dark", "own", "reads", "writes"])
    all("/proc/self/fd", unnamed, ["temporary", "pipe"])
    for other in root, same: all(f"/proc/{other}/fd", files[:1], ["other"])
    os._exit(0)
os.waitpid(child, 0); os.kill(same, 9)
"#,
    );
    assert!(said.is_none_or(|said| said.contains("named [4, '/named', True, True, True, True, ")));
}

#[test]
fn own_descriptors_are_a_directory_and_lead_nowhere_else() {
    let said = same(
        r#"
def opened(name, mode): fd = os.open(name, os.O_CREAT | os.O_RDWR, 0o666); os.fchmod(fd, mode); os.unlink(name); return fd
class How(ctypes.Structure): _fields_ = [("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64)]
def within(dir, name, flags, resolve): return type(called(libc.syscall, 437, dir, name.encode(), ctypes.byref(How(flags, 0, resolve)), 24)) is int or errno.errorcode[ctypes.get_errno()]
here, own = os.getcwd(), os.open("/proc/self", os.O_RDONLY)
mine = os.open("/proc/self/fd", os.O_RDONLY)
fds = [opened("gone", 0o666), opened("dark", 0o600), os.memfd_create("memory"), *os.pipe(), os.open("secret", os.O_RDONLY)]
watch = libc.inotify_init1(0)
become()
for at in "/proc/self/fd", mine, f"/proc/self/task/{os.getpid()}/fd":
    print(tried(lambda: os.chdir(at)), os.path.basename(os.getcwd()), type(tried(lambda: os.open(str(fds[0]), os.O_RDONLY))), type(tried(lambda: os.listdir("."))))
print(tried(lambda: os.chdir("/proc/1/fd")), called(libc.inotify_add_watch, watch, b"/proc/self/fd", 0x100))
os.chdir(here)
for fd in fds:
    link = f"/proc/self/fd/{fd}"; text = link.encode()
    print(tried(lambda: os.chdir(link)), [type(called(libc.inotify_add_watch, watch, text, 0x100 | how)) is int or errno.errorcode[ctypes.get_errno()] for how in (0, 0x2000000, 0x1000000)],
        called(libc.linkat, -100, text, -100, b"linked", 0x400), tried(lambda: os.truncate(link, 0)))
    print([within(own, f"fd/{fd}", flags, resolve) for resolve in (0, 2, 4, 8, 16) for flags in (os.O_RDONLY, os.O_PATH | os.O_NOFOLLOW)])
print([within(own, "fd", os.O_RDONLY, resolve) for resolve in (0, 2, 4, 8, 16)])
"#,
    );
    assert!(said.is_none_or(|said| said.starts_with("None fd <class 'int'> <class 'list'>\n")));
}
