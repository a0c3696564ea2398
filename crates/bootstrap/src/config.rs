//! Which programs serve which services: files in TOML, and `--service`.

use serde::Deserialize;
use slipway_mach::bootstrap::ServiceName;
use std::{
    collections::BTreeMap,
    env, fs, io,
    path::{Path, PathBuf},
    time::SystemTime,
};

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

    fn read(path: &Path) -> Result<Self, String> {
        let text = fs::read_to_string(path).map_err(|error| error.to_string())?;
        let file: File = toml::from_str(&text).map_err(|error| error.to_string())?;
        file.check()
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
        let home = || env::var_os("HOME").filter(|home| !home.is_empty()).map(|home| PathBuf::from(home).join(".config"));
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

    /// What the files say, in the order of their names; and what is wrong with the others.
    pub fn read(&mut self) -> (Vec<Program>, Vec<String>) {
        // Before the files: a change while they are read is noticed next time.
        self.read = self.time().ok();
        let entries = match fs::read_dir(&self.path) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Default::default(),
            Err(error) => return (Vec::new(), vec![format!("{}: {error}", self.path.display())]),
        };
        let mut files: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
        files.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
        files.sort();
        let (mut programs, mut wrong) = (Vec::new(), Vec::new());
        for file in files {
            match Program::read(&file) {
                Ok(program) => programs.push(program),
                Err(why) => wrong.push(format!("{}: {}", file.display(), why.trim_end())),
            }
        }
        (programs, wrong)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Program, String> {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("x.toml");
        fs::write(&path, text).expect("a file");
        Program::read(&path)
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
