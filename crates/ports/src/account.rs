//! What this process holds for others: descriptors, and memory of messages that nobody has received.
//!
//! All of it is charged to the line or socket that it came by. The lines that a process made are one account, by the
//! kernel's word on the sender of the request, and so are the sockets that nobody's line stands for; a line that this
//! process made is an account of its own. A charge lasts as long as the thing does.
//!
//! This layer is above the kernel's objects and below the wire and the lines, which charge here.
//!
//! An account may have a quarter of the process's descriptors, and never more than is free of the three quarters that all
//! accounts share: of what two have left a third may have the half, and so on. All accounts of another user have two thirds
//! of the shares at most, and no processes of theirs shut this user's out.

use crate::objects::{self, Arrived};
use rustc_hash::FxHashMap;
use rustix::{
    io::Errno,
    process::{Resource, getrlimit},
};
use slipway_fabric::{
    credentials::Credentials,
    descriptor::{Kind, Reserved},
    packet,
    sync::{AtomicBool, AtomicUsize, Ordering::Relaxed},
};
use std::{
    os::fd::BorrowedFd,
    sync::{Arc, Weak},
};

/// The memory of messages unreceived that one account may have, in bytes: eight messages of the largest size.
const MEMORY: usize = 8 * crate::abi::MESSAGE_MAX;

/// The memory that all accounts share.
const MEMORY_OF_ALL: usize = 3 * MEMORY;

/// So many descriptors all accounts together may have under any limit.
const FEW: usize = 16;

/// A quarter of the descriptors that this process may have now.
fn quarter_of_descriptors() -> usize {
    getrlimit(Resource::Nofile).current.map_or(usize::MAX, |limit| limit as usize) / 4
}

/// How much of something.
#[derive(Debug, Default)]
struct Held {
    descriptors: AtomicUsize,
    bytes: AtomicUsize,
    /// Of all accounts: the kernel refused to queue descriptors, and their record waits.
    refused: AtomicBool,
}

/// What is held for one process, or over one line.
#[derive(Debug, Default)]
pub struct Account {
    held: Held,
    /// The account of all processes of its user, if that is another user's.
    user: Option<Arc<Held>>,
    all: Arc<Held>,
}

/// A part of an account, until it is dropped.
#[derive(Debug)]
pub struct Charge {
    account: Arc<Account>,
    descriptors: usize,
    bytes: usize,
}

/// The accounts of this process.
#[derive(Debug, Default)]
pub struct Ledger {
    all: Arc<Held>,
    users: FxHashMap<u32, Weak<Held>>,
    processes: FxHashMap<(u32, u32), Weak<Account>>,
}

impl Ledger {
    /// The account of the process that the kernel says sent a packet. Processes without a number here are one for each user,
    /// and so are those that the kernel said nothing of.
    pub fn of(&mut self, sender: Option<Credentials>) -> Arc<Account> {
        let (pid, uid) = sender.map_or((0, !0), |sender| (sender.pid.unwrap_or(0), sender.uid));
        if let Some(account) = self.processes.get(&(pid, uid)).and_then(Weak::upgrade) {
            return account;
        }
        self.processes.retain(|_, account| account.strong_count() > 0);
        self.users.retain(|_, user| user.strong_count() > 0);
        let user = (uid != rustix::process::geteuid().as_raw()).then(|| {
            let known = self.users.get(&uid).and_then(Weak::upgrade);
            known.unwrap_or_else(|| {
                let user = Arc::default();
                self.users.insert(uid, Arc::downgrade(&user));
                user
            })
        });
        let account = Arc::new(Account { held: Held::default(), user, all: Arc::clone(&self.all) });
        self.processes.insert((pid, uid), Arc::downgrade(&account));
        account
    }

    /// A new account: for what comes over a line that this process makes, or for what it keeps itself until the other end
    /// of a line takes it.
    pub fn apart(&self) -> Arc<Account> {
        Arc::new(Account { all: Arc::clone(&self.all), ..Account::default() })
    }

    /// Whether the kernel has refused to queue a line's descriptors since the last call.
    pub fn was_refused(&self) -> bool {
        self.all.refused.load(Relaxed) && self.all.refused.swap(false, Relaxed)
    }
}

impl Account {
    /// The kernel refused to queue descriptors for now: those of this user in all queues are too many. Their record has to be tried again.
    pub fn note_refusal(&self) {
        self.all.refused.store(true, Relaxed);
    }

    /// Charges so much to the account, if it may have that.
    pub fn take(self: &Arc<Self>, descriptors: usize, bytes: usize) -> Option<Charge> {
        self.take_of(if descriptors > 0 { self.quarter_for(descriptors) } else { 0 }, descriptors, bytes)
    }

    /// Whether as many descriptors more could be charged as are by now.
    pub fn has_half_left(self: &Arc<Self>) -> bool {
        self.take(self.held.descriptors.load(Relaxed), 0).is_some()
    }

    /// A quarter of the process's descriptors, where so many more are to be charged: as long as all are [`FEW`], as many. A
    /// right that travels alone costs no look at the limit.
    fn quarter_for(&self, more: usize) -> usize {
        if self.all.descriptors.load(Relaxed) + more <= FEW { FEW } else { quarter_of_descriptors() }
    }

    /// As [`Account::take`], where so many descriptors are a quarter.
    fn take_of(self: &Arc<Self>, quarter: usize, descriptors: usize, bytes: usize) -> Option<Charge> {
        let fits = |more: usize, of: fn(&Held) -> &AtomicUsize, one: usize, all: usize| {
            let free = all.saturating_sub(of(&self.all).load(Relaxed));
            let user = self.user.as_ref().map_or(0, |user| of(user).load(Relaxed));
            // A user may have twice what is free: two thirds of all if there is no other.
            more == 0 || (of(&self.held).load(Relaxed) + more <= one.min(free) && user + more <= 2 * free)
        };
        let fits = fits(descriptors, |held| &held.descriptors, quarter, 3 * quarter)
            && fits(bytes, |held| &held.bytes, MEMORY, MEMORY_OF_ALL);
        fits.then(|| {
            self.each(|held| {
                held.descriptors.fetch_add(descriptors, Relaxed);
                held.bytes.fetch_add(bytes, Relaxed);
            });
            Charge { account: Arc::clone(self), descriptors, bytes }
        })
    }

    /// Holds the descriptors that came with a packet. Of those that are more than the account may have nothing is left.
    fn hold(self: &Arc<Self>, fds: Vec<Arrived>) -> impl Iterator<Item = Arrived> {
        let quarter = self.quarter_for(fds.len());
        fds.into_iter().map(move |fd| Some(fd?.with(Box::new(self.take_of(quarter, 1, 0)?))))
    }

    fn each(&self, change: impl Fn(&Held)) {
        [Some(&self.held), self.user.as_deref(), Some(&self.all)].into_iter().flatten().for_each(change);
    }
}

impl Charge {
    /// The account that a descriptor is charged to, if it came from a peer.
    pub fn of(fd: &Reserved) -> Option<Arc<Account>> {
        Some(Arc::clone(&fd.carried()?.downcast_ref::<Self>()?.account))
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.account.each(|held| {
            held.descriptors.fetch_sub(self.descriptors, Relaxed);
            held.bytes.fetch_sub(self.bytes, Relaxed);
        });
    }
}

/// As [`receive_some`](objects::receive_some), with descriptors that are held on an account, which may depend on the packet's
/// sender.
///
/// # Errors
/// As recvmsg(2); `MSGSIZE` if the packet is larger than `to`, or has a descriptor of a kind that is not used here.
pub fn receive_held(
    socket: BorrowedFd<'_>,
    to: &mut [u8],
    fds: &mut impl Extend<Arrived>,
    account: impl FnOnce(Option<Credentials>) -> Arc<Account>,
) -> Result<(usize, bool), Errno> {
    let mut some = Vec::new();
    let packet = packet::receive(socket, to, |fd| some.push(fd))?;
    if !some.is_empty() {
        let account = account(packet.sender);
        let received = Reserved::received(some);
        // No correct peer sends one, and what is over the limit would wait to be closed at nobody's charge.
        if received.iter().flatten().any(|fd| fd.kind() == Kind::Foreign) {
            return Err(Errno::MSGSIZE);
        }
        fds.extend(account.hold(received));
    }
    objects::arrived(packet)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sender(pid: u32, uid: u32) -> Option<Credentials> {
        Some(Credentials { pid: Some(pid), uid, gid: 0 })
    }

    /// As many pieces as an account gets.
    fn all_of(account: &Arc<Account>) -> Vec<Charge> {
        std::iter::from_fn(|| account.take(0, 1 << 20)).collect()
    }

    #[test]
    fn an_account_has_its_limit_and_gets_it_back() {
        let mut ledger = Ledger::default();
        let own = rustix::process::geteuid().as_raw();
        let account = ledger.of(sender(7, own));
        let pieces = all_of(&account);
        assert_eq!(pieces.len(), MEMORY >> 20);
        assert!(Arc::ptr_eq(&account, &ledger.of(sender(7, own))));
        drop(pieces);
        assert_eq!(all_of(&account).len(), MEMORY >> 20);
    }

    /// Processes that each take what they get.
    #[test]
    fn something_is_left_for_those_that_come_after() {
        let mut ledger = Ledger::default();
        let own = rustix::process::geteuid().as_raw();
        let mut greedy = Vec::new();
        for pid in 1..7 {
            greedy.extend(all_of(&ledger.of(sender(pid, own))));
        }
        assert!(ledger.of(sender(7, own)).take(0, 1 << 20).is_some());
    }

    /// The processes of another user leave the more to this one.
    #[test]
    fn another_user_has_two_thirds() {
        let mut ledger = Ledger::default();
        let own = rustix::process::geteuid().as_raw();
        let mut greedy = Vec::new();
        for pid in 1..1000 {
            greedy.extend(all_of(&ledger.of(sender(pid, own + 1))));
        }
        assert!(greedy.len() <= (MEMORY_OF_ALL / 3 * 2) >> 20);
        assert!(ledger.of(sender(1, own + 2)).take(0, MEMORY / 2).is_some());
        assert!(ledger.of(sender(1, own)).take(0, MEMORY / 2).is_some());
    }
}
