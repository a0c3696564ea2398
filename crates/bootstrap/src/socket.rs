//! The socket that clients find the server by, and the lock that keeps it to one server.

use anyhow::{Context, Result, bail};
use rustix::{
    event::{PollFd, PollFlags, Timespec},
    fs::{FlockOperation, Mode, OFlags, flock, inotify},
    io::Errno,
    net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, accept_with, bind, listen, socket_with},
};
use slipway_mach::bootstrap::contact::{self, Failed};
use std::{
    ffi::OsString,
    io,
    mem::MaybeUninit,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

/// How long another server that has the lock may take until it listens.
const PATIENCE: Duration = Duration::from_secs(15);
/// Connections that wait to be answered.
const BACKLOG: i32 = 128;

/// The socket, for as long as this is not dropped.
#[derive(Debug)]
pub struct ServerSocket {
    path: PathBuf,
    listener: OwnedFd,
    /// Closed to have a descriptor for a connection that can only be refused.
    reserve: Option<OwnedFd>,
    /// The kernel gives it up when the process ends, in whatever way.
    _lock: OwnedFd,
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    name.into()
}

impl ServerSocket {
    /// Takes the socket at `path`. None if another server listens there.
    pub fn take(path: &Path) -> Result<Option<Self>> {
        let shown = path.display();
        let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let mut news = None;
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(lock) = lock(&beside(path, ".lock"))? {
                return Self::open(path, lock).map(Some).with_context(|| format!("{shown}"));
            }
            // Whatever the other server does after a look is seen: the next look comes after the watch.
            let Some(news) = &news else {
                news = Some(watch(dir));
                continue;
            };
            match contact::greet(path) {
                Ok(_) => return Ok(None),
                Err(Failed::Nobody) => {}
                Err(error) => bail!("{shown}: another server has the lock, but {error}"),
            }
            if !next(news.as_ref(), deadline)? {
                bail!("{shown}: another server has the lock, but does not listen within {} seconds", PATIENCE.as_secs());
            }
        }
    }

    fn open(path: &Path, lock: OwnedFd) -> Result<Self> {
        let listener =
            socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK, None)?;
        // Bound under another name and renamed when it listens: whoever sees the name can connect, and what a
        // killed server left there is replaced.
        let fresh = beside(path, ".new");
        let _ = std::fs::remove_file(&fresh);
        bind(&listener, &SocketAddrUnix::new(&fresh)?)?;
        rustix::fs::chmod(&fresh, Mode::RUSR | Mode::WUSR)?;
        listen(&listener, BACKLOG)?;
        rustix::fs::rename(&fresh, path)?;
        let reserve = reserve();
        Ok(Self { path: path.to_path_buf(), listener, reserve, _lock: lock })
    }

    /// Where clients find it.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Readable when somebody connects.
    pub fn listener(&self) -> BorrowedFd<'_> {
        self.listener.as_fd()
    }

    /// Has `answer` answer all that have connected.
    pub fn welcome(&mut self, mut answer: impl FnMut(BorrowedFd<'_>) -> io::Result<()>) {
        // What is left is heard of again.
        for _ in 0..WELCOMES {
            match accept_with(&self.listener, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK) {
                Ok(connection) => {
                    if let Err(error) = answer(connection.as_fd()) {
                        eprintln!("slipway-bootstrap: a client was turned away: {error}");
                    }
                    self.reserve = self.reserve.take().or_else(reserve);
                }
                Err(Errno::MFILE | Errno::NFILE) => {
                    // Without a descriptor for it the connection would stay, and the socket readable.
                    if self.reserve.take().is_none() {
                        return;
                    }
                    eprintln!("slipway-bootstrap: a client was turned away: no descriptors left (ulimit -n)");
                    if let Ok(connection) = accept_with(&self.listener, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK) {
                        contact::refuse(connection.as_fd());
                    }
                    self.reserve = reserve();
                }
                Err(Errno::INTR | Errno::CONNABORTED) => {}
                Err(_) => return,
            }
        }
    }
}

impl Drop for ServerSocket {
    /// The file goes before the lock: it is still this server's.
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Connections that are taken before anything else is looked at.
const WELCOMES: usize = 64;

fn reserve() -> Option<OwnedFd> {
    rustix::fs::open("/dev/null", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).ok()
}

/// The lock, if no other process has it. The file stays: one that is removed could be locked twice.
fn lock(path: &Path) -> Result<Option<OwnedFd>> {
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let file = rustix::fs::open(path, flags, Mode::RUSR | Mode::WUSR).with_context(|| format!("{}", path.display()))?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(Some(file)),
        Err(Errno::WOULDBLOCK) => Ok(None),
        Err(error) => Err(error).with_context(|| format!("{}", path.display())),
    }
}

/// Tells what happens in the directory. None if the user has no watches left.
fn watch(dir: &Path) -> Option<OwnedFd> {
    let news = inotify::init(inotify::CreateFlags::CLOEXEC | inotify::CreateFlags::NONBLOCK).ok()?;
    inotify::add_watch(&news, dir, inotify::WatchFlags::MOVED_TO | inotify::WatchFlags::CLOSE_WRITE).ok()?;
    Some(news)
}

/// Between two looks without a watch.
const GLANCE: Duration = Duration::from_millis(10);

/// Waits until something happened in the directory, or for a moment without a watch; false at the deadline.
fn next(news: Option<&OwnedFd>, deadline: Instant) -> Result<bool> {
    let left = deadline.saturating_duration_since(Instant::now());
    let Some(news) = news else {
        #[allow(clippy::disallowed_methods, reason = "there is nothing that could tell")]
        std::thread::sleep(left.min(GLANCE));
        return Ok(!left.is_zero());
    };
    let timeout = Timespec { tv_sec: left.as_secs() as i64, tv_nsec: i64::from(left.subsec_nanos()) };
    match rustix::event::poll(&mut [PollFd::new(news, PollFlags::IN)], Some(&timeout)) {
        Ok(0) => return Ok(false),
        Ok(_) | Err(Errno::INTR) => {}
        Err(error) => return Err(error.into()),
    }
    let mut buffer = [MaybeUninit::uninit(); 4096];
    let mut reader = inotify::Reader::new(news, &mut buffer);
    while reader.next().is_ok() {}
    Ok(true)
}
