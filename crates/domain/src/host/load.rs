//! A task's file, loaded.
#![allow(unsafe_code, reason = "the dynamic loader's interface")]

use crate::{
    crash, keys,
    library::{Library, reason},
};
use slipway_domain::note;
use std::{
    ffi::{CStr, CString, c_char, c_int, c_void},
    fs::File,
    io,
    os::{
        fd::{AsRawFd, OwnedFd},
        unix::{ffi::OsStrExt, fs::MetadataExt},
    },
    path::Path,
    sync::{Mutex, PoisonError},
};

/// A task's entry.
pub type Entry = unsafe extern "C-unwind" fn(c_int, *const *const c_char) -> c_int;

/// Files that are loaded as they are: the loader gives the same object for a second time.
static LOADED: Mutex<Vec<(u64, u64)>> = Mutex::new(Vec::new());

/// A file that is loaded.
#[derive(Debug)]
pub struct Loaded {
    handle: *mut c_void,
    /// The task's entry.
    pub entry: Entry,
    /// By which name the loader has it.
    place: CString,
    /// The file, if it is in [`LOADED`].
    identity: Option<(u64, u64)>,
    /// The copy that was loaded. Its number is part of the name, and must not be another's meanwhile.
    copy: Option<OwnedFd>,
}

// SAFETY: the loader's handles may be used by any thread.
unsafe impl Send for Loaded {}

/// Loads a task's file. A file that is loaded already is loaded again from a copy: each task has variables of its own.
pub fn load(path: &Path, library: &Library) -> Result<Loaded, String> {
    note::check(path).map_err(|why| why.to_string())?;
    if let Some(version) = note::guests(path).into_iter().find(|version| library.guest_functions(*version).is_null()) {
        return Err(format!("built with a slipway-ports for another libmach (its version is {version}); build it again"));
    }
    let metadata = std::fs::metadata(path).map_err(|error| error.to_string())?;
    let identity = (metadata.dev(), metadata.ino());
    let mut loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
    let absolute = std::path::absolute(path).map_err(|error| error.to_string())?;
    let copy =
        if loaded.contains(&identity) { Some(copy(path).map_err(|error| format!("cannot be copied: {error}"))?) } else { None };
    let place = match &copy {
        // Not by /proc/self: a debugger opens it by this name.
        Some(file) => format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd()).into_bytes(),
        None => absolute.as_os_str().as_bytes().to_vec(),
    };
    let place = CString::new(place).map_err(|error| error.to_string())?;
    let handle = crash::blamed(path, || {
        // SAFETY: what the file's constructors do is its own matter.
        unsafe { libc::dlopen(place.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) }
    });
    if handle.is_null() {
        return Err(format!("cannot be loaded: {}", reason()));
    }
    let identity = copy.is_none().then_some(identity);
    let found = find(handle, c"mach_task_main");
    let stray = find(handle, c"mach_msg").is_some_and(|at| at != library.landmark);
    let Some(entry) = found.filter(|_| !stray) else {
        // SAFETY: nobody uses it yet.
        unsafe { libc::dlclose(handle) };
        return Err(if stray {
            "has a libmach of its own; link it with -lmach, not with libmach.a".into()
        } else {
            "not a task: mach_task_main is not to be seen from outside".into()
        });
    };
    loaded.extend(identity);
    // SAFETY: the note says that this is a task's entry.
    let entry = unsafe { std::mem::transmute::<*mut c_void, Entry>(entry) };
    Ok(Loaded { handle, entry, place, identity, copy })
}

fn find(handle: *mut c_void, name: &CStr) -> Option<*mut c_void> {
    // SAFETY: the handle is open, the name a string.
    Some(unsafe { libc::dlsym(handle, name.as_ptr()) }).filter(|at| !at.is_null())
}

fn copy(path: &Path) -> io::Result<OwnedFd> {
    let memory = rustix::fs::memfd_create(c"slipway-task", rustix::fs::MemfdFlags::CLOEXEC)?;
    let mut memory = File::from(memory);
    io::copy(&mut File::open(path)?, &mut memory)?;
    Ok(memory.into())
}

impl Loaded {
    /// Unloads the file. No thread runs in it any more.
    pub fn unload(self) {
        keys::forget(self.entry as *const c_void);
        let mut loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: nobody is in it, and the handle is not used again. The second call only asks.
        let stays = unsafe {
            libc::dlclose(self.handle);
            libc::dlopen(self.place.as_ptr(), libc::RTLD_NOW | libc::RTLD_NOLOAD)
        };
        if !stays.is_null() {
            // The loader keeps what others use, or what asks for it: the next task of this file gets a copy.
            std::mem::forget(self.copy);
        } else if let Some(identity) = self.identity {
            loaded.retain(|other| *other != identity);
        }
    }
}
