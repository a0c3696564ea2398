//! What a hub's clients come to: its listening sockets, in an epoll set that the program waits for.

use crate::{
    descriptor::{Reserved, shortage},
    line::TOKEN,
    pool::{Parked, Pool},
    public::Public,
    report,
    settings::Settings,
};
use rustix::{
    event::epoll,
    fs::Mode,
    io::Errno,
    net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, accept_with, bind, listen, socket_with},
};
use std::{
    io,
    os::fd::{AsFd, AsRawFd, BorrowedFd},
    path::Path,
    sync::OnceLock,
};

/// Most offers and greetings that wait, where there are no more connections than that; beyond it the oldest are dropped and stay on their sockets.
pub(crate) const MOST_WAITING: usize = 128;

/// Most newcomers of other users that are taken in one hearing, and most that are kept while they say nothing. Anybody may come to a public hub.
pub(crate) const MOST_FOREIGN: usize = 16;

/// Most newcomers that the kernel keeps for the hub. Clients that a benchmark or a pool started together offer together, too.
const MOST_CALLING: i32 = 4096;

/// The hub's file may be executed, which means nothing to the system: its listening socket was made by another process.
pub(crate) const INHERITED: Mode = Mode::XUSR;

/// What clients come to.
#[derive(Debug)]
pub struct Gate {
    /// An epoll set of the listening socket and of those whose connection is not accepted yet.
    pub(crate) set: Reserved,
    listening: Reserved,
    /// For clients of other users.
    public: Option<Public>,
    /// Device and number of its file.
    pub(crate) file: (u64, u64),
    /// Once the server has forked.
    pub(crate) pool: OnceLock<Pool>,
}

impl Gate {
    /// At `path`, where it replaces what is there.
    pub(crate) fn open(path: &Path, inherited: bool) -> io::Result<Self> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let listening = Reserved::make_aside(|| socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None))?;
        let set = Reserved::make_aside(|| epoll::create(epoll::CreateFlags::CLOEXEC))?;
        // Bound under another name and renamed when it listens: whoever sees the name can connect,
        // and what a killed server left there is replaced.
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let fresh = path.with_file_name(format!(".{name}-{}", std::process::id()));
        let _ = rustix::fs::unlink(&fresh);
        bind(&listening, &SocketAddrUnix::new(&fresh)?)?;
        let mode = if inherited { Mode::RUSR | Mode::WUSR | INHERITED } else { Mode::RUSR | Mode::WUSR };
        let ready = listen(&listening, MOST_CALLING)
            .and_then(|()| rustix::fs::chmod(&fresh, mode))
            .and_then(|()| rustix::fs::stat(&fresh))
            .and_then(|file| rustix::fs::rename(&fresh, path).map(|()| (file.st_dev, file.st_ino)));
        let file = ready.inspect_err(|_| _ = rustix::fs::unlink(&fresh))?;
        // Clients of other users reject a hub whose server inherited its listening socket.
        let public = if Settings::get().all_users && !inherited {
            let open = Public::open(&name, MOST_CALLING);
            open.inspect_err(|error| {
                report::warn(format_args!("no hub for clients of other users ({error}): they stay on their sockets"));
            })
            .ok()
        } else {
            None
        };
        for door in std::iter::once(listening.as_fd()).chain(public.iter().map(AsFd::as_fd)) {
            epoll::add(&set, door, epoll::EventData::new_u64(0), epoll::EventFlags::IN)?;
        }
        Ok(Self { set, listening, public, file, pool: OnceLock::new() })
    }

    /// Has it a pool from here on; false if there are no descriptors for one.
    pub(crate) fn pool(&self) -> bool {
        self.pool.get().is_some() || Pool::new().is_ok_and(|pool| self.pool.set(pool).is_ok())
    }

    /// Puts a socket, and what was heard from it, where any process of the server finds it.
    pub(crate) fn park(&self, parked: &Parked, line: Reserved, token: [u8; TOKEN], ring: u64) {
        let _ = epoll::delete(&self.set, &line);
        if let Some(pool) = self.pool.get() {
            pool.put(parked, line, token, ring);
        }
    }

    /// Accepts those that have come, at most so many, and of other users `foreign`, which counts down. Also whether there were descriptors for all.
    pub(crate) fn admit(&self, most: usize, foreign: &mut usize) -> (Vec<Reserved>, bool) {
        let (mut newcomers, served) = accept_from(self.listening.as_fd(), most);
        if let Some(public) = self.public.as_ref().filter(|_| newcomers.len() < most) {
            let (strangers, served) = accept_from(public.as_fd(), most.min(*foreign));
            *foreign -= strangers.len();
            // The program's descriptors come first.
            newcomers.extend(strangers.into_iter().filter(|fd| shortage(fd.as_fd().as_raw_fd()) == 0));
            if !served {
                let _ = epoll::delete(&self.set, public);
            }
        }
        (newcomers, served)
    }
}

impl AsFd for Gate {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.set.as_fd()
    }
}

/// Accepts newcomers, at most so many: also whether there were descriptors for all.
fn accept_from(door: BorrowedFd<'_>, most: usize) -> (Vec<Reserved>, bool) {
    let mut newcomers = Vec::new();
    for _ in 0..most {
        let newcomer = Reserved::make_aside(|| accept_with(door, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK));
        match newcomer.map_err(|error| Errno::from_io_error(&error)) {
            Ok(fd) => newcomers.push(fd),
            Err(Some(Errno::INTR | Errno::CONNABORTED)) => {}
            // Anything else passes, or keeps the program's own accept from working, too.
            Err(error) => return (newcomers, error != Some(Errno::MFILE)),
        }
    }
    (newcomers, true)
}
