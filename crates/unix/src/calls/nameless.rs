//! Files of the host's that have lost their name in the layer, and that a descriptor reads still. What is changed by one is so for all that look at
//! the file by a descriptor, and for nobody else.

use super::{Reply, Server, done};

use rustix::{
    fd::OwnedFd,
    fs::{FileType, Stat, fstat},
    io::Errno,
};
use slipway_layer::{Attribute, Found, Place, TreePath};
use std::collections::VecDeque;

/// The last so many are remembered: each takes a descriptor.
const MOST: usize = 64;
const PERMISSIONS: u32 = 0o7777;

/// So many names are remembered of files of the layer's that were removed or replaced.
const NAMES: usize = 1024;

/// What is remembered of files that have lost their names, by device and number.
#[derive(Debug, Default)]
pub(crate) struct Nameless {
    /// Of the host's, an empty file that has the attributes.
    changed: Vec<((u64, u64), OwnedFd)>,
    /// Of the layer's, the name: the kernel knows the one under which the layer took it away.
    names: VecDeque<((u64, u64), TreePath)>,
}

#[allow(clippy::useless_conversion, clippy::unnecessary_cast, reason = "the types differ between machines")]
fn key(stat: &Stat) -> (u64, u64) {
    (stat.st_dev as u64, stat.st_ino as u64)
}

impl Nameless {
    fn of(&self, stat: &Stat) -> Option<&OwnedFd> {
        self.changed.iter().find(|(of, _)| *of == key(stat)).map(|(_, file)| file)
    }

    /// The name that a file of the layer's had last.
    pub(crate) fn name_of(&self, stat: &Stat) -> Option<&TreePath> {
        self.names.iter().find(|(of, _)| *of == key(stat)).map(|(_, name)| name)
    }

    /// A file loses its name.
    pub(super) fn left(&mut self, was: &Found) {
        if was.place != Place::Host && was.kind() != FileType::Symlink {
            self.names.truncate(NAMES - 1);
            self.names.push_front((key(&was.stat), was.path.clone()));
        }
    }

    /// Shows what was changed of a file.
    pub(crate) fn show(&self, stat: &mut Stat) {
        let Some(Ok(changed)) = self.of(stat).map(fstat) else { return };
        stat.st_mode = FileType::from_raw_mode(stat.st_mode).as_raw_mode() | changed.st_mode & PERMISSIONS;
        (stat.st_uid, stat.st_gid) = (changed.st_uid, changed.st_gid);
        (stat.st_atime, stat.st_atime_nsec) = (changed.st_atime, changed.st_atime_nsec);
        (stat.st_mtime, stat.st_mtime_nsec) = (changed.st_mtime, changed.st_mtime_nsec);
        (stat.st_ctime, stat.st_ctime_nsec) = (changed.st_ctime, changed.st_ctime_nsec);
        stat.st_nlink = stat.st_nlink.saturating_sub(1);
    }
}

impl Server {
    /// Changes what descriptors show of a file that is open.
    pub(super) fn change_nameless(&mut self, open: &Stat, attribute: &Attribute<'_>) -> Reply {
        // Extended attributes are read where the descriptor leads.
        if matches!(attribute, Attribute::SetXattr(..) | Attribute::RemoveXattr(_) | Attribute::Size(_)) {
            return Err(Errno::ACCESS);
        }
        self.view.may_own(open)?;
        if self.nameless.of(open).is_none() {
            let file = self.view.make_unnamed(open)?;
            let all = &mut self.nameless.changed;
            all.truncate(MOST - 1);
            all.insert(0, (key(open), file));
            self.index.iter().for_each(|index| index.serve_file(key(open)));
        }
        self.nameless.of(open).map_or(Err(Errno::NOENT), |file| done(super::attributes::set_open(file, attribute)))
    }
}
