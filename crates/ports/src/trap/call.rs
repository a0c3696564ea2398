//! The call.
#![allow(unsafe_code, reason = "routines that servers pass, and call entries that a thread keeps by pointer")]

use super::{
    catch,
    end::told,
    frame::Frame,
    thread::{self, Thread},
};
use crate::{abi::Code, lock::Process, state::call_entry, wait::turn};
use slipway_fabric::{sync::Ordering, turn::Turn};
use std::ffi::c_void;

/// Calls the routine for the identifier at the port that the calling task knows as `name`: what it returned. None, and
/// nothing has happened, if a message is to be sent.
///
/// # Safety
/// The arguments are what a routine with this signature takes.
#[inline(always)]
pub unsafe fn call(name: u32, id: i32, signature: u64, arguments: *mut c_void) -> Option<i32> {
    let thread = thread::here();
    // SAFETY: it is the calling thread's own, which is here.
    let thread = unsafe { &*thread };
    let cached = thread.cached(name);
    if cached.name.get() != name || cached.space.get() != thread.space.get() || !call_entry::EPOCH.is(cached.epoch.get()) {
        // SAFETY: the caller's promise.
        return unsafe { unknown(name, id, signature, arguments) };
    }
    // SAFETY: what it points to lasts until it is filled anew, which only this thread does.
    let turn = unsafe { cached.turn.get().as_ref() }?;
    let index = id.wrapping_sub(cached.base.get()) as u32;
    if index >= cached.count.get() {
        // SAFETY: the caller's promise.
        return unsafe { elsewhere(name, id, signature, arguments) };
    }
    // SAFETY: as above; the table has so many entries.
    let entry = unsafe { &*cached.entries.get().add(index as usize) };
    let routine = entry.routine?;
    if entry.signature != signature {
        return None;
    }
    if !turn.enter() {
        return refused(turn);
    }
    // SAFETY: as for the turn. Only this thread writes its count.
    let calls = unsafe { &*cached.calls.get() };
    calls.store(calls.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    let outer = thread.frame.get();
    let frame = Frame::new(outer, turn, thread.space.replace(cached.server.get()));
    thread.frame.set(&frame);
    // SAFETY: the turn has let the call in, so the server has not withdrawn the routine; the arguments are the caller's
    // promise. The frame lies here until the routine is done.
    let code = unsafe { catch::run(routine, cached.request.get(), arguments, cached.context.get()) };
    thread.frame.set(outer);
    thread.space.set(frame.space.get());
    if turn.leave() {
        told(turn);
    }
    Some(code)
}

/// Whether [`call`] with these would most likely call, or return `MACH_TRAP_DEADLOCK`: the routine is there and its turn is
/// free. For callers that have to prepare for a call what they would not need for a message.
#[inline]
pub fn may_call(name: u32, id: i32, signature: u64) -> bool {
    thread::with(|thread| {
        let cached = thread.cached(name);
        if cached.name.get() != name || cached.space.get() != thread.space.get() || !call_entry::EPOCH.is(cached.epoch.get()) {
            return may_call_unknown(thread, name, id, signature);
        }
        // SAFETY: what it points to lasts until it is filled anew, which only this thread does.
        let Some(turn) = (unsafe { cached.turn.get().as_ref() }) else { return false };
        let index = id.wrapping_sub(cached.base.get()) as u32;
        if index >= cached.count.get() {
            return thread.show_table(name, id) && may_call(name, id, signature);
        }
        // SAFETY: as above; the table has so many entries.
        let entry = unsafe { &*cached.entries.get().add(index as usize) };
        // A thread that is in a call, or has a message, may get a deadlock, which only the call tells.
        let involved = || !thread.frame.get().is_null() || turn::holds_any();
        entry.routine.is_some() && entry.signature == signature && (turn.is_open() || involved())
    })
}

/// As [`unknown`].
#[cold]
#[inline(never)]
fn may_call_unknown(thread: &Thread, name: u32, id: i32, signature: u64) -> bool {
    thread.look_up(name, id) && may_call(name, id, signature)
}

/// A port that the thread doesn't keep.
///
/// # Safety
/// As for [`call`].
#[cold]
#[inline(never)]
unsafe fn unknown(name: u32, id: i32, signature: u64, arguments: *mut c_void) -> Option<i32> {
    let found = thread::with(|thread| thread.look_up(name, id));
    // SAFETY: the caller's promise. A change in between leads here again.
    if found { unsafe { call(name, id, signature, arguments) } } else { None }
}

/// A port with several tables, of which the one that was used last is not the one for this identifier.
///
/// # Safety
/// As for [`call`].
#[cold]
#[inline(never)]
unsafe fn elsewhere(name: u32, id: i32, signature: u64, arguments: *mut c_void) -> Option<i32> {
    let found = thread::with(|thread| thread.show_table(name, id));
    // SAFETY: the caller's promise.
    if found { unsafe { call(name, id, signature, arguments) } } else { None }
}

/// The server is busy: with what this call is part of, or with something else, which a message waits for.
#[cold]
#[inline(never)]
fn refused(turn: &Turn) -> Option<i32> {
    let calls = thread::calls_in(turn);
    if !turn.serial || !(calls > 0 || turn::holds_any()) {
        return None;
    }
    let own = calls + turn::holds(turn);
    let _guard = Process::made()?.lock();
    turn.is_all(own).then_some(Code::TRAP_DEADLOCK.0)
}
