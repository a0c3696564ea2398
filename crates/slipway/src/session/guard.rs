//! A small process that ends a session's processes and removes its files when the session itself
//! was killed.
//!
//! It holds one end of a socket whose other end only the session has: end of file means that the
//! session is over, in whatever way. The session passes it a descriptor for each thing to stop. The
//! kernel's parent-death signal has by then asked those processes to end; the guard insists. After
//! an orderly end it finds nothing to do.

use std::env;
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use rustix::io::Errno;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};
use rustix::process::{Pid, PidfdFlags, getpid, pidfd_open};

use super::process::{Target, stop};
use crate::failure::Failure;

/// Stands for a target that is a process.
const NO_GROUP: i32 = 0;

/// The session's end.
#[derive(Debug)]
pub struct Guard {
    socket: UnixStream,
    process: Child,
}

impl Guard {
    /// Starts a guard that will remove `dir`.
    ///
    /// # Errors
    /// No socket or no process could be made.
    pub fn start(dir: &Path) -> io::Result<Self> {
        let (socket, theirs) = UnixStream::pair()?;
        // A group of its own, so that Ctrl-C in the terminal does not end it before the session; no
        // output, so that nothing that reads the session's output waits for the guard.
        let process = Command::new(own_executable())
            .arg0("slipway")
            .arg("x11-guard")
            .arg(dir)
            .env_remove("LD_PRELOAD")
            .current_dir("/")
            .process_group(0)
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        Ok(Self { socket, process })
    }

    /// Lets the guard stop `target` too, before those it already has.
    ///
    /// # Errors
    /// The guard is gone.
    pub fn add<F: AsFd>(&self, target: &Target<F>) -> io::Result<()> {
        add(self.socket.as_fd(), target)
    }

    /// The session's end of the guard's socket, for [`announce`].
    pub fn socket(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Lets the guard go, after the session has cleaned up.
    pub fn dismiss(mut self) {
        drop(self.socket);
        // Only to leave no zombie behind; how it ended changes nothing.
        let _ = self.process.wait();
    }
}

/// Lets the guard stop the calling process. For the child of a fork: it neither allocates nor takes a lock. A child that is known
/// before it executes its program can't outlive a session that is killed the moment after.
///
/// # Errors
/// The guard is gone.
pub fn announce(guard: BorrowedFd<'_>) -> io::Result<()> {
    add(guard, &Target::Process(pidfd_open(getpid(), PidfdFlags::empty())?))
}

fn add<F: AsFd>(guard: BorrowedFd<'_>, target: &Target<F>) -> io::Result<()> {
    let (group, fd) = match target {
        Target::Process(pidfd) => (NO_GROUP.to_ne_bytes(), pidfd),
        Target::Group { leader, pipe } => (leader.as_raw_pid().to_ne_bytes(), pipe),
    };
    let fds = [fd.as_fd()];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    control.push(SendAncillaryMessage::ScmRights(&fds));
    let message = [IoSlice::new(&group)];
    sendmsg(guard, &message, &mut control, SendFlags::NOSIGNAL)?;
    Ok(())
}

/// The path under which this program is known, for `ps`; the link to the running file if that path
/// is gone, as after an upgrade.
fn own_executable() -> PathBuf {
    env::current_exe().ok().filter(|path| path.is_file()).unwrap_or_else(|| "/proc/self/exe".into())
}

/// The guard's side: waits for the end of the session, then stops what it left and removes `dir`.
///
/// # Errors
/// Standard input is not a session's socket.
pub fn watch(dir: &Path) -> Result<u8, Failure> {
    let socket = rustix::stdio::stdin();
    let mut targets = Vec::new();
    loop {
        match receive(socket) {
            Ok(Some(target)) => targets.push(target),
            Ok(None) => break,
            Err(error) => return Err(Failure::own("x11-guard: standard input", error)),
        }
    }
    targets.reverse();
    stop(&targets, dir);
    Ok(0)
}

/// One message; none at end of file.
fn receive(socket: impl AsFd) -> io::Result<Option<Target<OwnedFd>>> {
    let mut group = [0; size_of::<i32>()];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let received = loop {
        let mut message = [IoSliceMut::new(&mut group)];
        match recvmsg(&socket, &mut message, &mut control, RecvFlags::CMSG_CLOEXEC) {
            Err(Errno::INTR) => {}
            result => break result?,
        }
    };
    if received.bytes == 0 {
        return Ok(None);
    }
    let descriptor = control.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut descriptors) => descriptors.next(),
        _ => None,
    });
    let Some(fd) = descriptor.filter(|_| received.bytes == group.len()) else {
        return Err(io::Error::other("half a message"));
    };
    Ok(Some(match Pid::from_raw(i32::from_ne_bytes(group)) {
        Some(leader) => Target::Group { leader, pipe: fd },
        None => Target::Process(fd),
    }))
}
