//! From the syntax tree to the interface: names, numbers, and whether what was written makes sense.

mod arguments;
mod names;
mod numbers;
mod routines;
mod types;

use std::collections::HashMap;

use crate::diagnostics::{Diagnostic, Diagnostics};
use crate::model::{Consume, Import, Interface, Routine};
use crate::source::{Source, Span};
use crate::syntax::ast::{File, Item, Setting, SettingKind, Subsystem};
use types::Types;

/// Requests and replies of one subsystem have identifiers this far apart.
const REPLY_DISTANCE: i32 = 100;

/// More routines than this are refused: the routine table would be larger than any program wants.
const MOST_ROUTINES: usize = 10_000;

/// Checks a file. `None` if there is no subsystem to emit: with errors, or because the file has only types.
pub fn check(file: &File, source: &Source, diagnostics: &mut Diagnostics) -> Option<Interface> {
    let mut checker = Checker {
        source,
        diagnostics,
        types: Types::default(),
        settings: Settings::default(),
        subsystem: None,
        routines: Vec::new(),
        names: HashMap::new(),
        imports: Vec::new(),
        full: false,
    };
    for item in &file.items {
        checker.item(item);
    }
    checker.finish()
}

/// The settings in force where a routine stands.
#[derive(Clone, Debug)]
struct Settings {
    msg_option: Option<String>,
    wait_time: Option<String>,
    send_time: Option<String>,
    user_prefix: String,
    server_prefix: String,
    demux: Option<String>,
    rcs_id: Option<String>,
    stack_limit: Option<u32>,
    consume: Consume,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            msg_option: None,
            wait_time: None,
            send_time: None,
            user_prefix: String::new(),
            server_prefix: String::new(),
            demux: None,
            rcs_id: None,
            stack_limit: None,
            consume: Consume::None,
        }
    }
}

struct Checker<'a> {
    source: &'a Source,
    diagnostics: &'a mut Diagnostics,
    types: Types,
    settings: Settings,
    /// Name, base, and where it was said.
    subsystem: Option<(String, i32, Span)>,
    routines: Vec<Option<Routine>>,
    /// Routine names and where they were declared.
    names: HashMap<String, Span>,
    imports: Vec<Import>,
    /// Whether the table of routines was found too long, which is said once.
    full: bool,
}

impl Checker<'_> {
    fn item(&mut self, item: &Item) {
        match item {
            Item::Subsystem(subsystem) => self.subsystem(subsystem),
            Item::Type(decl) => self.types.declare(decl, self.diagnostics),
            Item::Operation(operation) => {
                let routine = self.operation(operation);
                self.add(routine, operation.name.span);
            }
            Item::Skip(None) => self.add(None, Span::default()),
            Item::Skip(Some(expr)) => {
                let what = "this number of skipped routines";
                let count = numbers::in_range(expr, 1, MOST_ROUTINES as u64, what, self.diagnostics);
                for _ in 0..count.unwrap_or(1) {
                    self.add(None, expr.span);
                }
            }
            Item::Setting(setting) => self.setting(setting),
            Item::Import(import) => self.imports.push(Import { kind: import.kind, file: import.file.clone() }),
        }
    }

    fn add(&mut self, routine: Option<Routine>, span: Span) {
        if self.routines.len() < MOST_ROUTINES {
            self.routines.push(routine);
        } else if !self.full {
            self.full = true;
            self.diagnostics.push(Diagnostic::error(span, format!("a subsystem has at most {MOST_ROUTINES} routines")));
        }
    }

    fn subsystem(&mut self, subsystem: &Subsystem) {
        if let Some((name, _, at)) = &self.subsystem {
            let diagnostic = Diagnostic::error(subsystem.name.span, "a file describes one subsystem")
                .related(*at, format!("`{name}` was begun here"))
                .help("put the other subsystem in its own file");
            self.diagnostics.push(diagnostic);
            return;
        }
        let what = "the base of a subsystem";
        let base = numbers::in_range(&subsystem.base, 0, i32::MAX as u64, what, self.diagnostics).unwrap_or(0);
        self.subsystem = Some((subsystem.name.text.clone(), base as i32, subsystem.name.span));
        if base as i64 + i64::from(REPLY_DISTANCE) > i64::from(i32::MAX) {
            let message = "the identifiers of the replies, which are 100 higher, do not fit into 32 bits";
            self.diagnostics.push(Diagnostic::error(subsystem.base.span, message));
        }
    }

    fn setting(&mut self, setting: &Setting) {
        let value = setting.value.clone();
        match setting.kind {
            SettingKind::MsgOption => self.settings.msg_option = (value != "MACH_MSG_OPTION_NONE").then_some(value),
            SettingKind::WaitTime => self.settings.wait_time = Some(value),
            SettingKind::NoWaitTime => self.settings.wait_time = None,
            SettingKind::SendTime => self.settings.send_time = Some(value),
            SettingKind::NoSendTime => self.settings.send_time = None,
            SettingKind::UserPrefix => {
                if self.identifier(setting) {
                    self.settings.user_prefix = value;
                }
            }
            SettingKind::ServerPrefix => {
                if self.identifier(setting) {
                    self.settings.server_prefix = value;
                }
            }
            SettingKind::ServerDemux => {
                if self.identifier(setting) {
                    self.settings.demux = Some(value);
                }
            }
            SettingKind::RcsId => self.rcs_id(setting),
            SettingKind::Error => {
                self.diagnostics
                    .push(Diagnostic::warning(setting.span, "`error` has no effect: only procedures call it").help("remove it"));
            }
            SettingKind::ConsumeOnSendError => self.consume(setting),
            SettingKind::OnStackLimit => self.settings.stack_limit = self.number(setting),
            // Reply ports are cached per thread anyway, and arrays are limited by their types.
            SettingKind::UseSpecialReplyPort | SettingKind::UserTypeLimit => {
                self.number(setting);
            }
        }
    }

    /// Whether the setting's value is an identifier; reports it if not.
    fn identifier(&mut self, setting: &Setting) -> bool {
        let good = names::is_identifier(&setting.value);
        if !good {
            let message = format!("`{}` is no C identifier", setting.value);
            self.diagnostics.push(Diagnostic::error(setting.value_span, message));
        }
        good
    }

    fn number(&mut self, setting: &Setting) -> Option<u32> {
        let number = setting.value.parse().ok();
        if number.is_none() {
            let message = format!("`{}` is no number", setting.value);
            self.diagnostics.push(Diagnostic::error(setting.value_span, message));
        }
        number
    }

    fn rcs_id(&mut self, setting: &Setting) {
        let quoted = setting.value.len() >= 2 && setting.value.starts_with('"') && setting.value.ends_with('"');
        if quoted {
            self.settings.rcs_id = Some(setting.value.clone());
        } else {
            self.diagnostics.push(Diagnostic::error(setting.value_span, "`rcsid` takes a string in quotes"));
        }
    }

    fn consume(&mut self, setting: &Setting) {
        self.settings.consume = match setting.value.to_ascii_lowercase().as_str() {
            "none" => Consume::None,
            "timeout" => Consume::Timeout,
            "any" => Consume::Any,
            _ => {
                let message = format!("`{}` is not `None`, `Timeout` or `Any`", setting.value);
                self.diagnostics.push(Diagnostic::error(setting.value_span, message));
                return;
            }
        };
    }

    fn finish(self) -> Option<Interface> {
        if self.diagnostics.errors() > 0 {
            return None;
        }
        let Some((name, base, _)) = self.subsystem else {
            if self.routines.is_empty() {
                return None;
            }
            let at = self.routines.iter().flatten().next().map(|r| self.names[&r.name]);
            let at = at.unwrap_or_default();
            let diagnostic =
                Diagnostic::error(at, "the file has routines and no subsystem").help("begin it with `subsystem NAME BASE;`");
            self.diagnostics.push(diagnostic);
            return None;
        };
        let demux = self.settings.demux.unwrap_or_else(|| format!("{name}_server"));
        Some(Interface {
            name,
            base,
            routines: self.routines,
            imports: self.imports,
            demux,
            rcs_id: self.settings.rcs_id,
            stack_limit: self.settings.stack_limit,
        })
    }
}
