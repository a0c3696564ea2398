//! The call.
#![allow(unsafe_code, reason = "routines that servers pass, and gates that a thread keeps by pointer")]

use super::{
    catch, gate,
    thread::{self, Frame, Thread},
};
use crate::{abi::Code, process::Process};
use slipway_fabric::{sync::Ordering, turn::Turn};
use std::{cell::Cell, ffi::c_void, ptr::null_mut};

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
    let slot = thread.slot(name);
    if slot.name.get() != name || slot.space.get() != thread.space.get() || slot.epoch.get() != gate::epoch() {
        // SAFETY: the caller's promise.
        return unsafe { unknown(name, id, signature, arguments) };
    }
    // SAFETY: what the slot points to lasts until it is filled anew, which only this thread does.
    let turn = unsafe { slot.turn.get().as_ref() }?;
    let index = id.wrapping_sub(slot.base.get()) as u32;
    if index >= slot.count.get() {
        // SAFETY: the caller's promise.
        return unsafe { elsewhere(name, id, signature, arguments) };
    }
    // SAFETY: as above; the table has so many entries.
    let entry = unsafe { &*slot.entries.get().add(index as usize) };
    let routine = entry.routine?;
    if entry.signature != signature {
        return None;
    }
    if !turn.enter() {
        return refused(turn);
    }
    // SAFETY: as for the turn. Only this thread writes its count.
    let calls = unsafe { &*slot.calls.get() };
    calls.store(calls.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    let outer = thread.frame.get();
    let space = Cell::new(thread.space.replace(slot.server.get()));
    let frame = Frame { outer, turn, space, rooms: Cell::new(null_mut()) };
    thread.frame.set(&frame);
    // SAFETY: the turn has let the call in, so the server has not withdrawn the routine; the arguments are the caller's
    // promise. The frame lies here until the routine is done.
    let code = unsafe { catch::run(routine, slot.request.get(), arguments, slot.context.get()) };
    thread.frame.set(outer);
    thread.space.set(frame.space.get());
    if turn.leave() {
        told(turn);
    }
    Some(code)
}

/// Whether [`call`] with these would most likely call, or return `MACH_TRAP_DEADLOCK`: the routine is there and its turn is
/// free. For who has to make much ready for a call, and would not need it for a message.
#[inline]
pub fn may_call(name: u32, id: i32, signature: u64) -> bool {
    thread::with(|thread| {
        let slot = thread.slot(name);
        if slot.name.get() != name || slot.space.get() != thread.space.get() || slot.epoch.get() != gate::epoch() {
            return may_call_unknown(thread, name, id, signature);
        }
        // SAFETY: what the slot points to lasts until it is filled anew, which only this thread does.
        let Some(turn) = (unsafe { slot.turn.get().as_ref() }) else { return false };
        let index = id.wrapping_sub(slot.base.get()) as u32;
        if index >= slot.count.get() {
            return thread.turn_over(name, id) && may_call(name, id, signature);
        }
        // SAFETY: as above; the table has so many entries.
        let entry = unsafe { &*slot.entries.get().add(index as usize) };
        // Who is in a call, or has a message, may get a deadlock, which only the call tells.
        let involved = !thread.frame.get().is_null() || thread.holds.get() > 0;
        entry.routine.is_some() && entry.signature == signature && (turn.is_open() || involved)
    })
}

/// As [`unknown`].
#[cold]
#[inline(never)]
fn may_call_unknown(thread: &Thread, name: u32, id: i32, signature: u64) -> bool {
    thread.look_up(name, id) && may_call(name, id, signature)
}

/// Wakes who waited for a call to leave the turn, which may be gone by now.
#[cold]
#[inline(never)]
fn told(turn: *const Turn) {
    let mut guard = Process::get().lock();
    guard.state.turns.left();
    guard.wake_turn(turn.addr());
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
    let found = thread::with(|thread| thread.turn_over(name, id));
    // SAFETY: the caller's promise.
    if found { unsafe { call(name, id, signature, arguments) } } else { None }
}

/// The server is busy: with what this call is part of, or with something else, which a message waits for.
#[cold]
#[inline(never)]
fn refused(turn: &Turn) -> Option<i32> {
    let (involved, calls) = thread::with(|thread| {
        let calls = thread.frames().filter(|frame| std::ptr::eq(frame.turn, turn)).count() as u32;
        (calls > 0 || thread.holds.get() > 0, calls)
    });
    if !turn.serial || !involved {
        return None;
    }
    let own = calls + thread::holds(turn);
    let _guard = Process::get().lock();
    turn.is_all(own).then_some(Code::TRAP_DEADLOCK.0)
}

/// The innermost call of the thread is unwound: as if it had returned.
pub(super) extern "C" fn abandon() {
    thread::with(|thread| {
        // SAFETY: the call's frame is still on the stack, whose unwinding has not come to it yet.
        if let Some(frame) = unsafe { thread.frame.get().as_ref() } {
            frame.release_rooms();
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
#[cfg(target_arch = "x86_64")]
pub(super) fn cut_short() {
    thread::with(|thread| {
        // SAFETY: the call's frame is on the stack: the call goes on as if the routine had returned.
        if let Some(frame) = unsafe { thread.frame.get().as_ref() } {
            frame.release_rooms();
        }
    });
}
