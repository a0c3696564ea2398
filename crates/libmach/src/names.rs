//! `mach_port_*` on names: what they denote, how they come and go, their user references.
#![allow(unsafe_code, reason = "functions that C calls, with pointers that C passes")]

use crate::{
    call::{Name, Out, Return, array, count, guarded_routine, routine, task},
    tasks::{ask, serve},
};
use slipway_ports::{abi::Code, pages, task::Task};

/// All names of a task and their types, in two arrays of as many elements, which are the caller's.
///
/// # Safety
/// Each result has a place.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mach_port_names(
    of: Name,
    names: *mut *mut u32,
    names_count: *mut u32,
    types: *mut *mut u32,
    types_count: *mut u32,
) -> Return {
    routine(|| {
        // SAFETY: the caller's promise, for all four.
        let (names, names_count, types, types_count) =
            unsafe { (Out::new(names)?, Out::new(names_count)?, Out::new(types)?, Out::new(types_count)?) };
        let here = |task: Task| Ok(task.names()?.into_iter().unzip());
        let (all, kinds): (Vec<u32>, Vec<u32>) =
            ask::names(of, here, |names| names.mach_port_names().map(|got| (got.names.into_vec(), got.types.into_vec())))?;
        // Another process may say anything.
        let n = count(all.len()).and_then(|n| if kinds.len() == all.len() { Ok(n) } else { Err(Code::FAILURE) })?;
        let first = array(&all)?;
        // SAFETY: nobody has the first yet.
        let second = array(&kinds).inspect_err(|_| unsafe { give_back(first, all.len()) })?;
        names.set(first);
        names_count.set(n);
        types.set(second);
        types_count.set(n);
        Ok(())
    })
}

/// # Safety
/// The array was just made, and nobody has it.
unsafe fn give_back(array: *mut u32, len: usize) {
    if let Some(len) = pages::whole_pages(len * size_of::<u32>()).filter(|len| *len > 0) {
        // SAFETY: the caller's promise.
        let _ = unsafe { pages::deallocate(array.addr(), len) };
    }
}

/// The rights that a name denotes.
///
/// # Safety
/// The result has a place.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mach_port_type(of: Name, name: Name, port_type: *mut u32) -> Return {
    routine(|| {
        // SAFETY: the caller's promise.
        let port_type = unsafe { Out::new(port_type)? };
        port_type.set(ask::names(of, |task| task.kind(name), |names| names.mach_port_type(name))?);
        Ok(())
    })
}

/// Gives what a name denotes another name.
#[unsafe(no_mangle)]
pub extern "C" fn mach_port_rename(of: Name, old_name: Name, new_name: Name) -> Return {
    routine(|| task(of)?.rename(old_name, new_name))
}

/// A new port, port set or dead name, under a given name.
#[unsafe(no_mangle)]
pub extern "C" fn mach_port_allocate_name(of: Name, right: u32, name: Name) -> Return {
    routine(|| task(of)?.allocate_name(right, name))
}

/// A new port, port set or dead name.
///
/// # Safety
/// The result has a place.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mach_port_allocate(of: Name, right: u32, name: *mut Name) -> Return {
    guarded_routine(|| {
        serve::begin();
        // SAFETY: the caller's promise.
        let name = unsafe { Out::new(name)? };
        name.set(ask::names(of, |task| task.allocate(right), |names| names.mach_port_allocate(right))?);
        Ok(())
    })
}

/// Destroys all rights of a name.
#[unsafe(no_mangle)]
pub extern "C" fn mach_port_destroy(of: Name, name: Name) -> Return {
    guarded_routine(|| ask::names(of, |task| task.destroy(name), |names| names.mach_port_destroy(name)))
}

/// Gives up one user reference of a send right, send-once right or dead name.
#[unsafe(no_mangle)]
pub extern "C" fn mach_port_deallocate(of: Name, name: Name) -> Return {
    guarded_routine(|| ask::names(of, |task| task.deallocate(name), |names| names.mach_port_deallocate(name)))
}

/// The user references of one right of a name.
///
/// # Safety
/// The result has a place.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mach_port_get_refs(of: Name, name: Name, right: u32, refs: *mut u32) -> Return {
    routine(|| {
        // SAFETY: the caller's promise.
        let refs = unsafe { Out::new(refs)? };
        refs.set(ask::names(of, |task| task.get_refs(name, right), |names| names.mach_port_get_refs(name, right))?);
        Ok(())
    })
}

/// Changes the user references of one right of a name.
#[unsafe(no_mangle)]
pub extern "C" fn mach_port_mod_refs(of: Name, name: Name, right: u32, delta: i32) -> Return {
    guarded_routine(|| {
        ask::names(of, |task| task.mod_refs(name, right, delta), |names| names.mach_port_mod_refs(name, right, delta))
    })
}

/// A new port for replies; null if there is none.
#[unsafe(no_mangle)]
pub extern "C" fn mach_reply_port() -> Name {
    let mut name = 0;
    guarded_routine(|| {
        serve::begin();
        name = Task::current().reply_port()?;
        Ok::<(), Code>(())
    });
    name
}
