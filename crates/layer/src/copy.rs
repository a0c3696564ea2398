//! Copies of files with all that belongs to them, and removal of trees.

use crate::{
    tree::list,
    way::{Far, Way},
};
use rustix::{
    fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd},
    fs::{
        self, AtFlags, FileType, Gid, Mode, OFlags, RenameFlags, SeekFrom, Stat, Timespec, Timestamps, Uid, XattrFlags, chownat,
        fchmod, mkdirat, mknodat, openat, readlinkat, statat, symlinkat, unlinkat, utimensat,
    },
    io::Errno,
    process::geteuid,
};
use std::collections::{BTreeMap, BTreeSet};

/// By name.
pub(crate) type Xattrs = BTreeMap<Vec<u8>, Vec<u8>>;

/// How the names of lists of rights begin.
pub(crate) const RIGHTS: &[u8] = b"system.posix_acl_";

/// A name relative to a descriptor.
#[derive(Debug, Clone, Copy)]
pub(crate) struct At<'a> {
    pub(crate) dir: BorrowedFd<'a>,
    pub(crate) name: &'a [u8],
}

impl At<'_> {
    pub(crate) fn stat(&self) -> Result<Stat, Errno> {
        statat(self.dir, self.name, AtFlags::SYMLINK_NOFOLLOW)
    }

    /// For calls that know no descriptors of directories.
    pub(crate) fn by_proc<T>(&self, call: impl FnOnce(&[u8]) -> Result<T, Errno>) -> Result<T, Errno> {
        let far = Far::of(*self)?;
        let mut path = format!("/proc/self/fd/{}/", far.at().dir.as_raw_fd()).into_bytes();
        path.extend_from_slice(far.at().name);
        call(&path)
    }
}

/// What `st_mode` says.
pub(crate) fn file_type(stat: &Stat) -> FileType {
    FileType::from_raw_mode(stat.st_mode)
}

/// The permissions, without the type.
pub(crate) fn mode(stat: &Stat) -> Mode {
    Mode::from_raw_mode(stat.st_mode & 0o7777)
}

/// Both times.
#[allow(clippy::useless_conversion, clippy::unnecessary_cast, reason = "the types differ between machines")]
pub(crate) fn times(stat: &Stat) -> Timestamps {
    let at = |seconds, ns: u64| Timespec { tv_sec: seconds, tv_nsec: ns.cast_signed().into() };
    Timestamps { last_access: at(stat.st_atime, stat.st_atime_nsec), last_modification: at(stat.st_mtime, stat.st_mtime_nsec) }
}

/// Opens what a copy is made of.
pub(crate) fn source(at: At<'_>) -> Result<OwnedFd, Errno> {
    openat(at.dir, at.name, OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())
}

/// Makes `to` the same as `from`: not what is in a directory, and the contents of a regular file that `source` opens. `is_copy` as for
/// [`remove_given_rights`].
///
/// # Errors
/// Of the calls; what was begun is left.
pub(crate) fn copy_one(
    from: At<'_>,
    to: At<'_>,
    stat: &Stat,
    is_copy: bool,
    source: impl FnOnce() -> Result<Option<OwnedFd>, Errno>,
) -> Result<(), Errno> {
    let kind = file_type(stat);
    let own = Mode::RUSR | Mode::WUSR;
    match kind {
        FileType::Directory => mkdirat(to.dir, to.name, Mode::RWXU)?,
        FileType::Symlink => symlinkat(readlinkat(from.dir, from.name, Vec::new())?, to.dir, to.name)?,
        FileType::RegularFile => {
            let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
            // Before the new one is made: it may not be readable.
            let source = source()?;
            let copy = openat(to.dir, to.name, flags, own)?;
            if let Some(source) = source {
                copy_contents(&source, &copy, stat.st_size.cast_unsigned())?;
            }
        }
        _ => mknodat(to.dir, to.name, kind, own, stat.st_rdev)?,
    }
    // Until it gets its mode, these give nobody anything.
    remove_given_rights(from, to, is_copy)?;
    copy_attributes(from, to, stat)
}

/// Gives `to` the owner (if it may), mode, attributes and times of `from`.
pub(crate) fn copy_attributes(from: At<'_>, to: At<'_>, stat: &Stat) -> Result<(), Errno> {
    give_attributes(to, stat, xattrs(from))
}

/// The same of a file whose extended attributes are these.
pub(crate) fn give_attributes(to: At<'_>, stat: &Stat, xattrs: Xattrs) -> Result<(), Errno> {
    let (uid, gid) = (Some(Uid::from_raw(stat.st_uid)), Some(Gid::from_raw(stat.st_gid)));
    let owned = chownat(to.dir, to.name, uid, gid, AtFlags::SYMLINK_NOFOLLOW);
    if owned.is_err() {
        // A user may give a file to a group of theirs.
        let _ = chownat(to.dir, to.name, None, gid, AtFlags::SYMLINK_NOFOLLOW);
    }
    let given = set_xattrs(to, xattrs);
    if file_type(stat) != FileType::Symlink {
        set_mode(to, mode(stat))?;
    }
    utimensat(to.dir, to.name, &times(stat), AtFlags::SYMLINK_NOFOLLOW)?;
    given
}

pub(crate) fn set_mode(at: At<'_>, mode: Mode) -> Result<(), Errno> {
    fs::chmodat(at.dir, at.name, mode, AtFlags::empty())
}

/// Does what needs all rights to a directory, which its owner may have given up; they are given up again then.
pub(crate) fn with_rights<T>(at: At<'_>, mut act: impl FnMut() -> Result<T, Errno>) -> Result<T, Errno> {
    match act() {
        Err(Errno::ACCESS) => {
            let old = mode(&at.stat()?);
            set_mode(at, old | Mode::RWXU)?;
            let done = act();
            set_mode(at, old)?;
            done
        }
        done => done,
    }
}

/// Renames or exchanges what may be directories: moving one to another directory takes the right to write it, since its `..` changes.
pub(crate) fn move_dirs(from: At<'_>, to: At<'_>, flags: RenameFlags) -> Result<(), Errno> {
    let act = || fs::renameat_with(from.dir, from.name, to.dir, to.name, flags);
    match act() {
        Err(Errno::ACCESS) => {}
        done => return done,
    }
    let take_rights = |at: At<'_>| {
        let stat = at.stat()?;
        let is_dir = file_type(&stat) == FileType::Directory;
        is_dir.then(|| set_mode(at, mode(&stat) | Mode::RWXU).map(|()| mode(&stat))).transpose()
    };
    let moved = take_rights(from)?;
    let other = if flags.contains(RenameFlags::EXCHANGE) { take_rights(to)? } else { None };
    let done = act();
    let (moved_at, other_at) = if done.is_ok() { (to, from) } else { (from, to) };
    moved.map_or(Ok(()), |mode| set_mode(moved_at, mode))?;
    other.map_or(Ok(()), |mode| set_mode(other_at, mode))?;
    done
}

/// Sets as many as this user may, and the file system knows; a list of rights may name users whom a namespace doesn't have. Where one fails, the
/// others are set nevertheless.
fn set_xattrs(to: At<'_>, xattrs: Xattrs) -> Result<(), Errno> {
    let mut all = Ok(());
    // Lists of rights come before those of users, which may leave no room. Without its list, a file's mode would give its group more.
    for (name, value) in xattrs {
        let set = || to.by_proc(|path| fs::lsetxattr(path, &name[..], &value, XattrFlags::empty()));
        // Links have none of those.
        match if name.starts_with(b"user.") { with_rights(to, set) } else { set() } {
            Ok(()) | Err(Errno::PERM | Errno::OPNOTSUPP | Errno::INVAL) => {}
            // A label is for the system to give.
            Err(_) if name.starts_with(b"security.") => {}
            Err(error) => all = all.and(Err(error)),
        }
    }
    all
}

/// Takes away the extended attributes that `from` doesn't have, but those that this user may not give.
pub(crate) fn remove_other_xattrs(from: At<'_>, to: At<'_>) {
    let (Ok(new), Ok(old)) = (xattr_names(from), xattr_names(to)) else { return };
    for name in old.difference(&new).filter(|name| may_give(name)) {
        // Its owner may have given up the right to write it.
        let _ = with_rights(to, || to.by_proc(|path| fs::lremovexattr(path, &name[..])));
    }
}

/// Takes from `to`, which is new, the lists of rights of its directory's that `from` doesn't have. Where the file system of `from` knows none, what is
/// no copy keeps them.
pub(crate) fn remove_given_rights(from: At<'_>, to: At<'_>, is_copy: bool) -> Result<(), Errno> {
    let names = match xattr_names(to) {
        Err(Errno::OPNOTSUPP) => return Ok(()),
        names => names?,
    };
    for name in names.iter().filter(|name| name.starts_with(RIGHTS)) {
        match from.by_proc(|path| fs::lgetxattr(path, &name[..], &mut [0_u8; 0][..])) {
            Err(Errno::OPNOTSUPP) if !is_copy => {}
            Err(Errno::NODATA | Errno::OPNOTSUPP) => to.by_proc(|path| fs::lremovexattr(path, &name[..]))?,
            has => has.map(drop)?,
        }
    }
    Ok(())
}

/// Gives `to`, which is made of a copy of `original`, the extended attributes of that one which the copy's file system doesn't know.
pub(crate) fn give_unknown_xattrs(original: At<'_>, copy: At<'_>, to: At<'_>) -> Result<(), Errno> {
    let mut unknown = xattrs(original);
    unknown.retain(|name, _| !knows_xattr(copy, name));
    if unknown.is_empty() {
        return Ok(());
    }
    // A list of rights changes it.
    let old = mode(&to.stat()?);
    let given = set_xattrs(to, unknown);
    set_mode(to, old)?;
    given
}

/// Whether this user gives an extended attribute to files: capabilities and the like only root does.
pub(crate) fn may_give(name: &[u8]) -> bool {
    geteuid().is_root() || !name.starts_with(b"security.")
}

/// Whether a file could have an extended attribute.
pub(crate) fn knows_xattr(at: At<'_>, name: &[u8]) -> bool {
    at.by_proc(|path| fs::lgetxattr(path, name, &mut [0_u8; 0][..])) != Err(Errno::OPNOTSUPP)
}

/// Whether a file has attributes that take the right to read it.
pub(crate) fn has_user_xattrs(at: At<'_>) -> bool {
    xattr_names(at).is_ok_and(|names| names.iter().any(|name| name.starts_with(b"user.")))
}

fn xattr_names(at: At<'_>) -> Result<BTreeSet<Vec<u8>>, Errno> {
    let mut names = vec![0_u8; 64 << 10];
    let len = at.by_proc(|path| fs::llistxattr(path, &mut names[..]))?;
    Ok(names[..len].split(|byte| *byte == 0).filter(|name| !name.is_empty()).map(<[u8]>::to_vec).collect())
}

/// The extended attributes that this user may read.
pub(crate) fn xattrs(at: At<'_>) -> Xattrs {
    let read = |name: Vec<u8>| {
        let mut value = vec![0_u8; 64 << 10];
        let len = at.by_proc(|path| fs::lgetxattr(path, &name[..], &mut value[..])).ok()?;
        Some((name, value[..len].to_vec()))
    };
    xattr_names(at).unwrap_or_default().into_iter().filter_map(read).collect()
}

/// Shares the blocks where the file system can, else copies what is no hole.
pub(crate) fn copy_contents(from: &OwnedFd, to: &OwnedFd, size: u64) -> Result<(), Errno> {
    if size == 0 || fs::ioctl_ficlone(to, from).is_ok() {
        return Ok(());
    }
    let mut at = 0;
    while at < size {
        let start = match fs::seek(from, SeekFrom::Data(at)) {
            // Only a hole is left.
            Err(Errno::NXIO) => break,
            Err(Errno::INVAL) => at,
            start => start?,
        };
        let end = fs::seek(from, SeekFrom::Hole(start)).unwrap_or(size).min(size).max(start);
        copy_range(from, to, start, end)?;
        if end == start {
            break;
        }
        at = end;
    }
    fs::ftruncate(to, size)
}

fn copy_range(from: &OwnedFd, to: &OwnedFd, start: u64, end: u64) -> Result<(), Errno> {
    let (mut read_at, mut write_at) = (start, start);
    while read_at < end {
        let left = usize::try_from(end - read_at).unwrap_or(usize::MAX).min(1 << 30);
        match fs::copy_file_range(from, Some(&mut read_at), to, Some(&mut write_at), left) {
            Ok(0) => return Ok(()),
            Ok(_) => {}
            Err(Errno::XDEV | Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP | Errno::IO) => {
                let mut buffer = vec![0; left.min(1 << 18)];
                let count = rustix::io::pread(from, &mut buffer, read_at)?;
                if count == 0 {
                    return Ok(());
                }
                let mut rest = &buffer[..count];
                while !rest.is_empty() {
                    let written = rustix::io::pwrite(to, rest, write_at)?;
                    write_at += written as u64;
                    rest = &rest[written..];
                }
                read_at += count as u64;
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// A file that has several names: device and number.
#[allow(clippy::useless_conversion, clippy::unnecessary_cast, reason = "the types differ between machines")]
pub(crate) fn identity_of_linked(stat: &Stat) -> Option<(u64, u64)> {
    (stat.st_nlink > 1).then(|| (u64::from(stat.st_dev), stat.st_ino))
}

/// Copies a file, or links it to the copy of one of its other names.
pub(crate) fn copy_linked(
    from: At<'_>,
    to: At<'_>,
    stat: &Stat,
    is_copy: bool,
    source: impl FnOnce() -> Result<OwnedFd, Errno>,
    copied: Option<At<'_>>,
) -> Result<(), Errno> {
    if copied.is_some_and(|copied| fs::linkat(copied.dir, copied.name, to.dir, to.name, AtFlags::empty()).is_ok()) {
        return Ok(());
    }
    copy_one(from, to, stat, is_copy, || source().map(Some))
}

/// What is in a directory, without `.` and `..`.
pub(crate) fn names(dir: impl AsFd) -> Result<Vec<Vec<u8>>, Errno> {
    let mut names = Vec::new();
    for entry in list(dir)? {
        let entry = entry?;
        match entry.file_name().to_bytes() {
            b"." | b".." => {}
            name => names.push(name.to_vec()),
        }
    }
    Ok(names)
}

/// Removes a file or a tree; one that is not there is fine.
pub(crate) fn remove_tree(at: At<'_>) -> Result<(), Errno> {
    if unlink_any(at)? { Ok(()) } else { remove_one(&mut Way::from(at.dir)?, at.name) }
}

/// Removes all that is in a directory.
pub(crate) fn remove_below(dir: &OwnedFd) -> Result<(), Errno> {
    remove_all(&mut Way::from(dir)?)
}

/// Whether what has the name could be removed by itself: all but a directory with something in it.
fn unlink_any(at: At<'_>) -> Result<bool, Errno> {
    match unlinkat(at.dir, at.name, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => return Ok(true),
        // EPERM is what POSIX has for directories.
        Err(Errno::ISDIR | Errno::PERM) => {}
        Err(error) => return Err(error),
    }
    match unlinkat(at.dir, at.name, AtFlags::REMOVEDIR) {
        Err(Errno::NOTEMPTY | Errno::EXIST) => Ok(false),
        removed => removed.map(|()| true),
    }
}

fn remove_one(way: &mut Way, name: &[u8]) -> Result<(), Errno> {
    if unlink_any(At { dir: way.here(), name })? {
        return Ok(());
    }
    way.within(name, remove_all)?;
    unlinkat(way.here(), name, AtFlags::REMOVEDIR)
}

fn remove_all(way: &mut Way) -> Result<(), Errno> {
    let names = names(way.here())?;
    if !names.is_empty() {
        // It may be one that its owner made read-only.
        let _ = fchmod(way.here(), Mode::RWXU);
    }
    names.iter().try_for_each(|name| remove_one(way, name))
}
