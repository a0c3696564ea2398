//! The program's descriptors of a stream, and the epoll sets that they are in.

use super::{Stream, locked};
use crate::epoll::EpollSet;
use slipway_fabric::sync::Ordering::Relaxed;
use std::sync::{Arc, Weak};

/// In `told_sets`: the sets know of the segment and of the doorbell.
const ALL_TOLD: u32 = 3;

impl Stream {
    /// This process has one more descriptor of the connection.
    pub fn gain_descriptor(&self) {
        self.descriptors.fetch_add(1, Relaxed);
    }

    /// Whether this process has several.
    pub fn is_copied(&self) -> bool {
        self.descriptors.load(Relaxed) > 1
    }

    /// This process has one less; true if that was the last.
    pub fn lose_descriptor(&self) -> bool {
        let last = self.descriptors.fetch_sub(1, Relaxed) == 1;
        if last {
            self.renounce();
        }
        last
    }

    /// This process has the connection no longer; whether another is left that may have it.
    pub(super) fn renounce(&self) -> bool {
        self.state.common.heirs.fetch_update(Relaxed, Relaxed, |heirs| heirs.checked_sub(1)).is_ok()
    }

    /// Descriptor `fd` is about to be closed: takes it out of all epoll sets.
    pub fn leave_sets(&self, fd: std::os::fd::RawFd) {
        self.sets().iter().for_each(|set| set.closing(fd));
    }

    /// The stream was made a member of an epoll set.
    pub fn join(&self, set: &Arc<EpollSet>) {
        self.in_sets.store(1, Relaxed);
        let mut sets = locked(&self.sets);
        sets.retain(|s| s.strong_count() > 0 && !std::ptr::eq(s.as_ptr(), Arc::as_ptr(set)));
        sets.push(Arc::downgrade(set));
    }

    /// The connection may just have got a line or a doorbell, which its epoll sets are to hear, or a segment: those that left it to
    /// the kernel take it over. Or this thread has taken a bell, for descriptors that came with it. Called without locks.
    #[inline]
    pub(crate) fn tell_sets(&self) {
        let told = self.told_sets.load(Relaxed);
        if told < ALL_TOLD {
            let now = match self.segment.get() {
                Some(_) => 2 + u32::from(self.hears_door()),
                None => self.line_alive().into(),
            };
            if now > told && self.told_sets.fetch_max(now, Relaxed) < now {
                self.sets().iter().for_each(|set| set.welcome(self));
            }
        }
        if self.took_bell.load(Relaxed) != 0 && self.took_bell.swap(0, Relaxed) != 0 {
            self.alert_sets();
        }
    }

    /// Whether it is in more than one epoll set.
    pub fn is_in_several_sets(&self) -> bool {
        self.in_sets.load(Relaxed) != 0 && locked(&self.sets).iter().filter(|set| set.strong_count() > 0).count() > 1
    }

    /// Somebody else than its epoll sets took this line's bell: they must look for themselves.
    pub(super) fn alert_sets(&self) {
        self.sets().iter().for_each(|set| set.alert(self));
    }

    pub(super) fn sets(&self) -> Vec<Arc<EpollSet>> {
        locked(&self.sets).iter().filter_map(Weak::upgrade).collect()
    }
}
