//! Names that become parts of C identifiers.

/// Whether the text is a C identifier, or a word of C, which can be a part of one.
pub fn is_identifier(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}
