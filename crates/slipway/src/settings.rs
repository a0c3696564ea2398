//! The settings of the hooks: options over environment, checked before anything runs.

use std::ffi::OsString;
use std::fmt;

use clap::ValueEnum;

use crate::args::{HookOptions, LogLevel, Stage, Timer, Users};
use crate::failure::Failure;
use crate::size::exact;
use slipway_transport::settings::{Settings as HookSettings, parse_count, parse_size, parse_spin};

/// Checked settings.
#[derive(Debug)]
pub struct Settings {
    /// Whether the hooks are wanted at all.
    pub on: bool,
    /// What may be said on standard error.
    pub log: LogLevel,
    /// Variables to set for the program: those that an option was given for.
    pub variables: Vec<(&'static str, OsString)>,
}

impl Settings {
    /// Merges `options` with the variables that `environment` gives.
    ///
    /// # Errors
    /// A variable that can't be read or is 0, and a smallest ring above the largest. An option
    /// replaces its variable, so a bad variable under an option is no error.
    pub fn new(options: &HookOptions, environment: impl Fn(&str) -> Option<OsString>) -> Result<Self, Failure> {
        let mut merge = Merge { environment, variables: Vec::new() };
        merge.value("SLIPWAY_X11_RING", options.ring, parse_size)?;
        let min = merge.value("SLIPWAY_X11_MIN", options.min_ring, parse_size)?;
        let max = merge.value("SLIPWAY_X11_MAX", options.max_ring, parse_size)?;
        merge.value("SLIPWAY_X11_TOTAL", options.total, parse_size)?;
        merge.value("SLIPWAY_X11_CLIENTS", options.clients, parse_count)?;
        merge.choice::<Users>("SLIPWAY_X11_USERS", options.users)?;
        merge.value("SLIPWAY_X11_AFTER", options.after, |text| text.parse::<u32>())?;
        merge.value("SLIPWAY_X11_SPIN", options.spin, parse_spin)?;
        merge.choice::<Stage>("SLIPWAY_X11_STAGE", options.stage)?;
        merge.choice::<Timer>("SLIPWAY_X11_TIMER", options.timer)?;
        let log = merge.choice::<LogLevel>("SLIPWAY_LOG", options.log)?;
        let on = merge.switch("SLIPWAY_X11", options.off)?;
        let default = HookSettings::default();
        check_order(min.unwrap_or(default.min_ring as u64), max.unwrap_or(default.max_ring as u64))?;
        Ok(Self {
            on,
            log: log.unwrap_or(LogLevel::Warn),
            variables: merge.variables.into_iter().map(|(name, value)| (name, value.into())).collect(),
        })
    }
}

fn check_order(min: u64, max: u64) -> Result<(), Failure> {
    if min <= max {
        return Ok(());
    }
    Err(Failure::usage(format!(
        "smallest ring {} is above the largest, {}: lower --min-ring (SLIPWAY_X11_MIN) or raise --max-ring (SLIPWAY_X11_MAX)",
        exact(min),
        exact(max)
    )))
}

struct Merge<E> {
    environment: E,
    variables: Vec<(&'static str, String)>,
}

impl<E: Fn(&str) -> Option<OsString>> Merge<E> {
    /// The option, else the variable; an empty variable counts as unset.
    fn value<T: ToString, W: fmt::Display>(
        &mut self,
        name: &'static str,
        option: Option<T>,
        parse: impl Fn(&str) -> Result<T, W>,
    ) -> Result<Option<T>, Failure> {
        if let Some(value) = option {
            self.variables.push((name, value.to_string()));
            return Ok(Some(value));
        }
        let Some(text) = (self.environment)(name).filter(|text| !text.is_empty()) else {
            return Ok(None);
        };
        let text = text.to_string_lossy();
        parse(&text).map(Some).map_err(|why| Failure::usage(format!("environment variable {name}={text}: {why}")))
    }

    fn choice<T: ValueEnum>(&mut self, name: &'static str, option: Option<T>) -> Result<Option<T>, Failure> {
        let chosen =
            self.value(name, option.map(Choice), |text| T::from_str(text, false).map(Choice).map_err(|_| expected::<T>()))?;
        Ok(chosen.map(|Choice(value)| value))
    }

    fn switch(&mut self, name: &'static str, off: bool) -> Result<bool, Failure> {
        let on = self.value(name, off.then_some(Switch(false)), |text| match text {
            "on" | "1" => Ok(Switch(true)),
            "off" | "0" => Ok(Switch(false)),
            _ => Err("expected on or off"),
        })?;
        Ok(on.is_none_or(|Switch(on)| on))
    }
}

struct Choice<T>(T);

impl<T: ValueEnum> fmt::Display for Choice<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&name_of(&self.0))
    }
}

struct Switch(bool);

impl fmt::Display for Switch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0 { "on" } else { "off" })
    }
}

fn name_of<T: ValueEnum>(value: &T) -> String {
    value.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
}

fn expected<T: ValueEnum>() -> String {
    let names: Vec<String> = T::value_variants().iter().map(name_of).collect();
    format!("expected one of {}", names.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(options: &HookOptions, environment: &[(&str, &str)]) -> Result<Settings, Failure> {
        Settings::new(options, |name| environment.iter().find(|(key, _)| *key == name).map(|(_, value)| OsString::from(value)))
    }

    #[test]
    fn options_override_and_the_rest_is_left_alone() {
        let options = HookOptions { ring: Some(4096), stage: Some(Stage::WhenAsleep), ..HookOptions::default() };
        let environment = [("SLIPWAY_X11_RING", "broken"), ("SLIPWAY_X11_SPIN", "10"), ("SLIPWAY_LOG", "error")];
        let settings = settings(&options, &environment).expect("good");
        assert_eq!(settings.variables, [("SLIPWAY_X11_RING", "4096".into()), ("SLIPWAY_X11_STAGE", "2b".into())]);
        assert_eq!(settings.log, LogLevel::Error);
        assert!(settings.on);
    }

    #[test]
    fn off_by_option_or_variable() {
        let off = HookOptions { off: true, ..HookOptions::default() };
        let by_option = settings(&off, &[("SLIPWAY_X11", "on")]).expect("good");
        assert!(!by_option.on);
        assert_eq!(by_option.variables, [("SLIPWAY_X11", "off".into())]);
        assert!(!settings(&HookOptions::default(), &[("SLIPWAY_X11", "off")]).expect("good").on);
    }

    #[test]
    fn a_bad_variable_is_named() {
        for (name, value) in [
            ("SLIPWAY_X11_RING", "0"),
            ("SLIPWAY_X11_TOTAL", "much"),
            ("SLIPWAY_X11_CLIENTS", "-1"),
            ("SLIPWAY_X11_AFTER", "soon"),
            ("SLIPWAY_X11_SPIN", "1us"),
            ("SLIPWAY_X11_STAGE", "3"),
            ("SLIPWAY_X11_TIMER", "never"),
            ("SLIPWAY_LOG", "loud"),
            ("SLIPWAY_X11", "maybe"),
        ] {
            let failure = settings(&HookOptions::default(), &[(name, value)]).expect_err(name);
            assert_eq!(failure.code, crate::failure::USAGE);
            assert!(failure.message.contains(name), "{}", failure.message);
        }
    }

    #[test]
    fn min_above_max_also_against_the_default() {
        for (min, max) in [(Some(2 << 20), Some(1 << 20)), (Some(32 << 20), None), (None, Some(4096))] {
            let options = HookOptions { min_ring: min, max_ring: max, ..HookOptions::default() };
            let failure = settings(&options, &[]).expect_err("refused");
            assert!(failure.message.contains("--max-ring"), "{}", failure.message);
        }
    }
}
