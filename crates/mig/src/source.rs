//! Preprocessed text, and where each of its lines came from.
//!
//! The C preprocessor leaves line markers (`# 12 "file.defs" 1`). They are read here once; all later stages
//! speak of byte offsets ([`Span`]) in the preprocessed text.

use std::ops::Range;

/// A range of bytes in the preprocessed text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// Offset of the first byte.
    pub start: usize,
    /// Offset behind the last byte.
    pub end: usize,
}

impl Span {
    /// The span of the bytes `start..end`.
    pub fn new(start: usize, end: usize) -> Self {
        Self { start, end }
    }

    /// The smallest span that covers both.
    pub fn to(self, other: Span) -> Self {
        Self { start: self.start.min(other.start), end: self.end.max(other.end) }
    }
}

#[derive(Debug)]
struct Line {
    start: usize,
    file: usize,
    number: usize,
    marker: bool,
}

/// The position of a span, as a user names it.
#[derive(Debug, PartialEq, Eq)]
pub struct Place<'a> {
    /// The file's name, as the preprocessor gave it.
    pub file: &'a str,
    /// Line in that file, from 1.
    pub line: usize,
    /// The text of the line, without its end.
    pub text: &'a str,
    /// The span's bytes within `text`; a span of several lines is cut at the end of its first.
    pub range: Range<usize>,
}

/// The text that the compiler reads.
#[derive(Debug)]
pub struct Source {
    text: String,
    lines: Vec<Line>,
    files: Vec<String>,
}

impl Source {
    /// Takes preprocessed `text`; `name` is the file's name until a line marker gives another.
    pub fn new(name: &str, text: String) -> Self {
        let mut files = vec![name.to_owned()];
        let mut lines = Vec::new();
        let (mut file, mut number, mut start) = (0, 1, 0);
        for line in text.split_inclusive('\n') {
            let marker = line_marker(line);
            lines.push(Line { start, file, number, marker: marker.is_some() || line.starts_with('#') });
            start += line.len();
            number += 1;
            if let Some((next, named)) = marker {
                number = next;
                if let Some(named) = named {
                    file = files.iter().position(|f| *f == named).unwrap_or_else(|| {
                        files.push(named);
                        files.len() - 1
                    });
                }
            }
        }
        lines.push(Line { start, file, number, marker: false });
        Self { text, lines, files }
    }

    /// The whole preprocessed text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The text of `span`.
    pub fn slice(&self, span: Span) -> &str {
        self.text.get(span.start..span.end).unwrap_or("")
    }

    /// If `offset` is the start of a line that the preprocessor left for its readers, the offset behind that line.
    pub fn marker_end(&self, offset: usize) -> Option<usize> {
        let index = self.lines.binary_search_by_key(&offset, |l| l.start).ok()?;
        let line = &self.lines[index];
        line.marker.then(|| self.lines.get(index + 1).map_or(self.text.len(), |l| l.start))
    }

    /// Whether the span stands in the file that was given to the compiler, and not in one that it includes.
    pub fn in_main_file(&self, span: Span) -> bool {
        self.files[self.line_of(span.start).file] == self.files[0]
    }

    /// File, line and text of a span.
    pub fn place(&self, span: Span) -> Place<'_> {
        let line = self.line_of(span.start);
        let rest = &self.text[line.start..];
        let text = rest.split('\n').next().unwrap_or("").trim_end_matches('\r');
        let start = (span.start - line.start).min(text.len());
        let end = span.end.saturating_sub(line.start).clamp(start, text.len());
        Place { file: &self.files[line.file], line: line.number, text, range: start..end }
    }

    fn line_of(&self, offset: usize) -> &Line {
        let index = self.lines.partition_point(|l| l.start <= offset).saturating_sub(1);
        &self.lines[index]
    }
}

/// Reads `# 12 "name" ...` and `#line 12 "name"`: the number of the next line and, if given, its file.
fn line_marker(line: &str) -> Option<(usize, Option<String>)> {
    let rest = line.strip_prefix('#')?.trim_start();
    let rest = rest.strip_prefix("line").unwrap_or(rest).trim_start();
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let number = rest[..digits].parse().ok()?;
    let rest = rest[digits..].trim();
    let Some(quoted) = rest.strip_prefix('"') else { return Some((number, None)) };
    let mut name = String::new();
    let mut chars = quoted.chars();
    loop {
        match chars.next()? {
            '"' => return Some((number, Some(name))),
            '\\' => name.push(chars.next()?),
            c => name.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_goes_by_the_line_markers() {
        let source = Source::new("a.defs", "# 7 \"x/b \\\"q\\\".defs\" 1\none\n#line 3\n\ntwo words\n".to_owned());
        let two = source.text().find("words").unwrap();
        let place = source.place(Span::new(two, two + 5));
        assert_eq!((place.file, place.line, place.text), ("x/b \"q\".defs", 4, "two words"));
        assert_eq!(place.range, 4..9);
        let one = source.text().find("one").unwrap();
        assert_eq!(source.place(Span::new(one, one + 30)).range, 0..3, "a span is cut at the end of its line");
    }

    #[test]
    fn a_span_at_the_end_of_the_text_has_a_place() {
        for text in ["", "x", "x\n", "# 1 \"y\""] {
            let source = Source::new("a.defs", text.to_owned());
            let place = source.place(Span::new(text.len(), text.len()));
            assert!(place.range.end <= place.text.len());
        }
    }
}
