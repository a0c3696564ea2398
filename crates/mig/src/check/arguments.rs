//! Arguments: directions, flags, and what fits together.

use super::{Checker, routines};
use crate::diagnostics::Diagnostic;
use crate::model::{Arg, Count, Dealloc, Role, Token, Type};
use crate::syntax::ast::{Argument, Ident, Operation};

impl Checker<'_> {
    /// Checks the arguments of a routine.
    pub(super) fn args(&mut self, operation: &Operation, one_way: bool) -> Option<Vec<Arg>> {
        let mut args = Vec::new();
        let mut good = true;
        for argument in &operation.args {
            match self.arg(argument, one_way) {
                Some(arg) => args.push(arg),
                None => good = false,
            }
        }
        good = good && routines::duplicates(&args, self.diagnostics);
        for (role, what) in [
            (Role::WaitTime, "a time-out"),
            (Role::SendTime, "a time-out of the send"),
            (Role::MsgOption, "an argument with options"),
            (Role::MsgSeqno, "an argument for the sequence number"),
        ] {
            good &= self.once(&args, |a| a.role == role, what);
        }
        let reply =
            |user: bool| move |a: &Arg| matches!(a.role, Role::ReplyPort { user: u, server: s } if if user { u } else { s });
        good &= self.once(&args, reply(true), "a reply port of the user");
        good &= self.once(&args, reply(false), "a reply port of the server");
        if good {
            good = self.same_counts(operation, &mut args);
        }
        good.then_some(args)
    }

    fn once(&mut self, args: &[Arg], is: impl Fn(&Arg) -> bool, what: &str) -> bool {
        let mut found = args.iter().filter(|a| is(a));
        if let (Some(first), Some(second)) = (found.next(), found.next()) {
            let diagnostic = Diagnostic::error(second.span, format!("a routine has {what} at most once"))
                .related(first.span, "the first is here");
            self.diagnostics.push(diagnostic);
            return false;
        }
        true
    }

    fn arg(&mut self, argument: &Argument, one_way: bool) -> Option<Arg> {
        let ty = match &argument.spec {
            Some(spec) => self.types.named(&argument.ty, spec, self.diagnostics),
            None => self.types.find(&argument.ty, self.diagnostics),
        };
        let role = self.role(argument.direction.as_ref(), one_way);
        let (ty, role) = (ty?, role?);
        if !self.suits(argument, role, &ty) {
            return None;
        }
        let mut arg = Arg {
            name: argument.name.text.clone(),
            span: argument.name.span,
            role,
            ty,
            dealloc: Dealloc::No,
            count_in_out: false,
            server_copy: false,
            auto: false,
            overwrite: false,
            constant: false,
            same_count: None,
        };
        let mut good = true;
        for flag in &argument.flags {
            good &= self.flag(&mut arg, flag);
        }
        good.then_some(arg)
    }

    fn role(&mut self, direction: Option<&Ident>, one_way: bool) -> Option<Role> {
        let Some(direction) = direction else { return Some(Role::Data { request: true, reply: false }) };
        let role = match direction.text.as_str() {
            "in" | "retcode" => Role::Data { request: true, reply: false },
            "out" => Role::Data { request: false, reply: true },
            "inout" => Role::Data { request: true, reply: true },
            "requestport" => Role::RequestPort,
            "replyport" => Role::ReplyPort { user: true, server: true },
            "sreplyport" => Role::ReplyPort { user: false, server: true },
            "ureplyport" => Role::ReplyPort { user: true, server: false },
            "waittime" => Role::WaitTime,
            "sendtime" => Role::SendTime,
            "msgoption" => Role::MsgOption,
            "msgseqno" => Role::MsgSeqno,
            "serversectoken" => Role::Token { of: Token::Security, user: false },
            "usersectoken" => Role::Token { of: Token::Security, user: true },
            "serveraudittoken" => Role::Token { of: Token::Audit, user: false },
            "useraudittoken" => Role::Token { of: Token::Audit, user: true },
            "servercontexttoken" => Role::Token { of: Token::Context, user: false },
            other => {
                let message = format!("`{other}`, data of the implementation's own, is not supported");
                self.diagnostics.push(Diagnostic::error(direction.span, message).help("leave the argument out"));
                return None;
            }
        };
        if one_way && matches!(role, Role::Data { reply: true, .. } | Role::Token { user: true, .. }) {
            let diagnostic = Diagnostic::error(direction.span, "a simpleroutine has no reply, so nothing can come out of it")
                .help("use `routine`");
            self.diagnostics.push(diagnostic);
            return None;
        }
        Some(role)
    }

    /// Whether the type can be used for what the argument is for.
    fn suits(&mut self, argument: &Argument, role: Role, ty: &Type) -> bool {
        let message = match role {
            Role::RequestPort | Role::ReplyPort { .. } if !ty.is_port() => "must be a port",
            Role::WaitTime | Role::SendTime | Role::MsgOption | Role::MsgSeqno
                if ty.count != Count::One || !ty.inline || ty.bytes != 4 || ty.sent.is_right() =>
            {
                "must be a number of 32 bits"
            }
            Role::Token { of, .. } if !ty.by_value || !ty.inline || ty.sent.is_right() || ty.bytes != of.bytes() => match of {
                Token::Audit => "must have 32 bytes, as audit_token_t",
                Token::Security => "must have 8 bytes, as security_token_t",
                Token::Context => "must have 8 bytes, as mach_port_context_t",
            },
            _ => return true,
        };
        let diagnostic = Diagnostic::error(argument.ty.span, format!("`{}` {message}", argument.name.text));
        let diagnostic = if ty.span.end > 0 {
            diagnostic.related(ty.span, format!("`{}` is defined here", argument.ty.text))
        } else {
            diagnostic
        };
        self.diagnostics.push(diagnostic);
        false
    }

    fn flag(&mut self, arg: &mut Arg, flag: &Ident) -> bool {
        let outside = !arg.ty.inline || arg.ty.count == Count::Unlimited;
        match flag.text.as_str() {
            // Nothing can be deallocated with a right: files for Mach 2.5 say it nevertheless.
            "dealloc" if !outside && arg.ty.is_port() => {}
            "dealloc" | "dealloc[]" if !outside => {
                let diagnostic = Diagnostic::error(flag.span, "only out-of-line data can be deallocated")
                    .help("make the type `^...` or `array[]`, or remove the flag");
                self.diagnostics.push(diagnostic);
                return false;
            }
            "dealloc" => arg.dealloc = Dealloc::Yes,
            "dealloc[]" => arg.dealloc = Dealloc::Runtime,
            "notdealloc" => arg.dealloc = Dealloc::No,
            "countinout" => return self.count_in_out(arg, flag),
            "servercopy" => {
                if arg.ty.count == Count::Unlimited && arg.ty.inline && arg.in_request() && !arg.in_reply() {
                    arg.server_copy = true;
                    return true;
                }
                let message = "`servercopy` is for `in` arguments of a type `array[] of ...`";
                self.diagnostics.push(Diagnostic::error(flag.span, message));
                return false;
            }
            "samecount" => {
                if !arg.ty.varies() {
                    let message = "`samecount` is for arrays of varying length";
                    self.diagnostics.push(Diagnostic::error(flag.span, message));
                    return false;
                }
                // Which array it is shared with is found when all arguments are known.
                arg.same_count = Some(usize::MAX);
            }
            "auto" => arg.auto = outside,
            "overwrite" => {
                if arg.ty.inline || !arg.in_reply() || arg.ty.sent.is_right() || !arg.ty.varies() {
                    let message = "`overwrite` is for out-of-line arrays of data that come out";
                    self.diagnostics.push(Diagnostic::error(flag.span, message));
                    return false;
                }
                arg.overwrite = true;
            }
            // What comes out is written.
            "const" => arg.constant = !arg.comes_out(),
            "retcode" => return self.retcode(arg, flag),
            "islong" => arg.ty.long = Some(true),
            "isnotlong" => arg.ty.long = Some(false),
            // `physicalcopy`: a hint.
            _ => {}
        }
        true
    }

    fn count_in_out(&mut self, arg: &mut Arg, flag: &Ident) -> bool {
        if arg.ty.varies() && arg.in_reply() {
            arg.count_in_out = arg.ty.inline && !arg.in_request();
            return true;
        }
        let message = "`countinout` is for arrays of varying length that come out";
        self.diagnostics.push(Diagnostic::error(flag.span, message));
        false
    }

    fn retcode(&mut self, arg: &Arg, flag: &Ident) -> bool {
        let good = arg.ty.count == Count::One && arg.ty.bytes == 4 && !arg.ty.sent.is_right();
        if !good {
            self.diagnostics.push(Diagnostic::error(flag.span, "a return code must be a number of 32 bits"));
        }
        good
    }

    /// Finds the array whose count each `samecount` array shares: the nearest one before it that goes the same way.
    fn same_counts(&mut self, operation: &Operation, args: &mut [Arg]) -> bool {
        for index in 0..args.len() {
            if args[index].same_count.is_none() {
                continue;
            }
            let role = args[index].role;
            let owner = |a: &Arg| a.ty.varies() && !a.ty.string && a.same_count.is_none() && a.role == role;
            let Some(first) = args[..index].iter().rposition(owner) else {
                let span = operation.args.get(index).map_or(operation.name.span, |a| a.name.span);
                let message = "no array before this one goes the same way, so there is no count to share";
                self.diagnostics.push(Diagnostic::error(span, message));
                return false;
            };
            args[index].same_count = Some(first);
        }
        true
    }
}
