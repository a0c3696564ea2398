//! What each end of a ring remembers of it.

/// The writing end's own cursor. Private to that end: the peer can't change it.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct TxCursor {
    /// Position after the last byte filled in.
    pub tail: u64,
    /// Position at offset 0 of the area.
    pub base: u64,
    /// The last valid `head` seen; may be stale, never ahead of the truth.
    pub head_seen: u64,
    /// How much of the area is known to have memory; `u64::MAX` for all of it.
    pub ready: u64,
    /// Memory for all of it is not asked for before this position: there was none.
    pub asks_at: u64,
}

impl TxCursor {
    /// Whether the reader was seen to have taken everything.
    pub fn is_empty(&self) -> bool {
        self.tail == self.head_seen
    }
}

/// The reading end's own cursor. Private to that end.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct RxCursor {
    /// Position up to which bytes were consumed.
    pub head: u64,
    /// Position at offset 0 of the area, valid for `head..tail_seen`.
    pub base: u64,
    /// The last valid `tail` seen; may be stale, never ahead of the truth.
    pub tail_seen: u64,
    /// The bytes that were consumed last, at once.
    pub last: u64,
}
