//! Writing out what is buffered in streams of the C library, as the end of a process does.
#![allow(unsafe_code, reason = "streams of the C library")]

use std::ffi::{c_int, c_void};

type Stream = *mut c_void;

unsafe extern "C" {
    fn ftrylockfile(stream: Stream) -> c_int;
    fn funlockfile(stream: Stream);
    fn fflush_unlocked(stream: Stream) -> c_int;
    fn __fpending(stream: Stream) -> usize;
    // The C library's way through all streams, while nobody opens or closes one.
    fn _IO_list_lock();
    fn _IO_list_unlock();
    fn _IO_iter_begin() -> *mut c_void;
    fn _IO_iter_end() -> *mut c_void;
    fn _IO_iter_next(at: *mut c_void) -> *mut c_void;
    fn _IO_iter_file(at: *mut c_void) -> Stream;
}

/// Writes out each stream that nobody uses now: fflush(NULL) would wait for the lock of one that another thread reads from.
pub fn flush() {
    // SAFETY: with the list locked the streams stay; each is used with its own lock, which is given back.
    unsafe {
        _IO_list_lock();
        let (mut at, end) = (_IO_iter_begin(), _IO_iter_end());
        while at != end {
            let stream = _IO_iter_file(at);
            if ftrylockfile(stream) == 0 {
                if __fpending(stream) != 0 {
                    fflush_unlocked(stream);
                }
                funlockfile(stream);
            }
            at = _IO_iter_next(at);
        }
        _IO_list_unlock();
    }
}
