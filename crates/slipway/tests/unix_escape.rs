//! Nothing that a command in the net does reaches the files.

mod harness;

use harness::build::{asset, build_c, scratch_in_target};
use harness::process::clean;
use harness::{Outcome, Running, SLIPWAY};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

/// What could change of a file, and its contents.
#[derive(Debug, PartialEq, Eq)]
struct Print {
    numbers: Vec<i64>,
    contents: Vec<u8>,
}

/// Everything about a tree but when it was read.
fn prints(dir: &Path) -> BTreeMap<PathBuf, Print> {
    let mut all = BTreeMap::new();
    let mut next = vec![dir.to_owned()];
    while let Some(path) = next.pop() {
        let stat = path.symlink_metadata().expect("stat");
        let contents = if stat.is_symlink() {
            fs::read_link(&path).expect("read link").into_os_string().into_encoded_bytes()
        } else if stat.is_dir() {
            next.extend(fs::read_dir(&path).expect("list").map(|entry| entry.expect("entry").path()));
            Vec::new()
        } else if stat.is_file() {
            fs::read(&path).expect("read")
        } else {
            Vec::new()
        };
        let numbers = [stat.ino(), stat.size(), stat.nlink(), stat.mode().into(), stat.uid().into(), stat.gid().into()];
        let numbers = numbers.map(u64::cast_signed).into_iter();
        let numbers = numbers.chain([stat.mtime(), stat.mtime_nsec(), stat.ctime(), stat.ctime_nsec()]).collect();
        all.insert(path, Print { numbers, contents });
    }
    all
}

/// A tree with a file for every try.
fn tree(dir: &Path) {
    for sub in ["dir/inner", "empty1", "empty2", "empty3"] {
        fs::create_dir_all(dir.join(sub)).expect("mkdir");
    }
    let names = (1..=10).map(|n| format!("o{n}")).chain((1..=6).map(|n| format!("u{n}")));
    let names = names
        .chain((1..=9).map(|n| format!("c{n}")))
        .chain((1..=6).map(|n| format!("x{n}")))
        .chain((1..=6).map(|n| format!("q{n}")));
    let names = names.chain(["file", "target", "p1", "t1", "r1", "r2", "r3", "r4", "l1", "l2", "l3", "w4"].map(str::to_owned));
    for name in names.chain(["dir/p2", "dir/w1", "dir/w2", "dir/w3", "dir/inner/deep"].map(str::to_owned)) {
        fs::write(dir.join(&name), format!("the contents of {name}\n")).expect("write");
        let _ = rustix::fs::setxattr(dir.join(&name), "user.old", b"1", rustix::fs::XattrFlags::empty());
    }
    symlink("target", dir.join("link")).expect("symlink");
    symlink("q3", dir.join("q3-link")).expect("symlink");
    symlink(dir, dir.join("dir/up")).expect("symlink");
}

fn program(dir: &Path, flags: &[&str]) -> PathBuf {
    let program = dir.join("escape");
    let mut cc = Command::new("cc");
    slipway_test_support::succeed(cc.args(["-O1", "-w", "-o"]).arg(&program).arg(asset("c/escape.c")).args(flags));
    program
}

fn run(mut command: Command, state: &Path) -> Outcome {
    clean(&mut command);
    command.env("XDG_STATE_HOME", state);
    Running::start(command).finish()
}

/// Tries that take privileges, or that the net refuses.
const REFUSED: [&str; 15] = [
    "setxattrat",
    "FS_IOC_SETFLAGS",
    "file_setattr",
    "name_to_handle_at",
    "mount",
    "open_tree",
    "fsopen",
    "chroot",
    "unshare",
    "io_uring_setup",
    "fanotify_init",
    "unknown call",
    "x32 unlink",
    "32-bit unlink",
    // Needs a privilege on the host, too.
    "link O_TMPFILE empty path",
];

fn escape(flags: &[&str]) {
    let scratch = scratch_in_target();
    let (dir, state) = (scratch.path().join("tree"), scratch.path().join("state"));
    fs::create_dir(&dir).expect("mkdir");
    tree(&dir);
    let program = program(scratch.path(), flags);
    let before = prints(&dir);
    let mut command = Command::new(SLIPWAY);
    command.args(["unix", "--new", "escape", "--"]).arg(&program).arg(&dir);
    let ran = run(command, &state);
    assert_eq!(ran.code(), 0, "{ran:?}");
    let after = prints(&dir);
    for (path, print) in &before {
        assert_eq!(after.get(path), Some(print), "{}", path.display());
    }
    assert_eq!(after.len(), before.len(), "something new is in the tree");
    // All that the net doesn't refuse worked, in the layer.
    let mut tries = 0;
    for line in ran.stdout.lines() {
        let failed = line.split_whitespace().any(|word| word.starts_with('-') && word[1..].chars().all(|c| c.is_ascii_digit()));
        let refused = REFUSED.iter().any(|name| line.starts_with(name));
        assert!(!failed || refused, "{line}");
        assert!(failed || !refused || line.starts_with("link O_TMPFILE"), "this was not refused: {line}");
        tries += 1;
    }
    assert!(tries > 70, "{}", ran.stdout);
    let mut diff = Command::new(SLIPWAY);
    diff.args(["unix", "diff", "escape"]);
    let diff = run(diff, &state).stdout;
    for name in [
        "o1", "o5", "o7", "o8", "o9", "target", "file", "new", "named", "c1", "c7", "x1", "r4", "dir/w1", "w4", "socket", "o10",
        "u6", "p1", "dir/p2", "pipe-new",
    ] {
        assert!(diff.contains(&format!("{}/{name}", dir.display())), "{name} is not in\n{diff}");
    }
}

#[test]
fn no_call_reaches_the_files() {
    escape(&[]);
}

#[test]
fn no_call_of_a_static_program_reaches_the_files() {
    escape(&["-static"]);
}

#[test]
fn the_same_calls_reach_the_files_without_the_net() {
    let scratch = scratch_in_target();
    let dir = scratch.path().join("tree");
    fs::create_dir(&dir).expect("mkdir");
    tree(&dir);
    let before = prints(&dir);
    let mut command = Command::new(program(scratch.path(), &["-DCONTROL=1"]));
    command.arg(&dir);
    let ran = run(command, scratch.path());
    assert_eq!(ran.code(), 0, "{ran:?}");
    let after = prints(&dir);
    let changed = before.iter().filter(|(path, print)| after.get(*path) != Some(print)).count();
    assert!(changed > 30, "only {changed} of {} files were changed", before.len());
}

/// A directory that becomes a link to the host's, when the emulation library is about to open a file in it to write, leads nowhere there.
#[cfg(target_arch = "x86_64")]
#[test]
fn a_directory_that_becomes_a_link_while_a_file_in_it_is_opened() {
    let dir = scratch_in_target();
    let (program, root) = (dir.path().join("raced"), dir.path().join("tree"));
    build_c(include_str!("c/raced.c"), &program, &[]);
    for name in ["d/file", "other/file"] {
        let name = root.join(name);
        fs::create_dir_all(name.parent().expect("a directory")).expect("directories");
        fs::write(name, "host").expect("write");
    }
    let before = prints(&root);
    let mut command = Command::new(SLIPWAY);
    command.args(["unix", "--quiet", "--discard", "--"]).arg(&program).arg(root.join("other")).current_dir(&root);
    clean(command.env("XDG_STATE_HOME", dir.path().join("state")));
    let ran = Running::start(command).finish();
    // It is what the path leads to in the net, where it was written to.
    assert_eq!((ran.code(), ran.stdout.as_str(), ran.stderr.as_str()), (0, "1 1 0 4 twot\n", ""));
    assert_eq!(prints(&root), before);
}
