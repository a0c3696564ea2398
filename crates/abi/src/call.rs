//! What libmach's calls take beside numbers.

use crate::HEADER;
use std::ffi::{c_int, c_void};

/// The front of every message, `mach_msg_header_t`.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(8))]
pub struct Header {
    /// `msgh_bits`.
    pub bits: u32,
    /// `msgh_size` in bytes, with the header.
    pub size: u32,
    /// `msgh_remote_port`, in the lower half.
    pub remote: u64,
    /// `msgh_local_port`, in the lower half, or `msgh_protected_payload`.
    pub local: u64,
    /// `msgh_seqno`.
    pub seqno: u32,
    /// `msgh_id`.
    pub id: i32,
}

const _: () = assert!(size_of::<Header>() == HEADER);

/// What `mach_msg` is asked to do, beside the buffer.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
pub struct Request {
    /// `MACH_SEND_*` and `MACH_RCV_*` options.
    pub option: u32,
    /// The size of the message to be sent in bytes.
    pub send_size: usize,
    /// The most bytes to be received.
    pub receive_size: usize,
    /// The port or port set to receive from.
    pub receive_name: u32,
    /// The time-out of each half in milliseconds, if its option asks for one.
    pub timeout: u32,
    /// The name that MACH_SEND_NOTIFY and MACH_RCV_NOTIFY use.
    pub notify: u32,
}

/// A plain body, where it lies: words, and bytes behind them that are filled up to whole words.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct Pieces {
    /// The words.
    pub words: *const u64,
    /// How many.
    pub count: usize,
    /// The bytes.
    pub bytes: *const u8,
    /// How many.
    pub len: usize,
    /// The bytes of the bodies that the caller sends at once behind this one.
    pub behind: usize,
}

/// A task of this process, or of one that this process was forked from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(C)]
pub struct TaskId {
    /// Which process, as libmach tells them apart.
    pub process: usize,
    /// Which task of the process.
    pub number: u32,
}

impl TaskId {
    /// A task that is none.
    pub const NONE: Self = Self { process: 0, number: 0 };
}

/// A port that a task keeps apart from its names: `TASK_*_PORT`. Children made by fork inherit it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(i32)]
pub enum Special {
    /// Where the task's exceptions are told, if no other port of its or its thread's has handled them.
    Exception = 3,
    /// Where the task looks up services.
    Bootstrap = 4,
}

/// `TASK_KERNEL_PORT`: the task's own port, which nothing can take the place of.
pub const KERNEL_PORT: c_int = 1;

impl Special {
    /// All of them, in their order.
    pub const ALL: [Self; 2] = [Self::Exception, Self::Bootstrap];

    /// The port of that number.
    pub fn by_number(number: c_int) -> Option<Self> {
        Self::ALL.into_iter().find(|it| *it as c_int == number)
    }
}

/// What is known of a receive right: `mach_port_status_t`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Status {
    /// The set that the port is in, or null.
    pub pset: u32,
    /// The sequence number of the next message.
    pub seqno: u32,
    /// The make-send count.
    pub mscount: u32,
    /// The queue limit.
    pub qlimit: u32,
    /// Messages in the queue; those that lie in lines are not among them.
    pub msgcount: u32,
    /// Send-once rights.
    pub sorights: u32,
    /// Whether there are send rights.
    pub srights: c_int,
    /// Whether a port-destroyed request is registered.
    pub pdrequest: c_int,
    /// Whether a no-senders request is registered.
    pub nsrequest: c_int,
}

/// What `mach_port_construct` is told: `mach_port_options_t`.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
pub struct PortOptions {
    /// [`port_option`]s.
    pub flags: u32,
    /// The queue limit, with [`port_option::QLIMIT`].
    pub limit: u32,
    /// For what Darwin has more.
    pub reserved: [u64; 2],
}

/// Flags of `mach_port_construct`, `MPO_*`.
pub mod port_option {
    #![allow(missing_docs, reason = "Darwin's own names")]
    pub const CONTEXT_AS_GUARD: u32 = 0x1;
    pub const QLIMIT: u32 = 0x2;
    pub const INSERT_SEND_RIGHT: u32 = 0x10;
    pub const STRICT: u32 = 0x20;
    /// Those that mean something here.
    pub const ALL: u32 = CONTEXT_AS_GUARD | QLIMIT | INSERT_SEND_RIGHT | STRICT;
}

/// Kinds of a body's items in Darwin's dialect, `MACH_MSG_*_DESCRIPTOR`.
pub mod descriptor {
    #![allow(missing_docs, reason = "Darwin's own names")]
    pub const PORT: u8 = 0;
    pub const OOL: u8 = 1;
    pub const OOL_PORTS: u8 = 2;
    pub const OOL_VOLATILE: u8 = 3;
    pub const GUARDED: u8 = 4;
}

/// A server's routine: the port's name in its space, the arguments as caller and server agreed, and the table's context.
pub type Routine = unsafe extern "C-unwind" fn(u32, *mut c_void, *mut c_void) -> c_int;

/// A routine, and what its arguments look like: `struct mach_trap_entry`.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct Entry {
    /// The routine; None if it is to be had by message only.
    pub routine: Option<Routine>,
    /// A stub with another signature lays its arguments out differently.
    pub signature: u64,
}

/// `MACH_TRAP_VERSION`.
pub const TRAP_VERSION: u32 = 2;
/// `MACH_TRAP_SERIAL`: calls are made one at a time, each in the place of a thread that waits in a receive.
pub const SERIAL: c_int = 0;
/// `MACH_TRAP_CONCURRENT`: any number of calls at a time.
pub const CONCURRENT: c_int = 1;

/// The routines for the identifiers from `base` on: `mach_trap_table_t`.
#[derive(Debug)]
#[repr(C)]
pub struct TrapTable {
    /// [`TRAP_VERSION`].
    pub version: u32,
    /// The first identifier.
    pub base: i32,
    /// How many there are.
    pub count: u32,
    /// One for each.
    pub trap: *const Entry,
    /// What is handed to every routine.
    pub context: *mut c_void,
}
