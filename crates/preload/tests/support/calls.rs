//! Calls as a C program makes them: through the dynamic linker, where the hooks stand.

use std::{ffi::c_int, io, ptr};

use libc::{iovec, pid_t, pollfd};

/// A descriptor as C programs have it.
pub type Fd = c_int;

/// Calls a function of the C library.
macro_rules! call {
    ($name:ident($($argument:expr),* $(,)?)) => {{
        // SAFETY: pointers among the arguments are to buffers of the stated length that outlive the call.
        unsafe { libc::$name($($argument),*) }
    }};
}
pub(crate) use call;

/// The error of the call that just failed.
pub fn errno() -> i32 {
    io::Error::last_os_error().raw_os_error().unwrap_or(0)
}

/// What a call answered.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Answer {
    pub value: isize,
    pub errno: i32,
    /// What was read, or other content.
    pub bytes: Vec<u8>,
    /// The descriptors received: device, inode, and whether they are close-on-exec.
    pub files: Vec<(u64, u64, bool)>,
    /// `msg_flags` and `msg_controllen`.
    pub flags: c_int,
    pub control: usize,
    /// The call raised SIGPIPE.
    pub sigpipe: bool,
}

/// A result and its errno.
pub fn outcome(value: impl TryInto<isize>) -> Answer {
    let errno = errno();
    let value = value.try_into().unwrap_or(isize::MAX);
    Answer { value, errno: if value < 0 { errno } else { 0 }, ..Answer::default() }
}

/// A result that must be good.
#[track_caller]
pub fn good(value: impl TryInto<isize>) -> isize {
    let answer = outcome(value);
    assert!(answer.value >= 0, "{}", io::Error::from_raw_os_error(answer.errno));
    answer.value
}

/// Buffers as the vector calls take them.
pub fn vectors(buffers: &mut [Vec<u8>]) -> Vec<iovec> {
    buffers.iter_mut().map(|b| iovec { iov_base: b.as_mut_ptr().cast(), iov_len: b.len() }).collect()
}

/// Blocks SIGPIPE in this thread, so that [`take_sigpipe`] can tell whether a call raised it.
pub fn hold_sigpipe() {
    let set = signal_set(libc::SIGPIPE);
    good(call!(pthread_sigmask(libc::SIG_BLOCK, &raw const set, ptr::null_mut())));
}

/// Whether SIGPIPE was raised in this thread since it was last asked.
pub fn take_sigpipe() -> bool {
    let set = signal_set(libc::SIGPIPE);
    let now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    call!(sigtimedwait(&raw const set, ptr::null_mut(), &raw const now)) == libc::SIGPIPE
}

/// A set of one signal.
pub fn signal_set(signal: c_int) -> libc::sigset_t {
    let mut set = std::mem::MaybeUninit::<libc::sigset_t>::zeroed();
    call!(sigemptyset(set.as_mut_ptr()));
    call!(sigaddset(set.as_mut_ptr(), signal));
    // SAFETY: filled in just now.
    unsafe { set.assume_init() }
}

/// poll(2) of some descriptors: the answers, or the error.
pub fn poll(wanted: &[(Fd, i16)], timeout: c_int) -> Result<Vec<i16>, i32> {
    let mut entries: Vec<_> = wanted.iter().map(|(fd, events)| pollfd { fd: *fd, events: *events, revents: -1 }).collect();
    let count = call!(poll(entries.as_mut_ptr(), entries.len() as libc::nfds_t, timeout));
    if count < 0 {
        return Err(errno());
    }
    let answers: Vec<_> = entries.iter().map(|entry| entry.revents).collect();
    assert_eq!(answers.iter().filter(|revents| **revents != 0).count(), count as usize, "{answers:?}");
    Ok(answers)
}

/// Whether `fd` is ready for `events` at this moment.
pub fn ready(fd: Fd, events: i16) -> i16 {
    poll(&[(fd, events)], 0).expect("poll")[0]
}

/// write(2) of everything.
#[track_caller]
pub fn write_all(fd: Fd, mut bytes: &[u8]) {
    while !bytes.is_empty() {
        let n = good(call!(write(fd, bytes.as_ptr().cast(), bytes.len())));
        bytes = &bytes[n as usize..];
    }
}

/// read(2) until `length` bytes are there or the stream ends.
#[track_caller]
pub fn read_up_to(fd: Fd, length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    let mut done = 0;
    while done < length {
        let n = good(call!(read(fd, bytes[done..].as_mut_ptr().cast(), length - done)));
        if n == 0 {
            break;
        }
        done += n as usize;
    }
    bytes.truncate(done);
    bytes
}

/// One read(2).
pub fn read_once(fd: Fd, room: usize) -> Answer {
    let mut bytes = vec![0; room];
    let mut answer = outcome(call!(read(fd, bytes.as_mut_ptr().cast(), room)));
    bytes.truncate(answer.value.max(0) as usize);
    answer.bytes = bytes;
    answer
}

/// Switches O_NONBLOCK.
pub fn set_nonblocking(fd: Fd, on: bool) {
    let flags = good(call!(fcntl(fd, libc::F_GETFL))) as c_int;
    let flags = if on { flags | libc::O_NONBLOCK } else { flags & !libc::O_NONBLOCK };
    good(call!(fcntl(fd, libc::F_SETFL, flags)));
}

/// FIONREAD.
pub fn readable_bytes(fd: Fd) -> c_int {
    let mut n: c_int = -1;
    good(call!(ioctl(fd, libc::FIONREAD, &raw mut n)));
    n
}

/// A pipe: its reading and its writing end.
pub fn pipe() -> (Fd, Fd) {
    let mut ends = [0; 2];
    good(call!(pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC)));
    (ends[0], ends[1])
}

/// Device and inode of a descriptor.
pub fn identity(fd: Fd) -> (u64, u64) {
    let mut status = std::mem::MaybeUninit::<libc::stat>::zeroed();
    good(call!(fstat(fd, status.as_mut_ptr())));
    // SAFETY: filled in just now.
    let status = unsafe { status.assume_init() };
    (status.st_dev, status.st_ino)
}

/// Waits until a thread of this process sleeps.
pub fn until_asleep(thread: i64) {
    let path = format!("/proc/self/task/{thread}/stat");
    // The state is behind the name, which is in brackets.
    while !std::fs::read_to_string(&path).is_ok_and(|stat| stat.contains(") S ")) {
        std::thread::yield_now();
    }
}

/// Closes what a test made, without a hook's help.
pub fn close_all(fds: impl IntoIterator<Item = Fd>) {
    for fd in fds {
        call!(close(fd));
    }
}

/// Runs `work` in a child that ends with its answer.
pub fn child(work: impl FnOnce() -> bool) -> pid_t {
    let pid = good(call!(fork())) as pid_t;
    if pid == 0 {
        let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)).unwrap_or(false);
        call!(_exit(if done { 0 } else { 1 }));
    }
    pid
}

/// Waits for a child that must have done its work.
#[track_caller]
pub fn join(pid: pid_t) {
    let mut status = -1;
    assert_eq!(call!(waitpid(pid, &raw mut status, 0)), pid);
    assert_eq!(status, 0, "the child's exit status");
}
