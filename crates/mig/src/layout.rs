//! Where everything lies in a message of the typed dialect on 64-bit machines.
//!
//! A message is a header and a sequence of items; each item is a type word of 8 bytes and its data, padded to 8
//! bytes. An item of varying length shifts all behind it, so a message is cut into *parts*: what has a fixed place
//! behind the start of its part. Each part but the last ends with an item of varying length.

use crate::model::{Arg, Count, Routine, Type};

/// Bytes of a message's header.
pub const HEADER: u32 = 32;
/// Bytes of a type word.
pub const TYPE_WORD: u32 = 8;
/// Everything in a message is aligned to so many bytes.
pub const ALIGN: u32 = 8;
/// An array without a limit is sent in the message up to so many bytes.
pub const INLINE_LIMIT: u32 = 2048;

/// What an item carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Item {
    /// The return code of a reply.
    RetCode,
    /// An argument, by its index.
    Data(usize),
    /// The room that the caller has for an array, by the array's index.
    Room(usize),
}

/// A part of a message.
#[derive(Debug)]
pub struct Part {
    /// Its offset if all before it has its full length.
    pub offset: u32,
    /// Bytes that it has in any case.
    pub fixed: u32,
    /// Bytes that its last item adds at most.
    pub tail: u32,
    /// Its items.
    pub items: Vec<Item>,
}

/// Whether the message carries rights or out-of-line data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Complex {
    /// Never.
    No,
    /// Always.
    Yes,
    /// It depends on how long an array is.
    Maybe,
}

/// A request or a reply.
#[derive(Debug)]
pub struct Message {
    /// Its parts: at least one.
    pub parts: Vec<Part>,
    /// Bytes at most.
    pub most: u32,
    /// Whether it carries rights or memory.
    pub complex: Complex,
}

impl Message {
    /// The request of a routine.
    pub fn request(routine: &Routine) -> Self {
        let mut items = Vec::new();
        for (index, arg) in routine.args.iter().enumerate() {
            if arg.in_request() {
                items.push(Item::Data(index));
            } else if arg.count_in_out {
                items.push(Item::Room(index));
            }
        }
        Self::new(&items, &routine.args)
    }

    /// The reply of a routine.
    pub fn reply(routine: &Routine) -> Self {
        let mut items = vec![Item::RetCode];
        let out = |(index, arg): (usize, &Arg)| arg.in_reply().then_some(Item::Data(index));
        items.extend(routine.args.iter().enumerate().filter_map(out));
        Self::new(&items, &routine.args)
    }

    /// Bytes at least: with all arrays empty.
    pub fn least(&self) -> u32 {
        self.parts.iter().map(|p| p.fixed).sum()
    }

    /// Whether every message has the same length.
    pub fn is_fixed(&self) -> bool {
        self.parts.iter().all(|p| p.tail == 0)
    }

    fn new(items: &[Item], args: &[Arg]) -> Self {
        let mut parts = vec![Part { offset: 0, fixed: HEADER, tail: 0, items: Vec::new() }];
        let mut complex = Complex::No;
        for item in items {
            let (fixed, tail) = match item {
                Item::RetCode | Item::Room(_) => (ALIGN, 0),
                Item::Data(index) => {
                    complex = complex.and(Complex::of(&args[*index].ty));
                    let bytes = inline_bytes(&args[*index].ty) as u32;
                    if is_varying(&args[*index].ty) { (0, bytes) } else { (bytes, 0) }
                }
            };
            let last = parts.len() - 1;
            if parts[last].tail > 0 {
                let offset = parts[last].offset + parts[last].fixed + parts[last].tail;
                parts.push(Part { offset, fixed: 0, tail: 0, items: Vec::new() });
            }
            let last = parts.len() - 1;
            parts[last].fixed += TYPE_WORD + fixed;
            parts[last].tail = tail;
            parts[last].items.push(*item);
        }
        let most = parts.iter().map(|p| p.fixed + p.tail).sum();
        Self { parts, most, complex }
    }
}

impl Complex {
    fn of(ty: &Type) -> Self {
        if ty.sent.is_right() || !ty.inline {
            Complex::Yes
        } else if ty.count == Count::Unlimited {
            Complex::Maybe
        } else {
            Complex::No
        }
    }

    fn and(self, other: Self) -> Self {
        match (self, other) {
            (Complex::Yes, _) | (_, Complex::Yes) => Complex::Yes,
            (Complex::Maybe, _) | (_, Complex::Maybe) => Complex::Maybe,
            _ => Complex::No,
        }
    }
}

/// Whether the item's length in the message varies.
pub fn is_varying(ty: &Type) -> bool {
    ty.inline && ty.varies()
}

/// Elements that lie in the message at most.
pub fn inline_elements(ty: &Type) -> u32 {
    match ty.count {
        Count::One => 1,
        Count::Fixed(n) | Count::UpTo(n) => n,
        Count::Unlimited => (INLINE_LIMIT / ty.wire_bytes()).max(1),
    }
}

/// Bytes of an item's data at most, with padding and without the type word.
pub fn inline_bytes(ty: &Type) -> u64 {
    if !ty.inline {
        return u64::from(ALIGN);
    }
    let bytes = u64::from(inline_elements(ty)) * u64::from(ty.wire_bytes());
    bytes.next_multiple_of(u64::from(ALIGN))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostics::Diagnostics;
    use crate::source::Source;

    fn routine(args: &str) -> Routine {
        let text = format!("subsystem s 100; type p = MACH_MSG_TYPE_COPY_SEND; type a = array[*:5] of short; routine r({args});");
        let source = Source::new("t.defs", text);
        let mut diagnostics = Diagnostics::default();
        let file = crate::syntax::parse(&source, None, &mut diagnostics);
        let interface = crate::check::check(&file, &source, &mut diagnostics).expect("the file is correct");
        interface.routines().next().expect("it has a routine").clone()
    }

    #[test]
    fn numbers_are_padded_to_eight_bytes() {
        let request = Message::request(&routine("s : p; x : int; y : char; q : p"));
        assert_eq!((request.most, request.least(), request.complex), (32 + 3 * 16, 32 + 3 * 16, Complex::Yes));
        assert_eq!(Message::reply(&routine("s : p")).most, 48);
    }

    #[test]
    fn a_part_ends_with_what_varies() {
        let request = Message::request(&routine("s : p; x : int; a : a; b : a; y : int"));
        let parts: Vec<_> = request.parts.iter().map(|p| (p.offset, p.fixed, p.tail)).collect();
        assert_eq!(parts, [(0, 32 + 16 + 8, 16), (72, 8, 16), (96, 16, 0)]);
        assert_eq!((request.most, request.least(), request.complex), (112, 80, Complex::No));
    }
}
