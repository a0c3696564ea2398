//! What a library of Mach and the programs that call it agree on.
//!
//! Mach's numbers are here: return codes, message bits, dispositions, right types, options, notifications. * [`typed`]: the items of a
//! message's body. * [`call`]: what libmach's own calls take.
//!
//! The values are those of the typed dialect of Mach 3.0 in its 64-bit layout, as listed in
//! `include/mach/*.h`; a test compares the two.

pub mod call;
pub mod typed;

/// A return code of Mach: `kern_return_t` and `mach_msg_return_t`. 0 is success.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Code(pub i32);

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $value:expr;)*) => {
        impl Code {
            $($(#[$doc])* #[allow(missing_docs, reason = "Mach's own names")] pub const $name: Self = Self($value);)*

            /// Mach's name of the code, without its prefix; None for a number that Mach doesn't use.
            pub fn name(self) -> Option<&'static str> {
                match self { $(Self::$name => Some(stringify!($name)),)* _ => None }
            }
        }
    };
}

codes! {
    SUCCESS = 0;
    INVALID_ADDRESS = 1;
    PROTECTION_FAILURE = 2;
    NO_SPACE = 3;
    INVALID_ARGUMENT = 4;
    FAILURE = 5;
    RESOURCE_SHORTAGE = 6;
    NOT_RECEIVER = 7;
    NO_ACCESS = 8;
    ALREADY_IN_SET = 11;
    NOT_IN_SET = 12;
    NAME_EXISTS = 13;
    ABORTED = 14;
    INVALID_NAME = 15;
    INVALID_TASK = 16;
    INVALID_RIGHT = 17;
    INVALID_VALUE = 18;
    UREFS_OVERFLOW = 19;
    INVALID_CAPABILITY = 20;
    RIGHT_EXISTS = 21;
    INVALID_HOST = 22;
    TERMINATED = 26;
    TIMEDOUT = 27;
    INTERRUPTED = 28;
    OPERATION_TIMED_OUT = 49;
    SEND_INVALID_DATA = 0x1000_0002;
    SEND_INVALID_DEST = 0x1000_0003;
    SEND_TIMED_OUT = 0x1000_0004;
    SEND_WILL_NOTIFY = 0x1000_0005;
    SEND_NOTIFY_IN_PROGRESS = 0x1000_0006;
    SEND_INTERRUPTED = 0x1000_0007;
    SEND_MSG_TOO_SMALL = 0x1000_0008;
    SEND_INVALID_REPLY = 0x1000_0009;
    SEND_INVALID_RIGHT = 0x1000_000a;
    SEND_INVALID_NOTIFY = 0x1000_000b;
    SEND_INVALID_MEMORY = 0x1000_000c;
    SEND_NO_BUFFER = 0x1000_000d;
    SEND_NO_NOTIFY = 0x1000_000e;
    SEND_INVALID_TYPE = 0x1000_000f;
    SEND_INVALID_HEADER = 0x1000_0010;
    RCV_INVALID_NAME = 0x1000_4002;
    RCV_TIMED_OUT = 0x1000_4003;
    RCV_TOO_LARGE = 0x1000_4004;
    RCV_INTERRUPTED = 0x1000_4005;
    RCV_PORT_CHANGED = 0x1000_4006;
    RCV_INVALID_NOTIFY = 0x1000_4007;
    RCV_INVALID_DATA = 0x1000_4008;
    RCV_PORT_DIED = 0x1000_4009;
    RCV_IN_SET = 0x1000_400a;
    RCV_HEADER_ERROR = 0x1000_400b;
    RCV_BODY_ERROR = 0x1000_400c;
    TRAP_DEADLOCK = 0x1000_0100;
    MIG_TYPE_ERROR = -300;
    MIG_REPLY_MISMATCH = -301;
    MIG_REMOTE_ERROR = -302;
    MIG_BAD_ID = -303;
    MIG_BAD_ARGUMENTS = -304;
    MIG_NO_REPLY = -305;
    MIG_EXCEPTION = -306;
    MIG_ARRAY_TOO_LARGE = -307;
    MIG_SERVER_DIED = -308;
    MIG_DESTROY_REQUEST = -309;
}

impl std::fmt::Debug for Code {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "{:#x}", self.0),
        }
    }
}

impl std::fmt::Display for Code {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Debug::fmt(self, f)
    }
}

impl std::error::Error for Code {}

/// The null name: no port.
pub const NULL: u32 = 0;
/// The name of a port that died before the right arrived.
pub const DEAD: u32 = !0;

/// The size of `mach_msg_header_t` in bytes.
pub const HEADER: usize = 32;
/// The size of `mach_msg_type_t`, of an inline port and of an out-of-line pointer, in bytes.
pub const SLOT: usize = 8;

/// `MACH_MSGH_BITS_COMPLEX`: the body carries rights or out-of-line memory.
pub const COMPLEX: u32 = 0x8000_0000;
/// `MACH_MSGH_BITS_REMOTE_MASK`.
pub const REMOTE_MASK: u32 = 0xff;
/// `MACH_MSGH_BITS_LOCAL_MASK`.
pub const LOCAL_MASK: u32 = 0xff00;

/// Dispositions and types, `MACH_MSG_TYPE_*`.
pub mod types {
    #![allow(missing_docs, reason = "Mach's own names")]
    pub const BIT: u32 = 0;
    pub const INTEGER_32: u32 = 2;
    pub const BYTE: u32 = 9;
    pub const INTEGER_64: u32 = 11;
    pub const PORT_NAME: u32 = 15;
    pub const MOVE_RECEIVE: u32 = 16;
    pub const MOVE_SEND: u32 = 17;
    pub const MOVE_SEND_ONCE: u32 = 18;
    pub const COPY_SEND: u32 = 19;
    pub const MAKE_SEND: u32 = 20;
    pub const MAKE_SEND_ONCE: u32 = 21;
    pub const PROTECTED_PAYLOAD: u32 = 23;
    /// A receive right, as it is received.
    pub const PORT_RECEIVE: u32 = MOVE_RECEIVE;
    /// A send right, as it is received.
    pub const PORT_SEND: u32 = MOVE_SEND;
    /// A send-once right, as it is received.
    pub const PORT_SEND_ONCE: u32 = MOVE_SEND_ONCE;
}

/// Options of `mach_msg`.
pub mod option {
    #![allow(missing_docs, reason = "Mach's own names")]
    pub const SEND_MSG: u32 = 1;
    pub const RCV_MSG: u32 = 2;
    pub const SEND_TIMEOUT: u32 = 0x10;
    pub const SEND_NOTIFY: u32 = 0x20;
    pub const SEND_INTERRUPT: u32 = 0x40;
    pub const SEND_CANCEL: u32 = 0x80;
    pub const RCV_TIMEOUT: u32 = 0x100;
    pub const RCV_NOTIFY: u32 = 0x200;
    pub const RCV_INTERRUPT: u32 = 0x400;
    pub const RCV_LARGE: u32 = 0x800;
    /// The name of the port is told with a message that is too large: Darwin's, by another number.
    pub const RCV_LARGE_IDENTITY: u32 = 0x1000;
}

/// Right numbers, `MACH_PORT_RIGHT_*`.
pub mod right {
    #![allow(missing_docs, reason = "Mach's own names")]
    pub const SEND: u32 = 0;
    pub const RECEIVE: u32 = 1;
    pub const SEND_ONCE: u32 = 2;
    pub const PORT_SET: u32 = 3;
    pub const DEAD_NAME: u32 = 4;
    pub const NUMBER: u32 = 5;
}

/// What a name denotes, `MACH_PORT_TYPE_*`: one bit for each right.
pub mod kind {
    #![allow(missing_docs, reason = "Mach's own names")]
    pub const NONE: u32 = 0;
    pub const SEND: u32 = 1 << 16;
    pub const RECEIVE: u32 = 1 << 17;
    pub const SEND_ONCE: u32 = 1 << 18;
    pub const PORT_SET: u32 = 1 << 19;
    pub const DEAD_NAME: u32 = 1 << 20;
    pub const SEND_RECEIVE: u32 = SEND | RECEIVE;
    pub const SEND_RIGHTS: u32 = SEND | SEND_ONCE;
    pub const PORT_RIGHTS: u32 = SEND_RIGHTS | RECEIVE;
    /// A dead-name request is registered for the name.
    pub const DNREQUEST: u32 = 0x8000_0000;
}

/// Notifications, `MACH_NOTIFY_*`: the `msgh_id` of the message, and the `msg_id` of a request for it.
pub mod notify {
    #![allow(missing_docs, reason = "Mach's own names")]
    pub const PORT_DELETED: i32 = 65;
    pub const MSG_ACCEPTED: i32 = 66;
    pub const PORT_DESTROYED: i32 = 69;
    pub const NO_SENDERS: i32 = 70;
    pub const SEND_ONCE: i32 = 71;
    pub const DEAD_NAME: i32 = 72;
}

/// `MACH_PORT_QLIMIT_DEFAULT`: messages that wait at a port before senders do.
pub const QLIMIT_DEFAULT: u32 = 5;
/// `MACH_PORT_QLIMIT_MAX`.
pub const QLIMIT_MAX: u32 = 1024;
/// `MACH_PORT_UREFS_MAX`: most user references of a name.
pub const UREFS_MAX: u32 = 65535;

/// The largest message in bytes, header and inline body together; out-of-line memory has no limit of
/// its own. A larger one is refused with `MACH_SEND_NO_BUFFER`.
pub const MESSAGE_MAX: usize = 64 << 20;

/// The most that rights and small pieces of memory out of line take beside a message, in bytes. What waits at ports whose
/// receive rights go with it has the rest of [`MESSAGE_MAX`].
pub const ITEMS_MAX: usize = MESSAGE_MAX / 2;
