//! The real functions behind the hooks, and what a hook owes its caller: errno, no panic, and a thread that can be cancelled where POSIX says so.

use rustix::io::Errno;
use slipway_fabric::sync::{AtomicUsize, Ordering::Relaxed};
use std::{
    ffi::{CStr, c_int},
    panic::{AssertUnwindSafe, catch_unwind},
};

unsafe extern "C-unwind" {
    fn pthread_testcancel();
}
unsafe extern "C" {
    fn pthread_setcancelstate(state: c_int, old: *mut c_int) -> c_int;
}

const CANCEL_DISABLE: c_int = 1;

/// A function of the next library in the search order, looked up once. Nothing in it has to be relocated when a program starts.
pub struct Next(AtomicUsize);

impl Next {
    /// One that was not looked up.
    pub const fn new() -> Self {
        Self(AtomicUsize::new(0))
    }

    /// The address of the function called `name`; the process ends if there is none, as it would without us.
    pub fn address(&self, name: &CStr) -> usize {
        match self.0.load(Relaxed) {
            0 => self.find(name),
            address => address,
        }
    }

    #[cold]
    fn find(&self, name: &CStr) -> usize {
        // SAFETY: a valid C string, and a pseudo-handle that glibc defines.
        let address = unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) } as usize;
        if address == 0 {
            std::process::abort();
        }
        self.0.store(address, Relaxed);
        address
    }
}

/// Declares a module `next` of callable real functions.
macro_rules! real {
    ($(fn $name:ident($($arg:ident: $type:ty),* $(,)?) -> $ret:ty;)*) => {
        pub(crate) mod next {
            #![allow(unused_imports, clippy::too_many_arguments, reason = "signatures are C's")]
            use super::*;
            $(
                /// The real function of this name.
                pub unsafe fn $name($($arg: $type),*) -> $ret {
                    static NEXT: crate::real::Next = crate::real::Next::new();
                    const NAME: &std::ffi::CStr = match std::ffi::CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                        Ok(name) => name,
                        Err(_) => unreachable!(),
                    };
                    type Function = unsafe extern "C-unwind" fn($($type),*) -> $ret;
                    // SAFETY: the C library's function of this name has this signature.
                    let function: Function = unsafe { std::mem::transmute::<usize, Function>(NEXT.address(NAME)) };
                    // SAFETY: the caller keeps the function's own contract.
                    unsafe { function($($arg),*) }
                }
            )*
        }
    };
}
pub(crate) use real;

/// Sets errno and returns -1.
pub fn fail(error: Errno) -> c_int {
    // SAFETY: errno of this thread.
    unsafe { *libc::__errno_location() = error.raw_os_error() };
    -1
}

/// The error of the real function that just returned -1.
pub fn last_error() -> Errno {
    // SAFETY: errno of this thread.
    Errno::from_raw_os_error(unsafe { *libc::__errno_location() })
}

/// Makes a call that does not unwind, in which the thread is not cancelled.
pub fn uncancelled<T>(call: impl FnOnce() -> T) -> T {
    let mut before = 0;
    // SAFETY: the result has a place.
    unsafe { pthread_setcancelstate(CANCEL_DISABLE, &raw mut before) };
    let result = call();
    // SAFETY: it was the thread's state.
    unsafe { pthread_setcancelstate(before, std::ptr::null_mut()) };
    result
}

/// What a hook's work comes to.
pub trait Outcome {
    /// Whether it is a failure, whose reason is in errno.
    fn has_failed(&self) -> bool {
        false
    }
}

impl Outcome for c_int {
    fn has_failed(&self) -> bool {
        *self < 0
    }
}

impl Outcome for isize {
    fn has_failed(&self) -> bool {
        *self < 0
    }
}

impl Outcome for () {}
impl Outcome for bool {}
impl<T> Outcome for Option<T> {}

/// Does work that leaves errno as it was unless it fails, as the kernel's calls do: programs look there for more than failures.
fn discreet<T: Outcome>(work: impl FnOnce() -> T) -> T {
    // SAFETY: errno of this thread.
    let errno = unsafe { libc::__errno_location() };
    // SAFETY: as above.
    let before = unsafe { *errno };
    let result = work();
    if !result.has_failed() {
        // SAFETY: as above.
        unsafe { *errno = before };
    }
    result
}

/// Runs work of a hook that does not wait, and so is not cancelled; should it panic, which would be our fault, runs `real` instead.
pub fn shield<T: Outcome>(work: impl FnOnce() -> T, real: impl FnOnce() -> T) -> T {
    discreet(|| catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| real()))
}

/// Runs work of a hook that may wait, of a function that is a cancellation point. A cancelled thread unwinds by force, which must not be caught:
/// what it holds is let go of on the way, and the hook is `extern "C-unwind"`. So a panic of ours can't be caught either, and ends the process.
pub fn waiting<T: Outcome>(work: impl FnOnce() -> T) -> T {
    struct Bound;
    impl Drop for Bound {
        fn drop(&mut self) {
            if std::thread::panicking() {
                std::process::abort();
            }
        }
    }
    // SAFETY: no arguments. It unwinds through frames that hold nothing.
    unsafe { pthread_testcancel() };
    let bound = Bound;
    let result = discreet(work);
    std::mem::forget(bound);
    result
}
