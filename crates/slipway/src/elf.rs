//! What an executable's ELF header says about preloading.

use std::fmt;
use std::fs::File;
use std::path::Path;

use object::FileKind;
use object::elf::{FileHeader32, FileHeader64, Machine};
use object::read::elf::{Dyn, FileHeader, ProgramHeader};
use object::read::{ReadCache, ReadRef};
use object::{Endianness, elf};

/// The kind of processor and ABI an ELF file is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Abi {
    is_64: bool,
    is_little_endian: bool,
    machine: Machine,
}

impl fmt::Display for Abi {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-bit ", if self.is_64 { 64 } else { 32 })?;
        match self.machine {
            elf::EM_386 => f.write_str("i386"),
            elf::EM_X86_64 => f.write_str("x86-64"),
            elf::EM_ARM => f.write_str("ARM"),
            elf::EM_AARCH64 => f.write_str("AArch64"),
            elf::EM_RISCV => f.write_str("RISC-V"),
            elf::EM_PPC64 => f.write_str("PowerPC"),
            elf::EM_S390 => f.write_str("S/390"),
            other => write!(f, "ELF machine {}", other.0),
        }
    }
}

/// What is known of an ELF file.
#[derive(Debug, PartialEq, Eq)]
pub struct Executable {
    /// Processor and class.
    pub abi: Abi,
    /// The dynamic loader (PT_INTERP), if it names one.
    pub loader: Option<String>,
    /// Whether it needs no shared library. A program that names no loader may load one by itself, as this one does.
    pub is_static: bool,
}

/// Reads the headers of `path`; none if it can't be read or is no ELF file.
pub fn read(path: &Path) -> Option<Executable> {
    let cache = ReadCache::new(File::open(path).ok()?);
    match FileKind::parse(&cache).ok()? {
        FileKind::Elf32 => facts::<FileHeader32<Endianness>, _>(&cache),
        FileKind::Elf64 => facts::<FileHeader64<Endianness>, _>(&cache),
        _ => None,
    }
}

fn facts<'data, H, R>(data: R) -> Option<Executable>
where
    H: FileHeader<Endian = Endianness>,
    R: ReadRef<'data>,
{
    let header = H::parse(data).ok()?;
    let endian = header.endian().ok()?;
    let segments = header.program_headers(endian, data).ok()?;
    let loader = segments
        .iter()
        .find_map(|segment| segment.interpreter(endian, data).ok().flatten())
        .map(|loader| String::from_utf8_lossy(loader).into_owned());
    let mut dynamic = segments.iter().filter_map(|segment| segment.dynamic(endian, data).ok().flatten()).flatten();
    let is_static = loader.is_none() && !dynamic.any(|entry| entry.tag(endian) == elf::DT_NEEDED);
    let abi = Abi { is_64: header.is_class_64(), is_little_endian: header.is_little_endian(), machine: header.e_machine(endian) };
    Some(Executable { abi, loader, is_static })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dynamic_programs() {
        let own = read(&std::env::current_exe().expect("own path")).expect("ELF");
        assert_eq!(own.abi.is_64, cfg!(target_pointer_width = "64"));
        assert!(!own.is_static, "whether it names a loader or not");
        let shell = read(Path::new("/bin/sh")).expect("ELF");
        assert!(!shell.is_static && shell.loader.is_some_and(|loader| loader.contains("ld")));
    }

    #[test]
    fn text_is_no_elf() {
        assert_eq!(read(Path::new("Cargo.toml")), None);
        assert_eq!(read(Path::new("/nonexistent")), None);
    }
}
