//! A child that a task has forked. It has none of its parent's other threads, and so is no host: it ends as any process does.
#![allow(unsafe_code, reason = "functions that the C library calls around fork")]

use crate::keys;
use std::sync::OnceLock;

static CHILD: OnceLock<()> = OnceLock::new();

/// Whether this process was forked from a host.
pub fn is_child() -> bool {
    CHILD.get().is_some()
}

/// Has the C library tell of forks.
pub fn install() {
    unsafe extern "C" fn prepare() {
        keys::hold();
    }
    unsafe extern "C" fn parent() {
        keys::release();
    }
    unsafe extern "C" fn child() {
        let _ = CHILD.set(());
        keys::begin_anew();
        keys::release();
    }
    // SAFETY: the functions are never unloaded. Without memory for them, which is at a process's start, children may hang.
    unsafe { libc::pthread_atfork(Some(prepare), Some(parent), Some(child)) };
}
