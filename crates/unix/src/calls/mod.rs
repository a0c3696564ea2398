//! The server: from a call's number and arguments to what answers it.

mod attributes;
mod directories;
mod look;
mod nameless;
mod names;
mod open;
mod sockets;

use crate::{
    exec::Execs,
    filter::{FCHMODAT2, is_change_of_user, is_new_namespace},
    index::Index,
    launch::Program,
    libraries::Loader,
    record::Record,
    sys::{Notification, by_proc},
    tasks::{Caller, Tasks},
    user::{self, User},
};
use rustix::{
    fd::OwnedFd,
    fs::{Mode, OFlags, open},
    io::Errno,
};
use slipway_emulator::layout;
use slipway_layer::{Error, Identity, TreePath, View};
use std::sync::Arc;

/// How a call is answered.
pub(crate) enum Answer {
    /// It returns this.
    Value(i64),
    /// The kernel carries it out as it is.
    Continue,
    /// It returns the number that this descriptor gets in the caller, with close-on-exec or without.
    Fd(OwnedFd, bool),
    /// The same of one that the server keeps, with close-on-exec.
    Shared(Arc<OwnedFd>),
    /// The kernel carries it out; then this is called, before the next call is looked at.
    ContinueThen(Box<dyn FnOnce()>),
    /// It may wait for another process: a thread makes it, again where it is interrupted. It does not wait longer than its caller does.
    Later(Box<dyn Fn() -> Reply + Send>),
    /// What it had to wait for is there, for as long as this is open: the call is looked at again.
    Again(OwnedFd),
}

pub(crate) type Reply = Result<Answer, Errno>;

/// What the command sees, and what is known of its processes.
pub(crate) struct Server {
    pub(crate) view: View,
    pub(crate) tasks: Tasks,
    pub(crate) record: Record,
    pub(crate) execs: Execs,
    /// Real names of the layers' trees.
    pub(crate) files: Vec<TreePath>,
    /// Where the layers are: no program sees that.
    pub(crate) store: TreePath,
    pub(crate) listings: directories::Listings,
    pub(crate) nameless: nameless::Nameless,
    pub(crate) bound: sockets::Bound,
    /// The kernel reads nothing again that was checked, where that could do harm.
    pub(crate) contain: bool,
    /// What the emulation library reads, where there is one.
    pub(crate) index: Option<Index>,
    /// The dynamic loader of most programs.
    pub(crate) loader: Loader,
    /// Pages of loaders, from which they open files.
    loader_pages: Vec<Vec<u8>>,
    /// A process of the command changed its user or groups: each caller's are looked at.
    users_vary: bool,
}

/// The argument as a C int: the kernel looks at no more of the register, and so must the server.
fn int(argument: u64) -> i32 {
    argument as u32 as i32
}

/// Whether a call asks what the thread's real user may do.
fn asks_of_real_user(call: &Notification) -> bool {
    match i64::from(call.number) {
        #[cfg(target_arch = "x86_64")]
        libc::SYS_access => true,
        libc::SYS_faccessat => true,
        libc::SYS_faccessat2 => int(call.args[3]) & libc::AT_EACCESS == 0,
        _ => false,
    }
}

/// While the file is open, nobody gets a new lease that keeps others from reading it.
fn wait_for_lease(file: OwnedFd) -> Answer {
    Answer::Later(Box::new(move || open(by_proc(&file), OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).map(Answer::Again)))
}

fn done(result: Result<(), Errno>) -> Reply {
    result.map(|()| Answer::Value(0))
}

impl Server {
    /// # Errors
    /// The layers' directories have no names.
    pub(crate) fn new(
        mut view: View,
        store: TreePath,
        cwd: TreePath,
        execs: Execs,
        program: &Program<'_>,
    ) -> Result<Self, Error> {
        view.wait_elsewhere();
        if !program.contain {
            view.keep_entered();
        }
        let files = view.layers().iter().map(|layer| TreePath::literal(layer.dir().join("files").as_os_str().as_encoded_bytes()));
        let files: Vec<TreePath> = files.collect();
        let index = if program.net_only || program.contain { None } else { Index::new(&mut view, files.last(), store.to_path()) };
        Ok(Self {
            files,
            index,
            contain: program.contain,
            loader: if program.contain { Loader::default() } else { Loader::of_most(&store.to_path()).unwrap_or_default() },
            loader_pages: Vec::new(),
            view,
            tasks: Tasks::new(cwd),
            record: Record::default(),
            execs,
            store,
            listings: directories::Listings::default(),
            nameless: nameless::Nameless::default(),
            bound: sockets::Bound::default(),
            users_vary: false,
        })
    }

    /// Answers a call. One of a thread that is gone needs no answer.
    pub(crate) fn answer(&mut self, call: &Notification) -> Reply {
        if is_change_of_user(call.number) {
            if !user::stays(call.number, &call.args) {
                self.users_vary = true;
                // The layer's files are the server's own user's.
                self.index.iter().for_each(Index::off);
            }
            return Ok(Answer::Continue);
        }
        if is_new_namespace(call.number) {
            // By a process's own number the library knows whether its directory is another one.
            self.index.iter().for_each(Index::off);
            return Ok(Answer::Continue);
        }
        let user = self.users_vary.then(|| User::of(call.tid, asks_of_real_user(call))).flatten();
        self.view.caller = user.map(|user| Arc::new(user) as Arc<dyn Identity>);
        self.view.remember_looks(true);
        let reply = match (self.answer_as(call), self.view.awaited()) {
            (Err(Errno::AGAIN), Some(file)) => Ok(wait_for_lease(file)),
            (reply, _) => reply,
        };
        // The server is itself again.
        self.view.caller = None;
        let changes = self.view.take_changes();
        if let Some(index) = &mut self.index {
            index.update(&self.view, changes);
        }
        self.view.remember_looks(false);
        reply
    }

    fn answer_as(&mut self, call: &Notification) -> Reply {
        let caller = self.tasks.caller(call.tid, call.address)?;
        let a = call.args;
        #[cfg(target_arch = "x86_64")]
        if let Some(reply) = self.answer_old(caller, call) {
            return reply;
        }
        match i64::from(call.number) {
            libc::SYS_openat => self.open(caller, int(a[0]), a[1], a[2], a[3]),
            libc::SYS_openat2 => self.open2(caller, int(a[0]), a[1], a[2], a[3]),
            libc::SYS_newfstatat => self.stat(caller, int(a[0]), a[1], a[2], int(a[3])),
            libc::SYS_fstat => self.stat_fd(caller, int(a[0]), a[1]),
            libc::SYS_statx => self.statx(caller, int(a[0]), a[1], int(a[2]), a[3] as u32, a[4]),
            libc::SYS_statfs => self.statfs(caller, a[0], a[1]),
            libc::SYS_faccessat => self.access(caller, int(a[0]), a[1], a[2] as u32, 0),
            libc::SYS_faccessat2 => self.access(caller, int(a[0]), a[1], a[2] as u32, int(a[3])),
            libc::SYS_readlinkat if int(a[0]) == crate::stub::MAGIC => self.script(caller, a[2], a[3], a[4]),
            libc::SYS_readlinkat if int(a[0]) == slipway_emulator::ASK => self.asked(caller, a),
            libc::SYS_readlinkat => self.readlink(caller, int(a[0]), a[1], a[2], int(a[3])),
            libc::SYS_getcwd => self.getcwd(caller, a[0], a[1]),
            libc::SYS_chdir => self.chdir(caller, a[0]),
            libc::SYS_fchdir => self.fchdir(caller, int(a[0])),
            libc::SYS_getdents64 => self.getdents(caller, int(a[0]), a[1], a[2] as u32, false),
            libc::SYS_mkdirat => self.mkdir(caller, int(a[0]), a[1], a[2] as u32),
            libc::SYS_unlinkat => self.unlink(caller, int(a[0]), a[1], int(a[2])),
            libc::SYS_renameat => self.rename(caller, int(a[0]), a[1], int(a[2]), a[3], 0),
            libc::SYS_renameat2 => self.rename(caller, int(a[0]), a[1], int(a[2]), a[3], a[4] as u32),
            libc::SYS_linkat => self.link(caller, int(a[0]), a[1], int(a[2]), a[3], int(a[4])),
            libc::SYS_symlinkat => self.symlink(caller, a[0], int(a[1]), a[2]),
            libc::SYS_mknodat => self.mknod(caller, int(a[0]), a[1], a[2] as u32, a[3] as u32),
            libc::SYS_fchmod => self.fchmod(caller, int(a[0]), a[1] as u32),
            libc::SYS_fchmodat => self.chmod(caller, int(a[0]), a[1], a[2] as u32, 0),
            FCHMODAT2 => self.chmod(caller, int(a[0]), a[1], a[2] as u32, int(a[3])),
            libc::SYS_fchown => self.fchown(caller, int(a[0]), a[1] as u32, a[2] as u32),
            libc::SYS_fchownat => self.chown(caller, int(a[0]), a[1], a[2] as u32, a[3] as u32, int(a[4])),
            libc::SYS_utimensat => self.utimens(caller, int(a[0]), a[1], a[2], int(a[3])),
            libc::SYS_truncate => self.truncate(caller, a[0], a[1]),
            libc::SYS_execve => self.exec(caller, libc::AT_FDCWD, a[0], (a[1], a[2]), 0),
            libc::SYS_execveat => self.exec(caller, int(a[0]), a[1], (a[2], a[3]), int(a[4])),
            libc::SYS_umask => {
                self.tasks.set_umask(caller.pid, a[0] as u32);
                Ok(Answer::Continue)
            }
            libc::SYS_exit_group => {
                self.tasks.ends(caller.pid);
                Ok(Answer::Continue)
            }
            libc::SYS_bind => self.bind(caller, int(a[0]), a[1], int(a[2])),
            libc::SYS_connect => self.connect(caller, int(a[0]), a[1], int(a[2])),
            libc::SYS_getsockname => self.socket_name(caller, int(a[0]), a[1], a[2], false),
            libc::SYS_getpeername => self.socket_name(caller, int(a[0]), a[1], a[2], true),
            libc::SYS_inotify_add_watch => self.watch(caller, int(a[0]), a[1], a[2] as u32),
            libc::SYS_ioctl => self.set_flags(caller, int(a[0]), a[1] as u32, a[2]),
            libc::SYS_getxattr => self.getxattr(caller, a, true),
            libc::SYS_lgetxattr => self.getxattr(caller, a, false),
            libc::SYS_listxattr => self.listxattr(caller, a, true),
            libc::SYS_llistxattr => self.listxattr(caller, a, false),
            libc::SYS_setxattr => self.setxattr(caller, a, true),
            libc::SYS_lsetxattr => self.setxattr(caller, a, false),
            libc::SYS_fsetxattr => self.fsetxattr(caller, a),
            libc::SYS_removexattr => self.removexattr(caller, a, true),
            libc::SYS_lremovexattr => self.removexattr(caller, a, false),
            libc::SYS_fremovexattr => self.fremovexattr(caller, a),
            _ => Err(Errno::NOSYS),
        }
    }

    /// What the emulation library asks: for its memory, if there is no path.
    fn asked(&mut self, caller: Caller, a: [u64; 6]) -> Reply {
        let index = self.index.as_ref().ok_or(Errno::NOSYS)?;
        match a[2] {
            _ if a[1] == 0 => {
                index.tell_start(caller.pid, &self.tasks.cwd(caller.pid));
                Ok(Answer::Shared(index.memory()))
            }
            layout::ASK_DIR => self.look_up_dir(caller, int(a[3]), a[1]),
            layout::ASK_OPEN => self.open_for_library(caller, int(a[3]), a[1], a[4], Some(a[5])),
            layout::ASK_LIBRARY => self.open_for_library(caller, int(a[3]), a[1], a[4], None),
            layout::ASK_RESTORE => done(self.restore_loader(caller)),
            _ => Err(Errno::INVAL),
        }
    }

    /// The calls that later ones replaced.
    #[cfg(target_arch = "x86_64")]
    fn answer_old(&mut self, caller: Caller, call: &Notification) -> Option<Reply> {
        const CWD: i32 = libc::AT_FDCWD;
        let a = call.args;
        Some(match i64::from(call.number) {
            libc::SYS_open => self.open(caller, CWD, a[0], a[1], a[2]),
            libc::SYS_creat => self.open(caller, CWD, a[0], (libc::O_CREAT | libc::O_WRONLY | libc::O_TRUNC) as u64, a[1]),
            libc::SYS_stat => self.stat(caller, CWD, a[0], a[1], 0),
            libc::SYS_lstat => self.stat(caller, CWD, a[0], a[1], libc::AT_SYMLINK_NOFOLLOW),
            libc::SYS_access => {
                self.patch_loader(caller);
                self.access(caller, CWD, a[0], a[1] as u32, 0)
            }
            libc::SYS_readlink => self.readlink(caller, CWD, a[0], a[1], int(a[2])),
            libc::SYS_getdents => self.getdents(caller, int(a[0]), a[1], a[2] as u32, true),
            libc::SYS_mkdir => self.mkdir(caller, CWD, a[0], a[1] as u32),
            libc::SYS_rmdir => self.unlink(caller, CWD, a[0], libc::AT_REMOVEDIR),
            libc::SYS_unlink => self.unlink(caller, CWD, a[0], 0),
            libc::SYS_rename => self.rename(caller, CWD, a[0], CWD, a[1], 0),
            libc::SYS_link => self.link(caller, CWD, a[0], CWD, a[1], 0),
            libc::SYS_symlink => self.symlink(caller, a[0], CWD, a[1]),
            libc::SYS_mknod => self.mknod(caller, CWD, a[0], a[1] as u32, a[2] as u32),
            libc::SYS_chmod => self.chmod(caller, CWD, a[0], a[1] as u32, 0),
            libc::SYS_chown => self.chown(caller, CWD, a[0], a[1] as u32, a[2] as u32, 0),
            libc::SYS_lchown => self.chown(caller, CWD, a[0], a[1] as u32, a[2] as u32, libc::AT_SYMLINK_NOFOLLOW),
            libc::SYS_utime => self.utime(caller, a[0], a[1]),
            libc::SYS_utimes => self.utimes(caller, CWD, a[0], a[1]),
            libc::SYS_futimesat => self.utimes(caller, int(a[0]), a[1], a[2]),
            _ => return None,
        })
    }
}
