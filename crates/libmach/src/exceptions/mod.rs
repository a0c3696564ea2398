//! Exceptions: the ports that they are told to, for tasks and threads, and a thread's registers.
//!
//! * [`fault`]: the signals. * [`tell`]: the messages; `exc` is made by mig, of `<mach/exc.defs>`. * [`registers`]: states.
#![allow(unsafe_code, reason = "functions that C calls, with pointers that C passes")]

#[rustfmt::skip]
#[allow(missing_docs, clippy::missing_errors_doc, reason = "made by mig, and compared with what mig makes")]
pub mod exc;
pub(crate) mod fault;
pub(crate) mod registers;
mod tell;

use crate::{
    call::{self, Name, Return, routine},
    tasks::{
        ask,
        exceptions::{Exceptions, ExceptionsServer, GetExceptionPortsReply},
        serve::{self, Served},
    },
};
use slipway_mach::{mig::Target, rights::SendRight};
use slipway_ports::{
    abi::{Code, NULL},
    exceptions::{ALL, Form, Told, Whose},
    task::Task,
};
use tell::{CODES, DEFAULT, STATE, STATE_IDENTITY};

/// A task of this process: `INVALID_TASK` for another name.
fn task(name: Name) -> Result<Whose, Code> {
    Ok(Whose::Task(call::task(name)?.space()))
}

/// A thread of this process.
fn thread(name: Name) -> Result<Whose, Code> {
    Ok(Whose::Thread(Task::current().thread_by_name(name).ok_or(Code::INVALID_ARGUMENT)?))
}

/// Either.
fn any(name: Name) -> Result<Whose, Code> {
    task(name).or_else(|_| thread(name))
}

/// Whether exceptions can be told so.
fn check(mask: u32, form: Form) -> Result<(), Code> {
    // SAFETY: any bytes are such a structure.
    let has_state = || registers::get(&unsafe { std::mem::zeroed() }, form.flavor).is_some();
    let good = match form.behavior & if form.darwin { !CODES } else { !0 } {
        DEFAULT => true,
        STATE | STATE_IDENTITY => has_state(),
        _ => false,
    };
    if good && mask & !ALL == 0 { Ok(()) } else { Err(Code::INVALID_ARGUMENT) }
}

/// Has the exceptions of the task or thread that `of` names told to a port of the calling task's.
fn set(of: Name, whose: fn(Name) -> Result<Whose, Code>, mask: u32, port: Name, form: Form) -> Result<(), Code> {
    check(mask, form)?;
    match whose(of) {
        Ok(whose) => Task::current().set_exceptions(whose, mask, port, form).and_then(|()| begin_with(port)),
        Err(code) => {
            let right = ask::lent(port);
            let Form { behavior, flavor, darwin } = form;
            let set = |there: &Exceptions| there.set_exception_ports(mask, right.as_ref(), behavior, flavor, darwin);
            ask::elsewhere(of, code, Exceptions, set)
        }
    }
}

/// Where they are told.
fn told(of: Name, whose: fn(Name) -> Result<Whose, Code>, mask: u32) -> Result<Vec<Told>, Code> {
    match whose(of) {
        Ok(whose) => Task::current().exceptions(whose, mask),
        Err(code) => {
            let told = ask::elsewhere(of, code, Exceptions, |there| there.get_exception_ports(mask))?;
            let forms =
                told.behaviors.into_iter().zip(told.flavors).map(|it| Form { behavior: it.0, flavor: it.1, darwin: false });
            let named = told.masks.into_iter().zip(told.ports).zip(forms);
            Ok(named.map(|((mask, port), form)| Told { mask, name: ask::name_of(port), form }).collect())
        }
    }
}

/// What a process asks of another's task or thread.
impl ExceptionsServer for Served {
    fn set_exception_ports(
        &mut self,
        target: Target,
        mask: u32,
        port: Option<SendRight>,
        behavior: u32,
        flavor: i32,
        darwin: bool,
    ) -> Result<(), Code> {
        let Target::Port(name) = target else { return Err(Code::INVALID_TASK) };
        let port = port.as_ref().map_or(NULL, SendRight::name);
        set(name, any, mask, port, Form { behavior, flavor, darwin })
    }

    fn get_exception_ports(&mut self, target: Target, mask: u32) -> Result<GetExceptionPortsReply, Code> {
        let Target::Port(name) = target else { return Err(Code::INVALID_TASK) };
        let mut reply = GetExceptionPortsReply { masks: vec![], ports: vec![], behaviors: vec![], flavors: vec![] };
        for told in told(name, any, mask & ALL)? {
            reply.masks.push(told.mask);
            reply.ports.push(serve::some(told.name, SendRight::from_name));
            reply.behaviors.push(told.form.behavior);
            reply.flavors.push(told.form.flavor);
        }
        Ok(reply)
    }
}

/// Sets the special port of a thread.
pub(crate) fn set_general(thread: u32, port: Name) -> Result<(), Code> {
    Task::current().set_thread_exception_port(thread, port)?;
    begin_with(port)
}

/// Before there are any that are told to a port.
pub(crate) fn begin_with(port: Name) -> Result<(), Code> {
    if port == NULL { Ok(()) } else { fault::begin() }
}

/// Gives up what nobody is told.
fn give_back(told: &[Told]) {
    for told in told {
        let _ = Task::current().deallocate(told.name);
    }
}

/// Four arrays for what is told of exception ports, and their length.
pub(crate) struct ToldArrays {
    masks: *mut u32,
    count: *mut u32,
    ports: *mut Name,
    behaviors: *mut u32,
    flavors: *mut i32,
}

impl ToldArrays {
    /// Fills the arrays as far as there is room; what finds none is not told.
    ///
    /// # Safety
    /// The count has a place, and the arrays as many as it says.
    unsafe fn fill(&self, told: &[Told]) {
        // SAFETY: the caller's promise.
        unsafe {
            let (told, rest) = told.split_at(told.len().min(self.count.read_unaligned() as usize));
            give_back(rest);
            for (index, told) in told.iter().enumerate() {
                self.masks.add(index).write_unaligned(told.mask);
                self.ports.add(index).write_unaligned(told.name);
                self.behaviors.add(index).write_unaligned(told.form.behavior);
                self.flavors.add(index).write_unaligned(told.form.flavor);
            }
            self.count.write_unaligned(told.len() as u32);
        }
    }
}

/// Where exceptions are told, and then, if `new` says so, where they are told from now on.
///
/// # Safety
/// As for [`ToldArrays::fill`].
unsafe fn get(
    of: Name,
    whose: fn(Name) -> Result<Whose, Code>,
    mask: u32,
    new: Option<(Name, Form)>,
    place: &ToldArrays,
) -> Return {
    let ToldArrays { masks, count, ports, behaviors, flavors } = *place;
    routine(|| {
        if mask & !ALL != 0 || count.is_null() || [masks, ports, behaviors].iter().any(|it| it.is_null()) || flavors.is_null() {
            return Err(Code::INVALID_ARGUMENT);
        }
        if let Some((_, form)) = new {
            check(mask, form)?;
        }
        let told = told(of, whose, mask)?;
        if let Some((port, form)) = new {
            set(of, whose, mask, port, form).inspect_err(|_| give_back(&told))?;
        }
        // SAFETY: the caller's promise.
        unsafe { place.fill(&told) };
        Ok(())
    })
}

macro_rules! ports {
    ($(($whose:ident, $darwin:literal, $set:ident, $swap:ident);)*) => {
        $(
            /// Has the kinds of exceptions in `mask` told to `port`, of which the caller keeps its right; null for none.
            #[unsafe(no_mangle)]
            pub extern "C" fn $set(of: Name, mask: u32, port: Name, behavior: u32, flavor: i32) -> Return {
                routine(|| set(of, $whose, mask, port, Form { behavior, flavor, darwin: $darwin }))
            }

            /// As the function that sets, and tells what was set before as the one that gets.
            ///
            /// # Safety
            /// The count has a place, and the arrays as many as it says.
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $swap(
                of: Name,
                mask: u32,
                port: Name,
                behavior: u32,
                flavor: i32,
                masks: *mut u32,
                count: *mut u32,
                ports: *mut Name,
                behaviors: *mut u32,
                flavors: *mut i32,
            ) -> Return {
                let new = (port, Form { behavior, flavor, darwin: $darwin });
                // SAFETY: the caller's promise.
                unsafe { get(of, $whose, mask, Some(new), &ToldArrays { masks, count, ports, behaviors, flavors }) }
            }
        )*
    };
}

ports! {
    (task, false, task_set_exception_ports, task_swap_exception_ports);
    (thread, false, thread_set_exception_ports, thread_swap_exception_ports);
    (task, true, slipway_darwin_task_set_exception_ports, slipway_darwin_task_swap_exception_ports);
    (thread, true, slipway_darwin_thread_set_exception_ports, slipway_darwin_thread_swap_exception_ports);
}

/// Where the exceptions in `mask` are told: those of one port and one form together. The rights are the caller's.
///
/// # Safety
/// The count has a place, and the arrays as many as it says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn task_get_exception_ports(
    of: Name,
    mask: u32,
    masks: *mut u32,
    count: *mut u32,
    ports: *mut Name,
    behaviors: *mut u32,
    flavors: *mut i32,
) -> Return {
    // SAFETY: the caller's promise.
    unsafe { get(of, task, mask, None, &ToldArrays { masks, count, ports, behaviors, flavors }) }
}

/// As [`task_get_exception_ports`], of a thread.
///
/// # Safety
/// As there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thread_get_exception_ports(
    of: Name,
    mask: u32,
    masks: *mut u32,
    count: *mut u32,
    ports: *mut Name,
    behaviors: *mut u32,
    flavors: *mut i32,
) -> Return {
    // SAFETY: the caller's promise.
    unsafe { get(of, thread, mask, None, &ToldArrays { masks, count, ports, behaviors, flavors }) }
}
