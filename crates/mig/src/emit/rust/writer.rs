//! Lines of Rust, broken where rustfmt breaks them.

/// The widest line, in characters.
const WIDTH: usize = 100;
/// The most characters of a call's arguments on one line.
const CALL: usize = 60;
/// The most characters of a name that shares its line.
const SHORT: usize = 10;
/// The most characters of a structure's fields on one line.
const FIELDS: usize = 18;

/// Collects the text of a file.
#[derive(Default)]
pub struct Writer {
    text: String,
    depth: usize,
}

impl Writer {
    /// One line, indented. An empty one separates.
    pub fn line(&mut self, line: impl AsRef<str>) {
        let line = line.as_ref();
        if !line.is_empty() {
            self.text.push_str(&"    ".repeat(self.depth));
            self.text.push_str(line);
        }
        self.text.push('\n');
    }

    /// An empty line, unless a block begins here.
    pub fn gap(&mut self) {
        if !self.text.is_empty() && !self.text.ends_with("\n\n") && !self.text.ends_with("{\n") {
            self.text.push('\n');
        }
    }

    /// What `inner` writes, one level deeper, between `head {` and `}` with what follows it.
    pub fn block(&mut self, head: &str, tail: &str, inner: impl FnOnce(&mut Self)) {
        self.line(if head.is_empty() { "{".to_owned() } else { format!("{head} {{") });
        self.indented(inner);
        self.line(format!("}}{tail}"));
    }

    /// What `inner` writes, one level deeper.
    pub fn indented(&mut self, inner: impl FnOnce(&mut Self)) {
        self.depth += 1;
        inner(self);
        self.depth -= 1;
    }

    fn fits(&self, line: &str) -> bool {
        // What a question mark ends is a chain to rustfmt, with less room.
        let width = match line {
            _ if line.ends_with("?;") => WIDTH - 2,
            // It counts the semicolon after what is returned twice.
            _ if line.starts_with("return ") => WIDTH - 1,
            _ => WIDTH,
        };
        4 * self.depth + line.chars().count() <= width
    }

    /// `head(item, item)tail`, with each item on a line of its own if they are too long.
    fn listed(&mut self, head: &str, items: &[String], tail: &str, most: usize) {
        let inside = items.join(", ");
        let line = format!("{head}({inside}){tail}");
        if items.is_empty() || (inside.chars().count() <= most && self.fits(&line)) {
            self.line(line);
            return;
        }
        self.line(format!("{head}("));
        let name = |item: &String| item.chars().all(|c| c.is_alphanumeric() || "_#&".contains(c));
        // Names that are short share lines, if they are those of a call.
        let short = most == CALL && items.iter().all(|item| name(item) && item.chars().count() <= SHORT);
        self.indented(|w| if short { w.filled(items) } else { items.iter().for_each(|item| w.line(format!("{item},"))) });
        self.line(format!("){tail}"));
    }

    /// As many items on each line as there is room for.
    fn filled(&mut self, items: &[String]) {
        let mut line = String::new();
        for item in items {
            if !line.is_empty() && !self.fits(&format!("{line} {item},")) {
                self.line(&line);
                line.clear();
            }
            line += if line.is_empty() { "" } else { " " };
            line += item;
            line.push(',');
        }
        self.line(line);
    }

    /// A call as a statement, or the begin of one.
    pub fn call(&mut self, head: &str, arguments: &[String], tail: &str) {
        let inside = arguments.join(", ");
        if let Some((left, callee)) = head.split_once(" = ") {
            let right = format!("{callee}({inside}){tail}");
            let fits_below = inside.chars().count() <= CALL && self.fits(&format!("    {right}"));
            if fits_below && !self.fits(&format!("{left} = {right}")) {
                self.line(format!("{left} ="));
                self.indented(|w| w.line(right));
                return;
            }
        }
        self.listed(head, arguments, tail, CALL);
    }

    /// The head of a function, with what follows it.
    pub fn signature(&mut self, head: &str, parameters: &[String], tail: &str) {
        self.listed(head, parameters, tail, WIDTH);
    }

    /// A function without a body: `result` is `;` or begins with an arrow.
    pub fn declaration(&mut self, head: &str, parameters: &[String], result: &str) {
        let gap = if result.starts_with('-') { " " } else { "" };
        let front = format!("{head}({})", parameters.join(", "));
        let whole = format!("{front}{gap}{result}");
        // Where it just fits there would be no room for the brace of a body, which rustfmt counts in.
        if 4 * self.depth + whole.chars().count() == WIDTH && !gap.is_empty() {
            self.line(front);
            self.line(result);
            return;
        }
        self.signature(head, parameters, &format!("{gap}{result}"));
    }

    /// `let name: ty = value;`
    pub fn bind(&mut self, name: &str, ty: &str, value: &str) {
        let line = format!("let {name}: {ty} = {value};");
        if self.fits(&line) {
            self.line(line);
            return;
        }
        self.line(format!("let {name}: {ty} ="));
        self.indented(|w| w.line(format!("{value};")));
    }

    /// `Ok(Name { field, field })`
    pub fn built(&mut self, name: &str, fields: &[String]) {
        let inside = fields.join(", ");
        if inside.chars().count() <= FIELDS {
            self.line(format!("Ok({name} {{ {inside} }})"));
            return;
        }
        self.line(format!("Ok({name} {{"));
        self.indented(|w| fields.iter().for_each(|field| w.line(format!("{field},"))));
        self.line("})");
    }

    /// A documentation comment, broken into lines.
    pub fn doc(&mut self, text: &str) {
        let mut line = String::from("///");
        for word in text.split_whitespace() {
            if 4 * self.depth + line.chars().count() + 1 + word.chars().count() > WIDTH && line.len() > 3 {
                self.line(&line);
                line = String::from("///");
            }
            line.push(' ');
            line.push_str(word);
        }
        self.line(line);
    }

    /// A writer for lines one level deeper than those of a function's head at the top of an `impl`.
    pub fn deeper() -> Self {
        Self { text: String::new(), depth: 2 }
    }

    /// Adds what a writer of its own has.
    pub fn nested(&mut self, inner: Self) {
        self.text.push_str(&inner.text);
    }

    /// What was written.
    pub fn finish(self) -> String {
        self.text
    }
}
