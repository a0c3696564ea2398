//! The format of configuration files: what is run, and when it starts again. The file of a service (`docs/man/slipway.1`, FILES) has these
//! keys, and so has each `[task.NAME]` of a system (`slipway run --config`).

use crate::supervise::{Backoff, Restart};
use serde::{Deserialize, de::DeserializeOwned};
use std::{
    collections::BTreeMap,
    fmt::Display,
    fs::OpenOptions,
    io,
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};
pub use toml::Spanned;

/// The text of a file, whose places have lines.
#[derive(Debug)]
pub struct Source {
    /// Where the file is.
    pub path: PathBuf,
    /// What it says.
    pub text: String,
}

impl Source {
    /// An error at a place of the text: it names the file, the line, and what is wrong.
    pub fn at(&self, start: usize, why: impl Display) -> String {
        let line = self.text.bytes().take(start).filter(|byte| *byte == b'\n').count() + 1;
        format!("{}:{line}: {why}", self.path.display())
    }

    /// An error where something is given.
    pub fn wrong<T>(&self, what: &Spanned<T>, why: impl Display) -> String {
        self.at(what.span().start, why)
    }

    /// What the text says.
    ///
    /// # Errors
    /// It is no TOML, or says something else.
    pub fn parse<T: DeserializeOwned>(&self) -> Result<T, String> {
        toml::from_str(&self.text).map_err(|error| {
            let why = error.message().trim_end().replace('\n', "; ");
            self.at(error.span().map_or(0, |span| span.start), why)
        })
    }
}

/// The keys as they are written. Some are for services only, and some for the tasks of a system.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Keys {
    /// The service, in its file.
    pub name: Option<Spanned<String>>,
    /// The program: a path, or a name to be found in PATH; for a task the shared object, too.
    #[serde(alias = "file")]
    pub program: Spanned<String>,
    #[serde(default)]
    args: Vec<String>,
    /// Variables.
    #[serde(default)]
    pub env: BTreeMap<String, Spanned<String>>,
    /// Where it runs.
    pub directory: Option<Spanned<PathBuf>>,
    /// Where its output goes.
    pub output: Option<Spanned<PathBuf>>,
    /// When it is started again.
    pub restart: Option<Spanned<Restart>>,
    pause: Option<Spanned<f64>>,
    longest_pause: Option<Spanned<f64>>,
    /// The process of a task.
    pub process: Option<Spanned<String>>,
    /// What becomes of the other tasks when this one has failed for good.
    pub on_failure: Option<OnFailure>,
    /// Tasks that are ready before this one starts.
    pub after: Option<Vec<Spanned<String>>>,
    /// Services that a task may register.
    pub provides: Option<Vec<Spanned<String>>>,
    /// Services that a task may look up.
    pub look_up: Option<Vec<Spanned<String>>>,
}

/// What becomes of the others when a task has failed for good.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OnFailure {
    /// Nothing.
    #[default]
    Continue,
    /// They end.
    Stop,
}

/// A program, how it is run, and when it starts again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    /// A path, or a name to be found in PATH.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<String>,
    /// Variables beside those of the process that starts it.
    pub env: BTreeMap<String, String>,
    /// Where it runs.
    pub directory: Option<PathBuf>,
    /// Where its output goes; it is appended.
    pub output: Option<PathBuf>,
    /// When it is started again.
    pub restart: Restart,
    /// The pauses before.
    pub backoff: Backoff,
}

impl Keys {
    /// The program, checked; `restart` is when it starts again if that is not said.
    ///
    /// # Errors
    /// Where something is wrong, and what.
    pub fn program(&self, source: &Source, restart: Restart) -> Result<Program, String> {
        if self.program.get_ref().is_empty() {
            return Err(source.wrong(&self.program, "there is no program"));
        }
        if let Some((key, value)) = self.env.iter().find(|(key, _)| key.is_empty() || key.contains(['=', '\0'])) {
            return Err(source.wrong(value, format!("{key:?} can't be a variable's name")));
        }
        let seconds = |given: &Option<Spanned<f64>>, default| match given {
            None => Ok(default),
            Some(it) if (0.0..=86400.0).contains(it.get_ref()) => Ok(Duration::from_secs_f64(*it.get_ref())),
            Some(it) => Err(source.wrong(it, "a pause has 0 to 86400 seconds")),
        };
        Ok(Program {
            args: self.args.clone(),
            env: self.env.iter().map(|(key, value)| (key.clone(), value.get_ref().clone())).collect(),
            directory: self.directory.as_ref().map(|it| it.get_ref().clone()),
            output: self.output.as_ref().map(|it| it.get_ref().clone()),
            restart: self.restart.as_ref().map_or(restart, |it| *it.get_ref()),
            backoff: Backoff::new(seconds(&self.pause, Backoff::FIRST)?, seconds(&self.longest_pause, Backoff::LONGEST)?),
            ..Program::new(self.program.get_ref().into())
        })
    }
}

impl Program {
    /// One without arguments that is started when it is wanted.
    pub fn new(program: PathBuf) -> Self {
        Self {
            program,
            args: Vec::new(),
            env: BTreeMap::new(),
            directory: None,
            output: None,
            restart: Restart::OnDemand,
            backoff: Backoff::default(),
        }
    }

    /// The command that runs `file` as this program.
    ///
    /// # Errors
    /// The file for its output can't be opened.
    pub fn command(&self, file: &Path) -> io::Result<Command> {
        let mut command = Command::new(file);
        command.arg0(&self.program).args(&self.args).envs(&self.env);
        if let Some(directory) = &self.directory {
            command.current_dir(directory);
        }
        if let Some(path) = &self.output {
            let file = OpenOptions::new().append(true).create(true).open(path)?;
            command.stdout(file.try_clone()?).stderr(file);
        }
        Ok(command)
    }

    /// Whether it runs as the other does: one process may then serve both services.
    pub fn runs_as(&self, other: &Self) -> bool {
        (&self.program, &self.args, &self.env, &self.directory) == (&other.program, &other.args, &other.env, &other.directory)
    }

    /// The program and its arguments, for people.
    pub fn shown(&self) -> String {
        let words = std::iter::once(self.program.display().to_string()).chain(self.args.iter().cloned());
        words.collect::<Vec<_>>().join(" ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_runs_where_and_as_it_is_described() {
        let dir = tempfile::tempdir().expect("a directory");
        let text = format!(
            "program = '/bin/sh'\nargs = ['-c', 'echo $0 $(pwd) $K; echo wrong >&2']\ndirectory = '/usr'\noutput = '{}'\n[env]\nK = 'v'\n",
            dir.path().join("log").display()
        );
        let source = Source { path: "x.toml".into(), text };
        let keys: Keys = source.parse().expect("a good file");
        let program = keys.program(&source, Restart::Never).expect("a program");
        let again = || program.command(Path::new("/bin/sh")).expect("a command").status().expect("a shell");
        assert!(again().success() && again().success());
        let said = std::fs::read_to_string(dir.path().join("log")).expect("its output");
        assert_eq!(said, "/bin/sh /usr v\nwrong\n".repeat(2));
    }
}
