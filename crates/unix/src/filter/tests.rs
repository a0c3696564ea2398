//! The filter, run as the kernel would.

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
                _ if !contain && USERS.contains(&number) && user::stays(number as i32, &[0; 6]) => ALLOW,
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
fn passes_what_changes_no_user() {
    let program = filter(true, false, None);
    let call = |args| run(&program, libc::SYS_setresuid as u32, THIS_ARCH, args);
    let own = rustix::process::geteuid().as_raw();
    let other = if user::is_settled() { ALLOW } else { NOTIFY };
    for (args, expected) in [
        ([own, own, own, 7, 7, 7], ALLOW),
        ([u32::MAX, own, u32::MAX, 0, 0, 0], ALLOW),
        ([own + 1, own, own, 0, 0, 0], other),
        ([own, own, own + 1, 0, 0, 0], other),
        ([u32::MAX, u32::MAX, 1000 + own, 0, 0, 0], other),
    ] {
        assert_eq!(call(args), expected, "{args:?}");
    }
    assert_eq!(run(&program, libc::SYS_setgroups as u32, THIS_ARCH, [0; 6]), other);
    assert_eq!(run(&filter(true, true, None), libc::SYS_setresuid as u32, THIS_ARCH, [own; 6]), NOTIFY);
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
    assert_eq!(call(libc::SYS_ioctl, [0, 0x4008_6602, 0, 0, 0, 0]), NOTIFY);
    assert_eq!(call(libc::SYS_ioctl, [0, 0x4008_7602, 0, 0, 0, 0]), ERRNO | libc::EOPNOTSUPP as u32);
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
