//! Descriptors that stand for a file and can't be read (O_PATH), where the kernel hands none over: a file of memory that says which file it is,
//! and what it was called. The descriptor is one to write, which that file can't be; its mode tells the emulation library to ask the server.

use crate::{calls::Server, names::PATH_MAX, sys::by_proc};
use rustix::{
    fd::OwnedFd,
    fs::{
        CWD, MemfdFlags, Mode, OFlags, SealFlags, Stat, fchmod, fcntl_add_seals, fcntl_get_seals, fstat, memfd_create, open,
        readlinkat,
    },
    io::Errno,
    process::geteuid,
};
use slipway_emulator::layout;
use slipway_layer::{Found, PlainLinks, TreePath};
use std::{
    fs::File,
    io::{Read, Write},
};

const NAME: &str = "slipway:path";
/// What a link of /proc says of one.
const TEXT: &[u8] = b"/memfd:slipway:path (deleted)";
const PERMISSIONS: u32 = 0o7777;
const SEALS: SealFlags = SealFlags::WRITE.union(SealFlags::GROW).union(SealFlags::SHRINK).union(SealFlags::SEAL);
/// Bytes of device and number.
const NUMBER: usize = 16;

/// Device and number.
#[allow(clippy::useless_conversion, clippy::unnecessary_cast, reason = "the types differ between machines")]
fn number(stat: &Stat) -> Vec<u8> {
    [(stat.st_dev as u64).to_ne_bytes(), (stat.st_ino as u64).to_ne_bytes()].concat()
}

impl Server {
    /// A descriptor that stands for what was found.
    pub(crate) fn stand_in(&self, found: &Found) -> Result<OwnedFd, Errno> {
        // The server's own, so that a program of another user can't make one.
        let _up = self.view.elevate();
        let make = |flags| memfd_create(NAME, MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING | flags);
        // Some systems make none that can be executed. Linux 6.2 and older know no other.
        let made = make(MemfdFlags::NOEXEC_SEAL);
        let mut file = File::from(if made.as_ref().err() == Some(&Errno::INVAL) { make(MemfdFlags::empty())? } else { made? });
        let said = [number(&self.view.shown(found)), found.path.absolute()].concat();
        file.write_all(&said).map_err(|_| Errno::NOMEM)?;
        let file = OwnedFd::from(file);
        let given = open(by_proc(&file), OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
        fchmod(&file, Mode::from_raw_mode(layout::STANDS_FOR as u32 & PERMISSIONS))?;
        fcntl_add_seals(&file, SEALS)?;
        Ok(given)
    }

    /// What a descriptor stands for, by its link in /proc and what that says; none if it is no such descriptor. A program of the server's user can make
    /// such a file, too, and has no more of it than by the name.
    ///
    /// # Errors
    /// ESTALE if that is not there any more: nothing may be done to the file of memory instead.
    pub(crate) fn stood_for(&self, link: &TreePath, text: &[u8]) -> Result<Option<Found>, Errno> {
        if text != TEXT {
            return Ok(None);
        }
        let _up = self.view.elevate();
        let Some((of, name)) = said(link) else { return Ok(None) };
        let resolved = self.view.resolve(&TreePath::root(), &name, false, &PlainLinks).map_err(|_| Errno::STALE)?;
        let found = resolved.found.filter(|found| number(&self.view.shown(found)) == of && found.path.absolute() == name);
        found.map(Some).ok_or(Errno::STALE)
    }
}

/// The number and the name in a file that stands for another, if a link of /proc leads to one. A thread may put something else there at any time,
/// which must not be opened to read, as that does something to a FIFO or a device.
pub(crate) fn said(link: &TreePath) -> Option<(Vec<u8>, Vec<u8>)> {
    let held = open(link.to_path(), OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).ok()?;
    let stat = fstat(&held).ok()?;
    let is_ours = stat.st_mode == layout::STANDS_FOR as u32 && stat.st_uid == geteuid().as_raw();
    if !is_ours || readlinkat(CWD, by_proc(&held), Vec::new()).ok()?.to_bytes() != TEXT {
        return None;
    }
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = open(by_proc(&held), flags, Mode::empty()).ok()?;
    if !fcntl_get_seals(&file).is_ok_and(|seals| seals.contains(SEALS)) {
        return None;
    }
    let mut said = Vec::new();
    File::from(file).take(2 * PATH_MAX as u64).read_to_end(&mut said).ok()?;
    let name = said.get(NUMBER..)?.to_vec();
    said.truncate(NUMBER);
    Some((said, name))
}
