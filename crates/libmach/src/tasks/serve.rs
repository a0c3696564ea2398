//! Serving what is sent to the ports of this process's tasks.
//!
//! The thread works for a task of the library's own, which has the receive rights. So the functions that a program calls with the name of another
//! task of its process are what serves here, too: the message's target is such a name.
#![allow(unsafe_code, reason = "the functions that C calls")]

use super::{
    exceptions,
    memory_server::{self, MachServer},
    names::{self, MachPortNamesReply, NamesServer},
};
use crate::{
    call::{self, Name, Return, passes, received},
    exceptions::fault,
    kernel, memory as vm, procfs, suspend, thread as threads,
};
use slipway_mach::{
    mig::{self, AnyRight, Array, Target},
    rights::{PortSet, ReceiveRight, Received, SendOnceRight, SendRight},
};
use slipway_ports::{
    FutexWord, Ordering,
    abi::{
        Code, NULL,
        call::{KERNEL_PORT, Special},
        types,
    },
    pages,
    process::serve_tasks,
    task::Task,
};
use std::{
    mem::ManuallyDrop,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    time::Duration,
};

/// The longest request, memory out of line aside; a longer one is destroyed.
const LONGEST: usize = 64 << 10;
/// The most memory that one `vm_read` gives: the answer has a copy of it.
const READ_MAX: usize = 512 << 20;
/// The most words of an answer of `task_info`.
const INFO_MAX: usize = 1024;

/// Has the tasks of this process served, from the first message to one of them on. Called where a program gets a port.
#[inline]
pub(crate) fn begin() {
    serve_tasks(serve);
}

/// What the thread does.
fn serve(space: u32, set: u32, news: Arc<FutexWord>) {
    let task = Task::by_number(space);
    task.enter();
    let set = ManuallyDrop::new(PortSet::from_name(crate::call::shared(task), set));
    loop {
        let seen = news.load(Ordering::Acquire);
        loop {
            match set.receive_at_most(LONGEST, Some(Duration::ZERO)) {
                // A panic would be a fault of the library: the caller learns that nobody will answer, and others are served.
                Ok(request) => drop(catch_unwind(AssertUnwindSafe(|| answer(request)))),
                Err(error) if error.code == Code::RCV_TOO_LARGE => {}
                Err(_) => break,
            }
        }
        news.wait_private(seen);
    }
}

fn answer(request: Received) {
    let mut server = Served { ends: false };
    let served = names::demux(&mut server, request)
        .or_else(|request| memory_server::demux(&mut server, *request))
        .or_else(|request| exceptions::demux(&mut server, *request));
    // A caller that is gone, or takes no answer, has nothing to be told.
    let _ = served.unwrap_or_else(|request| mig::refuse(*request)).send_at_once();
    if server.ends {
        end_process();
    }
}

/// Ends the process as a task is ended: at once, by nothing that the program could handle.
pub(crate) fn end_process() {
    // SAFETY: numbers.
    unsafe { libc::kill(libc::getpid(), libc::SIGKILL) };
}

/// One request's server.
pub(crate) struct Served {
    /// Whether the process ends once it has answered.
    ends: bool,
}

/// The name of the task that a request came to, and the task.
fn of(target: Target) -> Result<(Name, Task), Code> {
    let Target::Port(name) = target else { return Err(Code::INVALID_TASK) };
    Ok((name, call::task(name)?))
}

fn task(target: Target) -> Result<Task, Code> {
    Ok(of(target)?.1)
}

/// A right under a name in the library's task; None for a null or dead one.
pub(crate) fn some<T>(name: Name, right: fn(slipway_mach::task::Task, u32) -> T) -> Option<T> {
    (name != NULL && name != slipway_ports::abi::DEAD).then(|| right(crate::call::shared(Task::current()), name))
}

/// The number in the system of the thread that a request came to.
fn thread(target: Target) -> Result<u32, Code> {
    let Target::Port(name) = target else { return Err(Code::INVALID_ARGUMENT) };
    Task::current().thread_by_name(name).ok_or(Code::INVALID_ARGUMENT)
}

/// What of an answer's words there is room for: all, or `INVALID_ARGUMENT`.
fn within<T>(words: Vec<T>, room: u32) -> Result<Vec<T>, Code> {
    if words.len() <= room as usize { Ok(words) } else { Err(Code::INVALID_ARGUMENT) }
}

fn outcome(code: Return) -> Result<(), Code> {
    if code == 0 { Ok(()) } else { Err(Code(code)) }
}

impl NamesServer for Served {
    fn mach_port_names(&mut self, target: Target) -> Result<MachPortNamesReply, Code> {
        let (names, types): (Vec<u32>, Vec<u32>) = task(target)?.names()?.into_iter().unzip();
        Ok(MachPortNamesReply { names: names.into(), types: types.into() })
    }

    fn mach_port_type(&mut self, target: Target, name: u32) -> Result<u32, Code> {
        task(target)?.kind(name)
    }

    fn mach_port_allocate(&mut self, target: Target, right: u32) -> Result<u32, Code> {
        task(target)?.allocate(right)
    }

    fn mach_port_destroy(&mut self, target: Target, name: u32) -> Result<(), Code> {
        task(target)?.destroy(name)
    }

    fn mach_port_deallocate(&mut self, target: Target, name: u32) -> Result<(), Code> {
        task(target)?.deallocate(name)
    }

    fn mach_port_get_refs(&mut self, target: Target, name: u32, right: u32) -> Result<u32, Code> {
        task(target)?.get_refs(name, right)
    }

    fn mach_port_mod_refs(&mut self, target: Target, name: u32, right: u32, delta: i32) -> Result<(), Code> {
        task(target)?.mod_refs(name, right, delta)
    }

    fn mach_port_insert_right(&mut self, target: Target, name: u32, right: AnyRight) -> Result<(), Code> {
        let task = task(target)?;
        // The call takes the right, whatever it comes to, as in Mach.
        let (own, how) = match right {
            AnyRight::Send(right) => (right.map(SendRight::into_name), types::MOVE_SEND),
            AnyRight::SendOnce(right) => (right.map(SendOnceRight::into_name), types::MOVE_SEND_ONCE),
            AnyRight::Receive(right) => (right.map(ReceiveRight::into_name), types::MOVE_RECEIVE),
        };
        task.insert_right(name, Task::current(), own.ok_or(Code::INVALID_CAPABILITY)?, how)
    }

    fn mach_port_extract_right(&mut self, target: Target, name: u32, desired: u32) -> Result<AnyRight, Code> {
        let taken = task(target)?.extract_right(name, passes(desired)?, Task::current())?;
        // A dead name goes as one.
        let own = crate::call::shared(Task::current());
        Ok(match received(desired) {
            types::PORT_RECEIVE => AnyRight::Receive(Some(ReceiveRight::from_name(own, taken))),
            types::PORT_SEND_ONCE => AnyRight::SendOnce(Some(SendOnceRight::from_name(own, taken))),
            _ => AnyRight::Send(Some(SendRight::from_name(own, taken))),
        })
    }
}

/// Addresses are the task's, and what is done with its memory is what the holder of its port asks for, as a debugger may.
impl MachServer for Served {
    fn task_terminate(&mut self, target: Target) -> Result<(), Code> {
        let task = task(target)?;
        // Once the answer is sent.
        self.ends = task.is_first();
        if !self.ends {
            task.terminate();
        }
        Ok(())
    }

    fn task_threads(&mut self, target: Target) -> Result<Vec<Option<SendRight>>, Code> {
        task(target)?;
        let threads = Task::current().thread_names(procfs::threads, procfs::has_ended, procfs::start_of)?;
        Ok(threads.into_iter().map(|name| some(name, SendRight::from_name)).collect())
    }

    fn task_info(&mut self, target: Target, flavor: i32, room: u32) -> Result<Vec<i32>, Code> {
        let mut info = vec![0; INFO_MAX];
        let mut count = room.min(INFO_MAX as u32);
        // SAFETY: there is room for as many words, and for their number.
        outcome(unsafe { kernel::task_info(of(target)?.0, flavor, info.as_mut_ptr(), &raw mut count) })?;
        info.truncate(count as usize);
        Ok(info)
    }

    fn vm_allocate(&mut self, target: Target, address: u64, size: u64, anywhere: bool) -> Result<u64, Code> {
        let mut at = address as usize;
        // SAFETY: the address has a place.
        outcome(unsafe { vm::vm_allocate(of(target)?.0, &raw mut at, size as usize, anywhere.into()) })?;
        Ok(at as u64)
    }

    fn vm_deallocate(&mut self, target: Target, address: u64, size: u64) -> Result<(), Code> {
        // SAFETY: the holder's promise.
        outcome(unsafe { vm::vm_deallocate(of(target)?.0, address as usize, size as usize) })
    }

    fn vm_protect(&mut self, target: Target, address: u64, size: u64, set_maximum: bool, protection: i32) -> Result<(), Code> {
        // SAFETY: the holder's promise.
        outcome(unsafe { vm::vm_protect(of(target)?.0, address as usize, size as usize, set_maximum.into(), protection) })
    }

    fn vm_read(&mut self, target: Target, address: u64, size: u64) -> Result<Array<u8>, Code> {
        of(target)?;
        let (at, size) = (address as usize, call::count(size as usize).map_err(|_| Code::INVALID_ARGUMENT)? as usize);
        if size > READ_MAX {
            return Err(Code::RESOURCE_SHORTAGE);
        }
        vm::check(at, size, false)?;
        let mut data = Vec::new();
        data.try_reserve_exact(size).map_err(|_| Code::RESOURCE_SHORTAGE)?;
        data.resize(size, 0);
        pages::read(at, &mut data).map_err(|_| vm::fault(at, size))?;
        Ok(data.into())
    }

    fn vm_write(&mut self, target: Target, address: u64, data: Array<u8>) -> Result<(), Code> {
        // SAFETY: the holder's promise, for what is written; what is read is the request's.
        outcome(unsafe { vm::vm_write(of(target)?.0, address as usize, data.as_ptr().addr(), call::count(data.len())?) })
    }

    fn vm_copy(&mut self, target: Target, source: u64, size: u64, destination: u64) -> Result<(), Code> {
        // SAFETY: the holder's promise.
        outcome(unsafe { vm::vm_copy(of(target)?.0, source as usize, size as usize, destination as usize) })
    }

    fn task_get_special_port(&mut self, target: Target, which: i32) -> Result<Option<SendRight>, Code> {
        let (task, own) = (task(target)?, Task::current());
        let name = match which {
            KERNEL_PORT => task.self_right_for(own)?,
            _ => task.special_for(Special::by_number(which).ok_or(Code::INVALID_ARGUMENT)?, own)?,
        };
        Ok(some(name, SendRight::from_name))
    }

    fn task_set_special_port(&mut self, target: Target, which: i32, port: Option<SendRight>) -> Result<(), Code> {
        outcome(crate::task::task_set_special_port(of(target)?.0, which, port.as_ref().map_or(NULL, SendRight::name)))
    }

    fn task_suspend(&mut self, target: Target) -> Result<(), Code> {
        task(target)?;
        suspend::suspend_task()
    }

    fn task_resume(&mut self, target: Target) -> Result<(), Code> {
        task(target)?;
        suspend::resume_task()
    }

    fn thread_terminate(&mut self, target: Target) -> Result<(), Code> {
        thread(target)?;
        Err(Code::FAILURE)
    }

    fn thread_get_state(&mut self, target: Target, flavor: i32, room: u32) -> Result<Vec<u32>, Code> {
        within(fault::get_state(thread(target)?, flavor)?, room)
    }

    fn thread_set_state(&mut self, target: Target, flavor: i32, state: Vec<u32>) -> Result<(), Code> {
        fault::set_state(thread(target)?, flavor, &state)
    }

    fn thread_info(&mut self, target: Target, flavor: i32, room: u32) -> Result<Vec<i32>, Code> {
        within(threads::info(thread(target)?, flavor)?, room)
    }

    fn thread_suspend(&mut self, target: Target) -> Result<(), Code> {
        suspend::suspend_thread(thread(target)?)
    }

    fn thread_resume(&mut self, target: Target) -> Result<(), Code> {
        suspend::resume_thread(thread(target)?)
    }

    fn thread_abort(&mut self, target: Target) -> Result<(), Code> {
        suspend::abort_thread(thread(target)?)
    }

    fn thread_get_special_port(&mut self, target: Target, which: i32) -> Result<Option<SendRight>, Code> {
        Ok(some(threads::special(thread(target)?, which)?, SendRight::from_name))
    }

    fn thread_set_special_port(&mut self, target: Target, which: i32, port: Option<SendRight>) -> Result<(), Code> {
        threads::set_special(thread(target)?, which, port.as_ref().map_or(NULL, SendRight::name))
    }

    fn vm_map(
        &mut self,
        target: Target,
        address: u64,
        size: u64,
        mask: u64,
        anywhere: bool,
        object: Option<SendRight>,
        offset: u64,
        copy: bool,
        current: i32,
        most: i32,
        inheritance: i32,
    ) -> Result<u64, Code> {
        let (name, mut at) = (of(target)?.0, address as usize);
        let object = object.as_ref().map_or(NULL, SendRight::name);
        let (size, mask, offset) = (size as usize, mask as usize, offset as usize);
        let (anywhere, copy) = (anywhere.into(), copy.into());
        // SAFETY: the address has a place.
        let code =
            unsafe { vm::vm_map(name, &raw mut at, size, mask, anywhere, object, offset, copy, current, most, inheritance) };
        outcome(code)?;
        Ok(at as u64)
    }
}
