//! Settings from the environment, the same for clients and servers.
//!
//! A value that can't be understood is reported once and replaced by its default: the program that
//! carries the hooks must run whatever the environment says.

use crate::report;
pub use slipway_fabric::runtime::runtime_dir;
use std::{sync::OnceLock, time::Duration};

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
            ring: 1 << 20,
            min_ring: 64 << 10,
            max_ring: 16 << 20,
            total: 4 << 30,
            clients: 1024,
            spin: Duration::from_micros(50),
            stage: Stage::Full,
            lazy_timer: true,
        }
    }
}

impl Settings {
    /// The settings of this process, read from its environment at the first call.
    pub fn get() -> &'static Self {
        static SETTINGS: OnceLock<Settings> = OnceLock::new();
        SETTINGS.get_or_init(|| Self::read(|name| std::env::var(name).ok()))
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
        let ring = |v: &str| {
            let bytes = usize::try_from(size(v)?).ok()?;
            (bytes > 0).then(|| bytes.clamp(4096, 1 << 30).next_power_of_two())
        };
        choose("SLIPWAY_X11_RING", &mut |v| ring(v).map(|n| settings.ring = n));
        choose("SLIPWAY_X11_MIN", &mut |v| ring(v).map(|n| settings.min_ring = n));
        choose("SLIPWAY_X11_MAX", &mut |v| ring(v).map(|n| settings.max_ring = n));
        choose("SLIPWAY_X11_TOTAL", &mut |v| size(v).filter(|n| *n > 0).map(|n| settings.total = n));
        choose("SLIPWAY_X11_CLIENTS", &mut |v| v.parse().ok().filter(|n| *n > 0).map(|n| settings.clients = n));
        choose("SLIPWAY_X11_SPIN", &mut |v| {
            v.parse().ok().filter(|us| *us <= 1_000_000).map(|us| settings.spin = Duration::from_micros(us))
        });
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

/// A number of bytes with an optional suffix K, M or G (powers of 1024).
pub fn size(text: &str) -> Option<u64> {
    let (digits, unit) = match text.strip_suffix(['k', 'K']) {
        Some(digits) => (digits, 1 << 10),
        None => match text.strip_suffix(['m', 'M']) {
            Some(digits) => (digits, 1 << 20),
            None => match text.strip_suffix(['g', 'G']) {
                Some(digits) => (digits, 1 << 30),
                None => (text, 1),
            },
        },
    };
    digits.parse::<u64>().ok()?.checked_mul(unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        assert_eq!(size("64K"), Some(65536));
        assert_eq!(size("1m"), Some(1 << 20));
        assert_eq!(size("12"), Some(12));
        assert_eq!(size("99999999999G"), None);
        assert_eq!(size("x"), None);
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
