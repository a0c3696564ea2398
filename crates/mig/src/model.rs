//! The interface that a file describes, with every name resolved and every number computed.

use crate::source::Span;
pub use crate::syntax::ast::ImportKind;

/// A transmission type: how data is called in a type word.
#[derive(Debug, PartialEq, Eq)]
pub struct WireName {
    /// The C macro, behind `MACH_MSG_TYPE_`.
    pub name: &'static str,
    /// Its value.
    pub code: u8,
    /// Bits of one unit; 0 if it must be said.
    pub bits: u32,
    /// The macro's name once a message was received, for rights.
    pub right: Option<&'static str>,
    /// The C type of a unit.
    pub c_type: &'static str,
}

const fn plain(name: &'static str, code: u8, bits: u32, c_type: &'static str) -> WireName {
    WireName { name, code, bits, right: None, c_type }
}

const fn right(name: &'static str, code: u8, received: &'static str) -> WireName {
    WireName { name, code, bits: 64, right: Some(received), c_type: "mach_port_t" }
}

/// All transmission types of both grammars.
pub const WIRE_NAMES: &[WireName] = &[
    plain("UNSTRUCTURED", 0, 0, "char"),
    plain("BIT", 0, 0, "char"),
    plain("BOOLEAN", 0, 32, "boolean_t"),
    plain("INTEGER_16", 1, 16, "int16_t"),
    plain("INTEGER_32", 2, 32, "int32_t"),
    plain("INTEGER_64", 11, 64, "int64_t"),
    plain("INTEGER_8", 9, 8, "char"),
    plain("CHAR", 8, 8, "char"),
    plain("BYTE", 9, 8, "char"),
    plain("REAL", 10, 32, "float"),
    plain("REAL_32", 10, 32, "float"),
    plain("REAL_64", 10, 64, "double"),
    plain("STRING", 12, 0, "char"),
    plain("STRING_C", 12, 0, "char"),
    plain("PORT_NAME", 15, 32, "mach_port_name_t"),
    right("MOVE_RECEIVE", 16, "PORT_RECEIVE"),
    right("MOVE_SEND", 17, "PORT_SEND"),
    right("MOVE_SEND_ONCE", 18, "PORT_SEND_ONCE"),
    right("COPY_SEND", 19, "PORT_SEND"),
    right("MAKE_SEND", 20, "PORT_SEND"),
    right("MAKE_SEND_ONCE", 21, "PORT_SEND_ONCE"),
    right("PORT_RECEIVE", 16, "PORT_RECEIVE"),
    right("PORT_SEND", 17, "PORT_SEND"),
    right("PORT_SEND_ONCE", 18, "PORT_SEND_ONCE"),
];

impl WireName {
    /// The C macro with its value: the typed dialect has one for both lengths of reals.
    pub fn c_macro(&self) -> String {
        let name = if self.name.starts_with("REAL") { "REAL" } else { self.name };
        format!("MACH_MSG_TYPE_{name}")
    }
}

/// The transmission type of that name (behind `MACH_MSG_TYPE_`).
pub fn wire_name(name: &str) -> Option<&'static WireName> {
    WIRE_NAMES.iter().find(|w| w.name.eq_ignore_ascii_case(name))
}

/// What stands in the name field of a type word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wire {
    /// Always the same.
    Known(&'static WireName),
    /// A right whose kind is said at run time.
    Polymorphic,
}

impl Wire {
    /// Whether it is a right.
    pub fn is_right(self) -> bool {
        match self {
            Wire::Known(name) => name.right.is_some(),
            Wire::Polymorphic => true,
        }
    }
}

/// How many elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Count {
    /// No array: one element.
    One,
    /// An array of that many.
    Fixed(u32),
    /// At most that many; the number is sent.
    UpTo(u32),
    /// Any number: in the message if they are few, else out of line.
    Unlimited,
}

/// A C function that converts, and the types of its result and operand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conversion {
    /// The function.
    pub function: String,
    /// Its result.
    pub to: String,
    /// Its operand.
    pub from: String,
}

/// What an element is made of, for languages that can't take it from C.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Form {
    /// One unit of its transmission type.
    Unit {
        /// The transmission type.
        wire: Wire,
        /// Bits of it.
        bits: u32,
        /// Whether it has a sign, as far as its name tells.
        signed: bool,
    },
    /// So many of another in a row.
    Repeat(Box<Element>, u32),
    /// A structure.
    Fields(Vec<Member>),
}

/// An element of an array, or a part of a structure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Element {
    /// The type's name in the interface; empty if it has none.
    pub name: String,
    /// What it is made of.
    pub form: Form,
}

/// A field of a structure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// Its name.
    pub name: String,
    /// Its distance from the structure's begin in bytes.
    pub offset: u32,
    /// Its type.
    pub element: Element,
}

/// A type.
#[derive(Clone, Debug)]
pub struct Type {
    /// Its name; empty if it has none.
    pub name: String,
    /// Where it was defined.
    pub span: Span,
    /// What the sender says.
    pub sent: Wire,
    /// What the receiver sees.
    pub received: Wire,
    /// What an element is made of, and its name in the interface.
    pub part: Element,
    /// Bits of a unit in the message.
    pub bits: u32,
    /// Units of an element.
    pub units: u32,
    /// Whether the interface says the form of type words: `islong`, `isnotlong`.
    pub long: Option<bool>,
    /// Elements.
    pub count: Count,
    /// Whether the data is in the message and not behind a pointer.
    pub inline: bool,
    /// Whether C passes it by value (a number or a structure, not an array).
    pub by_value: bool,
    /// Whether it is a string that ends with NUL.
    pub string: bool,
    /// Bytes of an element in C.
    pub bytes: u32,
    /// Alignment of an element in C.
    pub align: u32,
    /// C type of an element.
    pub element: String,
    /// Whether the element has a name in the interface, so that C programs know it by that.
    pub element_named: bool,
    /// C type in user stubs.
    pub user_type: String,
    /// C type in server routines.
    pub server_type: String,
    /// C type in the server's view of the message.
    pub message_type: String,
    /// From the message to the server's routine.
    pub in_tran: Option<Conversion>,
    /// From the server's routine to the message.
    pub out_tran: Option<Conversion>,
    /// From a protected payload to the server's routine.
    pub payload_tran: Option<Conversion>,
    /// Called when the server's routine is done with an argument.
    pub destructor: Option<String>,
}

impl Type {
    /// Whether it is one right, in the message.
    pub fn is_port(&self) -> bool {
        self.sent.is_right() && self.inline && self.count == Count::One
    }

    /// Whether the number of elements is part of the message.
    pub fn varies(&self) -> bool {
        matches!(self.count, Count::UpTo(_) | Count::Unlimited)
    }

    /// Whether its type words are marked as being of the long form, which on 64-bit machines is the same but for the mark. They
    /// are if the number of units does not fit into the 12 bits that the short form has elsewhere, or the size into 8.
    pub fn is_long(&self) -> bool {
        let number = match self.count {
            Count::One => 1,
            Count::Fixed(_) if self.string && self.bits != 8 => 1,
            Count::Fixed(n) | Count::UpTo(n) if self.inline => n,
            Count::Fixed(_) | Count::UpTo(_) => 0,
            Count::Unlimited => return self.long.unwrap_or(true),
        };
        let units = u64::from(number) * u64::from(self.units);
        self.long.unwrap_or(units >= 1 << 12 || self.bits >= 1 << 8)
    }

    /// Bytes of an element in the message: rights take 8 there and 4 in C.
    pub fn wire_bytes(&self) -> u32 {
        if self.sent.is_right() && self.inline { 8 } else { self.bytes }
    }
}

/// Whether the sender's memory goes with the message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dealloc {
    /// No: it keeps it.
    No,
    /// Yes.
    Yes,
    /// The caller says, in one more argument.
    Runtime,
}

/// What an argument is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Where the request goes.
    RequestPort,
    /// Where the reply goes: seen by the user, by the server, or by both.
    ReplyPort {
        /// The user gives it.
        user: bool,
        /// The server's routine is told it.
        server: bool,
    },
    /// In the body of the request, of the reply, or of both.
    Data {
        /// In the request.
        request: bool,
        /// In the reply.
        reply: bool,
    },
    /// Time-out of the receive.
    WaitTime,
    /// Time-out of the send.
    SendTime,
    /// Options for mach_msg.
    MsgOption,
    /// The request's sequence number.
    MsgSeqno,
    /// From the trailer of a message of Darwin's dialect.
    Token {
        /// Which part of it.
        of: Token,
        /// Of the reply's, for the user; else of the request's, for the server.
        user: bool,
    },
}

/// The parts of a trailer behind its sequence number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Token {
    /// The sender's user and group.
    Security,
    /// The sender's user, group and process.
    Audit,
    /// The context of the port that the message came to.
    Context,
}

impl Token {
    /// Its size.
    pub fn bytes(self) -> u32 {
        if self == Self::Audit { 32 } else { 8 }
    }
}

/// An argument.
#[derive(Clone, Debug)]
pub struct Arg {
    /// Its name.
    pub name: String,
    /// Where it stands.
    pub span: Span,
    /// What it is for.
    pub role: Role,
    /// Its type.
    pub ty: Type,
    /// Whether memory goes with the message.
    pub dealloc: Dealloc,
    /// Whether the caller's room is told to the server.
    pub count_in_out: bool,
    /// Whether the server's routine is told if the data lies in the message.
    pub server_copy: bool,
    /// Whether the stub frees out-of-line data when the server's routine is done.
    pub auto: bool,
    /// Received data goes to the caller's memory.
    pub overwrite: bool,
    /// Declared `const`.
    pub constant: bool,
    /// The argument whose count this one shares.
    pub same_count: Option<usize>,
}

impl Arg {
    /// Whether it is in the body of the request.
    pub fn in_request(&self) -> bool {
        matches!(self.role, Role::Data { request: true, .. })
    }

    /// Whether it is in the body of the reply.
    pub fn in_reply(&self) -> bool {
        matches!(self.role, Role::Data { reply: true, .. })
    }

    /// Whether the user's stub gives it to its caller.
    pub fn comes_out(&self) -> bool {
        self.in_reply() || matches!(self.role, Role::Token { user: true, .. })
    }
}

/// When a user stub destroys a request that could not be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Consume {
    /// Never.
    None,
    /// When the time is over.
    Timeout,
    /// On any error.
    Any,
}

/// A routine.
#[derive(Clone, Debug)]
pub struct Routine {
    /// Its name in the file.
    pub name: String,
    /// Name of the user's stub.
    pub user_name: String,
    /// Name of the server's routine.
    pub server_name: String,
    /// Where its name stands.
    pub span: Span,
    /// Identifier of its request.
    pub id: i32,
    /// Whether there is no reply.
    pub one_way: bool,
    /// The declaration, on one line.
    pub text: String,
    /// The file (without directories) and line of the declaration.
    pub place: String,
    /// Its arguments.
    pub args: Vec<Arg>,
    /// Which of them is the request port.
    pub request_port: usize,
    /// C expression added to the options of mach_msg.
    pub msg_option: Option<String>,
    /// C expression of the receive's time-out.
    pub wait_time: Option<String>,
    /// C expression of the send's time-out.
    pub send_time: Option<String>,
    /// When an unsent request is destroyed.
    pub consume: Consume,
}

/// A file to include.
#[derive(Clone, Debug)]
pub struct Import {
    /// Which outputs include it.
    pub kind: ImportKind,
    /// With its brackets or quotes.
    pub file: String,
}

/// A subsystem.
#[derive(Clone, Debug)]
pub struct Interface {
    /// Its name.
    pub name: String,
    /// Identifier of its first request.
    pub base: i32,
    /// Its routines; `None` where one was skipped.
    pub routines: Vec<Option<Routine>>,
    /// Files to include.
    pub imports: Vec<Import>,
    /// Name of the demultiplexing routine.
    pub demux: String,
    /// A string for the object files.
    pub rcs_id: Option<String>,
    /// Largest message on the stack, if the file says it.
    pub stack_limit: Option<u32>,
}

impl Interface {
    /// The routines that are there.
    pub fn routines(&self) -> impl Iterator<Item = &Routine> {
        self.routines.iter().flatten()
    }
}
