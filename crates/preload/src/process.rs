//! Hooks on making processes: whoever may come to hold a connection without hooks gets it as a socket.

use crate::{
    epoll, linger, listen,
    real::{fail, last_error, real, shield},
    table::{self, Slot},
    timer,
};
use libc::{pid_t, posix_spawn_file_actions_t, posix_spawnattr_t};
use slipway_fabric::sync::{Forked, Held};
use slipway_transport::stream::Stream;
use std::{
    ffi::{c_char, c_int},
    os::fd::RawFd,
    sync::{Arc, Once},
    time::Instant,
};

type Strings = *const *const c_char;

real! {
    fn fork() -> pid_t;
    fn execve(path: *const c_char, arguments: Strings, environment: Strings) -> c_int;
    fn execv(path: *const c_char, arguments: Strings) -> c_int;
    fn execvp(file: *const c_char, arguments: Strings) -> c_int;
    fn execvpe(file: *const c_char, arguments: Strings, environment: Strings) -> c_int;
    fn fexecve(fd: c_int, arguments: Strings, environment: Strings) -> c_int;
    fn execveat(directory: c_int, path: *const c_char, arguments: Strings, environment: Strings, flags: c_int) -> c_int;
    fn posix_spawn(pid: *mut pid_t, path: *const c_char, actions: *const posix_spawn_file_actions_t, attributes: *const posix_spawnattr_t, arguments: Strings, environment: Strings) -> c_int;
    fn posix_spawnp(pid: *mut pid_t, file: *const c_char, actions: *const posix_spawn_file_actions_t, attributes: *const posix_spawnattr_t, arguments: Strings, environment: Strings) -> c_int;
    fn posix_spawn_file_actions_adddup2(actions: *mut posix_spawn_file_actions_t, old: c_int, new: c_int) -> c_int;
    fn system(command: *const c_char) -> c_int;
    fn popen(command: *const c_char, mode: *const c_char) -> *mut libc::FILE;
}

/// From now on streams are prepared for forks, by whichever function they are made.
pub fn watch_forks() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: functions that may run at any fork.
        unsafe { libc::pthread_atfork(Some(before_fork), None, Some(after_fork)) };
    });
}

/// This process may come to have a connection over shared memory.
pub fn begin() {
    watch_forks();
    slipway_transport::stream::at_segment(crate::signals::watch);
}

extern "C" fn before_fork() {
    shield(
        || {
            table::share_all();
            table::each(|slot| match slot {
                Slot::Stream(stream) => stream.before_fork(),
                Slot::Listener(hub) => hub.before_fork(),
                Slot::Plain(client) => client.before_fork(),
                Slot::Set(set) => set.expose_to_heirs(),
                Slot::Early(_) => {}
            });
        },
        || {},
    );
}

/// In the child.
extern "C" fn after_fork() {
    // SAFETY: fork has not returned here. A thread that another library's handler may have started has no part in the parent's connections yet.
    let child = unsafe { Forked::new() };
    slipway_transport::descriptor::restore_limit();
    shield(
        || {
            epoll::after_fork(&child);
            listen::after_fork(&child);
            table::each(|slot| match slot {
                Slot::Stream(stream) => stream.after_fork(&child),
                Slot::Listener(hub) => hub.after_fork(&child),
                Slot::Plain(client) => client.after_fork(),
                Slot::Set(set) => set.after_fork(&child),
                Slot::Early(early) => early.after_fork(&child),
            });
            slipway_transport::ports::office::Office::after_fork(&child);
            linger::after_fork(&child);
        },
        || {},
    );
}

#[unsafe(no_mangle)]
unsafe extern "C" fn fork() -> pid_t {
    // SAFETY: the caller's contract is fork(2)'s.
    let child = unsafe { next::fork() };
    if child < 0 {
        let error = last_error();
        shield(
            || {
                table::each(|slot| match slot {
                    Slot::Stream(stream) => stream.fork_failed(),
                    Slot::Listener(hub) => hub.fork_failed(),
                    Slot::Plain(client) => client.fork_failed(),
                    Slot::Set(_) | Slot::Early(_) => {}
                });
            },
            || {},
        );
        fail(error);
    }
    child
}

/// From now on what other ends want back on their sockets is put there when the program exits: no call of it may come before.
pub fn watch_exit() {
    static ONCE: Once = Once::new();
    // A handler that interrupts it would wait for it.
    let _held = Held::enter();
    ONCE.call_once(|| at_exit(settle));
}

extern "C" fn settle() {
    send_owed(|_| true);
    shield(linger::finish, || {});
}

/// Puts on its socket what the other end wants back there, of each connection that the process leaves.
fn send_owed(leaves: impl Fn(&Stream) -> bool) {
    shield(
        || {
            let start = Instant::now();
            for fd in table::used() {
                let owes = |stream: &Arc<Stream>| (stream.is_wanted_back() || stream.is_returning()) && leaves(stream);
                if let Some(stream) = table::stream(fd).filter(|stream| owes(stream) && !stream.is_in_use()) {
                    table::borrowed(fd, |fd| {
                        stream.make_room(fd);
                        stream.return_patiently(fd, linger::GRACE.saturating_sub(start.elapsed()));
                        stream.part(fd);
                    });
                }
            }
        },
        || {},
    );
}

/// Runs `function` when this process or one that it forked exits.
pub fn at_exit(function: extern "C" fn()) {
    // SAFETY: a function without arguments.
    unsafe { libc::atexit(function) };
}

/// Before another process gets what `fd` is: a connection goes back to its socket, and an epoll set tells the kernel all.
fn hand_over(fd: RawFd) {
    match table::get(fd) {
        Some(Slot::Stream(stream)) => table::hand_over(fd, &stream),
        Some(Slot::Set(set)) => set.expose_to_heirs(),
        Some(Slot::Early(_)) | None => table::share(fd),
        _ => {}
    }
}

/// Before a new program starts: [hands over](hand_over) what it would inherit.
fn release_inherited() {
    shield(
        || {
            for fd in table::own() {
                // SAFETY: no pointers.
                let flags = unsafe { libc::fcntl(fd, libc::F_GETFD) };
                if flags >= 0 && flags & libc::FD_CLOEXEC == 0 {
                    hand_over(fd);
                }
            }
        },
        || {},
    );
}

fn before_exec() {
    release_inherited();
    // The kernel closes the rest. The child of a fork leaves them to its parent.
    send_owed(|stream| !stream.has_heirs());
    shield(
        || {
            table::each(|slot| match slot {
                Slot::Stream(stream) => stream.before_exec(),
                Slot::Listener(hub) => hub.before_exec(),
                Slot::Set(_) | Slot::Plain(_) | Slot::Early(_) => {}
            });
        },
        || {},
    );
    linger::finish();
    timer::before_exec();
}

/// Makes a call that returns only if it fails.
fn exec(call: impl FnOnce() -> c_int) -> c_int {
    before_exec();
    let result = call();
    shield(
        || {
            table::each(|slot| {
                if let Slot::Stream(stream) = slot {
                    stream.after_exec();
                }
            });
        },
        || {},
    );
    result
}

/// vfork lends the child the parent's memory, tables of ours included; fork gives it its own.
#[unsafe(no_mangle)]
unsafe extern "C" fn vfork() -> pid_t {
    // SAFETY: POSIX lets vfork be fork.
    unsafe { fork() }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn execve(path: *const c_char, arguments: Strings, environment: Strings) -> c_int {
    // SAFETY: the caller's contract is exec's, here and below.
    exec(|| unsafe { next::execve(path, arguments, environment) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn execv(path: *const c_char, arguments: Strings) -> c_int {
    // SAFETY: as above.
    exec(|| unsafe { next::execv(path, arguments) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn execvp(file: *const c_char, arguments: Strings) -> c_int {
    // SAFETY: as above.
    exec(|| unsafe { next::execvp(file, arguments) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn execvpe(file: *const c_char, arguments: Strings, environment: Strings) -> c_int {
    // SAFETY: as above.
    exec(|| unsafe { next::execvpe(file, arguments, environment) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn fexecve(fd: c_int, arguments: Strings, environment: Strings) -> c_int {
    // SAFETY: as above.
    exec(|| unsafe { next::fexecve(fd, arguments, environment) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn execveat(
    directory: c_int,
    path: *const c_char,
    arguments: Strings,
    environment: Strings,
    flags: c_int,
) -> c_int {
    // SAFETY: as above.
    exec(|| unsafe { next::execveat(directory, path, arguments, environment, flags) })
}

/// For `variadic.c`: execl and execle end here.
#[unsafe(no_mangle)]
unsafe extern "C" fn slipway_execve(path: *const c_char, arguments: Strings, environment: Strings) -> c_int {
    // SAFETY: as execve(2).
    unsafe { execve(path, arguments, environment) }
}

/// For `variadic.c`: execlp ends here.
#[unsafe(no_mangle)]
unsafe extern "C" fn slipway_execvpe(file: *const c_char, arguments: Strings, environment: Strings) -> c_int {
    // SAFETY: as execvpe(3).
    unsafe { execvpe(file, arguments, environment) }
}

/// Exports a function of `variadic.c` under the name that it hooks: a jump that leaves all arguments
/// where they are.
macro_rules! export_variadic {
    ($($name:ident => $target:ident),*) => {
        unsafe extern "C" {
            $(fn $target();)*
        }
        $(
            #[unsafe(no_mangle)]
            #[unsafe(naked)]
            unsafe extern "C" fn $name() {
                #[cfg(target_arch = "x86_64")]
                std::arch::naked_asm!("jmp {}", sym $target);
                #[cfg(target_arch = "aarch64")]
                std::arch::naked_asm!("b {}", sym $target);
            }
        )*
    };
}
export_variadic!(execl => slipway_c_execl, execlp => slipway_c_execlp, execle => slipway_c_execle);

#[unsafe(no_mangle)]
unsafe extern "C" fn posix_spawn(
    pid: *mut pid_t,
    path: *const c_char,
    actions: *const posix_spawn_file_actions_t,
    attributes: *const posix_spawnattr_t,
    arguments: Strings,
    environment: Strings,
) -> c_int {
    release_inherited();
    // SAFETY: the caller's contract is posix_spawn(3)'s.
    unsafe { next::posix_spawn(pid, path, actions, attributes, arguments, environment) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn posix_spawnp(
    pid: *mut pid_t,
    file: *const c_char,
    actions: *const posix_spawn_file_actions_t,
    attributes: *const posix_spawnattr_t,
    arguments: Strings,
    environment: Strings,
) -> c_int {
    release_inherited();
    // SAFETY: as above.
    unsafe { next::posix_spawnp(pid, file, actions, attributes, arguments, environment) }
}

/// The child will have the descriptor under another number that stays open over exec.
#[unsafe(no_mangle)]
unsafe extern "C" fn posix_spawn_file_actions_adddup2(actions: *mut posix_spawn_file_actions_t, old: c_int, new: c_int) -> c_int {
    shield(|| hand_over(old), || {});
    // SAFETY: the caller's contract is this function's.
    unsafe { next::posix_spawn_file_actions_adddup2(actions, old, new) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn system(command: *const c_char) -> c_int {
    release_inherited();
    // SAFETY: the caller's contract is system(3)'s.
    unsafe { next::system(command) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn popen(command: *const c_char, mode: *const c_char) -> *mut libc::FILE {
    release_inherited();
    // SAFETY: the caller's contract is popen(3)'s.
    unsafe { next::popen(command, mode) }
}
