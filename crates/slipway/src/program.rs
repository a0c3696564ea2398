//! Finding a program as a shell does.

use std::env;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::fs::{Access, access};
use rustix::io::Errno;

use crate::failure::{Failure, NOT_EXECUTABLE, NOT_FOUND};

/// What execvp(3) searches when PATH is unset.
const DEFAULT_PATH: &str = "/bin:/usr/bin";

/// A program that can be executed, as far as can be seen without doing it.
#[derive(Debug)]
pub struct Program {
    /// As the user wrote it; becomes argv\[0\].
    pub name: OsString,
    /// The file; contains a slash.
    pub path: PathBuf,
}

impl Program {
    /// Finds `name` in PATH; a name with a slash is a path.
    ///
    /// # Errors
    /// [`NOT_FOUND`], or [`NOT_EXECUTABLE`] when the only matches can't be executed.
    pub fn find(name: &OsStr) -> Result<Self, Failure> {
        Self::find_in(name, &env::var_os("PATH").unwrap_or_else(|| DEFAULT_PATH.into()))
    }

    fn find_in(name: &OsStr, path: &OsStr) -> Result<Self, Failure> {
        let shown = name.display();
        if name.is_empty() {
            return Err(Failure::new(NOT_FOUND, "the name of the program is empty"));
        }
        let is_path = name.as_bytes().contains(&b'/');
        let candidates: Vec<PathBuf> = if is_path {
            vec![name.into()]
        } else {
            // An empty entry is the current directory; the slash keeps exec from searching again.
            env::split_paths(path)
                .map(|dir| if dir.as_os_str().is_empty() { ".".into() } else { dir })
                .map(|dir| dir.join(name))
                .collect()
        };
        let mut refused = None;
        for path in candidates {
            match check(&path) {
                Ok(()) => return Ok(Self { name: name.to_owned(), path }),
                Err(Errno::NOENT | Errno::NOTDIR) => {}
                // execvp goes on searching after a file that it may not execute.
                Err(error) => refused = refused.or(Some((path, error))),
            }
        }
        Err(match refused {
            Some((path, error)) => {
                Failure::new(NOT_EXECUTABLE, format!("{shown}: cannot execute {}: {}", path.display(), describe(error)))
            }
            None if is_path => Failure::new(NOT_FOUND, format!("{shown}: no such file")),
            None => Failure::new(NOT_FOUND, format!("{shown}: program not found in PATH{}", hint(name))),
        })
    }

    /// A command for this program, not yet with arguments.
    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.path);
        command.arg0(&self.name);
        command
    }

    /// The failure for an exec of this program that the kernel refused.
    pub fn exec_failure(&self, error: &io::Error) -> Failure {
        // The file was there when it was looked up: what is missing now is its interpreter.
        let (code, why) = match error.kind() {
            io::ErrorKind::NotFound => (NOT_FOUND, ", or its interpreter does not exist"),
            _ => (NOT_EXECUTABLE, ""),
        };
        Failure::new(code, format!("{}: cannot execute {}: {error}{why}", self.name.display(), self.path.display()))
    }
}

fn check(path: &Path) -> Result<(), Errno> {
    let metadata = path.metadata().map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
    if metadata.is_dir() {
        return Err(Errno::ISDIR);
    }
    access(path, Access::EXEC_OK)
}

fn describe(error: Errno) -> String {
    match error {
        Errno::ISDIR => "it is a directory".to_owned(),
        Errno::ACCESS => "permission denied (is it marked executable?)".to_owned(),
        other => io::Error::from(other).to_string(),
    }
}

fn hint(name: &OsStr) -> &'static str {
    // `slipway x11 --log info status` runs a program: options belong to programs only.
    if name == "status" { "; for the connections of a server put `status` first: slipway x11 status" } else { "" }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn goes_on_after_what_cannot_be_executed() {
        let dir = tempfile::tempdir().expect("temporary directory");
        fs::write(dir.path().join("sh"), "").expect("write");
        let path = env::join_paths([dir.path(), Path::new("/bin")]).expect("join");
        let program = Program::find_in(OsStr::new("sh"), &path).expect("the second sh");
        assert_eq!(program.path, Path::new("/bin/sh"));
        let failure = Program::find_in(OsStr::new("sh"), dir.path().as_os_str()).expect_err("only the first");
        assert_eq!(failure.code, NOT_EXECUTABLE);
    }

    #[test]
    fn an_empty_entry_is_the_current_directory() {
        let failure = Program::find_in(OsStr::new("Cargo.toml"), OsStr::new("")).expect_err("no program");
        assert_eq!(failure.code, NOT_EXECUTABLE);
        assert!(failure.message.contains("./Cargo.toml"), "{}", failure.message);
    }

    #[test]
    fn directories_and_nothing() {
        assert_eq!(Program::find(OsStr::new("/")).expect_err("directory").code, NOT_EXECUTABLE);
        assert_eq!(Program::find(OsStr::new("/nonexistent/x")).expect_err("nothing").code, NOT_FOUND);
        assert_eq!(Program::find(OsStr::new("/bin/sh/x")).expect_err("below a file").code, NOT_FOUND);
        assert_eq!(Program::find(OsStr::new("")).expect_err("empty").code, NOT_FOUND);
    }
}
