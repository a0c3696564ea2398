//! What several kinds of files have in common: banners, comments, includes.

use std::collections::BTreeSet;

use super::Options;
use super::names::OWN;
use super::view::Side;
use crate::model::{ImportKind, Interface, Routine};

/// The comment at the top of a file.
pub fn banner(interface: &Interface, what: &str) -> String {
    format!("/* {what} of the subsystem {}, made by mig. Do not edit: change the .defs file. */\n\n", interface.name)
}

/// The `#include`s of the files that the interface imports.
pub fn imports(interface: &Interface, kinds: &[ImportKind]) -> String {
    let mut seen = BTreeSet::new();
    let wanted = interface.imports.iter().filter(|i| kinds.contains(&i.kind));
    wanted.filter(|i| seen.insert(&i.file)).map(|i| format!("#include {}\n", i.file)).collect()
}

/// The front of a side's file of stubs, up to what they call: `includes` come behind those that all need.
pub fn head(interface: &Interface, options: &Options, side: Side, includes: &str) -> String {
    let (what, name, own) = match side {
        Side::User => ("User stubs", "user", ImportKind::User),
        Side::Server => ("Server stubs", "server", ImportKind::Server),
    };
    let mut head = banner(interface, what);
    head.push_str("#include <stddef.h>\n#include <stdint.h>\n");
    head.push_str(includes);
    head.push_str(&imports(interface, &[ImportKind::All, own, ImportKind::Internal]));
    if let Some(header) = options.header.as_ref().filter(|_| side == Side::User) {
        head.push_str(&format!("#include {header}\n"));
    }
    head.push('\n');
    if let Some(id) = &interface.rcs_id {
        let name = format!("mig_{}_{name}_rcsid", options.name(interface));
        head.push_str(&format!("extern const char {name}[];\nconst char {name}[] = {};\n\n", id.replace(OWN, "\\140")));
    }
    head.push_str(&size_checks(interface, side));
    head
}

/// The routine's declaration as a comment, broken into lines of a readable length.
pub fn comment(routine: &Routine) -> String {
    const WIDTH: usize = 104;
    let text = routine.text.replace("*/", "* /").replace("/*", "/ *");
    let place = routine.place.replace("*/", "* /").replace(OWN, "'");
    let mut lines = vec![format!("/* {place} (message {}):", routine.id)];
    let mut line = String::from(" *   ");
    for word in text.split(' ') {
        if line.len() + word.len() > WIDTH {
            lines.push(line.trim_end().to_owned());
            line = String::from(" *       ");
        }
        line.push_str(word);
        line.push(' ');
    }
    lines.push(format!("{} */", line.trim_end()));
    lines.join("\n")
}

/// Types whose size is known everywhere.
const FUNDAMENTAL: &[&str] = &[
    "char",
    "short",
    "int",
    "unsigned",
    "float",
    "double",
    "int8_t",
    "int16_t",
    "int32_t",
    "int64_t",
    "uint8_t",
    "uint16_t",
    "uint32_t",
    "uint64_t",
    "intptr_t",
    "uintptr_t",
    "mach_port_t",
    "mach_port_name_t",
    "kern_return_t",
    "boolean_t",
    "natural_t",
    "integer_t",
    "vm_offset_t",
    "vm_size_t",
    "vm_address_t",
];

/// Whether a C type of that name is an integer of 4 bytes.
pub fn is_integer(name: &str) -> bool {
    const MORE: &[&str] = &["mach_msg_type_number_t", "mach_msg_id_t", "vm_prot_t", "vm_inherit_t", "task_t", "ipc_space_t"];
    let wide = ["int64_t", "uint64_t", "intptr_t", "uintptr_t", "double", "float", "vm_offset_t", "vm_size_t", "vm_address_t"];
    MORE.contains(&name) || FUNDAMENTAL.contains(&name) && !wide.contains(&name)
}

/// Lines that do not compile where a C type is not as large as the interface says.
fn size_checks(interface: &Interface, side: Side) -> String {
    let mut checks = BTreeSet::new();
    for ty in interface.routines().flat_map(|r| &r.args).filter(|a| a.in_request() || a.in_reply()).map(|a| &a.ty) {
        if ty.by_value && ty.inline {
            checks.insert((side.message_type(ty).to_owned(), ty.bytes));
        } else {
            checks.insert((ty.element.clone(), ty.bytes));
            if !ty.inline {
                checks.insert((side.message_type(ty).to_owned(), 8));
            }
        }
    }
    checks.retain(|(name, _)| !FUNDAMENTAL.contains(&name.as_str()));
    if checks.is_empty() {
        return String::new();
    }
    let mut text = String::from("/* The sizes of C types that the interface counts on. */\n");
    for (name, bytes) in checks {
        let word = name.replace(' ', "_");
        text.push_str(&format!("extern char `mig_{word}_has_{bytes}_bytes[sizeof({name}) == {bytes} ? 1 : -1];\n"));
    }
    text.push('\n');
    text
}
