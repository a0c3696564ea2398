//! How C sees arguments: parameter lists and types.

pub use crate::emit::trap::has_count;
use crate::model::{Arg, Count, Dealloc, Role, Routine, Type, Wire};

/// Whose stub it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The caller's.
    User,
    /// The server's.
    Server,
}

impl Side {
    /// The C type of the argument in the routine's parameter list.
    pub fn parameter_type(self, ty: &Type) -> &str {
        if self == Side::User { &ty.user_type } else { &ty.server_type }
    }

    /// The C type of the data in this side's view of the message.
    pub fn message_type(self, ty: &Type) -> &str {
        if self == Side::User { &ty.user_type } else { &ty.message_type }
    }

    /// What this side finds or puts into the type word of an argument, in the message that it sends or receives.
    pub fn wire(self, arg: &Arg, sends: bool) -> Wire {
        if sends { arg.ty.sent } else { arg.ty.received }
    }

    /// Whether the argument's kind of right is one more parameter on this side.
    fn polymorphic(self, arg: &Arg) -> bool {
        let wire = match (arg.role, self) {
            (Role::Data { request: true, reply: true }, _) => {
                return arg.ty.sent == Wire::Polymorphic || arg.ty.received == Wire::Polymorphic;
            }
            (Role::Data { reply: true, .. }, Side::User) => arg.ty.received,
            (Role::Data { reply: true, .. }, Side::Server) => arg.ty.sent,
            (_, Side::User) => arg.ty.sent,
            (_, Side::Server) => arg.ty.received,
        };
        wire == Wire::Polymorphic
    }

    /// Whether the side's routine has this argument at all.
    pub fn has(self, arg: &Arg) -> bool {
        match (arg.role, self) {
            (Role::ReplyPort { user, .. }, Side::User) => user,
            (Role::ReplyPort { server, .. }, Side::Server) => server,
            (Role::WaitTime | Role::SendTime | Role::MsgOption, Side::Server) => false,
            (Role::MsgSeqno, Side::User) => false,
            (Role::Token { user, .. }, side) => user == (side == Side::User),
            _ => true,
        }
    }
}

/// The name of the variable with the argument's number of elements.
pub fn count_name(args: &[Arg], arg: &Arg) -> String {
    let owner = arg.same_count.and_then(|i| args.get(i)).unwrap_or(arg);
    format!("{}Cnt", owner.name)
}

/// Whether the routine passes the argument by a pointer to it, rather than by the value or the array.
pub fn by_reference(arg: &Arg) -> bool {
    arg.comes_out() && (arg.ty.by_value || !arg.ty.inline || arg.ty.count == Count::Unlimited)
}

/// The C type of the parameter itself, up to its name. Arrays that go in are pointers to constants for the user: with
/// the name of an array type the compiler would take shorter arrays for mistakes.
fn own_type(arg: &Arg, side: Side) -> String {
    let ty = &arg.ty;
    let named = side.parameter_type(ty);
    let array = ty.inline && !ty.by_value && !arg.in_reply() && ty.count != Count::Unlimited;
    if array && side == Side::User && named == ty.name {
        if ty.string {
            return "const char *".to_owned();
        }
        if ty.element_named {
            return format!("const {} *", ty.element);
        }
    }
    let constant = if arg.constant || (array && side == Side::User) { "const " } else { "" };
    let pointer = if by_reference(arg) { " *" } else { " " };
    format!("{constant}{named}{pointer}")
}

/// What the parameters of one argument are called on a side, each with its C type.
pub fn parameters(arg: &Arg, side: Side) -> Vec<(String, String)> {
    let out = arg.in_reply();
    let pointer = if out { " *" } else { " " };
    let mut list = Vec::new();
    list.push((own_type(arg, side), arg.name.clone()));
    if side.polymorphic(arg) {
        list.push((format!("mach_msg_type_name_t{pointer}"), format!("{}Poly", arg.name)));
    }
    if has_count(arg) {
        list.push((format!("mach_msg_type_number_t{pointer}"), format!("{}Cnt", arg.name)));
    }
    if arg.dealloc == Dealloc::Runtime && side == Side::User && arg.in_request() {
        list.push(("boolean_t ".to_owned(), format!("{}Dealloc", arg.name)));
    }
    if arg.dealloc == Dealloc::Runtime && side == Side::Server && out {
        list.push(("boolean_t *".to_owned(), format!("{}Dealloc", arg.name)));
    }
    if arg.server_copy && side == Side::Server {
        list.push(("boolean_t ".to_owned(), format!("{}SCopy", arg.name)));
    }
    list
}

/// The declaration of a routine, without what follows it.
pub fn prototype(routine: &Routine, name: &str, side: Side) -> String {
    let args = routine.args.iter().filter(|a| side.has(a));
    let list: Vec<_> = args.flat_map(|a| parameters(a, side)).map(|(ty, name)| format!("\t{ty}{name}")).collect();
    if list.is_empty() {
        return format!("kern_return_t {name}(void)");
    }
    format!("kern_return_t {name}(\n{})", list.join(",\n"))
}
