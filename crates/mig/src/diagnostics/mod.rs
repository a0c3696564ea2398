//! What the compiler has to say about a file.

mod render;

pub use render::render;

use crate::source::Span;

/// After so many errors the rest is not reported: they tend to follow from the first.
const LIMIT: usize = 50;

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Nothing is written.
    Error,
    /// The output is written, and may not be what was meant.
    Warning,
}

/// One message about one place, with what helps to understand it.
#[derive(Clone, Debug)]
pub struct Diagnostic {
    /// Error or warning.
    pub level: Level,
    /// One sentence.
    pub message: String,
    /// The place, if it has one, and what to say below it.
    pub primary: Option<(Span, String)>,
    /// Other places that matter, such as a previous definition.
    pub related: Vec<(Span, String)>,
    /// How to fix it.
    pub help: Option<String>,
}

impl Diagnostic {
    /// An error at `span`.
    pub fn error(span: Span, message: impl Into<String>) -> Self {
        Self {
            level: Level::Error,
            message: message.into(),
            primary: Some((span, String::new())),
            related: Vec::new(),
            help: None,
        }
    }

    /// A warning at `span`.
    pub fn warning(span: Span, message: impl Into<String>) -> Self {
        Self { level: Level::Warning, ..Self::error(span, message) }
    }

    /// What to say at the caret.
    #[must_use]
    pub fn label(mut self, text: impl Into<String>) -> Self {
        if let Some((_, label)) = &mut self.primary {
            *label = text.into();
        }
        self
    }

    /// Another place that belongs to it.
    #[must_use]
    pub fn related(mut self, span: Span, text: impl Into<String>) -> Self {
        self.related.push((span, text.into()));
        self
    }

    /// How to fix it.
    #[must_use]
    pub fn help(mut self, text: impl Into<String>) -> Self {
        self.help = Some(text.into());
        self
    }
}

/// The messages of one run.
#[derive(Debug, Default)]
pub struct Diagnostics {
    list: Vec<Diagnostic>,
    errors: usize,
}

impl Diagnostics {
    /// Adds one; errors beyond the limit are counted and not kept.
    pub fn push(&mut self, diagnostic: Diagnostic) {
        if diagnostic.level == Level::Error {
            self.errors += 1;
            if self.errors > LIMIT {
                return;
            }
        }
        self.list.push(diagnostic);
    }

    /// Keeps errors only.
    pub fn drop_warnings(&mut self) {
        self.list.retain(|d| d.level == Level::Error);
    }

    /// How many errors there were, also those beyond the limit.
    pub fn errors(&self) -> usize {
        self.errors
    }

    /// The messages kept, in the order of their places in the text.
    pub fn sorted(&self) -> Vec<&Diagnostic> {
        let mut list: Vec<_> = self.list.iter().collect();
        list.sort_by_key(|d| d.primary.as_ref().map_or(usize::MAX, |(span, _)| span.start));
        list
    }
}
