//! Work that a thread does when it ends.
//!
//! A `thread_local!` with a destructor is registered under the loader's lock when a thread first uses it. A thread that has the process's lock must not
//! wait for that one: dlopen(3) holds it while constructors run, and those may wait for the process's lock. The C library's keys need no lock.
#![allow(unsafe_code, reason = "the C library's keys")]

use libc::{c_void, pthread_key_create, pthread_key_t, pthread_setspecific};
use std::{ptr::without_provenance, sync::OnceLock};

/// Work that those threads do at their end that ask for it.
pub struct AtEnd {
    work: extern "C" fn(*mut c_void),
    key: OnceLock<Option<pthread_key_t>>,
}

impl AtEnd {
    /// The work is passed nothing of meaning.
    pub const fn new(work: extern "C" fn(*mut c_void)) -> Self {
        Self { work, key: OnceLock::new() }
    }

    /// The calling thread will do the work, once. Without a key, of which the process has a thousand, it will not.
    pub fn ask(&self) {
        let key = self.key.get_or_init(|| {
            let mut key = 0;
            // SAFETY: the key has a place, and the work is a function for the end of threads, which lives as long as the process.
            (unsafe { pthread_key_create(&raw mut key, Some(work(self.work))) } == 0).then_some(key)
        });
        if let Some(key) = key {
            // SAFETY: the key was made above. Its value is never looked at: it is not null, or there would be no work.
            unsafe { pthread_setspecific(*key, without_provenance(1)) };
        }
    }
}

/// As the C library declares it.
fn work(work: extern "C" fn(*mut c_void)) -> unsafe extern "C" fn(*mut c_void) {
    work
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;
    use std::sync::mpsc::{Sender, channel};

    thread_local! {
        static TELL: Cell<Option<&'static Sender<u32>>> = const { Cell::new(None) };
    }

    extern "C" fn tell(_: *mut c_void) {
        TELL.get().into_iter().for_each(|tell| tell.send(7).expect("heard"));
    }

    #[test]
    fn a_thread_works_once_at_its_end() {
        static END: AtEnd = AtEnd::new(tell);
        let (tell, told) = channel();
        std::thread::spawn(move || {
            TELL.set(Some(Box::leak(Box::new(tell))));
            END.ask();
            END.ask();
        })
        .join()
        .expect("it ends");
        assert_eq!(told.recv(), Ok(7));
        assert!(told.try_recv().is_err());
    }
}
