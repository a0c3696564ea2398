//! A line's segment: sealed memory files with a page of control words and two rings, one each way.
//!
//! It is one file, which both ends can write; or three: each ring's area is in a file of its own that its writer alone can write, and the third
//! has, besides the control words, a table for each end with words of the user's own.

use crate::{
    descriptor::make_any,
    ring::{FRONT, Ring, RingControl},
    spin::SpinStrategy,
    sync::{AtomicU32, Bytes, Mapping, Ordering, Padded, Shared, Zeroed},
};
use rustix::{
    fs::{
        FallocateFlags, FsWord, MemfdFlags, SealFlags, fallocate, fcntl_add_seals, fcntl_get_seals, fstat, fstatfs, ftruncate,
        memfd_create,
    },
    io::Errno,
    process::{Resource, getrlimit},
};
use std::{
    io,
    iter::once,
    ops::Range,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    sync::Arc,
};

/// Where the areas of the rings begin: after one page of control words.
const AREAS: usize = 4096;

/// The size of what a ring has in place of an area before that has come: the last bytes of the page of control words. No user of such rings writes so
/// little at once.
const NO_AREA: usize = 8;

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

const _: () = assert!(size_of::<Control>() <= AREAS - NO_AREA);

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
    mapping: Arc<Mapping>,
    end: End,
}

/// The size of the segment with two rings of `ring` bytes, in bytes.
pub fn segment_size(ring: usize) -> usize {
    AREAS + 2 * ring
}

/// A memory file that can be sealed.
fn memory() -> Result<OwnedFd, Errno> {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    // Kernels before 6.3 don't know NOEXEC_SEAL and refuse it.
    memfd_create(c"slipway", flags | MemfdFlags::NOEXEC_SEAL).or_else(|_| memfd_create(c"slipway", flags))
}

/// The front of the area at `start`, of `ring` bytes.
fn front(start: usize, ring: usize) -> Range<usize> {
    start..start + ring.min(FRONT as usize)
}

/// Gives a memory file its size, in bytes. FBIG: this process's limit on the size of files forbids it; to ask the kernel would be a signal (SIGXFSZ).
///
/// # Errors
/// As ftruncate(2).
pub fn set_size(fd: impl AsFd, len: u64) -> Result<(), Errno> {
    if getrlimit(Resource::Fsize).current.is_some_and(|most| len > most) {
        return Err(Errno::FBIG);
    }
    ftruncate(fd, len)
}

/// Gives a fresh memory file its size, takes memory for parts of it, maps it, and seals it also with `more`.
fn lay_out(fd: &OwnedFd, len: usize, parts: impl IntoIterator<Item = Range<usize>>, more: SealFlags) -> io::Result<Arc<Mapping>> {
    set_size(fd, len as u64)?;
    // As `Ring::grow` asks later, but on any kernel.
    for part in parts {
        fallocate(fd, FallocateFlags::empty(), part.start as u64, part.len() as u64)?;
    }
    #[allow(unsafe_code, reason = "the size of the file was just set")]
    // SAFETY: it has that size, no other process has it yet, and it is sealed before one does.
    let mapping = unsafe { Mapping::of_file(fd.as_fd(), len)? };
    let seals = SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL;
    match fcntl_add_seals(fd, seals | more) {
        // A kernel before 5.1, which has no FUTURE_WRITE.
        Err(Errno::INVAL) => fcntl_add_seals(fd, seals)?,
        done => done?,
    }
    Ok(mapping)
}

/// Maps `len` bytes of a file that the other end sent, by `map`, after checking that it can't shrink under us, has pages of the usual size and
/// is as large as was announced.
fn open(
    fd: BorrowedFd<'_>,
    len: usize,
    map: unsafe fn(BorrowedFd<'_>, usize) -> io::Result<Arc<Mapping>>,
) -> io::Result<Arc<Mapping>> {
    let invalid = |what| io::Error::new(io::ErrorKind::InvalidData, what);
    if !fcntl_get_seals(fd)?.contains(SealFlags::SHRINK) {
        return Err(invalid("the segment is not sealed against shrinking"));
    }
    if !is_plain_memory(fd) {
        return Err(invalid("the segment is not plain memory"));
    }
    if fstat(fd)?.st_size < len as i64 {
        return Err(invalid("the segment is smaller than announced"));
    }
    #[allow(unsafe_code, reason = "the size of the file was checked")]
    // SAFETY: the file is that large, and can't shrink.
    unsafe {
        map(fd, len)
    }
}

/// The area of a ring that this end writes, in a file of its own that nobody else can write.
fn own_area(ring: usize) -> io::Result<(Option<Bytes>, OwnedFd)> {
    let fd = memory()?;
    let mapping = lay_out(&fd, ring, once(front(0, ring)), SealFlags::FUTURE_WRITE)?;
    mapping.keep_from_children()?;
    Ok((mapping.bytes(0, ring), fd))
}

/// The area of a ring that the other end writes.
fn peers_area(fd: BorrowedFd<'_>, ring: usize) -> io::Result<Option<Bytes>> {
    let mapping = open(fd, ring, Mapping::to_read)?;
    mapping.keep_from_children()?;
    mapping.populate(front(0, ring), false)?;
    Ok(mapping.bytes(0, ring))
}

impl Segment {
    /// Makes a segment with two rings of `ring` bytes each (a power of two within
    /// [`RING_LIMITS`]). The descriptor is for the other end. What light traffic needs of its memory is taken now, the rest
    /// as traffic comes (see [`Ring::free`]).
    ///
    /// # Errors
    /// There is no memory, or no descriptor.
    pub fn create(ring: usize) -> io::Result<(Self, OwnedFd)> {
        let fd = make_any(memory)?;
        let parts = [0..front(AREAS, ring).end, front(AREAS + ring, ring)];
        let mapping = lay_out(&fd, segment_size(ring), parts, SealFlags::empty())?;
        let areas = [0, ring].map(|at| mapping.bytes(AREAS + at, ring));
        Ok((Self::over(mapping, areas, End::Host)?, fd))
    }

    /// Opens the segment that the maker sent, after checking that it can't shrink under us and
    /// has the size that was announced, and that there is memory for its front.
    ///
    /// # Errors
    /// It is no such segment, or there is no memory.
    pub fn open(fd: BorrowedFd<'_>, ring: usize) -> io::Result<Self> {
        if !RING_LIMITS.contains(&ring) || !ring.is_power_of_two() {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "the segment's ring size is out of range"));
        }
        let mapping = open(fd, segment_size(ring), Mapping::of_file)?;
        for part in [0..front(AREAS, ring).end, front(AREAS + ring, ring)] {
            mapping.populate(part, true)?;
        }
        let areas = [ring, 0].map(|at| mapping.bytes(AREAS + at, ring));
        Self::over(mapping, areas, End::Client)
    }

    /// Makes a segment with a table of `table` bytes for each end, a multiple of the page size, and each ring's area in a file of its own, which the
    /// ring's writer makes and nobody else can write. The descriptors are for the other end: the file of what both write, and that of the ring that this
    /// end writes. The other ring has no area before [`Segment::open_area`]. Children that this process forks don't get the memory: they
    /// abandon its lines.
    ///
    /// # Errors
    /// As [`Segment::create`].
    pub fn create_apart(table: usize, ring: usize) -> io::Result<(Self, [OwnedFd; 2])> {
        let (control, len) = (memory()?, AREAS + 2 * table);
        let mapping = lay_out(&control, len, once(0..len), SealFlags::empty())?;
        mapping.keep_from_children()?;
        let (own, file) = own_area(ring)?;
        let none = mapping.bytes(AREAS - NO_AREA, NO_AREA);
        Ok((Self::over(mapping, [own, none], End::Host)?, [control, file]))
    }

    /// Opens the two files of the maker of a segment, as [`Segment::open`] does, and makes that of the ring that this end writes. The descriptor
    /// is for the other end.
    ///
    /// # Errors
    /// As [`Segment::open`], and there is no descriptor.
    pub fn open_apart(control: BorrowedFd<'_>, area: BorrowedFd<'_>, table: usize, ring: usize) -> io::Result<(Self, OwnedFd)> {
        let len = AREAS + 2 * table;
        let mapping = open(control, len, Mapping::of_file)?;
        mapping.keep_from_children()?;
        mapping.populate(0..len, true)?;
        let theirs = peers_area(area, ring)?;
        let (own, file) = own_area(ring)?;
        Ok((Self::over(mapping, [own, theirs], End::Client)?, file))
    }

    /// Whether the ring that this end reads has no area yet. What the other end claims to have written there is too much for it, so that
    /// [`Ring::available`] fails, and nothing is read.
    pub fn awaits_area(&self) -> bool {
        self.rx.size() == NO_AREA
    }

    /// Takes the file of the ring that the other end writes.
    ///
    /// # Errors
    /// As [`Segment::open`].
    pub fn open_area(&mut self, file: BorrowedFd<'_>) -> io::Result<()> {
        self.rx = self.rx.over(peers_area(file, self.tx.size())?.ok_or(io::ErrorKind::InvalidInput)?);
        Ok(())
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

    /// The table that this end writes, and the one that the other end writes. None if the segment has
    /// none of that size.
    pub fn tables<T: Zeroed>(&self, table: usize) -> Option<(Shared<T>, Shared<T>)> {
        if size_of::<T>() > table {
            return None;
        }
        let (own, peer) = if self.end == End::Host { (0, 1) } else { (1, 0) };
        Some((self.mapping.view(AREAS + own * table)?, self.mapping.view(AREAS + peer * table)?))
    }

    /// The view of one end over what both write and the areas of the rings that it writes and reads.
    fn over(mapping: Arc<Mapping>, [tx, rx]: [Option<Bytes>; 2], end: End) -> io::Result<Self> {
        let view = |index: usize, area: Option<Bytes>| -> Option<(Ring, Shared<EndBoard>)> {
            let control = mapping.view::<RingControl>(index * size_of::<RingControl>())?;
            let board = mapping.view::<EndBoard>(std::mem::offset_of!(Control, ends) + index * size_of::<Padded<EndBoard>>())?;
            Some((Ring::new(control, area?), board))
        };
        let is_host = end == End::Host;
        let (Some((tx, own)), Some((rx, peer))) = (view(usize::from(!is_host), tx), view(usize::from(is_host), rx)) else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        if is_host {
            // A fresh ring's reader is taken to sleep, so that the first byte rings its bell.
            tx.arm_reader();
            rx.arm_reader();
        }
        Ok(Self { tx, rx, own, peer, mapping, end })
    }
}
