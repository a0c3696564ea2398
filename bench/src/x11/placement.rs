//! Where the processes of a measurement run.

use crate::cores::Cores;
use crate::failure::Failure;
use clap::ValueEnum;
use serde::Serialize;

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

impl Cores {
    /// The CPUs of the server at `placement`; none: not pinned.
    pub fn server(&self, placement: Placement) -> Vec<usize> {
        match placement {
            Placement::Free => Vec::new(),
            _ => vec![self.first],
        }
    }

    /// The CPUs of the clients at `placement`; none: not pinned.
    pub fn client(&self, placement: Placement) -> Vec<usize> {
        match placement {
            Placement::Free => Vec::new(),
            Placement::Shared => vec![self.first],
            _ => self.second.into_iter().collect(),
        }
    }

    /// Whether `placement` can be had here.
    ///
    /// # Errors
    /// [`Failure::Usage`] when it needs a second core and there is none.
    pub fn allow(&self, placement: Placement) -> Result<(), Failure> {
        if placement.needs_two_cores() && self.second.is_none() {
            return Err(Failure::Usage(format!(
                "placement '{}' needs two CPUs, only one is allowed; use --placement shared,free",
                placement.name()
            )));
        }
        Ok(())
    }

    /// For the header.
    pub fn line(&self) -> String {
        match self.second {
            Some(client) => {
                format!("server on CPU {}, client on CPU {client} (shared: both on CPU {})", self.first, self.first)
            }
            None => format!("everything on CPU {}, the only one allowed", self.first),
        }
    }
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
    fn one_core_is_enough_for_some() {
        let alone = Cores { first: 3, second: None };
        assert!(alone.allow(Placement::Different).is_err());
        assert!(alone.allow(Placement::Shared).is_ok());
        assert_eq!(alone.client(Placement::Shared), [3]);
    }
}
