//! Names as Rust writes them.

/// Words that can't be names unless they are marked.
const KEYWORDS: &[&str] = &[
    "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "do", "dyn", "else", "enum", "extern",
    "false", "final", "fn", "for", "gen", "if", "impl", "in", "let", "loop", "macro", "match", "mod", "move", "mut", "override",
    "priv", "pub", "ref", "return", "static", "struct", "trait", "true", "try", "type", "typeof", "unsafe", "unsized", "use",
    "virtual", "where", "while", "yield",
];

/// Words that can't be names at all.
const NEVER: &[&str] = &["self", "Self", "super", "crate", "_"];

/// Types that generated modules use by these names.
const TAKEN: &[&str] = &["Box", "CStr", "CString", "Duration", "Err", "None", "Ok", "Option", "Result", "Self", "Some", "Vec"];

/// The words of a C name: at underscores, and where capitals begin.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut before = '_';
    for c in name.chars() {
        let begins = c == '_' || (c.is_uppercase() && (before.is_lowercase() || before.is_ascii_digit()));
        if begins {
            words.push(String::new());
        }
        if c != '_' {
            words.last_mut().expect("there is always one").extend(c.to_lowercase());
        }
        before = c;
    }
    words.retain(|w| !w.is_empty());
    words
}

/// The name of a function, an argument or a field, without a mark.
pub fn plain_snake(name: &str) -> String {
    let name = words(name).join("_");
    if name.is_empty() || NEVER.contains(&name.as_str()) { format!("{name}_") } else { name }
}

/// The name of a function, an argument or a field.
pub fn snake(name: &str) -> String {
    let name = plain_snake(name);
    if KEYWORDS.contains(&name.as_str()) { format!("r#{name}") } else { name }
}

/// The name of a type: without the `_t` that C types have.
pub fn camel(name: &str) -> String {
    let short = camel_of(name.strip_suffix("_t").unwrap_or(name));
    if TAKEN.contains(&short.as_str()) { camel_of(name) + if name.ends_with("_t") { "" } else { "Type" } } else { short }
}

fn camel_of(name: &str) -> String {
    let capital = |word: String| {
        let mut letters = word.chars();
        letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
    };
    let name: String = words(name).into_iter().map(capital).collect();
    if name.starts_with(|c: char| c.is_ascii_digit()) || name.is_empty() { format!("T{name}") } else { name }
}

/// The name of the type that a C type (`struct account`, `port_t *`) is translated to.
pub fn translated(c_type: &str) -> String {
    let mut words = c_type.split(|c: char| !(c.is_alphanumeric() || c == '_'));
    let word = words.rfind(|w| !w.is_empty() && !["const", "struct", "union", "enum"].contains(w));
    camel(word.unwrap_or("translated"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_rust() {
        assert_eq!(
            (snake("list_out"), snake("newPort2"), snake("type")),
            ("list_out".into(), "new_port2".into(), "r#type".into())
        );
        assert_eq!((snake("self"), plain_snake("IOHandle")), ("self_".into(), "iohandle".into()));
        assert_eq!(
            (camel("mach_port_status_t"), camel("vec_t"), camel("Box")),
            ("MachPortStatus".into(), "VecT".into(), "BoxType".into())
        );
        assert_eq!((translated("struct account *"), translated("ipc_port_t")), ("Account".into(), "IpcPort".into()));
    }
}
