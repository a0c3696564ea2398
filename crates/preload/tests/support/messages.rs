//! sendmsg(2) and recvmsg(2) with descriptors.

use std::{ffi::c_int, mem::MaybeUninit, ptr};

use libc::{SCM_RIGHTS, SOL_SOCKET, msghdr};

use super::calls::{Answer, Fd, call, identity, outcome, vectors};

/// Room for control data, aligned as its headers must be.
fn control(bytes: usize) -> Vec<u64> {
    vec![0; bytes.div_ceil(8)]
}

fn header(vectors: &mut [libc::iovec], control: &mut [u64], room: usize) -> msghdr {
    // SAFETY: a header of zeros is valid and empty.
    let mut header = unsafe { MaybeUninit::<msghdr>::zeroed().assume_init() };
    (header.msg_iov, header.msg_iovlen) = (vectors.as_mut_ptr(), vectors.len() as _);
    header.msg_control = if room == 0 { ptr::null_mut() } else { control.as_mut_ptr().cast() };
    header.msg_controllen = room as _;
    header
}

/// Bytes of control data that hold `count` descriptors.
pub fn space(count: usize) -> usize {
    // SAFETY: arithmetic only.
    unsafe { libc::CMSG_SPACE((count * size_of::<c_int>()) as u32) as usize }
}

/// sendmsg(2) of buffers and descriptors.
pub fn send(fd: Fd, mut buffers: Vec<Vec<u8>>, files: &[Fd], flags: c_int) -> Answer {
    let room = if files.is_empty() { 0 } else { space(files.len()) };
    let mut control = control(room);
    let mut vectors = vectors(&mut buffers);
    let header = header(&mut vectors, &mut control, room);
    if !files.is_empty() {
        // SAFETY: `control` has room for one header and these descriptors.
        unsafe {
            let part = libc::CMSG_FIRSTHDR(&raw const header);
            (*part).cmsg_level = SOL_SOCKET;
            (*part).cmsg_type = SCM_RIGHTS;
            (*part).cmsg_len = libc::CMSG_LEN(size_of_val(files) as u32) as _;
            ptr::copy_nonoverlapping(files.as_ptr().cast::<u8>(), libc::CMSG_DATA(part), size_of_val(files));
        }
    }
    outcome(call!(sendmsg(fd, &raw const header, flags)))
}

/// recvmsg(2) into buffers of these lengths, with `room` bytes for control data. The descriptors
/// that came are in the second part, open.
pub fn receive_open(fd: Fd, lengths: &[usize], room: usize, flags: c_int) -> (Answer, Vec<Fd>) {
    let mut buffers: Vec<_> = lengths.iter().map(|n| vec![0xee; *n]).collect();
    let mut control = control(room);
    let mut vectors = vectors(&mut buffers);
    let mut header = header(&mut vectors, &mut control, room);
    let mut answer = outcome(call!(recvmsg(fd, &raw mut header, flags)));
    if answer.value < 0 {
        return (answer, Vec::new());
    }
    answer.flags = header.msg_flags;
    answer.control = header.msg_controllen;
    let mut files = Vec::new();
    // SAFETY: walks the control data that recvmsg filled in.
    unsafe {
        let mut part = libc::CMSG_FIRSTHDR(&raw const header);
        while !part.is_null() {
            assert_eq!(((*part).cmsg_level, (*part).cmsg_type), (SOL_SOCKET, SCM_RIGHTS));
            let count = ((*part).cmsg_len as usize - libc::CMSG_LEN(0) as usize) / size_of::<c_int>();
            let data = libc::CMSG_DATA(part).cast::<c_int>();
            files.extend((0..count).map(|i| data.add(i).read_unaligned()));
            part = libc::CMSG_NXTHDR(&raw const header, part);
        }
    }
    for file in &files {
        let (device, inode) = identity(*file);
        let cloexec = call!(fcntl(*file, libc::F_GETFD)) & libc::FD_CLOEXEC != 0;
        answer.files.push((device, inode, cloexec));
    }
    answer.bytes = filled(&buffers, answer.value);
    (answer, files)
}

/// As [`receive_open`], and closes what came.
pub fn receive(fd: Fd, lengths: &[usize], room: usize, flags: c_int) -> Answer {
    let (answer, files) = receive_open(fd, lengths, room, flags);
    for file in files {
        call!(close(file));
    }
    answer
}

/// The bytes that a call put into `buffers`, of which the rest must be as it was.
pub fn filled(buffers: &[Vec<u8>], count: isize) -> Vec<u8> {
    let mut bytes = buffers.concat();
    let rest = bytes.split_off(count.max(0) as usize);
    assert!(rest.iter().all(|byte| *byte == 0xee), "bytes beyond the result were written");
    bytes
}
