//! What directories and links show that are the host's and the layer's.

mod harness;

use harness::build::{build_c, scratch_in_target};
use harness::process::clean;
use harness::{Running, SLIPWAY};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;

const MODES: [&[&str]; 2] = [&["--net-only"], &[]];

/// Runs a command in a directory, over a layer of its own there: what it printed.
fn run(dir: &Path, options: &[&str], words: &[&str]) -> String {
    let mut command = Command::new(SLIPWAY);
    command.args(["unix", "--quiet"]).args(options).arg("--").args(words);
    command.env("XDG_STATE_HOME", dir.join("../state")).current_dir(dir);
    clean(&mut command);
    let ran = Running::start(command).finish();
    assert_eq!((ran.code(), ran.stderr.as_str()), (0, ""), "{options:?}, {words:?}");
    ran.stdout
}

/// fts(3) and programs like it look for no more directories than a count of names says.
#[test]
fn directories_say_no_too_few_names() {
    let scratch = scratch_in_target();
    let counts = scratch.path().join("counts");
    build_c(include_str!("c/counts.c"), &counts, &[]);
    let counts = counts.to_str().expect("a path");
    let acts = [
        "true",
        "chmod 700 w/pre",
        "touch -d @99 w/pre",
        "mkdir -p w/pre/0/in w/pre/z/in",
        "rm -r w/pre/a; mkdir w/pre/n w/pre/m w/pre/o",
        "chmod 700 w/pre; mkdir w/e2 w/pre/q; mv w/pre w/e2/",
        "rm -r w/pre; mkdir -p w/pre/1 w/pre/2 w/pre/a",
        "mkdir -p w/only/1 w/only/2; rmdir w/only/1",
    ];
    for (number, options) in MODES.iter().enumerate() {
        for (act, script) in acts.iter().enumerate() {
            let dir = scratch.path().join(format!("{number}-{act}"));
            for below in ["a/x", "b", "c"] {
                fs::create_dir_all(dir.join("w/pre").join(below)).expect("mkdir");
            }
            // In the process that does it, and in one that comes to the layer later.
            let (both, layer) = (format!("{script}; exec {counts} w"), format!("l{number}-{act}"));
            assert_eq!(run(&dir, &[*options, &["--new", &layer]].concat(), &["sh", "-c", &both]), "", "{script}");
            assert_eq!(run(&dir, &[*options, &["--layer", &layer]].concat(), &[counts, "w"]), "", "{script}");
            let above = ["--layer", &layer, "--new", &format!("{layer}-above")];
            let more = format!("mkdir -p w/pre/x/y w/pre/v; exec {counts} w");
            assert_eq!(run(&dir, &[*options, &above].concat(), &["sh", "-c", &more]), "", "{script}");
        }
    }
}

/// What a removed working directory is good for: to be left, and to say that it is gone.
const REMOVED: &str = r#"
import errno, os
def tried(act):
    try: return act()
    except OSError as error: return errno.errorcode[error.errno]
acts = [os.getcwd, lambda: os.stat("x"), lambda: open("x", "w"), lambda: os.mkdir("x"), lambda: os.path.samefile("..", dir), lambda: os.listdir("..")]
dir = os.environ["DIR"]
print([tried(act) for act in acts], tried(lambda: os.chdir("..")), tried(os.getcwd) == dir, tried(lambda: os.mkdir("x")), os.listdir("."))
"#;

#[test]
fn a_command_starts_in_a_removed_directory() {
    let scratch = scratch_in_target();
    let printed = |options: Option<&[&str]>| {
        let dir = scratch.path().join(format!("{}", options.map_or(0, |options| 1 + options.len())));
        fs::create_dir_all(dir.join("gone")).expect("mkdir");
        let mut command = Command::new("sh");
        let mut words = vec!["-ec", "rmdir ../gone; exec \"$@\"", "sh"];
        if let Some(options) = options {
            words.extend([SLIPWAY, "unix", "--quiet", "--discard"]);
            words.extend(options);
            words.push("--");
        }
        command.args(words).args(["/usr/bin/python3", "-c", REMOVED]).current_dir(dir.join("gone"));
        command.env("XDG_STATE_HOME", scratch.path().join("state")).env("DIR", &dir);
        clean(&mut command);
        let ran = Running::start(command).finish();
        assert_eq!((ran.code(), ran.stderr.as_str()), (0, ""), "{options:?}");
        ran.stdout
    };
    let native = printed(None);
    for options in MODES {
        assert_eq!(printed(Some(options)), native, "{options:?}");
    }
}

/// What the running kernel says of a file that is to be made as a directory.
const MADE: &str = r#"
import errno, os
def tried(name, flags):
    try: return os.close(os.open(name, flags | os.O_CREAT | os.O_DIRECTORY, 0o600))
    except OSError as error: return errno.errorcode[error.errno]
os.mkdir("d"); open("f", "w").close()
flags = [0, os.O_RDWR, os.O_EXCL, os.O_PATH, os.O_TRUNC]
print([[tried(name, flag) for flag in flags] for name in ("d", "f", "/", "d/", "f/", "none/x", "new")], sorted(os.listdir(".")))
"#;

#[test]
fn a_file_is_not_made_as_a_directory() {
    let scratch = scratch_in_target();
    let dir = |name: &str| {
        let dir = scratch.path().join(name);
        fs::create_dir(&dir).expect("mkdir");
        dir
    };
    let native = Command::new("/usr/bin/python3").args(["-c", MADE]).current_dir(dir("host")).output().expect("run");
    for (number, options) in MODES.iter().enumerate() {
        let printed = run(&dir(&number.to_string()), &[*options, &["--discard"]].concat(), &["/usr/bin/python3", "-c", MADE]);
        assert_eq!(printed.as_bytes(), native.stdout, "{options:?}");
    }
}

/// Descriptors that stand for links.
const STANDS: &str = r#"
import ctypes, errno, os
def tried(act):
    try: return act()
    except OSError as error: return errno.errorcode[error.errno]
def look(path, dir=None):
    fd = tried(lambda: os.open(path, os.O_PATH | os.O_NOFOLLOW, dir_fd=dir))
    if isinstance(fd, str): return fd
    by, stat = f"/proc/self/fd/{fd}", os.fstat(fd)
    said = [oct(stat.st_mode), stat.st_ino == os.lstat(path, dir_fd=dir).st_ino, tried(lambda: os.readlink("", dir_fd=fd)), os.readlink(by).split("/")[-1]]
    said += map(tried, [lambda: os.chown(by, -1, os.getgid()), lambda: os.read(fd, 1), lambda: os.stat("x", dir_fd=fd), lambda: os.open("x/y", os.O_RDONLY, dir_fd=fd), lambda: os.open(by, os.O_RDONLY)])
    os.close(fd)
    return said
os.symlink("x", "made"); os.symlink("../a", "d/made"); os.mkdir("new"); os.symlink("x", "new/made"); os.unlink("link"); os.unlink("d/s"); os.symlink("x", "d/s")
for name in "s", "link", "made", "d/made", "new/made", "new/none", "a/s", "d/s": print(name, look(name), look(os.path.abspath(name)))
for dir in ".", "a", "d", "new":
    fd = os.open(dir, os.O_RDONLY)
    for name in sorted(os.listdir(fd)):
        if os.path.islink(os.path.join(dir, name)): print(dir, name, look(name, fd))
os.rename("d/made", "new/made"); print(look("new/made"), look("d/made"))
libc = ctypes.CDLL(None, use_errno=True)
for name in b"made", b"a/s": print(libc.fchmodat(-100, name, 0o600, 0x100), errno.errorcode[ctypes.get_errno()])
print(tried(lambda: os.open("made", os.O_PATH | os.O_NOFOLLOW | os.O_DIRECTORY)), tried(lambda: os.close(os.open("x", os.O_PATH | os.O_NOFOLLOW))))
"#;

/// The server can't hand them over; the emulation library opens them, or something else stands for them.
#[test]
fn descriptors_that_stand_for_links() {
    let scratch = scratch_in_target();
    let dir = |name: &str| {
        let dir = scratch.path().join(name);
        for sub in ["a", "d"] {
            fs::create_dir_all(dir.join(sub)).expect("mkdir");
        }
        fs::write(dir.join("x"), "x").expect("write");
        for (target, name) in [("nowhere", "s"), ("a", "link"), ("../x", "d/s"), ("../d", "a/s")] {
            symlink(target, dir.join(name)).expect("link");
        }
        dir
    };
    let native = Command::new("/usr/bin/python3").args(["-c", STANDS]).current_dir(dir("host")).output().expect("run");
    assert!(native.status.success(), "{native:?}");
    let native = String::from_utf8(native.stdout).expect("UTF-8");
    for (number, options) in MODES.iter().enumerate() {
        let printed = run(&dir(&number.to_string()), &[*options, &["--discard"]].concat(), &["/usr/bin/python3", "-c", STANDS]);
        assert_eq!(printed, native, "{options:?}");
    }
}

/// Descriptors that stand for what is gone, and files of memory that are no such descriptors.
const STALE: &str = r#"
import ctypes, errno, os, struct, sys, threading, time
libc = ctypes.CDLL(None, use_errno=True)
def tried(act):
    try: return act()
    except OSError as error: return errno.errorcode[error.errno]
def empty(number, *args):
    return 0 if libc.syscall(number, *args) >= 0 else errno.errorcode[ctypes.get_errno()]
def change(fd):
    by = "/proc/self/fd/%d" % fd
    acts = [lambda: os.chmod(by, 0o600), lambda: os.chown(by, os.getuid(), os.getgid()), lambda: os.utime(by, (1, 1)), lambda: os.setxattr(by, "user.a", b"1"),
        lambda: os.link(by, "more", src_dir_fd=here), lambda: os.open(by, os.O_RDONLY), lambda: os.open(by, os.O_PATH), lambda: os.stat(by).st_size, lambda: os.fstat(fd).st_size,
        lambda: empty(268 if os.uname().machine == "x86_64" else 54, fd, by.encode(), 0o600), lambda: empty(260 if os.uname().machine == "x86_64" else 54, fd, b"", -1, os.getgid(), 0x1000)]
    return set(map(tried, acts))
here = os.open(".", os.O_RDONLY); os.mkfifo("pipe"); os.mkfifo("other")
fd = os.open("pipe", os.O_PATH)
print(tried(lambda: os.chmod("/proc/self/fd/%d" % fd, 0o640)), oct(os.stat("pipe").st_mode))
os.unlink("pipe"); print(change(fd))
os.mkfifo("kept"); os.rename("other", "pipe"); print(change(fd), oct(os.stat("pipe").st_mode))
# One of the program's own, which says the same.
there = os.lstat("kept"); own = os.memfd_create("slipway:path"); os.write(own, struct.pack("QQ", there.st_dev, there.st_ino) + os.path.abspath("kept").encode())
os.fchmod(own, 0o644); print(oct(os.fstat(own).st_mode), os.fstat(own).st_size > 16)
# Nothing is read of what takes its place meanwhile.
out, into = os.pipe(); os.write(into, b"x" * 4096); number = 200; os.dup2(own, number); ends = time.time() + 1.5
def turn():
    while time.time() < ends: os.dup2(out, number); os.dup2(own, number)
thread = threading.Thread(target=turn); thread.start()
while time.time() < ends: tried(lambda: os.readlink("/proc/self/fd/%d" % number))
thread.join(); os.set_blocking(out, False); print(len(os.read(out, 8192)))
"#;

/// Nothing is done to the file of memory that a descriptor is, where what it stands for is gone.
#[test]
fn descriptors_that_stand_for_what_is_gone() {
    let scratch = scratch_in_target();
    let dir = scratch.path().join("dir");
    fs::create_dir(&dir).expect("mkdir");
    let printed = run(&dir, &["--net-only", "--discard"], &["/usr/bin/python3", "-c", STALE]);
    assert_eq!(printed, "None 0o10640\n{'ESTALE'}\n{'ESTALE'} 0o10644\n0o100644 True\n4096\n");
}

/// What is in the working directory by the links that /proc has to it.
const BY_PROC: &str = r#"
import os, subprocess
here = os.getcwd()
for at in "/proc/self/cwd", "/proc/thread-self/cwd", "//proc/self/cwd", here + "/link":
    print(open(at + "/file").read(), [subprocess.call([at + name]) for name in ("/script", "/true")])
    print(os.fstat(os.open(at + "/file", os.O_PATH)).st_size, sorted(os.listdir("/proc/self/fd/%d" % os.open(at, os.O_PATH))))
    print(os.readlink("/proc/self/fd/%d" % os.open(at + "/dir", os.O_PATH | os.O_DIRECTORY)).replace(here, "HERE"))
print(open("/proc/self/task/%d/cwd/file" % os.getpid()).read())
"#;

#[test]
fn a_command_finds_its_first_directory_in_proc() {
    let scratch = scratch_in_target();
    let dir = |name: &str| {
        let dir = scratch.path().join(name);
        fs::create_dir_all(dir.join("dir")).expect("mkdir");
        fs::copy("/bin/true", dir.join("true")).expect("copy");
        for (name, text) in [("file", "of the host"), ("script", "#!/bin/sh\nexit 3\n")] {
            fs::write(dir.join(name), text).expect("write");
        }
        fs::set_permissions(dir.join("script"), fs::Permissions::from_mode(0o755)).expect("chmod");
        symlink("/proc/self/cwd", dir.join("link")).expect("link");
        dir
    };
    let native = Command::new("/usr/bin/python3").args(["-c", BY_PROC]).current_dir(dir("host")).output().expect("run");
    assert!(native.status.success(), "{native:?}");
    for (number, options) in MODES.iter().enumerate() {
        let printed = run(&dir(&number.to_string()), &[*options, &["--discard"]].concat(), &["/usr/bin/python3", "-c", BY_PROC]);
        assert_eq!(printed.as_bytes(), native.stdout, "{options:?}");
    }
}

/// What links of /proc say of what has lost its name, or has another one.
const LOST: &str = r##"
import os, re, shutil, subprocess
work = os.getcwd()
def say(what, text): print(what, re.sub(r"#\d+", "#N", text.replace(work, "HERE")))
def link(what, fd): say(what, os.readlink("/proc/self/fd/%d" % fd))
def act(name, flags, *acts):
    fd = os.open(name, flags)
    link(name, fd)
    for what in acts: what(); link(name, fd)
def write(name): open(name, "w").close()
write("new"); act("new", os.O_RDONLY, lambda: os.rename("new", "new2"), lambda: os.unlink("new2"))
write("new"); write("other"); act("new", os.O_RDWR, lambda: os.rename("other", "new"))
act("removed", os.O_RDONLY, lambda: os.unlink("removed"))
act("written", os.O_RDWR, lambda: os.unlink("written"))
act("renamed", os.O_RDONLY, lambda: os.rename("renamed", "renamed2"))
write("other"); act("replaced", os.O_RDONLY, lambda: os.rename("other", "replaced"))
act("moved", os.O_RDWR, lambda: os.rename("moved", "moved2"), lambda: os.unlink("moved2"))
act("changed", os.O_RDONLY, lambda: os.chmod("changed", 0o600), lambda: os.unlink("changed"))
act("linked", os.O_RDONLY, lambda: os.unlink("linked")); act("linked2", os.O_RDWR, lambda: os.unlink("linked2"))
act("empty", os.O_RDONLY, lambda: os.rmdir("empty"), lambda: os.mkdir("empty")); act("empty", os.O_RDONLY)
act("full/sub", os.O_RDONLY, lambda: write("full/new"), lambda: os.chmod("full", 0o700), lambda: os.rename("full", "full2"))
os.mkdir("made"); act("made", os.O_RDONLY, lambda: os.rmdir("made"))
os.mkfifo("fifo"); act("fifo", os.O_PATH, lambda: os.unlink("fifo"))
link("nameless", os.open(".", os.O_TMPFILE | os.O_RDWR))
for name in "made", "left":
    os.makedirs(name, exist_ok=True); os.chdir(name); os.rmdir("../" + name); say("cwd", os.readlink("/proc/self/cwd")); os.chdir(work)
shutil.copy("program", "program2")
for name in "program", "program2": print(subprocess.check_output(["./" + name, "-c", "rm " + name + "; readlink /proc/$$/exe"]).decode().replace(work, "HERE"))
act("/dev", os.O_RDONLY); act("/dev/null", os.O_RDWR); act("/", os.O_RDONLY); act("/proc", os.O_RDONLY); link("memory", os.memfd_create("x"))
"##;

#[test]
fn links_of_proc_know_what_has_lost_its_name() {
    let scratch = scratch_in_target();
    let dir = |name: &str| {
        let dir = scratch.path().join(name);
        for sub in ["empty", "full/sub", "left"] {
            fs::create_dir_all(dir.join(sub)).expect("mkdir");
        }
        for name in ["removed", "written", "renamed", "replaced", "moved", "changed", "linked"] {
            fs::write(dir.join(name), name).expect("write");
        }
        fs::hard_link(dir.join("linked"), dir.join("linked2")).expect("link");
        fs::copy("/bin/sh", dir.join("program")).expect("copy");
        dir
    };
    let native = Command::new("/usr/bin/python3").args(["-c", LOST]).current_dir(dir("host")).output().expect("run");
    assert!(native.status.success(), "{native:?}");
    let native = String::from_utf8(native.stdout).expect("UTF-8");
    assert!(native.matches(" (deleted)").count() > 15, "{native}");
    for (number, options) in MODES.iter().enumerate() {
        let printed = run(&dir(&number.to_string()), &[*options, &["--discard"]].concat(), &["/usr/bin/python3", "-c", LOST]);
        assert_eq!(printed, native, "{options:?}");
    }
}
