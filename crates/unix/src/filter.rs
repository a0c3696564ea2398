//! The net: which system calls are caught, which are refused.
//!
//! All others go to the kernel, which knows from the filter alone that they do, without running it. Those with a name in them, and
//! those by which a descriptor that was opened to read could change a file, are caught. What would enter the host's names in ways that the server can't follow
//! is refused, with the error of a kernel that doesn't have it, or of a user that may not.

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
    // Of a process that has had no children.
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

/// Requests of ioctl that change a file which is open to read: FS_IOC_SETFLAGS, FS_IOC_FSSETXATTR, FS_IOC_SETVERSION,
/// FS_IOC_SET_ENCRYPTION_POLICY, FS_IOC_ENABLE_VERITY, FS_IOC_SETFSLABEL, EXT4_IOC_SETVERSION_OLD, FAT_IOCTL_SET_ATTRIBUTES; and those of btrfs that make, change and remove subvolumes:
/// BTRFS_IOC_SNAP_CREATE, SUBVOL_CREATE, SNAP_DESTROY, SNAP_CREATE_V2, SUBVOL_CREATE_V2, SNAP_DESTROY_V2, SUBVOL_SETFLAGS, DEFAULT_SUBVOL,
/// SET_RECEIVED_SUBVOL.
#[rustfmt::skip]
const IOCTLS: &[u32] = &[
    0x4008_6602, 0x401c_5820, 0x4008_7602, 0x800c_6613, 0x4080_6685, 0x4100_9432, 0x4008_6604, 0x4004_7211,
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
    let ioctls = IOCTLS.iter().flat_map(|request| when(equal, *request, refuse(libc::EOPNOTSUPP)));
    with_argument(libc::SYS_ioctl, 1, typing.chain(ioctls).collect());
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
mod tests {
    use super::*;

    /// Above 4 GiB.
    const PLACE: u64 = 0x7fff_0000_7fff;

    /// Runs the filter as the kernel would.
    fn run(program: &[sock_filter], number: u32, arch: u32, args: [u32; 6]) -> u32 {
        run_at(program, PLACE, number, arch, args.map(u64::from))
    }

    fn run_at(program: &[sock_filter], place: u64, number: u32, arch: u32, args: [u64; 6]) -> u32 {
        let (mut at, mut word, mut kept) = (0, 0_u32, 0);
        let half = |value: u64, offset: u32| if offset % 8 == argument(0) % 8 { value as u32 } else { (value >> 32) as u32 };
        loop {
            let op = program[at];
            at += 1;
            let code = u32::from(op.code);
            let with = if code & 8 == libc::BPF_X { kept } else { op.k };
            match code & 7 {
                libc::BPF_LD => {
                    word = match op.k {
                        NUMBER => number,
                        ARCH => arch,
                        8 | 12 => half(place, op.k),
                        other => half(args[(other as usize - 16) / 8], other),
                    }
                }
                libc::BPF_RET => return op.k,
                libc::BPF_ALU if code & 0xf0 == libc::BPF_SUB => word = word.wrapping_sub(with),
                libc::BPF_ALU => word &= with,
                libc::BPF_MISC if code & 0xf8 == libc::BPF_TAX => kept = word,
                libc::BPF_MISC => word = kept,
                libc::BPF_JMP if code & 0xf0 == libc::BPF_JA => at += op.k as usize,
                _ => {
                    let holds = match code & 0xf0 {
                        libc::BPF_JEQ => word == with,
                        libc::BPF_JGT => word > with,
                        libc::BPF_JGE => word >= with,
                        libc::BPF_JSET => word & with != 0,
                        other => panic!("jump {other}"),
                    };
                    at += usize::from(if holds { op.jt } else { op.jf });
                }
            }
        }
    }

    #[test]
    fn each_call_has_its_answer() {
        for (contain, look) in [(false, None), (false, Some(Look { place: 1, distance: 2 })), (true, None)] {
            let program = filter(true, contain, look);
            assert!(program.len() < 4096);
            let forbidden = [FORBIDDEN, FORBIDDEN_OLD, if contain { OUTWARD } else { &[] }].concat();
            for number in 0..=c_long::from(LAST_KNOWN as i32) {
                let expected = match number {
                    _ if [CAUGHT, CAUGHT_OLD, USERS].concat().contains(&number) => NOTIFY,
                    _ if UNKNOWN.contains(&number) => ERRNO | libc::ENOSYS as u32,
                    _ if forbidden.contains(&number) => ERRNO | libc::EPERM as u32,
                    libc::SYS_name_to_handle_at => ERRNO | libc::EOPNOTSUPP as u32,
                    _ => ALLOW,
                };
                assert_eq!(run(&program, number as u32, THIS_ARCH, [0; 6]), expected, "{number}");
            }
        }
    }

    #[test]
    fn passes_the_loaders_look() {
        const EMPTY: u64 = libc::AT_EMPTY_PATH as u64;
        let program = filter(true, false, Some(Look { place: 0x92a, distance: 0x936f }));
        let call = |place: u64, args| run_at(&program, place, libc::SYS_newfstatat as u32, THIS_ARCH, args);
        let place = 0x7ff5_bf27_292a;
        assert_eq!(call(place, [3, place + 0x936f, 0, EMPTY, 0, 0]), ALLOW);
        for (place, args) in [
            (place, [3, place + 0x9370, 0, EMPTY, 0, 0]),
            (place + 1, [3, place + 1 + 0x936f, 0, EMPTY, 0, 0]),
            (place, [3, place + 0x936f, 0, 0, 0, 0]),
            (place, [3, place + 0x936f, 0, EMPTY | 0x100, 0, 0]),
            (place, [u64::from(libc::AT_FDCWD as u32), place + 0x936f, 0, EMPTY, 0, 0]),
            (place, [3, place + 0x1_0000_0000 + 0x936f, 0, EMPTY, 0, 0]),
        ] {
            assert_eq!(call(place, args), NOTIFY, "{place:x} {args:x?}");
        }
        let call = |number: c_long| run_at(&program, place, number as u32, THIS_ARCH, [3, place + 0x936f, 0, EMPTY, 0, 0]);
        assert_eq!((call(libc::SYS_openat), call(libc::SYS_statx), call(libc::SYS_mount)), (NOTIFY, NOTIFY, ERRNO | 1));
        let contained = filter(true, true, Some(Look { place: 0x92a, distance: 0x936f }));
        let args = [3, place + 0x936f, 0, EMPTY, 0, 0];
        assert_eq!(run_at(&contained, place, libc::SYS_newfstatat as u32, THIS_ARCH, args), NOTIFY);
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn passes_the_librarys_memory() {
        let program = filter(true, false, None);
        let args = [libc::AT_FDCWD as u32, 0, 0x80002, layout::OPEN_MODE as u32, layout::OPEN_MARK as u32, 0];
        assert_eq!(run(&program, libc::SYS_openat as u32, THIS_ARCH, args), ALLOW);
        for (at, other) in [(0, 5), (2, 0x80042), (2, 2), (3, 0o666), (4, 0)] {
            let mut args = args;
            args[at] = other;
            assert_eq!(run(&program, libc::SYS_openat as u32, THIS_ARCH, args), NOTIFY, "{args:x?}");
        }
        assert_eq!(run(&filter(true, true, None), libc::SYS_openat as u32, THIS_ARCH, args), NOTIFY);
    }

    #[test]
    fn decides() {
        let program = filter(false, false, None);
        let call = |number: c_long, args| run(&program, number as u32, THIS_ARCH, args);
        assert_eq!(call(libc::SYS_openat, [0; 6]), NOTIFY);
        assert_eq!(call(libc::SYS_read, [0; 6]), ALLOW);
        assert_eq!(call(libc::SYS_io_uring_setup, [0; 6]), ERRNO | libc::ENOSYS as u32);
        assert_eq!(call(libc::SYS_mount, [0; 6]), ERRNO | libc::EPERM as u32);
        assert_eq!(call(libc::SYS_clone, [libc::CLONE_NEWUSER as u32, 0, 0, 0, 0, 0]), ERRNO | libc::EPERM as u32);
        assert_eq!(call(libc::SYS_clone, [libc::SIGCHLD as u32, 0, 0, 0, 0, 0]), ALLOW);
        assert_eq!(call(libc::SYS_unshare, [libc::CLONE_NEWPID as u32, 0, 0, 0, 0, 0]), NOTIFY);
        assert_eq!(call(libc::SYS_ioctl, [0, 0x4008_6602, 0, 0, 0, 0]), ERRNO | libc::EOPNOTSUPP as u32);
        assert_eq!(call(libc::SYS_ioctl, [0, 0x5401, 0, 0, 0, 0]), ALLOW);
        assert_eq!(call(libc::SYS_ioctl, [0, 0x4004_9409, 0, 0, 0, 0]), ALLOW, "FICLONE");
        assert_eq!(call(libc::SYS_ioctl, [0, 0x5000_940e, 0, 0, 0, 0]), ERRNO | libc::EOPNOTSUPP as u32, "a subvolume");
        assert_eq!(call(libc::SYS_clone3, [0; 6]), ERRNO | libc::ENOSYS as u32);
        assert_eq!(call(libc::SYS_prctl, [libc::PR_SET_DUMPABLE as u32, 0, 0, 0, 0, 0]), ERRNO);
        assert_eq!(call(libc::SYS_prctl, [libc::PR_SET_DUMPABLE as u32, 1, 0, 0, 0, 0]), ALLOW);
        assert_eq!(call(libc::SYS_prctl, [libc::PR_SET_NAME as u32, 0, 0, 0, 0, 0]), ALLOW);
        assert_eq!(call(libc::SYS_socket, [libc::AF_INET as u32, 0, 0, 0, 0, 0]), ERRNO | libc::EACCES as u32);
        assert_eq!(call(libc::SYS_socket, [libc::AF_UNIX as u32, 0, 0, 0, 0, 0]), ALLOW);
        assert_eq!(call(9999, [0; 6]), ERRNO | libc::ENOSYS as u32);
        let contained = filter(true, true, None);
        let call = |number: c_long, args| run(&contained, number as u32, THIS_ARCH, args);
        let socket = |family: i32, kind: i32| call(libc::SYS_socket, [family as u32, kind as u32, 0, 0, 0, 0]);
        assert_eq!(socket(libc::AF_UNIX, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC), ERRNO | libc::EACCES as u32);
        assert_eq!(socket(libc::AF_UNIX, libc::SOCK_RAW), ERRNO | libc::EACCES as u32);
        assert_eq!(socket(libc::AF_UNIX, libc::SOCK_STREAM | libc::SOCK_CLOEXEC), ALLOW);
        assert_eq!(socket(libc::AF_INET, libc::SOCK_DGRAM), ALLOW);
        assert_eq!(
            call(libc::SYS_socketpair, [libc::AF_UNIX as u32, libc::SOCK_DGRAM as u32, 0, 0, 0, 0]),
            ERRNO | libc::EACCES as u32
        );
        assert_eq!(call(libc::SYS_prlimit64, [1, 0, 0, 0, 0, 0]), ERRNO | libc::EPERM as u32);
        assert_eq!(call(libc::SYS_prlimit64, [0; 6]), ALLOW);
        assert_eq!(call(libc::SYS_ioctl, [0, 0x5412, 0, 0, 0, 0]), ERRNO | libc::EPERM as u32);
        assert_eq!(call(libc::SYS_shmget, [0; 6]), ERRNO | libc::EPERM as u32);
        let contained = filter(false, true, None);
        assert_eq!(
            run(&contained, libc::SYS_socket as u32, THIS_ARCH, [libc::AF_INET as u32, 1, 0, 0, 0, 0]),
            ERRNO | libc::EACCES as u32
        );
        assert_eq!(run(&contained, libc::SYS_socket as u32, THIS_ARCH, [libc::AF_UNIX as u32, 1, 0, 0, 0, 0]), ALLOW);
        assert_eq!(run(&program, libc::SYS_read as u32, 0x4000_0003, [0; 6]), ERRNO | libc::ENOSYS as u32);
        assert_eq!(run(&program, 0x4000_0000 | libc::SYS_read as u32, THIS_ARCH, [0; 6]), ERRNO | libc::ENOSYS as u32);
    }
}
