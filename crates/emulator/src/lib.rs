//! The emulation library of `slipway unix`: what answers a program's looks at names in its own process, and the rewriting of the C library
//! that leads there. On processors other than x86-64 there is none.
//!
//! The library is a flat piece of text for a fixed place in every process (`emulator.c`), and memory after it that the server of names
//! writes and it reads (`layout`). The server gives a program that loads the C library a copy in which the sites of system calls with
//! names in them are jumps (`rewrite`); the first that is reached maps the library.

mod elf;
#[cfg(target_arch = "x86_64")]
mod entry;
pub mod layout;
pub mod loader;
#[cfg(target_arch = "x86_64")]
mod rewrite;

#[cfg(target_arch = "x86_64")]
pub use rewrite::rewrite;

/// The name of a link to the library's memory in the kernel's working directory of all processes, with its zero.
pub const MEMORY: [u8; 8] = *b"\x01memory\0";

/// The descriptor of a readlinkat that asks the server for the library's memory: none has this number.
pub const ASK: i32 = -4243;

/// None: there is no library for this processor.
#[cfg(not(target_arch = "x86_64"))]
pub fn rewrite(_: &[u8]) -> Option<Vec<u8>> {
    None
}

/// The library's text, to be mapped at [`layout::BASE`]. Empty where there is none.
pub const TEXT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/emulator.bin"));
