//! Settings from the environment, the same for clients and servers.
//!
//! A value that can't be understood is reported once and replaced by its default: the program that
//! carries the hooks must run whatever the environment says.

use crate::{endpoint::Choice, environment, report};
pub use slipway_fabric::runtime::runtime_dir;
use std::{path::PathBuf, sync::OnceLock, time::Duration};

/// How much of the waiting protocol is in use; the names are those of Faith's paper of 2000.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// A bell for every write and no spinning.
    One,
    /// A bell only when the peer sleeps, and no spinning.
    TwoB,
    /// As `TwoB`, and spinning where it wins.
    Full,
}

/// All settings.
#[derive(Debug, Clone)]
pub struct Settings {
    /// `SLIPWAY_X11`: whether the hooks do anything.
    pub on: bool,
    /// `SLIPWAY_SOCKETS`: which endpoints use shared memory.
    pub sockets: Choice,
    /// `SLIPWAY_X11_OVER`: whether connections to X displays go over Mach ports.
    pub over_ports: bool,
    /// `SLIPWAY_LIBMACH`: the libmach to be loaded for that, by a program that has none.
    pub libmach: Option<PathBuf>,
    /// `SLIPWAY_X11_HELD`: a socket that the program inherits, with a right to a display: `DESCRIPTOR:INODE:DISPLAY`.
    pub held: Option<String>,
    /// `SLIPWAY_X11_RING`: bytes a direction that a client asks for.
    pub ring: usize,
    /// `SLIPWAY_X11_MIN`: the smallest ring a server grants, bytes a direction.
    pub min_ring: usize,
    /// `SLIPWAY_X11_MAX`: the largest ring a server grants, bytes a direction.
    pub max_ring: usize,
    /// `SLIPWAY_X11_TOTAL`: bytes of all segments of a server together.
    pub total: u64,
    /// `SLIPWAY_X11_CLIENTS`: clients of a server on shared memory.
    pub clients: u32,
    /// `SLIPWAY_X11_USERS`: whether servers and clients of other users may be met, too.
    pub all_users: bool,
    /// `SLIPWAY_X11_AFTER`: after so many receives and sends on the socket a client offers, and a server makes the segment.
    pub after: u32,
    /// `SLIPWAY_X11_SPIN`: the longest spin before a sleep; zero means never.
    pub spin: Duration,
    /// `SLIPWAY_X11_STAGE`.
    pub stage: Stage,
    /// `SLIPWAY_X11_TIMER`: whether a server's interval timer may be set lazily.
    pub lazy_timer: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            on: true,
            sockets: Choice::Displays,
            over_ports: false,
            libmach: None,
            held: None,
            ring: 1 << 20,
            min_ring: 64 << 10,
            max_ring: 16 << 20,
            total: 4 << 30,
            clients: 1024,
            all_users: false,
            after: 64,
            spin: Duration::from_micros(50),
            stage: Stage::Full,
            lazy_timer: true,
        }
    }
}

impl Settings {
    /// The settings of this process, read from the environment that it was given at the first call.
    pub fn get() -> &'static Self {
        static SETTINGS: OnceLock<Settings> = OnceLock::new();
        // Not read with others waiting: a fork at that moment would leave the child waiting for ever.
        SETTINGS.get().unwrap_or_else(|| {
            let read = Self::read(|name| environment::variable(name)?.into_string().ok());
            SETTINGS.get_or_init(|| read)
        })
    }

    /// Whether other sockets than those of X displays may use shared memory.
    pub fn any_socket(&self) -> bool {
        self.on && self.sockets != Choice::Displays
    }

    /// Reads the settings from variables given by `variable`.
    pub fn read(variable: impl Fn(&str) -> Option<String>) -> Self {
        let mut settings = Self::default();
        let default = Self::default();
        let choose = |name: &str, set: &mut dyn FnMut(&str) -> Option<()>| {
            if let Some(value) = variable(name)
                && set(value.trim()).is_none()
            {
                report::warn(format_args!("{name}={value} is not a valid value; the default is used"));
            }
        };
        choose("SLIPWAY_X11", &mut |v| {
            settings.on = match v {
                "on" | "1" | "" => true,
                "off" | "0" => false,
                _ => return None,
            };
            Some(())
        });
        choose("SLIPWAY_SOCKETS", &mut |v| Choice::parse(v).ok().map(|choice| settings.sockets = choice));
        choose("SLIPWAY_X11_OVER", &mut |v| {
            settings.over_ports = match v {
                "ports" => true,
                "rings" | "" => false,
                _ => return None,
            };
            Some(())
        });
        settings.libmach = variable("SLIPWAY_LIBMACH").filter(|path| !path.is_empty()).map(PathBuf::from);
        settings.held = variable("SLIPWAY_X11_HELD");
        let ring = |v: &str| {
            let bytes = usize::try_from(parse_size(v).ok()?).ok()?;
            Some(bytes.clamp(4096, 1 << 30).next_power_of_two())
        };
        choose("SLIPWAY_X11_RING", &mut |v| ring(v).map(|n| settings.ring = n));
        choose("SLIPWAY_X11_MIN", &mut |v| ring(v).map(|n| settings.min_ring = n));
        choose("SLIPWAY_X11_MAX", &mut |v| ring(v).map(|n| settings.max_ring = n));
        choose("SLIPWAY_X11_TOTAL", &mut |v| parse_size(v).ok().map(|n| settings.total = n));
        choose("SLIPWAY_X11_CLIENTS", &mut |v| parse_count(v).ok().map(|n| settings.clients = n));
        choose("SLIPWAY_X11_USERS", &mut |v| {
            settings.all_users = match v {
                "own" => false,
                "all" => true,
                _ => return None,
            };
            Some(())
        });
        choose("SLIPWAY_X11_AFTER", &mut |v| v.parse().ok().map(|n| settings.after = n));
        choose("SLIPWAY_X11_SPIN", &mut |v| parse_spin(v).ok().map(|us| settings.spin = Duration::from_micros(us.into())));
        choose("SLIPWAY_X11_STAGE", &mut |v| {
            settings.stage = match v {
                "1" => Stage::One,
                "2b" => Stage::TwoB,
                "full" => Stage::Full,
                _ => return None,
            };
            Some(())
        });
        choose("SLIPWAY_X11_TIMER", &mut |v| {
            settings.lazy_timer = match v {
                "lazy" => true,
                "exact" => false,
                _ => return None,
            };
            Some(())
        });
        if settings.min_ring > settings.max_ring {
            report::warn(format_args!("SLIPWAY_X11_MIN is above SLIPWAY_X11_MAX; the defaults of both are used"));
            (settings.min_ring, settings.max_ring) = (default.min_ring, default.max_ring);
        }
        if settings.stage != Stage::Full {
            settings.spin = Duration::ZERO;
            settings.lazy_timer = false;
        }
        settings
    }
}

/// What to do instead of a limit of 0.
const ZERO: &str = "0 would leave no shared memory; to run without it, use --off or SLIPWAY_X11=off";

/// Reads a number of bytes with an optional suffix K, M or G (powers of 1024).
///
/// # Errors
/// What is expected: it is not a number, has an unknown suffix, is more than 64 bits, or 0.
pub fn parse_size(text: &str) -> Result<u64, &'static str> {
    let (number, suffix) = text.split_at(text.bytes().take_while(u8::is_ascii_digit).count());
    let shift = match suffix {
        "" => 0,
        "k" | "K" => 10,
        "m" | "M" => 20,
        "g" | "G" => 30,
        _ => 64,
    };
    if number.is_empty() || shift == 64 {
        return Err("expected bytes as a whole number with an optional suffix K, M or G, such as 64K");
    }
    match number.parse::<u64>().ok().and_then(|number| number.checked_mul(1 << shift)) {
        None => Err("larger than any memory"),
        Some(0) => Err(ZERO),
        Some(bytes) => Ok(bytes),
    }
}

/// Reads a count of clients, at least 1.
///
/// # Errors
/// What is expected: it is not a number, 0, or more than 32 bits.
pub fn parse_count(text: &str) -> Result<u32, &'static str> {
    match text.parse::<u32>() {
        Ok(0) => Err(ZERO),
        Ok(count) => Ok(count),
        Err(_) => Err("expected a whole number from 1 to 4294967295"),
    }
}

/// Reads a spinning time in microseconds, at most a second; 0 is fine.
///
/// # Errors
/// What is expected: it is not a number, or more than a second.
pub fn parse_spin(text: &str) -> Result<u32, &'static str> {
    let number = text.parse().ok().filter(|&number| number <= 1_000_000);
    number.ok_or("expected microseconds as a whole number from 0 to 1000000")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suffixes_are_powers_of_1024() {
        for (text, bytes) in [("1", 1), ("64K", 65_536), ("64k", 65_536), ("3M", 3 << 20), ("2g", 2 << 30)] {
            assert_eq!(parse_size(text), Ok(bytes), "{text}");
        }
    }

    #[test]
    fn what_is_no_size_is_refused() {
        for text in ["", "K", "-1", "1.5M", "1T", "1KiB", "1 K", "0x10", "K1", "+1", "99999999999999999999", "18014398509481985K"]
        {
            assert!(parse_size(text).is_err(), "{text}");
        }
    }

    #[test]
    fn zero_says_what_to_do_instead() {
        for text in ["0", "0K", "000"] {
            assert!(parse_size(text).is_err_and(|why| why.contains("--off")), "{text}");
        }
        assert!(parse_count("0").is_err_and(|why| why.contains("--off")));
    }

    #[test]
    fn spinning_may_be_zero_but_not_for_ever() {
        assert_eq!(parse_spin("0"), Ok(0));
        assert_eq!(parse_spin("1000000"), Ok(1_000_000));
        assert!(parse_spin("1000001").is_err() && parse_spin("50us").is_err());
    }

    #[test]
    fn bad_values_become_defaults() {
        let settings = Settings::read(|name| match name {
            "SLIPWAY_X11_RING" => Some("0".into()),
            "SLIPWAY_X11_MIN" => Some("32M".into()),
            "SLIPWAY_X11_SPIN" => Some("-3".into()),
            "SLIPWAY_X11_STAGE" => Some("2b".into()),
            _ => None,
        });
        assert_eq!((settings.ring, settings.min_ring, settings.max_ring), (1 << 20, 64 << 10, 16 << 20));
        assert_eq!((settings.stage, settings.spin), (Stage::TwoB, Duration::ZERO));
    }
}
