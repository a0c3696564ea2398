//! Numbers that stand for what a process knows of Mach.

/// A port as this process knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PortId(pub u32);

impl PortId {
    /// Stands for no port, where an [`Option`] would take more room.
    pub const NONE: Self = Self(!0);
}

/// A port set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SetId(pub u32);

/// Tells a port or set from others that have its number before or after it, and a receive right in a space from the same one before it was taken out. The counts
/// wrap.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Serial {
    /// Its place among the ports and sets that were made here. A port keeps it wherever its receive right goes, as long as it is known here.
    pub(crate) made: u32,
    /// How often its receive right was taken out of a space here.
    pub(crate) left: u32,
}

/// A task's space.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(transparent)]
pub struct SpaceId(pub u32);

/// A send-once right to a port in another process: the I/O layer's number for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RemoteSendOnce(pub u32);

/// A line to another process: the number that the layers above have for it. Places in their table are used again, so it says which
/// of the place's lines it means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LineId {
    /// The place in the table.
    pub(crate) index: u32,
    /// Which of the place's lines; 0 is that of none.
    pub(crate) serial: u32,
}

impl LineId {
    /// Stands for no line.
    pub(crate) const NONE: Self = Self { index: 0, serial: 0 };
}
