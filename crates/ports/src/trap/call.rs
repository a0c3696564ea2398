//! The call.
#![allow(unsafe_code, reason = "routines that servers pass, and gates that a thread keeps by pointer")]

use super::{
    catch,
    thread::{self, Frame, Slot, Thread},
    turn::Turn,
};
use crate::process::Process;
use slipway_fabric::sync::Ordering;
use std::{cell::Cell, ffi::c_void};

/// What a call by a routine comes to that waits for itself: `MACH_TRAP_DEADLOCK`.
const DEADLOCK: i32 = 0x1000_0100;

/// Calls the routine for the identifier at the port that the calling task knows as `name`: what it returned. None, and
/// nothing has happened, if a message is to be sent.
///
/// # Safety
/// The arguments are what a routine with this signature takes.
#[inline]
pub unsafe fn call(name: u32, id: i32, signature: u64, arguments: *mut c_void) -> Option<i32> {
    thread::with(|thread| {
        let (at, slot) = thread.slot(name, id);
        let known = slot.name.get() == name && slot.space.get() == thread.space.get() && slot.epoch.get() == super::epoch();
        if !known && !thread.look_up(at, name, id) {
            return None;
        }
        // SAFETY: what the slot points to lasts until it is filled anew, which only this thread does.
        let turn = unsafe { slot.turn.get().as_ref() }?;
        let index = id.wrapping_sub(slot.base.get()) as u32;
        if index >= slot.count.get() {
            return elsewhere(thread, at, name, id).then(|| unsafe { call(name, id, signature, arguments) })?;
        }
        // SAFETY: as above; the table has so many entries.
        let entry = unsafe { &*slot.entries.get().add(index as usize) };
        let routine = entry.routine?;
        if entry.signature != signature {
            return None;
        }
        if !turn.enter() {
            return refused(thread, turn);
        }
        let request = enter(thread, slot);
        let frame = Frame { outer: thread.frame.get(), turn, space: Cell::new(thread.space.replace(slot.server.get())) };
        thread.frame.set(&frame);
        // SAFETY: the turn has let the call in, so the server has not withdrawn the routine; the arguments are the
        // caller's promise. The frame lies here until the routine is done.
        let code = unsafe { catch::run(routine, request, arguments) };
        leave(thread, &frame);
        Some(code)
    })
}

/// Counts the call; the port's name for the server.
#[inline]
fn enter(_thread: &Thread, slot: &Slot) -> u32 {
    // SAFETY: as for the turn. Only this thread writes its count.
    let calls = unsafe { &*slot.calls.get() };
    calls.store(calls.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    slot.request.get()
}

/// The thread works for the task again that it did before.
#[inline]
fn leave(thread: &Thread, frame: &Frame) {
    thread.space.set(frame.space.get());
    thread.frame.set(frame.outer);
    // SAFETY: a turn lasts as long as calls are counted in it.
    let turn = unsafe { &*frame.turn };
    if !turn.leave() {
        told(turn);
    }
}

/// Gives the place back where somebody waits for it.
#[cold]
fn told(turn: &Turn) {
    let mut guard = Process::get().lock();
    let id = turn.id;
    turn.leave_told();
    guard.state.turns.left();
    guard.wake_turn(id);
}

/// The port has several tables, and the one that was kept is not the one for this identifier. Whether that was found.
#[cold]
fn elsewhere(thread: &Thread, at: usize, name: u32, id: i32) -> bool {
    thread.look_up(at, name, id) && {
        let (_, slot) = thread.slot(name, id);
        !slot.turn.get().is_null() && (id.wrapping_sub(slot.base.get()) as u32) < slot.count.get()
    }
}

/// The server is busy: with what this call is part of, or with something else, which a message waits for.
#[inline]
fn refused(thread: &Thread, turn: &Turn) -> Option<i32> {
    if thread.frame.get().is_null() && thread.holds.get() == 0 { None } else { waits_for_itself(thread, turn) }
}

#[cold]
fn waits_for_itself(thread: &Thread, turn: &Turn) -> Option<i32> {
    if !turn.serial {
        return None;
    }
    let calls = thread.frames().filter(|frame| std::ptr::eq(frame.turn, turn)).count() as u32;
    let own = calls + thread::holds(turn);
    let _guard = Process::get().lock();
    turn.is_all(own).then_some(DEADLOCK)
}

/// The innermost call of the thread is unwound: as if it had returned.
pub(super) extern "C" fn abandon() {
    thread::with(|thread| {
        // SAFETY: the call's frame is still on the stack, whose unwinding has not come to it yet.
        if let Some(frame) = unsafe { thread.frame.get().as_ref() } {
            leave(thread, frame);
        }
    });
}
