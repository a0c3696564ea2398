//! The syntax tree: what was written, with the place of each part.

use crate::source::Span;

/// A name and where it stands.
#[derive(Clone, Debug)]
pub struct Ident {
    /// As written.
    pub text: String,
    /// Where.
    pub span: Span,
}

/// A file after the preprocessor.
#[derive(Debug, Default)]
pub struct File {
    /// The statements, in order.
    pub items: Vec<Item>,
}

/// A statement.
#[derive(Debug)]
pub enum Item {
    /// `subsystem name base;`
    Subsystem(Subsystem),
    /// `type name = ...;`
    Type(TypeDecl),
    /// `routine name(...);` and its kin
    Operation(Operation),
    /// `skip;` or `skip N;`
    Skip(Option<Expr>),
    /// What changes how the following routines are generated.
    Setting(Setting),
    /// `import <file>;`
    Import(Import),
}

/// `subsystem [KernelUser] [KernelServer] name base;`
#[derive(Debug)]
pub struct Subsystem {
    /// The keyword.
    pub span: Span,
    /// Its name.
    pub name: Ident,
    /// Identifier of the first message.
    pub base: Expr,
}

/// A setting and its value.
#[derive(Debug)]
pub struct Setting {
    /// The keyword.
    pub span: Span,
    /// Which.
    pub kind: SettingKind,
    /// As written, up to the semicolon; empty for those without one.
    pub value: String,
    /// Where the value stands.
    pub value_span: Span,
}

/// Which setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SettingKind {
    /// Options added to each call of mach_msg.
    MsgOption,
    /// Time-out of a receive, in milliseconds.
    WaitTime,
    /// No time-out from here on.
    NoWaitTime,
    /// Time-out of a send, in milliseconds.
    SendTime,
    /// No send time-out from here on.
    NoSendTime,
    /// Prefix of user routines.
    UserPrefix,
    /// Prefix of server routines.
    ServerPrefix,
    /// Name of the demultiplexing routine.
    ServerDemux,
    /// A string for the object files.
    RcsId,
    /// Routine called on errors, for procedures.
    Error,
    /// Whether a special reply port is used.
    UseSpecialReplyPort,
    /// Whether the stub destroys a message that could not be sent.
    ConsumeOnSendError,
    /// Largest array in a user stub.
    UserTypeLimit,
    /// Largest message on the stack, in bytes.
    OnStackLimit,
}

/// `import <file>;`
#[derive(Debug)]
pub struct Import {
    /// Which outputs include it.
    pub kind: ImportKind,
    /// With its brackets or quotes.
    pub file: String,
}

/// Which outputs include the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImportKind {
    /// User side, server side and headers.
    All,
    /// User side.
    User,
    /// Server side.
    Server,
    /// The internal header.
    Internal,
    /// The header of definitions.
    Definitions,
}

/// `type name = spec;`
#[derive(Debug)]
pub struct TypeDecl {
    /// The new name.
    pub name: Ident,
    /// What it means.
    pub spec: TypeSpec,
}

/// A type with its options.
#[derive(Clone, Debug)]
pub struct TypeSpec {
    /// All of it.
    pub span: Span,
    /// What is sent.
    pub body: TypeBody,
    /// How C sees it.
    pub options: Vec<TypeOption>,
}

/// What is sent.
#[derive(Clone, Debug)]
pub enum TypeBody {
    /// `MACH_MSG_TYPE_X`, `X|Y`, `polymorphic`, `(X, bits)`: the type of the sender, that of the receiver if it differs.
    Wire {
        /// Name in a message that is sent.
        sent: Ident,
        /// Name in a message that was received.
        received: Option<Ident>,
        /// Size in bits, in the long form.
        bits: Option<Expr>,
    },
    /// The name of another type.
    Named(Ident),
    /// `^T`
    OutOfLine(Box<TypeSpec>),
    /// `array[...] of T`
    Array(ArrayLen, Box<TypeSpec>),
    /// `struct[N] of T`
    StructOf(Expr, Box<TypeSpec>),
    /// `struct { T f; ... }`
    Struct(Vec<Field>),
    /// `c_string[N]` or, varying, `c_string[*:N]`
    CString {
        /// Whether only the string's own bytes are sent.
        varying: bool,
        /// Room for the string and its terminator.
        size: Expr,
    },
}

/// A field of a structure.
#[derive(Clone, Debug)]
pub struct Field {
    /// Name of its type.
    pub ty: Ident,
    /// Its name.
    pub name: Ident,
}

/// The brackets of an array.
#[derive(Clone, Debug)]
pub enum ArrayLen {
    /// `[N]`
    Fixed(Expr),
    /// `[*:N]`
    UpTo(Expr),
    /// `[]` and `[*]`
    Unlimited,
}

/// An option of a type.
#[derive(Clone, Debug)]
pub struct TypeOption {
    /// The keyword.
    pub span: Span,
    /// Which, with its operands.
    pub kind: OptionKind,
}

/// What a type option says.
#[derive(Clone, Debug)]
pub enum OptionKind {
    /// `ctype: T`
    CType(String),
    /// `cusertype: T`
    CUserType(String),
    /// `cservertype: T`
    CServerType(String),
    /// `intran: T f(U)`
    InTran {
        /// What the server's routine sees.
        to: String,
        /// The function.
        function: String,
        /// What stands in the message.
        from: String,
    },
    /// `outtran: U f(T)`
    OutTran {
        /// What stands in the message.
        to: String,
        /// The function.
        function: String,
        /// What the server's routine gives.
        from: String,
    },
    /// `intranpayload: T f`
    InTranPayload {
        /// What the server's routine sees.
        to: String,
        /// The function.
        function: String,
    },
    /// `destructor: f(T)`
    Destructor {
        /// The function.
        function: String,
        /// Its operand.
        of: String,
    },
    /// `PointerTo`, `PointerToIfNot` and `ValueOf`, which belong to the other dialect.
    Foreign(String),
}

/// Which kind of operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperationKind {
    /// Request and reply.
    Routine,
    /// Request only.
    SimpleRoutine,
    /// Request and reply, errors go to the error routine.
    Procedure,
    /// Request only, errors go to the error routine.
    SimpleProcedure,
    /// Returns a value.
    Function,
}

/// A routine's declaration.
#[derive(Debug)]
pub struct Operation {
    /// From the keyword to the semicolon.
    pub span: Span,
    /// Which kind.
    pub kind: OperationKind,
    /// Its name.
    pub name: Ident,
    /// Its arguments.
    pub args: Vec<Argument>,
    /// The type of a function.
    pub returns: Option<TypeSpec>,
}

/// An argument.
#[derive(Debug)]
pub struct Argument {
    /// The direction's keyword, in lower case, if there is one.
    pub direction: Option<Ident>,
    /// Its name.
    pub name: Ident,
    /// The name of its type.
    pub ty: Ident,
    /// What the type is in this argument, if it is said here.
    pub spec: Option<TypeSpec>,
    /// `dealloc`, `countinout` and so on, in lower case; `dealloc[]` as that.
    pub flags: Vec<Ident>,
}

/// A number, not yet computed.
#[derive(Clone, Debug)]
pub struct Expr {
    /// All of it.
    pub span: Span,
    /// What it is.
    pub kind: ExprKind,
}

/// An expression's form.
#[derive(Clone, Debug)]
pub enum ExprKind {
    /// Digits, as written.
    Number(String),
    /// `a op b`
    Binary(Box<Expr>, char, Box<Expr>),
}
