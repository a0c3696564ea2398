//! A few words in memory that two processes share.
#![allow(unsafe_code, reason = "declares the layout fit for shared memory")]

use crate::trips::job::Side;
use crate::trips::link::Link;
use anyhow::Context;
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, ftruncate, memfd_create};
use slipway_fabric::sync::{FutexWord, Mapping, Padded, Shared, Zeroed};
use std::os::fd::AsFd;

/// A word for each direction, on cache lines of their own.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Words {
    /// Written by the client.
    pub there: Padded<FutexWord>,
    /// Written by the server.
    pub back: Padded<FutexWord>,
}

// SAFETY: atomics of integers only, with padding.
unsafe impl Zeroed for Words {}

/// The words, in a segment that the server makes and sends to the client.
///
/// # Errors
/// When there is no shared memory, or the other process is gone.
pub fn share(link: &mut Link, side: Side) -> anyhow::Result<Shared<Words>> {
    let length = size_of::<Words>();
    let fd = match side {
        Side::Client => link.take()?,
        Side::Server => {
            let fd = memfd_create(c"slipway-bench", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING).context("memfd_create")?;
            ftruncate(&fd, length as u64).context("ftruncate")?;
            fcntl_add_seals(&fd, SealFlags::SHRINK).context("seal")?;
            link.give(&fd)?;
            fd
        }
    };
    #[allow(unsafe_code, reason = "a mapping of a file")]
    // SAFETY: one of the two measuring processes made the file, of this length, and sealed it.
    let mapping = unsafe { Mapping::of_file(fd.as_fd(), length) }.context("mmap")?;
    mapping.view(0).context("view of the shared words")
}
