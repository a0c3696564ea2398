//! Numbers: computed without overflow, held against their limits.

use crate::diagnostics::{Diagnostic, Diagnostics};
use crate::syntax::ast::{Expr, ExprKind};

/// The value of an expression, or `None` when an error was reported.
pub fn value(expr: &Expr, diagnostics: &mut Diagnostics) -> Option<u64> {
    match &expr.kind {
        ExprKind::Number(text) => {
            let parsed = match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
                Some(digits) => u64::from_str_radix(digits, 16),
                None => text.parse(),
            };
            match parsed {
                Ok(value) => Some(value),
                Err(_) if text.bytes().all(|b| b.is_ascii_digit()) => fail(expr, "this number is too large", diagnostics),
                Err(_) => fail(expr, &format!("`{text}` is no number"), diagnostics),
            }
        }
        ExprKind::Binary(left, operator, right) => {
            let (left, right_value) = (value(left, diagnostics), value(right, diagnostics));
            let (left, right_value) = (left?, right_value?);
            let result = match operator {
                '+' => left.checked_add(right_value),
                '-' if left < right_value => return fail(expr, "this number is negative", diagnostics),
                '-' => left.checked_sub(right_value),
                '*' => left.checked_mul(right_value),
                _ if right_value == 0 => return fail(right, "division by zero", diagnostics),
                _ => left.checked_div(right_value),
            };
            result.or_else(|| fail(expr, "this number is too large", diagnostics))
        }
    }
}

/// The value of an expression that must lie between `least` and `most`.
pub fn in_range(expr: &Expr, least: u64, most: u64, what: &str, diagnostics: &mut Diagnostics) -> Option<u64> {
    let value = value(expr, diagnostics)?;
    if (least..=most).contains(&value) {
        return Some(value);
    }
    fail(expr, &format!("{what} is {value}; it must be between {least} and {most}"), diagnostics)
}

fn fail(expr: &Expr, message: &str, diagnostics: &mut Diagnostics) -> Option<u64> {
    diagnostics.push(Diagnostic::error(expr.span, message));
    None
}
