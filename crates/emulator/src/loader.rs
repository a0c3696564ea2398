//! The dynamic loader's own code: where it makes a call, and what that looks like from outside.

use crate::elf::{EXECUTE, LOAD, PAGE, Segment, WRITE, segments, u16_at, u32_at};
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// The path of the loader, which is in every program of the C library's on this processor.
pub const PATH: &str = "/lib64/ld-linux-x86-64.so.2";

/// A newfstatat of a descriptor alone: the program counter's place in its page when the call is made, and how far before the empty path it
/// is. The two tell such a call without a look at the path, which a filter can't have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Look {
    /// In its page.
    pub place: u32,
    /// From the program counter to the path, which lies in memory that nothing writes.
    pub distance: u32,
}

/// What is written over a loader's text in a process that has just started it, so that it opens files by the emulation library.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Patch {
    /// At each call by which it may look for its first file: one of these, at the call's return.
    pub begins: Vec<Piece>,
    /// These with it. The first is where nothing is.
    pub always: Vec<Piece>,
}

/// A part of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Piece {
    /// From the loader's start.
    pub at: u64,
    /// What must be there.
    pub old: Vec<u8>,
    /// As many bytes.
    pub new: Vec<u8>,
}

#[cfg(target_arch = "x86_64")]
impl Piece {
    pub(crate) fn end(&self) -> u64 {
        self.at + self.new.len() as u64
    }
}

impl Patch {
    /// That of a loader, of its file's contents. None if it can't be made.
    #[cfg(target_arch = "x86_64")]
    pub fn new(elf: &[u8]) -> Option<Self> {
        crate::rewrite::patch(elf)
    }

    /// None: there is no library for this processor.
    #[cfg(not(target_arch = "x86_64"))]
    pub fn new(_: &[u8]) -> Option<Self> {
        None
    }
}

impl Look {
    /// That of a loader, of its file's contents. None if it can't be told.
    pub fn new(elf: &[u8]) -> Option<Self> {
        if !elf.starts_with(b"\x7fELF\x02\x01") || u16_at(elf, 18)? != 62 {
            return None;
        }
        let segments = segments(elf)?;
        // Distances in the file are those in memory.
        let is_fixed =
            |segment: &&Segment| segment.kind == LOAD && segment.flags & WRITE == 0 && segment.offset == segment.address;
        let text = range(segments.iter().filter(is_fixed).find(|segment| segment.flags & EXECUTE != 0)?)?;
        let others: Vec<Range<usize>> =
            segments.iter().filter(is_fixed).filter_map(range).filter(|other| *other != text).collect();
        let is_empty_path = |at: usize| elf.get(at) == Some(&0) && others.iter().any(|range| range.contains(&at));
        look(elf.get(text.clone())?, text.start, is_empty_path)
    }
}

fn range(segment: &Segment) -> Option<Range<usize>> {
    let start = usize::try_from(segment.offset).ok()?;
    Some(start..start.checked_add(usize::try_from(segment.file_size).ok()?)?)
}

/// The one site of newfstatat, and the one empty path that is given to it with AT_EMPTY_PATH.
fn look(code: &[u8], start: usize, is_empty_path: impl Fn(usize) -> bool) -> Option<Look> {
    const NUMBER_AND_CALL: [u8; 7] = [0xb8, 0x06, 0x01, 0, 0, 0x0f, 0x05];
    /// mov ecx, AT_EMPTY_PATH; mov r10d, AT_EMPTY_PATH
    const FLAGS: [&[u8]; 2] = [&[0xb9, 0, 0x10, 0, 0], &[0x41, 0xba, 0, 0x10, 0, 0]];
    /// lea rsi, [rip + distance]
    const PATH: [u8; 3] = [0x48, 0x8d, 0x35];
    const NEAR: usize = 24;
    let mut sites = code.windows(NUMBER_AND_CALL.len()).enumerate().filter(|(_, bytes)| *bytes == NUMBER_AND_CALL);
    let after = start + sites.next()?.0 + NUMBER_AND_CALL.len();
    let mut paths: Vec<usize> = Vec::new();
    for (at, _) in code.windows(PATH.len()).enumerate().filter(|(_, bytes)| *bytes == PATH) {
        let near = &code[at.saturating_sub(NEAR)..(at + NEAR).min(code.len())];
        let distance = u32_at(code, at + PATH.len())?.cast_signed();
        let Some(path) = (start + at + PATH.len() + 4).checked_add_signed(distance as isize) else { continue };
        if FLAGS.iter().any(|flags| near.windows(flags.len()).any(|bytes| bytes == *flags)) && is_empty_path(path) {
            paths.push(path);
        }
    }
    paths.sort_unstable();
    paths.dedup();
    let (1, None) = (paths.len(), sites.next()) else { return None };
    Some(Look { place: (after % PAGE) as u32, distance: u32::try_from(paths[0].checked_sub(after)?).ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn finds_the_look_at_a_descriptor() {
        let mut code = vec![0x90; 2 * PAGE];
        let at = PAGE + 0x20;
        // mov ecx, 0x1000; lea rsi, [rip + 0x500]
        code[at..at + 12].copy_from_slice(&[0xb9, 0, 0x10, 0, 0, 0x48, 0x8d, 0x35, 0, 0x05, 0, 0]);
        code[at + 0x40..at + 0x47].copy_from_slice(&[0xb8, 0x06, 0x01, 0, 0, 0x0f, 0x05]);
        let path = PAGE + at + 12 + 0x500;
        let expected = Look { place: 0x67, distance: 0x500 - 0x3b };
        assert_eq!(look(&code, PAGE, |at| at == path), Some(expected));
        assert_eq!(look(&code, PAGE, |_| false), None, "no path is empty there");
        // A second site: which of them has the empty path is not known.
        code[at + 0x50..at + 0x57].copy_from_slice(&[0xb8, 0x06, 0x01, 0, 0, 0x0f, 0x05]);
        assert_eq!(look(&code, PAGE, |at| at == path), None);
    }

    #[test]
    fn refuses_what_is_no_loader() {
        let Ok(elf) = fs::read(PATH) else { return };
        for len in (0..200).chain([4096, elf.len() / 2]) {
            let _ = (Look::new(&elf[..len]), Patch::new(&elf[..len]));
        }
        assert_eq!((Look::new(b"#!/bin/sh"), Patch::new(b"#!/bin/sh")), (None, None));
        let mut damaged = elf;
        damaged[32..40].copy_from_slice(&u64::MAX.to_le_bytes());
        assert_eq!((Look::new(&damaged), Patch::new(&damaged)), (None, None));
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn what_is_written_over_a_loader_leads_to_the_stubs() {
        let Ok(elf) = fs::read(PATH) else { return };
        let patch = Patch::new(&elf).expect("room and sites");
        let [stubs, opens @ ..] = patch.always.as_slice() else { panic!("no stubs: {patch:?}") };
        assert!(!opens.is_empty() && !patch.begins.is_empty(), "{patch:?}");
        assert_eq!(stubs.at / PAGE as u64, (stubs.end() - 1) / PAGE as u64, "one page");
        for piece in patch.always.iter().chain(&patch.begins) {
            assert_eq!(piece.old, elf[piece.at as usize..][..piece.new.len()]);
        }
        for piece in opens.iter().chain(&patch.begins) {
            let changed = (0..piece.new.len()).filter(|at| piece.new[*at] != piece.old[*at]);
            let jumps: Vec<usize> = changed.filter(|at| piece.new[*at] == 0xe9).collect();
            let first = *jumps.first().expect("a jump");
            let to =
                piece.at as i64 + first as i64 + 5 + i64::from(u32_at(&piece.new, first + 1).expect("a distance").cast_signed());
            assert!((stubs.at as i64..stubs.end() as i64).contains(&to), "{piece:?}");
        }
        // No room.
        let mut full = elf;
        let text = segments(&full).expect("segments").iter().position(|one| one.kind == LOAD && one.flags & EXECUTE != 0);
        let at = usize::try_from(crate::elf::u64_at(&full, 32).expect("a table")).expect("a place") + text.expect("text") * 56;
        for size in [at + 32, at + 40] {
            let len = crate::elf::u64_at(&full, size).expect("a size").next_multiple_of(PAGE as u64);
            full[size..size + 8].copy_from_slice(&len.to_le_bytes());
        }
        assert_eq!(Patch::new(&full), None);
    }
}
