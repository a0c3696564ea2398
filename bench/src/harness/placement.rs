//! Where a server and its clients run, in the benches whose ends are other people's programs.

use super::failure::Failure;
use super::machine::Cores;
use clap::ValueEnum;
use serde::{Deserialize, Serialize};

/// The name that the options use.
pub fn name_of(value: impl ValueEnum) -> String {
    value.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
}

/// Where server and client run, and who else does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Placement {
    /// server and client on different cores
    Different,
    /// server and client on one shared core
    Shared,
    /// server and client not pinned
    Free,
    /// different cores, a CPU hog on each
    Hogs,
    /// a plain client of the hooked server against one of a plain server
    PlainClient,
    /// a plain client while another floods (hooked flood on the hooked server against plain on plain)
    Flood,
}

impl Placement {
    /// The heading over its results, which is its help.
    pub fn title(self) -> String {
        let value = self.to_possible_value();
        value.and_then(|value| Some(value.get_help()?.to_string())).unwrap_or_default()
    }

    /// Whether the measured client of the hooked server has the hooks.
    pub fn hooks_client(self) -> bool {
        !matches!(self, Self::PlainClient | Self::Flood)
    }

    /// The CPU of the server, and that of the clients; none: not pinned.
    pub fn cpus(self, cores: &Cores) -> [Option<usize>; 2] {
        match self {
            Self::Free => [None; 2],
            Self::Shared => [Some(cores.first); 2],
            _ => [Some(cores.first), cores.second],
        }
    }

    /// Whether these cores are enough for it.
    pub fn fits(self, cores: &Cores) -> bool {
        cores.second.is_some() || matches!(self, Self::Shared | Self::Free)
    }

    /// An error if these cores are not enough for it.
    pub fn check(self, cores: &Cores) -> Result<(), Failure> {
        let why = || {
            let name = name_of(self);
            Failure::Usage(format!("placement '{name}' needs two CPUs, only one is allowed; use --placement shared,free"))
        };
        self.fits(cores).then_some(()).ok_or_else(why)
    }
}
