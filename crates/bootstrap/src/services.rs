//! Which programs serve which services: the files of a directory, and `--service`.

use rustix::{
    fs::{Dir, FileType, Mode, OFlags, fstat, open, openat},
    io::Errno,
};
use slipway_bootstrap::{
    config::{Keys, Program, Source},
    supervise::Restart,
};
use slipway_mach::bootstrap::{ServiceName, launch, trust};
use std::{
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

/// A service, and the program that serves it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Service {
    /// The service.
    pub name: ServiceName,
    /// What is started for it.
    pub program: Program,
}

fn service_name(text: &str) -> Result<ServiceName, String> {
    ServiceName::new(text).map_err(|_| format!("{text:?} can't be a service's name: it has 1 to 127 bytes"))
}

impl Service {
    /// One by a program without arguments, as `--service NAME=PROGRAM` gives it.
    pub fn parse(text: &str) -> Result<Self, String> {
        match text.split_once('=') {
            Some((name, program)) if !program.is_empty() => {
                Ok(Self { name: service_name(name)?, program: Program::new(program.into()) })
            }
            _ => Err("wanted is NAME=PROGRAM".into()),
        }
    }

    /// The one of a file in a directory, which is shown with that path.
    fn read(directory: BorrowedFd<'_>, name: &OsStr, path: PathBuf) -> Result<Self, String> {
        let mut source = Source { path, text: String::new() };
        // Not waiting for a writer, if it is a pipe.
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let read = openat(directory, name, flags, Mode::empty()).map_err(|error| error.to_string()).and_then(|file| {
            check_owner(&file, FileType::RegularFile)?;
            match fs::File::from(file).take(LONGEST + 1).read_to_string(&mut source.text) {
                Ok(size) if size as u64 > LONGEST => Err(format!("longer than {LONGEST} bytes")),
                other => other.map_err(|error| error.to_string()),
            }
        });
        read.map_err(|why| format!("{}: {why}", source.path.display()))?;
        Self::of(&source)
    }

    fn of(source: &Source) -> Result<Self, String> {
        let keys: Keys = source.parse()?;
        let Keys { process, on_failure, after, provides, look_up, .. } = &keys;
        if process.is_some() || on_failure.is_some() || [after, provides, look_up].iter().any(|list| list.is_some()) {
            let why = "process, on-failure, after, provides and look-up are for tasks of a system (slipway run --config)";
            return Err(source.at(0, why));
        }
        if let Some(restart) = &keys.restart
            && !matches!(restart.get_ref(), Restart::OnDemand | Restart::OnFailure)
        {
            return Err(source.wrong(restart, "a service's program is started with its next message: on-demand, or on-failure"));
        }
        let name = keys.name.as_ref().ok_or_else(|| source.at(0, "missing field `name`: the service"))?;
        let program = keys.program(source, Restart::OnDemand)?;
        Ok(Self { name: service_name(name.get_ref()).map_err(|why| source.wrong(name, why))?, program })
    }
}

/// The file to execute. A name without a slash is looked for in PATH, among programs that no other user could replace.
///
/// # Errors
/// There is none.
pub fn executable(program: &Program) -> io::Result<PathBuf> {
    if program.program.as_os_str().as_bytes().contains(&b'/') {
        return Ok(program.program.clone());
    }
    let path = program.env.get("PATH").map(Into::into).or_else(|| env::var_os("PATH")).unwrap_or_default();
    let none = || io::Error::new(io::ErrorKind::NotFound, "it is not in PATH, or another user could replace it there");
    launch::search(program.program.as_os_str(), &path).ok_or_else(none)
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
    pub fn read(&mut self) -> (Vec<Service>, Vec<String>) {
        // Before the files: a change while they are read is noticed next time.
        self.read = self.time().ok();
        let shown = self.path.display();
        let (directory, names) = match self.open() {
            Ok(Some(opened)) => opened,
            Ok(None) => return Default::default(),
            Err(why) => return (Vec::new(), vec![format!("{shown}: {why}")]),
        };
        let (mut services, mut wrong) = (Vec::new(), Vec::new());
        for name in names {
            match Service::read(directory.as_fd(), &name, self.path.join(&name)) {
                Ok(service) => services.push(service),
                Err(why) => wrong.push(why),
            }
        }
        (services, wrong)
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
    use std::time::Duration;

    fn read(text: &str) -> Result<Service, String> {
        Service::of(&Source { path: "x.toml".into(), text: text.into() })
    }

    #[test]
    fn a_full_file() {
        let service = read(
            "name = 'org.example.kv'\nprogram = '/usr/libexec/kvd'\nargs = ['--db', 'x y']\nrestart = 'on-crash'\n\
             directory = '/var'\noutput = '/tmp/kvd.log'\npause = 2\n[env]\nK = 'V'\n",
        )
        .expect("a good file");
        assert_eq!(
            (service.name.as_bytes(), service.program.shown().as_str()),
            (&b"org.example.kv"[..], "/usr/libexec/kvd --db x y")
        );
        assert_eq!((service.program.restart, service.program.env["K"].as_str()), (Restart::OnFailure, "V"));
        let mut backoff = service.program.backoff;
        assert_eq!([(); 2].map(|()| backoff.pause(Duration::ZERO).as_secs()), [2, 4]);
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (text, said) in [
            ("name = 'x'", "program"),
            ("program = 'x'", "x.toml:1: missing field `name`"),
            ("name = 'x'\nprogram = 'y'\ncolour = 'red'", "x.toml:3: unknown field `colour`"),
            ("name = ''\nprogram = 'y'", "x.toml:1: \"\" can't be a service's name"),
            ("name = 'x'\nprogram = ''", "x.toml:2: there is no program"),
            (
                "name = 'x'\nprogram = 'y'\nrestart = 'never'",
                "x.toml:3: a service's program is started with its next message: on-demand",
            ),
            ("name = 'x'\nprogram = 'y'\nrestart = 'sometimes'", "x.toml:3: unknown variant"),
            ("name = 'x'\nprogram = 'y'\nprocess = 'z'", "x.toml:1: process, on-failure"),
            ("name = 'x'\nprogram = 'y'\npause = -1", "x.toml:3: a pause"),
            ("name = 'x'\nprogram = 'y'\n[env]\n'A=B' = ''", "variable's name"),
            ("name = ", "x.toml:1: "),
        ] {
            let error = read(text).expect_err(text);
            assert!(error.contains(said), "{text}: {error}");
        }
    }

    #[test]
    fn options() {
        let service = Service::parse("a=b=c").expect("a name and a program");
        assert_eq!((service.name.as_bytes(), service.program.program.as_path()), (&b"a"[..], Path::new("b=c")));
        assert!(Service::parse("a").is_err() && Service::parse("=b").is_err() && Service::parse("a=").is_err());
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
        let (services, wrong) = directory.read();
        assert_eq!((services.len(), wrong.len()), (1, 1), "{wrong:?}");
        assert!(!directory.has_changed());
    }
}
