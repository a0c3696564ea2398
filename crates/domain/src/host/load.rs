//! A task's file, loaded.
#![allow(unsafe_code, reason = "the dynamic loader's interface")]

use crate::{
    base, crash, keys,
    library::{Library, reason},
};
use slipway_domain::note;
use std::{
    cell::Cell,
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

/// Files that the loader has kept although they were unloaded: others use them, or they ask for it.
static KEPT: Mutex<Vec<Loaded>> = Mutex::new(Vec::new());

/// A file that is loaded.
#[derive(Debug)]
pub struct Loaded {
    /// Null when it is closed.
    handle: *mut c_void,
    /// By which name the loader has it.
    place: CString,
    /// The file, if it is in [`LOADED`].
    identity: Option<(u64, u64)>,
    /// The copy that was loaded. Its number is part of the name, and must not be another's meanwhile.
    _copy: Option<OwnedFd>,
}

// SAFETY: the loader's handles may be used by any thread.
unsafe impl Send for Loaded {}

thread_local! {
    /// The task for whose file the calling thread is in the loader.
    static AT_WORK: Cell<Option<u32>> = const { Cell::new(None) };
}

/// The task whose file the calling thread loads or unloads now: a constructor or destructor runs.
pub fn at_work() -> Option<u32> {
    AT_WORK.get()
}

/// Ends the constructor or destructor that the calling thread is in: the loader goes on as if it had returned. Returns if
/// that is not written for this processor.
pub fn leave_function(library: &Library) {
    // SAFETY: the number is one that the C library knows.
    let loader = unsafe { libc::getauxval(libc::AT_BASE) } as usize;
    base::leave_to_object(library, loader);
}

/// Uses the loader for a task.
fn working<T>(task: u32, work: impl FnOnce() -> T) -> T {
    AT_WORK.set(Some(task));
    let result = work();
    AT_WORK.set(None);
    result
}

/// Loads a task's file. A file that is loaded already is loaded again from a copy: each task has variables of its own.
pub fn load(task: u32, path: &Path) -> Result<Loaded, String> {
    note::check(path).map_err(|why| why.to_string())?;
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
    // SAFETY: what the file's constructors do is its own matter.
    let open = || unsafe { libc::dlopen(place.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
    let handle = crash::blamed(path, || working(task, open));
    if handle.is_null() {
        return Err(format!("cannot be loaded: {}", reason()));
    }
    let identity = copy.is_none().then_some(identity);
    loaded.extend(identity);
    Ok(Loaded { handle, place, identity, _copy: copy })
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

/// Whether the loader has a file by this name.
fn is_loaded(place: &CStr) -> bool {
    // SAFETY: it is only asked for what is there, and what it gives is given back.
    unsafe {
        let handle = libc::dlopen(place.as_ptr(), libc::RTLD_NOW | libc::RTLD_NOLOAD);
        !handle.is_null() && libc::dlclose(handle) == 0
    }
}

impl Loaded {
    /// The task's entry.
    pub fn entry(&self, library: &Library) -> Result<Entry, String> {
        if find(self.handle, c"mach_msg").is_some_and(|at| at != library.landmark) {
            return Err("has a libmach of its own; link it with -lmach, not with libmach.a; in Rust, without `use mach`".into());
        }
        let entry = find(self.handle, c"mach_task_main");
        let entry = entry.ok_or("not a task: mach_task_main is not to be seen from outside")?;
        // SAFETY: the note says that this is a task's entry.
        Ok(unsafe { std::mem::transmute::<*mut c_void, Entry>(entry) })
    }

    /// Unloads the file. No thread runs in it any more. What the loader keeps is asked for again when the next one is
    /// unloaded; until then a task of that file gets a copy.
    pub fn unload(self, task: u32) {
        let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
        let mut loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
        kept.push(self);
        let close = || {
            kept.retain_mut(|file| {
                if !file.handle.is_null() {
                    // SAFETY: nobody is in it, and the handle is not used again.
                    unsafe { libc::dlclose(file.handle) };
                    file.handle = std::ptr::null_mut();
                }
                let stays = is_loaded(&file.place);
                if !stays {
                    loaded.retain(|other| Some(*other) != file.identity);
                }
                stays
            });
        };
        // A thread that stays in a function keeps all files: they are tried again, too.
        let _ = working(task, || keys::unloading(close));
    }
}
