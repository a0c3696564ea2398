//! The Unix sockets that programs meet at, and which of them the hooks care about.

use std::{
    ffi::OsStr,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

/// A listening socket's address, as connect(2) and bind(2) have it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Endpoint {
    /// A path in the file system.
    Path(PathBuf),
    /// An abstract name, without its leading zero byte.
    Abstract(Vec<u8>),
    /// A path at which a socket was bound, and the device and inode number of its file, which may have another name since.
    Bound(PathBuf, u64, u64),
}

impl Endpoint {
    /// The display whose X socket it is.
    pub fn display(&self) -> Option<u32> {
        let name = match self {
            Self::Path(path) | Self::Bound(path, ..) => path.as_os_str().as_bytes(),
            Self::Abstract(name) => name,
        };
        std::str::from_utf8(name.strip_prefix(b"/tmp/.X11-unix/X")?).ok()?.parse().ok()
    }

    /// Its name, if that is abstract, without the leading zero byte.
    pub fn abstract_name(&self) -> Option<&[u8]> {
        match self {
            Self::Abstract(name) => Some(name),
            _ => None,
        }
    }

    /// A number that two of them seldom have in common.
    pub fn hash(&self) -> u64 {
        match self {
            Self::Path(path) | Self::Bound(path, ..) => hash(path.as_os_str().as_bytes()),
            Self::Abstract(name) => hash(name),
        }
    }

    /// The name of its hub in the runtime directory. Both ends find the same: a path by the file that it leads to, so that
    /// links and relative paths don't matter. None if there is no such file.
    pub fn hub_name(&self) -> Option<String> {
        if let Some(display) = self.display() {
            // One hub for a display's two sockets.
            return Some(display_hub(display));
        }
        match self {
            Self::Path(path) => Self::bound(path)?.hub_name(),
            Self::Bound(_, device, inode) => Some(format!("socket-{device:x}-{inode:x}")),
            Self::Abstract(name) => {
                // Two names that meet in it take the hub from each other, and stay on their sockets.
                Some(format!("abstract-{:016x}", hash(name)))
            }
        }
    }

    /// The one whose file `path` leads to now. None if there is no such file.
    pub fn bound(path: &Path) -> Option<Self> {
        let file = rustix::fs::stat(path).ok()?;
        Some(Self::Bound(path.to_owned(), file.st_dev, file.st_ino))
    }

    /// From what [`Endpoint::shown`] shows.
    pub fn from_shown(text: &str) -> Self {
        text.strip_prefix('@').map_or_else(|| Self::Path(text.into()), |name| Self::Abstract(name.as_bytes().to_vec()))
    }

    /// For people, and for globs: the absolute path, or the abstract name behind an `@`.
    pub fn shown(&self) -> String {
        match self {
            Self::Path(path) | Self::Bound(path, ..) => {
                std::path::absolute(path).unwrap_or_else(|_| path.clone()).to_string_lossy().into_owned()
            }
            Self::Abstract(name) => format!("@{}", OsStr::from_bytes(name).to_string_lossy()),
        }
    }
}

/// The name of a display's hub.
pub fn display_hub(display: u32) -> String {
    format!("x11-{display}")
}

/// FNV-1a.
pub fn hash(name: &[u8]) -> u64 {
    name.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3))
}

/// Whether the file name is that of a hub.
pub fn is_hub_name(name: &str) -> bool {
    ["x11-", "socket-", "abstract-"].iter().any(|prefix| name.starts_with(prefix))
}

/// Which endpoints use shared memory: the content of `SLIPWAY_SOCKETS`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Choice {
    /// X displays: the variable is not set.
    #[default]
    Displays,
    /// Those that match one of `only` (all if it is empty) and none of `not`.
    Globs {
        /// Globs of which one must match.
        only: Vec<String>,
        /// Globs of which none may match.
        not: Vec<String>,
    },
}

impl Choice {
    /// Reads items separated by colons: `all`, `+GLOB` (only those), `-GLOB` (not those). A glob that should match a
    /// colon has `?` in its place.
    ///
    /// # Errors
    /// An item that is none of these.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (mut only, mut not) = (Vec::new(), Vec::new());
        for item in text.split(':').filter(|item| !item.is_empty() && *item != "all") {
            match item.split_at_checked(1) {
                Some(("+", glob)) if !glob.is_empty() => only.push(glob.to_owned()),
                Some(("-", glob)) if !glob.is_empty() => not.push(glob.to_owned()),
                _ => return Err(format!("{item:?} is none of all, +GLOB and -GLOB")),
            }
        }
        Ok(Self::Globs { only, not })
    }

    /// Whether the hooks care about `endpoint`.
    pub fn has(&self, endpoint: &Endpoint) -> bool {
        let Self::Globs { only, not } = self else { return endpoint.display().is_some() };
        if only.is_empty() && not.is_empty() {
            return true;
        }
        let shown = endpoint.shown();
        let real = match endpoint {
            // By either name: /var/run/x is /run/x.
            Endpoint::Path(path) | Endpoint::Bound(path, ..) => {
                std::fs::canonicalize(path).ok().map(|path| path.to_string_lossy().into_owned())
            }
            Endpoint::Abstract(_) => None,
        };
        let matches = |globs: &[String]| {
            globs.iter().any(|glob| matches(glob, &shown) || real.as_ref().is_some_and(|real| matches(glob, real)))
        };
        (only.is_empty() || matches(only)) && !matches(not)
    }
}

impl std::fmt::Display for Choice {
    /// As [`Choice::parse`] reads it.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self::Globs { only, not } = self else { return Ok(()) };
        f.write_str("all")?;
        only.iter().try_for_each(|glob| write!(f, ":+{glob}"))?;
        not.iter().try_for_each(|glob| write!(f, ":-{glob}"))
    }
}

/// Whether all of `text` matches `glob`, in which `*` is any characters, slashes too, and `?` any one.
pub fn matches(glob: &str, text: &str) -> bool {
    let mut glob = glob.chars();
    let mut text = text.chars();
    loop {
        match (glob.next(), text.clone().next()) {
            (None, end) => return end.is_none(),
            (Some('*'), _) => {
                let rest = glob.as_str();
                let text = text.as_str();
                return (0..=text.len()).filter(|at| text.is_char_boundary(*at)).any(|at| matches(rest, &text[at..]));
            }
            (Some('?'), Some(_)) => {}
            (Some(wanted), Some(found)) if wanted == found => {}
            _ => return false,
        }
        text.next();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(path: &str) -> Endpoint {
        Endpoint::Path(path.into())
    }

    #[test]
    fn displays_by_path_and_by_name() {
        assert_eq!(path("/tmp/.X11-unix/X42").display(), Some(42));
        assert_eq!(Endpoint::Abstract(b"/tmp/.X11-unix/X42".to_vec()).hub_name().as_deref(), Some("x11-42"));
        assert_eq!(path("/tmp/.X11-unix/X42.0").display(), None);
        assert_eq!(path("/tmp/other").display(), None);
    }

    #[test]
    fn a_hub_is_found_by_every_path_of_its_socket() {
        let dir = std::env::temp_dir().join(format!("slipway-endpoint-{}", std::process::id()));
        // Of an earlier process with this number, that was killed.
        let _ = std::fs::remove_dir_all(&dir);
        std::fs::create_dir(&dir).expect("a directory");
        std::fs::write(dir.join("a"), b"").expect("a file");
        std::os::unix::fs::symlink(dir.join("a"), dir.join("b")).expect("a link");
        let [a, b, c] = ["a", "b", "c"].map(|name| Endpoint::Path(dir.join(name)).hub_name());
        std::fs::remove_dir_all(&dir).expect("removed");
        assert!(a.is_some() && a == b && c.is_none());
    }

    #[test]
    fn globs() {
        for (glob, text, good) in [
            ("*", "", true),
            ("*/bus", "/run/user/1/bus", true),
            ("/run/postgresql/*", "/run/postgresql/.s.PGSQL.5432", true),
            ("/run/?", "/run/ab", false),
            ("@/tmp/dbus-*", "@/tmp/dbus-x", true),
            ("a*b*c", "axxbyyc", true),
            ("a*b*c", "axxbyy", false),
        ] {
            assert_eq!(matches(glob, text), good, "{glob} {text}");
        }
    }

    #[test]
    fn a_choice_reads_as_it_was_written() {
        let choice = Choice::parse("all:+/run/*:-*/bus").expect("good");
        assert_eq!(Choice::parse(&choice.to_string()), Ok(choice.clone()));
        assert!(choice.has(&path("/run/redis/r.sock")) && !choice.has(&path("/run/user/bus")) && !choice.has(&path("/tmp/x")));
        assert!(Choice::parse("all").expect("good").has(&Endpoint::Abstract(b"x".to_vec())));
        assert!(Choice::parse("/run/*").is_err() && Choice::parse("+").is_err());
        assert!(!Choice::default().has(&path("/run/x")) && Choice::default().has(&path("/tmp/.X11-unix/X1")));
    }
}
