//! Messages as text: `file:line:column`, the source line, a caret.

use annotate_snippets::{Annotation, AnnotationKind, Group, Level as Severity, Renderer, Snippet};

use super::{Diagnostic, Diagnostics, LIMIT, Level};
use crate::source::{Source, Span};

/// The messages as they are shown to the user; `colour` adds terminal escapes.
pub fn render(diagnostics: &Diagnostics, source: &Source, colour: bool) -> String {
    let renderer = if colour { Renderer::styled() } else { Renderer::plain() };
    let mut out = String::new();
    for diagnostic in diagnostics.sorted() {
        out.push_str(&renderer.render(&groups(diagnostic, source)));
        out.push_str("\n\n");
    }
    match diagnostics.errors() {
        0 => {}
        1 => out.push_str("1 error; no file was written\n"),
        n if n > LIMIT => out.push_str(&format!("{n} errors, the first {LIMIT} shown; no file was written\n")),
        n => out.push_str(&format!("{n} errors; no file was written\n")),
    }
    out
}

fn groups<'a>(diagnostic: &'a Diagnostic, source: &'a Source) -> Vec<Group<'a>> {
    let severity = match diagnostic.level {
        Level::Error => Severity::ERROR,
        Level::Warning => Severity::WARNING,
    };
    let title = severity.primary_title(diagnostic.message.as_str());
    let mut first = match &diagnostic.primary {
        Some((span, label)) => title.element(snippet(source, *span, AnnotationKind::Primary, label)),
        None => Group::with_title(title),
    };
    let help = diagnostic.help.as_deref().map(|text| Severity::HELP.message(text));
    if diagnostic.related.is_empty() {
        if let Some(help) = help {
            first = first.element(help);
        }
        return vec![first];
    }
    let mut groups = vec![first];
    for (span, text) in &diagnostic.related {
        let note = Severity::NOTE.secondary_title(text.as_str());
        groups.push(note.element(snippet(source, *span, AnnotationKind::Primary, "")));
    }
    if let Some(help) = help {
        let last = groups.pop().unwrap_or_else(|| Group::with_level(Severity::HELP));
        groups.push(last.element(help));
    }
    groups
}

fn snippet<'a>(source: &'a Source, span: Span, kind: AnnotationKind, label: &'a str) -> Snippet<'a, Annotation<'a>> {
    let place = source.place(span);
    let annotation = kind.span(place.range);
    let annotation = if label.is_empty() { annotation } else { annotation.label(label) };
    Snippet::source(place.text).line_start(place.line).path(place.file).annotation(annotation)
}
