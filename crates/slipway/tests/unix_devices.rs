//! Attributes of the host's terminals and other devices, which a layer has no copies of.

mod harness;

use harness::build::scratch_in_target;
use harness::process::clean;
use harness::{Outcome, Running, SLIPWAY};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Command;

fn run(dir: &Path, words: &[&str]) -> Outcome {
    let mut command = Command::new(words[0]);
    command.args(&words[1..]).current_dir(dir).env("XDG_STATE_HOME", dir.join("state"));
    clean(&mut command);
    Running::start(command).finish()
}

/// Runs it in a layer that nothing may be in at the end; none where the kernel can't.
fn run_unchanged(dir: &Path, options: &[&str], words: &[&str]) -> Option<String> {
    let ran = run(dir, &[&[SLIPWAY, "unix", "--quiet", "--new", "l"], options, &["--"], words].concat());
    if ran.stderr.contains("--contain needs Linux") {
        eprintln!("not tried: {}", ran.stderr);
        return None;
    }
    assert_eq!((ran.code(), ran.stderr.as_str()), (0, ""), "{options:?}: {}", ran.stdout);
    let diff = run(dir, &[SLIPWAY, "unix", "diff", "l"]);
    assert_eq!((diff.code(), diff.stdout.as_str()), (0, ""), "{options:?}");
    assert_eq!(run(dir, &[SLIPWAY, "unix", "discard", "l"]).code(), 0);
    Some(ran.stdout)
}

/// As screen and mesg do.
const OWN: &str = r#"
import os, stat
main, end = os.openpty()
name = os.ttyname(end)
def act(what, *arguments, **options):
    try:
        print(what.__name__, what(*arguments, **options), end=" ")
    except OSError as error:
        print(what.__name__, error.strerror, end=" ")
    print([(oct(of.st_mode), of.st_uid, of.st_mtime == 5) for of in [os.stat(name), os.fstat(end)]])
act(os.chmod, name, 0o620)
act(os.fchmod, end, 0o600)
act(os.chmod, "/proc/self/fd/%d" % end, 0o640)
act(os.chown, name, os.getuid(), -1)
act(os.fchown, end, -1, os.getgid())
act(os.utime, name, (5, 5))
act(os.utime, end, (7, 7))
act(os.setxattr, name, "user.own", b"value")
act(os.chmod, name, 0o600)
again = os.open(name, os.O_RDWR | os.O_NOCTTY)
print(os.write(again, b"by name"), os.read(main, 100))
"#;

#[test]
fn a_terminal_is_changed_itself() {
    let dir = scratch_in_target();
    let words = ["/usr/bin/python3", "-c", OWN];
    let native = run(dir.path(), &words);
    assert_eq!((native.code(), native.stderr.as_str()), (0, ""));
    for options in [&[][..], &["--net-only"]] {
        assert_eq!(run_unchanged(dir.path(), options, &words).as_ref(), Some(&native.stdout), "{options:?}");
    }
}

/// A terminal that the command is given, and what it has changed of that.
const GIVEN: &str = r"
import os, subprocess, sys
main, end = os.openpty()
os.fchmod(end, 0o600)
ended = subprocess.run(sys.argv[1:], stdin=end)
print(oct(os.fstat(end).st_mode), ended.returncode)
";

#[test]
fn a_given_terminal_is_changed_but_by_those_that_may_mean_harm() {
    let dir = scratch_in_target();
    let change = "chmod 620 $(tty) && chmod 622 /proc/self/fd/0 && echo changed";
    for (options, said) in
        [(&[][..], "changed\n0o20622 0\n"), (&["--net-only"], "changed\n0o20622 0\n"), (&["--contain"], "0o20600 1\n")]
    {
        let slipway = [&[SLIPWAY, "unix", "--quiet", "--new", "l"], options, &["--", "sh", "-c", change]].concat();
        let ran = run(dir.path(), &[&["/usr/bin/python3", "-c", GIVEN][..], &slipway].concat());
        if ran.stderr.contains("--contain needs Linux") {
            eprintln!("not tried: {}", ran.stderr);
            continue;
        }
        assert_eq!(ran.stdout, said, "{options:?}: {}", ran.stderr);
        assert_eq!(ran.stderr.contains("Permission denied"), options == ["--contain"], "{}", ran.stderr);
        let diff = run(dir.path(), &[SLIPWAY, "unix", "diff", "l"]);
        assert_eq!((diff.code(), diff.stdout.as_str()), (0, ""), "{options:?}");
        assert_eq!(run(dir.path(), &[SLIPWAY, "unix", "discard", "l"]).code(), 0);
    }
}

#[test]
fn other_devices_stay_as_they_are() {
    let dir = scratch_in_target();
    let devices = ["/dev/null", "/dev/tty", "/dev/ptmx"];
    let print =
        || devices.map(|device| fs::metadata(device).map(|of| (of.mode(), of.uid(), of.ctime(), of.ctime_nsec())).expect("stat"));
    let before = print();
    let may = if rustix::process::getuid().is_root() { "may" } else { "may not" };
    let script = "for device in /dev/null /dev/tty /dev/ptmx; do (chmod 600 $device && chown 1 $device) 2>/dev/null && echo may || echo may not; done; \
                  touch /dev/null && echo text >/dev/null && head -c 1 /dev/null && echo touched";
    for options in [&[][..], &["--net-only"], &["--contain"]] {
        let Some(said) = run_unchanged(dir.path(), options, &["sh", "-c", script]) else { continue };
        assert_eq!(said, format!("{may}\n{may}\n{may}\ntouched\n"), "{options:?}");
    }
    assert_eq!(print(), before);
}

/// Names and attributes of what the kernel has.
const KERNELS: &str = r#"
import os, socket, sys
def say(act):
    try: print(act(), end="; ")
    except OSError as error: print(error.strerror, end="; ")
for dir in sys.argv[1:]:
    name = dir + "/slipway-test"
    for act in [lambda: os.mkdir(name), lambda: os.symlink("x", name), lambda: os.mknod(name), lambda: open(name, "x"), lambda: os.link("file", name),
                lambda: socket.socket(socket.AF_UNIX).bind(name), lambda: os.rename("file", name), lambda: os.open(dir, os.O_WRONLY | os.O_TMPFILE)]:
        say(act)
    print(os.path.lexists(name))
"#;

const CHANGES: &str = r#"
for act in [lambda: os.rmdir("/sys/kernel"), lambda: os.rename("/sys/kernel", "/sys/slipway-test"), lambda: os.rename("/sys/kernel", "moved"), lambda: os.unlink("/dev/pts/ptmx"),
            lambda: os.chmod("/sys/kernel", 0o755), lambda: os.utime("/proc/version"), lambda: os.utime(os.open("/proc/version", os.O_RDONLY)), lambda: os.truncate("/proc/version", 0)]:
    say(act)
"#;

#[test]
fn what_the_kernel_has_gets_no_names_in_a_layer() {
    let dir = scratch_in_target();
    fs::write(dir.path().join("file"), "of the host").expect("write");
    let refused = "Read-only file system; ".repeat(8);
    let (script, dirs) = ([KERNELS, CHANGES].concat(), ["/sys", "/sys/kernel", "/sys/fs/cgroup", "/dev/pts"]);
    for options in [&[][..], &["--net-only"], &["--contain"]] {
        let words = [&["/usr/bin/python3", "-c", &script][..], &dirs].concat();
        let Some(said) = run_unchanged(dir.path(), options, &words) else { continue };
        assert_eq!(said, format!("{refused}False\n").repeat(4) + &refused, "{options:?}");
    }
    // What is let through is refused by the kernel.
    let words = ["/usr/bin/python3", "-c", KERNELS, "/sys"];
    let native = run(dir.path(), &words).stdout;
    assert_eq!(run_unchanged(dir.path(), &["--allow-write", "/sys"], &words), Some(native));
}

/// C libraries change the mode of what they made by a descriptor that stands for it: the device behind it is not opened for that.
#[test]
fn devices_without_a_driver_are_made() {
    let dir = scratch_in_target();
    let script =
        "mknod -m 666 t c 5 0 && mknod -m 600 u c 200 7 && mknod -m 640 b b 250 3 && stat -c '%a %F %t %T' t u b; rm -f t u b";
    // Without a terminal.
    let words = ["setsid", "-w", "sh", "-c", script];
    let native = run(dir.path(), &words);
    if !native.stderr.is_empty() {
        return eprintln!("not tried: {}", native.stderr);
    }
    for options in [&[][..], &["--net-only"], &["--contain"]] {
        let Some(said) = run_unchanged(dir.path(), options, &words) else { continue };
        assert_eq!(said, native.stdout, "{options:?}");
    }
}
