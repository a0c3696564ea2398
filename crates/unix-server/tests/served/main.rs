//! Programs of a Unix server in the test's process, as tasks of their own, by message and by trap.
#![allow(clippy::disallowed_methods, reason = "the test's threads wait for each other")]

use mach as _;
mod random;

use rustix::fs::{Access, OFlags};
use slipway_layer::{About, Rules, Store, TreePath, View};
use slipway_mach::{
    abi::{right, types},
    rights::{ReceiveRight, SendRight},
    task::Task,
};
use slipway_unix_server::{Error, Process, System, stubs::Unix};
use std::{
    ffi::CString,
    fs,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex,
        mpsc::{Receiver, channel},
    },
    thread,
    time::Duration,
};
use tempfile::TempDir;

const CREATE: i32 = 0o100;
const EXCLUSIVE: i32 = 0o200;
const TRUNCATE: i32 = 0o1000;
const APPEND: i32 = 0o2000;
const READ_WRITE: i32 = 2;

/// A server with a layer, whose client the calling thread becomes.
struct Served {
    home: TempDir,
    first: Unix,
    system: Arc<System>,
    traps: bool,
}

impl Served {
    fn new(traps: bool) -> Self {
        let home = TempDir::new().expect("a directory");
        let store = Store::open(&home.path().join("store")).expect("a store");
        store.create("l", &About::default()).expect("a layer");
        let layers = store.layers(&[], Some("l")).expect("the layer");
        let hidden = vec![TreePath::literal(store.dir().as_os_str().as_encoded_bytes())];
        let view = View::new(Path::new("/"), layers, Rules { hidden, ..Rules::default() }).expect("a view");
        let (ours, theirs) = (Task::new(), Task::new());
        let port = theirs.allocate(right::RECEIVE).expect("a port");
        let name = theirs.extract_right(port, types::MAKE_SEND, ours).expect("a right");
        let system = System::new(view, traps);
        let serving = Arc::clone(&system);
        thread::spawn(move || {
            theirs.enter();
            let _ = serving.serve(ReceiveRight::from_name(theirs, port));
        });
        ours.enter();
        fs::create_dir(home.path().join("tree")).expect("a directory");
        Self { first: Unix(SendRight::from_name(ours, name)), home, system, traps }
    }

    fn process(&self) -> Process {
        Process::of(&self.first).expect("a process")
    }

    fn tree(&self) -> PathBuf {
        self.home.path().join("tree")
    }

    /// A path of the tree, for calls.
    fn path(&self, name: &str) -> CString {
        c(&format!("{}/{name}", self.tree().display()))
    }
}

fn c(text: &str) -> CString {
    CString::new(text).expect("no zero")
}

fn errno<T: std::fmt::Debug>(result: Result<T, Error>) -> i32 {
    match result {
        Err(Error::Errno(number)) => number,
        other => panic!("no error of Unix's: {other:?}"),
    }
}

fn each_way(test: impl Fn(&Served)) {
    for traps in [false, true] {
        test(&Served::new(traps));
    }
}

#[test]
fn the_view_changes_and_the_host_does_not() {
    each_way(|served| {
        fs::write(served.tree().join("old"), "of the host").expect("write");
        let process = served.process();
        let fd = process.open(&served.path("old"), READ_WRITE | APPEND, 0).expect("open");
        process.write_all(fd, b", changed").expect("write");
        assert_eq!(process.pread(fd, 3, 100).expect("pread"), b"the host, changed");
        process.mkdir(&served.path("new"), 0o777).expect("mkdir");
        assert_eq!(process.stat(&served.path("new")).expect("stat").st_mode, 0o040_755);
        process.unlink(&served.path("old")).expect("unlink");
        // A call is a trap once the server's thread has come to wait.
        while served.traps && served.system.trap_calls() == 0 {
            process.nop().expect("nop");
        }
        assert_eq!(served.system.trap_calls() > 0, served.traps);
        assert_eq!(errno(process.stat(&served.path("old"))), 2);
        // What is open stays so.
        assert_eq!(process.fstat(fd).expect("fstat").st_size, 20);
        let names = process.read_dir(&served.path("")).expect("read_dir");
        assert_eq!(names, [(c("new"), true)]);
        assert_eq!(fs::read(served.tree().join("old")).expect("read"), b"of the host");
        assert!(!served.tree().join("new").exists());
    });
}

#[test]
fn attributes_change_in_the_layer() {
    each_way(|served| {
        let (process, old) = (served.process(), served.path("old"));
        fs::write(served.tree().join("old"), "of the host").expect("write");
        process.port.unix_utimes(&old, 1, 2, 3, 4).expect("utimes");
        let stat = process.stat(&old).expect("stat");
        assert_eq!([stat.st_atime_s, stat.st_atime_ns, stat.st_mtime_s, stat.st_mtime_ns], [1, 2, 3, 4]);
        let fd = process.open(&old, READ_WRITE, 0).expect("open");
        process.port.unix_ftruncate(fd, 2).expect("ftruncate");
        process.port.unix_fsync(fd).expect("fsync");
        assert_eq!(process.pread(fd, 0, 100).expect("pread"), b"of");
        assert_eq!(errno(process.port.unix_ftruncate(fd, -1).map_err(Error::from)), 22);
        process.port.unix_access(&old, Access::READ_OK.bits() as i32).expect("access");
        assert_eq!(errno(process.port.unix_access(&old, Access::EXEC_OK.bits() as i32).map_err(Error::from)), 13);
        assert_eq!(errno(process.port.unix_access(&old, 8).map_err(Error::from)), 22);
        let (uid, gid) = (process.port.unix_getuid().expect("getuid"), process.port.unix_getgid().expect("getgid"));
        let own = (rustix::process::getuid().as_raw(), rustix::process::getgid().as_raw());
        assert_eq!(((uid.uid, gid.gid), (uid.euid, gid.egid)), (own, own));
        assert_eq!(fs::read(served.tree().join("old")).expect("read"), b"of the host");
    });
}

#[test]
fn a_large_file_comes_back_as_it_was_written() {
    each_way(|served| {
        let process = served.process();
        let fd = process.open(&served.path("large"), READ_WRITE | CREATE, 0o600).expect("open");
        let data: Vec<u8> = (0..100_000u32).map(|number| (number % 251) as u8).collect();
        process.write_all(fd, &data).expect("write");
        assert_eq!(process.port.unix_lseek(fd, 0, 0).expect("lseek"), 0);
        let mut back = Vec::new();
        loop {
            let part = process.read(fd, u32::MAX).expect("read");
            if part.is_empty() {
                break;
            }
            back.extend(part);
        }
        assert!(back == data, "{} bytes came back", back.len());
    });
}

#[test]
fn a_child_shares_what_its_parent_had_open() {
    each_way(|served| {
        let parent = served.process();
        let fd = parent.open(&served.path("shared"), READ_WRITE | CREATE, 0o600).expect("open");
        parent.port.unix_chdir(&served.path("")).expect("chdir");
        let child = parent.fork().expect("fork");
        assert_eq!(child.port.unix_getppid().expect("getppid"), parent.getpid());
        child.write_all(fd, b"child ").expect("write");
        parent.write_all(fd, b"parent").expect("write");
        assert_eq!(child.pread(fd, 0, 64).expect("pread"), b"child parent");
        assert_eq!(child.stat(c"shared").expect("stat").st_size, 12);
        child.close(fd).expect("close");
        assert_eq!(errno(child.close(fd)), 9);
        assert_eq!(parent.fstat(fd).expect("fstat").st_size, 12);
        let copy = parent.port.unix_dup(fd).expect("dup");
        parent.port.unix_lseek(copy, 6, 0).expect("lseek");
        assert_eq!(parent.read(fd, 64).expect("read"), b"parent");
        // The parent's end is not its child's; then the first is its parent.
        drop(parent);
        while child.port.unix_getppid().expect("getppid") != 1 {
            thread::yield_now();
        }
        assert_eq!(child.stat(c"shared").expect("stat").st_size, 12);
    });
}

#[test]
fn who_works_in_a_directory_goes_with_it() {
    each_way(|served| {
        fs::create_dir_all(served.tree().join("a/b")).expect("directories");
        let (inside, outside) = (served.process(), served.process());
        inside.port.unix_chdir(&served.path("a/b")).expect("chdir");
        let fd = inside.open(c".", OFlags::DIRECTORY.bits() as i32, 0).expect("open");
        outside.port.unix_rename(&served.path("a"), &served.path("moved")).expect("rename");
        assert_eq!(inside.port.unix_getcwd().expect("getcwd"), served.path("moved/b"));
        inside.mkdir(c"made", 0o700).expect("mkdir");
        assert_eq!(outside.read_dir(&served.path("moved/b")).expect("read_dir"), [(c("made"), true)]);
        inside.port.unix_chdir(c"/").expect("chdir");
        inside.port.unix_fchdir(fd).expect("fchdir");
        assert_eq!(inside.port.unix_getcwd().expect("getcwd"), served.path("moved/b"));
        inside.port.unix_rmdir(c"made").expect("rmdir");
        outside.port.unix_rmdir(&served.path("moved/b")).expect("rmdir");
        assert_eq!(errno(inside.mkdir(c"made", 0o700)), 2);
    });
}

#[test]
fn signals_reach_whom_they_are_for() {
    each_way(|served| {
        let (mut one, mut other) = (served.process(), served.process());
        let told = Arc::new(Mutex::new(Vec::new()));
        let tell = Arc::clone(&told);
        one.on_signal(10, move |signal| tell.lock().expect("a lock").push(signal));
        let own = one.getpid();
        one.kill(own, 10).expect("kill");
        assert_eq!(*told.lock().expect("a lock"), [10]);
        other.kill(own, 10).expect("kill");
        other.kill(own, 17).expect("kill");
        assert!(one.handle_signals(Duration::from_secs(60)).expect("signals"));
        // Nothing handles this one.
        other.kill(own, 15).expect("kill");
        assert!(!one.handle_signals(Duration::from_secs(60)).expect("signals"));
        assert_eq!(*told.lock().expect("a lock"), [10, 10]);
        assert_eq!(errno(other.kill(own, 65)), 22);
        assert_eq!(errno(other.kill(1, 9)), 1);
        // One that nobody reads is refused at last, and keeps nobody waiting.
        while let Ok(()) = other.kill(own, 10) {}
        assert_eq!(errno(other.kill(own, 10)), 11);
        other.kill(own, 9).expect("kill");
        while one.nop().is_ok() {}
        while other.kill(own, 0).is_ok() {}
        assert_eq!(errno(other.kill(own, 0)), 3);
    });
}

#[test]
fn the_first_process_is_nobodys() {
    each_way(|served| {
        let first = &served.first;
        let refused = |code: slipway_mach::mig::Error| Error::from(code);
        for result in [
            first.unix_open(c"/", 0, 0).map(drop),
            first.unix_chdir(c"/"),
            first.unix_umask(0).map(drop),
            first.unix_kill(1, 0),
            first.unix_mkdir(&served.path("made"), 0o700),
        ] {
            assert_eq!(errno(result.map_err(refused)), 1);
        }
        first.unix_nop().expect("nop");
    });
}

#[test]
fn limits_are_kept() {
    each_way(|served| {
        let process = served.process();
        let (_, most) = process.getrlimit(7).expect("getrlimit");
        process.setrlimit(7, (3, most)).expect("setrlimit");
        assert_eq!([0; 3].map(|_| process.open(c"/", 0, 0).expect("open")), [0, 1, 2]);
        assert_eq!(errno(process.open(c"/", 0, 0)), 24);
        assert_eq!(errno(process.port.unix_dup(0).map_err(Error::from)), 24);
        process.close(1).expect("close");
        assert_eq!(process.open(c"/", 0, 0).expect("open"), 1);
        assert_eq!(errno(process.setrlimit(7, (3, most + 1))), 1);
        assert_eq!(errno(process.getrlimit(16)), 22);
        // As many processes as there can be, and as many again when these have ended.
        for _ in 0..2 {
            let mut all = Vec::new();
            let refused = loop {
                match Process::of(&served.first) {
                    Ok(process) => all.push(process),
                    // Those that ended are perhaps not gone yet.
                    Err(_) if all.len() < 500 => thread::yield_now(),
                    Err(error) => break error,
                }
            };
            assert_eq!(refused, Error::Errno(11));
        }
    });
}

#[test]
fn nothing_leads_out_of_the_view() {
    each_way(|served| {
        let fifo = served.path("fifo");
        rustix::fs::mknodat(rustix::fs::CWD, &*fifo, rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU, 0).expect("a FIFO");
        let process = served.process();
        for path in [c"/proc/self/root", c"/proc", c"/../proc/1", c"/tmp/../proc/self/fd/0"] {
            assert_eq!(errno(process.stat(path)), 2, "{path:?}");
            assert_eq!(errno(process.open(path, 0, 0)), 2, "{path:?}");
        }
        for flags in [0, 1, READ_WRITE] {
            assert_eq!(errno(process.open(&fifo, flags, 0)), 13);
            assert_eq!(errno(process.open(c"/dev/tty", flags, 0)), 13);
        }
        let null = process.open(c"/dev/null", READ_WRITE, 0).expect("open");
        process.write_all(null, &[0; 9000]).expect("write");
        assert_eq!(errno(process.open(c"/", OFlags::PATH.bits() as i32, 0)), 22);
        assert_eq!(errno(process.open(c"/tmp", OFlags::TMPFILE.bits() as i32 | READ_WRITE, 0o600)), 22);
        let long = c(&"x/".repeat(2047));
        assert_eq!(errno(process.stat(&long)), 2);
        assert_eq!(
            errno(
                process.port.unix_read(null, 0).map_err(Error::from).map(|data| assert!(data.is_empty())).and(process.close(77))
            ),
            9
        );
    });
}

#[test]
fn many_threads_work_on_one_view() {
    each_way(|served| {
        let (path, first) = (served.path("counter"), &served.first);
        let process = served.process();
        process.open(&path, CREATE, 0o600).expect("open");
        let task = Task::current();
        thread::scope(|scope| {
            for number in 0..4 {
                let path = &path;
                scope.spawn(move || {
                    task.enter();
                    let process = Process::of(first).expect("a process");
                    let fd = process.open(path, READ_WRITE | APPEND, 0).expect("open");
                    for turn in 0..200 {
                        process.write_all(fd, b"x").expect("write");
                        let own = CString::new(format!("{}-{number}-{turn}", path.to_str().expect("text"))).expect("no zero");
                        process.mkdir(&own, 0o700).expect("mkdir");
                        process.port.unix_rmdir(&own).expect("rmdir");
                    }
                });
            }
        });
        assert_eq!(process.stat(&path).expect("stat").st_size, 800);
    });
}

/// A process that ends in the middle of a call, or that leaves messages behind, is no matter to others, nor to the server.
#[test]
fn a_process_that_ends_gives_up_what_it_had() {
    each_way(|served| {
        // Other tests of this process have descriptors of their own.
        let tree = served.tree();
        let is_tree = |entry: std::io::Result<fs::DirEntry>| fs::read_link(entry?.path()).map(|link| link == tree);
        let files = || {
            fs::read_dir("/proc/self/fd").expect("descriptors").filter_map(|entry| is_tree(entry).ok()).filter(|is| *is).count()
        };
        let process = served.process();
        process.open(&served.path("kept"), CREATE, 0o600).expect("open");
        for _ in 0..20 {
            let other = served.process();
            (0..10).for_each(|_| _ = other.open(&served.path(""), 0, 0).expect("open"));
            assert!(files() >= 10);
        }
        let (told, done): (_, Receiver<()>) = channel();
        let watchdog = thread::spawn(move || done.recv_timeout(Duration::from_secs(120)).is_ok());
        while files() > 0 && !watchdog.is_finished() {
            thread::yield_now();
        }
        let _ = told.send(());
        assert!(watchdog.join().expect("a watchdog"), "{} descriptors are left", files());
        process.stat(&served.path("kept")).expect("stat");
    });
}
