//! The same calls give the same on a tree of the host's and in a layer over an equal one.

mod harness;

use harness::build::{asset, build_c, scratch_in_target};
use harness::process::clean;
use harness::{Running, SLIPWAY};
use slipway_test_support::until;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

fn tree(dir: &Path) {
    fs::create_dir_all(dir.join("a/b/c")).expect("mkdir");
    fs::create_dir(dir.join("d")).expect("mkdir");
    for name in ["x", "a/x", "a/y", "a/b/z", "a/b/c/f", "d/g", "d/x"] {
        fs::write(dir.join(name), format!("of the host: {name}")).expect("write");
    }
    for (target, name) in [("a/b", "link"), ("../x", "d/s"), ("d", "a/s"), ("nowhere", "s")] {
        symlink(target, dir.join(name)).expect("link");
    }
}

/// What a script printed in a tree that `make` made: with these options of `slipway unix`, or without it.
fn printed(script: &str, options: Option<&[&str]>, make: impl Fn(&Path)) -> String {
    let dir = scratch_in_target();
    let root = dir.path().join("tree");
    make(&root);
    let mut command = Command::new(if options.is_some() { SLIPWAY } else { "/usr/bin/python3" });
    if let Some(options) = options {
        command.args(["unix", "--quiet", "--discard"]).args(options).args(["--", "/usr/bin/python3"]);
    }
    command.args(["-c", script]).env("XDG_STATE_HOME", dir.path().join("state")).current_dir(&root);
    clean(&mut command);
    let ran = Running::start(command).finish();
    assert_eq!((ran.code(), ran.stderr.as_str()), (0, ""), "{options:?}");
    ran.stdout
}

/// What a life printed: with these options of `slipway unix`, or without it.
fn life(seed: u64, count: u32, options: Option<&[&str]>) -> String {
    let dir = scratch_in_target();
    let root = dir.path().join("tree");
    tree(&root);
    let mut command = match options {
        None => Command::new("/usr/bin/python3"),
        Some(options) => {
            let mut command = Command::new(SLIPWAY);
            command.args(["unix", "--quiet", "--discard"]).args(options).args(["--", "/usr/bin/python3"]);
            command
        }
    };
    command.arg(asset("py/names.py")).arg(&root).args([seed.to_string(), count.to_string()]);
    command.env("XDG_STATE_HOME", dir.path().join("state")).current_dir(dir.path());
    clean(&mut command);
    let ran = Running::start(command).finish();
    assert_eq!((ran.code(), ran.stderr.as_str()), (0, ""), "seed {seed}, {options:?}");
    ran.stdout
}

fn live(seeds: std::ops::Range<u64>, count: u32) {
    for seed in seeds {
        let host = life(seed, count, None);
        for options in [&["--net-only"][..], &[]] {
            let layer = life(seed, count, Some(options));
            for (number, (expected, got)) in host.lines().zip(layer.lines()).enumerate() {
                assert_eq!(got, expected, "seed {seed}, {options:?}, call {number}");
            }
            assert_eq!(layer.lines().count(), host.lines().count(), "seed {seed}, {options:?}");
        }
    }
}

#[test]
fn random_calls() {
    live(0..4, 1500);
}

#[test]
#[ignore = "long: many lives"]
fn many_random_calls() {
    live(100..130, 3000);
}

/// Pointers that lead nowhere, children in the same memory, threads, handlers.
#[test]
fn other_looks() {
    let dir = scratch_in_target();
    let program = dir.path().join("looks");
    build_c(include_str!("c/looks.c"), &program, &["-pthread", "-Wno-nonnull"]);
    let root = dir.path().join("tree");
    fs::create_dir_all(root.join("sub")).expect("mkdir");
    for name in ["file", "only-here", "sub/file", "sub/only-there"] {
        fs::write(root.join(name), name).expect("write");
    }
    symlink("file", root.join("link")).expect("link");
    let run = |options: Option<&[&str]>| {
        let mut command = Command::new(if options.is_some() { SLIPWAY } else { program.to_str().expect("a path") });
        if let Some(options) = options {
            command.args(["unix", "--quiet", "--discard"]).args(options).arg("--").arg(&program);
        }
        command.arg(&root).env("XDG_STATE_HOME", dir.path().join("state"));
        clean(&mut command);
        let ran = Running::start(command).finish();
        assert_eq!((ran.code(), ran.stderr.as_str()), (0, ""), "{options:?}: {ran:?}");
        ran.stdout
    };
    let host = run(None);
    assert!(host.contains("EFAULT") && host.contains("moves: 100"), "{host}");
    assert_eq!(run(Some(&["--net-only"])), host);
    assert_eq!(run(Some(&[])), host);
}

/// A look at a link reads it only where the program does: that changes its time of access. One of the links is as long as a mark.
#[test]
fn looks_at_links_leave_their_times() {
    let script = "import os
for target in ('file', 'a' * 18):
    os.symlink(target, target[0]); os.utime(target[0], (1, 2), follow_symlinks=False)
    print([os.lstat(target[0]).st_atime for _ in range(3)], os.readlink(target[0]), os.path.exists(target[0]))";
    let make = |dir: &Path| fs::create_dir_all(dir).expect("mkdir");
    let native = printed(script, None, make);
    assert_eq!(printed(script, Some(&[]), make), native);
    assert_eq!(printed(script, Some(&["--net-only"]), make), native);
}

/// More names and directories than the index has on its first pages, looked at twice, by two processes.
#[test]
fn a_large_layer() {
    const SCRIPT: &str = "import os, subprocess, sys
names = [f'd{n % 1500}/{kind}{n}' for n in range(6000) for kind in ('old', 'new', 'none')]
if len(sys.argv) == 1:
    for n in range(1500): os.remove(f'd{n}/old{n}')
    for n in range(6000): open(f'd{n % 1500}/new{n}', 'w').close()
print(sum(os.path.exists(name) for name in names + names))
if len(sys.argv) == 1: sys.exit(subprocess.run([sys.executable, 'look.py', 'again']).returncode)";
    let dir = scratch_in_target();
    for n in 0..6000 {
        let above = dir.path().join(format!("d{}", n % 1500));
        fs::create_dir_all(&above).expect("a directory");
        fs::write(above.join(format!("old{n}")), "").expect("write");
    }
    fs::write(dir.path().join("look.py"), SCRIPT).expect("write");
    let mut command = Command::new(SLIPWAY);
    command.args(["unix", "--quiet", "--discard", "--", "/usr/bin/python3", "-u", "look.py"]);
    command.env("XDG_STATE_HOME", dir.path().join("state")).current_dir(dir.path());
    clean(&mut command);
    let ran = Running::start(command).finish();
    assert_eq!((ran.code(), ran.stdout.as_str(), ran.stderr.as_str()), (0, "21000\n21000\n", ""));
}

/// What a program looked at by itself is recorded as what the server looked at for it.
#[test]
fn looks_are_recorded_alike() {
    let dir = scratch_in_target();
    let root = dir.path().join("tree");
    tree(&root);
    let slipway = |args: &[&str]| {
        let mut command = Command::new(SLIPWAY);
        command.arg("unix").args(args).env("XDG_STATE_HOME", dir.path().join("state")).current_dir(&root);
        clean(&mut command);
        let ran = Running::start(command).finish();
        assert_eq!((ran.code(), ran.stderr.as_str()), (0, ""), "{args:?}");
        ran.stdout
    };
    let script = "import os, subprocess
for path in ('x', 'a/x', 'a/b/../y', 'none', 'a/none', 'none/none/x', 'link/z', 's', 'd/s', '/etc/passwd'):
    os.access(path, os.F_OK)
    try: open(path).close()
    except OSError: pass
os.listdir('a/b'), os.listdir(os.open('d', os.O_RDONLY)), os.readlink('s')
try: os.stat('absent', dir_fd=os.open('a', os.O_RDONLY))
except OSError: pass
os.open('f', os.O_RDONLY, dir_fd=os.open('a/b/c', os.O_RDONLY))
os.makedirs('made/sub/gone'), os.path.exists('made/none'), os.listdir('made'), os.listdir(os.open('sub', os.O_RDONLY, dir_fd=os.open('made', 0)))
os.symlink('sub', 'made/link'), os.readlink('made/link'), os.listdir('made/link'), os.lstat('made/link'), os.access('made/link/none', 0)
os.listdir('made/sub/gone'), os.rmdir('made/sub/gone'), os.path.exists('made/sub/gone/none'), os.stat('a/.'), os.path.exists('a/none/')
subprocess.run(['ls', 'a'], stdout=-3)";
    let used = |layer: &str, options: &[&str]| {
        slipway(&[&["--quiet", "--new", layer], options, &["--", "/usr/bin/python3", "-c", script]].concat());
        let mut used: serde_json::Value = serde_json::from_str(&slipway(&["reads", layer, "--json"])).expect("JSON");
        used["layer"].take();
        used
    };
    let (served, looked) = (used("served", &["--net-only"]), used("looked", &[]));
    for kind in ["read", "listed", "missed", "run"] {
        assert_eq!(looked[kind], served[kind], "{kind}");
    }
    let missed = served["missed"].to_string();
    assert!(
        ["/tree/none", "/tree/a/none", "/tree/a/absent", "/tree/made/none"].iter().all(|name| missed.contains(name)),
        "{missed}"
    );
}

/// Changes by one process are steps for another that looks by itself.
#[test]
fn looks_see_whole_steps() {
    let dir = scratch_in_target();
    fs::create_dir(dir.path().join("in")).expect("mkdir");
    (0..100).for_each(|n| fs::write(dir.path().join(format!("g{n}")), "of the host").expect("write"));
    fs::write(dir.path().join("in/here"), "").expect("write");
    for n in 0..10 {
        let (fifo, mode) = (dir.path().join(format!("p{n}")), rustix::fs::Mode::RWXU);
        rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, mode, 0).expect("mkfifo");
    }
    let mut command = Command::new(SLIPWAY);
    command.args(["unix", "--quiet", "--discard", "--", "/usr/bin/python3"]).arg(asset("py/steps.py"));
    command.env("XDG_STATE_HOME", dir.path().join("state")).current_dir(dir.path());
    clean(&mut command);
    let ran = Running::start(command).finish();
    assert_eq!((ran.code(), ran.stderr.as_str()), (0, ""));
    assert_eq!(ran.stdout, "{'missed': 0, 'mark': 0}\nin its directory\n");
}

/// What goes through to the host is the host's, though a layer has a file of the name.
#[test]
fn what_goes_through_is_the_hosts() {
    let dir = scratch_in_target();
    fs::write(dir.path().join("file"), "of the host").expect("write");
    let run = |options: &[&str], script: &str| {
        let mut command = Command::new(SLIPWAY);
        command.args(["unix", "--quiet"]).args(options).args(["--", "/bin/sh", "-c", script]);
        command.env("XDG_STATE_HOME", dir.path().join("state")).current_dir(dir.path());
        clean(&mut command);
        let ran = Running::start(command).finish();
        assert_eq!((ran.code(), ran.stderr.as_str()), (0, ""), "{options:?}");
        ran.stdout
    };
    run(&["--new", "l"], "printf of-the-layer >file");
    assert_eq!(run(&["--layer", "l"], "cat file file"), "of-the-layerof-the-layer");
    let here = dir.path().to_str().expect("a path");
    assert_eq!(run(&["--layer", "l", "--allow-write", here], "cat file; cat file"), "of the hostof the host");
}

/// What the emulation library can answer needs no server: that is stopped meanwhile.
#[test]
#[cfg(target_arch = "x86_64")]
fn looks_need_no_server() {
    let dir = scratch_in_target();
    for (name, text) in [("both/old", "old"), ("deep/first/file", ""), ("deep/child/file", "file"), ("copied", "some")] {
        let name = dir.path().join(name);
        fs::create_dir_all(name.parent().expect("a directory")).expect("directories");
        fs::write(name, text).expect("write");
    }
    symlink("both/old", dir.path().join("link")).expect("a link");
    let seven = "void _start(void) { __asm__ volatile(\"syscall\" : : \"a\"(60L), \"D\"(7L)); }";
    build_c(seven, &dir.path().join("seven"), &["-nostdlib", "-static"]);
    let mut command = Command::new(SLIPWAY);
    command.args(["unix", "--quiet", "--discard", "--", "/usr/bin/python3"]).arg(asset("py/alone.py"));
    command.env("XDG_STATE_HOME", dir.path().join("state")).current_dir(dir.path());
    clean(&mut command);
    let ran = Running::start(command).finish();
    assert_eq!(
        (ran.code(), ran.stdout.as_str(), ran.stderr.as_str()),
        (
            0,
            "True True False True False 6 [] False True\n\
             True True True True old True True file False False 7\n\
             4 4 dir near True old True [] False\n\
             (True, 8) (True, 8) (True, 8)\n",
            ""
        )
    );
}

/// A working directory that is exchanged with another directory is where that was, and so are those below it, also of children.
#[test]
fn working_directories_follow_an_exchange() {
    let script = "import ctypes, os, sys
def exchange(one, two):
    assert ctypes.CDLL(None).renameat2(-100, one.encode(), -100, two.encode(), 2) == 0
root = os.getcwd()
os.makedirs('made/sub'), os.mkdir('other')
open('made/sub/file', 'w').write('made'), open('other/file', 'w').write('other')
for (at, one, two) in (('made/sub', 'made', 'other'), ('a', 'a', 'd'), ('d/b', 'd', 'x')):
    os.chdir(f'{root}/{at}')
    before = sorted(os.listdir('.'))
    to_child, from_child = os.pipe(), os.pipe()
    if os.fork() == 0:
        os.read(to_child[0], 1)
        os.write(from_child[1], str(sorted(os.listdir('.')) == before).encode())
        os._exit(0)
    exchange(f'{root}/{one}', f'{root}/{two}')
    os.write(to_child[1], b'.')
    print(os.getcwd()[len(root):], sorted(os.listdir('.')) == before, os.read(from_child[0], 9), [os.path.isfile(name) for name in before])
    open('new', 'w').write(at)
    os.wait()
    os.chdir(root)
    print([sorted(os.listdir(name)) if os.path.isdir(name) else name for name in (one, two)])";
    let run = |options| printed(script, options, tree);
    let host = run(None);
    assert!(host.starts_with("/other/sub True b'True'"), "{host}");
    assert_eq!(run(Some(&["--net-only"])), host);
    assert_eq!(run(Some(&[])), host);
}

/// What is hidden is not there either for a command that inherits a descriptor of it, or of a directory below it.
#[test]
fn inherited_descriptors_of_what_is_hidden() {
    let dir = scratch_in_target();
    fs::create_dir_all(dir.path().join("hidden/sub")).expect("mkdir");
    fs::write(dir.path().join("hidden/file"), "").expect("write");
    fs::write(dir.path().join("hidden/sub/file"), "").expect("write");
    let script = "import os
def tried(look):
    try: return look()
    except OSError as error: return error.errno
for fd in (8, 9):
    print(tried(lambda: os.stat('file', dir_fd=fd).st_size), tried(lambda: os.open('file', 0, dir_fd=fd)), tried(lambda: os.listdir(fd)))";
    let run = |options: &[&str]| {
        let mut command = Command::new("sh");
        command.args(["-c", "exec \"$@\" 8<hidden 9<hidden/sub", "sh", SLIPWAY, "unix", "--quiet", "--discard"]).args(options);
        command.args(["--hide", "hidden", "--", "/usr/bin/python3", "-c", script]);
        command.env("XDG_STATE_HOME", dir.path().join("state")).current_dir(dir.path());
        clean(&mut command);
        let ran = Running::start(command).finish();
        assert_eq!((ran.code(), ran.stderr.as_str()), (0, ""), "{options:?}");
        ran.stdout
    };
    for options in [&["--net-only"][..], &[]] {
        assert_eq!(run(options), "2 2 []\n2 2 []\n", "{options:?}");
    }
}

/// A name that the command has removed is the host's again, who makes a file there.
#[test]
fn a_name_that_is_left_is_the_hosts() {
    let script = "import os, time
open('kept/x', 'w').close(), os.unlink('kept/x')
open('kept/y', 'w').close(), os.rename('kept/y', 'kept/z')
print(os.path.exists('kept/x'), os.path.exists('kept/y'))
open('through/ready', 'w').close()
while not os.path.exists('through/go'): time.sleep(0.001)
print(os.path.exists('kept/x'), os.path.exists('kept/y'), os.path.exists('kept/z'))";
    for options in [&["--net-only"][..], &[]] {
        let dir = scratch_in_target();
        let at = |name: &str| dir.path().join(name);
        ["kept", "through"].iter().for_each(|name| fs::create_dir(at(name)).expect("mkdir"));
        let mut command = Command::new(SLIPWAY);
        command.args(["unix", "--quiet", "--discard"]).args(options).arg("--allow-write").arg(at("through"));
        command.args(["--", "/usr/bin/python3", "-c", script]).env("XDG_STATE_HOME", at("state")).current_dir(dir.path());
        clean(&mut command);
        let running = Running::start(command);
        until("the names are left", || at("through/ready").exists());
        ["kept/x", "kept/y", "through/go"].iter().for_each(|name| fs::write(at(name), "").expect("write"));
        let ran = running.finish();
        assert_eq!(
            (ran.code(), ran.stdout.as_str(), ran.stderr.as_str()),
            (0, "False False\nTrue True True\n", ""),
            "{options:?}"
        );
    }
}

/// To write to a file changes no directory's time. A name may begin as the layer's own marks do. And a process's own rules hold for the tree
/// that it sees.
#[test]
fn what_the_layer_does_for_itself_is_not_seen() {
    let script = "import ctypes, os, struct
times = [os.stat(name).st_mtime for name in ('.', 'a', 'a/b')]
open('a/b/file', 'a').write('more')
print([os.stat(name).st_mtime for name in ('.', 'a', 'a/b')] == times)
os.mkdir('new'), open('new/.\\x01a', 'w').close()
print(os.listdir('new'))
open('new/file', 'w').write('text')
call = ctypes.CDLL(None).syscall
rules = call(444, struct.pack('Q', 4), 8, 0)
if rules >= 0:
    call(445, rules, 1, struct.pack('=Qi', 4, os.open('.', os.O_PATH)), 0)
    ctypes.CDLL(None).prctl(38, 1, 0, 0, 0), call(446, rules, 0)
print(open('new/file').read(), open('new/file', 'r+').read(), open('a/b/file').read())";
    let make = |root: &Path| {
        fs::create_dir_all(root.join("a/b")).expect("directories");
        fs::write(root.join("a/b/file"), "some").expect("write");
    };
    let run = |options| printed(script, options, make);
    let host = run(None);
    assert_eq!(host, "True\n['.\\x01a']\ntext text somemore\n");
    assert_eq!(run(Some(&["--net-only"])), host);
    assert_eq!(run(Some(&[])), host);
}

/// What a change says of the directories above it is not said again for each of them: the watchdog would end this one.
#[test]
fn a_change_in_a_deep_directory_takes_no_minutes() {
    const DEEP: usize = 500;
    let script = format!(
        "import os
one, two = 'b/' * {DEEP}, 'c/' * {DEEP}
os.rename(one + 'old', two + 'new'); print(os.listdir(one), os.listdir(two), os.path.exists(one + 'old'), open(two + 'new').read())
for n in range({DEEP}): os.chdir('a')
open('file', 'w').write('new'); print(open('file').read(), os.listdir())
os.rename('file', '../there')
for n in range({DEEP}): os.chdir('..')
print(open('a/' * ({DEEP} - 1) + 'there').read(), sorted(os.listdir('a/' * ({DEEP} - 1))))"
    );
    let make = |dir: &Path| {
        ["a/", "b/", "c/"].iter().for_each(|name| fs::create_dir_all(dir.join(name.repeat(DEEP))).expect("mkdir"));
        fs::write(dir.join("b/".repeat(DEEP) + "old"), "old").expect("write");
    };
    let native = printed(&script, None, make);
    assert_eq!(printed(&script, Some(&[]), make), native);
}

/// The attributes of a file that has lost its name, and that is open to read.
const NAMELESS: &str = r#"
import os
lose = {"x": lambda: os.unlink("x"), "a/x": lambda: os.rename("d/x", "a/x"), "a/y": lambda: (os.truncate("a/y", 3), os.unlink("a/y"))}
for name in lose:
    fd, other = os.open(name, os.O_RDONLY), os.open(name, os.O_RDONLY)
    lose[name]()
    os.utime(fd, (1000, 2000)); os.fchmod(fd, 0o400)
    if os.getuid() == 0: os.fchown(fd, 1, 2)
    for at in os.fstat(fd), os.stat(other): print(oct(at.st_mode), at.st_atime, at.st_mtime, at.st_nlink, at.st_uid, at.st_gid)
"#;

#[test]
fn attributes_of_files_without_names() {
    let native = printed(NAMELESS, None, tree);
    for options in [&["--net-only"][..], &[]] {
        assert_eq!(printed(NAMELESS, Some(options), tree), native, "{options:?}");
    }
}

/// Renames that leave a device at the old name, as what makes overlays of trees does; the last ones as another user.
const LEAVES: &str = r#"
import ctypes, errno, os
c = ctypes.CDLL(None, use_errno=True)
def look(name):
    try: stat = os.lstat(name)
    except OSError as error: return errno.errorcode[error.errno]
    return oct(stat.st_mode), stat.st_rdev, stat.st_nlink, stat.st_uid
def rename(one, two, flags=4):
    done = c.renameat2(-100, one.encode(), -100, two.encode(), flags) == 0
    print(one, two, flags, done or errno.errorcode[ctypes.get_errno()], look(one), look(two))
    return done
def tried(act):
    try: return act()
    except OSError as error: return errno.errorcode[error.errno]
if not rename("x", "y"): raise SystemExit # overlayfs has none
rename("y", "x"); rename("x", "a/y"); rename("a", "moved"); rename("d", "e"); rename("e", "d"); rename("d/g", "d/h"); rename("s", "t")
open("made", "w").close(), os.mkdir("dir"), os.mkdir("full"), os.mkdir("full/in")
rename("made", "there"); rename("dir", "other"); rename("full", "other"); rename("other", "moved"); rename("there", "other"); rename("other", "there")
print(tried(lambda: sorted(os.listdir("moved"))), tried(lambda: os.listdir("d")), tried(lambda: os.stat("a/x")), tried(lambda: open("x")), tried(lambda: os.mkdir("x")))
for flags in 3, 5, 6, 7, 8, 12: rename("link", "x", flags); rename("none", "x", flags)
rename("link", "link"); os.link("link", "again", follow_symlinks=False); rename("link", "again"); rename("none", "x")
print([(entry.name, entry.stat(follow_symlinks=False).st_rdev) for entry in sorted(os.scandir("."), key=lambda entry: entry.name)])
os.unlink("x"); os.rename("y", "x"); print(look("x"), look("y"), tried(lambda: open("x", "w")))
if os.getuid() == 0:
    [os.chmod(name, 0o777) for name in ("..", ".")], os.setgid(1), os.setuid(1)
    open("mine", "w").close(); rename("mine", "its"); rename("mine", "again", 5); rename("x", "its")
"#;

#[test]
fn renames_that_leave_a_device() {
    let native = printed(LEAVES, None, tree);
    for options in [&["--net-only"][..], &[]] {
        assert_eq!(printed(LEAVES, Some(options), tree), native, "{options:?}");
    }
}

/// What a descriptor shows of a file of the host's that was written, and has lost one of its names.
#[test]
fn a_copy_has_its_number_by_all_names() {
    let script = "import os
fd = os.open('x', os.O_RDWR); os.link('x', 'new'); os.unlink('x')
print(os.fstat(fd).st_ino == os.stat('new').st_ino, os.fstat(fd).st_nlink)";
    for options in [None, Some(&["--net-only"][..]), Some(&[])] {
        assert_eq!(printed(script, options, tree), "True 1\n", "{options:?}");
    }
}

/// Further names for what is open, whether it has one still or not.
const LINKS: &str = r#"
import ctypes, errno, os
c = ctypes.CDLL(None, use_errno=True)
def tried(act):
    try: return act()
    except OSError as error: return errno.errorcode[error.errno]
def link(fd, name):
    for call in (fd, b"", -100, name.encode(), 0x1000), (-100, b"/proc/self/fd/%d" % fd, -100, (name + "2").encode(), 0x400):
        print(name, c.linkat(*call) == 0 or errno.errorcode[ctypes.get_errno()], end=" ")
    # What only reads may read the host's file, which has other names; a directory of both shows one.
    print(os.fstat(fd).st_nlink if fd not in (reads, others, dir) else "", [tried(lambda: (os.stat(name + end).st_ino == os.fstat(fd).st_ino, open(name + end).read())) for end in ("", "2")])
reads = others = dir = -1
def lose(*names): [os.unlink(name + end) for name in names for end in ("", "2")]
unnamed = os.open("a", os.O_TMPFILE | os.O_RDWR); os.write(unnamed, b"made")
link(unnamed, "one"); link(unnamed, "a/two"); os.rename("one", "three"); link(unnamed, "four")
lose("a/two", "four"); os.unlink("one2"); link(unnamed, "five"); lose("five"); os.unlink("three"); link(unnamed, "none")
os.mkdir("new")
for name in "new/file", "x", "a/b/z":
    fd = os.open(name, os.O_RDWR | os.O_CREAT); os.write(fd, b"written"); link(fd, "by"); os.unlink(name); link(fd, "on")
    open(name, "w").write("another"); link(fd, "still"); os.rename("by", "a/y"); link(fd, "moved")
    lose("on", "still", "moved"); os.unlink("by2"); link(fd, "again"); lose("again"); os.rename("d/x", "a/y"); link(fd, "gone"); os.rename("a/y", "d/x")
reads, others = os.open("a/x", os.O_RDONLY), os.open("d/g", os.O_RDONLY)
link(reads, "r"); os.rename("a/x", "moved"); open("a/x", "w").write("another"); link(reads, "l")
lose("r", "l"); os.unlink("moved"); link(reads, "none"); os.rename("d", "e"); link(others, "t"); os.unlink("e/g"); link(others, "u")
dir, (end, _) = os.open("a", os.O_RDONLY), os.pipe(); link(dir, "never"); link(end, "never")
"#;

#[test]
fn further_names_for_what_is_open() {
    let native = printed(LINKS, None, tree);
    for options in [&["--net-only"][..], &[], &["--allow-write", "."]] {
        assert_eq!(printed(LINKS, Some(options), tree), native, "{options:?}");
    }
}

/// Changes by links of /proc of what is open and has no name, or has lost it.
const CHANGES: &str = r#"
import errno, os
def tried(act):
    try: return act()
    except OSError as error: return errno.errorcode[error.errno]
def change(fd):
    path = f"/proc/self/fd/{fd}"
    acts = [lambda: os.chmod(path, 0o640), lambda: os.chown(path, -1, os.getgid()), lambda: os.chmod(path + "/", 0o600), lambda: os.stat(path + "/"), lambda: os.utime(path, (5, 6))]
    more = [lambda: os.truncate(path, 10), lambda: os.setxattr(path, "user.a", b"1"), lambda: os.getxattr(path, "user.a"), lambda: os.listxattr(path),
        lambda: os.removexattr(path, "user.a"), lambda: os.removexattr(path, "user.a"), lambda: os.truncate(path, -1)]
    print([tried(act) for act in (more if fd != reads else []) + acts])
    is_pipe = fd == pipe[0]
    for stat in os.fstat(fd), os.stat(path): print(oct(stat.st_mode), *([] if is_pipe else [stat.st_size, stat.st_mtime, stat.st_nlink]))
reads, pipe = os.open("a/x", os.O_RDONLY), os.pipe()
change(os.open("a", os.O_TMPFILE | os.O_RDWR, 0o600))
change(os.open("a", os.O_TMPFILE | os.O_WRONLY, 0))
gone = os.open("new", os.O_CREAT | os.O_RDWR, 0o666); os.unlink("new"); change(gone)
only = os.open("d/g", os.O_RDWR); kept = os.open("d/g", os.O_PATH); os.unlink("d/g"); change(only)
print(tried(lambda: os.chmod(f"/proc/self/fd/{kept}", 0o604)), oct(os.fstat(only).st_mode))
os.unlink("a/x"); change(reads); change(pipe[0])
"#;

#[test]
fn what_has_no_name_is_changed_by_its_descriptors_link() {
    let native = printed(CHANGES, None, tree);
    for options in [&["--net-only"][..], &[], &["--allow-write", "."]] {
        assert_eq!(printed(CHANGES, Some(options), tree), native, "{options:?}");
    }
}

/// FS_IOC_SETFLAGS and FS_IOC_FSSETXATTR with what a file has.
const FLAGS: &str = r#"
import fcntl, os
def tried(act):
    try: return act()
    except OSError as error: return error.strerror
open("made", "w").close()
files = [os.open(name, os.O_RDONLY) for name in ("x", "made", "a", "/dev/null")]
both = [(0x80086601, 0x40086602, 4), (0x801c581f, 0x401c5820, 28)]
def same(file, get, set, size):
    return fcntl.ioctl(file, set, fcntl.ioctl(file, get, bytes(size)))[:8].hex()
print([tried(lambda: same(file, *one)) for file in files for one in both], tried(lambda: fcntl.ioctl(files[-1], both[0][1], bytes(4))))
"#;

#[test]
fn the_flags_of_a_file_are_set_to_what_they_are() {
    let native = printed(FLAGS, None, tree);
    let more = "print([tried(lambda: fcntl.ioctl(file, 0x40086602, b'\\x20' + bytes(3))) for file in files[:3]])";
    for options in [&["--net-only"][..], &[]] {
        let refused = "['Operation not supported', 'Operation not supported', 'Operation not supported']\n";
        assert_eq!(printed(&[FLAGS, more].concat(), Some(options), tree), format!("{native}{refused}"), "{options:?}");
    }
}
