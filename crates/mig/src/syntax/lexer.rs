//! Text to tokens. Keywords are not told from identifiers here: most of them are only keywords where the grammar
//! expects one, so an argument may be called `const` or `auto`.

use crate::diagnostics::{Diagnostic, Diagnostics};
use crate::source::{Source, Span};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Ident,
    Number,
    /// `"..."`, quotes included.
    Text,
    /// `<...>`, brackets included.
    File,
    Punct(char),
    End,
}

#[derive(Clone, Copy, Debug)]
pub struct Token {
    pub kind: Kind,
    pub span: Span,
}

/// All tokens of the text, with an [`Kind::End`] behind them.
pub fn tokens(source: &Source, diagnostics: &mut Diagnostics) -> Vec<Token> {
    let mut lexer = Lexer { source, text: source.text(), at: 0, diagnostics };
    let mut tokens = Vec::new();
    while let Some(token) = lexer.next() {
        tokens.push(token);
    }
    let end = source.text().trim_end().len();
    tokens.push(Token { kind: Kind::End, span: Span::new(end, end) });
    tokens
}

struct Lexer<'a> {
    source: &'a Source,
    text: &'a str,
    at: usize,
    diagnostics: &'a mut Diagnostics,
}

impl Lexer<'_> {
    fn next(&mut self) -> Option<Token> {
        loop {
            self.skip_space();
            let start = self.at;
            let rest = &self.text[start..];
            let first = rest.chars().next()?;
            let kind = match first {
                'a'..='z' | 'A'..='Z' | '_' => self.take_while(Kind::Ident, |c| c.is_ascii_alphanumeric() || c == '_'),
                '0'..='9' => self.take_while(Kind::Number, |c| c.is_ascii_alphanumeric() || c == '_'),
                '"' => self.quoted(Kind::Text, '"'),
                '<' => self.quoted(Kind::File, '>'),
                ';' | ':' | ',' | '=' | '(' | ')' | '[' | ']' | '{' | '}' | '|' | '^' | '*' | '+' | '-' | '/' => {
                    self.at += 1;
                    Some(Kind::Punct(first))
                }
                _ => {
                    self.stray(first);
                    None
                }
            };
            if let Some(kind) = kind {
                return Some(Token { kind, span: Span::new(start, self.at) });
            }
        }
    }

    /// White space, comments and the preprocessor's line markers.
    fn skip_space(&mut self) {
        loop {
            if let Some(end) = self.source.marker_end(self.at) {
                self.at = end;
                continue;
            }
            let rest = &self.text[self.at..];
            if rest.starts_with("/*") {
                self.block_comment(rest);
            } else if rest.starts_with("//") {
                self.at += rest.find('\n').unwrap_or(rest.len());
            } else if let Some(c) = rest.chars().next().filter(|c| c.is_whitespace()) {
                self.at += c.len_utf8();
            } else {
                return;
            }
        }
    }

    fn block_comment(&mut self, rest: &str) {
        match rest[2..].find("*/") {
            Some(end) => self.at += end + 4,
            None => {
                let span = Span::new(self.at, self.at + 2);
                self.diagnostics.push(Diagnostic::error(span, "this comment has no end").help("add `*/`"));
                self.at = self.text.len();
            }
        }
    }

    fn take_while(&mut self, kind: Kind, more: impl Fn(char) -> bool) -> Option<Kind> {
        let rest = &self.text[self.at..];
        self.at += rest.find(|c| !more(c)).unwrap_or(rest.len());
        Some(kind)
    }

    fn quoted(&mut self, kind: Kind, close: char) -> Option<Kind> {
        let rest = &self.text[self.at + 1..];
        let line = rest.split('\n').next().unwrap_or("");
        if let Some(length) = line.find(close) {
            self.at += length + 2;
            return Some(kind);
        }
        let span = Span::new(self.at, self.at + 1 + line.len());
        let message = if close == '"' { "this string has no closing quote" } else { "this file name has no closing `>`" };
        self.diagnostics.push(Diagnostic::error(span, message).help(format!("add `{close}` on the same line")));
        self.at = span.end;
        None
    }

    fn stray(&mut self, c: char) {
        let span = Span::new(self.at, self.at + c.len_utf8());
        self.diagnostics.push(Diagnostic::error(span, format!("the character {c:?} has no meaning here")));
        self.at = span.end;
    }
}
