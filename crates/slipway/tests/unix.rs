//! `slipway unix` with programs that people run.

mod harness;

use harness::build::{build_c, copy_program, scratch_in_target};
use harness::process::clean;
use harness::{Outcome, Running, SLIPWAY};
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::Command;
use tempfile::TempDir;

/// A directory with the files and the layers of one test.
struct Bench {
    dir: TempDir,
}

impl Bench {
    fn new() -> Self {
        let bench = Self { dir: scratch_in_target() };
        fs::create_dir(bench.path("work")).expect("mkdir");
        bench
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// A file in the directory that commands run in.
    fn work(&self, name: &str) -> PathBuf {
        self.path("work").join(name)
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(SLIPWAY);
        command.arg("unix").args(args).current_dir(self.path("work")).env("XDG_STATE_HOME", self.path("state"));
        clean(&mut command);
        command.env("HOME", self.path("work")).env("GIT_CONFIG_NOSYSTEM", "1");
        command
    }

    fn run(&self, args: &[&str]) -> Outcome {
        Running::start(self.command(args)).finish()
    }

    /// Runs a shell script in the layer: what it printed. It must succeed.
    fn sh(&self, layer: &str, script: &str) -> String {
        let args = if self.path("state/slipway/unix").join(layer).exists() { "--layer" } else { "--new" };
        let ran = self.run(&[args, layer, "--quiet", "--", "sh", "-ec", script]);
        assert_eq!((ran.code(), ran.stderr.as_str()), (0, ""), "{ran:?}");
        ran.stdout
    }

    /// What a command of `slipway unix` prints. It must succeed.
    fn say(&self, args: &[&str]) -> String {
        let ran = self.run(args);
        assert_eq!((ran.code(), ran.stderr.as_str()), (0, ""), "{ran:?}");
        ran.stdout
    }
}

#[test]
fn a_change_is_in_the_layer_until_it_is_kept() {
    let bench = Bench::new();
    fs::write(bench.work("old"), "one\ntwo\n").expect("write");
    fs::write(bench.work("gone"), "x").expect("write");
    let ran = bench.run(&["--", "sh", "-c", "echo three >>old; rm gone; echo new >new; cat old; ls"]);
    assert_eq!((ran.code(), ran.stdout.as_str()), (0, "one\ntwo\nthree\nnew\nold\n"), "{ran:?}");
    assert!(ran.error_line().contains("layer sh-1: 1 created, 1 changed, 1 deleted"), "{ran:?}");
    assert_eq!(fs::read_to_string(bench.work("old")).expect("read"), "one\ntwo\n");
    assert!(bench.work("gone").exists() && !bench.work("new").exists());
    let diff = bench.say(&["diff", "sh-1", bench.work("old").to_str().expect("UTF-8")]);
    assert!(diff.starts_with("changed") && diff.contains("+three\n"), "{diff}");
    let json: serde_json::Value = serde_json::from_str(&bench.say(&["diff", "sh-1", "--json"])).expect("JSON");
    let kinds: Vec<_> = json["changes"].as_array().expect("a list").iter().map(|change| change["kind"].clone()).collect();
    assert_eq!(kinds, ["deleted", "created", "changed"]);
    assert!(bench.say(&["list"]).contains("sh-1"));
    assert_eq!(bench.say(&["check", "sh-1"]), "");
    assert_eq!(bench.say(&["keep", "sh-1"]), "3 names changed; the layer is gone\n");
    assert_eq!(fs::read_to_string(bench.work("old")).expect("read"), "one\ntwo\nthree\n");
    assert!(!bench.work("gone").exists() && bench.work("new").exists());
    assert_eq!(bench.say(&["list"]), "no layers\n");
}

#[test]
fn conflicts_are_named() {
    let bench = Bench::new();
    fs::write(bench.work("file"), "old").expect("write");
    bench.sh("l", "echo layer >file; echo x >other");
    fs::write(bench.work("file"), "mine, longer").expect("write");
    let ran = bench.run(&["keep", "l"]);
    assert_eq!(ran.code(), 1);
    assert_eq!(ran.stdout, format!("{}: it was changed on the host\n", bench.work("file").display()));
    assert!(ran.error_line().contains("1 conflict: nothing was kept"), "{ran:?}");
    assert!(!bench.work("other").exists());
    assert_eq!(bench.say(&["keep", "l", "other"]), "1 name changed; the layer has what was not chosen\n");
    bench.sh("m", "echo x >third");
    assert_eq!(bench.say(&["keep", "m", "third"]), "1 name changed; the layer is gone\n");
    assert_eq!(bench.run(&["diff", "m"]).code(), 2);
    assert!(bench.work("other").exists());
    bench.say(&["discard", "l"]);
    assert_eq!(fs::read_to_string(bench.work("file")).expect("read"), "mine, longer");
}

#[test]
fn it_ends_as_the_command_ends() {
    let bench = Bench::new();
    assert_eq!(bench.run(&["--", "sh", "-c", "exit 7"]).code(), 7);
    assert_eq!(bench.run(&["--", "sh", "-c", "kill -TERM $$"]).status.signal(), Some(15));
    let missing = bench.run(&["--", "no-such-program"]);
    assert!(missing.code() == 127 && missing.error_line().contains("no-such-program"), "{missing:?}");
    assert_eq!(bench.run(&["--", "/dev/null"]).code(), 126);
    assert_eq!(bench.run(&["--layer", "none", "--", "true"]).code(), 2);
    assert_eq!(bench.run(&["diff", "none"]).code(), 2);
    assert_eq!(bench.run(&["--read-only", "--new", "x", "--", "true"]).code(), 2);
    let nested = bench.run(&["-q", "--discard", "--", "env", "XDG_STATE_HOME=/tmp/other", SLIPWAY, "unix", "--", "true"]);
    assert!(nested.code() == 125 && nested.stderr.contains("in another can't be"), "{nested:?}");
    let nothing = bench.run(&["--", "true"]);
    assert_eq!(nothing.error_line(), "slipway: nothing was changed");
    assert_eq!(bench.say(&["list"]), "no layers\n", "a layer without changes isn't left");
    let read = bench.run(&["--new", "read", "--", "cat", "/etc/hostname"]);
    assert!(read.error_line().starts_with("slipway: layer read: no change; see: slipway unix reads read"), "{read:?}");
    assert!(bench.say(&["reads", "read"]).contains("read    /etc/hostname\n"), "what was asked for by name is");
    assert_eq!(bench.run(&["--new", "unread", "--", "no-such-program"]).code(), 127);
    bench.say(&["discard", "read"]);
    assert_eq!(bench.say(&["list"]), "no layers\n");
}

#[test]
fn signals_reach_the_command() {
    let bench = Bench::new();
    let mut command = Running::start(bench.command(&[
        "--discard",
        "--",
        "sh",
        "-c",
        "trap 'echo caught; exit 3' USR1; echo ready; while :; do sleep 1; done",
    ]));
    command.wait_line("ready");
    let pid = rustix::process::Pid::from_raw(command.pid().cast_signed()).expect("a process");
    rustix::process::kill_process(pid, rustix::process::Signal::USR1).expect("kill");
    let ran = command.finish();
    assert_eq!((ran.code(), ran.stdout.as_str()), (3, "ready\ncaught\n"));
}

#[test]
fn a_terminal_has_jobs() {
    let bench = Bench::new();
    let mut command = Command::new("/usr/bin/python3");
    command.arg(harness::build::asset("py/jobs.py")).arg(SLIPWAY).current_dir(bench.path("work"));
    clean(&mut command);
    command.env("XDG_STATE_HOME", bench.path("state"));
    let ran = Running::start(command).finish();
    assert_eq!((ran.code(), ran.stdout.as_str()), (0, "done\n"), "{ran:?}");
}

#[test]
fn names_are_those_of_the_layer() {
    let bench = Bench::new();
    let work = bench.work("").display().to_string();
    let work = work.trim_end_matches('/');
    let out = bench.sh(
        "l",
        "mkdir -p a/b; cd a/b; pwd; /bin/pwd; readlink /proc/self/cwd; cd ../..; mv a c; echo x >c/b/f; ln c/b/f g; ln -s c/b s
         [ c/b/f -ef g ] && [ -f s/f ] && stat -c '%h %a' g; realpath s; (cd c && rm -r b && ls -A | wc -l)
         ls /proc/self/fd/ >/dev/null; cat </dev/stdin; umask 077; : >private; stat -c %a private",
    );
    let (pwd, cwd) = (format!("{work}/a/b"), format!("{work}/c/b"));
    assert_eq!(out, format!("{pwd}\n{pwd}\n{pwd}\n2 644\n{cwd}\n0\n600\n"));
    assert_eq!(fs::read_dir(work).expect("list").count(), 0);
}

#[test]
fn a_directory_of_the_host_is_renamed_removed_and_made_again() {
    let bench = Bench::new();
    fs::create_dir_all(bench.work("dir/sub")).expect("mkdir");
    for name in ["dir/a", "dir/sub/b", "dir/sub/c"] {
        fs::write(bench.work(name), name).expect("write");
    }
    let out = bench.sh(
        "l",
        "mv dir moved; ls moved moved/sub; cat moved/sub/b; echo; rm -r moved/sub; mkdir dir; ls -A dir; echo new >dir/a
         chmod -R go-rwx moved; find . | sort; cp -a moved copy; diff -r moved copy",
    );
    assert_eq!(out, "moved:\na\nsub\n\nmoved/sub:\nb\nc\ndir/sub/b\n.\n./dir\n./dir/a\n./moved\n./moved/a\n");
    bench.say(&["keep", "l"]);
    assert_eq!(fs::read_to_string(bench.work("dir/a")).expect("read"), "new\n");
    assert!(!bench.work("dir/sub").exists() && bench.work("copy/a").exists());
    assert_eq!(fs::metadata(bench.work("moved/a")).expect("stat").mode() & 0o777, 0o600);
}

#[test]
fn a_directory_that_is_emptied_while_it_is_listed() {
    let bench = Bench::new();
    fs::create_dir(bench.work("dir")).expect("mkdir");
    // More than one call of getdents gives.
    (0..3000).for_each(|number| fs::write(bench.work(&format!("dir/{number}")), "").expect("write"));
    let script = "import os\nfor entry in os.scandir('dir'): os.unlink(entry.path)\nos.rmdir('dir')
for number in range(2000): open(str(number), 'w')\nfound = os.scandir('.'); next(found)
if os.fork() == 0: print(len(list(found)), flush=True)
else: os.wait()";
    assert_eq!(bench.sh("l", &format!("/usr/bin/python3 -c \"{script}\"")), "1999\n");
    assert_eq!(bench.sh("l", "rm -r [0-9]*; ls -A"), "");
}

#[test]
fn names_that_are_not_there() {
    let bench = Bench::new();
    fs::create_dir_all(bench.work("dir/sub")).expect("mkdir");
    fs::write(bench.work("dir/file"), "").expect("write");
    std::os::unix::fs::symlink("sub", bench.work("dir/link")).expect("symlink");
    let script = "import os
for name in 'dir/file/', 'dir/file/x', 'dir/none', 'dir/none/x', 'dir/link/none', 'dir/link/none/x', 'dir/link/', 'dir/none/':
    try: print(os.stat(name).st_nlink)
    except OSError as error: print(error.strerror)";
    let [not_dir, none] = ["Not a directory\n", "No such file or directory\n"];
    let expected = format!("{}{}2\n{none}", not_dir.repeat(2), none.repeat(4));
    assert_eq!(bench.sh("l", &format!("/usr/bin/python3 -c \"{script}\"")), expected);
}

#[test]
fn what_lost_its_name_is_changed_no_more() {
    let bench = Bench::new();
    for name in ["old", "new", "gone"] {
        fs::write(bench.work(name), name).expect("write");
        fs::set_permissions(bench.work(name), fs::Permissions::from_mode(0o644)).expect("chmod");
    }
    let script = "import os
old, gone = (os.open(name, os.O_RDONLY) for name in ('old', 'gone'))
os.fchmod(gone, 0o640); print(oct(os.stat('gone').st_mode), oct(os.fstat(gone).st_mode))
os.rename('new', 'old'); os.fchmod(old, 0o600); print(oct(os.stat('old').st_mode))
os.unlink('gone'); os.fchmod(gone, 0o600); os.utime(gone); os.chmod('old', 0o604)";
    assert_eq!(bench.sh("l", &format!("/usr/bin/python3 -c \"{script}\"")), "0o100640 0o100640\n0o100644\n");
    assert_eq!(fs::metadata(bench.work("gone")).expect("stat").mode() & 0o777, 0o644);
}

#[test]
fn programs_with_short_names() {
    let bench = Bench::new();
    let out = bench.sh(
        "l",
        "cp /bin/echo e; cp /bin/echo stub; printf '#!/bin/sh\\necho script\\n' >x; chmod +x x
         for name in e stub x e stub x; do /usr/bin/python3 -c 'import os, sys; os.execv(sys.argv[1], sys.argv[1:])' $name $name; done",
    );
    assert_eq!(out, "e\nstub\nscript\n".repeat(2));
}

#[test]
fn a_project_is_built_and_installed() {
    let bench = Bench::new();
    let makefile = "OBJECTS = one.o two.o main.o\nprogram: $(OBJECTS)\n\tcc -o $@ $(OBJECTS)\n%.o: %.c\n\tcc -c -o $@ $<\n\
                    install: program\n\tinstall -D -m 755 program $(PREFIX)/bin/program\n\tinstall -D script $(PREFIX)/bin/script\n";
    fs::write(bench.work("Makefile"), makefile).expect("write");
    for (name, text) in [
        ("one.c", "int one(void) { return 1; }\n"),
        ("two.c", "int two(void) { return 2; }\n"),
        (
            "main.c",
            "#include <stdio.h>\nint one(void), two(void);\nint main(int c, char **v) { printf(\"%s %d\\n\", v[0], c + one() + two()); return 0; }\n",
        ),
        ("script", "#!/bin/sh -e\necho script \"$0\" \"$@\"\n"),
    ] {
        fs::write(bench.work(name), text).expect("write");
    }
    let prefix = bench.path("prefix");
    let install = format!(
        "make -j2 -s PREFIX={} install; ./program; PATH={}/bin:$PATH; program x; script y; chmod +x script; ./script",
        prefix.display(),
        prefix.display()
    );
    let out = bench.sh("l", &install);
    let bin = prefix.join("bin");
    assert_eq!(out, format!("./program 4\nprogram 5\nscript {}/script y\nscript ./script\n", bin.display()));
    assert!(!prefix.exists() && !bench.work("program").exists());
    // What is up to date in the layer stays so.
    assert_eq!(bench.sh("l", "make program"), "make: 'program' is up to date.\n");
    bench.say(&["keep", "l"]);
    assert!(slipway_test_support::succeed(&mut Command::new(bin.join("program"))).ends_with("program 4\n"));
    assert_eq!(fs::metadata(bin.join("program")).expect("stat").permissions().mode() & 0o777, 0o755);
}

#[test]
fn the_demo_runs() {
    let bench = Bench::new();
    let mut demo = Command::new(slipway_test_support::repository("examples/unix/demo.sh"));
    clean(&mut demo);
    let bin = PathBuf::from(SLIPWAY).parent().expect("a directory").display().to_string();
    demo.env("PATH", format!("{bin}:{}", std::env::var("PATH").expect("PATH"))).env("TMPDIR", bench.dir.path());
    let out = slipway_test_support::succeed(&mut demo);
    assert!(out.contains("not in the files: 0 programs") && out.contains("Hello, layer"), "{out}");
    assert!(out.contains("5 names changed") && out.ends_with("again\nHello, again\n"), "{out}");
}

#[test]
fn git_commits() {
    let bench = Bench::new();
    let out = bench.sh(
        "l",
        "git init -q -b main repo; cd repo; git config user.name n; git config user.email e; echo 1 >f; git add f; git commit -qm one
         git switch -qc side; echo 2 >f; git commit -qam two; git switch -q main; git merge -q side; git status --short
         git gc -q; git fsck; git log --format=%s; cd ..; git clone -q repo copy; cat copy/f",
    );
    assert_eq!(out, "two\none\n2\n");
    bench.say(&["keep", "l"]);
    let mut log = Command::new("git");
    clean(&mut log);
    assert_eq!(slipway_test_support::succeed(log.args(["log", "--format=%s"]).current_dir(bench.work("copy"))), "two\none\n");
}

#[test]
fn python_threads_sockets_and_tar() {
    let bench = Bench::new();
    let script = r#"
import os, socket, subprocess, tempfile, threading
def work(number):
    with tempfile.TemporaryDirectory(dir=".") as name:
        path = os.path.join(name, "f")
        for turn in range(20):
            with open(path, "w") as file: file.write(str(number + turn))
            with open(path) as file: assert file.read() == str(number + turn)
            os.rename(path, path + "2"); os.rename(path + "2", path)
threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
[thread.start() for thread in threads]; [thread.join() for thread in threads]
server = socket.socket(socket.AF_UNIX); server.bind("socket"); server.listen()
client = socket.socket(socket.AF_UNIX)
thread = threading.Thread(target=client.connect, args=("./socket",)); thread.start()
server.accept()[0].send(b"hello"); thread.join()
print(client.recv(9), sorted(os.listdir(".")), subprocess.run(["sh", "-c", "exit 5"]).returncode)
file = os.open("kept", os.O_CREAT | os.O_RDWR); os.unlink("kept"); os.write(file, b"x"); print(os.fstat(file).st_nlink)
"#;
    fs::write(bench.work("script.py"), script).expect("write");
    let out = bench.sh("l", "/usr/bin/python3 script.py; mkfifo fifo; (echo through >fifo &); cat fifo; tar cf x.tar script.py; rm script.py; tar xf x.tar; ls");
    assert_eq!(out, "b'hello' ['script.py', 'socket'] 5\n0\nthrough\nfifo\nscript.py\nsocket\nx.tar\n");
}

#[test]
#[ignore = "long: a virtual environment is made, a database filled"]
fn python_environments_and_databases() {
    let bench = Bench::new();
    let out = bench.sh(
        "l",
        "/usr/bin/python3 -m venv --without-pip v; v/bin/python -c 'import sys; print(sys.prefix)'
         /usr/bin/python3 - <<X
import sqlite3
for mode in ('delete', 'wal'):
    base = sqlite3.connect(mode); base.execute('pragma journal_mode=' + mode); base.execute('create table t(a)')
    for n in range(300):
        with base: base.execute('insert into t values(?)', (n,))
    print(base.execute('select sum(a) from t').fetchone()[0], sqlite3.connect(mode).execute('pragma integrity_check').fetchone()[0])
X",
    );
    assert_eq!(out, format!("{}\n44850 ok\n44850 ok\n", bench.work("v").display()));
    assert_eq!(fs::read_dir(bench.work("")).expect("list").count(), 0);
}

const STATIC: &str = r#"
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
static void *thread(void *name) { close(open(name, O_CREAT | O_WRONLY, 0600)); return chdir("/tmp") ? NULL : name; }
int main(void) {
    pthread_t one, two;
    char cwd[4096];
    pthread_create(&one, NULL, thread, "one");
    pthread_join(one, NULL);
    /* A thread shares its directory with the others; a child has its own. */
    pthread_create(&two, NULL, thread, "two");
    pthread_join(two, NULL);
    puts(getcwd(cwd, sizeof cwd));
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) return chdir("/") != 0;
    waitpid(child, NULL, 0);
    puts(getcwd(cwd, sizeof cwd));
    return unlink("two");
}
"#;

#[test]
fn static_programs_and_threads() {
    let bench = Bench::new();
    build_c(STATIC, &bench.path("static"), &["-static", "-pthread"]);
    let program = bench.path("static");
    let ran = bench.run(&["--new", "l", "--quiet", "--", program.to_str().expect("UTF-8")]);
    assert_eq!((ran.code(), ran.stdout.as_str()), (0, "/tmp\n/tmp\n"), "{ran:?}");
    let diff = bench.say(&["diff", "l"]);
    assert!(diff.ends_with(&format!("{}\n", bench.work("one").display())) && diff.lines().count() == 1, "{diff}");
    assert!(!bench.work("one").exists());
}

#[test]
fn a_child_that_outlives_its_parent_keeps_its_directory() {
    let bench = Bench::new();
    let ran = bench.sh(
        "l",
        "mkdir d; mkfifo go end; (cd d; (read go <../go; pwd; echo x >../end) & ); cd /; cd - >/dev/null; echo >go; read x <end",
    );
    assert_eq!(ran, format!("{}\n", bench.work("d").display()));
}

#[test]
fn layers_lie_on_each_other() {
    let bench = Bench::new();
    fs::write(bench.work("f"), "host\n").expect("write");
    bench.sh("one", "echo one >f; echo 1 >only");
    let ran =
        bench.run(&["--layer", "one", "--new", "two", "--quiet", "--", "sh", "-c", "cat f; echo two >f; rm only; echo 2 >more"]);
    assert_eq!(ran.stdout, "one\n");
    assert_eq!(bench.run(&["--layer", "two", "--quiet", "--", "sh", "-c", "cat f more; ls"]).stdout, "two\n2\nf\nmore\n");
    assert!(bench.run(&["discard", "one"]).error_line().contains("below two"));
    assert!(bench.run(&["--layer", "one", "--", "true"]).error_line().contains("--new"));
    assert!(bench.run(&["keep", "two"]).error_line().contains("keep that first"));
    bench.say(&["keep", "one"]);
    assert_eq!(fs::read_to_string(bench.work("f")).expect("read"), "one\n");
    bench.say(&["keep", "two"]);
    assert_eq!(fs::read_to_string(bench.work("f")).expect("read"), "two\n");
    assert!(!bench.work("only").exists() && bench.work("more").exists());
}

#[test]
fn what_a_command_may_see_and_change() {
    let bench = Bench::new();
    for name in ["secret", "plain"] {
        fs::write(bench.work(name), name).expect("write");
    }
    fs::create_dir(bench.work("open")).expect("mkdir");
    let script = "cat secret; ls; echo z >secret; echo x >plain; echo y >open/file; mkdir new; rm -f plain; true";
    let ran = bench.run(&["--read-only", "--hide", "secret", "--allow-write", "open", "--", "sh", "-c", script]);
    assert_eq!(ran.stdout, "open\nplain\n");
    assert!(
        ran.stderr.contains("secret: No such file")
            && ran.stderr.contains("create secret")
            && ran.stderr.matches("Read-only file system").count() == 4,
        "{ran:?}"
    );
    assert_eq!(fs::read_to_string(bench.work("open/file")).expect("read"), "y\n");
    assert!(bench.work("plain").exists() && !bench.work("new").exists());
    let ran = bench.run(&["--discard", "-q", "--hide", "secret", "--", "sh", "-c", "echo z >secret"]);
    assert!(ran.stderr.contains("cannot create secret: Permission denied"), "{ran:?}");
    assert_eq!(fs::read_to_string(bench.work("secret")).expect("read"), "secret");
    let socket = "import socket; socket.socket(socket.AF_UNIX); socket.socket()";
    let ran = bench.run(&["--no-network", "--discard", "-q", "--", "/usr/bin/python3", "-c", socket]);
    assert!(ran.stderr.contains("Permission denied"), "{ran:?}");
}

#[test]
fn what_was_used_is_recorded_and_exported() {
    let bench = Bench::new();
    fs::write(bench.work("input"), "i").expect("write");
    fs::write(bench.work("gone"), "g").expect("write");
    bench.sh("l", "cat input >output; rm gone; [ ! -e missing ]; ls >/dev/null");
    let reads: serde_json::Value = serde_json::from_str(&bench.say(&["reads", "l", "--json"])).expect("JSON");
    let has = |kind: &str, name: PathBuf| reads[kind].as_array().expect("a list").contains(&name.to_str().into());
    assert!(has("read", bench.work("input")) && !has("read", bench.work("output")), "{reads}");
    assert!(has("missed", bench.work("missing")) && has("listed", bench.path("work")), "{reads}");
    assert!(reads["run"].to_string().contains("/cat\""), "{reads}");
    assert_eq!(bench.say(&["export", "l", "../x.tar"]), "");
    let list = slipway_test_support::succeed(Command::new("tar").arg("tf").arg(bench.path("x.tar")));
    let mut names: Vec<&str> = list.lines().map(|name| name.rsplit('/').next().expect("a name")).collect();
    names.sort_unstable();
    assert_eq!(names, [".wh.gone", "output"]);
}

#[test]
fn whoever_is_killed_the_files_stay() {
    let bench = Bench::new();
    fs::write(bench.work("file"), "old").expect("write");
    let mut command = Running::start(bench.command(&[
        "--new",
        "l",
        "--",
        "sh",
        "-c",
        "echo new >file; echo ready; while :; do echo $((x += 1)) >counter; done",
    ]));
    command.wait_line("ready");
    // The server of names is this one's only child.
    let children = fs::read_to_string(format!("/proc/{0}/task/{0}/children", command.pid())).expect("children");
    let server = children.trim().parse().ok().and_then(rustix::process::Pid::from_raw).expect("one child");
    rustix::process::kill_process(server, rustix::process::Signal::KILL).expect("kill");
    let ran = command.finish();
    assert!(ran.code() == 125 && ran.stderr.contains("the server of names ended"), "{ran:?}");
    assert_eq!(fs::read_to_string(bench.work("file")).expect("read"), "old");
    assert!(!bench.work("counter").exists());
    slipway_test_support::until("the layer is free", || bench.run(&["--layer", "l", "-q", "--", "true"]).status.success());
    assert_eq!(bench.say(&["check", "l"]), "");
    assert_eq!(bench.run(&["--layer", "l", "-q", "--", "cat", "file"]).stdout, "new\n");
}

#[test]
fn root_that_becomes_another_user_has_that_ones_rights() {
    if !rustix::process::geteuid().is_root() {
        // Nobody else can.
        return;
    }
    let dir = tempfile::tempdir().expect("directory");
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).expect("chmod");
    let script = "mkdir -m 777 open; echo secret >closed; chmod 600 closed
        setpriv --reuid=65534 --regid=65534 --clear-groups sh -c 'cat closed; touch new; echo hi >open/f; mkdir open/d; chown 0 open/f; mv open/f open/g; rm -f closed
            /usr/bin/python3 -c \"import os; print(os.access(\\\"closed\\\", os.R_OK))\"'
        stat -c '%n %u %g' open/*; cat closed";
    let mut command = Command::new(SLIPWAY);
    command
        .args(["unix", "-q", "--discard", "--", "sh", "-c", script])
        .current_dir(dir.path())
        .env("XDG_STATE_HOME", dir.path().join("state"));
    clean(&mut command);
    let ran = Running::start(command).finish();
    assert_eq!(ran.stdout, "False\nopen/d 65534 65534\nopen/g 65534 65534\nsecret\n", "{ran:?}");
    assert_eq!((ran.stderr.matches("ermission denied").count(), ran.stderr.matches("not permitted").count()), (3, 1), "{ran:?}");
}

#[test]
fn a_command_without_privileges() {
    if !rustix::process::geteuid().is_root() {
        // The other tests are that already.
        return;
    }
    let dir = tempfile::tempdir().expect("directory");
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o777)).expect("chmod");
    copy_program(SLIPWAY, &dir.path().join("slipway"));
    // A process that takes its own memory from the others' reach still has names.
    let undumpable = "/usr/bin/python3 -c 'import ctypes, os; print(ctypes.CDLL(None).prctl(4, 0, 0, 0, 0), os.listdir(\"/proc/self/cwd\")[0])'";
    let script = format!(
        "id -u; touch /usr/local/x 2>&1; rm /etc/passwd 2>&1; : >mine; ls -n mine | cut -d' ' -f3; mkdir d; : >d/f; cd d; {undumpable}"
    );
    let mut command = Command::new("setpriv");
    command.args([
        "--reuid=65534",
        "--regid=65534",
        "--clear-groups",
        "./slipway",
        "unix",
        "-q",
        "--new",
        "l",
        "--",
        "sh",
        "-c",
        &script,
    ]);
    command.current_dir(dir.path()).env("XDG_STATE_HOME", dir.path().join("state"));
    clean(&mut command);
    let ran = Running::start(command).finish();
    let expected = "65534\ntouch: cannot touch '/usr/local/x': Permission denied\nrm: cannot remove '/etc/passwd': Permission denied\n65534\n0 f\n";
    assert_eq!(ran.stdout, expected, "{ran:?}");
}

#[test]
fn no_disk_is_written_to() {
    if !rustix::process::geteuid().is_root() {
        // Nobody else may make a device.
        return;
    }
    let bench = Bench::new();
    // A number that no driver has.
    let ran = bench.run(&["-q", "--discard", "--", "sh", "-c", "mknod disk b 511 4242 && echo x >disk"]);
    assert!(ran.stderr.contains("Read-only file system"), "{ran:?}");
}
