//! Root's server acts as the user that a process of root's has become: it looks names up, and opens files, with that user's rights.

use crate::{calls::Server, sys, tasks::status};
use rustix::{
    fs::{AtFlags, CWD, Gid, Uid, statat},
    io::Errno,
    process::getgroups,
    thread::{
        CapabilitySet, CapabilitySets, capabilities, set_capabilities, set_thread_groups, set_thread_res_gid, set_thread_res_uid,
    },
};
use slipway_layer::{Identity, TreePath};
use std::{
    cell::Cell,
    sync::{Mutex, PoisonError},
};

/// The capabilities that go with the user that a thread acts on files as: another one has none of them.
const OF_FILES: CapabilitySet = CapabilitySet::CHOWN
    .union(CapabilitySet::DAC_OVERRIDE)
    .union(CapabilitySet::DAC_READ_SEARCH)
    .union(CapabilitySet::FOWNER)
    .union(CapabilitySet::FSETID);

thread_local! {
    /// See [`Server::untraced`].
    static UNTRACED: Cell<bool> = const { Cell::new(false) };
}

/// A caller that is not the server's own user. The server has its rights while this is there.
#[derive(Debug)]
pub(crate) struct User {
    uid: Uid,
    gid: Gid,
    groups: Vec<Gid>,
    own: (Uid, Gid, Vec<Gid>),
    /// How many changes of layers are under way, which the server makes with its own rights.
    depth: Mutex<u32>,
}

/// The numbers of a line of `/proc/N/status`.
fn numbers(status: &str, name: &str) -> Vec<u32> {
    let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
    line.split_whitespace().filter_map(|word| word.parse().ok()).collect()
}

/// Whether this server's processes can't become another user: only root can.
pub(crate) fn is_settled() -> bool {
    !rustix::process::geteuid().is_root()
}

/// The server's own user or group, where a call sets that of a thread, and in how many arguments. Programs that drop what they don't have
/// set no other (make does).
pub(crate) fn set_by(number: i64) -> Option<(u32, u32)> {
    let (uid, gid) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    match number {
        libc::SYS_setuid | libc::SYS_setfsuid => Some((uid, 1)),
        libc::SYS_setgid | libc::SYS_setfsgid => Some((gid, 1)),
        libc::SYS_setreuid => Some((uid, 2)),
        libc::SYS_setregid => Some((gid, 2)),
        libc::SYS_setresuid => Some((uid, 3)),
        libc::SYS_setresgid => Some((gid, 3)),
        _ => None,
    }
}

/// Whether a call that sets a thread's user or group can set no other than the server's.
pub(crate) fn stays(number: i32, args: &[u64; 6]) -> bool {
    let is_own = |own, id: &u64| [u32::MAX, own].contains(&(*id as u32));
    is_settled() || set_by(number.into()).is_some_and(|(own, count)| args[..count as usize].iter().all(|id| is_own(own, id)))
}

impl User {
    /// That of a thread, for files or by its real numbers; none if the server's rights are the same, or can't be changed.
    pub(crate) fn of(tid: u32, is_real: bool) -> Option<Self> {
        let own = (rustix::process::geteuid(), rustix::process::getegid(), rustix::process::getgroups().ok()?);
        if !own.0.is_root() {
            return None;
        }
        let status = status(tid).ok()?;
        // The last of the four is that for files, the first the real one.
        let of = |name| numbers(&status, name).get(if is_real { 0 } else { 3 }).copied();
        let (uid, gid) = (Uid::from_raw(of("Uid:")?), Gid::from_raw(of("Gid:")?));
        let groups: Vec<Gid> = numbers(&status, "Groups:").into_iter().map(Gid::from_raw).collect();
        if (uid, gid, &groups) == (own.0, own.1, &own.2) {
            return None;
        }
        let user = Self { uid, gid, groups, own, depth: Mutex::new(0) };
        user.become_caller();
        Some(user)
    }

    fn become_caller(&self) {
        // The groups first, and the user last: with it goes the right to change the others.
        let _ = set_thread_groups(&self.groups);
        sys::set_file_user(self.uid, self.gid);
    }

    fn become_server(&self) {
        sys::set_file_user(self.own.0, self.own.1);
        let _ = set_thread_groups(&self.own.2);
    }
}

/// A user whom a thread can act as, also to others, for as long as it lives.
pub(crate) struct Actor(Uid, Gid, Vec<Gid>);

impl Actor {
    /// Lets this thread act so. The real user stays: that one could end the server else.
    ///
    /// # Errors
    /// Those of setresuid(2).
    pub(crate) fn act(&self) -> Result<(), Errno> {
        set_thread_groups(&self.2)?;
        set_thread_res_gid(None, self.1, None)?;
        set_thread_res_uid(None, self.0, None)
    }
}

impl Server {
    /// The caller, if that is not the server's own user.
    ///
    /// # Errors
    /// Those of getgroups(2).
    pub(crate) fn actor(&self) -> Result<Option<Actor>, Errno> {
        let Some(caller) = &self.view.caller else { return Ok(None) };
        let (uid, gid) = caller.owner();
        // The server's own thread has the caller's.
        Ok(Some(Actor(uid, gid, getgroups()?)))
    }

    /// Whether the caller is one who became another user: without capabilities.
    pub(crate) fn is_other(&self) -> bool {
        self.view.caller.as_ref().is_some_and(|caller| !caller.owner().0.is_root())
    }

    /// Opens a name, or looks at it, and may no more than a caller without capabilities: those that don't go with the user that the server acts as let
    /// it trace processes, read the kernel's log, and more. `look` is to make calls of the kernel only, and not to take the server's rights.
    ///
    /// # Errors
    /// EACCES; those of looking.
    pub(crate) fn untraced<T>(&self, path: &TreePath, look: impl FnOnce() -> Result<T, Errno>) -> Result<T, Errno> {
        if !self.is_other() && !self.contain {
            return look();
        }
        // Of itself the kernel shows a process all.
        if is_servers(path) {
            return Err(Errno::ACCESS);
        }
        // Where the capabilities can't be given up, nothing is looked at.
        let own = capabilities(None).map_err(|_| Errno::ACCESS)?;
        if !OF_FILES.contains(own.effective) {
            set_capabilities(None, CapabilitySets { effective: own.effective & OF_FILES, ..own }).map_err(|_| Errno::ACCESS)?;
        }
        UNTRACED.set(true);
        let seen = look();
        UNTRACED.set(false);
        if !OF_FILES.contains(own.effective) {
            let _ = set_capabilities(None, own);
        }
        seen
    }
}

/// Whether a name is in what /proc shows of this process, by the number of any thread.
fn is_servers(path: &TreePath) -> bool {
    let parts: Vec<&[u8]> = path.components().take(3).collect();
    matches!(parts[..], [b"proc", number, _] if statat(CWD, [b"/proc/self/task/", number].concat(), AtFlags::empty()).is_ok())
}

impl Identity for User {
    fn elevate(&self) {
        // The server could not become this user again, and would then lose rights of its own: copies would get the wrong owner.
        assert!(!UNTRACED.get(), "the server is to see less");
        let mut depth = self.depth.lock().unwrap_or_else(PoisonError::into_inner);
        *depth += 1;
        if *depth == 1 {
            self.become_server();
        }
    }

    fn lower(&self) {
        let mut depth = self.depth.lock().unwrap_or_else(PoisonError::into_inner);
        *depth -= 1;
        if *depth == 0 {
            self.become_caller();
        }
    }

    fn owner(&self) -> (Uid, Gid) {
        (self.uid, self.gid)
    }
}

impl Drop for User {
    fn drop(&mut self) {
        self.become_server();
    }
}
