//! What a user may do with files is the same in the net as natively: a script says the same in both, as a user who is not root.

mod harness;

use harness::build::copy_program;
use harness::process::clean;
use harness::{Outcome, Running, SLIPWAY};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

/// Runs a shell script natively, or in the net with those options, in the directory `work` of this one.
fn run(dir: &std::path::Path, net: &[&str], script: &str) -> Outcome {
    let mut words = Vec::new();
    if rustix::process::geteuid().is_root() {
        words.extend(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]);
    }
    if !net.is_empty() {
        words.extend(["../slipway", "unix", "-q"]);
        words.extend(net);
        words.push("--");
    }
    words.extend(["sh", "-c", script]);
    let mut command = Command::new(words[0]);
    command.args(&words[1..]).current_dir(dir.join("work")).env("XDG_STATE_HOME", dir.join("state"));
    clean(&mut command);
    Running::start(command).finish()
}

/// The script's standard output, which must be the same in the net as natively. `before` makes what the host has.
fn same(before: &str, script: &str) -> String {
    let said = |net: &[&str]| {
        let dir = tempfile::tempdir().expect("directory");
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o777)).expect("chmod");
        copy_program(SLIPWAY, &dir.path().join("slipway"));
        fs::create_dir(dir.path().join("work")).expect("mkdir");
        fs::set_permissions(dir.path().join("work"), fs::Permissions::from_mode(0o777)).expect("chmod");
        let made = run(dir.path(), &[], before);
        assert_eq!((made.code(), made.stderr.as_str()), (0, ""), "{made:?}");
        let ran = run(dir.path(), net, script);
        // So that the directory can be removed.
        run(dir.path(), &[], "chmod -R u+rwx .");
        assert_eq!(ran.stderr, "", "{ran:?}");
        ran.stdout
    };
    let native = said(&[]);
    for net in [&["--discard"][..], &["--discard", "--net-only"]] {
        assert_eq!(said(net), native, "{net:?}");
    }
    native
}

#[test]
fn directories_that_their_owner_may_not_write_or_search() {
    let said = same(
        "mkdir -p old/in closed/in kept/in; touch closed/in/f kept/f kept/in/f; chmod 555 old/in; chmod 500 kept",
        "exec 2>&1
        ln /etc/passwd linked >/dev/null 2>&1 || echo refused; ln kept/f linked && echo linked
        mkdir -m 555 ro; mv ro ro2 && mkdir other; mv ro2 other; rmdir ro2 && echo removed
        mv old/in old/out && ls old; mv old/out .; rmdir old/out && echo removed
        mkdir dark; chmod 0 dark; rmdir dark && echo removed
        mkdir dark; touch dark/f; chmod 600 dark; ls dark; cat dark/f dark/none; rmdir dark; chmod 300 dark; rm dark/f; rmdir dark && echo removed
        touch -d @1000000 kept; stat -c '%a %Y' kept; touch kept/new; echo more >>kept/f; echo more >kept/in/new; cat kept/f kept/in/new
        chmod 700 kept; chmod 500 kept; rm -f kept/f; echo more >>kept/in/f; stat -c %a kept; cat kept/in/f
        chmod 0 closed; cat closed/in/f closed/none; ls closed; chmod 700 closed; ls closed/in",
    );
    assert_eq!(said.matches("ermission denied").count(), 9, "{said}");
    assert_eq!(said.matches("removed").count(), 4, "{said}");
    assert!(said.contains("linked\n"), "{said}");
}

#[test]
fn errors_come_in_the_kernels_order() {
    let said = same(
        "touch there; mkdir dir; ln -s loop loop; ln -s there link",
        "/usr/bin/python3 -c '
import ctypes, errno, os
libc = ctypes.CDLL(None, use_errno=True)
def say(result):
    print(result, errno.errorcode.get(ctypes.get_errno(), 0) if result else 0)
say(libc.link(b\"none\", b\"there\"))
say(libc.link(b\"loop/x\", b\"there\"))
say(libc.link(b\"there\", b\"there\"))
say(libc.link(b\"x\" * 300, b\"there\"))
say(libc.mkdir(b\"none/.\", 0o700))
say(libc.mkdir(b\"none/./\", 0o700))
say(libc.rename(b\"there\", b\"none/.\"))
say(libc.open(b\"none/.\", os.O_CREAT | os.O_WRONLY, 0o600))
say(libc.open(b\"there/.\", os.O_RDONLY))
for path in b\"dir/../\", b\"dir/./\", b\"/\", b\"//\", b\"dir/\", b\"there/../\", b\"none/\":
    say(libc.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
say(libc.mkdir(b\"./.\", 0o700))
omit = (ctypes.c_long * 4)(0, (1 << 30) - 2, 0, (1 << 30) - 2)
say(libc.utimensat(-100, b\"none\", omit, 0))
os.symlink(\"there\", \"new\")
for link in b\"link\", b\"new\":
    say(libc.fchmodat(-100, link, 0o600, 0x100))
EXCLUSIVE, EXCHANGE = 1, 2
for old, new, flags in [
    (b\"there\", b\"dir/..\", EXCLUSIVE), (b\"there\", b\"dir/\", EXCLUSIVE), (b\"none\", b\"there\", EXCLUSIVE), (b\".\", b\"there\", EXCLUSIVE),
    (b\"dir\", b\"dir/none\", EXCHANGE), (b\"there/\", b\"none\", EXCHANGE), (b\"dir\", b\"dir/none\", 0), (b\"dir\", b\"dir/..\", 0)]:
    say(libc.renameat2(-100, old, -100, new, flags))
say(libc.link(b\"dir\", b\"/etc/slipway\"))
'",
    );
    assert_eq!(
        said,
        "-1 ENOENT\n-1 ELOOP\n-1 EEXIST\n-1 ENAMETOOLONG\n-1 ENOENT\n-1 ENOENT\n-1 ENOENT\n-1 ENOENT\n-1 ENOTDIR\n-1 EEXIST\n-1 EEXIST\n-1 EEXIST\n-1 EEXIST\n-1 EISDIR\n-1 ENOTDIR\n-1 EISDIR\n-1 EEXIST\n0 0\n-1 ENOTSUP\n-1 ENOTSUP\n\
         -1 EEXIST\n-1 EEXIST\n-1 ENOENT\n-1 EBUSY\n-1 ENOENT\n-1 ENOENT\n-1 EINVAL\n-1 EBUSY\n-1 EACCES\n"
    );
}

/// A directory is not said to be deleted because nobody may look for its name.
#[test]
fn a_working_directory_below_one_that_can_not_be_searched() {
    let said = same(
        ":",
        "mkdir -p a/b c
        (cd a/b; chmod 0 ..; readlink /proc/self/cwd) | sed 's:.*/work/::'
        (cd c; rmdir ../c; readlink /proc/self/cwd) | sed 's:.*/work/::'",
    );
    assert_eq!(said, "a/b\nc (deleted)\n");
}

/// Nothing is looked up in it by these, and the right to do so is asked for.
#[test]
fn dots_after_a_directory_that_can_not_be_searched() {
    let said = same(
        "mkdir closed open; echo found >f; chmod 600 closed; ln -s closed link",
        "exec 2>&1; mkdir made; chmod 600 made
        for dir in closed link made open; do for path in . .. .././f; do stat -c %F $dir/$path; done; cat $dir/../f; done
        /usr/bin/python3 -c '
import ctypes, errno
libc = ctypes.CDLL(None, use_errno=True)
for path in b\"closed/../f\", b\"link/.\", b\"made/..\", b\"open/../f\":
    done = libc.syscall(437, -100, path, (ctypes.c_uint64 * 3)(0, 0, 8), 24)
    print(path, done >= 0 or errno.errorcode[ctypes.get_errno()])
'",
    );
    assert_eq!((said.matches("ermission denied").count(), said.matches("EACCES").count()), (12, 3), "{said}");
}

/// Of other users' processes: one outside, one of the command's, the server. By names relative to their directories in /proc, which the server
/// opens, and by links, which it follows.
const OTHERS: &str = r#"
import errno, os, sys
def tried(act):
    try: return act()
    except OSError as error: return errno.errorcode[error.errno]
def looks(process):
    os.chdir(f"/proc/{process}")
    return [len(os.read(fd, 8)) if type(fd) is int else fd for fd in (tried(lambda: os.open(name, os.O_RDONLY)) for name in ("maps", "environ", "status"))], \
        [tried(lambda: len(os.read(os.open(name, os.O_PATH), 8))) in ("EACCES", "EBADF") for name in ("maps", "environ")]
def follows(at):
    links = [f"{at}/{name}" for name in ("exe", "cwd", "root", "fd/1", "ns/mnt", f"task/{at.split('/')[-1]}/exe")]
    acts = os.readlink, os.stat, os.listxattr, lambda link: os.open(link, os.O_RDONLY), lambda link: os.stat(link + "/."), lambda link: os.utime(link)
    return {str(tried(lambda: act(link))) for link in links for act in acts}
for process in sys.argv[1:]:
    print(looks(process), follows(f"/proc/{process}"), follows(f"../{process}"))
# By the end of a pipe of root's that it was given, it gets no other.
def opens(name): return [tried(lambda: os.open(name, flags)) for flags in (os.O_RDONLY, os.O_WRONLY, os.O_RDWR | os.O_NONBLOCK)]
print(opens("fd/0"), opens("/dev/fd/0"), opens("/proc/self/fd/0"))
print(looks(os.getpid())[0], [os.readlink(name) for name in ("exe", "cwd", "root")] == [os.path.realpath(sys.executable), f"/proc/{os.getpid()}", "/"])
"#;

#[test]
fn one_who_becomes_another_user_sees_no_more_of_processes() {
    if !rustix::process::geteuid().is_root() {
        return eprintln!("not tried: only root becomes another user");
    }
    let dir = tempfile::tempdir().expect("directory");
    for net in [&[][..], &["--net-only"]] {
        let mut command = Command::new(SLIPWAY);
        let become_other = r#": | setpriv --reuid=65534 --regid=65534 --clear-groups /usr/bin/python3 -c "$0" $1 $$ $PPID; :"#;
        command.args(["unix", "-q", "--discard"]).args(net).args(["--", "sh", "-c", become_other, OTHERS]);
        command.arg(std::process::id().to_string());
        clean(command.env("XDG_STATE_HOME", dir.path()).current_dir("/"));
        let ran = Running::start(command).finish();
        let other = |last| format!("(['EACCES', 'EACCES', {last}], [True, True]) {{'EACCES'}} {{'EACCES'}}\n");
        let said = ["8", "8", "'EACCES'"].map(other).concat()
            + &format!("{0} {0} {0}\n[8, 8, 8] True\n", "['EACCES', 'EACCES', 'EACCES']");
        assert_eq!((ran.stdout, ran.stderr.as_str()), (said, ""), "{net:?}");
    }
}

/// What takes capabilities, which go when root's process becomes another user.
const CAPABLE: &str = r#"
import errno, os, stat
def tried(act):
    try: return act()
    except OSError as error: return errno.errorcode[error.errno]
os.chmod(".", 0o777); open("roots", "w").close(); tried(lambda: os.setxattr("roots", "trusted.secret", b"text"))
os.setgroups([]); os.setgid(65534); os.setuid(65534)
print(os.listxattr("roots"), tried(lambda: os.getxattr("roots", "trusted.secret")))
for kind, device in (stat.S_IFCHR, os.makedev(1, 1)), (stat.S_IFBLK, 0), (stat.S_IFCHR, 0):
    print(tried(lambda: os.mknod("device", kind | 0o666, device)))
with open("own", "w") as own:
    for file in "own", own.fileno():
        for name in "security.capability", "trusted.x": print(tried(lambda: os.setxattr(file, name, bytes.fromhex("01000002") + bytes(16))))
print(os.listxattr("own"))
os.chdir("/dev"); print(type(tried(lambda: os.open("kmsg", os.O_RDONLY))))
"#;

#[test]
fn one_who_becomes_another_user_has_no_capabilities() {
    if !rustix::process::geteuid().is_root() {
        return eprintln!("not tried: only root becomes another user");
    }
    let said = |net: &[&str]| {
        let dir = tempfile::tempdir().expect("directory");
        let words = [net, &["/usr/bin/python3", "-c", CAPABLE]].concat();
        let mut command = Command::new(words[0]);
        clean(command.args(&words[1..]).env("XDG_STATE_HOME", dir.path().join("state")).current_dir(dir.path()));
        let ran = Running::start(command).finish();
        assert_eq!(ran.stderr, "", "{ran:?}");
        ran.stdout
    };
    let native = said(&[]);
    assert!(native.starts_with("[] ENODATA\nEPERM\nEPERM\nNone\nEPERM\nEPERM\nEPERM\nEPERM\n[]\n"), "{native}");
    for net in [&[][..], &["--net-only"]] {
        assert_eq!(said(&[&[SLIPWAY, "unix", "-q", "--discard"], net, &["--"]].concat()), native, "{net:?}");
    }
}

/// Starts a command where capset(2) is refused.
const KEEPS_CAPABILITIES: &str = r#"
import ctypes, os, platform, struct, sys
capset = {"x86_64": 126, "aarch64": 91}[platform.machine()]
code = b"".join(struct.pack("HBBI", *op) for op in [(0x20, 0, 0, 0), (0x15, 0, 1, capset), (6, 0, 0, 0x50001), (6, 0, 0, 0x7fff0000)])
filter = ctypes.create_string_buffer(struct.pack("HxxxxxxP", 4, ctypes.addressof(buffer := ctypes.create_string_buffer(code))))
libc = ctypes.CDLL(None)
if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, filter): sys.exit("no filter")
os.execv(sys.argv[1], sys.argv[1:])
"#;

#[test]
fn where_capabilities_can_not_be_given_up_nothing_is_opened_with_them() {
    if !rustix::process::geteuid().is_root() {
        return eprintln!("not tried: only root becomes another user");
    }
    let script = "import os, sys; os.setgroups([]); os.setgid(65534); os.setuid(65534); os.chdir('/proc/' + sys.argv[1])
try: print(os.open('maps', os.O_RDONLY))
except OSError as error: print(error.strerror)";
    for net in [&[][..], &["--net-only"]] {
        let dir = tempfile::tempdir().expect("directory");
        let mut command = Command::new("/usr/bin/python3");
        command.args(["-c", KEEPS_CAPABILITIES, SLIPWAY, "unix", "-q", "--discard"]).args(net);
        command.args(["--", "/usr/bin/python3", "-c", script]).arg(std::process::id().to_string());
        clean(command.env("XDG_STATE_HOME", dir.path()).current_dir("/"));
        let ran = Running::start(command).finish();
        assert_eq!((ran.stdout.as_str(), ran.stderr.as_str()), ("Permission denied\n", ""), "{net:?}");
    }
}

/// A socket outside and one of the layer's: who its peer is.
const CONNECTS: &str = r#"
import os, socket, struct
os.chmod(".", 0o777); own = socket.socket(socket.AF_UNIX); own.bind("own"); own.listen(); os.chmod("own", 0o666)
if os.fork() == 0:
    os.setgroups([7]); os.setgid(65534); os.setuid(65534)
    for name in "outside", "own": socket.socket(socket.AF_UNIX).connect(name)
    os._exit(0)
peer = own.accept()[0]
print(struct.unpack("3i", peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[1:], struct.unpack("i", peer.getsockopt(socket.SOL_SOCKET, 59, 4)))
"#;

#[test]
fn a_sockets_peer_is_told_of_the_other_user() {
    if !rustix::process::geteuid().is_root() {
        return eprintln!("not tried: only root becomes another user");
    }
    for net in [&[][..], &["--net-only"]] {
        let dir = tempfile::tempdir().expect("directory");
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o777)).expect("chmod");
        let outside = std::os::unix::net::UnixListener::bind(dir.path().join("outside")).expect("bind");
        fs::set_permissions(dir.path().join("outside"), fs::Permissions::from_mode(0o666)).expect("chmod");
        let mut command = Command::new(SLIPWAY);
        command.args(["unix", "-q", "--discard"]).args(net).args(["--", "/usr/bin/python3", "-c", CONNECTS]);
        clean(command.env("XDG_STATE_HOME", dir.path().join("state")).current_dir(dir.path()));
        let ran = Running::start(command).finish();
        assert_eq!((ran.stdout.as_str(), ran.stderr.as_str()), ("(65534, 65534) (7,)\n", ""), "{net:?}");
        let (peer, _) = outside.accept().expect("accept");
        let user = rustix::net::sockopt::socket_peercred(&peer).expect("SO_PEERCRED");
        assert_eq!((user.uid.as_raw(), user.gid.as_raw()), (65534, 65534), "{net:?}");
    }
}

/// A child becomes another user, and asks for what may only be named to it; while it is there, root's calls are the next ones.
const NAMES_ONLY: &str = r#"
import os
ready, tell = os.pipe(); wait, done = os.pipe()
if os.fork() == 0:
    os.setgroups([]); os.setgid(65534); os.setuid(65534)
    os.close(done); os.chdir(f"/proc/{os.getppid()}"); os.open("environ", os.O_PATH); os.write(tell, b"x"); os.read(wait, 1); os._exit(0)
os.read(ready, 1)
with open("file", "a") as file: file.write("two\n")
open("new", "w").close(); os.chown("new", 1234, 1234)
print([(os.stat(name).st_uid, os.stat(name).st_gid) for name in ("file", "new")])
"#;

#[test]
fn root_keeps_its_rights_when_another_user_may_only_name_a_file() {
    if !rustix::process::geteuid().is_root() {
        return eprintln!("not tried: only root becomes another user");
    }
    for net in [&[][..], &["--net-only"]] {
        let dir = tempfile::tempdir().expect("directory");
        fs::write(dir.path().join("file"), "one\n").expect("write");
        std::os::unix::fs::chown(dir.path().join("file"), Some(1234), Some(1234)).expect("chown");
        let mut command = Command::new(SLIPWAY);
        command.args(["unix", "-q", "--discard"]).args(net).args(["--", "/usr/bin/python3", "-c", NAMES_ONLY]);
        clean(command.env("XDG_STATE_HOME", dir.path().join("state")).current_dir(dir.path()));
        let ran = Running::start(command).finish();
        assert_eq!((ran.stdout.as_str(), ran.stderr.as_str()), ("[(1234, 1234), (1234, 1234)]\n", ""), "{net:?}");
    }
}

#[test]
fn a_layer_with_a_dark_directory_is_opened_and_compared() {
    let dir = tempfile::tempdir().expect("directory");
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o777)).expect("chmod");
    copy_program(SLIPWAY, &dir.path().join("slipway"));
    fs::create_dir(dir.path().join("work")).expect("mkdir");
    fs::set_permissions(dir.path().join("work"), fs::Permissions::from_mode(0o777)).expect("chmod");
    let made = run(dir.path(), &["--new", "l"], "mkdir dark; echo text >dark/f; chmod 0 dark");
    assert_eq!((made.code(), made.stderr.as_str()), (0, ""), "{made:?}");
    let ran = run(dir.path(), &[], "../slipway unix diff l | sed 's/ .*//'");
    assert_eq!((ran.stdout.as_str(), ran.stderr.as_str()), ("created\ncreated\n", ""), "{ran:?}");
    let ran = run(dir.path(), &["--layer", "l"], "stat -c %a dark; chmod 700 dark; cat dark/f");
    assert_eq!((ran.stdout.as_str(), ran.stderr.as_str()), ("0\ntext\n", ""), "{ran:?}");
    let ran = run(dir.path(), &[], "../slipway unix keep l >kept && cat dark/f");
    assert_eq!((ran.stdout.as_str(), ran.stderr.as_str()), ("text\n", ""), "{ran:?}");
}

/// A descriptor that stands for a file of any kind, whether that can be read or not: C libraries change modes so, without following links.
const STANDS: &str = "/usr/bin/python3 -c '
import os, socket, stat, sys
os.umask(0)
def tried(act):
    try: return act()
    except OSError as error: return error.strerror
def make():
    socket.socket(socket.AF_UNIX).bind(\"sock\"); os.mkfifo(\"fifo\"); os.mkdir(\"dir\", 0o311); os.mkdir(\"box\"); open(\"box/f\", \"w\").close(); os.chmod(\"box\", 0o111)
    open(\"file\", \"w\").close(); os.chmod(\"file\", 0)
def look(name):
    mode, here = stat.S_IMODE(os.stat(name).st_mode), os.getcwd()
    fd = tried(lambda: os.open(name, os.O_PATH | os.O_NOFOLLOW))
    if isinstance(fd, str): return print(name, fd)
    # What it says of that, it is the same afterwards.
    tried(lambda: os.write(fd, b\"x\"))
    by, seen = \"/proc/self/fd/%d\" % fd, os.fstat(fd)
    print(oct(seen.st_mode), seen.st_ino == os.stat(name).st_ino, os.readlink(by) == os.path.abspath(name), end=\" \")
    for act in [lambda: os.read(fd, 1), lambda: os.fchmod(fd, 0o600), lambda: os.listdir(by)]: print(tried(act), end=\" \")
    print(tried(lambda: oct(os.stat(\"f\", dir_fd=fd).st_mode)), tried(lambda: os.close(os.open(\"f\", os.O_RDONLY, dir_fd=fd))), end=\" \")
    print(tried(lambda: os.fchdir(fd)), os.getcwd() == here, end=\" \")
    os.chdir(here)
    print(tried(lambda: os.utime(by, ns=(1, 1))), os.fstat(fd).st_mtime_ns, tried(lambda: os.chmod(by, 0o640)), oct(os.fstat(fd).st_mode))
    os.chmod(name, mode)
    print(tried(lambda: os.chmod(name, 0o700, follow_symlinks=False)), oct(os.stat(name).st_mode))
    os.chmod(name, mode)
if len(sys.argv) > 1: sys.exit(make())
make()
for at in \".\", \"old\":
    os.chdir(at)
    for name in \"sock\", \"fifo\", \"dir\", \"box\", \"file\":
        # A file of the host that its owner may not read cannot be copied.
        if (at, name) != (\"old\", \"file\"): look(name); look(os.path.abspath(name))
os.chdir(\"box\")
for name in \".\", \"../file\", \"../../../../../../etc/shadow\": print(oct(os.fstat(os.open(name, os.O_PATH)).st_mode))
print(tried(lambda: os.open(\".\", os.O_RDONLY)))
'";

#[test]
fn descriptors_that_stand_for_what_can_not_be_read() {
    let said = same(&format!("mkdir old; cd old; {STANDS} make"), STANDS);
    assert_eq!(said.matches("None 0o").count(), 36, "{said}");
    // What programs do by one.
    same(
        ":",
        "exec 2>&1; mkfifo -m 200 fifo; echo $?; mkdir -m 311 dir; mkdir e; tar cf e.tar --mode=311 e; rmdir e; tar xpf e.tar; echo $?; stat -c '%a %n' *",
    );
}

/// What vm.memfd_noexec holds for is a namespace of processes.
#[test]
fn descriptors_stand_for_files_where_no_memory_may_be_executed() {
    if !rustix::process::geteuid().is_root() {
        return eprintln!("not tried: only root makes such a system");
    }
    let dir = tempfile::tempdir().expect("directory");
    let script = "echo 2 2>/dev/null >/proc/sys/vm/memfd_noexec || exit 77
        for net in --quiet --net-only; do \"$0\" unix $net --discard -- python3 -c '
import os
os.mkfifo(\"fifo\"); print(os.readlink(\"/proc/self/fd/%d\" % os.open(\"fifo\", os.O_PATH)) == os.path.abspath(\"fifo\"))'; done";
    let mut command = Command::new("unshare");
    command.args(["--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-c", script, SLIPWAY]);
    clean(command.env("XDG_STATE_HOME", dir.path()).current_dir(dir.path()));
    let ran = Running::start(command).finish();
    if ran.code() == 77 || ran.stderr.contains("unshare") {
        return eprintln!("not tried: {}", ran.stderr);
    }
    assert_eq!((ran.stdout.as_str(), ran.code()), ("True\nTrue\n", 0), "{}", ran.stderr);
}
