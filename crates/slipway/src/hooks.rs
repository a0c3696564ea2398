//! Puts the hooks into a program's environment, or says why they can't work and leaves them out.

use std::env;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::fs::{MemfdFlags, memfd_create};

use crate::args::LogLevel;
use crate::elf;
use crate::inspect;
use crate::locate;
use crate::program::Program;
use crate::settings::Settings;

/// The hooks as they can be used on this system, with these settings.
#[derive(Debug)]
pub struct Hooks {
    settings: Settings,
    library: Option<Library>,
}

#[derive(Debug)]
struct Library {
    path: PathBuf,
    /// None if the file can't be read as ELF.
    elf: Option<elf::Executable>,
}

impl Hooks {
    /// Finds the preload library and tries what the hooks need of the system. If something is
    /// missing, a warning says so and `program` runs without hooks.
    pub fn new(settings: Settings, program: &Program) -> Self {
        let library =
            if settings.on { usable_library().inspect_err(|why| warn(&settings, &program.name, why)).ok() } else { None };
        Self { settings, library }
    }

    /// Sets the variables of the hooks for `command`, which runs `program`; warns if the hooks can't
    /// reach that program.
    pub fn apply(&self, command: &mut Command, program: &Program) {
        command.envs(self.settings.variables.iter().map(|(name, value)| (name, value)));
        let Some(library) = &self.library else { return };
        if let Some(obstacle) = inspect::obstacle(&program.path, library.elf.as_ref()) {
            warn(&self.settings, &program.name, obstacle.to_string());
            if obstacle.forbids_preload() {
                return;
            }
        }
        command.env("LD_PRELOAD", prepended(&library.path, env::var_os("LD_PRELOAD")));
    }

    /// Whether lines of this importance are wanted on standard error.
    pub fn says(&self, level: LogLevel) -> bool {
        self.settings.log >= level
    }
}

fn usable_library() -> Result<Library, String> {
    // Segments are shared by 64-bit atomics in the byte order that the ring's layout fixes.
    if !cfg!(all(target_pointer_width = "64", target_endian = "little", target_has_atomic = "64")) {
        return Err(format!("no shared memory transport for architecture {}", env::consts::ARCH));
    }
    let path = locate::preload(env::var_os("SLIPWAY_PRELOAD")).map_err(|missing| missing.to_string())?;
    check_path(&path)?;
    // As the hooks do it: a hardened system insists on the seal, an old one does not know it.
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    memfd_create(c"slipway", flags | MemfdFlags::NOEXEC_SEAL).or_else(|_| memfd_create(c"slipway", flags)).map_err(|error| {
        let error = io::Error::from(error);
        format!("this system has no shared memory for it: memfd_create: {error}")
    })?;
    let elf = elf::read(&path);
    Ok(Library { path, elf })
}

/// LD_PRELOAD is split at spaces and colons and `$` is expanded in it, with no way to quote.
fn check_path(path: &Path) -> Result<(), String> {
    if path.as_os_str().as_bytes().iter().any(|byte| b" :$\t\n".contains(byte)) {
        return Err(format!(
            "LD_PRELOAD can't name {} because of a space, colon or dollar sign in it; install Slipway elsewhere",
            path.display()
        ));
    }
    Ok(())
}

fn prepended(library: &Path, existing: Option<OsString>) -> OsString {
    let existing = existing.unwrap_or_default().into_vec();
    let mut entries = existing.split(|byte| b": ".contains(byte));
    if entries.any(|entry| entry == library.as_os_str().as_bytes()) {
        return OsString::from_vec(existing);
    }
    let mut value = library.as_os_str().to_owned();
    if !existing.is_empty() {
        value.push(":");
        value.push(OsStr::from_bytes(&existing));
    }
    value
}

fn warn(settings: &Settings, program: &OsStr, why: impl AsRef<str>) {
    if settings.log >= LogLevel::Warn {
        eprintln!("slipway: warning: {}; {} uses the plain socket", why.as_ref(), program.display());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_library_comes_first_and_once() {
        let library = Path::new("/lib/hooks.so");
        assert_eq!(prepended(library, None), "/lib/hooks.so");
        assert_eq!(prepended(library, Some("".into())), "/lib/hooks.so");
        assert_eq!(prepended(library, Some("/a.so:/b.so".into())), "/lib/hooks.so:/a.so:/b.so");
        let nested = OsString::from("/a.so /lib/hooks.so");
        assert_eq!(prepended(library, Some(nested.clone())), nested);
    }

    #[test]
    fn what_the_variable_cannot_name_is_refused() {
        assert!(check_path(Path::new("/opt/slip way/x.so")).is_err());
        assert!(check_path(Path::new("/opt/$LIB/x.so")).is_err());
        assert!(check_path(Path::new("/opt/slipway/x.so")).is_ok());
    }
}
