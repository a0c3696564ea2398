//! A recursive-descent parser for both grammars. It goes on behind the next semicolon after an error, so
//! that one run reports all of a file's errors.

mod arguments;
mod expressions;
mod statements;
mod types;

use super::ast::{File, Ident};
use super::lexer::{self, Kind, Token};
use crate::diagnostics::{Diagnostic, Diagnostics};
use crate::source::{Source, Span};

/// Deeper nesting of types or parentheses is refused.
const DEPTH: usize = 64;

/// Which of the two grammars a file is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grammar {
    /// GNU MIG's.
    Gnu,
    /// Apple's and OSF's.
    Osf,
}

impl Grammar {
    fn name(self) -> &'static str {
        match self {
            Grammar::Gnu => "GNU",
            Grammar::Osf => "Apple/OSF",
        }
    }
}

/// Reads a preprocessed file. With no `grammar` the file's own first construct that only one of them has decides.
pub fn parse(source: &Source, grammar: Option<Grammar>, diagnostics: &mut Diagnostics) -> File {
    let tokens = lexer::tokens(source, diagnostics);
    let mut parser = Parser { source, tokens, at: 0, depth: 0, grammar, decided_at: None, diagnostics };
    parser.file()
}

/// An error was reported; go on behind the statement.
struct Failed;

type Parsed<T> = Result<T, Failed>;

struct Parser<'a> {
    source: &'a Source,
    tokens: Vec<Token>,
    at: usize,
    depth: usize,
    grammar: Option<Grammar>,
    /// What decided the grammar, where it was not given.
    decided_at: Option<Span>,
    diagnostics: &'a mut Diagnostics,
}

impl Parser<'_> {
    fn file(&mut self) -> File {
        let mut file = File::default();
        while self.peek().kind != Kind::End {
            if self.take(';') {
                continue;
            }
            let start = self.at;
            self.depth = 0;
            match self.statement() {
                Ok(item) => file.items.push(item),
                Err(Failed) => self.recover(start),
            }
        }
        file
    }

    /// Skips what is left of a statement that could not be read, up to a semicolon outside of brackets or to
    /// something that can only begin another statement.
    fn recover(&mut self, start: usize) {
        let open = |c| matches!(c, '(' | '{' | '[');
        let mut depth = 0usize;
        for token in &self.tokens[start..self.at] {
            match token.kind {
                Kind::Punct(c) if open(c) => depth += 1,
                Kind::Punct(')' | '}' | ']') => depth = depth.saturating_sub(1),
                _ => {}
            }
        }
        loop {
            let token = self.peek();
            match token.kind {
                Kind::End => return,
                Kind::Ident if self.at > start && self.begins_statement(token) => return,
                Kind::Punct(';') if depth == 0 => {
                    self.at += 1;
                    return;
                }
                Kind::Punct(c) if open(c) => depth += 1,
                Kind::Punct(')' | '}' | ']') => depth = depth.saturating_sub(1),
                _ => {}
            }
            self.at += 1;
        }
    }

    /// Whether the token is a statement's keyword at the start of a line: a missing bracket or semicolon before it
    /// should not swallow it.
    fn begins_statement(&self, token: Token) -> bool {
        let before = self.source.text()[..token.span.start].trim_end_matches([' ', '\t']);
        before.ends_with('\n') && statements::is_statement(&self.source.slice(token.span).to_ascii_lowercase())
    }

    fn peek(&self) -> Token {
        self.tokens[self.at]
    }

    fn peek_at(&self, ahead: usize) -> Token {
        self.tokens[(self.at + ahead).min(self.tokens.len() - 1)]
    }

    fn text(&self, token: Token) -> &str {
        self.source.slice(token.span)
    }

    /// The next token as a keyword: in lower case, empty if it is no identifier.
    fn keyword(&self) -> String {
        let token = self.peek();
        if token.kind == Kind::Ident { self.text(token).to_ascii_lowercase() } else { String::new() }
    }

    fn advance(&mut self) -> Token {
        let token = self.peek();
        if token.kind != Kind::End {
            self.at += 1;
        }
        token
    }

    fn at_punct(&self, c: char) -> bool {
        self.peek().kind == Kind::Punct(c)
    }

    fn take(&mut self, c: char) -> bool {
        let found = self.at_punct(c);
        if found {
            self.at += 1;
        }
        found
    }

    fn take_keyword(&mut self, word: &str) -> bool {
        let found = self.keyword() == word;
        if found {
            self.at += 1;
        }
        found
    }

    fn expect(&mut self, c: char, context: &str) -> Parsed<Token> {
        if self.at_punct(c) {
            return Ok(self.advance());
        }
        Err(self.unexpected(&format!("`{c}` {context}")))
    }

    fn ident(&mut self, what: &str) -> Parsed<Ident> {
        let token = self.peek();
        if token.kind != Kind::Ident {
            return Err(self.unexpected(what));
        }
        self.at += 1;
        Ok(Ident { text: self.text(token).to_owned(), span: token.span })
    }

    /// Reports that something else was expected. A missing bracket or semicolon is shown where it
    /// belongs: behind the token before.
    fn unexpected(&mut self, expected: &str) -> Failed {
        let token = self.peek();
        let found = match token.kind {
            Kind::End => "the end of the file".to_owned(),
            _ => format!("`{}`", self.text(token)),
        };
        let mut span = token.span;
        if expected.contains("` behind") && self.at > 0 {
            let before = self.tokens[self.at - 1].span;
            span = Span::new(before.end.saturating_sub(1), before.end);
        }
        self.diagnostics.push(Diagnostic::error(span, format!("expected {expected}, found {found}")));
        Failed
    }

    fn fail(&mut self, diagnostic: Diagnostic) -> Failed {
        self.diagnostics.push(diagnostic);
        Failed
    }

    /// Runs `inner` one level deeper.
    fn nested<T>(&mut self, inner: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.depth >= DEPTH {
            let span = self.peek().span;
            return Err(self.fail(Diagnostic::error(span, format!("nested more than {DEPTH} levels deep"))));
        }
        self.depth += 1;
        let result = inner(self);
        self.depth -= 1;
        result
    }

    /// Notes that the construct at `span` exists in one grammar only. Files that are included do not decide: the
    /// same types serve both.
    fn only_in(&mut self, grammar: Grammar, span: Span, what: &str) {
        if !self.source.in_main_file(span) {
            return;
        }
        match self.grammar {
            None => {
                self.grammar = Some(grammar);
                self.decided_at = Some(span);
            }
            Some(other) if other != grammar => {
                let message = format!("{what} belongs to the {} grammar", grammar.name());
                let mut diagnostic = Diagnostic::error(span, message);
                diagnostic = match self.decided_at {
                    Some(at) => diagnostic.related(at, format!("this is what only the {} grammar has", other.name())),
                    None => diagnostic.help(format!("the command line says that the file is in the {} grammar", other.name())),
                };
                self.diagnostics.push(diagnostic);
            }
            Some(_) => {}
        }
    }
}
