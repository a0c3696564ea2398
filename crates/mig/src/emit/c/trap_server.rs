//! The server's side of a trap: the copies that make what its routine sees, and what its caller sees, the same as with
//! messages.
//!
//! Arrays that go in are copied once, because the routine may write into its own; none is made of those that the
//! interface calls `const`. What comes out is copied once: until the routine has succeeded the caller's memory must be as
//! it was, and no interface says that a routine can't fail. InOut arrays need both copies.

use super::Options;
use super::checks::{received_count, times};
use super::helpers::Helper;
use super::server::{Stub, convert};
use super::server_reply::has_out_local;
use super::trap;
use super::view::{Side, has_count};
use super::writer::Writer;
use crate::layout::inline_elements;
use crate::model::{Arg, Count, Interface, Role, Routine};

/// The trap function's name.
fn name(routine: &Routine) -> String {
    format!("`_T{}", routine.name)
}

/// Whether the routine gets a pointer to elements.
fn is_array(arg: &Arg) -> bool {
    arg.ty.count != Count::One
}

/// Whether the routine may be given the caller's own array.
fn is_lent(arg: &Arg) -> bool {
    // A string of fixed length is followed by NULs in a message, but not at the caller's.
    let cleared = arg.ty.string && !arg.ty.varies();
    is_array(arg) && arg.constant && !arg.in_reply() && !cleared
}

/// Whether the trap function has an array for the routine. One that is lent may be a string that has to be cut.
fn has_room(arg: &Arg) -> bool {
    is_array(arg) && (!is_lent(arg) || arg.ty.string)
}

/// Whether the value has a local of the type that it has in a message.
fn has_memory(arg: &Arg) -> bool {
    !is_array(arg) && (!arg.in_reply() || has_out_local(arg))
}

/// Whether what the routine gets has a local of its own.
fn has_argument(arg: &Arg) -> bool {
    match arg.role {
        Role::Data { reply: true, .. } => !is_array(arg),
        _ => arg.ty.in_tran.is_some() || is_lent(arg),
    }
}

/// The trap function of a routine.
pub fn function(w: &mut Writer, stub: &Stub<'_>) {
    let routine = stub.routine;
    w.gap();
    w.line("/* The same by trap. */");
    w.line(format!("static kern_return_t {}(mach_port_t `mig_port, void *`mig_arguments, void *`mig_context)", name(routine)));
    let rooms: u64 = trap::arguments(routine).filter(|a| has_room(a)).map(|a| crate::layout::inline_bytes(&a.ty)).sum();
    let body = Body { stub, heap: rooms > u64::from(stub.stack_limit) };
    w.block("", "", |w| {
        body.declarations(w, rooms > 0);
        body.limits(w);
        body.allocate(w);
        body.prepare(w);
        body.call(w);
        body.release(w);
        body.results(w);
    });
}

struct Body<'s, 'a> {
    stub: &'s Stub<'a>,
    /// Whether the arrays are too large for the stack.
    heap: bool,
}

impl<'a> Body<'_, 'a> {
    fn routine(&self) -> &'a Routine {
        self.stub.routine
    }

    fn arguments(&self) -> impl Iterator<Item = &'a Arg> {
        trap::arguments(self.stub.routine)
    }

    /// The argument whose count is that of this one.
    fn owner(&self, arg: &'a Arg) -> &'a Arg {
        arg.same_count.and_then(|i| self.routine().args.get(i)).unwrap_or(arg)
    }

    /// The C expression of the number of elements that come in.
    fn count(&self, arg: &'a Arg) -> String {
        match arg.ty.count {
            Count::UpTo(_) if arg.in_reply() => received_count(self.owner(arg)),
            Count::UpTo(_) => format!("`mig_in->{}Cnt", self.owner(arg).name),
            Count::One | Count::Fixed(_) | Count::Unlimited => inline_elements(&arg.ty).to_string(),
        }
    }

    /// Copies the elements of an array.
    fn copy(&self, w: &mut Writer, arg: &'a Arg, to: &str, from: &str) {
        let count = self.count(arg);
        if let Count::Fixed(n) = arg.ty.count {
            w.line(format!("memcpy({to}, {from}, {});", n * arg.ty.bytes));
        } else {
            // Without elements there may be no array.
            w.line(format!("if ({count} != 0)"));
            w.line(format!("\tmemcpy({to}, {from}, {});", times(&count, arg.ty.bytes)));
        }
    }

    fn leave(&self, code: &str) -> Vec<String> {
        let free = self.heap.then(|| "mig_trap_free(`mig_room);".to_owned());
        free.into_iter().chain([format!("return {code};")]).collect()
    }

    fn declarations(&self, w: &mut Writer, rooms: bool) {
        let any = self.arguments().next().is_some();
        if any {
            trap::structure(w, self.routine());
        }
        if rooms {
            w.block("typedef struct", " `Rooms;", |w| {
                for arg in self.arguments().filter(|a| has_room(a)) {
                    let (name, ty) = (&arg.name, &arg.ty);
                    // As in a message.
                    let aligned = "__attribute__((aligned(8)))";
                    w.line(format!("{} {name}[{}] {aligned};", ty.element, inline_elements(ty)));
                }
            });
        }
        w.gap();
        if any {
            w.line("const `Arguments *const `mig_in = `mig_arguments;");
        }
        if rooms && self.heap {
            w.line("`Rooms *`mig_room;");
        } else if rooms {
            w.lines(["`Rooms `mig_rooms;", "`Rooms *const `mig_room = &`mig_rooms;"]);
        }
        for arg in self.routine().args.iter().filter(|a| Side::Server.has(a)) {
            self.locals(w, arg);
        }
        w.line("kern_return_t `mig_result;");
        w.gap();
        w.line("(void) `mig_context;");
        if !any {
            w.line("(void) `mig_arguments;");
        }
        if self.routine().args.iter().any(|a| a.role == Role::RequestPort) {
            return;
        }
        w.line("(void) `mig_port;");
    }

    fn locals(&self, w: &mut Writer, arg: &'a Arg) {
        let (name, ty) = (&arg.name, &arg.ty);
        if has_memory(arg) && arg.role != Role::RequestPort {
            w.line(format!("{} {name}Memory;", ty.message_type));
        }
        if has_argument(arg) {
            w.line(if is_lent(arg) {
                format!("void *{name}Arg;")
            } else if arg.in_reply() && !has_out_local(arg) {
                format!("{} {name}Arg;", ty.message_type)
            } else {
                format!("{} {name}Arg;", ty.server_type)
            });
        }
        if arg.in_reply() && has_count(arg) {
            w.line(format!("mach_msg_type_number_t {};", received_count(arg)));
        }
    }

    /// The stub has looked already, but an entry of a table can be called by anybody. The caller's own variables are
    /// read once, as other threads of its may write to them.
    fn limits(&self, w: &mut Writer) {
        let mut conditions = Vec::new();
        for arg in self.arguments().filter(|a| a.in_request() && !a.ty.string) {
            if arg.in_reply() && has_count(arg) {
                w.line(format!("{} = *`mig_in->{}Cnt;", received_count(arg), arg.name));
            }
            if let Count::UpTo(n) = arg.ty.count {
                conditions.push(format!("{} > {n}", self.count(arg)));
            }
        }
        w.guard(&conditions, &["return MIG_ARRAY_TOO_LARGE;".to_owned()]);
    }

    fn allocate(&self, w: &mut Writer) {
        if self.heap {
            w.line("`mig_room = mig_trap_allocate(sizeof *`mig_room);");
            w.guard(&["`mig_room == NULL".to_owned()], &["return KERN_RESOURCE_SHORTAGE;".to_owned()]);
        }
    }

    fn prepare(&self, w: &mut Writer) {
        for arg in self.routine().args.iter().filter(|a| Side::Server.has(a)) {
            if arg.role == Role::RequestPort {
                if arg.ty.in_tran.is_some() {
                    w.line(format!("{}Arg = {};", arg.name, convert(arg, "`mig_port")));
                }
            } else if arg.in_request() {
                self.input(w, arg);
            } else {
                self.output(w, arg);
            }
        }
    }

    fn input(&self, w: &mut Writer, arg: &'a Arg) {
        let (name, ty) = (&arg.name, &arg.ty);
        let (room, from) = (format!("`mig_room->{name}"), format!("`mig_in->{name}"));
        if !is_array(arg) {
            let target = if has_memory(arg) { format!("{name}Memory") } else { format!("{name}Arg") };
            let reference = if trap::word(arg).is_some() { "&" } else { "" };
            w.line(format!("memcpy(&{target}, {reference}{from}, sizeof {target});"));
            if has_memory(arg) && has_argument(arg) {
                w.line(format!("{name}Arg = {};", convert(arg, &target)));
            }
        } else if is_lent(arg) && ty.string {
            let n = inline_elements(ty);
            w.line(format!("{name}Arg = (void *) (uintptr_t) {from};"));
            w.block(&format!("if (memchr({from}, 0, {n}) == NULL)"), "", |w| {
                w.line(format!("memcpy({room}, {from}, {});", n - 1));
                w.line(format!("{room}[{}] = '\\0';", n - 1));
                w.line(format!("{name}Arg = {room};"));
            });
        } else if is_lent(arg) {
            w.line(format!("{name}Arg = (void *) (uintptr_t) {from};"));
        } else if ty.string {
            let copy = self.stub.support(if ty.varies() { "mig_strncpy" } else { "mig_strncpy_zerofill" });
            w.line(format!("(void) {copy}({room}, {from}, {});", inline_elements(ty)));
        } else {
            self.copy(w, arg, &room, &from);
        }
    }

    /// What comes out begins as it does in a reply.
    fn output(&self, w: &mut Writer, arg: &'a Arg) {
        let (name, ty) = (&arg.name, &arg.ty);
        match ty.count {
            Count::One => w.line(format!("memset(&{name}Arg, 0, sizeof {name}Arg);")),
            _ if ty.string => w.line(format!("`mig_room->{name}[0] = '\\0';")),
            Count::UpTo(n) if arg.count_in_out && has_count(arg) => {
                let count = received_count(arg);
                w.line(format!("{count} = *`mig_in->{name}Cnt;"));
                w.guard(&[format!("{count} > {n}")], &[format!("{count} = {n};")]);
            }
            Count::UpTo(n) if has_count(arg) => w.line(format!("{} = {n};", received_count(arg))),
            Count::UpTo(_) | Count::Unlimited => {}
            Count::Fixed(_) => w.line(format!("memset(`mig_room->{name}, 0, sizeof `mig_room->{name});")),
        }
    }

    fn call(&self, w: &mut Writer) {
        let routine = self.routine();
        let mut list = Vec::new();
        for arg in routine.args.iter().filter(|a| Side::Server.has(a)) {
            list.push(self.actual(arg));
            if has_count(arg) {
                let count = received_count(arg);
                list.push(if arg.in_reply() { format!("&{count}") } else { self.count(arg) });
            }
        }
        w.gap();
        w.line(format!("`mig_result = {}({});", routine.server_name, list.join(", ")));
    }

    fn actual(&self, arg: &'a Arg) -> String {
        let name = &arg.name;
        if arg.role == Role::RequestPort {
            return if has_argument(arg) { format!("{name}Arg") } else { "`mig_port".to_owned() };
        }
        let reference = if arg.in_reply() { "&" } else { "" };
        if has_argument(arg) {
            format!("{}{name}Arg", if is_array(arg) { "" } else { reference })
        } else if is_array(arg) {
            format!("`mig_room->{name}")
        } else {
            format!("{name}Memory")
        }
    }

    fn release(&self, w: &mut Writer) {
        for arg in self.routine().args.iter().filter(|a| Side::Server.has(a) && !a.in_reply()) {
            if let Some(destructor) = &arg.ty.destructor {
                w.line(format!("{destructor}({});", self.actual(arg)));
            }
        }
        let code = w.call(Helper::TrapCode);
        w.guard(&["`mig_result != KERN_SUCCESS".to_owned()], &self.leave(&format!("{code}(`mig_result)")));
    }

    fn results(&self, w: &mut Writer) {
        let outputs: Vec<_> = self.arguments().filter(|a| a.in_reply()).collect();
        let too_large = self.leave("MIG_ARRAY_TOO_LARGE");
        let mut conditions = Vec::new();
        for arg in outputs.iter().filter(|a| !a.ty.string) {
            if let Count::UpTo(n) = arg.ty.count {
                conditions.push(format!("{} > {n}", self.count(arg)));
            }
        }
        w.guard(&conditions, &too_large);
        for arg in outputs.iter().filter(|a| has_memory(a)) {
            let argument = format!("{}Arg", arg.name);
            let value = arg.ty.out_tran.as_ref().map_or(argument.clone(), |t| format!("{}({argument})", t.function));
            w.line(format!("{}Memory = {value};", arg.name));
        }
        // The room that the caller has is looked at last, as it is with a reply.
        let told = outputs.iter().filter(|a| a.count_in_out && a.ty.varies() && !a.ty.string);
        let told: Vec<_> = told.map(|a| format!("{} > *`mig_in->{}Cnt", self.count(a), self.owner(a).name)).collect();
        w.guard(&told, &too_large);
        for arg in outputs {
            let (name, ty) = (&arg.name, &arg.ty);
            let (room, to) = (format!("`mig_room->{name}"), format!("`mig_in->{name}"));
            if !is_array(arg) {
                let from = if has_memory(arg) { format!("{name}Memory") } else { format!("{name}Arg") };
                w.line(format!("memcpy({to}, &{from}, sizeof {from});"));
            } else if ty.string {
                w.line(format!("{room}[{}] = '\\0';", inline_elements(ty) - 1));
                w.line(format!("memcpy({to}, {room}, strlen({room}) + 1);"));
            } else {
                self.copy(w, arg, &to, &room);
            }
            if has_count(arg) {
                w.line(format!("*`mig_in->{name}Cnt = {};", received_count(arg)));
            }
        }
        w.lines(self.leave("KERN_SUCCESS"));
    }
}

/// The table that a server registers for a port.
pub fn table(w: &mut Writer, interface: &Interface, options: &Options) {
    let name_of = &options.name(interface);
    w.gap();
    w.line("/* The routines that can be called by trap, for mach_port_register_traps. */");
    if interface.routines().any(trap::is_eligible) {
        w.block(&format!("static const struct mach_trap_entry `mig_{name_of}_entries[] ="), ";", |w| {
            for routine in &interface.routines {
                w.line(match routine.as_ref().filter(|r| trap::is_eligible(r)) {
                    Some(routine) => format!("{{ {}, UINT64_C({:#018x}) }},", name(routine), trap::signature(routine)),
                    None => "{ 0, 0 },".to_owned(),
                });
            }
        });
        w.line(format!("extern const mach_trap_table_t {name_of}_traps;"));
        w.block(&format!("const mach_trap_table_t {name_of}_traps ="), ";", |w| {
            let count = interface.routines.len();
            w.line(format!("MACH_TRAP_VERSION, {}, {count}, `mig_{name_of}_entries, 0", interface.base));
        });
        return;
    }
    w.line(format!("extern const mach_trap_table_t {name_of}_traps;"));
    w.line(format!("const mach_trap_table_t {name_of}_traps = {{ MACH_TRAP_VERSION, {}, 0, 0, 0 }};", interface.base));
}
