//! Routines.

use std::collections::HashMap;

use super::{Checker, REPLY_DISTANCE};
use crate::diagnostics::Diagnostic;
use crate::model::{Arg, Role, Routine};
use crate::source::Span;
use crate::syntax::ast::{Operation, OperationKind};

/// The largest message of a routine, in bytes.
const MOST_BYTES: u64 = 1 << 29;

impl Checker<'_> {
    /// Checks a routine. `None` when an error was reported; its place in the table stays empty then.
    pub(super) fn operation(&mut self, operation: &Operation) -> Option<Routine> {
        let name = &operation.name;
        if let Some(first) = self.names.insert(name.text.clone(), name.span) {
            let diagnostic = Diagnostic::error(name.span, format!("the routine `{}` is declared twice", name.text))
                .related(first, "previously declared here");
            self.diagnostics.push(diagnostic);
        }
        let id = self.next_id(name.span)?;
        let one_way = self.one_way(operation)?;
        let args = self.args(operation, one_way)?;
        let request_port = self.request_port(operation, &args)?;
        let mut routine = Routine {
            name: name.text.clone(),
            span: name.span,
            user_name: format!("{}{}", self.settings.user_prefix, name.text),
            server_name: format!("{}{}", self.settings.server_prefix, name.text),
            id,
            one_way,
            text: self.one_line(operation.span),
            place: self.place(operation.span),
            args,
            request_port,
            msg_option: self.settings.msg_option.clone(),
            wait_time: self.settings.wait_time.clone(),
            send_time: self.settings.send_time.clone(),
            consume: self.settings.consume,
        };
        routine.args[request_port].role = Role::RequestPort;
        self.sizes(&routine, name.span)?;
        Some(routine)
    }

    fn next_id(&mut self, span: Span) -> Option<i32> {
        let base = match &self.subsystem {
            Some((_, base, _)) => *base,
            None => return Some(0),
        };
        let id = i64::from(base) + self.routines.len() as i64;
        if id + i64::from(REPLY_DISTANCE) > i64::from(i32::MAX) {
            let message = "this routine's identifier does not fit into 32 bits";
            self.diagnostics.push(Diagnostic::error(span, message));
            return None;
        }
        Some(id as i32)
    }

    /// Whether the operation has no reply.
    fn one_way(&mut self, operation: &Operation) -> Option<bool> {
        let instead = match operation.kind {
            OperationKind::Routine => return Some(false),
            OperationKind::SimpleRoutine => return Some(true),
            OperationKind::Procedure => "routine",
            OperationKind::SimpleProcedure => "simpleroutine",
            OperationKind::Function => "routine` with an `out` argument instead of `function",
        };
        let word = operation.kind.word();
        let diagnostic =
            Diagnostic::error(operation.name.span, format!("`{word}` is of the oldest MIG and has no way to report an error"))
                .help(format!("use `{instead}`"));
        self.diagnostics.push(diagnostic);
        None
    }

    fn request_port(&mut self, operation: &Operation, args: &[Arg]) -> Option<usize> {
        let mut explicit = args.iter().enumerate().filter(|(_, a)| a.role == Role::RequestPort);
        if let Some((index, first)) = explicit.next() {
            if let Some((_, second)) = explicit.next() {
                let diagnostic =
                    Diagnostic::error(second.span, "a routine has one request port").related(first.span, "the first is here");
                self.diagnostics.push(diagnostic);
                return None;
            }
            return Some(index);
        }
        let implied = |a: &Arg| a.in_request() && !a.in_reply() && a.ty.is_port();
        let found = args.iter().position(implied);
        if found.is_none() {
            let message = format!("`{}` has no port to send the request to", operation.name.text);
            let diagnostic =
                Diagnostic::error(operation.name.span, message).help("its first argument must be a port: `server : mach_port_t`");
            self.diagnostics.push(diagnostic);
        }
        found
    }

    fn sizes(&mut self, routine: &Routine, span: Span) -> Option<()> {
        let total = |within: fn(&Arg) -> bool| -> u64 {
            let args = routine.args.iter().filter(|a| within(a));
            args.map(|a| crate::layout::inline_bytes(&a.ty) + 16).sum()
        };
        let most = total(Arg::in_request).max(total(Arg::in_reply));
        if most > MOST_BYTES {
            let diagnostic =
                Diagnostic::error(span, format!("a message of this routine is {most} bytes; at most {MOST_BYTES} are possible"))
                    .help("send large data out of line: `^array[] of ...`");
            self.diagnostics.push(diagnostic);
            return None;
        }
        Some(())
    }

    /// The text of a declaration on one line, without comments.
    fn one_line(&self, span: Span) -> String {
        let mut text = String::new();
        let mut rest = self.source.slice(span);
        while !rest.is_empty() {
            let comment = if let Some(inside) = rest.strip_prefix("/*") {
                inside.find("*/").map(|end| end + 4)
            } else if rest.starts_with("//") || (rest.starts_with('#') && text.ends_with(' ')) {
                Some(rest.find('\n').unwrap_or(rest.len()))
            } else {
                None
            };
            if let Some(length) = comment {
                rest = &rest[length..];
                text.push(' ');
                continue;
            }
            let Some(c) = rest.chars().next() else { break };
            rest = &rest[c.len_utf8()..];
            match c.is_whitespace() {
                true if text.ends_with(' ') => {}
                true => text.push(' '),
                false => text.push(c),
            }
        }
        let words: Vec<&str> = text.split_whitespace().collect();
        words.join(" ").replace(" ;", ";").replace("( ", "(").replace(" )", ")").replace(" :", ":")
    }

    fn place(&self, span: Span) -> String {
        let place = self.source.place(span);
        let file = place.file.rsplit('/').next().unwrap_or(place.file);
        format!("{file}:{}", place.line)
    }
}

impl OperationKind {
    fn word(self) -> &'static str {
        match self {
            OperationKind::Routine => "routine",
            OperationKind::SimpleRoutine => "simpleroutine",
            OperationKind::Procedure => "procedure",
            OperationKind::SimpleProcedure => "simpleprocedure",
            OperationKind::Function => "function",
        }
    }
}

/// Reports arguments with one name.
pub(super) fn duplicates(args: &[Arg], diagnostics: &mut crate::diagnostics::Diagnostics) -> bool {
    let mut seen: HashMap<&str, Span> = HashMap::new();
    let mut good = true;
    for arg in args {
        if let Some(first) = seen.insert(&arg.name, arg.span) {
            let message = format!("two arguments are called `{}`", arg.name);
            diagnostics.push(Diagnostic::error(arg.span, message).related(first, "the first is here"));
            good = false;
        }
    }
    good
}
