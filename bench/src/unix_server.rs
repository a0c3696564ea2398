//! `slipway-bench unix-server`: Unix's calls to a server that has them as mig routines: in another process, in this one by messages, and in
//! this one by trap; beside the host's own.
//!
//! The tests are those of Lepreau's tables 4 and 6. All go through the emulation library's side (`slipway_unix_server::Process`), which
//! answers some by itself. The server does the input and output, as OSF/1's did.

use crate::harness::Code;
use crate::harness::exchange::{Exchange, idle};
use crate::harness::job::{Job, Side};
use crate::harness::link::Link;
use crate::meet::served;
use anyhow::{Context, ensure};
use rustix::fs::{AtFlags, CWD, Mode, OFlags};
use rustix::process::{Resource, Signal};
use slipway_fabric::sync::{AtomicU64, Ordering};
use slipway_layer::{About, Rules, Store, View};
use slipway_mach::mig::SendRight;
use slipway_mach::rights::ReceiveRight;
use slipway_unix_server::stubs::Unix;
use slipway_unix_server::{Process, System};
use std::ffi::{CStr, CString};
use std::fs::File;
use std::hint::black_box;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

pub const CODE: Code = Code { name: "unix-server", prepare, special: |_, _| Ok(()) };

/// RLIMIT_FSIZE: nothing here comes near it.
const LIMIT: i32 = 1;
const SIGNAL: i32 = 10;
/// Andrew's tree: directories, files in each, and bytes of each.
const TREE: (usize, usize, usize) = (4, 8, 3000);

/// Calls of a turn of Andrew's.
const ANDREW: u64 = {
    let (dirs, all) = (TREE.0 as u64, (TREE.0 * TREE.1) as u64);
    // Of a directory that is read: open, two reads of entries, close.
    let listings = 3 * (1 + dirs) * 4;
    2 * (1 + dirs) + listings + all * (3 + 1 + 3 + 1)
};

/// What a program asks of Unix.
trait Calls {
    type Fd;
    /// Where it works.
    fn dir(&self) -> &Path;
    /// What comes no further than the emulation library.
    fn getpid(&mut self) -> i32;
    fn nop(&mut self) -> anyhow::Result<()>;
    fn getgid(&mut self) -> anyhow::Result<u32>;
    fn setrlimit(&mut self) -> anyhow::Result<()>;
    fn open(&mut self, path: &CStr, flags: OFlags) -> anyhow::Result<Self::Fd>;
    fn close(&mut self, fd: Self::Fd) -> anyhow::Result<()>;
    fn read(&mut self, fd: &Self::Fd, offset: usize, count: usize) -> anyhow::Result<usize>;
    fn write(&mut self, fd: &Self::Fd, offset: usize, data: &[u8]) -> anyhow::Result<()>;
    /// The size.
    fn stat(&mut self, path: &CStr) -> anyhow::Result<usize>;
    fn mkdir(&mut self, path: &CStr) -> anyhow::Result<()>;
    fn names(&mut self, path: &CStr) -> anyhow::Result<Vec<CString>>;
    fn remove(&mut self, path: &CStr, is_dir: bool) -> anyhow::Result<()>;
    /// One to itself: it was handled when this returns.
    fn signal(&mut self) -> anyhow::Result<()>;
}

/// The host's, with how many signals have come.
struct Host<'a>(&'a Path, Arc<AtomicU64>);

impl Calls for Host<'_> {
    type Fd = File;

    fn dir(&self) -> &Path {
        self.0
    }

    fn getpid(&mut self) -> i32 {
        rustix::process::getpid().as_raw_nonzero().get()
    }

    fn nop(&mut self) -> anyhow::Result<()> {
        black_box(rustix::process::getppid());
        Ok(())
    }

    fn getgid(&mut self) -> anyhow::Result<u32> {
        Ok(rustix::process::getgid().as_raw())
    }

    fn setrlimit(&mut self) -> anyhow::Result<()> {
        let limit = rustix::process::Rlimit { current: None, maximum: None };
        Ok(rustix::process::setrlimit(Resource::Fsize, limit)?)
    }

    fn open(&mut self, path: &CStr, flags: OFlags) -> anyhow::Result<File> {
        Ok(rustix::fs::open(path, flags | OFlags::CLOEXEC, Mode::from_raw_mode(0o600))?.into())
    }

    fn close(&mut self, _: File) -> anyhow::Result<()> {
        Ok(())
    }

    fn read(&mut self, fd: &File, offset: usize, count: usize) -> anyhow::Result<usize> {
        Ok(fd.read_at(&mut [0; 8192][..count], offset as u64)?)
    }

    fn write(&mut self, fd: &File, offset: usize, data: &[u8]) -> anyhow::Result<()> {
        Ok(fd.write_all_at(data, offset as u64)?)
    }

    fn stat(&mut self, path: &CStr) -> anyhow::Result<usize> {
        Ok(rustix::fs::stat(path)?.st_size as usize)
    }

    fn mkdir(&mut self, path: &CStr) -> anyhow::Result<()> {
        Ok(rustix::fs::mkdir(path, Mode::RWXU)?)
    }

    fn names(&mut self, path: &CStr) -> anyhow::Result<Vec<CString>> {
        let dir = rustix::fs::Dir::new(rustix::fs::open(path, OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?)?;
        let names = dir.map(|entry| Ok(entry?.file_name().to_owned())).collect::<anyhow::Result<Vec<_>>>()?;
        Ok(names.into_iter().filter(|name| !matches!(name.to_bytes(), b"." | b"..")).collect())
    }

    fn remove(&mut self, path: &CStr, is_dir: bool) -> anyhow::Result<()> {
        Ok(rustix::fs::unlinkat(CWD, path, if is_dir { AtFlags::REMOVEDIR } else { AtFlags::empty() })?)
    }

    fn signal(&mut self) -> anyhow::Result<()> {
        let before = self.1.load(Ordering::Relaxed);
        rustix::process::kill_process(rustix::process::getpid(), Signal::USR1)?;
        ensure!(self.1.load(Ordering::Relaxed) == before + 1, "no signal came");
        Ok(())
    }
}

/// A process of the server's.
struct Served<'a>(&'a Path, Process, Arc<AtomicU64>);

impl Calls for Served<'_> {
    type Fd = i32;

    fn dir(&self) -> &Path {
        self.0
    }

    fn getpid(&mut self) -> i32 {
        self.1.getpid()
    }

    fn nop(&mut self) -> anyhow::Result<()> {
        Ok(self.1.nop()?)
    }

    fn getgid(&mut self) -> anyhow::Result<u32> {
        Ok(self.1.getgid()?)
    }

    fn setrlimit(&mut self) -> anyhow::Result<()> {
        Ok(self.1.setrlimit(LIMIT, (u64::MAX, u64::MAX))?)
    }

    fn open(&mut self, path: &CStr, flags: OFlags) -> anyhow::Result<i32> {
        Ok(self.1.open(path, flags.bits() as i32, 0o600)?)
    }

    fn close(&mut self, fd: i32) -> anyhow::Result<()> {
        Ok(self.1.close(fd)?)
    }

    fn read(&mut self, fd: &i32, offset: usize, count: usize) -> anyhow::Result<usize> {
        Ok(self.1.pread(*fd, offset as i64, count as u32)?.len())
    }

    fn write(&mut self, fd: &i32, offset: usize, data: &[u8]) -> anyhow::Result<()> {
        ensure!(self.1.pwrite(*fd, offset as i64, data)? == data.len(), "a part was written");
        Ok(())
    }

    fn stat(&mut self, path: &CStr) -> anyhow::Result<usize> {
        Ok(self.1.stat(path)?.st_size as usize)
    }

    fn mkdir(&mut self, path: &CStr) -> anyhow::Result<()> {
        Ok(self.1.mkdir(path, 0o700)?)
    }

    fn names(&mut self, path: &CStr) -> anyhow::Result<Vec<CString>> {
        Ok(self.1.read_dir(path)?.into_iter().map(|(name, _)| name).collect())
    }

    fn remove(&mut self, path: &CStr, is_dir: bool) -> anyhow::Result<()> {
        if is_dir {
            self.1.port.unix_rmdir(path)?
        } else {
            self.1.unlink(path)?
        }
        Ok(())
    }

    fn signal(&mut self) -> anyhow::Result<()> {
        let before = self.2.load(Ordering::Relaxed);
        self.1.kill(self.1.getpid(), SIGNAL)?;
        ensure!(self.2.load(Ordering::Relaxed) == before + 1, "no signal came");
        Ok(())
    }
}

/// One test over and over.
struct Tested<C: Calls> {
    calls: C,
    test: String,
    file: C::Fd,
    path: CString,
    turn: u64,
    /// The server, and how many calls were made by trap before the first that counts, where all must be traps.
    traps: Option<(Arc<System>, u64)>,
}

impl<C: Calls> Tested<C> {
    fn new(mut calls: C, job: &Job, server: Option<Arc<System>>) -> anyhow::Result<Self> {
        let path = name(calls.dir(), "file")?;
        let file = calls.open(&path, OFlags::CREATE | OFlags::RDWR)?;
        calls.write(&file, 0, &[1; 4096])?;
        let mut traps = None;
        if let Some(server) = server {
            // A call is a trap when the server's thread has come to wait.
            for turn in 0.. {
                let before = server.trap_calls();
                calls.nop()?;
                if server.trap_calls() > before {
                    break;
                }
                ensure!(turn < 10_000, "the server does not come to wait for calls");
                std::thread::yield_now();
            }
            traps = Some((Arc::clone(&server), server.trap_calls()));
        }
        Ok(Self { calls, test: job.case.test.name.clone(), file, path, turn: 0, traps })
    }

    /// The four phases of the Andrew benchmark that work on files; the tree is removed at last.
    fn andrew(&mut self) -> anyhow::Result<()> {
        let root = self.calls.dir().join(format!("andrew-{}", self.turn));
        let calls = &mut self.calls;
        let (dirs, files, size) = TREE;
        let contents = vec![7; size];
        calls.mkdir(&name(&root, "")?)?;
        for dir in 0..dirs {
            calls.mkdir(&name(&root, &dir.to_string())?)?;
        }
        for (dir, file) in (0..dirs).flat_map(|dir| (0..files).map(move |file| (dir, file))) {
            let fd = calls.open(&name(&root, &format!("{dir}/{file}"))?, OFlags::CREATE | OFlags::WRONLY)?;
            calls.write(&fd, 0, &contents)?;
            calls.close(fd)?;
        }
        let each = |calls: &mut C, work: &mut dyn FnMut(&mut C, &CStr) -> anyhow::Result<()>| {
            let mut count = 0;
            for dir in calls.names(&name(&root, "")?)? {
                let dir = root.join(dir.to_str()?);
                for file in calls.names(&name(&dir, "")?)? {
                    work(calls, &name(&dir, file.to_str()?)?)?;
                    count += 1;
                }
            }
            ensure!(count == dirs * files, "{count} files");
            Ok(())
        };
        each(calls, &mut |calls, path| {
            ensure!(calls.stat(path)? == size, "another size");
            Ok(())
        })?;
        each(calls, &mut |calls, path| {
            let fd = calls.open(path, OFlags::RDONLY)?;
            ensure!(calls.read(&fd, 0, 4096)? == size, "another size");
            calls.close(fd)
        })?;
        each(calls, &mut |calls, path| calls.remove(path, false))?;
        for dir in 0..dirs {
            calls.remove(&name(&root, &dir.to_string())?, true)?;
        }
        calls.remove(&name(&root, "")?, true)
    }
}

fn name(dir: &Path, name: &str) -> anyhow::Result<CString> {
    Ok(CString::new(dir.join(name).into_os_string().into_encoded_bytes())?)
}

impl<C: Calls> Exchange for Tested<C> {
    fn round_trip(&mut self) -> anyhow::Result<()> {
        self.turn += 1;
        let calls = &mut self.calls;
        match &*self.test {
            "nop" => calls.nop()?,
            "getpid" => _ = black_box(calls.getpid()),
            "getgid" => _ = black_box(calls.getgid()?),
            "setrlimit" => calls.setrlimit()?,
            "read-4096" => ensure!(calls.read(&self.file, 0, 4096)? == 4096, "a part was read"),
            "read-64" => ensure!(calls.read(&self.file, 0, 64)? == 64, "a part was read"),
            "write-4096" => calls.write(&self.file, 0, &[1; 4096])?,
            "write-64" => calls.write(&self.file, 0, &[1; 64])?,
            "stat" => ensure!(calls.stat(&self.path)? == 4096, "another size"),
            "create" => {
                let path = name(calls.dir(), &format!("made-{}", self.turn))?;
                let fd = calls.open(&path, OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY)?;
                calls.close(fd)?;
            }
            "signal" => calls.signal()?,
            "andrew" => self.andrew()?,
            other => anyhow::bail!("there is no test {other}"),
        }
        Ok(())
    }

    fn check(&self) -> anyhow::Result<()> {
        let Some((server, before)) = &self.traps else { return Ok(()) };
        let each = match &*self.test {
            "getpid" => 0,
            "create" => 2,
            "andrew" => ANDREW,
            _ => 1,
        };
        let (due, traps) = (self.turn * each, server.trap_calls() - before);
        ensure!(traps == due, "{traps} of {due} calls were traps, so that something else was measured");
        Ok(())
    }
}

/// Files on a layer over the host's: the server of a job.
fn system(directory: &Path, traps: bool) -> anyhow::Result<Arc<System>> {
    let store = Store::open(&directory.join("layers"))?;
    store.create("bench", &About::default())?;
    let view = View::new(Path::new("/"), store.layers(&[], Some("bench"))?, Rules::default())?;
    Ok(System::new(view, traps))
}

fn prepare(link: &mut Link, job: &Job) -> anyhow::Result<Box<dyn Exchange>> {
    let method = &*job.case.method.name;
    let counter = Arc::new(AtomicU64::new(0));
    if method == "host" {
        if job.side == Side::Server {
            return idle();
        }
        let told = Arc::clone(&counter);
        #[allow(unsafe_code, reason = "a signal handler")]
        // SAFETY: the handler does nothing but to count.
        unsafe {
            signal_hook::low_level::register(signal_hook::consts::SIGUSR1, move || _ = told.fetch_add(1, Ordering::Relaxed))?;
        }
        let dir = Box::leak(job.directory.clone().into_boxed_path());
        return Ok(Box::new(Tested::new(Host(dir, counter), job, None)?));
    }
    let (traps, in_one_process) = (method == "trap", matches!(method, "one-process" | "trap"));
    let is_here = in_one_process == (job.side == Side::Client);
    let server = is_here.then(|| system(&job.directory, traps)).transpose()?;
    let own = server.clone().filter(|_| traps);
    served(
        (link, job, in_one_process),
        |_, ends| Ok(ends),
        move |ends| {
            let port = ReceiveRight::from_name(ends.task, ends.own);
            match server.context("no server")?.serve(port).context("the Unix server")? {}
        },
        |ends, _| {
            let first = Unix(SendRight::from_name(ends.task, ends.other));
            let mut process = Process::of(&first).context("a process of the server's")?;
            let told = Arc::clone(&counter);
            process.on_signal(SIGNAL, move |_| _ = told.fetch_add(1, Ordering::Relaxed));
            let dir = Box::leak(job.directory.clone().into_boxed_path());
            Ok(Box::new(Tested::new(Served(dir, process, counter), job, own)?))
        },
    )
}
