//! A task, from its start to its end.
//!
//! It has ended when its entry returns or one of its threads calls `exit`: its rights are given up then. It is over, and
//! its file can be unloaded, when no thread is in it any more: its own, and those of other tasks that are in a call. The
//! thread that called `exit` is the last to go: its stack may be lent to the others.
#![allow(unsafe_code, reason = "a task's entry")]

use crate::{
    flush, fork, hooks,
    library::Library,
    load::{self, Entry, Loaded},
};
use slipway_domain::spec::Task;
use std::{
    collections::BTreeMap,
    ffi::{CString, c_char, c_void},
    io,
    mem::MaybeUninit,
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
    /// Its last thread is gone, and none has ended it.
    Alone(u32),
    /// Nobody is in it any more.
    Over(u32),
}

/// The arguments of a task, as its entry gets them.
struct Words {
    pointers: Vec<*const c_char>,
    words: Vec<CString>,
}

// SAFETY: the pointers are those of the words, which stay where they are.
unsafe impl Send for Words {}

impl Words {
    fn new(words: Vec<CString>) -> Self {
        let pointers = words.iter().map(|word| word.as_ptr()).chain([std::ptr::null()]).collect();
        Self { pointers, words }
    }

    /// How many there are.
    fn count(&self) -> i32 {
        self.words.len() as i32
    }
}

type Tell = Box<dyn Fn(News) + Send>;

/// A task that was loaded.
struct Record {
    loaded: Option<Loaded>,
    words: Words,
    tell: Tell,
    /// Threads of its own.
    threads: usize,
    /// Those of them that wait in `exit` for the others.
    exiting: usize,
    /// Its code, when it has ended.
    ended: Option<i32>,
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
    // While it is started it is taken to have a thread.
    let record = Record {
        loaded: None,
        words: Words::new(words),
        tell: Box::new(tell),
        threads: 1,
        exiting: 0,
        ended: None,
        left: false,
        library,
    };
    tasks().insert(number, record);
    let started = run(number, &task, library);
    if started.is_err() {
        // What its constructors have begun ends as with any task.
        end(number, 1);
    }
    remove_thread(number);
    started.map(|()| number)
}

/// Loads the task's file and begins its entry.
fn run(number: u32, task: &Task, library: &'static Library) -> Result<(), String> {
    task.bootstrap.as_deref().map_or(Ok(()), |socket| library.bootstrap(number, socket))?;
    // What the file's constructors do is done for the task.
    let host = library.current();
    library.enter(number);
    let loaded = load::load(number, &task.file);
    library.enter(host);
    let loaded = loaded?;
    let entry = loaded.entry(library);
    let mut tasks = tasks();
    let record = tasks.get_mut(&number).ok_or("it is over")?;
    record.loaded = Some(loaded);
    if let Some(code) = record.ended {
        return Err(format!("called exit({code}) while it was loaded"));
    }
    let (count, words) = (record.words.count(), record.words.pointers.as_ptr());
    let start = Box::new(Start { number, name: short(&task.name), entry: entry?, count, words });
    drop(tasks);
    begin(start).map_err(|error| format!("no thread for it: {error}"))
}

/// The stack of a task's entry where the limit of the process says nothing.
const STACK: usize = 8 << 20;

/// Makes the thread of a task's entry, with a stack as the first thread of a process has it.
fn begin(start: Box<Start>) -> io::Result<()> {
    let number = start.number;
    let start = Box::into_raw(start);
    let (mut attributes, mut thread) = (MaybeUninit::uninit(), 0);
    // SAFETY: the attributes are made here and used until they are destroyed. The beginning is the new thread's, if there is one,
    // and the thread is there as long as this one has not let the task be over.
    let failed = unsafe {
        libc::pthread_attr_init(attributes.as_mut_ptr());
        let mut limit = MaybeUninit::<libc::rlimit>::zeroed().assume_init();
        let limited = libc::getrlimit(libc::RLIMIT_STACK, &raw mut limit) == 0 && limit.rlim_cur != libc::RLIM_INFINITY;
        let size = if limited { limit.rlim_cur as usize } else { STACK };
        // One that is too small is not taken, and the default is.
        libc::pthread_attr_setstacksize(attributes.as_mut_ptr(), size);
        libc::pthread_attr_setdetachstate(attributes.as_mut_ptr(), libc::PTHREAD_CREATE_DETACHED);
        let failed = hooks::create(number, &raw mut thread, attributes.as_ptr(), enter, start.cast());
        libc::pthread_attr_destroy(attributes.as_mut_ptr());
        failed
    };
    if failed != 0 {
        // SAFETY: no thread has it.
        drop(unsafe { Box::from_raw(start) });
        return Err(io::Error::from_raw_os_error(failed));
    }
    Ok(())
}

/// The most that a thread's name takes, with its NUL.
const NAME: usize = 16;

/// A task's name for its thread.
fn short(name: &str) -> [c_char; NAME] {
    let mut short = [0; NAME];
    let whole = (0..NAME).rev().find(|at| name.is_char_boundary(*at)).unwrap_or(0);
    short.iter_mut().zip(&name.as_bytes()[..whole]).for_each(|(to, from)| *to = *from as c_char);
    short
}

/// What the thread of a task's entry begins with.
struct Start {
    number: u32,
    name: [c_char; NAME],
    entry: Entry,
    count: i32,
    words: *const *const c_char,
}

/// The first function of the thread of a task's entry. It has nothing to drop, as `pthread_exit` unwinds it.
extern "C-unwind" fn enter(start: *mut c_void) -> *mut c_void {
    // SAFETY: it is this thread's, made in `begin`.
    let Start { number, name, entry, count, words } = *unsafe { Box::from_raw(start.cast::<Start>()) };
    // SAFETY: the name is a string. The file says that this is its entry, and the words last as long as the task.
    let code = unsafe {
        libc::pthread_setname_np(libc::pthread_self(), name.as_ptr());
        entry(count, words)
    };
    if fork::is_child() {
        hooks::end(code);
    }
    end(number, code);
    std::ptr::null_mut()
}

/// The task has ended. Only the first code counts.
pub fn end(number: u32, code: i32) {
    let library = {
        let mut tasks = tasks();
        let Some(record) = tasks.get_mut(&number).filter(|record| record.ended.is_none()) else { return };
        record.ended = Some(code);
        record.library
    };
    flush::flush();
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
    // Without a thread to wait the file stays loaded, and the thread that calls `exit` stays there.
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
    // A thread that goes from here counts in `exiting` still: all that are here go at once.
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
        match self.ended {
            _ if self.threads > 0 => {}
            None => (self.tell)(News::Alone(number)),
            Some(_) if self.left => (self.tell)(News::Over(number)),
            Some(_) => {}
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
    // The lock may be another thread's of the parent.
    if fork::is_child() {
        return;
    }
    if let Some(record) = tasks().get_mut(&number) {
        record.threads = record.threads.saturating_sub(1);
        record.look(number);
    }
}

/// Unloads the file of a task that is over.
pub fn unload(number: u32) {
    let record = tasks().remove(&number);
    if let Some(loaded) = record.and_then(|record| record.loaded) {
        loaded.unload(number);
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
