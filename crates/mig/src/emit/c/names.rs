//! Names in C that can't clash: those of the stubs' own things, and those of the user's arguments.
//!
//! The writers of stubs put [`OWN`] in front of each name that is the stubs' own, and call an argument by its name
//! with [`OWN`] in front and `_` behind. What an argument brings along has a suffix behind that: `data_Size`. No argument's
//! name and no suffix ends alike, so what arguments make clashes neither with another argument nor with a word of C or of the stubs.
//! What is left are names of C types and functions that the interface says. [`settled`] looks for them: the mark becomes
//! nothing, or the first prefix with which no name is one of those.

use std::collections::BTreeSet;

use super::Options;
use super::view::{Side, parameters};
use crate::model::{Interface, Routine, Type};

/// Stands before each name that is the stubs' own. C has no use for it.
pub const OWN: char = '`';

/// The interface as stubs call it: arguments by names that can't clash, routines with their prefix.
pub fn for_stubs(interface: &Interface, options: &Options) -> Interface {
    let mut interface = for_all(interface, options);
    for routine in interface.routines.iter_mut().flatten() {
        let names: Vec<_> = routine.args.iter().map(|a| a.name.clone()).collect();
        for expression in [&mut routine.msg_option, &mut routine.wait_time, &mut routine.send_time].into_iter().flatten() {
            *expression =
                words(expression).map(|word| if names.iter().any(|n| n == word) { own(word) } else { word.to_owned() }).collect();
        }
        for arg in &mut routine.args {
            arg.name = own(&arg.name);
        }
    }
    interface
}

fn own(name: &str) -> String {
    format!("{OWN}{name}_")
}

/// The same as headers show it: arguments have the user's names, with `_` behind those that C can't have there.
pub fn for_headers(interface: &Interface, options: &Options, side: Side) -> Interface {
    let mut interface = for_all(interface, options);
    for routine in interface.routines.iter_mut().flatten() {
        let mut taken = BTreeSet::new();
        for ty in routine.args.iter().map(|a| &a.ty) {
            taken.extend(type_words(ty));
        }
        for arg in routine.args.iter_mut().filter(|a| side.has(a)) {
            let clashes = |names: &[String]| {
                names.iter().any(|n| taken.contains(n) || is_one_of(n, OF_C) || is_one_of(n, OF_CPP) || may_be_macro(n))
            };
            let named = |arg: &crate::model::Arg| parameters(arg, side).into_iter().map(|(_, name)| name).collect::<Vec<_>>();
            while clashes(&named(arg)) {
                arg.name.push('_');
            }
            taken.extend(named(arg));
        }
    }
    interface
}

/// Words of C that can name nothing, with those of C23 and of compilers' own dialects.
const OF_C: &str = " alignas alignof asm auto bool break case char const constexpr continue default do double else enum extern \
    false float for goto if inline int long nullptr register restrict return short signed sizeof static static_assert struct \
    switch thread_local true typedef typeof typeof_unqual union unsigned void volatile while ";

/// Words of C++ that C has no use for.
const OF_CPP: &str = " and and_eq bitand bitor catch char16_t char32_t char8_t class co_await co_return co_yield compl concept \
    const_cast consteval constinit decltype delete dynamic_cast explicit export friend mutable namespace new noexcept not not_eq \
    operator or or_eq private protected public reinterpret_cast requires static_cast template this throw try typeid typename \
    using virtual wchar_t xor xor_eq ";

fn is_one_of(name: &str, list: &str) -> bool {
    list.contains(&format!(" {name} "))
}

/// Whether C++ can't call a routine of that name.
pub fn is_for_c_only(name: &str) -> bool {
    is_one_of(name, OF_CPP)
}

/// Names in capitals are mostly macros, and these are so in C as compilers take it by default.
fn may_be_macro(name: &str) -> bool {
    matches!(name, "linux" | "unix") || !name.ends_with('_') && !name.contains(|c: char| c.is_ascii_lowercase())
}

fn for_all(interface: &Interface, options: &Options) -> Interface {
    let mut interface = interface.clone();
    let prefix = &options.routine_prefix;
    interface.demux.insert_str(0, prefix);
    for routine in interface.routines.iter_mut().flatten() {
        for name in [&mut routine.user_name, &mut routine.server_name] {
            name.insert_str(0, prefix);
            if is_one_of(name, OF_C) {
                name.push('_');
            }
        }
        let demux = &interface.demux;
        let public = ["", "_routine", "_routines"].map(|end| format!("{demux}{end}"));
        while public.contains(&routine.server_name) {
            routine.server_name.push('_');
        }
    }
    interface
}

/// The text with the mark replaced.
pub fn settled(text: &str, interface: &Interface) -> String {
    let said: BTreeSet<_> = interface.routines().flat_map(said_by).collect();
    let own: BTreeSet<_> = text.split(OWN).skip(1).filter_map(|rest| words(rest).next()).collect();
    let free = |prefix: &str| !own.iter().any(|name| said.contains(&format!("{prefix}{name}")));
    let prefixes = std::iter::once(String::new()).chain((1..).map(|n| format!("mig{n}_")));
    let prefix = prefixes.into_iter().find(|p| free(p)).unwrap_or_default();
    text.replace(OWN, &prefix)
}

/// The names of C types and functions that a routine says.
fn said_by(routine: &Routine) -> BTreeSet<String> {
    let mut said: BTreeSet<_> = [routine.user_name.clone(), routine.server_name.clone()].into();
    for expression in [&routine.msg_option, &routine.wait_time, &routine.send_time].into_iter().flatten() {
        said.extend(words(expression).map(str::to_owned));
    }
    said.extend(routine.args.iter().flat_map(|a| type_words(&a.ty)));
    said
}

fn type_words(ty: &Type) -> Vec<String> {
    let mut texts = vec![&ty.element, &ty.user_type, &ty.server_type, &ty.message_type];
    for conversion in [&ty.in_tran, &ty.out_tran, &ty.payload_tran].into_iter().flatten() {
        texts.extend([&conversion.function, &conversion.to, &conversion.from]);
    }
    texts.extend(&ty.destructor);
    texts.into_iter().flat_map(|text| words(text)).map(str::to_owned).collect()
}

/// Splits C text into identifiers and what is between them.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut rest = text;
    std::iter::from_fn(move || {
        let first = part(rest.chars().next()?);
        let end = rest.find(|c| part(c) != first).unwrap_or(rest.len());
        let (word, behind) = rest.split_at(end);
        rest = behind;
        Some(word)
    })
}
