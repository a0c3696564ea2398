//! Checks of a received message against the interface. Nothing is taken out of a message before all of it was
//! checked, so a message that is refused can be destroyed as a whole.

use super::helpers::Helper;
use super::messages::{Kind, outside_type_word, type_word};
use super::view::{Side, count_name, has_count};
use super::writer::Writer;
use crate::layout::{Complex, Item, Message, inline_elements, is_varying};
use crate::model::{Arg, Count, Routine, Wire};

/// A message that a stub received.
pub struct Received<'a> {
    /// The routine it belongs to.
    pub routine: &'a Routine,
    /// Its layout.
    pub message: &'a Message,
    /// Request or reply.
    pub kind: Kind,
    /// Who received it.
    pub side: Side,
    /// What to do with a message that is not as it should be.
    pub fail: Vec<String>,
}

impl Received<'_> {
    fn pointer(&self, part: usize) -> String {
        self.kind.pointer(part, self.side)
    }

    /// Conditions of a message whose header is wrong: the length, and whether it has rights or memory.
    pub fn header_conditions(&self) -> Vec<String> {
        let head = self.pointer(0);
        let length = if self.message.is_fixed() {
            format!("{head}->Head.msgh_size != {}", self.message.most)
        } else {
            format!("{head}->Head.msgh_size < {}", self.message.least())
        };
        let mut conditions = vec![length];
        let bit = format!("({head}->Head.msgh_bits & MACH_MSGH_BITS_COMPLEX)");
        match self.message.complex {
            Complex::No => conditions.push(format!("{bit} != 0")),
            // Without this bit the body was not looked at: what seems to be a right is just a number.
            Complex::Yes => conditions.push(format!("{bit} == 0")),
            Complex::Maybe => {}
        }
        conditions
    }

    /// The locals that [`Self::body`] sets.
    pub fn locals(&self) -> Vec<String> {
        let parts = 1..self.message.parts.len();
        let mut locals: Vec<_> = parts.map(|i| format!("{} *{};", self.kind.structure(i), self.pointer(i))).collect();
        for arg in self.arguments().filter(|a| a.ty.varies()) {
            locals.push(format!("mach_msg_type_number_t {};", received_count(arg)));
            if is_varying(&arg.ty) {
                locals.push(format!("mach_msg_size_t {}Size;", arg.name));
            }
        }
        if !self.message.is_fixed() {
            locals.push("mach_msg_size_t `mig_more;".to_owned());
        }
        locals
    }

    fn arguments(&self) -> impl Iterator<Item = &Arg> {
        self.message.parts.iter().flat_map(|p| &p.items).filter_map(|item| match item {
            Item::Data(index) => Some(&self.routine.args[*index]),
            _ => None,
        })
    }

    /// Checks the items behind the header; the header's conditions are checked already.
    pub fn body(&self, w: &mut Writer) {
        if !self.message.is_fixed() {
            w.line(format!("`mig_more = {}->Head.msgh_size - {};", self.pointer(0), self.message.least()));
        }
        for (index, part) in self.message.parts.iter().enumerate() {
            let mut conditions = Vec::new();
            let pointer = self.pointer(index);
            for item in &part.items {
                self.item_conditions(w, *item, &pointer, &mut conditions);
            }
            w.guard(&conditions, &self.fail);
            for item in &part.items {
                if let Item::Data(arg) = item {
                    self.varying(w, &self.routine.args[*arg], &pointer, index);
                }
            }
        }
        if !self.message.is_fixed() {
            w.guard(&["`mig_more != 0".to_owned()], &self.fail);
        }
        self.same_counts(w);
    }

    fn item_conditions(&self, w: &mut Writer, item: Item, pointer: &str, conditions: &mut Vec<String>) {
        let differs = w.call(Helper::Differs);
        match item {
            // Compared with the header, as it tells success from failure.
            Item::RetCode => {}
            Item::Room(index) => {
                let name = &self.routine.args[index].name;
                conditions.push(format!("{differs}(&{pointer}->{name}CntType, &{name}CntType, 0)"));
            }
            Item::Data(index) => {
                let arg = &self.routine.args[index];
                if arg.ty.inline && arg.ty.count == Count::Unlimited {
                    return;
                }
                self.type_conditions(w, arg, pointer, conditions);
            }
        }
    }

    fn type_conditions(&self, w: &mut Writer, arg: &Arg, pointer: &str, conditions: &mut Vec<String>) {
        let (name, ty) = (&arg.name, &arg.ty);
        let polymorphic = self.wire(arg) == Wire::Polymorphic;
        let vary = vary(w, polymorphic, ty.varies(), !ty.inline);
        let differs = w.call(Helper::Differs);
        conditions.push(format!("{differs}(&{pointer}->{name}Type, &{}, {vary})", type_word(arg, self.kind)));
        if polymorphic {
            conditions.push(format!("!MACH_MSG_TYPE_PORT_ANY_RIGHT({pointer}->{name}Type.msgt_name)"));
        }
        conditions.extend(count_conditions(arg, pointer));
        if let (Count::Fixed(n), true, true) = (ty.count, ty.string, ty.inline) {
            conditions.push(format!("memchr({pointer}->{name}, 0, {n}) == NULL"));
        }
    }

    fn wire(&self, arg: &Arg) -> Wire {
        self.side.wire(arg, false)
    }

    /// Takes the length of an item that varies, and finds the part behind it.
    fn varying(&self, w: &mut Writer, arg: &Arg, pointer: &str, part: usize) {
        let (name, ty) = (&arg.name, &arg.ty);
        if !ty.varies() {
            return;
        }
        let count = received_count(arg);
        if ty.inline && ty.count == Count::Unlimited {
            self.unlimited(w, arg, pointer);
        }
        let units = if ty.units == 1 { String::new() } else { format!(" / {}", ty.units) };
        w.line(format!("{count} = {pointer}->{name}Type.msgt_number{units};"));
        if !ty.inline {
            return;
        }
        let round = w.call(Helper::Round);
        let bytes = times(&count, ty.wire_bytes());
        if ty.count == Count::Unlimited {
            w.line(format!("{name}Size = {pointer}->{name}Type.msgt_inline ? {round}({bytes}) : 8;"));
        } else {
            w.line(format!("{name}Size = {round}({bytes});"));
        }
        w.guard(&[format!("{name}Size > `mig_more")], &self.fail);
        w.line(format!("`mig_more -= {name}Size;"));
        if ty.string {
            w.guard(&[format!("memchr({pointer}->{name}, 0, {count}) == NULL")], &self.fail);
        }
        if part + 1 < self.message.parts.len() {
            let (next, structure) = (self.kind.structure(part + 1), self.kind.structure(part));
            let at = format!("(char *) {pointer} + offsetof({structure}, {name}) + {name}Size");
            w.line(format!("{} = ({next} *) (void *) ({at});", self.pointer(part + 1)));
        }
    }

    /// An array without a limit has one of two type words.
    fn unlimited(&self, w: &mut Writer, arg: &Arg, pointer: &str) {
        let name = &arg.name;
        let polymorphic = self.wire(arg) == Wire::Polymorphic;
        let (inside, outside) = (vary(w, polymorphic, true, false), vary(w, polymorphic, true, true));
        let differs = w.call(Helper::Differs);
        let right = format!("!MACH_MSG_TYPE_PORT_ANY_RIGHT({pointer}->{name}Type.msgt_name)");
        let got = format!("&{pointer}->{name}Type");
        let mut here = vec![format!("{differs}({got}, &{}, {inside})", type_word(arg, self.kind))];
        let mut there = vec![format!("{differs}({got}, &{}, {outside})", outside_type_word(arg, self.kind))];
        there.push(format!("({}->Head.msgh_bits & MACH_MSGH_BITS_COMPLEX) == 0", self.pointer(0)));
        if polymorphic {
            here.push(right.clone());
            there.push(right);
        }
        let number = format!("{pointer}->{name}Type.msgt_number");
        here.push(format!("{number} > {}", u64::from(inline_elements(&arg.ty)) * u64::from(arg.ty.units)));
        if arg.ty.units > 1 {
            here.push(format!("{number} % {} != 0", arg.ty.units));
            there.push(format!("{number} % {} != 0", arg.ty.units));
        }
        let condition = format!("{pointer}->{name}Type.msgt_inline");
        w.either(&condition, |w| w.guard(&here, &self.fail), |w| w.guard(&there, &self.fail));
    }

    fn same_counts(&self, w: &mut Writer) {
        for arg in self.arguments() {
            if let Some(owner) = arg.same_count.and_then(|i| self.routine.args.get(i)) {
                let condition = format!("{} != {}", received_count(arg), received_count(owner));
                w.guard(&[condition], &self.fail);
            }
        }
    }
}

/// The local with the number of elements that were received, or that the server's routine sets.
pub fn received_count(arg: &Arg) -> String {
    format!("{}Number", arg.name)
}

/// The variable with the number of elements to send: the user's parameter.
pub fn sent_count(routine: &Routine, arg: &Arg) -> String {
    let name = count_name(&routine.args, arg);
    if arg.in_reply() && has_count(arg) { format!("*{name}") } else { name }
}

/// `count * size`, shortened for bytes.
pub fn times(count: &str, size: u32) -> String {
    if size == 1 { count.to_owned() } else { format!("{count} * {size}") }
}

fn count_conditions(arg: &Arg, pointer: &str) -> Vec<String> {
    let (name, ty) = (&arg.name, &arg.ty);
    let mut conditions = Vec::new();
    let number = format!("{pointer}->{name}Type.msgt_number");
    if let Count::UpTo(n) = ty.count {
        conditions.push(format!("{number} > {}", u64::from(n) * u64::from(ty.units)));
    }
    if ty.varies() && ty.units > 1 {
        conditions.push(format!("{number} % {} != 0", ty.units));
    }
    conditions
}

fn vary(w: &mut Writer, name: bool, number: bool, deallocate: bool) -> String {
    let bits = [(name, "`MIG_VARY_NAME"), (number, "`MIG_VARY_NUMBER"), (deallocate, "`MIG_VARY_DEALLOCATE")];
    let bits: Vec<_> = bits.into_iter().filter(|(yes, _)| *yes).map(|(_, bit)| bit).collect();
    if bits.is_empty() {
        return "0".to_owned();
    }
    w.call(Helper::Bits);
    bits.join(" | ")
}
