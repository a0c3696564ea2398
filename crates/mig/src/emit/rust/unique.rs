//! Names that would become one in Rust are told apart by a number: `newPort` and `new_port` of one routine, and functions that
//! translate more than one type.

use std::collections::{BTreeMap, BTreeSet};

use super::names::snake;
use super::translate::{self, Method};
use crate::model::{Interface, Role};

/// The interface with arguments and functions by names that are different in Rust, too.
pub fn named(interface: &Interface) -> Interface {
    let mut interface = interface.clone();
    let routines: BTreeSet<_> = interface.routines().map(|r| snake(&r.name)).collect();
    let mut methods: BTreeMap<String, Method> = BTreeMap::new();
    for routine in interface.routines.iter_mut().flatten() {
        let mut taken = BTreeSet::new();
        for arg in &mut routine.args {
            let room = |name: &str| snake(&format!("{name}_room"));
            arg.name = numbered(&arg.name, |name| !taken.contains(&snake(name)) && !taken.contains(&room(name)));
            taken.insert(snake(&arg.name));
            taken.extend(arg.count_in_out.then(|| room(&arg.name)));
        }
        for arg in &mut routine.args {
            let (into, out) = (translate::into(arg), translate::out(arg));
            let target = arg.role == Role::RequestPort;
            let mut distinct = |function: &str, method: Method| {
                let free = |name: &str| {
                    let name = snake(name);
                    !routines.contains(&name) && methods.get(&name).is_none_or(|known| *known == method)
                };
                // A port is received in one form as the target and in another as an argument.
                let first = if target && !free(function) { format!("{function}_target") } else { function.to_owned() };
                let name = numbered(&first, free);
                methods.insert(snake(&name), method);
                name
            };
            let into = into.map(|(t, method)| distinct(&t.function, method));
            let out = out.map(|(t, method)| distinct(&t.function, method));
            if let (Some(name), Some(t)) = (into, &mut arg.ty.in_tran) {
                t.function = name;
            }
            if let (Some(name), Some(t)) = (out, &mut arg.ty.out_tran) {
                t.function = name;
            }
        }
    }
    interface
}

/// The name, or the first of `name_2`, `name_3` and so on that is good.
fn numbered(name: &str, good: impl Fn(&str) -> bool) -> String {
    let more = (2..).map(|n| format!("{name}_{n}"));
    std::iter::once(name.to_owned()).chain(more).find(|name| good(name)).unwrap_or_default()
}
