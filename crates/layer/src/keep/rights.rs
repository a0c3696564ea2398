//! Rights to directories that their owner gave up, and that a `keep` needs to look up and change names there, and to read files of the layer. All are taken before the first
//! step and given up after the last. The journal has the modes: what a `keep` had taken that was killed, the next one gives up.

use super::plan::Attributes;
use crate::{
    copy::{At, file_type, mode, set_mode},
    path::TreePath,
    store::Error,
};
use rustix::{
    fd::AsFd,
    fs::{FileType, Mode, Stat},
    process::geteuid,
};

/// A directory, or a file of the layer, and the mode that it has without the rights. In a list, what is in a directory comes before it.
pub(super) type Closed = (TreePath, u32);

/// What an owner can have.
const ALL: u32 = 0o700;

/// Whether two modes are the same, but for bits that chmod may leave out without an error (set-group-ID, for a group of others).
fn is_mode(one: u32, other: u32) -> bool {
    (one ^ other) & !0o6000 == 0
}

/// Whether a directory has this mode, or has it with all rights of its owner.
pub(super) fn has_mode(stat: &Stat, mode: u32) -> bool {
    is_mode(stat.st_mode, mode) || is_mode(stat.st_mode, mode | ALL)
}

/// Whether its owner lacks rights: a file is only read.
pub(super) fn is_closed(stat: &Stat) -> bool {
    const READ: u32 = 0o400;
    match file_type(stat) {
        FileType::Directory => stat.st_mode & ALL != ALL,
        FileType::RegularFile => stat.st_mode & READ == 0,
        _ => false,
    }
}

/// Whether these are rights that this user lacks and can take.
pub(super) fn can_be_taken(stat: &Stat) -> bool {
    is_closed(stat) && is_owner(stat.st_uid)
}

/// Whether what the owner can do counts for this user. Root needs no rights.
fn is_owner(uid: u32) -> bool {
    let user = geteuid();
    !user.is_root() && uid == user.as_raw()
}

/// The mode of a directory until the rights are given up.
pub(super) fn open_mode(set: &Attributes) -> Mode {
    Mode::from_raw_mode(set.mode & 0o7777) | if is_owner(set.uid) { Mode::RWXU } else { Mode::empty() }
}

/// Takes them. Where that fails, the step that needs them says so.
pub(super) fn take(root: impl AsFd, dirs: &[Closed], step: &mut dyn FnMut()) {
    for (path, closed) in dirs.iter().rev() {
        let at = At { dir: root.as_fd(), name: path.relative() };
        if let Ok(stat) = at.stat()
            && is_mode(stat.st_mode, *closed)
            && can_be_taken(&stat)
        {
            step();
            let _ = set_mode(at, mode(&stat) | Mode::RWXU);
        }
    }
}

/// Gives up those that were taken, unless somebody has changed the mode since.
pub(super) fn give_up(root: impl AsFd, dirs: &[Closed], step: &mut dyn FnMut()) -> Result<(), Error> {
    for (path, closed) in dirs.iter().filter(|(_, closed)| closed & ALL != ALL) {
        let at = At { dir: root.as_fd(), name: path.relative() };
        if at.stat().is_ok_and(|stat| is_mode(stat.st_mode, closed | ALL)) {
            step();
            set_mode(at, Mode::from_raw_mode(closed & 0o7777)).map_err(Error::errno(format!("set the mode of {path}")))?;
        }
    }
    Ok(())
}
