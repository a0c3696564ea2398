//! How a call ends: waking threads that wait for that, and ends that are not a return.
#![allow(unsafe_code, reason = "a call's frame and its turn, by pointer")]

use super::thread;
use crate::lock::Process;
use slipway_fabric::turn::Turn;

/// Wakes threads that wait for a call to leave the turn, which may be gone by now.
#[cold]
#[inline(never)]
pub(super) fn told(turn: *const Turn) {
    let Some(process) = Process::made() else { return };
    let mut guard = process.lock();
    guard.state.turns.left();
    guard.wake_turn(Turn::key(turn));
}

/// The innermost call of the thread is unwound: as if it had returned.
pub(super) extern "C" fn abandon() {
    thread::with(|thread| {
        // SAFETY: the call's frame is still on the stack, whose unwinding has not come to it yet.
        if let Some(frame) = unsafe { thread.frame.get().as_ref() } {
            frame.free_all();
            thread.frame.set(frame.outer);
            thread.space.set(frame.space.get());
            // SAFETY: a turn lasts as long as calls are counted in it.
            if unsafe { &*frame.turn }.leave() {
                told(frame.turn);
            }
        }
    });
}

/// An exception has left the innermost routine of the thread, and ends there.
pub(super) fn cut_short() {
    thread::with(|thread| {
        // SAFETY: the call's frame is on the stack: the call goes on as if the routine had returned.
        if let Some(frame) = unsafe { thread.frame.get().as_ref() } {
            frame.free_all();
        }
    });
}
