//! Where this user's processes find each other.

use crate::trust;
use std::{ffi::OsString, path::PathBuf};

/// The directory of this user's sockets: his own, closed to others. Made if `make` says so.
///
/// None if there is no such directory, or if it could be another user's doing. Variables are believed as far as
/// [`trust`] has it.
pub fn runtime_dir(make: bool) -> Option<PathBuf> {
    Named::by(|name| std::env::var_os(name)).find(make)
}

/// What the environment says of the directory: a program may change that later.
#[derive(Debug)]
pub struct Named {
    /// SLIPWAY_RUNTIME_DIR.
    own: Option<PathBuf>,
    /// XDG_RUNTIME_DIR.
    session: Option<PathBuf>,
}

impl Named {
    /// As `variable` has the environment.
    pub fn by(variable: impl Fn(&str) -> Option<OsString>) -> Self {
        let variable = |name| variable(name).filter(|dir| !dir.is_empty() && !trust::is_elevated()).map(PathBuf::from);
        Self { own: variable("SLIPWAY_RUNTIME_DIR"), session: variable("XDG_RUNTIME_DIR") }
    }

    /// As [`runtime_dir`].
    pub fn find(&self, make: bool) -> Option<PathBuf> {
        let uid = rustix::process::geteuid();
        let owned = |path: &std::path::Path| {
            rustix::fs::lstat(path).is_ok_and(|s| {
                s.st_uid == uid.as_raw() && s.st_mode & 0o077 == 0 && rustix::fs::FileType::from_raw_mode(s.st_mode).is_dir()
            })
        };
        let dir = self.own.clone().unwrap_or_else(|| {
            // The same answer whether or not a login session set XDG_RUNTIME_DIR: a program started by
            // cron must find the server that a session started.
            [self.session.clone(), Some(format!("/run/user/{}", uid.as_raw()).into())]
                .into_iter()
                .flatten()
                .find(|dir| owned(dir) && trust::is_safe(dir))
                .map_or_else(|| PathBuf::from(format!("/tmp/slipway-{}", uid.as_raw())), |dir| dir.join("slipway"))
        });
        if make {
            let _ = rustix::fs::mkdir(&dir, rustix::fs::Mode::RWXU);
        }
        (owned(&dir) && (self.own.is_none() || std::path::absolute(&dir).is_ok_and(|dir| trust::is_safe(&dir)))).then_some(dir)
    }
}
