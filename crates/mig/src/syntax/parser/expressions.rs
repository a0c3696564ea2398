//! Numbers, and what is computed from them.

use super::super::ast::{Expr, ExprKind};
use super::super::lexer::Kind;
use super::{Parsed, Parser};

impl Parser<'_> {
    /// `a + b - c`, with `*` and `/` binding closer.
    pub(super) fn expr(&mut self) -> Parsed<Expr> {
        self.nested(|p| p.binary(&['+', '-'], |p| p.binary(&['*', '/'], Self::primary)))
    }

    fn binary(&mut self, operators: &[char], operand: impl Fn(&mut Self) -> Parsed<Expr>) -> Parsed<Expr> {
        let mut left = operand(self)?;
        let mut operators_seen = 0;
        while let Kind::Punct(operator) = self.peek().kind {
            if !operators.contains(&operator) {
                break;
            }
            operators_seen += 1;
            if operators_seen > super::DEPTH {
                return self.nested_too_deep();
            }
            self.at += 1;
            let right = operand(self)?;
            let span = left.span.to(right.span);
            left = Expr { span, kind: ExprKind::Binary(Box::new(left), operator, Box::new(right)) };
        }
        Ok(left)
    }

    fn nested_too_deep(&mut self) -> Parsed<Expr> {
        self.depth = super::DEPTH;
        self.nested(Self::primary)
    }

    fn primary(&mut self) -> Parsed<Expr> {
        let token = self.peek();
        match token.kind {
            Kind::Number => {
                self.at += 1;
                Ok(Expr { span: token.span, kind: ExprKind::Number(self.text(token).to_owned()) })
            }
            Kind::Punct('(') => {
                self.at += 1;
                let mut inner = self.expr()?;
                let close = self.expect(')', "behind the expression")?;
                inner.span = token.span.to(close.span);
                Ok(inner)
            }
            _ => Err(self.unexpected("a number")),
        }
    }
}
