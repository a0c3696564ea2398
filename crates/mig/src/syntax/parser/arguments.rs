//! The arguments of a routine.

use super::super::ast::{Argument, Ident};
use super::super::lexer::Kind;
use super::{Grammar, Parsed, Parser};
use crate::diagnostics::Diagnostic;
use crate::spelling::nearest;

/// Directions of both grammars.
const DIRECTIONS: [&str; 11] = [
    "in",
    "out",
    "inout",
    "requestport",
    "replyport",
    "sreplyport",
    "ureplyport",
    "waittime",
    "msgoption",
    "msgseqno",
    "retcode",
];

/// Directions of the Apple/OSF grammar.
const OSF_DIRECTIONS: [&str; 8] = [
    "sendtime",
    "serversectoken",
    "usersectoken",
    "serveraudittoken",
    "useraudittoken",
    "servercontexttoken",
    "serverimpl",
    "userimpl",
];

const FLAGS: [&str; 9] =
    ["dealloc", "notdealloc", "countinout", "islong", "isnotlong", "physicalcopy", "overwrite", "const", "retcode"];

const GNU_FLAGS: [&str; 1] = ["servercopy"];

const OSF_FLAGS: [&str; 2] = ["samecount", "auto"];

impl Parser<'_> {
    /// What stands between a routine's parentheses.
    pub(super) fn arguments(&mut self) -> Parsed<Vec<Argument>> {
        let mut args = Vec::new();
        while !self.at_punct(')') {
            args.push(self.argument()?);
            if !self.take(';') {
                break;
            }
        }
        Ok(args)
    }

    fn argument(&mut self) -> Parsed<Argument> {
        let direction = self.direction()?;
        let name = self.ident("an argument's name")?;
        self.expect(':', "and the argument's type")?;
        let ty = self.argument_type()?;
        let spec = if self.take('=') { Some(self.type_with_options()?) } else { None };
        let mut flags = Vec::new();
        while self.take(',') {
            flags.push(self.flag()?);
        }
        Ok(Argument { direction, name, ty, spec, flags })
    }

    /// The name of the argument's type. C needs a name for it, so a bare `array[...]` is refused here.
    fn argument_type(&mut self) -> Parsed<Ident> {
        let token = self.peek();
        let bare = matches!(token.kind, Kind::Punct('^' | '('))
            || matches!(self.keyword().as_str(), "array" | "struct" | "c_string")
                && matches!(self.peek_at(1).kind, Kind::Punct('[' | '{'));
        if bare {
            let diagnostic = Diagnostic::error(token.span, "an argument's type needs a name, for C to call it by")
                .help("give it one with `type`, or write `name : c_type_name = ...`");
            return Err(self.fail(diagnostic));
        }
        self.ident("the name of a type")
    }

    /// A word before the argument's name; words that are followed by `:` are the name itself.
    fn direction(&mut self) -> Parsed<Option<Ident>> {
        let token = self.peek();
        if token.kind != Kind::Ident || self.peek_at(1).kind != Kind::Ident {
            return Ok(None);
        }
        let word = self.keyword();
        if OSF_DIRECTIONS.contains(&word.as_str()) {
            let what = format!("`{}`", self.text(token));
            self.only_in(Grammar::Osf, token.span, &what);
        } else if self.begins_statement(token) {
            return Err(self.unexpected("`)` behind the arguments"));
        } else if !DIRECTIONS.contains(&word.as_str()) {
            let text = self.text(token).to_owned();
            let mut diagnostic = Diagnostic::error(token.span, format!("`{text}` is no direction"));
            diagnostic = match nearest(&word, DIRECTIONS.into_iter().chain(OSF_DIRECTIONS)) {
                Some(near) => diagnostic.help(format!("did you mean `{near}`?")),
                None => diagnostic.help("an argument is written `direction name : type`"),
            };
            return Err(self.fail(diagnostic));
        }
        self.at += 1;
        Ok(Some(Ident { text: word, span: token.span }))
    }

    fn flag(&mut self) -> Parsed<Ident> {
        let mut flag = self.ident("a flag of the argument")?;
        let word = flag.text.to_ascii_lowercase();
        if GNU_FLAGS.contains(&word.as_str()) {
            self.only_in(Grammar::Gnu, flag.span, &format!("`{}`", flag.text));
        } else if OSF_FLAGS.contains(&word.as_str()) {
            self.only_in(Grammar::Osf, flag.span, &format!("`{}`", flag.text));
        } else if !FLAGS.contains(&word.as_str()) {
            let mut diagnostic = Diagnostic::error(flag.span, format!("`{}` is no flag of an argument", flag.text));
            if let Some(near) = nearest(&word, FLAGS.into_iter().chain(GNU_FLAGS).chain(OSF_FLAGS)) {
                diagnostic = diagnostic.help(format!("did you mean `{near}`?"));
            }
            return Err(self.fail(diagnostic));
        }
        flag.text = word;
        if flag.text == "dealloc" && self.take('[') {
            let close = self.expect(']', "behind `dealloc[`")?;
            flag.span = flag.span.to(close.span);
            flag.text = "dealloc[]".to_owned();
        }
        Ok(flag)
    }
}
