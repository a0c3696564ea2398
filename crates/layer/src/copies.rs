//! Copies of files of the host's compared with their originals, but for what a copy could not be given.

use crate::{
    copy::{knows_xattr, may_give},
    diff::Kind,
    view::{Found, Place, View},
};
use rustix::{
    fs::{FileType, Stat},
    io::Errno,
    process::{getegid, geteuid, getgroups},
};

/// The bit of a mode that is lost with a group.
pub(crate) const SET_GROUP_ID: u32 = 0o2000;

/// Whether a copy has this group because its user could not give it to that of the original.
pub(crate) fn has_lost_group(copy: u32, original: u32) -> bool {
    let (user, group) = (geteuid(), getegid().as_raw());
    let is_member = || getgroups().is_ok_and(|groups| groups.iter().any(|group| group.as_raw() == original));
    !user.is_root() && copy == group && original != group && !is_member()
}

impl View {
    /// Whether a file of the topmost layer is the copy of another user's file of the host's, which it could not be given to.
    pub(crate) fn is_copy_of_anothers(&self, original: &Found, copy: &Found) -> bool {
        let is_copy =
            || self.top().is_some_and(|top| top.log.copies.get(&copy.stat.st_ino).is_some_and(|of| of.1 == original.stat.st_ino));
        original.place == Place::Host
            && [original, copy].iter().all(|found| found.kind() == FileType::RegularFile)
            && is_of_another_user(&original.stat)
            && is_copy()
    }

    /// What a copy has that its original is to get.
    pub(crate) fn compare_copy(&self, original: &Found, copy: &Found) -> Result<Option<Kind>, Errno> {
        let (file, mut copy) = (&original.stat, copy.clone());
        if is_of_another_user(file) {
            // A copy could not be given to its owner.
            (copy.stat.st_uid, copy.stat.st_gid) = (file.st_uid, file.st_gid);
        }
        if has_lost_group(copy.stat.st_gid, file.st_gid) {
            // Nor to its group, without which it can't have the mode.
            copy.stat.st_gid = file.st_gid;
            copy.stat.st_mode |= file.st_mode & SET_GROUP_ID;
        }
        if copy.stat.st_dev != file.st_dev && is_coarser(time(&copy.stat), nanoseconds_of_change(&copy.stat), time(file)) {
            copy.stat.st_mtime_nsec = file.st_mtime_nsec;
        }
        // Nor could it be given what only root gives, as capabilities, and what its file system doesn't know.
        let at = self.at(copy.place, &copy.path);
        self.compare_by(original, &copy, |name| may_give(name) && knows_xattr(at, name))
    }
}

#[allow(clippy::useless_conversion, reason = "the types differ between machines")]
pub(crate) fn time(stat: &Stat) -> (i64, i64) {
    (stat.st_mtime.into(), stat.st_mtime_nsec.cast_signed().into())
}

/// Whether this user could not give a file that replaces it to its owner.
pub(crate) fn is_of_another_user(stat: &Stat) -> bool {
    let user = rustix::process::geteuid().as_raw();
    user != 0 && user != stat.st_uid
}

/// Of the time at which a file was last changed, which nobody can set: no more digits than its file system knows.
#[allow(clippy::useless_conversion, reason = "the types differ between machines")]
fn nanoseconds_of_change(stat: &Stat) -> i64 {
    stat.st_ctime_nsec.cast_signed().into()
}

/// Whether a copy has its original's time (seconds, ns) as a file system does that knows fewer digits: as few as that of its last change has.
fn is_coarser(copy: (i64, i64), change: i64, original: (i64, i64)) -> bool {
    let units = (0..=9).map(|digits| 10_i64.pow(digits));
    let unit = units.take_while(|unit| copy.1 % unit == 0 && change % unit == 0).last().unwrap_or(1);
    copy.0 == original.0 && copy.1 == original.1 / unit * unit
}

#[cfg(test)]
mod tests {
    use super::is_coarser;

    #[test]
    fn times_with_fewer_digits() {
        let original = (5, 123_456_789);
        for ns in [0, 100_000_000, 123_456_000, 123_456_700, 123_456_789] {
            assert!(is_coarser((5, ns), 0, original), "{ns}");
        }
        for other in [(4, 0), (5, 200_000_000), (5, 123_456_788), (5, 123_457_000)] {
            assert!(!is_coarser(other, 0, original), "{other:?}");
        }
        // A file system that knows hundreds of nanoseconds.
        assert!(is_coarser((5, 123_456_700), 987_654_300, original));
        assert!(is_coarser((5, 120_000_000), 987_654_300, (5, 120_000_012)));
        // One that knows more than the time has was given that.
        for ns in [0, 100_000_000, 123_456_000] {
            assert!(!is_coarser((5, ns), 987_654_300, original), "{ns}");
        }
    }
}
