//! The environment as the program was given it, which it may clear or overwrite before the library needs it.
//!
//! Nearly all programs end without a connection. So what concerns the library is copied while it is loaded, and read when it is needed.

use slipway_fabric::sync::{AtomicU8, AtomicUsize, Ordering::Relaxed};
use std::{
    ffi::{CStr, OsString},
    os::unix::ffi::OsStringExt,
};

/// Bytes that are kept, with a zero byte behind each variable.
const ROOM: usize = 2048;

static BYTES: [AtomicU8; ROOM] = [const { AtomicU8::new(0) }; ROOM];

/// Of these, bytes in use and one more; 0 if nothing was kept.
static USED: AtomicUsize = AtomicUsize::new(0);

/// The variables that are kept begin so.
const OURS: [&[u8]; 3] = [b"SLIPWAY_", b"XDG_RUNTIME_DIR=", b"LISTEN_"];

/// Of these, those on which something has to be done, or to be said, when the program starts.
const URGENT: [&[u8]; 3] = [b"SLIPWAY_X11", b"SLIPWAY_LOG=", b"LISTEN_"];

/// Keeps what is the library's of `all`, whose entries are `NAME=VALUE`. True if the library has nothing more to do before it is used. Called while
/// there is one thread.
pub fn keep<'a>(all: impl Iterator<Item = &'a CStr>) -> bool {
    let (mut used, mut is_all) = (0, true);
    let begins = |entry: &[u8], with: &[&[u8]]| with.iter().any(|start| entry.starts_with(start));
    for entry in all.map(CStr::to_bytes_with_nul).filter(|entry| begins(entry, &OURS)) {
        is_all &= !begins(entry, &URGENT);
        let Some(room) = BYTES.get(used..used + entry.len()) else { return false };
        room.iter().zip(entry).for_each(|(to, from)| to.store(*from, Relaxed));
        used += entry.len();
    }
    USED.store(used + 1, Relaxed);
    is_all
}

/// The variable `name` as it was kept, or, if nothing was, as it is.
pub fn variable(name: &str) -> Option<OsString> {
    let Some(used) = USED.load(Relaxed).checked_sub(1) else { return std::env::var_os(name) };
    let bytes: Vec<u8> = BYTES.iter().take(used).map(|byte| byte.load(Relaxed)).collect();
    let value = |entry: &[u8]| entry.strip_prefix(name.as_bytes())?.strip_prefix(b"=").map(<[u8]>::to_vec);
    bytes.split(|byte| *byte == 0).find_map(value).map(OsString::from_vec)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_what_the_program_was_given() {
        let given =
            [c"HOME=/", c"SLIPWAY_SOCKETS=all", c"XDG_RUNTIME_DIR=/run/x", c"XDG_RUNTIME_DIR_=y", c"SLIPWAY_RUNTIME_DIR="];
        assert!(variable("SLIPWAY_SOCKETS").is_none() && variable("PATH").is_some());
        assert!(keep(given.into_iter()));
        let text = |name| variable(name).and_then(|value| value.into_string().ok());
        assert_eq!(text("SLIPWAY_SOCKETS").as_deref(), Some("all"));
        assert_eq!(text("XDG_RUNTIME_DIR").as_deref(), Some("/run/x"));
        assert_eq!((text("SLIPWAY_RUNTIME_DIR").as_deref(), text("SLIPWAY_RUNTIME"), text("HOME")), (Some(""), None, None));
        // What has to be done at once, or doesn't fit, is not put off.
        for more in [c"SLIPWAY_X11=off", c"LISTEN_FDS=1"] {
            assert!(!keep(given.into_iter().chain([more])));
        }
        let long = std::ffi::CString::new(format!("SLIPWAY_SOCKETS=all:+/{}", "x".repeat(ROOM))).expect("no zero byte");
        USED.store(0, Relaxed);
        assert!(!keep([long.as_c_str()].into_iter()) && variable("SLIPWAY_SOCKETS").is_none());
    }
}
