//! The ends of ports that died, which their slots keep for the ports that come next.
//!
//! A port of which only the other end of one line was told has ends that no third process has. When it dies, its slot keeps them at both
//! ends of the line, and the next port at the slot has the same: no call makes it any. The sender, which is done with the slot, says whether
//! it kept its part (RELEASE with LAST and KEPT).
//!
//! The sender of a receive right has copies of both ends, as it may have to take the right back. It keeps them for the next.

use crate::account::{Account, Charge};
use rustix::net::{Shutdown, shutdown};
use slipway_fabric::descriptor::Reserved;
use std::sync::Arc;

/// The sockets of a port, as far as this process has them.
#[derive(Debug)]
pub struct Ends {
    /// The receiving end, which the port's owner has, and a process that has given the receive right to it.
    pub r: Option<Arc<Reserved>>,
    /// The sending end.
    pub s: Arc<Reserved>,
    /// The identity of `s`.
    pub identity: u64,
}

impl Ends {
    /// The last port that they stood for was this process's and is dead: all that have the sending end learn of it.
    pub fn hang_up(self) {
        let _ = self.r.map(|r| shutdown(&r, Shutdown::Both));
    }
}

/// How many slots of one end of a line keep their ends.
const MOST: usize = 8;

/// Ends by the slots that keep them.
#[derive(Debug, Default)]
pub struct KeptEnds(Vec<(u32, Ends, Charge)>);

impl KeptEnds {
    /// What it takes for one slot more to keep its ends; None if that is too much. The other end of the line could have any number of them kept.
    pub fn room(&self, account: &Arc<Account>) -> Option<Charge> {
        if self.0.len() < MOST { account.take(2, 0) } else { None }
    }

    /// A slot keeps the ends of its port, which is dead.
    pub fn put(&mut self, slot: u32, ends: Ends, charge: Charge) {
        self.0.push((slot, ends, charge));
    }

    /// Whether a slot keeps ends.
    pub fn has(&self, slot: u32) -> bool {
        self.0.iter().any(|(its, ..)| *its == slot)
    }

    /// Takes what a slot keeps.
    pub fn take(&mut self, slot: u32) -> Option<Ends> {
        let at = self.0.iter().position(|(its, ..)| *its == slot)?;
        Some(self.0.swap_remove(at).1)
    }
}
