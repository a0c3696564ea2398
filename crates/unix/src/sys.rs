//! The calls of the kernel that no crate has: seccomp's notifications, memory of other processes, fork.
#![allow(unsafe_code, reason = "raw system calls, each on memory of its caller")]

use rustix::{
    fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd},
    fs::{Mode, OFlags, ResolveFlags, openat, openat2},
    io::Errno,
    process::{Resource, Rlimit, getrlimit, setrlimit},
};
use std::{ffi::CStr, io, mem::size_of};

/// Flags of seccomp(2) that libc may not have.
const NEW_LISTENER: libc::c_ulong = 1 << 3;
const WAIT_KILLABLE: libc::c_ulong = 1 << 5;
const SET_MODE_FILTER: libc::c_ulong = 1;

/// `struct fsxattr`: flags and a size, a count that setting them leaves alone, a project and a size, and room.
pub(crate) type Xflags = [u8; 28];

/// `struct seccomp_notif`.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Notification {
    pub(crate) id: u64,
    /// The thread, in this process's numbers.
    pub(crate) tid: u32,
    pub(crate) flags: u32,
    pub(crate) number: i32,
    pub(crate) arch: u32,
    pub(crate) address: u64,
    pub(crate) args: [u64; 6],
}

#[repr(C)]
struct Response {
    id: u64,
    value: i64,
    error: i32,
    flags: u32,
}

#[repr(C)]
struct AddFd {
    id: u64,
    flags: u32,
    source: u32,
    target: u32,
    target_flags: u32,
}

const fn ioctl_number(direction: u64, number: u64, size: usize) -> u64 {
    direction << 30 | (size as u64) << 16 | (b'!' as u64) << 8 | number
}

const RECEIVE: u64 = ioctl_number(3, 0, size_of::<Notification>());
const SEND: u64 = ioctl_number(3, 1, size_of::<Response>());
const ID_VALID: u64 = ioctl_number(1, 2, 8);
const ADD_FD: u64 = ioctl_number(1, 3, size_of::<AddFd>());
const SET_FLAGS: u64 = ioctl_number(1, 4, 8);
/// FS_IOC_FSGETXATTR
const GET_XFLAGS: u64 = 0x801c_581f;
const CONTINUE: u32 = 1;
const ADD_FD_SEND: u32 = 2;
const SYNC_WAKE_UP: u64 = 1;

fn ioctl<T>(fd: BorrowedFd<'_>, request: u64, argument: &mut T) -> Result<i32, Errno> {
    // SAFETY: the requests of this module read and write one structure of the type that their number has the size of.
    let result = unsafe { libc::ioctl(fd.as_raw_fd(), request as _, std::ptr::from_mut(argument)) };
    check(result.into()).map(|value| value as i32)
}

/// A file's flags in the form that all file systems have in common.
///
/// # Errors
/// Those of ioctl.
pub(crate) fn xflags(file: BorrowedFd<'_>) -> Result<Xflags, Errno> {
    let mut flags = [0; size_of::<Xflags>()];
    ioctl(file, GET_XFLAGS, &mut flags)?;
    Ok(flags)
}

fn check(result: i64) -> Result<i64, Errno> {
    if result < 0 { Err(Errno::from_io_error(&io::Error::last_os_error()).unwrap_or(Errno::IO)) } else { Ok(result) }
}

/// Puts the filter on this thread and gives the descriptor of its notifications. Signals wait while a call is being answered, where the
/// kernel can do that.
pub(crate) fn install_filter(filter: &[libc::sock_filter]) -> Result<OwnedFd, Errno> {
    let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_ptr().cast_mut() };
    let install = |flags: libc::c_ulong| {
        // SAFETY: the program is of that many instructions, and read only.
        check(unsafe { libc::syscall(libc::SYS_seccomp, SET_MODE_FILTER, flags, &raw const program) })
    };
    let fd = match install(NEW_LISTENER | WAIT_KILLABLE) {
        Err(Errno::INVAL) => install(NEW_LISTENER)?,
        fd => fd?,
    };
    // SAFETY: the kernel just made it for this process.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as i32) })
}

/// Whether the kernel can do that, and a signal interrupts no call that the server has received. Before Linux 6.17 it does where the server has
/// answered by the time that the interrupted thread looks: the call was done, and must not be made again.
pub(crate) fn signals_wait() -> bool {
    if !is_at_least(&std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default(), (6, 17)) {
        return false;
    }
    // SAFETY: the kernel looks at the flags first, and then finds no program.
    let result = unsafe { libc::syscall(libc::SYS_seccomp, SET_MODE_FILTER, NEW_LISTENER | WAIT_KILLABLE, 0) };
    check(result) == Err(Errno::FAULT)
}

/// Whether a kernel's release is this one or later.
fn is_at_least(release: &str, least: (u32, u32)) -> bool {
    let mut numbers = release.split('.').map(|part| {
        let end = part.find(|digit: char| !digit.is_ascii_digit()).unwrap_or(part.len());
        part[..end].parse::<u32>().ok()
    });
    matches!((numbers.next().flatten(), numbers.next().flatten()), (Some(major), Some(minor)) if (major, minor) >= least)
}

/// Waking the thread that waits for an answer is a switch to it, where the kernel can do that.
pub(crate) fn switch_at_once(listener: BorrowedFd<'_>) {
    // SAFETY: the request takes its argument by value.
    unsafe { libc::ioctl(listener.as_raw_fd(), SET_FLAGS as _, SYNC_WAKE_UP) };
}

/// The next call that waits. ENOENT if it was killed meanwhile.
pub(crate) fn receive(listener: BorrowedFd<'_>) -> Result<Notification, Errno> {
    let mut notification = Notification::default();
    ioctl(listener, RECEIVE, &mut notification)?;
    Ok(notification)
}

/// Ends a call: with a value, an error, or by carrying it out as it is. One that is gone is fine.
pub(crate) fn respond(listener: BorrowedFd<'_>, id: u64, value: Result<i64, Errno>) {
    let (value, error) = value.map_or_else(|error| (0, -error.raw_os_error()), |value| (value, 0));
    let _ = ioctl(listener, SEND, &mut Response { id, value, error, flags: 0 });
}

/// Whether a call is still to be answered: its thread has not been killed.
pub(crate) fn is_waiting(listener: BorrowedFd<'_>, mut id: u64) -> bool {
    ioctl(listener, ID_VALID, &mut id).is_ok()
}

/// See [`respond`].
pub(crate) fn carry_on(listener: BorrowedFd<'_>, id: u64) {
    let _ = ioctl(listener, SEND, &mut Response { id, value: 0, error: 0, flags: CONTINUE });
}

/// Gives a descriptor to the caller and ends its call with the number.
pub(crate) fn give(listener: BorrowedFd<'_>, id: u64, fd: BorrowedFd<'_>, close_on_exec: bool) -> Result<(), Errno> {
    let target_flags = if close_on_exec { libc::O_CLOEXEC as u32 } else { 0 };
    let mut add = AddFd { id, flags: ADD_FD_SEND, source: fd.as_raw_fd() as u32, target: 0, target_flags };
    ioctl(listener, ADD_FD, &mut add).map(drop)
}

/// How this process calls what it has open.
pub(crate) fn by_proc(fd: &OwnedFd) -> String {
    format!("/proc/self/fd/{}", fd.as_raw_fd())
}

/// Reads memory of another process: how much could be read, not 0.
pub(crate) fn read_memory(pid: u32, address: u64, buffer: &mut [u8]) -> Result<usize, Errno> {
    let local = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
    let remote = libc::iovec { iov_base: address as *mut _, iov_len: buffer.len() };
    // SAFETY: writes at most the length of the buffer into it.
    let count = check(unsafe { libc::process_vm_readv(pid as i32, &raw const local, 1, &raw const remote, 1, 0) } as i64)?;
    if count == 0 { Err(Errno::FAULT) } else { Ok(count as usize) }
}

/// Writes all of the bytes into memory of another process that it may write itself.
pub(crate) fn write_memory(pid: u32, address: u64, bytes: &[u8]) -> Result<(), Errno> {
    if bytes.is_empty() {
        return Ok(());
    }
    let local = libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
    let remote = libc::iovec { iov_base: address as *mut _, iov_len: bytes.len() };
    // SAFETY: reads the bytes only.
    let count = check(unsafe { libc::process_vm_writev(pid as i32, &raw const local, 1, &raw const remote, 1, 0) } as i64)?;
    if count as usize == bytes.len() { Ok(()) } else { Err(Errno::FAULT) }
}

/// The bytes of a structure of the kernel's.
pub(crate) fn bytes_of<T: Plain>(value: &T) -> &[u8] {
    // SAFETY: such a type has no padding that was not zeroed.
    unsafe { std::slice::from_raw_parts(std::ptr::from_ref(value).cast(), size_of::<T>()) }
}

/// Structures of the kernel's that are made here of zeros.
///
/// # Safety
/// They are made of integers.
pub(crate) unsafe trait Plain: Sized {
    /// All zeros.
    fn zeroed() -> Self {
        // SAFETY: integers only.
        unsafe { std::mem::zeroed() }
    }
}
// SAFETY: integers only, in each of them.
unsafe impl Plain for libc::stat {}
// SAFETY: as above.
unsafe impl Plain for libc::statx {}
// SAFETY: as above.
unsafe impl Plain for libc::statfs {}
// SAFETY: as above.
unsafe impl Plain for [u64; 2] {}

/// statx(2).
pub(crate) fn statx(dir: BorrowedFd<'_>, path: &CStr, flags: i32, mask: u32) -> Result<libc::statx, Errno> {
    let mut result = libc::statx::zeroed();
    // SAFETY: writes the one structure.
    check(unsafe { libc::syscall(libc::SYS_statx, dir.as_raw_fd(), path.as_ptr(), flags, mask, &raw mut result) })?;
    Ok(result)
}

/// statfs(2).
pub(crate) fn statfs(path: &CStr) -> Result<libc::statfs, Errno> {
    let mut result = libc::statfs::zeroed();
    // SAFETY: writes the one structure.
    check(unsafe { libc::statfs(path.as_ptr(), &raw mut result) }.into())?;
    Ok(result)
}

/// Makes a child that goes on here: none in it, its number in the parent. This process must have one thread.
pub(crate) fn fork() -> Result<Option<rustix::process::Pid>, Errno> {
    // SAFETY: its callers have one thread: the child is a whole copy.
    let pid = check(unsafe { libc::fork() }.into())?;
    Ok(rustix::process::Pid::from_raw(pid as i32))
}

/// Blocks all signals that can be, or puts the mask back.
pub(crate) fn mask_signals(mask: Option<&libc::sigset_t>) -> libc::sigset_t {
    // SAFETY: a set of signals is made of integers.
    let (mut all, mut old): (libc::sigset_t, libc::sigset_t) = unsafe { (std::mem::zeroed(), std::mem::zeroed()) };
    // SAFETY: reads and writes sets of this function.
    unsafe {
        libc::sigfillset(&raw mut all);
        libc::sigprocmask(libc::SIG_SETMASK, mask.map_or(&raw const all, std::ptr::from_ref), &raw mut old);
    }
    old
}

/// The signal by which a thread of the server interrupts another. It is ignored where nobody handles it.
const INTERRUPT: i32 = libc::SIGURG;

/// Lets [`interrupt`] end what this thread waits for.
pub(crate) fn be_interruptible() {
    extern "C" fn nothing(_: i32) {}
    // SAFETY: the handler does nothing; the structures are made of integers, and of pointers that may be null.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = nothing as extern "C" fn(i32) as usize;
        libc::sigaction(INTERRUPT, &raw const action, std::ptr::null_mut());
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigaddset(&raw mut set, INTERRUPT);
        libc::pthread_sigmask(libc::SIG_UNBLOCK, &raw const set, std::ptr::null_mut());
    }
}

/// Interrupts a thread of this process in a call that waits.
pub(crate) fn interrupt(thread: rustix::process::Pid) {
    let process = std::process::id();
    // SAFETY: numbers only.
    unsafe { libc::syscall(libc::SYS_tgkill, process, thread.as_raw_nonzero().get(), INTERRUPT) };
}

/// A descriptor of the blocked signals.
pub(crate) fn signals() -> Result<OwnedFd, Errno> {
    // SAFETY: reads the set, which is made of integers.
    let fd = unsafe {
        let mut all: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&raw mut all);
        libc::signalfd(-1, &raw const all, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK)
    };
    check(fd.into())?;
    // SAFETY: the kernel just made it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// A signal that came.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Signal {
    pub(crate) number: i32,
    /// The process that sent it. A terminal's, which go to all of its group, have none.
    pub(crate) sender: Option<u32>,
}

/// The next of the signals, if there is one.
pub(crate) fn next_signal(fd: &OwnedFd) -> Option<Signal> {
    let mut bytes = [0_u8; size_of::<libc::signalfd_siginfo>()];
    let count = rustix::io::read(fd, &mut bytes).ok()?;
    let word = |at: usize| i32::from_ne_bytes(bytes[at..at + 4].try_into().unwrap_or_default());
    // The first is the number, the third the code, the fourth the process.
    let sender = (word(8) <= 0).then(|| word(12).cast_unsigned());
    (count == bytes.len()).then(|| Signal { number: word(0), sender })
}

/// Ends this process by a signal, as its command ended.
pub(crate) fn end_by(signal: i32) -> ! {
    let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: changes this process only, which ends here.
    unsafe {
        libc::setrlimit(libc::RLIMIT_CORE, &raw const none);
        libc::signal(signal, libc::SIG_DFL);
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigaddset(&raw mut set, signal);
        libc::sigprocmask(libc::SIG_UNBLOCK, &raw const set, std::ptr::null_mut());
        libc::raise(signal);
        libc::_exit(128 + signal)
    }
}

/// How a child changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ended {
    Exit(i32),
    Signal(i32),
    Stopped,
}

/// A child that ended or was stopped, if there is one.
pub(crate) fn wait_any() -> Option<(u32, Ended)> {
    let mut status = 0;
    // SAFETY: writes the one number.
    let pid = unsafe { libc::waitpid(-1, &raw mut status, libc::WNOHANG | libc::WUNTRACED) };
    let pid = u32::try_from(pid).ok().filter(|pid| *pid > 0)?;
    let how = if libc::WIFEXITED(status) {
        Ended::Exit(libc::WEXITSTATUS(status))
    } else if libc::WIFSIGNALED(status) {
        Ended::Signal(libc::WTERMSIG(status))
    } else {
        Ended::Stopped
    };
    Some((pid, how))
}

/// The parent of the process that a descriptor is of, in this process's numbers. None where the kernel doesn't tell (before Linux 6.13).
pub(crate) fn parent_of(process: BorrowedFd<'_>) -> Option<u32> {
    // SAFETY: the structure is made of integers.
    let mut info: libc::pidfd_info = unsafe { std::mem::zeroed() };
    // SAFETY: the request writes no more than the size in its number, which is that of the structure or less.
    let told = unsafe { libc::ioctl(process.as_raw_fd(), libc::PIDFD_GET_INFO as _, &raw mut info) };
    (told == 0).then_some(info.ppid)
}

/// Whether a process has its number still: it lives, or nobody has waited for it.
pub(crate) fn is_there(process: BorrowedFd<'_>) -> bool {
    // SAFETY: no signal is sent, and nothing is read.
    let sent =
        unsafe { libc::syscall(libc::SYS_pidfd_send_signal, process.as_raw_fd(), 0, std::ptr::null::<libc::siginfo_t>(), 0) };
    check(sent) != Err(Errno::SRCH)
}

/// Whether two processes may have the same memory, as a child of vfork has its parent's.
pub(crate) fn may_share_memory(one: u32, other: u32) -> bool {
    const VM: i32 = 1;
    // SAFETY: numbers only.
    let order = unsafe { libc::syscall(libc::SYS_kcmp, one, other, VM, 0u64, 0u64) };
    order <= 0
}

/// A lease on a file that nothing has open: until `file` is closed, an open of it waits.
///
/// # Errors
/// EAGAIN where something has it open; those of fcntl(2).
pub(crate) fn lease(file: BorrowedFd<'_>) -> Result<(), Errno> {
    // SAFETY: numbers only.
    check(unsafe { libc::fcntl(file.as_raw_fd(), libc::F_SETLEASE, libc::F_WRLCK) }.into())?;
    // SAFETY: as above. No signal tells of the one that waits.
    check(unsafe { libc::fcntl(file.as_raw_fd(), libc::F_SETOWN, 0) }.into()).map(drop)
}

/// Whether a [lease] is there no more, or something waits for its end.
pub(crate) fn is_lease_awaited(file: BorrowedFd<'_>) -> bool {
    // SAFETY: as above.
    unsafe { libc::fcntl(file.as_raw_fd(), libc::F_GETLEASE) != libc::F_WRLCK }
}

/// Whether this process has a child that has not ended.
pub(crate) fn has_children() -> bool {
    // SAFETY: a null pointer asks for no details.
    let waited = unsafe { libc::waitid(libc::P_ALL, 0, std::ptr::null_mut(), libc::WEXITED | libc::WNOHANG | libc::WNOWAIT) };
    waited == 0
}

/// Has this thread act on files as a user and a group.
pub(crate) fn set_file_user(uid: rustix::fs::Uid, gid: rustix::fs::Gid) {
    // SAFETY: numbers only. Back to root the user comes first, which has the right to change the group.
    unsafe {
        if uid.is_root() {
            libc::setfsuid(uid.as_raw());
            libc::setfsgid(gid.as_raw());
        } else {
            libc::setfsgid(gid.as_raw());
            libc::setfsuid(uid.as_raw());
        }
    }
}

/// connect(2), to an address as the kernel lays it out.
pub(crate) fn connect(socket: BorrowedFd<'_>, address: &[u8]) -> Result<(), Errno> {
    // SAFETY: reads the bytes only.
    check(unsafe { libc::connect(socket.as_raw_fd(), address.as_ptr().cast(), address.len() as libc::socklen_t) }.into())
        .map(drop)
}

/// inotify_add_watch(2).
pub(crate) fn add_watch(fd: BorrowedFd<'_>, path: &CStr, mask: u32) -> Result<i64, Errno> {
    // SAFETY: reads the path.
    check(unsafe { libc::inotify_add_watch(fd.as_raw_fd(), path.as_ptr(), mask) }.into())
}

/// Opens what is no link, and is not reached over one, by flags that F_GETFL says afterwards.
pub(crate) fn open_no_link(dir: BorrowedFd<'_>, path: &[u8], flags: OFlags) -> Result<OwnedFd, Errno> {
    match openat2(dir, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS) {
        // openat knows more of them, and rules for containers may know it only.
        Err(Errno::INVAL | Errno::NOSYS | Errno::PERM) => openat(dir, path, flags | OFlags::NOFOLLOW, Mode::empty()),
        opened => opened,
    }
}

/// What a signal does to this process from now on, and did before.
pub(crate) fn set_action(signal: i32, action: usize) -> usize {
    // SAFETY: the action is one of the kernel's own, or the one that this process had.
    unsafe { libc::signal(signal, action) }
}

/// Lets this process have as many descriptors as it may.
pub(crate) fn raise_descriptors() {
    let limit = getrlimit(Resource::Nofile);
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
}

/// `struct landlock_ruleset_attr`.
#[repr(C)]
struct Ruleset {
    files: u64,
    network: u64,
    scoped: u64,
}

/// Takes from this thread, and from what it will execute and fork, the right to change anything by a name, to signal processes outside,
/// to trace them, and to connect to their abstract sockets: landlock(7); and all capabilities. It must not be able to gain privileges any
/// more. ENOSYS, EOPNOTSUPP or EINVAL where the kernel can't.
pub(crate) fn confine() -> Result<(), Errno> {
    const CREATE: libc::c_long = 444;
    const RESTRICT_SELF: libc::c_long = 446;
    /// Writing to files, removing and making names of each kind, moving between directories, cutting off.
    const CHANGES: u64 = 1 << 1 | 0x7ff << 4;
    /// Abstract sockets, signals.
    const SCOPED: u64 = 1 | 2;
    /// The third version of its header, for this thread; and three sets, each in two parts.
    const HEADER: [u32; 2] = [0x2008_0522, 0];
    const NONE: [u32; 6] = [0; 6];
    // The clock and the machine's name are outside, too. Root's programs would get capabilities again, but for no_new_privs.
    // SAFETY: reads a header and two structures of three words.
    check(unsafe { libc::syscall(libc::SYS_capset, HEADER.as_ptr(), NONE.as_ptr()) })?;
    let ruleset = Ruleset { files: CHANGES, network: 0, scoped: SCOPED };
    // SAFETY: reads a structure of that size. An older kernel refuses bits that it doesn't know.
    let fd = check(unsafe { libc::syscall(CREATE, &raw const ruleset, size_of::<Ruleset>(), 0) })
        .map_err(|error| if error == Errno::TOOBIG { Errno::OPNOTSUPP } else { error })?;
    // SAFETY: the kernel just made it.
    let fd = unsafe { OwnedFd::from_raw_fd(fd as i32) };
    // SAFETY: numbers only.
    check(unsafe { libc::syscall(RESTRICT_SELF, fd.as_raw_fd(), 0) }).map(drop)
}

#[cfg(test)]
mod tests {
    use super::is_at_least;

    #[test]
    fn releases() {
        for release in ["6.17.0", "6.17-rc1", "6.18.44-fc-v595\n", "7.0", "10.2.1"] {
            assert!(is_at_least(release, (6, 17)), "{release}");
        }
        for release in ["", "6", "6.x", "6.16.12-arch1-1", "6.8.0-31-generic", "5.19.0", "5.100"] {
            assert!(!is_at_least(release, (6, 17)), "{release}");
        }
    }
}
