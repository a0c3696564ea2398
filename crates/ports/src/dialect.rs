//! The formats in which programs write their messages.

/// How the message is to look that a receiver is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// The typed dialect of Mach 3.0: each item of a body has a type in front.
    Typed,
    /// Darwin's: a body has descriptors in front, and the message a trailer behind.
    Darwin(Trailer),
}

/// What of a trailer a receiver asks for: its size in bytes, which says what is in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Trailer(u8);

impl Trailer {
    /// Where a trailer's elements, `MACH_RCV_TRAILER_ELEMENTS`, are among `mach_msg`'s options.
    pub const SHIFT: u32 = 24;
    /// The options that say something of a trailer.
    pub const MASK: u32 = 0xff00_0000;
    /// Type and size alone.
    pub const NONE: Self = Self(8);
    /// With the sender's tokens.
    const AUDIT: Self = Self(52);

    /// What an option of `mach_msg` asks for.
    #[inline(always)]
    pub fn of(option: u32) -> Self {
        if option & Self::MASK == 0 { Self::NONE } else { Self::with(option >> Self::SHIFT & 0xf) }
    }

    #[cold]
    fn with(elements: u32) -> Self {
        match elements {
            0 => Self::NONE,
            1 => Self(12),
            2 => Self(20),
            3 => Self::AUDIT,
            _ => Self(60),
        }
    }

    /// Its size in bytes.
    #[inline(always)]
    pub fn size(self) -> usize {
        self.0.into()
    }

    /// Whether it has the port's context.
    #[inline(always)]
    pub fn has_context(self) -> bool {
        self.0 > Self::AUDIT.0
    }
}
