//! Whether the hooks can reach a program, seen from its file.

use std::fmt;
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{StatVfsMountFlags, getxattr_query, statvfs};
use rustix::process::{getgid, getuid};
use rustix::thread::no_new_privs;

use crate::elf::{self, Abi};

/// The kernel follows no more `#!` lines than this.
const MAX_INTERPRETERS: usize = 5;
/// The kernel reads no more of a `#!` line than this, in bytes.
const MAX_LINE: usize = 255;

/// Why the dynamic loader will not load the hooks into a program.
#[derive(Debug, PartialEq, Eq)]
pub enum Reason {
    /// Runs with other rights than the caller's: the loader ignores preloading.
    Elevated(&'static str),
    /// Has no dynamic loader.
    Static,
    /// Of another architecture than the preload library.
    OtherAbi { program: Abi, library: Abi },
    /// Its loader belongs to another C library than the preload library's.
    OtherLoader(String),
}

/// A reason, and the file that it holds for.
#[derive(Debug, PartialEq, Eq)]
pub struct Obstacle {
    /// Why the hooks stay out.
    pub reason: Reason,
    /// The interpreter that `reason` is about, if the program is a script.
    interpreter: Option<PathBuf>,
}

impl Obstacle {
    /// Whether preloading must be left out for this program: its loader would complain about the
    /// library or fail on it. In the other cases it is harmless here and reaches the program's children.
    pub fn forbids_preload(&self) -> bool {
        matches!(self.reason, Reason::OtherAbi { .. } | Reason::OtherLoader(_))
    }
}

impl fmt::Display for Obstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.interpreter {
            Some(path) => write!(f, "its interpreter {} ", path.display())?,
            None => f.write_str("the program ")?,
        }
        match &self.reason {
            Reason::Elevated(how) => write!(f, "{how}, so that hooks are not loaded into it"),
            Reason::Static => f.write_str("is statically linked, so that hooks are not loaded into it"),
            Reason::OtherAbi { program, library } => {
                write!(f, "is {program}, the preload library {library}")
            }
            Reason::OtherLoader(loader) => {
                write!(f, "uses the dynamic loader {loader}, which can't load the preload library")
            }
        }
    }
}

/// Looks for an obstacle to preloading `library` into the program at `path`. A file that can't be
/// read or understood has none: the loader decides.
pub fn obstacle(path: &Path, library: Option<&elf::Executable>) -> Option<Obstacle> {
    let (file, is_script) = follow_interpreters(path);
    let reason =
        elevated(&file).map(Reason::Elevated).or_else(|| elf::read(&file).and_then(|program| unloadable(program, library)))?;
    Some(Obstacle { reason, interpreter: is_script.then_some(file) })
}

fn unloadable(program: elf::Executable, library: Option<&elf::Executable>) -> Option<Reason> {
    if program.is_static {
        return Some(Reason::Static);
    }
    if let Some(library) = library.filter(|library| library.abi != program.abi) {
        return Some(Reason::OtherAbi { program: program.abi, library: library.abi });
    }
    // The library needs the C library it was built with; musl's loader would refuse to start.
    let is_musl = |loader: &String| Path::new(loader).file_name().is_some_and(|name| name.as_bytes().starts_with(b"ld-musl"));
    program.loader.filter(|loader| is_musl(loader) && !cfg!(target_env = "musl")).map(Reason::OtherLoader)
}

/// The ELF file that runs in the end, and whether that is another than `path`.
fn follow_interpreters(path: &Path) -> (PathBuf, bool) {
    let mut file = path.to_owned();
    for depth in 0..MAX_INTERPRETERS {
        match interpreter(&file) {
            Some(next) => file = next,
            None => return (file, depth > 0),
        }
    }
    (file, true)
}

fn interpreter(path: &Path) -> Option<PathBuf> {
    let mut start = Vec::with_capacity(MAX_LINE);
    File::open(path).ok()?.take(MAX_LINE as u64).read_to_end(&mut start).ok()?;
    let line = start.strip_prefix(b"#!")?.split(|&byte| byte == b'\n').next()?;
    let name = line.split(|&byte| byte == b' ' || byte == b'\t').find(|word| !word.is_empty())?;
    Some(PathBuf::from(std::ffi::OsStr::from_bytes(name)))
}

/// How an exec of `path` would change the caller's rights (AT_SECURE), if it would.
fn elevated(path: &Path) -> Option<&'static str> {
    const SET_UID: u32 = 0o4000;
    const SET_GID: u32 = 0o2010; // without group execute the bit means something else
    let metadata = path.metadata().ok()?;
    let mode = metadata.mode();
    let how = if mode & SET_UID != 0 && metadata.uid() != getuid().as_raw() {
        "is set-uid"
    } else if mode & SET_GID == SET_GID && metadata.gid() != getgid().as_raw() {
        "is set-gid"
    } else if !getuid().is_root() && getxattr_query(path, "security.capability").is_ok() {
        "has file capabilities"
    } else {
        return None;
    };
    let bits_count =
        !no_new_privs().unwrap_or(false) && !statvfs(path).is_ok_and(|fs| fs.f_flag.contains(StatVfsMountFlags::NOSUID));
    bits_count.then_some(how)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn interpreters_are_followed_and_loops_end() {
        let dir = tempfile::tempdir().expect("temporary directory");
        let (first, second) = (dir.path().join("first"), dir.path().join("second"));
        fs::write(&first, format!("#! \t{} -x\n", second.display())).expect("write");
        fs::write(&second, "#!/bin/sh").expect("write");
        assert_eq!(follow_interpreters(&first), (PathBuf::from("/bin/sh"), true));
        fs::write(&second, format!("#!{}", first.display())).expect("write");
        assert!(follow_interpreters(&first).1);
        fs::write(&second, "#!").expect("write");
        assert_eq!(follow_interpreters(&second), (second, false));
    }

    #[test]
    fn an_ordinary_program_has_no_obstacle() {
        let own = std::env::current_exe().expect("own path");
        let library = elf::read(&own).expect("ELF");
        assert_eq!(obstacle(&own, Some(&library)), None);
        assert_eq!(obstacle(Path::new("/bin/sh"), None), None);
        assert_eq!(obstacle(Path::new("/nonexistent"), None), None);
    }

    #[test]
    fn another_c_library_forbids_preloading() {
        let own = elf::read(&std::env::current_exe().expect("own path")).expect("ELF");
        let musl = elf::Executable { loader: Some("/lib/ld-musl-x86_64.so.1".into()), ..own };
        let reason = unloadable(musl, None).expect("obstacle");
        assert!(Obstacle { reason, interpreter: None }.forbids_preload());
    }
}
