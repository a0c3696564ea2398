//! The one libmach of the process, by the functions that it has for a host.
#![allow(unsafe_code, reason = "functions of a library that is loaded at run time")]

use std::{
    env,
    ffi::{CStr, CString, OsString, c_char, c_int, c_void},
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

/// The version that this host goes with.
const ABI: u32 = slipway_domain::note::ABI;
/// The variable that names the library.
const VARIABLE: &str = "SLIPWAY_LIBMACH";

/// The functions.
#[derive(Debug)]
pub struct Library {
    create: extern "C" fn() -> u32,
    label: unsafe extern "C" fn(u32, *const c_char),
    enter: extern "C" fn(u32),
    current: extern "C" fn() -> u32,
    bootstrap: unsafe extern "C" fn(u32, *const c_char) -> c_int,
    waits_for_requests: extern "C" fn(u32) -> c_int,
    terminate: extern "C" fn(u32),
    wait_for_callers: extern "C" fn(u32),
    leave_call: unsafe extern "C" fn(),
    leave: unsafe extern "C" fn(usize, usize, usize),
    /// One of the functions that tasks use.
    pub landmark: *mut c_void,
}

// SAFETY: functions, and an address that is only compared.
unsafe impl Send for Library {}
// SAFETY: as above.
unsafe impl Sync for Library {}

/// The reason that the loader gave last.
pub fn reason() -> String {
    // SAFETY: it gives a string or null, which lasts until the next call of this thread.
    let text = unsafe { libc::dlerror() };
    if text.is_null() {
        return "the loader gives no reason".into();
    }
    // SAFETY: as above.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

/// Where the library may be: beside this program as it is installed or as it is built, else where the loader looks.
fn places() -> Vec<OsString> {
    if let Some(path) = env::var_os(VARIABLE).filter(|path| !path.is_empty()) {
        return vec![path];
    }
    let own = env::current_exe().unwrap_or_default();
    let beside = own.parent().unwrap_or(Path::new("/"));
    let prefix = beside.ancestors().nth(2).unwrap_or(beside);
    let paths: [PathBuf; 2] = [prefix.join("lib/libmach.so.1"), beside.join("libmach.so")];
    paths.into_iter().filter(|path| path.is_file()).map(Into::into).chain([OsString::from("libmach.so.1")]).collect()
}

impl Library {
    /// Loads it for the tasks that come after.
    pub fn load() -> Result<&'static Self, String> {
        let mut why = String::new();
        for place in places() {
            let path = CString::new(place.as_bytes()).map_err(|error| error.to_string())?;
            // SAFETY: it is libmach, whose start has no needs.
            let handle = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_GLOBAL) };
            if !handle.is_null() {
                return Self::find(handle).map_err(|name| {
                    format!(
                        "{}: no libmach for this host: it has no {name}; install the libmach of this version of slipway, or set {VARIABLE} \
                         to its path",
                        place.display()
                    )
                });
            }
            why = reason();
        }
        Err(format!("{why} (set {VARIABLE} to the path of libmach.so)"))
    }

    fn find(handle: *mut c_void) -> Result<&'static Self, &'static str> {
        macro_rules! address {
            ($name:literal) => {{
                // SAFETY: the handle is open, and the name a string.
                let at = unsafe { libc::dlsym(handle, concat!($name, "\0").as_ptr().cast()) };
                if at.is_null() {
                    return Err($name);
                }
                at
            }};
        }
        macro_rules! function {
            ($name:literal, $type:ty) => {{
                let at = address!($name);
                // SAFETY: libmach's functions of these names have these types, in the version that is asked for first.
                unsafe { std::mem::transmute::<*mut c_void, $type>(at) }
            }};
        }
        let abi = function!("slipway_domain_abi", extern "C" fn() -> u32)();
        if abi != ABI {
            return Err("function of the right version");
        }
        Ok(Box::leak(Box::new(Self {
            create: function!("slipway_domain_create", extern "C" fn() -> u32),
            label: function!("slipway_domain_label", unsafe extern "C" fn(u32, *const c_char)),
            enter: function!("slipway_domain_enter", extern "C" fn(u32)),
            current: function!("slipway_domain_current", extern "C" fn() -> u32),
            bootstrap: function!("slipway_domain_bootstrap", unsafe extern "C" fn(u32, *const c_char) -> c_int),
            waits_for_requests: function!("slipway_domain_waits_for_requests", extern "C" fn(u32) -> c_int),
            terminate: function!("slipway_domain_terminate", extern "C" fn(u32)),
            wait_for_callers: function!("slipway_domain_wait_for_callers", extern "C" fn(u32)),
            leave_call: function!("slipway_domain_leave_call", unsafe extern "C" fn()),
            leave: function!("slipway_domain_leave", unsafe extern "C" fn(usize, usize, usize)),
            landmark: address!("mach_msg"),
        })))
    }

    /// A new task.
    pub fn create(&self, name: &str) -> u32 {
        let task = (self.create)();
        let name = CString::new(name).unwrap_or_default();
        // SAFETY: the name is a string.
        unsafe { (self.label)(task, name.as_ptr()) };
        task
    }

    /// The calling thread works for the task.
    pub fn enter(&self, task: u32) {
        (self.enter)(task);
    }

    /// The task that the calling thread works for.
    pub fn current(&self) -> u32 {
        (self.current)()
    }

    /// Gives the task the name server at the socket.
    pub fn bootstrap(&self, task: u32, socket: &Path) -> Result<(), String> {
        let path = CString::new(socket.as_os_str().as_bytes()).map_err(|error| error.to_string())?;
        // SAFETY: the path is a string.
        match unsafe { (self.bootstrap)(task, path.as_ptr()) } {
            0 => Ok(()),
            _ => Err(format!("no name server at {}", socket.display())),
        }
    }

    /// Whether a thread waits for requests on the task's behalf.
    pub fn waits_for_requests(&self, task: u32) -> bool {
        (self.waits_for_requests)(task) != 0
    }

    /// Ends the task, as libmach knows it.
    pub fn terminate(&self, task: u32) {
        (self.terminate)(task);
    }

    /// Waits until no thread of another task is in it.
    pub fn wait_for_callers(&self, task: u32) {
        (self.wait_for_callers)(task);
    }

    /// Ends the innermost call to another task that the calling thread is in; returns if it is in none.
    ///
    /// # Safety
    /// No other thread uses what lies on the stack of the call's routine and of what it called.
    pub unsafe fn leave_call(&self) {
        // SAFETY: the caller's promise.
        unsafe { (self.leave_call)() }
    }

    /// Goes on at `place` in the innermost function of the calling thread that made its call between `from` and `to`; returns
    /// if there is none.
    ///
    /// # Safety
    /// There the function can go on as if that call had returned.
    pub unsafe fn leave(&self, from: usize, to: usize, place: usize) {
        // SAFETY: the caller's promise.
        unsafe { (self.leave)(from, to, place) }
    }
}
