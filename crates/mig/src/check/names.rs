//! Names that become C identifiers.

use crate::diagnostics::{Diagnostic, Diagnostics};
use crate::syntax::ast::Ident;

/// Words that C, C++ or Rust programs can't use as names.
const KEYWORDS: &[&str] = &[
    "auto",
    "bool",
    "break",
    "case",
    "catch",
    "char",
    "class",
    "const",
    "continue",
    "default",
    "delete",
    "do",
    "double",
    "else",
    "enum",
    "extern",
    "false",
    "float",
    "for",
    "goto",
    "if",
    "inline",
    "int",
    "long",
    "namespace",
    "new",
    "operator",
    "private",
    "protected",
    "public",
    "register",
    "restrict",
    "return",
    "short",
    "signed",
    "sizeof",
    "static",
    "struct",
    "switch",
    "template",
    "this",
    "throw",
    "true",
    "try",
    "typedef",
    "typename",
    "union",
    "unsigned",
    "using",
    "virtual",
    "void",
    "volatile",
    "while",
];

/// Names that the stubs use themselves.
const RESERVED: &[&str] = &[
    "InP",
    "OutP",
    "In0P",
    "InHeadP",
    "OutHeadP",
    "Head",
    "Mess",
    "Request",
    "Reply",
    "RetCode",
    "RetCodeType",
    "Room",
    "msg_result",
    "memcpy",
    "memset",
    "memmove",
    "malloc",
    "free",
    "mach_msg",
];

/// Whether the text is a C identifier.
pub fn is_identifier(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
        && !KEYWORDS.contains(&text)
}

/// Reports a name that C has another use for.
pub fn check_c_name(name: &Ident, what: &str, diagnostics: &mut Diagnostics) {
    if KEYWORDS.contains(&name.text.as_str()) {
        let message = format!("`{}` is a keyword of C or C++ and can't name {what}", name.text);
        diagnostics.push(Diagnostic::error(name.span, message));
    }
}

/// Reports an argument's name that a stub could not use as it is.
pub fn check_argument(name: &Ident, diagnostics: &mut Diagnostics) {
    check_c_name(name, "an argument", diagnostics);
    if RESERVED.contains(&name.text.as_str()) || name.text.starts_with("mig_") {
        let message = format!("`{}` is a name that the stubs use themselves", name.text);
        diagnostics.push(Diagnostic::error(name.span, message).help("rename the argument"));
    }
}
