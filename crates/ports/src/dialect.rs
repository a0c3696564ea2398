//! The formats in which programs write their messages.

/// How the message is to look that a receiver is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// The typed dialect of Mach 3.0: each item of a body has a type in front.
    Typed,
    /// Darwin's: a body has descriptors in front, and the message a trailer behind.
    Darwin(Trailer),
}

/// What of a trailer a receiver asks for: `MACH_RCV_TRAILER_ELEMENTS`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Trailer(pub u8);

impl Trailer {
    /// Where a trailer's elements are among `mach_msg`'s options.
    pub const SHIFT: u32 = 24;
    /// The options that say something of a trailer.
    pub const MASK: u32 = 0xff00_0000;
    /// Type and size alone.
    pub const NONE: Self = Self(0);

    /// What an option of `mach_msg` asks for.
    #[inline]
    pub fn of(option: u32) -> Self {
        Self((option >> Self::SHIFT & 0xf) as u8)
    }

    /// Its size in bytes.
    #[inline]
    pub fn size(self) -> usize {
        match self.0 {
            0 => 8,
            1 => 12,
            2 => 20,
            3 => 52,
            4 => 60,
            _ => 68,
        }
    }
}
