//! A task written in Rust in a process of tasks.
//!
//! Such a process has one Mach, that of the libmach which `slipway-domain` loads. A task in Rust has this crate linked
//! into its file; a copy of it that finds itself beside such a libmach keeps no state and starts nothing: it is a *guest*,
//! and every call goes to the *owner*, libmach's copy, through a [table of functions](table::Functions). So a [`Task`](crate::task::Task) is
//! the same in both, and what is built on its calls (rights, stubs, services) need not know of the difference.
//!
//! Which of the two a copy is, or none of them, is found out once, when [`Process::here`](crate::process::Process::here) would make a
//! process. A program that is no task pays for that with one look for a symbol, and afterwards with nothing.
//!
//! * [`table`]: the functions, as guest and owner agree on them. * [`by_hand`](self): those of them that take or give more than
//!   numbers.
#![allow(unsafe_code, reason = "a symbol of another object, and a note in this one")]

mod by_hand;
mod table;

pub use table::{Functions, functions};

use slipway_fabric::sync::{AtomicPtr, Ordering};
use std::{ffi::c_void, ptr::null_mut};

/// What guest and owner expect of each other. It changes with every change of the table or of a type that is in it.
pub const VERSION: u32 = 2;

/// The function of the host of tasks that gives the owner's table. It is in the program, so a task's file finds it as any
/// other of its symbols.
const HOST: &std::ffi::CStr = c"slipway_domain_guest";

/// The owner's table, once this copy knows that it is a guest.
static OWNER: AtomicPtr<Functions> = AtomicPtr::new(null_mut());

/// The owner of the process's Mach, if this copy is a guest.
#[inline]
pub(crate) fn owner() -> Option<&'static Functions> {
    // SAFETY: what is kept there is a table of a library that is never unloaded.
    unsafe { OWNER.load(Ordering::Acquire).as_ref() }
}

/// The owner of the process's Mach; this copy was found to be a guest.
pub(crate) fn known_owner() -> &'static Functions {
    owner().expect("a copy without a process of its own is a guest")
}

/// In a guest: has the owner do the call, and returns what it gives.
macro_rules! forward {
    ($task:ident.$call:ident($($argument:expr),*)) => {
        if let Some(owner) = $crate::guest::owner() {
            return owner.$call(*$task $(, $argument)*);
        }
    };
}
pub(crate) use forward;

/// What a table that the host gives makes of the copy that asked for it.
#[derive(Debug, PartialEq, Eq)]
enum Part {
    /// The table is this copy's own.
    Owner,
    Guest,
    /// There is no table of this version.
    Unfit,
}

fn part(given: *const Functions) -> Part {
    match given {
        given if given.is_null() => Part::Unfit,
        given if std::ptr::eq(given, table::OWN) => Part::Owner,
        _ => Part::Guest,
    }
}

/// Finds out whether this copy is a guest.
///
/// # Panics
/// If it can't be one, because the owner is of another version: there must not be two Machs in a process that ought to have one.
/// The host does not load such a task, if its file has the [note](NOTE).
pub(crate) fn find() -> bool {
    // SAFETY: the name is a string.
    let host = unsafe { libc::dlsym(libc::RTLD_DEFAULT, HOST.as_ptr()) };
    if host.is_null() {
        return false;
    }
    // SAFETY: the host's function of this name has had this type in all versions.
    let ask = unsafe { std::mem::transmute::<*mut c_void, extern "C" fn(u32) -> *const Functions>(host) };
    let given = ask(VERSION);
    match part(given) {
        Part::Owner => false,
        Part::Guest => {
            OWNER.store(given.cast_mut(), Ordering::Release);
            true
        }
        Part::Unfit => panic!(
            "this task's slipway-ports and the process's libmach are of different versions (slipway-ports wants {VERSION}); \
             build the task again, with the slipway-ports that belongs to libmach"
        ),
    }
}

/// An ELF note by which the host knows, before it loads a file, that this crate is in it, and of which version.
#[repr(C, align(4))]
struct Note {
    name_size: u32,
    description_size: u32,
    kind: u32,
    name: [u8; 8],
    version: u32,
    pointer_size: u32,
}

#[used]
#[unsafe(link_section = ".note.slipway.guest")]
static NOTE: Note = Note {
    name_size: 8,
    description_size: 8,
    kind: 2,
    name: *b"Slipway\0",
    version: VERSION,
    pointer_size: size_of::<usize>() as u32,
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_version_is_not_given_and_makes_nobody_a_guest() {
        assert!(functions(VERSION + 1).is_null() && functions(0).is_null());
        assert_eq!(part(functions(VERSION + 1)), Part::Unfit);
        assert_eq!(part(functions(VERSION)), Part::Owner);
        // No host is in this program.
        assert!(!find() && owner().is_none());
    }

    /// The text from one mark to the end of the line, or of the block that begins there, without spaces.
    fn text(source: &str, mark: &str) -> String {
        let start = source.find(mark).unwrap_or_else(|| panic!("{mark} is not there"));
        let line = source[..start].rfind('\n').map_or(0, |end| end + 1);
        let depth = source[line..].find(|c| c != ' ').unwrap_or(0);
        let end = if mark.ends_with('{') { format!("\n{}}}", " ".repeat(depth)) } else { "\n".to_owned() };
        let len = source[start..].find(&end).expect("it has an end");
        source[start..start + len]
            .lines()
            .filter(|line| !line.trim_start().starts_with("//"))
            .flat_map(str::split_whitespace)
            .collect()
    }

    #[test]
    fn the_version_changes_with_what_guest_and_owner_agree_on() {
        let (table, by_hand) = (include_str!("table.rs"), include_str!("by_hand.rs"));
        let gate = include_str!("../state/gate.rs");
        let special = include_str!("../state/kernel.rs");
        let mut shape = vec![
            text(table, "calls! {"),
            text(table, "macro_rules! calls {"),
            text(table, "trait Outcome: Sized {"),
            text(by_hand, "pub(super) struct ByHand {"),
            text(by_hand, "pub(super) struct Sink {"),
            text(by_hand, "struct TrapTable {"),
            // The order and the meaning of numbers in lists and results, on either side.
            text(by_hand, "extern \"C\" fn names(of: Task, sink: &Sink) -> i32 {"),
            text(by_hand, "extern \"C\" fn receive_status(of: Task, name: u32, sink: &Sink) -> i32 {"),
            text(by_hand, "fn errno(run: impl FnOnce() -> io::Result<()>) -> i32 {"),
            text(by_hand, "pub(crate) fn names(&self, of: Task) -> Result<Vec<(u32, u32)>, Code> {"),
            text(by_hand, "pub(crate) fn receive_status(&self, of: Task, name: u32) -> Result<Status, Code> {"),
            text(by_hand, "fn known(errno: i32) -> io::Result<()> {"),
            text(special, "pub enum Special {"),
            text(special, "pub const ALL: [Self; 2] ="),
            text(include_str!("../task.rs"), "pub struct Task {"),
            text(include_str!("../msg/request.rs"), "pub struct Request {"),
            text(gate, "pub struct Entry {"),
            text(gate, "pub type Routine ="),
        ];
        let results = ["Result<(), Code>", "Result<u32, Code>", "Option<u64>", "u32", "bool", "()"];
        assert_eq!(table.matches("\nimpl Outcome for ").count(), results.len(), "a result that is not in the list");
        shape.extend(results.map(|result| text(table, &format!("impl Outcome for {result} {{"))));
        let hash = shape
            .concat()
            .bytes()
            .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3));
        assert_eq!((VERSION, hash), (2, 0x9d91_21f1_62bd_e62a), "raise VERSION, and write the new pair here: {shape:#?}");
    }
}
