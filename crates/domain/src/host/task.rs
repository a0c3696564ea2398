//! A task, from its start to its end.
//!
//! It has ended when its entry returns or one of its threads calls `exit`: its rights are given up then. It is over, and
//! its file can be unloaded, when no thread is in it any more: its own, and those of other tasks that are in a call. The
//! thread that called `exit` is the last to go: its stack may be lent to the others.
#![allow(unsafe_code, reason = "a task's entry")]

use crate::{
    base, hooks,
    library::Library,
    load::{self, Loaded},
};
use slipway_domain::spec::Task;
use std::{
    collections::BTreeMap,
    ffi::{CString, c_char, c_void},
    os::unix::ffi::OsStrExt,
    ptr::without_provenance,
    sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError},
    thread,
};

/// What becomes of a task.
#[derive(Debug)]
pub enum News {
    /// It has ended, with this code.
    Ended(u32, i32),
    /// Nobody is in it any more.
    Over(u32),
}

type Tell = Box<dyn Fn(News) + Send>;

/// A task that was loaded.
struct Record {
    loaded: Option<Loaded>,
    tell: Tell,
    /// Threads of its own.
    threads: usize,
    /// Those of them that wait in `exit` for the others.
    exiting: usize,
    /// Whether a thread looks after its end: that of its entry.
    ended: bool,
    /// Whether the callers have been waited for.
    left: bool,
    library: &'static Library,
}

static TASKS: Mutex<BTreeMap<u32, Record>> = Mutex::new(BTreeMap::new());
/// Fewer are in a task than before.
static FEWER: Condvar = Condvar::new();

fn tasks() -> MutexGuard<'static, BTreeMap<u32, Record>> {
    TASKS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether the number is that of a task that was loaded.
pub fn is_known(number: u32) -> bool {
    tasks().contains_key(&number)
}

/// Loads a task and lets it run: its number. `tell` hears what becomes of it.
pub fn start(task: Task, library: &'static Library, tell: impl Fn(News) + Send + 'static) -> Result<u32, String> {
    let words = [task.file.as_os_str().as_bytes()].into_iter().chain(task.args.iter().map(String::as_bytes));
    let words: Result<Vec<CString>, _> = words.map(CString::new).collect();
    let words = words.map_err(|_| "an argument has a NUL in it".to_owned())?;
    let number = library.create(&task.name);
    if number == HOST {
        return Err("libmach made no task for it".into());
    }
    let made = task.bootstrap.as_deref().map_or(Ok(()), |socket| library.bootstrap(number, socket)).and_then(|()| {
        // What the file's constructors do is done for the task.
        let host = library.current();
        library.enter(number);
        let loaded = load::load(&task.file, library);
        library.enter(host);
        loaded
    });
    let loaded = match made {
        Ok(loaded) => loaded,
        Err(why) => {
            library.terminate(number);
            return Err(why);
        }
    };
    let entry = loaded.entry;
    let record =
        Record { loaded: Some(loaded), tell: Box::new(tell), threads: 1, exiting: 0, ended: false, left: false, library };
    tasks().insert(number, record);
    let run = move || {
        library.enter(number);
        leave_at_end(number);
        let mut pointers: Vec<*const c_char> = words.iter().map(|word| word.as_ptr()).collect();
        let count = pointers.len() as i32;
        pointers.push(std::ptr::null());
        // SAFETY: the file says that this is its entry, and the words last as long as the call.
        if let Some(code) = base::run(|| unsafe { entry(count, pointers.as_ptr()) }) {
            end(number, code);
        }
    };
    if let Err(error) = thread::Builder::new().name(task.name.chars().take(15).collect()).spawn(run) {
        end(number, 1);
        remove_thread(number);
        return Err(format!("no thread for it: {error}"));
    }
    Ok(number)
}

/// The task has ended. Only the first code counts.
pub fn end(number: u32, code: i32) {
    let library = {
        let mut tasks = tasks();
        let Some(record) = tasks.get_mut(&number).filter(|record| !record.ended) else { return };
        record.ended = true;
        record.library
    };
    hooks::flush(library);
    library.terminate(number);
    if let Some(record) = tasks().get(&number) {
        (record.tell)(News::Ended(number, code));
    }
    // It may be a caller's thread that ended the task, and is in it.
    let wait = move || {
        library.wait_for_callers(number);
        let mut tasks = tasks();
        if let Some(record) = tasks.get_mut(&number) {
            record.left = true;
            record.look(number);
        }
    };
    // Without a thread to wait the file stays loaded, and who calls `exit` stays there.
    let _ = as_host(library, || thread::Builder::new().name("slipway-end".into()).spawn(wait));
}

/// What is made meanwhile, threads above all, is the host's, and no task's that may have ended by then.
pub fn as_host<T>(library: &Library, make: impl FnOnce() -> T) -> T {
    let task = library.current();
    library.enter(HOST);
    let made = make();
    library.enter(task);
    made
}

/// Waits until nobody else is in a task that has ended: no thread of its own but those that wait here, too, and no call
/// from another task. What is on the stack of the calling thread, one of the task's, is used by nobody then.
pub fn wait_until_alone(number: u32) {
    let mut tasks = tasks();
    if let Some(record) = tasks.get_mut(&number) {
        record.exiting += 1;
        FEWER.notify_all();
    }
    // Who goes from here counts in `exiting` still: all who are here go at once.
    while tasks.get(&number).is_some_and(|record| !record.left || record.threads > record.exiting) {
        tasks = FEWER.wait(tasks).unwrap_or_else(PoisonError::into_inner);
    }
}

/// The number of the process's first task: the host's own. libmach gives it for what it couldn't make, too.
const HOST: u32 = 0;

impl Record {
    /// Fewer are in the task than before.
    fn look(&self, number: u32) {
        FEWER.notify_all();
        if self.ended && self.left && self.threads == 0 {
            (self.tell)(News::Over(number));
        }
    }
}

/// A thread of the task is about to begin.
pub fn add_thread(number: u32) {
    if let Some(record) = tasks().get_mut(&number) {
        record.threads += 1;
    }
}

/// A thread of the task is gone.
pub fn remove_thread(number: u32) {
    if let Some(record) = tasks().get_mut(&number) {
        record.threads = record.threads.saturating_sub(1);
        record.look(number);
    }
}

/// Unloads the file of a task that is over.
pub fn unload(number: u32) {
    let record = tasks().remove(&number);
    if let Some(loaded) = record.and_then(|record| record.loaded) {
        loaded.unload();
    }
}

/// The calling thread is one of the task's, until it ends in whatever way.
///
/// What a thread keeps by keys is ended in rounds, after its variables. The task's own functions are called in the first of
/// them, so that it is in the last one that the thread is told to be gone.
pub fn leave_at_end(number: u32) {
    const ROUNDS: usize = 4;
    const TASK: usize = u32::BITS as usize;

    /// Called in each round, with what the round before has left: the task, and how many rounds there have been.
    unsafe extern "C" fn round(value: *mut c_void) {
        let (rounds, number) = (value.addr() >> TASK, value.addr() as u32);
        if rounds == ROUNDS {
            remove_thread(number);
        } else {
            keep(rounds + 1, number);
        }
    }

    fn keep(rounds: usize, number: u32) {
        static KEY: OnceLock<libc::pthread_key_t> = OnceLock::new();
        let key = KEY.get_or_init(|| {
            let mut key = 0;
            // SAFETY: the key has a place, and the function is never unloaded.
            let failed = unsafe { libc::pthread_key_create(&raw mut key, Some(round)) };
            assert!(failed == 0, "a process that has loaded no task yet has keys left");
            key
        });
        // SAFETY: the key was made, and the value is no address.
        // Where there is no memory for it the thread is taken to be there for ever.
        unsafe { libc::pthread_setspecific(*key, without_provenance(rounds << TASK | number as usize)) };
    }

    keep(1, number);
}
