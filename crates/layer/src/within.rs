//! Paths that may not lead everywhere, as openat2(2) takes them.

use crate::{
    path::TreePath,
    view::{LINKS_MAX, Links, Place, Target, View, owned, push},
};
use rustix::{fs::FileType, io::Errno};
use std::borrow::Cow;

/// How far a path may lead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Everywhere.
    All,
    /// Not out of the directory where it starts.
    Beneath,
    /// That directory is its root.
    Root,
}

/// What [`View::resolve_within`] follows.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// See [`Scope`].
    pub scope: Scope,
    /// Links are errors.
    pub no_links: bool,
    /// The last component's link is followed, too.
    pub follow: bool,
}

impl View {
    /// Follows a path from a directory within bounds: the path that it leads to, which ends in a slash if it can only mean a directory.
    ///
    /// # Errors
    /// EXDEV where it leads out; ELOOP if there are links in it and may not be; those of [`View::resolve`].
    pub fn resolve_within(&self, start: &TreePath, path: &[u8], bounds: Bounds, links: &dyn Links) -> Result<Vec<u8>, Errno> {
        let mut at = start.clone();
        let (mut rest, mut must_be_dir): (Vec<Cow<'_, [u8]>>, bool) = (Vec::new(), path.is_empty());
        push(&mut rest, path, &mut must_be_dir, Cow::Borrowed);
        let ends = |at: TreePath, is_dir| [at.absolute().as_slice(), if is_dir { b"/" } else { b"" }].concat();
        let mut followed = 0;
        while let Some(name) = rest.pop() {
            match &*name {
                b"." => continue,
                b".." if at != *start || bounds.scope == Scope::All => at = at.parent(),
                b".." if bounds.scope == Scope::Beneath => return Err(Errno::XDEV),
                b".." => {}
                _ => {
                    let next = at.join(&name);
                    let is_last = rest.is_empty();
                    let _up = links.is_readers(&next).then(|| self.elevate());
                    let found = match self.find(&next) {
                        Err(Errno::NOENT) if is_last => return Ok(ends(next, must_be_dir)),
                        found => found?,
                    };
                    if found.kind() != FileType::Symlink || is_last && !bounds.follow && !must_be_dir {
                        if found.kind() != FileType::Directory && (!is_last || must_be_dir) {
                            return Err(Errno::NOTDIR);
                        }
                        if !is_last {
                            self.may_search(&found, rest.last().map(AsRef::as_ref))?;
                        }
                        at = next;
                        continue;
                    }
                    followed += 1;
                    if bounds.no_links || followed > LINKS_MAX {
                        return Err(Errno::LOOP);
                    }
                    let target = match (found.place == Place::Host).then(|| links.target(&next)).flatten() {
                        // That of a process's own part of /proc; all others are as if they led out.
                        Some(Target::Path(target)) if target.first() != Some(&b'/') => target,
                        Some(_) => return Err(Errno::XDEV),
                        None => self.read_link(&found)?,
                    };
                    match (target.first(), bounds.scope) {
                        (None, _) => return Err(Errno::NOENT),
                        (Some(b'/'), Scope::Beneath) => return Err(Errno::XDEV),
                        (Some(b'/'), _) => at = start.clone(),
                        _ => {}
                    }
                    let mut ends_in_dir = false;
                    push(&mut rest, &target, &mut ends_in_dir, owned);
                    must_be_dir |= is_last && ends_in_dir;
                }
            }
        }
        Ok(ends(at, must_be_dir))
    }
}
