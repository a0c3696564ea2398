//! Options and time-outs of calls: what files write for C as expressions.

use super::names::snake;
use super::writer::Writer;
use crate::model::{Role, Routine};

/// Options of mach_msg that a file can name.
const OPTIONS: &[(&str, u32)] = &[
    ("MACH_MSG_OPTION_NONE", 0),
    ("MACH_SEND_MSG", 1),
    ("MACH_RCV_MSG", 2),
    ("MACH_SEND_TIMEOUT", 0x10),
    ("MACH_SEND_NOTIFY", 0x20),
    ("MACH_SEND_INTERRUPT", 0x40),
    ("MACH_SEND_CANCEL", 0x80),
    ("MACH_RCV_TIMEOUT", 0x100),
    ("MACH_RCV_NOTIFY", 0x200),
    ("MACH_RCV_INTERRUPT", 0x400),
    ("MACH_RCV_LARGE", 0x800),
];

/// What a call is sent with, as far as its arguments don't say it.
#[derive(Debug, Default)]
pub struct Settings {
    options: Option<u32>,
    send: Option<u32>,
    wait: Option<u32>,
    arguments: bool,
}

impl Settings {
    /// Whether there is nothing to be said.
    pub fn is_plain(&self) -> bool {
        self.options.is_none() && self.send.is_none() && self.wait.is_none() && !self.arguments
    }
}

/// The value of a C expression of numbers and options.
pub fn value(text: &str) -> Option<u32> {
    text.split('|').try_fold(0, |sum, term| {
        let term = term.trim().trim_matches(['(', ')']).trim().trim_end_matches(['u', 'U', 'l', 'L']);
        let named = OPTIONS.iter().find(|(name, _)| *name == term || Some(*name) == term.strip_prefix("(")).map(|(_, v)| *v);
        let number = match term.strip_prefix("0x") {
            Some(digits) => u32::from_str_radix(digits, 16).ok(),
            None => term.parse().ok(),
        };
        Some(sum | named.or(number)?)
    })
}

fn argument(routine: &Routine, role: Role) -> Option<String> {
    routine.args.iter().find(|a| a.role == role).map(|a| snake(&a.name))
}

/// The settings of a routine. What can't be read was reported before.
pub fn of(routine: &Routine) -> Settings {
    let read = |text: &Option<String>| text.as_deref().and_then(value);
    let roles = [Role::WaitTime, Role::SendTime, Role::MsgOption];
    Settings {
        options: read(&routine.msg_option),
        send: read(&routine.send_time),
        wait: read(&routine.wait_time),
        arguments: roles.into_iter().any(|role| argument(routine, role).is_some()),
    }
}

/// Tells the request of them.
pub fn write(w: &mut Writer, routine: &Routine, request: &str) {
    let settings = of(routine);
    if let (Some(options), Some(text)) = (settings.options, &routine.msg_option) {
        w.line(format!("{request}.options({options:#x}); // {text}"));
    }
    if let Some(name) = argument(routine, Role::MsgOption) {
        w.line(format!("{request}.options({name});"));
    }
    for (role, setting, method) in [(Role::SendTime, settings.send, "send_time"), (Role::WaitTime, settings.wait, "wait_time")] {
        match (argument(routine, role), setting) {
            (Some(name), _) => w.line(format!("{request}.{method}({name});")),
            (None, Some(ms)) => w.line(format!("{request}.{method}(Duration::from_millis({ms}));")),
            (None, None) => {}
        }
    }
}

/// Whether the module needs the type of time-outs.
pub fn has_times(routine: &Routine) -> bool {
    let settings = of(routine);
    let arguments = [Role::WaitTime, Role::SendTime].into_iter().any(|role| argument(routine, role).is_some());
    settings.send.is_some() || settings.wait.is_some() || arguments
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_and_numbers_are_read() {
        assert_eq!(value("MACH_SEND_TIMEOUT | MACH_RCV_INTERRUPT"), Some(0x410));
        assert_eq!((value("1000"), value("(0x20u)"), value("get_timeout()")), (Some(1000), Some(32), None));
    }
}
