//! Where everything lies in a message of Darwin's dialect: the header; a count and descriptors, if there are any; an NDR record, if there is data; data.
//! What varies has its full length in the structure that stands for the message, and what is behind it is moved forward.

use super::super::view::Side;
use crate::layout::inline_elements;
use crate::model::{Arg, Count, Routine, Type};

/// What a descriptor is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A right.
    Port,
    /// Memory.
    Memory,
    /// Rights out of line.
    Rights,
}

/// What a piece of data is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Data {
    /// A number or a structure.
    Value,
    /// An array whose length is always the same.
    Array,
    /// A count, and as many elements.
    Varying,
    /// An offset that is 0, a length, and a text with its NUL.
    Text,
    /// The count of what is out of line.
    Count,
    /// The room that the caller has for an array.
    Room,
}

/// A request or a reply.
#[derive(Debug)]
pub struct Message<'a> {
    /// Descriptors.
    pub descriptors: Vec<(&'a Arg, Kind)>,
    /// Data.
    pub data: Vec<(&'a Arg, Data)>,
    /// Whether it has a return code: a reply without descriptors has.
    pub code: bool,
}

/// Whether the data is behind a pointer. What has no limit always is.
pub fn is_far(ty: &Type) -> bool {
    !ty.inline || ty.count == Count::Unlimited
}

/// Bytes of a piece of data at most, without what fills it up.
pub fn bytes(ty: &Type) -> u32 {
    inline_elements(ty) * ty.bytes
}

/// The length with what fills it up.
pub fn padded(bytes: u32) -> u32 {
    bytes.next_multiple_of(4)
}

impl<'a> Message<'a> {
    /// The request of a routine.
    pub fn request(routine: &'a Routine) -> Self {
        let mut message = Self { descriptors: Vec::new(), data: Vec::new(), code: false };
        for arg in &routine.args {
            if arg.in_request() {
                message.add(arg);
            } else if arg.count_in_out {
                message.data.push((arg, Data::Room));
            }
        }
        message
    }

    /// The reply of a routine.
    pub fn reply(routine: &'a Routine) -> Self {
        let mut message = Self { descriptors: Vec::new(), data: Vec::new(), code: false };
        routine.args.iter().filter(|arg| arg.in_reply()).for_each(|arg| message.add(arg));
        message.code = message.descriptors.is_empty();
        message
    }

    fn add(&mut self, arg: &'a Arg) {
        let ty = &arg.ty;
        let right = ty.sent.is_right();
        if is_far(ty) {
            self.descriptors.push((arg, if right { Kind::Rights } else { Kind::Memory }));
            if ty.varies() {
                self.data.push((arg, Data::Count));
            }
        } else if right {
            self.descriptors.push((arg, Kind::Port));
        } else {
            let data = match ty.count {
                _ if ty.string && ty.varies() => Data::Text,
                _ if ty.varies() => Data::Varying,
                _ if ty.by_value => Data::Value,
                _ => Data::Array,
            };
            self.data.push((arg, data));
        }
    }

    /// Whether it has descriptors.
    pub fn is_complex(&self) -> bool {
        !self.descriptors.is_empty()
    }

    /// Whether it has an NDR record.
    pub fn has_ndr(&self) -> bool {
        self.code || !self.data.is_empty()
    }

    /// What varies.
    pub fn varying(&self) -> impl Iterator<Item = &'a Arg> {
        self.data.iter().filter(|(_, data)| matches!(data, Data::Varying | Data::Text)).map(|(arg, _)| *arg)
    }

    /// Whether something lies behind what varies.
    pub fn moves(&self) -> bool {
        self.data.iter().rev().skip(1).any(|(_, data)| matches!(data, Data::Varying | Data::Text))
    }

    /// Bytes at most.
    pub fn most(&self) -> u32 {
        let head =
            24 + if self.is_complex() { 4 } else { 0 } + if self.has_ndr() { 8 } else { 0 } + if self.code { 4 } else { 0 };
        let descriptors: u32 = self.descriptors.iter().map(|(_, kind)| if *kind == Kind::Port { 12 } else { 16 }).sum();
        let data: u32 = self.data.iter().map(|(arg, data)| size(arg, *data)).sum();
        head + descriptors + data
    }

    /// Bytes at least: with all that varies empty.
    pub fn least(&self) -> u32 {
        self.most() - self.varying().map(|arg| padded(bytes(&arg.ty))).sum::<u32>()
    }

    /// The members of the structure, as a side sees them.
    pub fn members(&self, side: Side) -> Vec<String> {
        let mut members = vec!["mach_msg_header_t Head;".to_owned()];
        if self.is_complex() {
            members.push("mach_msg_body_t msgh_body;".to_owned());
        }
        for (arg, kind) in &self.descriptors {
            let kind = match kind {
                Kind::Port => "port",
                Kind::Memory => "ool",
                Kind::Rights => "ool_ports",
            };
            members.push(format!("mach_msg_{kind}_descriptor_t {};", arg.name));
        }
        if self.has_ndr() {
            members.push("NDR_record_t NDR;".to_owned());
        }
        if self.code {
            members.push("kern_return_t RetCode;".to_owned());
        }
        for (arg, data) in &self.data {
            let (name, ty) = (&arg.name, &arg.ty);
            let most = padded(bytes(ty));
            match data {
                Data::Value => {
                    members.push(format!("{} {name};", side.message_type(ty)));
                    if most > bytes(ty) {
                        members.push(format!("char {name}Pad[{}];", most - bytes(ty)));
                    }
                }
                Data::Array => members.push(format!("char {name}[{most}];")),
                Data::Varying => {
                    members.extend([format!("mach_msg_type_number_t {name}Cnt;"), format!("char {name}[{most}];")]);
                }
                Data::Text => members.extend([
                    format!("mach_msg_type_number_t {name}Offset;"),
                    format!("mach_msg_type_number_t {name}Cnt;"),
                    format!("char {name}[{most}];"),
                ]),
                Data::Count | Data::Room => members.push(format!("mach_msg_type_number_t {name}Cnt;")),
            }
        }
        members
    }
}

/// Bytes of a piece of data at most, in the message.
fn size(arg: &Arg, data: Data) -> u32 {
    let most = padded(bytes(&arg.ty));
    match data {
        Data::Value | Data::Array => most,
        Data::Varying => 4 + most,
        Data::Text => 8 + most,
        Data::Count | Data::Room => 4,
    }
}
