//! Body and items in a memory file: two lengths, and then the bytes. For what is too large for a ring or a packet.

use crate::{abi, objects};
use slipway_fabric::descriptor::Reserved;
use std::{io, os::fd::OwnedFd};
use zerocopy::{FromBytes, IntoBytes};

/// The bytes of the two lengths.
const HEAD: u64 = 16;

/// Writes body and items into `file`, and seals it.
///
/// # Errors
/// Those of ftruncate(2), pwrite(2) and fcntl(2).
pub fn write(file: OwnedFd, parts: &(Vec<u8>, Vec<u8>)) -> io::Result<Reserved> {
    let lengths = [parts.0.len() as u64, parts.1.len() as u64];
    slipway_fabric::segment::set_size(&file, HEAD + lengths[0] + lengths[1])?;
    let mut at = 0;
    for part in [lengths.as_bytes(), &parts.0, &parts.1] {
        let mut part = part;
        while !part.is_empty() {
            let n = rustix::io::pwrite(&file, part, at)?;
            part = &part[n..];
            at += n as u64;
        }
    }
    objects::seal(&file)?;
    Reserved::new(file)
}

/// A memory file in which a sender put body and items.
#[derive(Debug)]
pub struct Spilled {
    file: Reserved,
    body: u64,
    items: u64,
}

impl Spilled {
    /// None if it is no such file. Body and items are each as large as a message can be, at most.
    pub fn open(file: Reserved) -> Option<Self> {
        if !objects::is_sealed(&file, HEAD) {
            return None;
        }
        let stat = rustix::fs::fstat(&file).ok()?;
        let size = stat.st_size as u64;
        // A file full of holes costs its maker nothing, and would cost this process what it claims to be.
        if (stat.st_blocks as u64).saturating_mul(512) < size {
            return None;
        }
        let mut lengths = [0; HEAD as usize];
        read_all(&file, 0, &mut lengths)?;
        let [body, items] = <[u64; 2]>::read_from_bytes(&lengths).ok()?;
        let most = abi::MESSAGE_MAX as u64;
        if body > most || items > most || HEAD + body + items > size || body % 8 != 0 {
            return None;
        }
        Some(Self { file, body, items })
    }

    /// The bytes of both.
    pub fn len(&self) -> usize {
        (self.body + self.items) as usize
    }

    /// Whether there is neither.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Copies body and items. None if there is no memory for them.
    pub fn read(&self) -> Option<(Vec<u8>, Vec<u8>)> {
        let (mut body, mut items) = (zeroed(self.body)?, zeroed(self.items)?);
        read_all(&self.file, HEAD, &mut body)?;
        read_all(&self.file, HEAD + self.body, &mut items)?;
        Some((body, items))
    }
}

/// As many zeroes, if there is memory for them.
fn zeroed(len: u64) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(len as usize).ok()?;
    bytes.resize(len as usize, 0);
    Some(bytes)
}

fn read_all(file: &Reserved, mut at: u64, mut to: &mut [u8]) -> Option<()> {
    while !to.is_empty() {
        let n = rustix::io::pread(file, &mut *to, at).ok().filter(|n| *n > 0)?;
        to = &mut to[n..];
        at += n as u64;
    }
    Some(())
}
