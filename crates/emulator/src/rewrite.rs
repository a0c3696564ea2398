//! Rewriting the C library: sites of system calls become jumps to stubs, which lie in a segment after the library's own.
//!
//! A site is rewritten where the instruction after `syscall` is one of few that compare its result, which can be carried out elsewhere and
//! make room for a jump of five bytes, and where no branch leads to between the two. All others stay, and are caught by the net.

use crate::{
    elf::{EXECUTE, LOAD, PAGE, SEGMENT, Segment, TABLE, WRITE, segments, u16_at, u32_at},
    entry::{COMMON_SIZE, common, loader, loader_stub, stub},
    loader::{Patch, Piece},
};

const NOP: u8 = 0x90;
const PUSH: u8 = 0x57;
const RETURN: u8 = 0xc3;
/// Bytes of a jump.
const JUMP: usize = 5;
/// Bytes of the longest instruction that is carried out elsewhere.
const LONGEST_AFTER: usize = 6;

/// Numbers of the calls whose sites are rewritten: those that the library answers, execve, and prctl and seccomp, after which it answers no
/// more.
const ANSWERED: [u32; 21] = [2, 4, 5, 6, 21, 59, 78, 79, 89, 157, 191, 192, 217, 231, 257, 262, 267, 269, 317, 332, 439];
/// Others, which the library makes again where a signal comes before the server: emulator.c has all that no signal interrupts on the host.
#[rustfmt::skip]
const WHOLE: [u32; 52] = [
    49, 51, 52, 76, 80, 81, 82, 83, 84, 86, 87, 88, 90, 91, 92, 93, 94, 95, 105, 106, 113, 114, 116, 117, 119, 122, 123, 132, 133, 137,
    188, 189, 190, 194, 195, 197, 198, 199, 235, 254, 258, 259, 260, 261, 263, 264, 265, 266, 268, 280, 316, 452,
];
/// clone, fork, vfork: the child may run in the parent's memory, and on its stack.
const FORKS: std::ops::RangeInclusive<u32> = 56..=58;

/// A system call: where, and the instruction after it.
#[derive(Debug)]
struct Site {
    at: usize,
    after: Vec<u8>,
}

/// The shared object with its sites rewritten, or none: it is none for this processor, or has no site.
pub fn rewrite(elf: &[u8]) -> Option<Vec<u8>> {
    if crate::TEXT.is_empty() || !elf.starts_with(b"\x7fELF\x02\x01") || (u16_at(elf, 16)?, u16_at(elf, 18)?) != (3, 62) {
        return None;
    }
    let mut segments = segments(elf)?;
    let count = segments.len();
    let last = segments.iter().rposition(|segment| segment.kind == LOAD)?;
    let end = segments.iter().filter(|segment| segment.kind == LOAD).map(|segment| segment.address + segment.size).max()?;
    let text = *segments.iter().find(|segment| segment.kind == LOAD && segment.flags & EXECUTE != 0)?;
    let (start, len) = (usize::try_from(text.offset).ok()?, usize::try_from(text.file_size).ok()?);
    let code = elf.get(start..start.checked_add(len)?)?;
    let is_wanted = |number| ANSWERED.contains(&number) || WHOLE.contains(&number) || FORKS.contains(&number);
    let sites = sites(code, |number| number.is_none_or(is_wanted));
    if sites.is_empty() {
        return None;
    }
    let address = end.next_multiple_of(PAGE as u64);
    let mut made = elf.to_vec();
    made.resize(elf.len().next_multiple_of(PAGE), 0);
    let offset = made.len();
    // In the new segments: the program headers, the stubs, what the stubs have in common, and the state, in a page that is written.
    let headers = (count + 2) * SEGMENT;
    let space = sites.len() * stub(0, 0, &[0; LONGEST_AFTER], 0)?.len();
    let common_at = (headers + space).next_multiple_of(PAGE);
    let state = common_at + COMMON_SIZE;
    let mut code = vec![0; state + PAGE];
    let mut at = headers;
    for site in &sites {
        // What is at an offset in the text's segment is as far on in memory.
        let from = text.address + site.at as u64;
        let to = address + at as u64;
        let bytes = stub(to, address + common_at as u64, &site.after, from + 2 + site.after.len() as u64)?;
        code[at..at + bytes.len()].copy_from_slice(&bytes);
        at += bytes.len();
        let mut patch = jump(from, to)?;
        patch.resize(2 + site.after.len(), NOP);
        made[start + site.at..start + site.at + patch.len()].copy_from_slice(&patch);
    }
    code[common_at..common_at + common().0.len()].copy_from_slice(common().0);

    let segment = |flags: u32, at: usize, size: usize| Segment {
        kind: LOAD,
        flags,
        offset: (offset + at) as u64,
        address: address + at as u64,
        file_size: size as u64,
        size: size as u64,
        align: PAGE as u64,
    };
    segments.splice(last + 1..=last, [segment(5, 0, state), segment(6, state, PAGE)]);
    for entry in segments.iter_mut().filter(|entry| entry.kind == TABLE) {
        *entry = Segment { kind: TABLE, align: 8, ..segment(4, 0, headers) };
    }
    let mut table = Vec::new();
    segments.iter().for_each(|entry| entry.write(&mut table));
    code[..headers].copy_from_slice(&table);
    made.extend_from_slice(&code);
    made[32..40].copy_from_slice(&(offset as u64).to_le_bytes());
    made[56..58].copy_from_slice(&u16::try_from(count + 2).ok()?.to_le_bytes());
    Some(made)
}

/// The instruction after a site, if it can be carried out elsewhere: `cmp` of the result with the least error, `test` of the result, vfork's
/// `push` and `cmp`; or umask's `ret`, with a part of the `nop` after it to make room.
fn displaced(after: &[u8]) -> Option<usize> {
    let is_least = |at: usize| matches!(u32_at(after, at), Some(0xffff_f000 | 0xffff_f001));
    match after {
        [0x48, 0x3d, ..] if is_least(2) => Some(6),
        [0x3d, ..] if is_least(1) => Some(5),
        [PUSH, 0x3d, ..] if is_least(2) => Some(6),
        [0x48, 0x85, 0xc0, ..] | [RETURN, 0x0f, 0x1f, ..] => Some(3),
        // What fills up to the next function, and nothing that may follow a call: `xchg ax,ax`, and long forms of nop.
        [RETURN, 0x66, NOP | 0x66, ..] | [RETURN, 0x66, 0x0f, 0x1f, ..] | [RETURN, 0x66, 0x2e, 0x0f, 0x1f, ..] => Some(3),
        _ => None,
    }
}

/// What is to be written over a dynamic loader, of its file's contents: a jump after the call by which it looks for the file of libraries that are
/// to be loaded first, and others where it opens files. The stubs are behind its text, in what is left of the last page. None where there is
/// no room, or no such call.
pub(crate) fn patch(elf: &[u8]) -> Option<Patch> {
    const ACCESS: u32 = 21;
    const OPENAT: u32 = 257;
    if crate::TEXT.is_empty() || !elf.starts_with(b"\x7fELF\x02\x01") || (u16_at(elf, 16)?, u16_at(elf, 18)?) != (3, 62) {
        return None;
    }
    let text = *segments(elf)?.iter().find(|segment| segment.kind == LOAD && segment.flags & EXECUTE != 0)?;
    // Distances in the file are those in memory.
    if text.flags & WRITE != 0 || text.offset != text.address || text.file_size != text.size {
        return None;
    }
    let (start, len) = (usize::try_from(text.offset).ok()?, usize::try_from(text.file_size).ok()?);
    let code = elf.get(start..start.checked_add(len)?)?;
    let (common, opens_at) = loader();
    let place = start + len;
    let mut stubs = common.to_vec();
    let mut pieces = |number: u32, at: usize, with_call: bool| -> Option<Vec<Piece>> {
        let sites = sites(code, |found| found == Some(number)).into_iter().filter(|site| with_call || site.after.len() >= JUMP);
        let piece = |site: Site| {
            let after = start + site.at + 2;
            let (from, next) = (if with_call { after - 2 } else { after }, after + site.after.len());
            let to = place + stubs.len();
            stubs.extend_from_slice(&loader_stub(to as u64, (place + at) as u64, &site.after, next as u64)?);
            let mut new = jump(from as u64, to as u64)?;
            new.resize(next - from, NOP);
            Some(Piece { at: from as u64, old: elf.get(from..next)?.to_vec(), new })
        };
        sites.map(piece).collect()
    };
    let (begins, opens) = (pieces(ACCESS, 0, false)?, pieces(OPENAT, opens_at, true)?);
    if begins.is_empty() || stubs.len() > place.next_multiple_of(PAGE) - place {
        return None;
    }
    let mut always = vec![Piece { at: place as u64, old: elf.get(place..place + stubs.len())?.to_vec(), new: stubs }];
    // Those of a page are written at once.
    for piece in opens {
        let is_near = |last: &&mut Piece| last.at / PAGE as u64 == piece.at / PAGE as u64 && last.end() <= piece.at;
        match always.last_mut().filter(is_near) {
            Some(last) => {
                let between = elf.get(usize::try_from(last.end()).ok()?..usize::try_from(piece.at).ok()?)?;
                last.old.extend_from_slice(&[between, &piece.old].concat());
                last.new.extend_from_slice(&[between, &piece.new].concat());
            }
            None => always.push(piece),
        }
    }
    Some(Patch { begins, always })
}

fn jump(from: u64, to: u64) -> Option<Vec<u8>> {
    Some([&[0xe9][..], &i32::try_from(to as i64 - (from as i64 + JUMP as i64)).ok()?.to_le_bytes()].concat())
}

/// The sites of calls of some numbers, or of one that can't be told, that can be rewritten.
fn sites(code: &[u8], is_wanted: impl Fn(Option<u32>) -> bool) -> Vec<Site> {
    let mut sites = Vec::new();
    for (at, _) in code.windows(2).enumerate().filter(|(_, pair)| *pair == [0x0f, 0x05]) {
        let Some(len) = displaced(&code[at + 2..]) else { continue };
        // `mov eax, number`, not far before.
        let before = at.saturating_sub(24);
        let number =
            (before..at.saturating_sub(4)).rev().filter(|from| code[*from] == 0xb8).find_map(|from| u32_at(code, from + 1));
        let number = number.filter(|number| *number < 512);
        if is_wanted(number) && (number.is_some() || code[at + 2] != RETURN) {
            sites.push(Site { at, after: code[at + 2..at + 2 + len].to_vec() });
        }
    }
    // Whatever could be a branch counts as one, but for a site's own bytes. It leads to the start of an instruction, of which there are one or
    // two after the call; what leads elsewhere into a site is none.
    let mut bad = vec![false; sites.len()];
    let mut check = |at: usize, target: i64| {
        let Ok(target) = usize::try_from(target) else { return };
        let after = sites.partition_point(|site| site.at < target);
        let Some(n) = after.checked_sub(1) else { return };
        let (site, start) = (&sites[n], sites[n].at + 2);
        let is_start = target == start || target == start + 1 && site.after[0] == PUSH;
        bad[n] |= is_start && !(site.at..start + site.after.len()).contains(&at);
    };
    for (at, byte) in code.iter().enumerate().filter(|(_, byte)| matches!(byte, 0x0f | 0xe8 | 0xe9)) {
        let from = if *byte != 0x0f {
            at + 1
        } else if code.get(at + 1).is_some_and(|next| next & 0xf0 == 0x80) {
            at + 2
        } else {
            continue;
        };
        if let Some(distance) = u32_at(code, from) {
            check(at, from as i64 + 4 + i64::from(distance.cast_signed()));
        }
    }
    // Short ones reach 128 bytes.
    for site in &sites {
        for at in site.at.saturating_sub(130)..(site.at + 140).min(code.len() - 1) {
            if matches!(code[at], 0x70..=0x7f | 0xe0..=0xe3 | 0xeb) {
                check(at, at as i64 + 2 + i64::from(code[at + 1].cast_signed()));
            }
        }
    }
    let mut bad = bad.into_iter();
    sites.retain(|_| !bad.next().unwrap_or(true));
    sites
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{fs, path::Path, process::Command};

    const LIBC: &str = "/lib/x86_64-linux-gnu/libc.so.6";

    fn all_sites(code: &[u8]) -> Vec<Site> {
        sites(code, |number| number.is_none_or(|number| ANSWERED.contains(&number)))
    }

    #[test]
    fn a_branch_into_a_site_keeps_it() {
        let site = [0xb8, 1, 1, 0, 0, 0x0f, 0x05, 0x48, 0x3d, 0, 0xf0, 0xff, 0xff, 0xc3];
        assert_eq!(all_sites(&site).len(), 1);
        // jmp to the comparison
        let branch = [site.as_slice(), &[0xeb, (-9_i8).cast_unsigned()]].concat();
        assert_eq!(all_sites(&branch).len(), 0);
        // As bytes of other instructions may be: it would lead into one.
        let within = [site.as_slice(), &[0xeb, (-8_i8).cast_unsigned()]].concat();
        assert_eq!(all_sites(&within).len(), 1);
        let beside = [site.as_slice(), &[0xeb, (-3_i8).cast_unsigned()]].concat();
        assert_eq!(all_sites(&beside).len(), 1);
        // write is no call with a name.
        let other = [&[0xb8, 1, 0, 0, 0], &site[5..]].concat();
        assert_eq!(all_sites(&other).len(), 0);
    }

    /// After umask's `ret`, only what fills up to the next function makes room.
    #[test]
    fn a_function_right_after_a_site_keeps_it() {
        let count = |after: &[u8]| {
            let site = [0xb8, 95, 0, 0, 0, 0x0f, 0x05, RETURN];
            sites(&[site.as_slice(), after, &[0xcc; 8]].concat(), |number| number == Some(95)).len()
        };
        let fills: [&[u8]; 5] = [
            &[0x66, 0x90],
            &[0x66, 0x0f, 0x1f, 0x44, 0, 0],
            &[0x66, 0x2e, 0x0f, 0x1f, 0x84],
            &[0x66, 0x66, 0x2e, 0x0f, 0x1f],
            &[0x0f, 0x1f, 0],
        ];
        for after in fills {
            assert_eq!(count(after), 1, "{after:x?}");
        }
        // mov %ax,(%rdi); pxor; cmp
        let functions: [&[u8]; 4] =
            [&[0x66, 0x89, 0x07], &[0x66, 0x0f, 0xef, 0xc0], &[0x66, 0x3b, 0x07], &[0xf3, 0x0f, 0x1e, 0xfa]];
        for after in functions {
            assert_eq!(count(after), 0, "{after:x?}");
        }
    }

    #[test]
    fn refuses_what_is_no_library() {
        let Ok(libc) = fs::read(LIBC) else { return };
        for len in (0..200).chain([4096, libc.len() / 2]) {
            let _ = rewrite(&libc[..len]);
        }
        let mut damaged = libc;
        damaged[32..40].copy_from_slice(&u64::MAX.to_le_bytes());
        assert!(rewrite(&damaged).is_none());
        assert!(rewrite(b"#!/bin/sh").is_none());
    }

    /// Without a server all calls are as they were.
    #[test]
    fn programs_run_with_the_rewritten_library() {
        if !Path::new(LIBC).exists() {
            return;
        }
        let libc = fs::read(LIBC).expect("the C library");
        let made = rewrite(&libc).expect("sites");
        let dir = std::env::temp_dir().join(format!("slipway-rewrite-{}", std::process::id()));
        fs::create_dir_all(&dir).expect("directory");
        fs::write(dir.join("libc.so.6"), made).expect("write");
        let run = |program: &str, args: &[&str]| {
            Command::new(program).args(args).env("LD_LIBRARY_PATH", &dir).output().expect("start a program")
        };
        // Opens, looks, forks, runs and lists.
        let script =
            "cat /proc/self/maps | grep libc.so; test -e /etc/passwd && ls -l / | wc -l; (exit 3); echo $?; cd /usr && pwd";
        let output = run("/bin/sh", &["-c", script]);
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
        assert!(text.contains(dir.to_str().expect("a path")) && text.ends_with("3\n/usr\n"), "{text}");
        fs::remove_dir_all(dir).expect("remove");
    }
}
