//! Dynamic loaders in the command's processes: which has just started, and has its files opened by the emulation library from then on.
//!
//! The kernel maps a program's loader itself, so that there is no open at which a rewritten copy could be handed over. Its first call with a name
//! is made before there are threads, or anything but the kernel's own mappings: then its text is changed in that process, if it is what
//! the loader's file has.
#![cfg_attr(not(target_arch = "x86_64"), allow(dead_code, reason = "only there a loader is changed"))]

use crate::{
    calls::Server,
    tasks::{Caller, memory_of},
};
use rustix::io::Errno;
use slipway_emulator::loader::Piece;
use std::{fs::File, os::unix::fs::FileExt};

const PAGE: u64 = 4096;

impl Server {
    /// Where the loader begins that has made a call, and what is written at the call's return; none: it is no loader, or none that has just
    /// started.
    fn starting_loader(&self, caller: Caller) -> Option<(u64, &Piece)> {
        let begins = &self.loader.patch.as_ref()?.begins;
        begins.iter().find_map(|piece| Some((caller.at.checked_sub(piece.at).filter(|start| start % PAGE == 0)?, piece)))
    }

    /// A loader that has just started has its files opened by the emulation library, if that can be.
    pub(crate) fn patch_loader(&self, caller: Caller) {
        let Some(index) = self.index.as_ref().filter(|index| index.is_on()) else { return };
        let (Some((start, begin)), Some(patch)) = (self.starting_loader(caller), &self.loader.patch) else { return };
        let pieces = || patch.always.iter().chain([begin]);
        let Ok(memory) = memory_of(caller.tid) else { return };
        if pieces().all(|piece| has(&memory, start + piece.at, &piece.old)) {
            index.tell_start(caller.pid, &self.tasks.cwd(caller.pid));
            // The loader goes there only after the last of them.
            let written = pieces().try_for_each(|piece| memory.write_all_at(&piece.new, start + piece.at));
            if written.is_err() {
                let _ = pieces().try_for_each(|piece| memory.write_all_at(&piece.old, start + piece.at));
            }
        }
    }

    /// The emulation library can't be made ready in a process: its loader opens files as it did before.
    pub(crate) fn restore_loader(&self, caller: Caller) -> Result<(), Errno> {
        let patch = self.loader.patch.as_ref().ok_or(Errno::INVAL)?;
        let [stubs, others @ ..] = patch.always.as_slice() else { return Err(Errno::INVAL) };
        let memory = memory_of(caller.tid).map_err(|_| Errno::ACCESS)?;
        // The call comes from the stubs.
        let within = caller.at % PAGE;
        let start = (caller.at - within).checked_sub(stubs.at - stubs.at % PAGE).ok_or(Errno::INVAL)?;
        if !has(&memory, start + stubs.at, &stubs.new) {
            return Err(Errno::INVAL);
        }
        let restore = |piece: &Piece| memory.write_all_at(&piece.old, start + piece.at).map_err(|_| Errno::ACCESS);
        others.iter().try_for_each(restore)
    }
}

/// Whether a process has these bytes at an address.
fn has(memory: &File, at: u64, bytes: &[u8]) -> bool {
    let mut there = vec![0; bytes.len()];
    memory.read_exact_at(&mut there, at).is_ok() && there == bytes
}
