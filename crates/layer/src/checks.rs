//! What calls that change names ask of the names: the kernel's rules for the last component as it was written, in the kernel's order.

use crate::{
    path::TreePath,
    view::{Found, Resolved},
};
use rustix::{
    fs::{FileType, RenameFlags},
    io::Errno,
};

/// The last component as it was written.
fn last(path: &[u8]) -> &[u8] {
    path.rsplit(|byte| *byte == b'/').find(|component| !component.is_empty()).unwrap_or(b"")
}

impl Resolved {
    /// What a call finds that changes the last name of `path`, where `resolve` looks a path up without following its last component: a slash after
    /// it says what it must be, and doesn't lead over a link.
    ///
    /// # Errors
    /// Of `resolve`.
    pub fn of_last(path: &[u8], resolve: impl FnOnce(&[u8]) -> Result<Self, Errno>) -> Result<Self, Errno> {
        let end = path.iter().rposition(|byte| *byte != b'/').map_or(path.len(), |last| last + 1);
        let resolved = resolve(&path[..end])?;
        Ok(Self { must_be_dir: resolved.must_be_dir || end < path.len(), ..resolved })
    }

    /// The name, which must be free.
    ///
    /// # Errors
    /// EEXIST; ENOENT for one that can only be a directory's.
    pub fn free(self, may_be_dir: bool) -> Result<TreePath, Errno> {
        match self.found {
            Some(_) => Err(Errno::EXIST),
            None if self.must_be_dir && !may_be_dir => Err(Errno::NOENT),
            None => Ok(self.path),
        }
    }

    /// What `path` removes: a directory, or anything else.
    ///
    /// # Errors
    /// Of unlink and rmdir for a path that ends so, and ENOENT.
    pub fn to_remove(self, path: &[u8], is_dir: bool) -> Result<Found, Errno> {
        match (last(path), is_dir) {
            (b".", true) => return Err(Errno::INVAL),
            (b"..", true) => return Err(Errno::NOTEMPTY),
            (b"." | b".." | b"", false) => return Err(Errno::ISDIR),
            (b"", true) => return Err(Errno::BUSY),
            _ => {}
        }
        let found = self.found.ok_or(Errno::NOENT)?;
        if self.must_be_dir && found.kind() != FileType::Directory { Err(Errno::NOTDIR) } else { Ok(found) }
    }

    /// What is renamed to `to`, or exchanged with it.
    ///
    /// # Errors
    /// Of rename for paths that end so, ENOENT, EEXIST, and ENOTEMPTY for a directory above it.
    pub fn to_rename(self, path: &[u8], to: &Self, to_path: &[u8], flags: RenameFlags) -> Result<Found, Errno> {
        let is_name = |path| !matches!(last(path), b"" | b"." | b"..");
        let (exchanges, must_be_free) = (flags.contains(RenameFlags::EXCHANGE), flags.contains(RenameFlags::NOREPLACE));
        if !is_name(path) {
            return Err(Errno::BUSY);
        }
        if !is_name(to_path) {
            return Err(if must_be_free { Errno::EXIST } else { Errno::BUSY });
        }
        let found = self.found.ok_or(Errno::NOENT)?;
        match to.found {
            Some(_) if must_be_free => return Err(Errno::EXIST),
            None if exchanges => return Err(Errno::NOENT),
            _ => {}
        }
        if (self.must_be_dir || to.must_be_dir && !exchanges) && found.kind() != FileType::Directory {
            return Err(Errno::NOTDIR);
        }
        if !exchanges && found.path != to.path && found.path.is_within(&to.path) {
            return Err(Errno::NOTEMPTY);
        }
        Ok(found)
    }
}
