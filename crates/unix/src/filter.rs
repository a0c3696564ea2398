//! The net: which system calls are caught, which are refused.
//!
//! All others go to the kernel, which knows from the filter alone that they do, without running it. Those with a name in them, and
//! those by which a descriptor that was opened to read could change a file, are caught. What would enter the host's names in ways that the server can't follow
//! is refused, with the error of a kernel that doesn't have it, or of a user that may not.

use crate::user;
use libc::{c_long, sock_filter};
use slipway_emulator::{layout, loader::Look};
use std::collections::BTreeMap;

/// Calls that the server answers.
pub(crate) const CAUGHT: &[c_long] = &[
    libc::SYS_openat,
    libc::SYS_openat2,
    libc::SYS_newfstatat,
    libc::SYS_fstat,
    libc::SYS_statx,
    libc::SYS_statfs,
    libc::SYS_faccessat,
    libc::SYS_faccessat2,
    libc::SYS_readlinkat,
    libc::SYS_getcwd,
    libc::SYS_chdir,
    libc::SYS_fchdir,
    libc::SYS_getdents64,
    libc::SYS_mkdirat,
    libc::SYS_unlinkat,
    libc::SYS_renameat2,
    libc::SYS_linkat,
    libc::SYS_symlinkat,
    libc::SYS_mknodat,
    libc::SYS_fchmod,
    libc::SYS_fchmodat,
    FCHMODAT2,
    libc::SYS_fchown,
    libc::SYS_fchownat,
    libc::SYS_utimensat,
    libc::SYS_truncate,
    libc::SYS_execve,
    libc::SYS_execveat,
    libc::SYS_exit_group,
    libc::SYS_umask,
    libc::SYS_bind,
    libc::SYS_connect,
    libc::SYS_getsockname,
    libc::SYS_getpeername,
    libc::SYS_inotify_add_watch,
    libc::SYS_getxattr,
    libc::SYS_lgetxattr,
    libc::SYS_listxattr,
    libc::SYS_llistxattr,
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_fremovexattr,
];

/// The older ones, which x86-64 has beside them.
#[cfg(target_arch = "x86_64")]
pub(crate) const CAUGHT_OLD: &[c_long] = &[
    libc::SYS_open,
    libc::SYS_creat,
    libc::SYS_stat,
    libc::SYS_lstat,
    libc::SYS_access,
    libc::SYS_readlink,
    libc::SYS_getdents,
    libc::SYS_mkdir,
    libc::SYS_rmdir,
    libc::SYS_unlink,
    libc::SYS_rename,
    libc::SYS_renameat,
    libc::SYS_link,
    libc::SYS_symlink,
    libc::SYS_mknod,
    libc::SYS_chmod,
    libc::SYS_chown,
    libc::SYS_lchown,
    libc::SYS_utime,
    libc::SYS_utimes,
    libc::SYS_futimesat,
];
#[cfg(not(target_arch = "x86_64"))]
pub(crate) const CAUGHT_OLD: &[c_long] = &[libc::SYS_renameat];

/// Those of them that the emulation library makes itself.
#[cfg(target_arch = "x86_64")]
const EMULATED: &[c_long] = &[
    libc::SYS_openat,
    libc::SYS_openat2,
    libc::SYS_newfstatat,
    libc::SYS_fstat,
    libc::SYS_statx,
    libc::SYS_faccessat,
    libc::SYS_faccessat2,
    libc::SYS_readlinkat,
    libc::SYS_getdents,
    libc::SYS_getdents64,
    libc::SYS_lgetxattr,
    // Of a process that has no children: a program that the kernel finds by its path, and its end.
    libc::SYS_execve,
    libc::SYS_exit_group,
];
#[cfg(not(target_arch = "x86_64"))]
const EMULATED: &[c_long] = &[];

/// Calls that the kernel carries out, and the server has to know of: what a process may do changes with its user.
const USERS: &[c_long] = &[
    libc::SYS_setuid,
    libc::SYS_setgid,
    libc::SYS_setreuid,
    libc::SYS_setregid,
    libc::SYS_setresuid,
    libc::SYS_setresgid,
    libc::SYS_setfsuid,
    libc::SYS_setfsgid,
    libc::SYS_setgroups,
];

pub(crate) fn is_change_of_user(number: i32) -> bool {
    USERS.contains(&number.into())
}

/// Calls that the kernel carries out, and the server has to know of where they make a namespace of processes.
pub(crate) fn is_new_namespace(number: i32) -> bool {
    [libc::SYS_unshare, libc::SYS_clone].contains(&number.into())
}

pub(crate) const FCHMODAT2: c_long = 452;

/// Calls of newer kernels, the same numbers on all machines: as if the kernel didn't have them, so that programs use the older ones.
const UNKNOWN: &[c_long] = &[
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    // Which namespaces it makes is in memory, which can be changed after it was looked at. The C library goes on with clone.
    libc::SYS_clone3,
    // cachestat is none. setxattrat, getxattrat, listxattrat, removexattrat, open_tree_attr, file_getattr, file_setattr:
    463,
    464,
    465,
    466,
    467,
    468,
    469,
];

/// No call that this filter knows has a higher number.
const LAST_KNOWN: u32 = 470;

/// What takes privileges, or would lead around the server.
const FORBIDDEN: &[c_long] = &[
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_open_tree,
    libc::SYS_move_mount,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_open_by_handle_at,
    libc::SYS_fanotify_init,
    libc::SYS_fanotify_mark,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_quotactl_fd,
    libc::SYS_bpf,
    libc::SYS_setns,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_reboot,
];

#[cfg(target_arch = "x86_64")]
const FORBIDDEN_OLD: &[c_long] = &[libc::SYS_uselib];
#[cfg(not(target_arch = "x86_64"))]
const FORBIDDEN_OLD: &[c_long] = &[];

/// FS_IOC_SETFLAGS, FS_IOC_FSSETXATTR: programs that restore a file set also what it has already.
pub(crate) const SET_FLAGS: u32 = 0x4008_6602;
const FLAG_IOCTLS: &[u32] = &[SET_FLAGS, 0x401c_5820];

/// Other requests of ioctl that change a file which is open to read: FS_IOC_SETVERSION, FS_IOC_SET_ENCRYPTION_POLICY, FS_IOC_ENABLE_VERITY, FS_IOC_SETFSLABEL, EXT4_IOC_SETVERSION_OLD, FAT_IOCTL_SET_ATTRIBUTES; and those of btrfs that make, change and remove subvolumes:
/// BTRFS_IOC_SNAP_CREATE, SUBVOL_CREATE, SNAP_DESTROY, SNAP_CREATE_V2, SUBVOL_CREATE_V2, SNAP_DESTROY_V2, SUBVOL_SETFLAGS, DEFAULT_SUBVOL,
/// SET_RECEIVED_SUBVOL.
#[rustfmt::skip]
const IOCTLS: &[u32] = &[
    0x4008_7602, 0x800c_6613, 0x4080_6685, 0x4100_9432, 0x4008_6604, 0x4004_7211,
    0x5000_9401, 0x5000_940e, 0x5000_940f, 0x5000_9417, 0x5000_9418, 0x5000_943f, 0x4008_941a, 0x4008_9413, 0xc0c8_9425,
];

const ALLOW: u32 = 0x7fff_0000;
const ERRNO: u32 = 0x0005_0000;
const NOTIFY: u32 = 0x7fc0_0000;
/// Offsets in `struct seccomp_data`.
const NUMBER: u32 = 0;
const ARCH: u32 = 4;
const IP_LOW: u32 = 8 + if cfg!(target_endian = "big") { 4 } else { 0 };
const IP_HIGH: u32 = 8 + if cfg!(target_endian = "big") { 0 } else { 4 };
const fn argument(n: u32) -> u32 {
    16 + 8 * n + if cfg!(target_endian = "big") { 4 } else { 0 }
}
const fn argument_high(n: u32) -> u32 {
    16 + 8 * n + if cfg!(target_endian = "big") { 0 } else { 4 }
}

#[cfg(target_arch = "x86_64")]
const THIS_ARCH: u32 = 0xc000_003e;
#[cfg(target_arch = "aarch64")]
const THIS_ARCH: u32 = 0xc000_00b7;

const fn op(code: u32, k: u32) -> sock_filter {
    sock_filter { code: code as u16, jt: 0, jf: 0, k }
}

const fn load(offset: u32) -> sock_filter {
    op(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, offset)
}

const fn answer(with: u32) -> sock_filter {
    op(libc::BPF_RET | libc::BPF_K, with)
}

/// Answers if the loaded word compares so; 2 instructions.
fn when(compare: u32, k: u32, with: u32) -> [sock_filter; 2] {
    [sock_filter { jf: 1, ..op(libc::BPF_JMP | compare | libc::BPF_K, k) }, answer(with)]
}

/// What passes where the emulation library's gate makes it, and is caught elsewhere.
fn emulated() -> [sock_filter; 7] {
    let jump = |compare: u32, k: u32, jt: u8, jf: u8| sock_filter { jt, jf, ..op(libc::BPF_JMP | compare | libc::BPF_K, k) };
    [
        load(IP_HIGH),
        jump(libc::BPF_JEQ, 0, 0, 4),
        load(IP_LOW),
        jump(libc::BPF_JGE, layout::BASE as u32, 0, 2),
        jump(libc::BPF_JGE, (layout::BASE + layout::GATE_SIZE) as u32, 1, 0),
        answer(ALLOW),
        answer(NOTIFY),
    ]
}

/// What is answered, by the number of the call. All others are allowed.
type Rules = BTreeMap<u32, Vec<sock_filter>>;

/// Finds the rule of a call by halves, since the kernel runs the filter at each call that it does not allow by its number alone, and for every
/// number when it takes it.
fn search(rules: &[(u32, Vec<sock_filter>)]) -> Vec<sock_filter> {
    match rules {
        [] => vec![answer(ALLOW)],
        [(number, rule)] => {
            let test = sock_filter { jf: 1, ..op(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, *number) };
            [&[test, op(libc::BPF_JMP | libc::BPF_JA, 1), answer(ALLOW)], &rule[..]].concat()
        }
        _ => {
            let (low, high) = rules.split_at(rules.len() / 2);
            let low = search(low);
            let test = sock_filter { jf: 1, ..op(libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K, high[0].0) };
            [&[test, op(libc::BPF_JMP | libc::BPF_JA, low.len() as u32)], &low[..], &search(high)].concat()
        }
    }
}

/// A test that does not hold where this is how far it jumps: [`passes`] puts the distance there.
const OTHERWISE: u8 = u8::MAX;

/// Goes on where the loaded word is this.
const fn only(k: u32) -> sock_filter {
    sock_filter { jf: OTHERWISE, ..op(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, k) }
}

/// Lets the call pass if all tests hold.
fn passes(mut tests: Vec<sock_filter>) -> Vec<sock_filter> {
    let count = tests.len();
    for (at, test) in tests.iter_mut().enumerate() {
        for jump in [&mut test.jt, &mut test.jf].into_iter().filter(|jump| **jump == OTHERWISE) {
            *jump = (count - at) as u8;
        }
    }
    tests.push(answer(ALLOW));
    tests
}

/// How a thread's user or group is set to the server's, or not at all.
fn stays_user(number: c_long) -> Vec<sock_filter> {
    /// As the calls have it.
    const UNCHANGED: u32 = u32::MAX;
    if user::is_settled() {
        return passes(Vec::new());
    }
    let is_unchanged = sock_filter { jt: 1, ..op(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, UNCHANGED) };
    user::set_by(number).map_or_else(Vec::new, |(own, count)| {
        passes((0..count).flat_map(|n| [load(argument(n)), is_unchanged, only(own)]).collect())
    })
}

/// How the emulation library's memory is opened.
fn opens_memory() -> Vec<sock_filter> {
    let words = [
        (0, libc::AT_FDCWD as u32),
        (2, (libc::O_RDWR | libc::O_CLOEXEC) as u32),
        (3, layout::OPEN_MODE as u32),
        (4, layout::OPEN_MARK as u32),
    ];
    let tests = words.into_iter().flat_map(|(number, word)| [load(argument(number)), only(word)]);
    passes(tests.collect())
}

/// How the dynamic loader looks at what it has opened, which has no name in it. That is told by the place where it calls from, and by where the
/// empty path is, as seen from there: the text is the loader's, and so is the path.
fn loader_looks(look: Look) -> Vec<sock_filter> {
    let subtract = op(libc::BPF_ALU | libc::BPF_SUB | libc::BPF_X, 0);
    let (keep, take_back) = (op(libc::BPF_MISC | libc::BPF_TAX, 0), op(libc::BPF_MISC | libc::BPF_TXA, 0));
    passes(vec![
        load(argument(3)),
        only(libc::AT_EMPTY_PATH as u32),
        // A descriptor, and not the working directory.
        load(argument(0)),
        sock_filter { jt: OTHERWISE, ..op(libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K, 1 << 31) },
        load(IP_HIGH),
        keep,
        load(argument_high(1)),
        sock_filter { jf: OTHERWISE, ..op(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_X, 0) },
        load(IP_LOW),
        keep,
        load(argument(1)),
        subtract,
        only(look.distance),
        take_back,
        op(libc::BPF_ALU | libc::BPF_AND | libc::BPF_K, 0xfff),
        only(look.place),
    ])
}

/// What reaches processes outside by ways without names of files.
#[rustfmt::skip]
const OUTWARD: &[c_long] = &[
    libc::SYS_shmget, libc::SYS_shmat, libc::SYS_shmctl, libc::SYS_semget, libc::SYS_semop, libc::SYS_semtimedop, libc::SYS_semctl,
    libc::SYS_msgget, libc::SYS_msgsnd, libc::SYS_msgrcv, libc::SYS_msgctl, libc::SYS_mq_open, libc::SYS_mq_unlink,
    libc::SYS_add_key, libc::SYS_request_key, libc::SYS_keyctl, libc::SYS_perf_event_open,
];

/// TIOCSTI and TIOCLINUX: what they type is for the shell that the command was started from.
const TYPING: &[u32] = &[0x5412, 0x541c];

/// The filter. `network` says whether the command may make sockets for other than local connections, `contain` that it means harm, `look` how
/// the dynamic loader looks at what it has opened.
pub(crate) fn filter(network: bool, contain: bool, look: Option<Look>) -> Vec<sock_filter> {
    let refuse = |error: i32| ERRNO | error as u32;
    let equal = libc::BPF_JEQ;
    let mut program = vec![load(ARCH)];
    // Another machine's calls, 32-bit ones: none of them.
    program.extend([sock_filter { jt: 1, ..op(libc::BPF_JMP | equal | libc::BPF_K, THIS_ARCH) }, answer(refuse(libc::ENOSYS))]);
    program.push(load(NUMBER));
    // x32's have a high bit; what is newer than this filter may name files.
    program.extend(when(libc::BPF_JGT, LAST_KNOWN, refuse(libc::ENOSYS)));
    let mut rules = Rules::new();
    for number in CAUGHT.iter().chain(CAUGHT_OLD).chain(USERS) {
        let is_emulated = !contain && EMULATED.contains(number);
        rules.insert(*number as u32, if is_emulated { emulated().to_vec() } else { vec![answer(NOTIFY)] });
    }
    if !contain {
        let mut may_pass = |number: c_long, tests: Vec<sock_filter>| {
            rules.entry(number as u32).and_modify(|rule| *rule = [tests, rule.clone()].concat());
        };
        look.into_iter().for_each(|look| may_pass(libc::SYS_newfstatat, loader_looks(look)));
        may_pass(libc::SYS_openat, if EMULATED.is_empty() { Vec::new() } else { opens_memory() });
        USERS.iter().for_each(|number| may_pass(*number, stays_user(*number)));
    }
    for number in UNKNOWN {
        rules.insert(*number as u32, vec![answer(refuse(libc::ENOSYS))]);
    }
    for number in FORBIDDEN.iter().chain(FORBIDDEN_OLD).chain(if contain { OUTWARD } else { &[] }) {
        rules.insert(*number as u32, vec![answer(refuse(libc::EPERM))]);
    }
    rules.insert(libc::SYS_name_to_handle_at as u32, vec![answer(refuse(libc::EOPNOTSUPP))]);
    // New mount and user namespaces would see other names, or have other rights than the server.
    let namespaces = libc::CLONE_NEWNS | libc::CLONE_NEWUSER;
    let mut with_argument = |number: c_long, n: u32, tests: Vec<sock_filter>| {
        rules.insert(number as u32, [&[load(argument(n))], &tests[..], &[answer(ALLOW)]].concat());
    };
    for number in [libc::SYS_unshare, libc::SYS_clone] {
        let refused = when(libc::BPF_JSET, namespaces as u32, refuse(libc::EPERM));
        with_argument(number, 0, [refused, when(libc::BPF_JSET, libc::CLONE_NEWPID as u32, NOTIFY)].concat());
    }
    let typing = TYPING.iter().filter(|_| contain).flat_map(|request| when(equal, *request, refuse(libc::EPERM)));
    let flags = FLAG_IOCTLS.iter().flat_map(|request| when(equal, *request, NOTIFY));
    let ioctls = IOCTLS.iter().flat_map(|request| when(equal, *request, refuse(libc::EOPNOTSUPP)));
    with_argument(libc::SYS_ioctl, 1, typing.chain(flags).chain(ioctls).collect());
    // The server could not read the memory of a process that is not dumpable. It is told that it is not; core files are lost anyway.
    let dumpable =
        [sock_filter { jf: 3, ..op(libc::BPF_JMP | equal | libc::BPF_K, libc::PR_SET_DUMPABLE as u32) }, load(argument(1))];
    with_argument(libc::SYS_prctl, 0, dumpable.into_iter().chain(when(equal, 0, refuse(0))).collect());
    if contain {
        // Another process's limits.
        with_argument(libc::SYS_prlimit64, 0, [&when(equal, 0, ALLOW)[..], &[answer(refuse(libc::EPERM))]].concat());
        // What is sent by such a socket can go to any name.
        for number in [libc::SYS_socket, libc::SYS_socketpair] {
            let local = sock_filter { jf: 6, ..op(libc::BPF_JMP | equal | libc::BPF_K, libc::AF_UNIX as u32) };
            let kind = [load(argument(1)), op(libc::BPF_ALU | libc::BPF_AND | libc::BPF_K, 0xf)];
            // The kernel makes a datagram socket of a raw local one.
            let datagrams = [libc::SOCK_DGRAM, libc::SOCK_RAW].map(|kind| when(equal, kind as u32, refuse(libc::EACCES)));
            let mut tests = [&[local][..], &kind, &datagrams.concat()].concat();
            if number == libc::SYS_socket && !network {
                tests = [&tests[..], &[load(argument(0))], &local_only(&refuse)].concat();
            }
            with_argument(number, 0, tests);
        }
    } else if !network {
        with_argument(libc::SYS_socket, 0, local_only(&refuse));
    }
    program.extend(search(&rules.into_iter().collect::<Vec<_>>()));
    program
}

/// Whether a family of sockets is reached without the network.
fn local_only(refuse: &impl Fn(i32) -> u32) -> Vec<sock_filter> {
    let families = [libc::AF_UNIX, libc::AF_NETLINK, libc::AF_ALG];
    let mut tests: Vec<sock_filter> = families.iter().flat_map(|family| when(libc::BPF_JEQ, *family as u32, ALLOW)).collect();
    tests.push(answer(refuse(libc::EACCES)));
    tests
}

#[cfg(test)]
mod tests;
