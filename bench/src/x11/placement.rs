//! Where the processes of a measurement run.

use crate::failure::Failure;
use anyhow::Context;
use clap::ValueEnum;
use rustix::thread::{CpuSet, sched_getaffinity};
use serde::Serialize;
use std::fs;

/// Where server and client run, and who else does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Placement {
    /// The server on one core, the client on another
    Different,
    /// Both on one core
    Shared,
    /// Not pinned
    Free,
    /// Different cores, with a CPU hog on each of them
    Hogs,
    /// Different cores; a client without the hooks, of a server with and of one without
    PlainClient,
    /// Different cores; a client without the hooks while another client floods the same server:
    /// a hooked one floods the hooked server, a plain one the plain server
    Flood,
}

impl Placement {
    /// The name that the options use.
    pub fn name(self) -> &'static str {
        match self {
            Self::Different => "different",
            Self::Shared => "shared",
            Self::Free => "free",
            Self::Hogs => "hogs",
            Self::PlainClient => "plain-client",
            Self::Flood => "flood",
        }
    }

    /// The heading over its results.
    pub fn title(self) -> &'static str {
        match self {
            Self::Different => "server and client on different cores",
            Self::Shared => "server and client on one shared core",
            Self::Free => "server and client not pinned",
            Self::Hogs => "different cores, a CPU hog on each",
            Self::PlainClient => "a plain client of the hooked server against one of a plain server",
            Self::Flood => "a plain client while another floods (hooked flood on the hooked server against plain on plain)",
        }
    }

    /// Whether the measured client of the hooked server has the hooks.
    pub fn hooks_client(self) -> bool {
        !matches!(self, Self::PlainClient | Self::Flood)
    }

    fn needs_two_cores(self) -> bool {
        !matches!(self, Self::Shared | Self::Free)
    }
}

/// The cores that are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cores {
    server: usize,
    client: Option<usize>,
}

impl Cores {
    /// Picks two cores that this process may use: its first, and the first that isn't a hardware
    /// thread of the same core (of those that are, when there is no other).
    ///
    /// # Errors
    /// When the kernel doesn't tell.
    pub fn choose() -> anyhow::Result<Self> {
        let set = sched_getaffinity(None).context("sched_getaffinity")?;
        let allowed: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|&cpu| set.is_set(cpu)).collect();
        let server = *allowed.first().context("no CPU is allowed")?;
        let siblings =
            fs::read_to_string(format!("/sys/devices/system/cpu/cpu{server}/topology/thread_siblings_list")).unwrap_or_default();
        Ok(Self::pick(&allowed, &siblings, server))
    }

    fn pick(allowed: &[usize], siblings: &str, server: usize) -> Self {
        let others = || allowed.iter().copied().filter(|&cpu| cpu != server);
        let client = others().find(|&cpu| !in_list(siblings, cpu)).or_else(|| others().next());
        Self { server, client }
    }

    /// The server's core, then the client's where there are two.
    pub fn list(&self) -> Vec<usize> {
        [Some(self.server), self.client].into_iter().flatten().collect()
    }

    /// The CPUs of the server at `placement`; none: not pinned.
    pub fn server(&self, placement: Placement) -> Vec<usize> {
        match placement {
            Placement::Free => Vec::new(),
            _ => vec![self.server],
        }
    }

    /// The CPUs of the clients at `placement`; none: not pinned.
    pub fn client(&self, placement: Placement) -> Vec<usize> {
        match placement {
            Placement::Free => Vec::new(),
            Placement::Shared => vec![self.server],
            _ => self.client.into_iter().collect(),
        }
    }

    /// Whether `placement` can be had here.
    ///
    /// # Errors
    /// [`Failure::Usage`] when it needs a second core and there is none.
    pub fn allow(&self, placement: Placement) -> Result<(), Failure> {
        if placement.needs_two_cores() && self.client.is_none() {
            return Err(Failure::Usage(format!(
                "placement '{}' needs two CPUs, only one is allowed; use --placement shared,free",
                placement.name()
            )));
        }
        Ok(())
    }

    /// For the header.
    pub fn line(&self) -> String {
        match self.client {
            Some(client) => {
                format!("server on CPU {}, client on CPU {client} (shared: both on CPU {})", self.server, self.server)
            }
            None => format!("everything on CPU {}, the only one allowed", self.server),
        }
    }
}

/// Whether a kernel CPU list ("0-3,8") has `cpu`.
fn in_list(list: &str, cpu: usize) -> bool {
    list.trim().split(',').any(|range| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        matches!((first.parse(), last.parse()), (Ok(first), Ok(last)) if (first..=last).contains(&cpu))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_options() {
        for placement in Placement::value_variants() {
            let value = placement.to_possible_value().unwrap();
            assert_eq!(value.get_name(), placement.name());
        }
    }

    #[test]
    fn the_client_avoids_the_servers_hardware_threads() {
        assert_eq!(Cores::pick(&[0, 1, 2], "0-1\n", 0).client, Some(2));
        assert_eq!(Cores::pick(&[0, 1], "0-1\n", 0).client, Some(1));
        assert_eq!(Cores::pick(&[4, 5], "", 4).client, Some(5));
        let alone = Cores::pick(&[3], "3", 3);
        assert_eq!(alone.client, None);
        assert!(alone.allow(Placement::Different).is_err());
        assert!(alone.allow(Placement::Shared).is_ok());
        assert_eq!(alone.client(Placement::Shared), [3]);
    }

    #[test]
    fn cpu_lists() {
        assert!(in_list("0-3,8", 2));
        assert!(in_list("0-3,8", 8));
        assert!(!in_list("0-3,8", 4));
        assert!(!in_list("", 0));
    }
}
