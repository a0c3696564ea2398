//! Traps: what stubs of both languages have in common, so that a caller in one meets a server in the other.
//!
//! A trap is a call within a process: the caller's stub puts its arguments into a block, and the server's trap function,
//! which runs in the caller's thread, makes of it what its routine would see in a message.

use crate::model::{Arg, Count, Dealloc, Role, Routine, Wire};

/// Whether the routine can be called by a trap: only data, in the message, and nothing that is about the message itself.
pub fn is_eligible(routine: &Routine) -> bool {
    let special = [&routine.msg_option, &routine.wait_time, &routine.send_time].into_iter().any(Option::is_some);
    !routine.one_way && !special && routine.args.iter().all(is_plain)
}

fn is_plain(arg: &Arg) -> bool {
    let ty = &arg.ty;
    match arg.role {
        // A right that a message moves or makes is more than an address.
        Role::RequestPort => matches!(ty.sent, Wire::Known(name) if name.name == "COPY_SEND") && ty.payload_tran.is_none(),
        Role::Data { .. } => {
            let right = ty.sent.is_right() || ty.received.is_right();
            let memory = arg.dealloc != Dealloc::No || arg.overwrite || arg.server_copy;
            // What a message would refuse, or has no one count of.
            let doubtful = ty.sent != ty.received || (arg.count_in_out && arg.same_count.is_some());
            !right && ty.inline && ty.count != Count::Unlimited && !memory && !doubtful
        }
        // Time-outs and reply ports need a message, as do sequence numbers.
        _ => false,
    }
}

/// The arguments in the block.
pub fn arguments(routine: &Routine) -> impl Iterator<Item = &Arg> {
    routine.args.iter().filter(|a| a.in_request() || a.in_reply())
}

/// Whether the block has the value itself, as an integer of that many bytes. Else it has a pointer.
pub fn word(arg: &Arg) -> Option<u32> {
    let ty = &arg.ty;
    (!arg.in_reply() && ty.count == Count::One && matches!(ty.bytes, 1 | 2 | 4 | 8)).then_some(ty.bytes)
}

/// Whether the number of elements is a parameter in C, and in the block.
pub fn has_count(arg: &Arg) -> bool {
    arg.ty.varies() && !arg.ty.string && arg.same_count.is_none()
}

/// Words of 8 bytes that the block takes.
pub fn block_words(routine: &Routine) -> u32 {
    let aligned = |at: u32, size: u32| at.next_multiple_of(size) + size;
    let end = arguments(routine).fold(0, |at, arg| {
        let at = aligned(at, word(arg).unwrap_or(8));
        if has_count(arg) { aligned(at, if arg.in_reply() { 8 } else { 4 }) } else { at }
    });
    end.div_ceil(8)
}

/// What of an argument is yes or no: whether it goes in, comes out, is a string, has room that the caller tells of, shares
/// the count of the array before it.
pub fn flags(arg: &Arg) -> [bool; 5] {
    [arg.in_request(), arg.in_reply(), arg.ty.string, arg.count_in_out, arg.same_count.is_some()]
}

/// What both sides must agree on to meet: a hash of the routine's name and of all that decides how its arguments are
/// passed and copied. slipway_mach::mig computes the same.
pub fn signature(routine: &Routine) -> u64 {
    let mut hash = Fnv::new();
    hash.text(&routine.name);
    for arg in arguments(routine) {
        let ty = &arg.ty;
        let (form, most) = match ty.count {
            Count::One => (0, 1),
            Count::Fixed(n) => (1, n),
            Count::UpTo(n) => (2, n),
            Count::Unlimited => (3, 0),
        };
        let flags = flags(arg).into_iter().fold(0, |all, flag| all << 1 | u32::from(flag));
        let code = if let Wire::Known(name) = ty.sent { u32::from(name.code) } else { u32::MAX };
        for number in [flags, code, form, most, ty.bits, ty.units, ty.bytes, ty.align] {
            hash.number(number);
        }
    }
    hash.0
}

/// FNV-1a, 64 bits.
struct Fnv(u64);

impl Fnv {
    fn new() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }

    fn byte(&mut self, byte: u8) {
        self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
    }

    fn number(&mut self, number: u32) {
        number.to_le_bytes().into_iter().for_each(|b| self.byte(b));
    }

    fn text(&mut self, text: &str) {
        text.bytes().for_each(|b| self.byte(b));
        self.byte(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostics::Diagnostics;
    use crate::source::Source;

    fn routine(head: &str, args: &str) -> Routine {
        let types = "type p = MACH_MSG_TYPE_COPY_SEND; type m = MACH_MSG_TYPE_MAKE_SEND; type a = array[*:5] of short;\
                     type b = array[*:6] of short; type u = array[] of int; type f = ^array[] of int; type s = c_string[8];";
        let text = format!("subsystem s 100; {types} {head} r({args});");
        let source = Source::new("t.defs", text);
        let mut diagnostics = Diagnostics::default();
        let file = crate::syntax::parse(&source, None, &mut diagnostics);
        let interface = crate::check::check(&file, &source, &mut diagnostics).expect("the file is correct");
        interface.routines().next().expect("it has a routine").clone()
    }

    #[test]
    fn only_plain_routines_trap() {
        for (yes, head, args) in [
            (true, "routine", "x : p"),
            (true, "routine", "x : p; y : int; out z : a; inout s : s"),
            (true, "routine", "y : int; x : p"),
            (false, "simpleroutine", "x : p"),
            (false, "routine", "x : m"),
            (false, "routine", "x : p; y : p"),
            (false, "routine", "x : p; out y : m"),
            (false, "routine", "x : p; y : u"),
            (false, "routine", "x : p; out y : f"),
            (false, "routine", "x : p; waittime y : int"),
            (false, "routine", "x : p; msgoption y : int"),
            (false, "routine", "x : p; msgseqno y : int"),
            (false, "waittime 5; routine", "x : p"),
            (false, "msgoption X; routine", "x : p"),
        ] {
            assert_eq!(is_eligible(&routine(head, args)), yes, "{head} r({args})");
        }
    }

    #[test]
    fn whatever_decides_how_to_copy_is_in_the_signature() {
        let different = [
            "x : p",
            "x : p; y : int",
            "x : p; y : short",
            "x : p; out y : int",
            "x : p; inout y : int",
            "x : p; y : a",
            "x : p; y : b",
            "x : p; out y : a",
            "x : p; out y : a, countinout",
            "x : p; y : s",
            "x : p; y : a; z : a",
            "x : p; y : a; z : a, samecount",
        ];
        let signatures: std::collections::BTreeSet<_> =
            different.iter().map(|args| signature(&routine("routine", args))).collect();
        assert_eq!(signatures.len(), different.len());
        for same in ["q : p; z : a", "y : a; x : p", "x : p; y : a, const"] {
            assert_eq!(signature(&routine("routine", "x : p; y : a")), signature(&routine("routine", same)), "{same}");
        }
    }
}
