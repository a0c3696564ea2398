//! Types and their options.

use super::super::ast::{ArrayLen, Field, Ident, OptionKind, TypeBody, TypeOption, TypeSpec};
use super::super::lexer::Kind;
use super::{Grammar, Parsed, Parser};
use crate::source::Span;

impl Parser<'_> {
    /// A type and the options behind it.
    pub(super) fn type_with_options(&mut self) -> Parsed<TypeSpec> {
        let mut spec = self.type_spec()?;
        while let Some(option) = self.type_option()? {
            spec.span = spec.span.to(option.span);
            spec.options.push(option);
        }
        Ok(spec)
    }

    fn type_spec(&mut self) -> Parsed<TypeSpec> {
        self.nested(|p| {
            let start = p.peek().span;
            let body = p.type_body()?;
            let end = p.tokens[p.at.saturating_sub(1)].span;
            Ok(TypeSpec { span: start.to(end), body, options: Vec::new() })
        })
    }

    fn type_body(&mut self) -> Parsed<TypeBody> {
        if self.take('^') {
            return Ok(TypeBody::OutOfLine(Box::new(self.type_spec()?)));
        }
        if self.at_punct('(') {
            return self.long_form();
        }
        let bracket = self.peek_at(1).kind;
        match (self.keyword().as_str(), bracket) {
            ("array", Kind::Punct('[')) => self.array(),
            ("struct", Kind::Punct('[')) => self.struct_of(),
            ("struct", Kind::Punct('{')) => self.fields(),
            ("c_string", Kind::Punct('[')) => self.c_string(),
            _ => self.named_or_wire(),
        }
    }

    fn array(&mut self) -> Parsed<TypeBody> {
        self.at += 2;
        let len = if self.at_punct(']') {
            ArrayLen::Unlimited
        } else if self.take('*') {
            if self.take(':') { ArrayLen::UpTo(self.expr()?) } else { ArrayLen::Unlimited }
        } else {
            ArrayLen::Fixed(self.expr()?)
        };
        Ok(TypeBody::Array(len, self.element()?))
    }

    fn element(&mut self) -> Parsed<Box<TypeSpec>> {
        self.expect(']', "behind the number of elements")?;
        if !self.take_keyword("of") {
            return Err(self.unexpected("`of` and the type of the elements"));
        }
        Ok(Box::new(self.type_spec()?))
    }

    fn struct_of(&mut self) -> Parsed<TypeBody> {
        self.at += 2;
        let count = self.expr()?;
        Ok(TypeBody::StructOf(count, self.element()?))
    }

    fn fields(&mut self) -> Parsed<TypeBody> {
        let keyword = self.advance().span;
        self.only_in(Grammar::Gnu, keyword, "a structure with named fields");
        self.at += 1;
        let mut fields = Vec::new();
        while !self.take('}') {
            let ty = self.ident("a field's type, or `}`")?;
            let name = self.ident("the field's name")?;
            self.expect(';', "behind the field")?;
            fields.push(Field { ty, name });
        }
        Ok(TypeBody::Struct(fields))
    }

    fn c_string(&mut self) -> Parsed<TypeBody> {
        self.at += 2;
        let varying = self.take('*');
        if varying {
            self.expect(':', "and the string's size")?;
        }
        let size = self.expr()?;
        self.expect(']', "behind the string's size")?;
        Ok(TypeBody::CString { varying, size })
    }

    /// `(MACH_MSG_TYPE_X, bits, flags)`
    fn long_form(&mut self) -> Parsed<TypeBody> {
        let open = self.advance().span;
        self.only_in(Grammar::Gnu, open, "the form `(type, size)`");
        let (sent, received) = self.wire_names()?;
        self.expect(',', "and the size in bits")?;
        let bits = Some(self.expr()?);
        while self.take(',') {
            self.ident("a flag")?;
        }
        self.expect(')', "behind the size")?;
        Ok(TypeBody::Wire { sent, received, bits })
    }

    fn named_or_wire(&mut self) -> Parsed<TypeBody> {
        let token = self.peek();
        if token.kind != Kind::Ident {
            return Err(self.unexpected("a type"));
        }
        if is_wire_name(self.text(token)) {
            let (sent, received) = self.wire_names()?;
            return Ok(TypeBody::Wire { sent, received, bits: None });
        }
        Ok(TypeBody::Named(self.ident("a type")?))
    }

    fn wire_names(&mut self) -> Parsed<(Ident, Option<Ident>)> {
        let sent = in_mach_3(self.ident("a transmission type")?);
        let received = if self.take('|') { Some(in_mach_3(self.ident("the receiver's transmission type")?)) } else { None };
        Ok((sent, received))
    }

    fn type_option(&mut self) -> Parsed<Option<TypeOption>> {
        let token = self.peek();
        let word = self.keyword();
        let foreign = matches!(word.as_str(), "pointerto" | "pointertoifnot" | "valueof");
        let known = matches!(
            word.as_str(),
            "ctype" | "cusertype" | "cservertype" | "intran" | "outtran" | "intranpayload" | "destructor"
        );
        if !known && !foreign {
            return Ok(None);
        }
        self.at += 1;
        self.expect(':', "behind the option")?;
        let kind = match word.as_str() {
            "ctype" => OptionKind::CType(self.c_type()?),
            "cusertype" => OptionKind::CUserType(self.c_type()?),
            "cservertype" => OptionKind::CServerType(self.c_type()?),
            "intran" => {
                let (to, function, from) = self.conversion()?;
                OptionKind::InTran { to, function, from }
            }
            "outtran" => {
                let (to, function, from) = self.conversion()?;
                OptionKind::OutTran { to, function, from }
            }
            "intranpayload" => self.payload(token.span)?,
            "destructor" => {
                let function = self.ident("the destructor's name")?.text;
                let of = self.operand()?;
                OptionKind::Destructor { function, of }
            }
            _ => {
                self.only_in(Grammar::Osf, token.span, "this option");
                OptionKind::Foreign(self.c_type()?)
            }
        };
        let end = self.tokens[self.at - 1].span;
        Ok(Some(TypeOption { span: Span::new(token.span.start, end.end), kind }))
    }

    fn payload(&mut self, span: Span) -> Parsed<OptionKind> {
        self.only_in(Grammar::Gnu, span, "`intranpayload`");
        let to = self.c_type()?;
        let function = self.ident("the function's name")?.text;
        Ok(OptionKind::InTranPayload { to, function })
    }

    /// `T f(U)`
    fn conversion(&mut self) -> Parsed<(String, String, String)> {
        let to = self.c_type()?;
        let function = self.ident("the function's name")?.text;
        let from = self.operand()?;
        Ok((to, function, from))
    }

    fn operand(&mut self) -> Parsed<String> {
        self.expect('(', "and the function's operand")?;
        let ty = self.c_type()?;
        self.expect(')', "behind the function's operand")?;
        Ok(ty)
    }

    /// The name of a C type: an identifier, or a tag with its keyword.
    fn c_type(&mut self) -> Parsed<String> {
        let first = self.ident("the name of a C type")?.text;
        if matches!(first.as_str(), "struct" | "union" | "enum") {
            let tag = self.ident("a tag")?.text;
            return Ok(format!("{first} {tag}"));
        }
        Ok(first)
    }
}

fn is_wire_name(text: &str) -> bool {
    let begins = |with: &str| text.get(..with.len()).is_some_and(|head| head.eq_ignore_ascii_case(with));
    (begins("mach_msg_type_") || begins("msg_type_")) && !text.ends_with("_t") || text.eq_ignore_ascii_case("polymorphic")
}

/// What Mach 2.5 calls `MSG_TYPE_X` is `MACH_MSG_TYPE_X` since, but for rights: its ports are send rights, and a receive right was
/// moved, with the ownership that ports do not have any more.
fn in_mach_3(mut name: Ident) -> Ident {
    let old = name.text.get(..9).filter(|head| head.eq_ignore_ascii_case("msg_type_")).and_then(|_| name.text.get(9..));
    if let Some(old) = old.map(str::to_ascii_uppercase) {
        let new = match old.as_str() {
            "PORT" => "COPY_SEND",
            "PORT_ALL" | "PORT_RECEIVE" => "MOVE_RECEIVE",
            "INTERNAL_MEMORY" => "UNSTRUCTURED",
            same => same,
        };
        name.text = format!("MACH_MSG_TYPE_{new}");
    }
    name
}
