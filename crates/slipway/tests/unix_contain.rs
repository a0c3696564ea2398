//! What `slipway unix --contain` promises (docs/unix.md): each way out is tried.

mod harness;

use harness::build::{build_c, scratch_in_target};
use harness::process::clean;
use harness::{Outcome, Running, SLIPWAY};
use std::fs;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::process::{Child, Command, Stdio};

/// A process that the command must not reach.
struct Other(Child);

impl Drop for Other {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// What a contained command came to; none, and said, where the kernel can't contain one.
fn contained(mut command: Command) -> Option<Outcome> {
    clean(&mut command);
    let ran = Running::start(command).finish();
    let is_old = ran.stderr.contains("--contain needs Linux");
    if is_old {
        eprintln!("not tried: {}", ran.stderr);
    }
    (!is_old).then_some(ran)
}

#[test]
fn what_is_outside_is_not_reached() {
    let dir = scratch_in_target();
    let (tree, program) = (dir.path().join("tree"), dir.path().join("contained"));
    build_c(include_str!("c/contained.c"), &program, &["-pthread"]);
    fs::create_dir(&tree).expect("mkdir");
    for name in ["file", "other"] {
        fs::write(tree.join(name), "as it was").expect("write");
    }
    let before = ["file", "other"].map(|name| fs::metadata(tree.join(name)).expect("stat"));
    let mut other = Other(Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::null()).spawn().expect("start cat"));
    let socket = dir.path().join("socket");
    let listener = UnixListener::bind(&socket).expect("bind");
    let name = format!("slipway-contain-{}", std::process::id());
    let hidden = UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name).expect("name")).expect("bind");

    let fifo = dir.path().join("fifo");
    rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU, 0).expect("mkfifo");

    let mut command = Command::new(SLIPWAY);
    command.args(["unix", "--contain", "--quiet", "--new", "l", "--"]).arg(&program).arg(&tree).arg(other.0.id().to_string());
    command
        .arg(&socket)
        .arg(&name)
        .arg(&fifo)
        .arg(tree.join("other"))
        .env("XDG_STATE_HOME", dir.path().join("state"))
        .current_dir(&tree);
    let Some(ran) = contained(command) else { return };
    assert_eq!((ran.code(), ran.stderr.as_str()), (0, ""), "{}", ran.stdout);
    assert_eq!(
        ran.stdout.lines().filter(|line| line.ends_with(": refused")).count(),
        if rustix::process::getuid().is_root() { 25 } else { 24 },
        "{}",
        ran.stdout
    );

    for (name, before) in ["file", "other"].iter().zip(before) {
        assert_eq!(fs::read_to_string(tree.join(name)).expect("read"), "as it was");
        let after = fs::metadata(tree.join(name)).expect("stat");
        let print = |stat: &fs::Metadata| (stat.ino(), stat.mode(), stat.mtime_nsec(), stat.ctime_nsec());
        assert_eq!(print(&after), print(&before), "{name}");
    }
    assert_eq!(fs::read_dir(&tree).expect("list").count(), 2, "something new is in the tree");
    assert!(other.0.try_wait().expect("wait").is_none(), "the other process ended");
    for listener in [listener, hidden] {
        listener.set_nonblocking(true).expect("fcntl");
        assert!(listener.accept().is_err(), "somebody connected");
    }
}

/// A descriptor to read leads to no other that writes, where the host has deleted the file and others have it still. The layer's own may.
#[test]
fn a_deleted_file_of_the_hosts_is_not_changed() {
    let dir = scratch_in_target();
    let file = dir.path().join("file");
    fs::write(&file, "as it was").expect("write");
    let mut kept = fs::File::open(&file).expect("open");
    let mode = kept.metadata().expect("stat").mode();
    let script = "exec 3<file; echo mine >own; exec 4<own; rm own; echo changed >/proc/self/fd/4 && echo own; echo opened; read go; \
                  (echo changed >/proc/self/fd/3) 2>/dev/null || echo refused; \
                  /usr/bin/python3 -c 'import os; os.fchmod(4, 0o600); os.fchmod(3, 0o600)' 2>&1 | tail -1";
    let mut command = Command::new(SLIPWAY);
    command.args(["unix", "--contain", "--quiet", "--discard", "--", "sh", "-c", script]);
    command.env("XDG_STATE_HOME", dir.path().join("state")).current_dir(dir.path());
    clean(&mut command);
    let mut running = Running::start(command);
    if running.next_line().is_some_and(|line| line.trim_end() == "own") {
        running.wait_line("opened");
        fs::remove_file(&file).expect("remove");
        running.say("go");
        assert!(running.wait_line("").contains("refused"));
        assert!(running.wait_line("").contains("Permission denied"));
        running.succeed();
    } else {
        let ended = running.finish();
        assert!(ended.stderr.contains("--contain needs Linux"), "{ended:?}");
    }
    let mut text = String::new();
    std::io::Read::read_to_string(&mut kept, &mut text).expect("read");
    assert_eq!(text, "as it was");
    assert_eq!(kept.metadata().expect("stat").mode(), mode);
}

/// Nothing outside is reached where a thread turns a name or a descriptor after the server has looked at it.
#[test]
fn what_is_turned_meanwhile_leads_nowhere() {
    let dir = scratch_in_target();
    let (program, host, work) = (dir.path().join("turned"), dir.path().join("host"), dir.path().join("work"));
    build_c(include_str!("c/turned.c"), &program, &["-pthread"]);
    [&host, &work].iter().for_each(|dir| fs::create_dir(dir).expect("mkdir"));
    fs::write(host.join("f"), "as it was").expect("write");
    let listener = UnixListener::bind(host.join("socket")).expect("bind");
    listener.set_nonblocking(true).expect("fcntl");
    let mut command = Command::new(SLIPWAY);
    command.args(["unix", "--contain", "--quiet", "--discard", "--"]).arg(&program).arg(&host).arg(host.join("socket"));
    command.env("XDG_STATE_HOME", dir.path().join("state")).current_dir(&work);
    let Some(ran) = contained(command) else { return };
    assert_eq!((ran.code(), ran.stdout.as_str(), ran.stderr.as_str()), (0, "a link is refused\n0\n", ""));
    assert_eq!(fs::read_to_string(host.join("f")).expect("read"), "as it was");
    assert!(listener.accept().is_err(), "somebody connected");
}

/// A child that has made no call yet, a thread, one that has ended, and a process outside.
const LINKS: &str = r#"
import errno, os, signal, struct, sys, threading
def tried(act):
    try: return act()
    except OSError as error: return errno.errorcode[error.errno]
end, wait, told = os.pipe(), threading.Event(), os.pipe()
def looks(task):
    at, own = f"/proc/{task}", "/proc/self"
    return [tried(lambda: os.readlink(f"{at}/{name}")) == os.readlink(f"{own}/{name}") for name in ("exe", "cwd", "root", f"fd/{end[1]}")], \
        [tried(lambda: os.stat(f"{at}/{name}")) == os.stat(f"{own}/{name}") for name in ("exe", "cwd", "root", f"fd/{end[1]}")], \
        type(tried(lambda: os.open(f"{at}/fd/{end[1]}", os.O_WRONLY)))
if (child := os.fork()) == 0:
    if os.fork() == 0: os.write(told[1], struct.pack("i", os.getpid())); signal.pause()
    os._exit(0)
os.waitpid(child, 0); orphan = struct.unpack("i", os.read(told[0], 4))[0]
print("orphan", looks(orphan)); os.kill(orphan, 9)
os.mkdir("sub"); os.chdir("sub")
child = os.fork()
if child == 0: signal.pause()
print("child", looks(child))
thread = threading.Thread(target=wait.wait); thread.start()
print("thread", looks(thread.native_id)); wait.set(); thread.join()
os.kill(child, 9); os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
print("ended", [tried(lambda: os.readlink(f"/proc/{child}/{name}")) for name in ("exe", "cwd", "root")]); os.wait()
print("gone", tried(lambda: os.readlink(f"/proc/{child}/exe")))
print("outside", {tried(lambda: act(f"/proc/{process}/{name}")) for process in (sys.argv[1], os.getppid()) for name in ("exe", "cwd", "fd/1") for act in (os.readlink, os.stat)})
"#;

#[test]
fn links_of_the_commands_own_processes_are_followed() {
    let said = |net: &[&str]| {
        let dir = scratch_in_target();
        let mut command = Command::new(SLIPWAY);
        command.args(["unix", "--quiet", "--discard"]).args(net).args(["--", "/usr/bin/python3", "-c", LINKS]);
        command.arg(std::process::id().to_string()).env("XDG_STATE_HOME", dir.path().join("state"));
        command.current_dir(dir.path());
        let ran = contained(command)?;
        assert_eq!((ran.code(), ran.stderr.as_str()), (0, ""), "{}", ran.stdout);
        Some(ran.stdout)
    };
    let same = "([True, True, True, True], [True, True, True, True], <class 'int'>)";
    let all = format!("orphan {same}\nchild {same}\nthread {same}\nended ['ENOENT', 'ENOENT', 'ENOENT']\ngone ENOENT\noutside ");
    assert!(said(&[]).is_some_and(|said| said.starts_with(&all)));
    let Some(contained) = said(&["--contain"]) else { return };
    assert_eq!(contained, all + "{'EACCES'}\n");
}

/// Ordinary programs work in it.
#[test]
fn programs_run() {
    let dir = scratch_in_target();
    let mut command = Command::new(SLIPWAY);
    let script = "echo 'int main(void) { return 3; }' >x.c; cc x.c -o x; ./x; echo $?; /usr/bin/python3 -c 'import os, subprocess, threading
subprocess.run([\"./x\"]); print(os.path.exists(\"x\"), sorted(os.listdir()))'; (true & wait); kill -0 $$; echo text | tee /dev/null";
    command.args(["unix", "--contain", "--no-network", "--quiet", "--new", "l", "--", "sh", "-c", script]);
    command.env("XDG_STATE_HOME", dir.path().join("state")).env("TMPDIR", dir.path());
    command.current_dir(dir.path());
    let Some(ran) = contained(command) else { return };
    assert_eq!((ran.code(), ran.stderr.as_str()), (0, ""), "{}", ran.stdout);
    assert_eq!(ran.stdout, "3\nTrue ['state', 'x', 'x.c']\ntext\n");
    assert!(!dir.path().join("x").exists());
}
