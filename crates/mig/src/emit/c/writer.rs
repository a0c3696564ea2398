//! Lines of C with indentation, and the helper functions that they call.

use std::collections::BTreeSet;

use super::helpers::{self, Helper};
use super::names;
use crate::model::Interface;

/// Collects the body of a file.
#[derive(Default)]
pub struct Writer {
    text: String,
    depth: usize,
    helpers: BTreeSet<Helper>,
}

impl Writer {
    /// One line, indented. An empty one separates.
    pub fn line(&mut self, line: impl AsRef<str>) {
        let line = line.as_ref();
        if !line.is_empty() {
            for _ in 0..self.depth {
                self.text.push('\t');
            }
            self.text.push_str(line);
        }
        self.text.push('\n');
    }

    /// Several lines.
    pub fn lines<S: AsRef<str>>(&mut self, lines: impl IntoIterator<Item = S>) {
        for line in lines {
            self.line(line);
        }
    }

    /// An empty line, unless there is one already.
    pub fn gap(&mut self) {
        if !self.text.is_empty() && !self.text.ends_with("\n\n") && !self.text.ends_with("{\n") {
            self.text.push('\n');
        }
    }

    /// What `inner` writes, one level deeper, between `head {` and `}` and what is to follow it.
    pub fn block(&mut self, head: &str, tail: &str, inner: impl FnOnce(&mut Self)) {
        self.line(if head.is_empty() { "{".to_owned() } else { format!("{head} {{") });
        self.depth += 1;
        inner(self);
        self.depth -= 1;
        self.line(format!("}}{tail}"));
    }

    /// `if (conditions) statement`, with each condition on its own line if there are several.
    pub fn guard(&mut self, conditions: &[String], statements: &[String]) {
        if conditions.is_empty() {
            return;
        }
        let joint = format!("\n{}    || ", "\t".repeat(self.depth));
        let head = format!("if ({})", conditions.join(&joint));
        match statements {
            [one] => {
                self.line(head);
                self.line(format!("\t{one}"));
            }
            several => self.block(&head, "", |w| w.lines(several)),
        }
    }

    /// `if (condition) { yes } else { no }`
    pub fn either(&mut self, condition: &str, yes: impl FnOnce(&mut Self), no: impl FnOnce(&mut Self)) {
        self.line(format!("if ({condition}) {{"));
        self.depth += 1;
        yes(self);
        self.depth -= 1;
        self.line("} else {");
        self.depth += 1;
        no(self);
        self.depth -= 1;
        self.line("}");
    }

    /// A label: it stands one level further out.
    pub fn label(&mut self, name: &str) {
        self.depth -= 1;
        self.line(format!("{name}:"));
        self.depth += 1;
    }

    /// Notes that a helper is called, and gives its name.
    pub fn call(&mut self, helper: Helper) -> &'static str {
        self.helpers.insert(helper);
        helper.name()
    }

    /// The text behind `head` and the helpers that it needs. `prefix` is that of libmach's routines.
    pub fn finish(self, head: &str, prefix: &str, interface: &Interface) -> String {
        let mut text = head.to_owned();
        for helper in helpers::with_dependencies(&self.helpers) {
            text.push_str(&helper.text(prefix));
            text.push('\n');
        }
        text.push_str(&self.text);
        names::settled(&text, interface)
    }
}
