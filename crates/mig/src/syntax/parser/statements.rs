//! What stands at the top of a file: the subsystem, types, routines, settings, imports.

use super::super::ast::{Expr, Import, ImportKind, Item, Operation, OperationKind, Setting, SettingKind, Subsystem, TypeDecl};
use super::super::lexer::Kind;
use super::{Grammar, Parsed, Parser};
use crate::diagnostics::Diagnostic;
use crate::source::Span;

const OPERATIONS: [(&str, OperationKind); 5] = [
    ("routine", OperationKind::Routine),
    ("simpleroutine", OperationKind::SimpleRoutine),
    ("procedure", OperationKind::Procedure),
    ("simpleprocedure", OperationKind::SimpleProcedure),
    ("function", OperationKind::Function),
];

const IMPORTS: [(&str, ImportKind); 5] = [
    ("import", ImportKind::All),
    ("uimport", ImportKind::User),
    ("simport", ImportKind::Server),
    ("iimport", ImportKind::Internal),
    ("dimport", ImportKind::Definitions),
];

const SETTINGS: [(&str, SettingKind); 14] = [
    ("msgoption", SettingKind::MsgOption),
    ("waittime", SettingKind::WaitTime),
    ("nowaittime", SettingKind::NoWaitTime),
    ("sendtime", SettingKind::SendTime),
    ("nosendtime", SettingKind::NoSendTime),
    ("userprefix", SettingKind::UserPrefix),
    ("serverprefix", SettingKind::ServerPrefix),
    ("serverdemux", SettingKind::ServerDemux),
    ("rcsid", SettingKind::RcsId),
    ("error", SettingKind::Error),
    ("usespecialreplyport", SettingKind::UseSpecialReplyPort),
    ("consumeonsenderror", SettingKind::ConsumeOnSendError),
    ("usertypelimit", SettingKind::UserTypeLimit),
    ("onstacklimit", SettingKind::OnStackLimit),
];

fn find<T: Copy>(table: &[(&str, T)], word: &str) -> Option<T> {
    table.iter().find(|(name, _)| *name == word).map(|(_, kind)| *kind)
}

/// Whether the word, in lower case, can begin a statement and nothing else.
pub(super) fn is_statement(word: &str) -> bool {
    if matches!(word, "waittime" | "sendtime" | "msgoption") {
        // These are also directions of arguments.
        return false;
    }
    matches!(word, "subsystem" | "type" | "skip")
        || find(&OPERATIONS, word).is_some()
        || find(&IMPORTS, word).is_some()
        || find(&SETTINGS, word).is_some()
}

/// The statement keyword that a misspelt word probably means.
fn nearest(word: &str) -> Option<&'static str> {
    let names = OPERATIONS.map(|(n, _)| n).into_iter().chain(IMPORTS.map(|(n, _)| n)).chain(SETTINGS.map(|(n, _)| n));
    crate::spelling::nearest(word, names.chain(["subsystem", "type", "skip"]))
}

impl Parser<'_> {
    pub(super) fn statement(&mut self) -> Parsed<Item> {
        let word = self.keyword();
        let token = self.peek();
        if let Some(kind) = find(&OPERATIONS, &word) {
            return self.operation(kind);
        }
        if let Some(kind) = find(&IMPORTS, &word) {
            return self.import(kind);
        }
        if let Some(kind) = find(&SETTINGS, &word) {
            return self.setting(kind);
        }
        match word.as_str() {
            "subsystem" => self.subsystem(),
            "type" => self.type_decl(),
            "skip" => self.skip(),
            "" => Err(self.unexpected("a statement")),
            _ => {
                let text = self.text(token).to_owned();
                let mut diagnostic = Diagnostic::error(token.span, format!("`{text}` begins no statement"));
                if let Some(near) = nearest(&word) {
                    diagnostic = diagnostic.help(format!("did you mean `{near}`?"));
                }
                Err(self.fail(diagnostic))
            }
        }
    }

    fn subsystem(&mut self) -> Parsed<Item> {
        let keyword = self.advance().span;
        // The mode words say how a kernel is linked. In a library there is one way.
        while matches!(self.keyword().as_str(), "kerneluser" | "kernelserver") && self.peek_at(1).kind == Kind::Ident {
            self.at += 1;
        }
        let name = self.ident("the subsystem's name")?;
        let base = self.expr()?;
        self.end_of("the subsystem's base")?;
        Ok(Item::Subsystem(Subsystem { span: keyword, name, base }))
    }

    fn type_decl(&mut self) -> Parsed<Item> {
        self.at += 1;
        let name = self.ident("the type's name")?;
        self.expect('=', "behind the type's name")?;
        let spec = self.type_with_options()?;
        self.end_of("the type")?;
        Ok(Item::Type(TypeDecl { name, spec }))
    }

    fn skip(&mut self) -> Parsed<Item> {
        let keyword = self.advance();
        let count: Option<Expr> = if self.at_punct(';') { None } else { Some(self.expr()?) };
        if count.is_some() {
            self.only_in(Grammar::Gnu, keyword.span, "`skip` with a number");
        }
        self.end_of("`skip`")?;
        Ok(Item::Skip(count))
    }

    fn operation(&mut self, kind: OperationKind) -> Parsed<Item> {
        let keyword = self.advance().span;
        let name = self.ident("the routine's name")?;
        self.expect('(', "behind the routine's name")?;
        let args = self.arguments()?;
        self.expect(')', "behind the arguments")?;
        let returns = match kind {
            OperationKind::Function => {
                self.expect(':', "and the function's type")?;
                Some(self.type_with_options()?)
            }
            _ => None,
        };
        let end = self.end_of("the routine")?;
        Ok(Item::Operation(Operation { span: keyword.to(end), kind, name, args, returns }))
    }

    fn import(&mut self, kind: ImportKind) -> Parsed<Item> {
        let keyword = self.advance().span;
        if matches!(kind, ImportKind::Internal | ImportKind::Definitions) {
            self.only_in(Grammar::Osf, keyword, "this kind of import");
        }
        let token = self.peek();
        if !matches!(token.kind, Kind::File | Kind::Text) {
            return Err(self.unexpected("a file name in `<>` or quotes"));
        }
        self.at += 1;
        let file = self.text(token).to_owned();
        self.end_of("the file name")?;
        Ok(Item::Import(Import { kind, file }))
    }

    fn setting(&mut self, kind: SettingKind) -> Parsed<Item> {
        let span = self.advance().span;
        let (only_osf, bare) = match kind {
            SettingKind::NoWaitTime => (false, true),
            SettingKind::NoSendTime => (true, true),
            SettingKind::SendTime
            | SettingKind::UseSpecialReplyPort
            | SettingKind::ConsumeOnSendError
            | SettingKind::UserTypeLimit
            | SettingKind::OnStackLimit => (true, false),
            _ => (false, false),
        };
        if only_osf {
            let what = format!("`{}`", self.source.slice(span));
            self.only_in(Grammar::Osf, span, &what);
        }
        let from = self.peek().span;
        while !self.at_punct(';') && self.peek().kind != Kind::End && !self.begins_statement(self.peek()) {
            self.at += 1;
        }
        let value_span = if self.at_punct(';') && self.peek().span.start == from.start {
            Span::new(from.start, from.start)
        } else {
            from.to(self.tokens[self.at - 1].span)
        };
        let value = self.source.slice(value_span).split_whitespace().collect::<Vec<_>>().join(" ");
        if bare && !value.is_empty() {
            return Err(self.fail(Diagnostic::error(value_span, "this setting takes no value")));
        }
        if !bare && value.is_empty() {
            return Err(self.fail(Diagnostic::error(span, "this setting needs a value")));
        }
        self.end_of("the setting")?;
        Ok(Item::Setting(Setting { span, kind, value, value_span }))
    }

    fn end_of(&mut self, what: &str) -> Parsed<Span> {
        self.expect(';', &format!("behind {what}")).map(|token| token.span)
    }
}
