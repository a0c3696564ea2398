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

use crate::call::{self, Name, Return, routine};
use slipway_ports::{
    abi::{Code, NULL},
    exceptions::{ALL, Form, Told, Whose},
    task::Task,
};
use tell::{CODES, DEFAULT, STATE, STATE_IDENTITY};

/// A task of this process, as [`Whose`]: `INVALID_TASK` for another name.
fn task(name: Name) -> Result<Whose, Code> {
    Ok(Whose::Task(call::task(name)?.space()))
}

/// A thread of this process.
fn thread(name: Name) -> Result<Whose, Code> {
    Ok(Whose::Thread(Task::current().thread_by_name(name).ok_or(Code::INVALID_ARGUMENT)?))
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

/// Has exceptions told to a port of the calling task's.
pub(crate) fn set(whose: Whose, mask: u32, port: Name, form: Form) -> Result<(), Code> {
    check(mask, form)?;
    Task::current().set_exceptions(whose, mask, port, form)?;
    begin_with(port)
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
pub(crate) struct Place {
    masks: *mut u32,
    count: *mut u32,
    ports: *mut Name,
    behaviors: *mut u32,
    flavors: *mut i32,
}

impl Place {
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
/// As for [`Place::fill`].
unsafe fn get(whose: Result<Whose, Code>, mask: u32, new: Option<(Name, Form)>, place: &Place) -> Return {
    let Place { masks, count, ports, behaviors, flavors } = *place;
    routine(|| {
        let whose = whose?;
        if mask & !ALL != 0 || count.is_null() || [masks, ports, behaviors].iter().any(|it| it.is_null()) || flavors.is_null() {
            return Err(Code::INVALID_ARGUMENT);
        }
        if let Some((_, form)) = new {
            check(mask, form)?;
        }
        let told = Task::current().exceptions(whose, mask)?;
        if let Some((port, form)) = new {
            set(whose, mask, port, form).inspect_err(|_| give_back(&told))?;
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
                routine(|| set($whose(of)?, mask, port, Form { behavior, flavor, darwin: $darwin }))
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
                unsafe { get($whose(of), mask, Some(new), &Place { masks, count, ports, behaviors, flavors }) }
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
    unsafe { get(task(of), mask, None, &Place { masks, count, ports, behaviors, flavors }) }
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
    unsafe { get(thread(of), mask, None, &Place { masks, count, ports, behaviors, flavors }) }
}
