//! What some clients may ask for: those that come by a socket of their own.

use crate::socket::ServerSocket;
use anyhow::{Context, Result, bail};
use serde::Deserialize;
use slipway_mach::{
    abi::Code,
    bootstrap::{Service, ServiceName, protocol},
};
use std::path::PathBuf;

/// A view as the command line gives it: `{"socket": "...", "look-up": ["a.*"], "provide": []}`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Options {
    socket: PathBuf,
    /// Services that may be looked up; None: every one.
    look_up: Option<Vec<String>>,
    /// Services that may be registered, created and checked in; None: every one.
    provide: Option<Vec<String>>,
}

impl Options {
    /// From JSON.
    pub fn parse(text: &str) -> Result<Self, String> {
        serde_json::from_str(text).map_err(|error| error.to_string())
    }
}

/// What a client wants of a service.
#[derive(Debug, Clone, Copy)]
pub enum Use {
    /// To send to it, or to know of it.
    LookUp,
    /// To serve it.
    Provide,
}

/// A socket, and what the clients that come by it may do.
#[derive(Debug)]
pub struct View {
    /// Where clients come.
    pub socket: ServerSocket,
    look_up: Option<Vec<String>>,
    provide: Option<Vec<String>>,
}

impl View {
    /// Takes the view's socket.
    pub fn open(options: Options) -> Result<Self> {
        let Options { socket, look_up, provide } = options;
        match ServerSocket::take(&socket).with_context(|| format!("{}", socket.display()))? {
            Some(socket) => Ok(Self { socket, look_up, provide }),
            None => bail!("{}: another server listens", socket.display()),
        }
    }

    /// `NOT_PRIVILEGED` if the view's clients may not do that with the service.
    pub fn check(&self, what: Use, name: &ServiceName) -> Result<(), Code> {
        let list = match what {
            Use::LookUp => &self.look_up,
            Use::Provide => &self.provide,
        };
        if allows(list.as_deref(), name.as_bytes()) { Ok(()) } else { Err(protocol::NOT_PRIVILEGED) }
    }

    /// Whether its clients are told of the service.
    pub fn shows(&self, service: &Service) -> bool {
        let name = service.name.as_bytes();
        allows(self.look_up.as_deref(), name) || allows(self.provide.as_deref(), name)
    }
}

/// Whether one of the patterns is the name, or ends in `*` and begins it.
fn allows(patterns: Option<&[String]>, name: &[u8]) -> bool {
    let matches = |pattern: &String| match pattern.strip_suffix('*') {
        Some(front) => name.starts_with(front.as_bytes()),
        None => name == pattern.as_bytes(),
    };
    patterns.is_none_or(|patterns| patterns.iter().any(matches))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_names_or_their_beginnings() {
        let patterns = ["org.example.kv".to_owned(), "org.test.*".to_owned()];
        for (name, allowed) in [("org.example.kv", true), ("org.example.kvx", false), ("org.test.a", true), ("org.tes", false)] {
            assert_eq!(allows(Some(&patterns), name.as_bytes()), allowed, "{name}");
        }
        assert!(allows(None, b"x") && !allows(Some(&[]), b"x") && allows(Some(&["*".into()]), b"x"));
    }

    #[test]
    fn a_view_says_what_it_knows() {
        assert!(Options::parse(r#"{"socket": "/x", "look-up": ["a"]}"#).is_ok());
        assert!(Options::parse(r#"{"look-up": ["a"]}"#).is_err() && Options::parse(r#"{"socket": "/x", "see": []}"#).is_err());
    }
}
