//! What both the rewriting and the look at the loader read of a shared object.
#![cfg_attr(not(target_arch = "x86_64"), allow(dead_code, reason = "only there a library is rewritten"))]

pub(crate) const PAGE: usize = 0x1000;
pub(crate) const SEGMENT: usize = 56;
pub(crate) const LOAD: u32 = 1;
pub(crate) const TABLE: u32 = 6;
pub(crate) const EXECUTE: u32 = 1;
pub(crate) const WRITE: u32 = 2;

/// A program header.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Segment {
    pub(crate) kind: u32,
    pub(crate) flags: u32,
    pub(crate) offset: u64,
    pub(crate) address: u64,
    pub(crate) file_size: u64,
    pub(crate) size: u64,
    pub(crate) align: u64,
}

fn word<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..at.checked_add(N)?)?.try_into().ok()
}

pub(crate) fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    word(bytes, at).map(u64::from_le_bytes)
}

pub(crate) fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    word(bytes, at).map(u32::from_le_bytes)
}

pub(crate) fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    word(bytes, at).map(u16::from_le_bytes)
}

impl Segment {
    fn read(elf: &[u8], at: usize) -> Option<Self> {
        let long = |n: usize| u64_at(elf, at + 8 * n);
        let (kind, flags) = (u32_at(elf, at)?, u32_at(elf, at + 4)?);
        Some(Self { kind, flags, offset: long(1)?, address: long(2)?, file_size: long(4)?, size: long(5)?, align: long(6)? })
    }

    pub(crate) fn write(&self, to: &mut Vec<u8>) {
        to.extend_from_slice(&self.kind.to_le_bytes());
        to.extend_from_slice(&self.flags.to_le_bytes());
        for long in [self.offset, self.address, self.address, self.file_size, self.size, self.align] {
            to.extend_from_slice(&long.to_le_bytes());
        }
    }
}

/// The program headers.
pub(crate) fn segments(elf: &[u8]) -> Option<Vec<Segment>> {
    let (table, count) = (usize::try_from(u64_at(elf, 32)?).ok()?, usize::from(u16_at(elf, 56)?));
    (0..count).map(|n| Segment::read(elf, table.checked_add(n * SEGMENT)?)).collect()
}
