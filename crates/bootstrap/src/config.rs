//! Which programs serve which services: files in TOML, and `--service`.

use rustix::{
    fs::{Dir, FileType, Mode, OFlags, fstat, open, openat},
    io::Errno,
};
use serde::Deserialize;

use slipway_mach::bootstrap::{ServiceName, launch, trust};
use std::{
    collections::BTreeMap,
    env,
    ffi::{OsStr, OsString},
    fs,
    io::{self, Read},
    os::{
        fd::{AsFd, BorrowedFd, OwnedFd},
        unix::ffi::OsStrExt,
    },
    path::{Path, PathBuf},
    time::SystemTime,
};

/// A service file is at most so long, in bytes.
const LONGEST: u64 = 64 << 10;

/// A program that serves a service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    /// The service.
    pub name: ServiceName,
    /// The program: a path, or a name to be found in PATH.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<String>,
    /// Variables beside those of the server.
    pub env: BTreeMap<String, String>,
    /// Where it runs.
    pub directory: Option<PathBuf>,
    /// Where its output goes; it is appended.
    pub output: Option<PathBuf>,
    /// When it is started again.
    pub restart: Restart,
}

/// When a program that ended is started again.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Restart {
    /// With the next message.
    #[default]
    OnDemand,
    /// At once, after it was killed or ended with another code than 0.
    OnCrash,
}

/// A file as it is written.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    name: String,
    program: PathBuf,
    #[serde(default)]
    args: Vec<String>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    directory: Option<PathBuf>,
    output: Option<PathBuf>,
    #[serde(default)]
    restart: Restart,
}

impl Program {
    /// A program without arguments, as `--service NAME=PROGRAM` gives it.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (name, program) = text.split_once('=').ok_or("wanted is NAME=PROGRAM")?;
        let file = File {
            name: name.into(),
            program: program.into(),
            args: Vec::new(),
            env: BTreeMap::new(),
            directory: None,
            output: None,
            restart: Restart::default(),
        };
        file.check()
    }

    fn read(directory: BorrowedFd<'_>, name: &OsStr) -> Result<Self, String> {
        // Not waiting for a writer, if it is a pipe.
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let file = openat(directory, name, flags, Mode::empty()).map_err(|error| error.to_string())?;
        check_owner(&file, FileType::RegularFile)?;
        let mut text = String::new();
        match fs::File::from(file).take(LONGEST + 1).read_to_string(&mut text) {
            Ok(size) if size as u64 > LONGEST => return Err(format!("longer than {LONGEST} bytes")),
            other => other.map_err(|error| error.to_string())?,
        };
        let file: File = toml::from_str(&text).map_err(|error| error.to_string())?;
        file.check()
    }

    /// Whether it runs as the other does: one process may then serve both services.
    pub fn runs_as(&self, other: &Self) -> bool {
        (&self.program, &self.args, &self.env, &self.directory) == (&other.program, &other.args, &other.env, &other.directory)
    }

    /// The file to execute. A name without a slash is looked for in PATH, among programs that no other user could replace.
    ///
    /// # Errors
    /// There is none.
    pub fn file(&self) -> io::Result<PathBuf> {
        if self.program.as_os_str().as_bytes().contains(&b'/') {
            return Ok(self.program.clone());
        }
        let path = self.env.get("PATH").map(Into::into).or_else(|| env::var_os("PATH")).unwrap_or_default();
        let none = || io::Error::new(io::ErrorKind::NotFound, "it is not in PATH, or another user could replace it there");
        launch::search(self.program.as_os_str(), &path).ok_or_else(none)
    }

    /// The program and its arguments, for people.
    pub fn shown(&self) -> String {
        let words = std::iter::once(self.program.display().to_string()).chain(self.args.iter().cloned());
        words.collect::<Vec<_>>().join(" ")
    }
}

impl File {
    fn check(self) -> Result<Program, String> {
        let name = ServiceName::new(&self.name)
            .map_err(|_| format!("{:?} can't be a service's name: it has 1 to 127 bytes", self.name))?;
        if self.program.as_os_str().is_empty() {
            return Err(format!("no program for {name}"));
        }
        if let Some(wrong) = self.env.keys().find(|key| key.is_empty() || key.contains(['=', '\0'])) {
            return Err(format!("{wrong:?} can't be a variable's name"));
        }
        let Self { program, args, env, directory, output, restart, .. } = self;
        Ok(Program { name, program, args, env, directory, output, restart })
    }
}

/// Whether nobody but this user and root could have written what is open.
fn check_owner(file: &OwnedFd, kind: FileType) -> Result<(), String> {
    let stat = fstat(file).map_err(|error| error.to_string())?;
    if FileType::from_raw_mode(stat.st_mode) != kind {
        return Err("not a plain file or directory".into());
    }
    let user = rustix::process::geteuid().as_raw();
    if ![0, user].contains(&stat.st_uid) {
        return Err(format!("not trusted: it belongs to another user ({})", stat.st_uid));
    }
    // A group with the user's number is the user's alone, by convention: there the usual mask lets the group write.
    let others = if stat.st_gid == user { 0o002 } else { 0o022 };
    if stat.st_mode & others != 0 {
        return Err("not trusted: other users can write it (chmod go-w)".into());
    }
    Ok(())
}

/// A directory of service files.
#[derive(Debug)]
pub struct Directory {
    path: PathBuf,
    read: Option<SystemTime>,
}

impl Directory {
    /// The files in `path`.
    pub fn new(path: PathBuf) -> Self {
        Self { path, read: None }
    }

    /// The user's own: `slipway/services` in XDG_CONFIG_HOME, by default `.config` in HOME.
    pub fn of_user() -> Option<Self> {
        let home = || env::home_dir().filter(|home| home.is_absolute()).map(|home| home.join(".config"));
        let config = env::var_os("XDG_CONFIG_HOME").map(PathBuf::from).filter(|path| path.is_absolute()).or_else(home)?;
        Some(Self::new(config.join("slipway/services")))
    }

    /// Whether a file may have come or gone since the last [`Directory::read`].
    pub fn has_changed(&self) -> bool {
        self.time().is_ok_and(|time| self.read != Some(time))
    }

    fn time(&self) -> io::Result<SystemTime> {
        fs::metadata(&self.path)?.modified()
    }

    /// What the files say, in the order of their names; and what is wrong with the others. Files and directories that
    /// another user could change count as wrong.
    pub fn read(&mut self) -> (Vec<Program>, Vec<String>) {
        // Before the files: a change while they are read is noticed next time.
        self.read = self.time().ok();
        let shown = self.path.display();
        let (directory, names) = match self.open() {
            Ok(Some(opened)) => opened,
            Ok(None) => return Default::default(),
            Err(why) => return (Vec::new(), vec![format!("{shown}: {why}")]),
        };
        let (mut programs, mut wrong) = (Vec::new(), Vec::new());
        for name in names {
            match Program::read(directory.as_fd(), &name) {
                Ok(program) => programs.push(program),
                Err(why) => wrong.push(format!("{}: {}", self.path.join(name).display(), why.trim_end())),
            }
        }
        (programs, wrong)
    }

    /// The directory, and the names of the files in it, in their order; None if there is no directory.
    fn open(&self) -> Result<Option<(OwnedFd, Vec<OsString>)>, String> {
        let text = |error: Errno| error.to_string();
        let directory = match open(&self.path, OFlags::RDONLY | OFlags::CLOEXEC | OFlags::DIRECTORY, Mode::empty()) {
            Err(Errno::NOENT) => return Ok(None),
            other => other.map_err(text)?,
        };
        check_owner(&directory, FileType::Directory)?;
        if !std::path::absolute(&self.path).is_ok_and(|path| trust::is_safe(&path)) {
            return Err("not trusted: another user could replace it".into());
        }
        let mut names = Vec::new();
        for entry in Dir::read_from(&directory).map_err(text)? {
            let name = OsStr::from_bytes(entry.map_err(text)?.file_name().to_bytes()).to_owned();
            if Path::new(&name).extension().is_some_and(|extension| extension == "toml") {
                names.push(name);
            }
        }
        names.sort();
        Ok(Some((directory, names)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Program, String> {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("x.toml");
        fs::write(&path, text).expect("a file");
        let directory = fs::File::open(dir.path()).expect("a directory");
        Program::read(directory.as_fd(), OsStr::new("x.toml"))
    }

    #[test]
    fn a_full_file() {
        let program = read(
            "name = 'org.example.kv'\nprogram = '/usr/libexec/kvd'\nargs = ['--db', 'x y']\nrestart = 'on-crash'\n\
             directory = '/var'\noutput = '/tmp/kvd.log'\n[env]\nK = 'V'\n",
        )
        .expect("a good file");
        assert_eq!(program.shown(), "/usr/libexec/kvd --db x y");
        assert_eq!((program.restart, program.env["K"].as_str()), (Restart::OnCrash, "V"));
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (text, said) in [
            ("name = 'x'", "program"),
            ("name = 'x'\nprogram = 'y'\ncolour = 'red'", "unknown field `colour`"),
            ("name = ''\nprogram = 'y'", "service's name"),
            ("name = 'x'\nprogram = ''", "no program"),
            ("name = 'x'\nprogram = 'y'\nrestart = 'never'", "on-demand"),
            ("name = 'x'\nprogram = 'y'\n[env]\n'A=B' = ''", "variable's name"),
            ("name = ", "line 1"),
        ] {
            let error = read(text).expect_err(text);
            assert!(error.contains(said), "{text}: {error}");
        }
    }

    #[test]
    fn options() {
        let program = Program::parse("a=b=c").expect("a name and a program");
        assert_eq!((program.name.as_bytes(), program.program.as_path()), (&b"a"[..], Path::new("b=c")));
        assert!(Program::parse("a").is_err() && Program::parse("=b").is_err() && Program::parse("a=").is_err());
    }

    #[test]
    fn a_directory_is_read_again_when_it_changes() {
        let dir = tempfile::tempdir().expect("a directory");
        let mut directory = Directory::new(dir.path().join("services"));
        assert!(!directory.has_changed());
        assert_eq!(directory.read(), Default::default());
        fs::create_dir(dir.path().join("services")).expect("a directory");
        assert!(directory.has_changed());
        fs::write(dir.path().join("services/a.toml"), "name = 'a'\nprogram = 'b'").expect("a file");
        fs::write(dir.path().join("services/b.toml"), "").expect("a file");
        fs::write(dir.path().join("services/README"), "").expect("a file");
        let (programs, wrong) = directory.read();
        assert_eq!((programs.len(), wrong.len()), (1, 1), "{wrong:?}");
        assert!(!directory.has_changed());
    }
}
