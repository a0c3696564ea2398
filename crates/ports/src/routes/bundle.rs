//! What is kept of send rights to third parties' ports whose descriptors did not come one by one: bundles. Mostly they are still in a socket's queue.
//!
//! There lie the sending end and the holders' pipe of each right, in packets. Many rights of a message come with a socket of their own; a few
//! are left in the line's own socket for descriptors. The record says which
//! sending ends they are. Most rights are given up again soon, or kept and not used; so the
//! queue is read when one of them is first used, or a moment later. Until then the kernel counts this process as their holder,
//! as the pipes are open in the queue. The packets of a line are taken in their order: those before with the one that is needed. One whose rights
//! were all given up is taken and closed with others, or a moment later.
//!
//! What the record says is its writer's word. As long as nothing else is known of such a port, a wrong word harms none but the right
//! that it came with: when the bundle is opened and the sending end is another one, that right is dead. So no right that
//! comes in another way is ever taken for one to the same port before the bundle has been opened.

use crate::{
    account::{Account, Charge},
    line::remembered::Pair,
    state::{LineId, PortId},
};
use rustc_hash::FxHashMap;
use slab::Slab;
use slipway_fabric::descriptor::Reserved;
use std::sync::Arc;

/// A message's rights that came together.
#[derive(Debug)]
pub struct Bundle {
    /// The descriptor, or those in it.
    pub contents: Contents,
    /// Its rights, by number.
    pub rights: Vec<Bundled>,
    /// How many of the rights have a port that exists.
    pub live: usize,
}

/// A right of a bundle.
#[derive(Debug, Clone, Copy)]
pub struct Bundled {
    /// The identity of the sending end, as the writer of the record says. For one that is remembered, its index.
    pub identity: u64,
    /// The port, once one of the message's rights is that.
    pub port: Option<PortId>,
}

/// What a bundle consists of.
#[derive(Debug)]
pub enum Contents {
    /// The socket; what is charged for the descriptors in it, and where those are charged that come out of it.
    Sealed(Reserved, #[allow(dead_code, reason = "its drop is what counts")] Option<Charge>, Arc<Account>),
    /// They are [left in the line's socket](crate::line::Line::unread).
    Queued(LineId),
    /// What came out of it, or was remembered, as long as the message is taken in that it came with.
    Open(Vec<Option<Pair>>),
}

/// The bundles of a process.
#[derive(Debug, Default)]
pub struct Bundles {
    /// Those that may be unopened.
    pub table: Slab<Bundle>,
    /// Ports that are known by such a word alone.
    pub claims: FxHashMap<u64, PortId>,
    /// Descriptors that are left in the lines' own sockets.
    pub queued: usize,
    /// That of the message which is being taken in.
    pub reading: Option<u32>,
}
