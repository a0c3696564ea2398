//! The limit on the size of files (`ulimit -f`): the command's, and not that of the processes that keep its layer, which it would end.

use crate::sys;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// The limit that this process was given, and what a write beyond it does to it.
#[derive(Debug, Clone)]
pub struct FileLimit {
    limit: Rlimit,
    action: usize,
}

impl FileLimit {
    /// Has this process write beyond the limit, as far as it may: what is beyond that fails with EFBIG, and no signal comes.
    #[must_use]
    pub fn lift() -> Self {
        let limit = getrlimit(Resource::Fsize);
        let action = sys::set_action(libc::SIGXFSZ, libc::SIG_IGN);
        let most = Rlimit { current: limit.maximum, maximum: limit.maximum };
        let _ = setrlimit(Resource::Fsize, Rlimit { current: None, maximum: None }).or_else(|_| setrlimit(Resource::Fsize, most));
        Self { limit, action }
    }

    /// Takes on what was given.
    pub(crate) fn restore(&self) {
        let _ = setrlimit(Resource::Fsize, self.limit);
        sys::set_action(libc::SIGXFSZ, self.action);
    }
}
