//! A line's segment: a sealed memfd with a page of control words and two rings, one each way.
//! A user of the fabric may have a table of its own words between the two, for each end one.

use crate::{
    descriptor::make_any,
    ring::{FRONT, Ring, RingControl},
    spin::SpinStrategy,
    sync::{AtomicU32, Mapping, Ordering, Padded, Shared, Zeroed},
};
use rustix::{
    fs::{
        FallocateFlags, FsWord, MemfdFlags, SealFlags, fallocate, fcntl_add_seals, fcntl_get_seals, fstat, fstatfs, ftruncate,
        memfd_create,
    },
    io::Errno,
};
use std::{
    io,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
};

/// Where the areas of the rings begin: after one page of control words.
const AREAS: usize = 4096;

/// The smallest and largest area of a ring in bytes.
pub const RING_LIMITS: std::ops::RangeInclusive<usize> = 4096..=(1 << 30);

/// The file system of memory files with pages of the usual size (`TMPFS_MAGIC`).
const PLAIN: FsWord = 0x0102_1994;

/// Whether a memory file that a peer sent has pages of the usual size. One of huge pages could be sealed as well, but
/// touching it kills this process if there is no such page left.
pub fn is_plain_memory(file: impl AsFd) -> bool {
    fstatfs(file).is_ok_and(|system| system.f_type == PLAIN)
}

/// What each end of a line tells the other about itself.
#[derive(Debug, Default)]
#[repr(C)]
pub struct EndBoard {
    /// The processor that the end last waited on, plus one; 0 before that. A hint: wrong values
    /// make the other end spin or not, nothing else.
    pub cpu: AtomicU32,
    /// The process that was forked last while it had this end; 0: none was. For people.
    pub heir: AtomicU32,
}

#[derive(Debug, Default)]
#[repr(C)]
struct Control {
    rings: [RingControl; 2],
    ends: [Padded<EndBoard>; 2],
}

const _: () = assert!(size_of::<Control>() <= AREAS);

// SAFETY: atomics of integers only, with padding.
#[allow(unsafe_code, reason = "declares the layout fit for shared memory")]
unsafe impl Zeroed for Control {}
// SAFETY: as above.
#[allow(unsafe_code, reason = "declares the layout fit for shared memory")]
unsafe impl Zeroed for EndBoard {}

/// Which end of a line a process is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The end that made the segment.
    Host,
    /// The end that the segment was sent to.
    Client,
}

/// One end's view of a segment.
#[derive(Debug)]
pub struct Segment {
    /// The ring this end writes.
    pub tx: Ring,
    /// The ring this end reads.
    pub rx: Ring,
    /// This end's board.
    pub own: Shared<EndBoard>,
    /// The other end's board.
    pub peer: Shared<EndBoard>,
    mapping: std::sync::Arc<Mapping>,
    end: End,
}

/// The size of the segment with two rings of `ring` bytes, in bytes.
pub fn segment_size(ring: usize) -> usize {
    size_with(0, ring)
}

/// The size of a segment with two tables of `table` bytes and two rings of `ring` bytes, in bytes.
fn size_with(table: usize, ring: usize) -> usize {
    AREAS + 2 * table + 2 * ring
}

/// A memory file that can be sealed.
fn memory() -> Result<OwnedFd, Errno> {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    // Kernels before 6.3 don't know NOEXEC_SEAL and refuse it.
    memfd_create(c"slipway", flags | MemfdFlags::NOEXEC_SEAL).or_else(|_| memfd_create(c"slipway", flags))
}

impl Segment {
    /// Makes a segment with two rings of `ring` bytes each (a power of two within
    /// [`RING_LIMITS`]). The descriptor is for the other end. What light traffic needs of its memory is taken now, the rest
    /// as traffic comes (see [`Ring::free`]).
    ///
    /// # Errors
    /// There is no memory, or no descriptor.
    pub fn create(ring: usize) -> io::Result<(Self, OwnedFd)> {
        Self::lay_out(make_any(memory)?, 0, ring)
    }

    /// As [`Segment::create`], with a table of `table` bytes for each end, a multiple of the page size.
    ///
    /// # Errors
    /// As there.
    pub fn create_with(table: usize, ring: usize) -> io::Result<(Self, OwnedFd)> {
        Self::lay_out(memory()?, table, ring)
    }

    fn lay_out(fd: OwnedFd, table: usize, ring: usize) -> io::Result<(Self, OwnedFd)> {
        ftruncate(&fd, size_with(table, ring) as u64)?;
        // As `Ring::grow` asks later, but on any kernel.
        let front = (FRONT as usize).min(ring) as u64;
        for (start, len) in [(0, (AREAS + 2 * table) as u64 + front), ((AREAS + 2 * table + ring) as u64, front)] {
            fallocate(&fd, FallocateFlags::empty(), start, len)?;
        }
        fcntl_add_seals(&fd, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL)?;
        let segment = Self::map(fd.as_fd(), table, ring, End::Host)?;
        // A fresh ring's reader is taken to sleep, so that the first byte rings its bell.
        segment.tx.arm_reader();
        segment.rx.arm_reader();
        Ok((segment, fd))
    }

    /// Opens the segment that the maker sent, after checking that it can't shrink under us and
    /// has the size that was announced, and that there is memory for its front.
    ///
    /// # Errors
    /// It is no such segment, or there is no memory.
    pub fn open(fd: BorrowedFd<'_>, ring: usize) -> io::Result<Self> {
        Self::open_with(fd, 0, ring)
    }

    /// As [`Segment::open`], for a segment made with tables.
    ///
    /// # Errors
    /// As there.
    pub fn open_with(fd: BorrowedFd<'_>, table: usize, ring: usize) -> io::Result<Self> {
        let invalid = |what| io::Error::new(io::ErrorKind::InvalidData, what);
        if !RING_LIMITS.contains(&ring) || !ring.is_power_of_two() {
            return Err(invalid("the segment's ring size is out of range"));
        }
        if !fcntl_get_seals(fd)?.contains(SealFlags::SHRINK) {
            return Err(invalid("the segment is not sealed against shrinking"));
        }
        if !is_plain_memory(fd) {
            return Err(invalid("the segment is not plain memory"));
        }
        if fstat(fd)?.st_size < size_with(table, ring) as i64 {
            return Err(invalid("the segment is smaller than announced"));
        }
        let segment = Self::map(fd, table, ring, End::Client)?;
        segment.mapping.populate(AREAS + 2 * table)?;
        if !segment.tx.has_front() || !segment.rx.has_front() {
            return Err(io::ErrorKind::OutOfMemory.into());
        }
        Ok(segment)
    }

    /// How to wait for the other end on the processor `own`, which the other end is told (see
    /// [`processor`](crate::spin::processor)).
    #[inline]
    pub fn strategy(&self, own: u32) -> SpinStrategy {
        if self.own.cpu.load(Ordering::Relaxed) != own {
            self.own.cpu.store(own, Ordering::Relaxed);
        }
        SpinStrategy::between(own, self.peer.cpu.load(Ordering::Relaxed))
    }

    /// Leaves the segment out of the memory of children that this process forks, which abandon its lines.
    ///
    /// # Errors
    /// As madvise(2).
    pub fn keep_from_children(&self) -> io::Result<()> {
        self.mapping.keep_from_children()
    }

    /// The table that this end writes, and the one that the other end writes. None if the segment has
    /// none of that size.
    pub fn tables<T: Zeroed>(&self, table: usize) -> Option<(Shared<T>, Shared<T>)> {
        if size_of::<T>() > table {
            return None;
        }
        let (own, peer) = if self.end == End::Host { (0, 1) } else { (1, 0) };
        Some((self.mapping.view(AREAS + own * table)?, self.mapping.view(AREAS + peer * table)?))
    }

    fn map(fd: BorrowedFd<'_>, table: usize, ring: usize, end: End) -> io::Result<Self> {
        #[allow(unsafe_code, reason = "the size of the file was checked")]
        // SAFETY: the host has made a file of this size, the client checked that it is, and both that it is sealed.
        let mapping = unsafe { Mapping::of_file(fd, size_with(table, ring))? };
        let view = |index: usize| -> Option<(Ring, Shared<EndBoard>)> {
            let control = mapping.view::<RingControl>(index * size_of::<RingControl>())?;
            let board = mapping.view::<EndBoard>(std::mem::offset_of!(Control, ends) + index * size_of::<Padded<EndBoard>>())?;
            Some((Ring::new(control, mapping.bytes(AREAS + 2 * table + index * ring, ring)?), board))
        };
        let ((tx, own), (rx, peer)) = match (view(0), view(1)) {
            (Some(host), Some(client)) if end == End::Host => (host, client),
            (Some(host), Some(client)) => (client, host),
            _ => return Err(io::ErrorKind::InvalidInput.into()),
        };
        Ok(Self { tx, rx, own, peer, mapping, end })
    }
}
