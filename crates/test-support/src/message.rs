//! Messages as they lie in memory.

use slipway_abi::{HEADER, typed::type_word, types};

/// Marks a message that has rights in its body.
const COMPLEX: u8 = 0x80;

/// A message of 8-byte words.
#[derive(Debug, Clone, Default)]
pub struct Msg(pub Vec<u8>);

impl Msg {
    /// A header: destination and reply port with their dispositions.
    pub fn new(id: i32, dest: (u32, u32), reply: (u32, u32)) -> Self {
        let mut bytes = vec![0; HEADER];
        bytes[0..4].copy_from_slice(&(dest.1 | reply.1 << 8).to_le_bytes());
        bytes[8..12].copy_from_slice(&dest.0.to_le_bytes());
        bytes[16..20].copy_from_slice(&reply.0.to_le_bytes());
        bytes[28..32].copy_from_slice(&id.to_le_bytes());
        Self(bytes)
    }

    /// Adds an integer, described by its type: 16 bytes.
    pub fn int(mut self, value: u64) -> Self {
        self.0.extend(type_word(types::INTEGER_64, 64, 1).to_le_bytes());
        self.0.extend(value.to_le_bytes());
        self
    }

    /// Adds rights inline: 8 bytes, and 8 for each.
    pub fn ports(mut self, disposition: u32, names: &[u32]) -> Self {
        self.0[3] |= COMPLEX;
        self.0.extend(type_word(disposition, 64, names.len() as u32).to_le_bytes());
        names.iter().for_each(|name| self.0.extend(u64::from(*name).to_le_bytes()));
        self
    }

    /// Adds bytes, and padding to the next word.
    pub fn bytes(mut self, bytes: &[u8]) -> Self {
        self.0.extend(type_word(types::BYTE, 8, bytes.len() as u32).to_le_bytes());
        self.0.extend(bytes);
        self.0.resize(self.0.len().next_multiple_of(8), 0);
        self
    }

    /// The 32-bit word at an offset.
    ///
    /// # Panics
    /// If the message ends before.
    pub fn u32(&self, at: usize) -> u32 {
        u32::from_le_bytes(self.0[at..at + 4].try_into().expect("4 bytes"))
    }

    /// The 64-bit word at an offset.
    ///
    /// # Panics
    /// If the message ends before.
    pub fn u64(&self, at: usize) -> u64 {
        u64::from_le_bytes(self.0[at..at + 8].try_into().expect("8 bytes"))
    }

    /// The value, or the right's name, that was added as the `n`th, if all before it are single ones.
    ///
    /// # Panics
    /// If the message ends before.
    pub fn value(&self, n: usize) -> u32 {
        self.u32(HEADER + 16 * n + 8)
    }

    /// `msgh_id`.
    pub fn id(&self) -> i32 {
        self.u32(28).cast_signed()
    }

    /// The received reply right's name.
    pub fn reply(&self) -> u32 {
        self.u32(8)
    }
}
