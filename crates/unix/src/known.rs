//! What the index says of a directory: where a program's name of it leads, as far as the emulation library may go by that.

use rustix::{
    fs::{AtFlags, FileType, statat},
    io::Errno,
};
use slipway_emulator::layout as at;
use slipway_layer::{Links, Place, Target, TreePath, View};
use std::cell::Cell;

/// What the library may know of a directory: its name, or that of the first directory on the way that is missing; and what other names
/// in it mean ([`layout`](slipway_emulator::layout)'s `DIR_` words). Nothing if links of /proc are on the way.
pub(crate) fn directory(view: &View, links: &dyn Links, dir: &[u8]) -> Option<(TreePath, u64)> {
    let links = Seen { links, led: Cell::new(false) };
    known(view, &links, dir).filter(|_| !links.led.get())
}

/// Links of /proc, and whether one led somewhere: for another process it leads elsewhere.
struct Seen<'a> {
    links: &'a dyn Links,
    led: Cell<bool>,
}

impl Links for Seen<'_> {
    fn target(&self, path: &TreePath) -> Option<Target> {
        let target = self.links.target(path);
        self.led.set(self.led.get() || target.is_some());
        target
    }
}

fn known(view: &View, links: &dyn Links, dir: &[u8]) -> Option<(TreePath, u64)> {
    if let Some(known) = known_on_host(view, dir) {
        return Some(known);
    }
    let root = TreePath::root();
    if dir.is_empty() {
        return rest(view, &root).map(|what| (root, what));
    }
    match view.resolve(&root, dir, true, links) {
        Ok(resolved) if resolved.is_magic => None,
        Ok(resolved) if resolved.found.as_ref().is_some_and(|found| found.kind() == FileType::Directory) => {
            rest(view, &resolved.path).map(|what| (resolved.path, what))
        }
        Ok(resolved) if resolved.found.is_none() => missing(view, resolved.path),
        Err(Errno::NOENT) => {
            let above = &dir[..dir.iter().rposition(|byte| *byte == b'/')?];
            let (name, what) = known(view, links, above)?;
            let last = &dir[above.len() + 1..];
            match what {
                at::DIR_MISSING => Some((name, what)),
                // It is there, and not what it must be.
                _ if matches!(last, b"" | b"." | b"..") => None,
                _ => missing(view, name.join(last)),
            }
        }
        _ => None,
    }
}

/// The same where layers and links have nothing to do with the way there: a look for each directory at its end that is missing, and one for
/// the first that is not.
fn known_on_host(view: &View, dir: &[u8]) -> Option<(TreePath, u64)> {
    if dir.split(|byte| *byte == b'/').any(|part| part == b"..") {
        return None;
    }
    let (mut name, mut missing) = (TreePath::literal(dir), None);
    loop {
        match enter_on_host(view, &name) {
            Ok(()) => return Some(missing.map_or((name, at::DIR_HOST), |missing| (missing, at::DIR_MISSING))),
            Err(Errno::NOENT) if !view.is_touched(&name) => {
                let above = name.parent();
                missing = Some(std::mem::replace(&mut name, above));
            }
            Err(_) => return None,
        }
    }
}

fn missing(view: &View, name: TreePath) -> Option<(TreePath, u64)> {
    let is_known = rest(view, &name.parent()).is_some_and(|what| what & at::DIR_IS_OVER == 0);
    (is_known && matches!(view.find(&name), Err(Errno::NOENT))).then_some((name, at::DIR_MISSING))
}

pub(crate) fn is_missing_on_host(view: &View, name: &TreePath) -> bool {
    matches!(statat(view.root(Place::Host), name.relative(), AtFlags::SYMLINK_NOFOLLOW), Err(Errno::NOENT))
}

/// Whether names in a directory that no layer says anything of are the host's, and the kernel finds it by its name alone. Whether it may be
/// searched is up to the directories that show; what is in /proc depends on the one that looks.
fn enter_on_host(view: &View, dir: &TreePath) -> Result<(), Errno> {
    let is_hosts = !dir.is_within(&TreePath::literal("proc")) && view.rest_of(dir) == Some(Some(Place::Host));
    if is_hosts && view.is_hosts_way(dir) { view.enter_on_host(dir) } else { Err(Errno::XDEV) }
}

/// What names in a directory mean that no layer says anything of.
fn rest(view: &View, dir: &TreePath) -> Option<u64> {
    if dir.is_within(&TreePath::literal("proc")) {
        return None;
    }
    match view.rest_of(dir)? {
        None => Some(at::DIR_LAYER),
        Some(Place::Host) if enter_on_host(view, dir).is_ok() => Some(at::DIR_HOST),
        Some(Place::Host) => {
            let top = Place::Layer(view.layers().len().wrapping_sub(1));
            let is_over = view.find(dir).is_ok_and(|found| found.place == top) && is_missing_on_host(view, dir);
            is_over.then_some(at::DIR_HOST | at::DIR_IS_OVER)
        }
        Some(_) => None,
    }
}
