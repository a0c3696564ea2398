//! What a file says of itself: whether it is a task, and for which libmach.

use object::{
    Endianness, FileKind, elf,
    read::{
        ReadCache, ReadRef,
        elf::{Dyn, FileHeader, ProgramHeader},
    },
};
use std::{fmt, fs::File, path::Path};

/// The version of what a task and libmach expect of each other: `MACH_TASK_ABI`.
pub const ABI: u32 = 1;

/// The name of the note.
const NAME: [u8; 8] = *b"Slipway\0";
/// The note's type.
const TASK: u32 = 1;

/// The note as `MACH_TASK_MAIN` writes it.
#[derive(Debug)]
#[repr(C, align(4))]
pub struct Note {
    name_size: u32,
    description_size: u32,
    kind: u32,
    name: [u8; 8],
    abi: u32,
    pointer_size: u32,
}

/// This version's.
pub const NOTE: Note =
    Note { name_size: 8, description_size: 8, kind: TASK, name: NAME, abi: ABI, pointer_size: size_of::<usize>() as u32 };

/// What a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A task as a shared object.
    Task,
    /// A shared object without an entry for a task.
    Library,
    /// Something else: a program, a script.
    Other,
}

/// Why a file is not loaded as a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unfit {
    /// It can't be read.
    Unreadable(String),
    /// Its headers are no shared object's: another kind of file, or a damaged one.
    NotElf,
    /// It has no entry.
    NoEntry,
    /// It was built for another libmach.
    Abi(u32),
    /// It was built for another kind of processor.
    Processor,
}

impl fmt::Display for Unfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable(why) => f.write_str(why),
            Self::NotElf => f.write_str("not a shared object: its headers are not ELF's, or damaged; build it again"),
            Self::NoEntry => f.write_str("not a task: it has no MACH_TASK_MAIN (include <mach/task_main.h>, link with -shared)"),
            Self::Abi(abi) => write!(f, "built for another libmach: its version is {abi}, and {ABI} is wanted; build it again"),
            Self::Processor => f.write_str("built for another kind of processor"),
        }
    }
}

impl std::error::Error for Unfit {}

/// What the file is, as far as its headers say; a damaged one that is named like a shared object is meant to be one.
pub fn kind(path: &Path) -> Kind {
    match look(path) {
        Ok(Some(found)) if !found.notes.is_empty() => Kind::Task,
        Ok(Some(found)) if found.shared => Kind::Library,
        Ok(None) if path.extension().is_some_and(|extension| extension == "so") => Kind::Library,
        _ => Kind::Other,
    }
}

/// Whether the file can be loaded as a task beside this libmach.
pub fn check(path: &Path) -> Result<(), Unfit> {
    let found = look(path).map_err(Unfit::Unreadable)?.ok_or(Unfit::NotElf)?;
    let Some((abi, pointer)) = found.notes.first() else { return Err(Unfit::NoEntry) };
    if !found.native || *pointer != size_of::<usize>() as u32 {
        return Err(Unfit::Processor);
    }
    if *abi == ABI { Ok(()) } else { Err(Unfit::Abi(*abi)) }
}

/// What the headers of an ELF file say.
struct Found {
    /// Version and size of a pointer, of each note of a task.
    notes: Vec<(u32, u32)>,
    /// A shared object that is no program.
    shared: bool,
    native: bool,
}

/// None if it is no ELF file.
fn look(path: &Path) -> Result<Option<Found>, String> {
    let file = File::open(path).map_err(|error| error.to_string())?;
    if !file.metadata().is_ok_and(|it| it.is_file()) {
        return Err("not a file".into());
    }
    let cache = ReadCache::new(file);
    match FileKind::parse(&cache) {
        Ok(FileKind::Elf32) => Ok(facts::<elf::FileHeader32<Endianness>, _>(&cache)),
        Ok(FileKind::Elf64) => Ok(facts::<elf::FileHeader64<Endianness>, _>(&cache)),
        _ => Ok(None),
    }
}

fn facts<'data, H: FileHeader<Endian = Endianness>, R: ReadRef<'data>>(data: R) -> Option<Found> {
    let header = H::parse(data).ok()?;
    let endian = header.endian().ok()?;
    let segments = header.program_headers(endian, data).ok()?;
    let (mut notes, mut program) = (Vec::new(), false);
    for segment in segments {
        // A program may go without a loader: a static one, or one that loads it itself.
        let mut dynamic = segment.dynamic(endian, data).ok().flatten().unwrap_or_default().iter();
        program |= segment.p_type(endian) == elf::PT_INTERP
            || dynamic.any(|entry| entry.tag(endian) == elf::DT_FLAGS_1 && entry.val(endian) & elf::DF_1_PIE.0 != 0);
        let Ok(Some(mut iterator)) = segment.notes(endian, data) else { continue };
        while let Ok(Some(note)) = iterator.next() {
            let word = |at: usize| Some(u32::from_ne_bytes(note.desc().get(at..at + 4)?.try_into().ok()?));
            let is_task = note.name() == &NAME[..7] && note.n_type(endian).0 == TASK;
            if let (true, Some(version), Some(pointer)) = (is_task, word(0), word(4)) {
                notes.push((version, pointer));
            }
        }
    }
    let shared = header.e_type(endian) == elf::ET_DYN && !program;
    let machine = if cfg!(target_arch = "x86_64") { elf::EM_X86_64 } else { elf::EM_AARCH64 };
    Some(Found { notes, shared, native: header.e_machine(endian) == machine })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_task_is_told_from_a_program() {
        assert_eq!(kind(&std::env::current_exe().expect("the test's path")), Kind::Other);
        assert_eq!(kind(Path::new("Cargo.toml")), Kind::Other);
        assert_eq!(check(Path::new("Cargo.toml")), Err(Unfit::NotElf));
        assert!(matches!(check(Path::new("/nonexistent")), Err(Unfit::Unreadable(_))));
        assert!(matches!(check(Path::new("/")), Err(Unfit::Unreadable(_))));
    }
}
