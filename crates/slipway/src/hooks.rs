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
        command.env("LD_PRELOAD", preloaded(&library.path, env::var_os("LD_PRELOAD")));
        command.env(SANITIZER, sanitizer_options(env::var_os(SANITIZER)));
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

/// The library before those that are preloaded already, but for the runtime of a sanitizer, which insists on the first place.
fn preloaded(library: &Path, existing: Option<OsString>) -> OsString {
    let existing = existing.unwrap_or_default().into_vec();
    let entries = || existing.split(|byte| b": ".contains(byte)).filter(|entry| !entry.is_empty());
    if entries().any(|entry| entry == library.as_os_str().as_bytes()) {
        return OsString::from_vec(existing);
    }
    let first = entries().take_while(|entry| is_sanitizer(entry)).count();
    let mut all: Vec<&[u8]> = entries().collect();
    all.insert(first, library.as_os_str().as_bytes());
    OsString::from_vec(all.join(&b':'))
}

/// Whether a library is the runtime of a sanitizer, of gcc or clang.
fn is_sanitizer(library: &[u8]) -> bool {
    let name = library.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
    [&b"libasan.so"[..], b"libtsan.so", b"liblsan.so", b"libubsan.so", b"libhwasan.so", b"libclang_rt."]
        .iter()
        .any(|runtime| name.starts_with(runtime))
}

/// Options of AddressSanitizer's runtime, which, as a shared library, refuses to start behind a preloaded one. That is not asked of it here,
/// rather than preloading the runtime, because every program that this one starts would have it then.
const SANITIZER: &str = "ASAN_OPTIONS";

fn sanitizer_options(existing: Option<OsString>) -> OsString {
    const ORDER: &str = "verify_asan_link_order";
    let mut options = existing.unwrap_or_default();
    if !options.to_string_lossy().contains(ORDER) {
        options.push(if options.is_empty() { "" } else { ":" });
        options.push(format!("{ORDER}=0"));
    }
    options
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
        assert_eq!(preloaded(library, None), "/lib/hooks.so");
        assert_eq!(preloaded(library, Some("".into())), "/lib/hooks.so");
        assert_eq!(preloaded(library, Some("/a.so:/b.so".into())), "/lib/hooks.so:/a.so:/b.so");
        let nested = OsString::from("/a.so /lib/hooks.so");
        assert_eq!(preloaded(library, Some(nested.clone())), nested);
        assert_eq!(preloaded(library, Some("libasan.so.8 /a.so".into())), "libasan.so.8:/lib/hooks.so:/a.so");
        assert_eq!(
            preloaded(library, Some("/x/libclang_rt.asan-x86_64.so".into())),
            "/x/libclang_rt.asan-x86_64.so:/lib/hooks.so"
        );
    }

    #[test]
    fn options_of_the_sanitizer_stay() {
        assert_eq!(sanitizer_options(None), "verify_asan_link_order=0");
        assert_eq!(sanitizer_options(Some("detect_leaks=0".into())), "detect_leaks=0:verify_asan_link_order=0");
        assert_eq!(sanitizer_options(Some("verify_asan_link_order=1".into())), "verify_asan_link_order=1");
    }

    #[test]
    fn what_the_variable_cannot_name_is_refused() {
        assert!(check_path(Path::new("/opt/slip way/x.so")).is_err());
        assert!(check_path(Path::new("/opt/$LIB/x.so")).is_err());
        assert!(check_path(Path::new("/opt/slipway/x.so")).is_ok());
    }
}
