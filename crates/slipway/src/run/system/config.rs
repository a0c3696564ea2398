//! The file that describes a system: which tasks, who shares a process, what is started again, who may ask for what.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;
use slipway_domain::note::{self, Kind};
use toml::Spanned;

use crate::program::Program;

/// A system, checked.
#[derive(Debug)]
pub struct System {
    /// In the order in which they are started.
    pub tasks: Vec<TaskConfig>,
    /// The task with whose end the system ends.
    pub main: Option<usize>,
}

/// A task of a system.
#[derive(Debug)]
pub struct TaskConfig {
    pub name: String,
    /// The program, or the shared object.
    pub file: PathBuf,
    /// Whether it is a shared object, and runs in a host.
    pub shared: bool,
    pub args: Vec<String>,
    /// Tasks of the same process have the same word here.
    pub process: String,
    pub env: BTreeMap<String, String>,
    pub restart: Restart,
    pub on_failure: OnFailure,
    /// Tasks that are ready before this one starts, by place.
    pub after: Vec<usize>,
    pub provides: Option<Vec<String>>,
    pub look_up: Option<Vec<String>>,
    pub pause: Duration,
    pub longest_pause: Duration,
}

/// When a task that ended is started again.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Restart {
    #[default]
    Never,
    /// After it crashed or ended with another code than 0.
    OnFailure,
    Always,
}

/// What becomes of the others when a task has failed for good.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OnFailure {
    #[default]
    Continue,
    Stop,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    main: Option<Spanned<String>>,
    #[serde(default)]
    task: BTreeMap<String, Spanned<Raw>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Raw {
    file: Spanned<String>,
    #[serde(default)]
    args: Vec<String>,
    process: Option<Spanned<String>>,
    #[serde(default)]
    env: BTreeMap<String, Spanned<String>>,
    #[serde(default)]
    restart: Restart,
    #[serde(default)]
    on_failure: OnFailure,
    #[serde(default)]
    after: Vec<Spanned<String>>,
    provides: Option<Vec<Spanned<String>>>,
    look_up: Option<Vec<Spanned<String>>>,
    pause: Option<Spanned<f64>>,
    longest_pause: Option<Spanned<f64>>,
}

/// The first pause before a task starts again, in seconds, and the longest.
const PAUSES: (f64, f64) = (0.5, 60.0);

/// A text whose places have lines.
struct Source<'a> {
    path: &'a Path,
    text: &'a str,
}

impl Source<'_> {
    fn at(&self, start: usize, why: impl Display) -> String {
        let line = self.text.bytes().take(start).filter(|byte| *byte == b'\n').count() + 1;
        format!("{}:{line}: {why}", self.path.display())
    }

    fn wrong<T>(&self, what: &Spanned<T>, why: impl Display) -> String {
        self.at(what.span().start, why)
    }
}

/// Reads and checks a file. The error names the file, the line and what is wrong.
pub fn read(path: &Path) -> Result<System, String> {
    let text = std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let source = Source { path, text: &text };
    let file: File = toml::from_str(&text).map_err(|error| {
        let why = error.message().trim_end().replace('\n', "; ");
        source.at(error.span().map_or(0, |span| span.start), why)
    })?;
    if file.task.is_empty() {
        return Err(source.at(0, "no task: a task is a table such as [task.store] with a file"));
    }
    let mut raw: Vec<(String, Spanned<Raw>)> = file.task.into_iter().collect();
    raw.sort_by_key(|(_, task)| task.span().start);
    let names: Vec<String> = raw.iter().map(|(name, _)| name.clone()).collect();
    let mut tasks = Vec::new();
    for (name, task) in &raw {
        tasks.push(source.task(name, task.get_ref(), &names)?);
    }
    source.check_processes(&raw, &tasks)?;
    source.check_services(&raw)?;
    let order = source.order(&raw, &tasks)?;
    let place = |name: &Spanned<String>| {
        let at = names.iter().position(|other| other == name.get_ref());
        at.ok_or_else(|| source.wrong(name, format!("main = {:?}: there is no such task", name.get_ref())))
    };
    let main = file.main.as_ref().map(place).transpose()?;
    // Places are those of the order from here on.
    let moved = |old: &usize| order.iter().position(|at| at == old).unwrap_or(*old);
    let main = main.as_ref().map(moved);
    let mut slots: Vec<Option<TaskConfig>> = tasks.into_iter().map(Some).collect();
    let tasks = order.iter().filter_map(|at| slots[*at].take()).map(|mut task| {
        task.after = task.after.iter().map(moved).collect();
        task
    });
    let tasks = tasks.collect();
    Ok(System { tasks, main })
}

impl Source<'_> {
    fn task(&self, name: &str, raw: &Raw, names: &[String]) -> Result<TaskConfig, String> {
        let (file, shared) = self.file(&raw.file)?;
        if let (false, Some(process)) = (shared, &raw.process) {
            let why =
                format!("{}: a program has a process of its own; only tasks with MACH_TASK_MAIN can share one", file.display());
            return Err(self.wrong(process, why));
        }
        let mut after = Vec::new();
        for other in &raw.after {
            let at = names.iter().position(|name| name == other.get_ref());
            after.push(at.ok_or_else(|| self.wrong(other, format!("after {:?}: there is no such task", other.get_ref())))?);
        }
        let seconds = |given: &Option<Spanned<f64>>, default: f64| match given {
            None => Ok(Duration::from_secs_f64(default)),
            Some(it) if (0.0..=86400.0).contains(it.get_ref()) => Ok(Duration::from_secs_f64(*it.get_ref())),
            Some(it) => Err(self.wrong(it, "a pause has 0 to 86400 seconds")),
        };
        let plain = |list: &Option<Vec<Spanned<String>>>| {
            list.as_ref().map(|list| list.iter().map(|it| it.get_ref().clone()).collect::<Vec<_>>())
        };
        Ok(TaskConfig {
            name: name.to_owned(),
            file,
            shared,
            args: raw.args.clone(),
            process: raw.process.as_ref().map_or_else(|| format!("\0{name}"), |it| it.get_ref().clone()),
            env: raw.env.iter().map(|(key, value)| (key.clone(), value.get_ref().clone())).collect(),
            restart: raw.restart,
            on_failure: raw.on_failure,
            after,
            provides: plain(&raw.provides),
            look_up: plain(&raw.look_up),
            pause: seconds(&raw.pause, PAUSES.0)?,
            longest_pause: seconds(&raw.longest_pause, PAUSES.1)?,
        })
    }

    /// The file, beside the configuration or as it is, else a program in PATH; and whether it is a shared object.
    fn file(&self, given: &Spanned<String>) -> Result<(PathBuf, bool), String> {
        let name = Path::new(given.get_ref());
        let beside = self.path.parent().unwrap_or(Path::new("")).join(name);
        let path = if beside.is_file() { beside } else { name.to_owned() };
        if path.is_file() && note::kind(&path) != Kind::Other {
            return match note::check(&path) {
                Ok(()) => Ok((path, true)),
                Err(why) => Err(self.wrong(given, format!("{}: {why}", path.display()))),
            };
        }
        let found = if path.is_file() {
            Program::find(std::path::absolute(&path).unwrap_or(path).as_os_str())
        } else {
            Program::find(OsStr::new(given.get_ref()))
        };
        found.map(|program| (program.path, false)).map_err(|failure| self.wrong(given, failure.message))
    }

    /// Tasks of one process have one environment.
    fn check_processes(&self, raw: &[(String, Spanned<Raw>)], tasks: &[TaskConfig]) -> Result<(), String> {
        for (at, (_, task)) in raw.iter().enumerate() {
            for (key, value) in &task.get_ref().env {
                let other = tasks[..at].iter().find(|other| {
                    other.process == tasks[at].process && other.env.get(key).is_some_and(|theirs| theirs != value.get_ref())
                });
                if let Some(other) = other {
                    let why = format!("env.{key}: {} shares this process and has another value for it", other.name);
                    return Err(self.wrong(value, why));
                }
            }
        }
        Ok(())
    }

    /// A service that is looked up is provided, as far as that is told.
    fn check_services(&self, raw: &[(String, Spanned<Raw>)]) -> Result<(), String> {
        let all: Option<Vec<&String>> = raw
            .iter()
            .map(|(_, task)| task.get_ref().provides.as_ref())
            .collect::<Option<Vec<_>>>()
            .map(|lists| lists.into_iter().flatten().map(Spanned::get_ref).collect());
        let Some(all) = all else { return Ok(()) };
        for wanted in raw.iter().flat_map(|(_, task)| task.get_ref().look_up.iter().flatten()) {
            let is = |given: &&String| match given.strip_suffix('*') {
                Some(front) => wanted.get_ref().starts_with(front),
                None => *given == wanted.get_ref(),
            };
            if !wanted.get_ref().ends_with('*') && !all.iter().any(is) {
                return Err(self.wrong(wanted, format!("look-up {:?}: no task provides it", wanted.get_ref())));
            }
        }
        Ok(())
    }

    /// The places of the tasks, each behind those that it comes after.
    fn order(&self, raw: &[(String, Spanned<Raw>)], tasks: &[TaskConfig]) -> Result<Vec<usize>, String> {
        let mut order: Vec<usize> = Vec::new();
        while order.len() < tasks.len() {
            let free = |at: &usize| !order.contains(at) && tasks[*at].after.iter().all(|before| order.contains(before));
            match (0..tasks.len()).find(free) {
                Some(next) => order.push(next),
                None => return Err(self.circle(raw, tasks, &order)),
            }
        }
        Ok(order)
    }

    /// Every task that is left comes after another one that is: going from one to the next leads round a circle.
    fn circle(&self, raw: &[(String, Spanned<Raw>)], tasks: &[TaskConfig], placed: &[usize]) -> String {
        let mut path = vec![(0..tasks.len()).find(|at| !placed.contains(at)).unwrap_or(0)];
        loop {
            let at = path[path.len() - 1];
            let next = tasks[at].after.iter().find(|before| !placed.contains(before)).copied().unwrap_or(at);
            if let Some(start) = path.iter().position(|seen| *seen == next) {
                let names: Vec<&str> = path[start..].iter().chain([&next]).map(|at| tasks[*at].name.as_str()).collect();
                let given = raw[path[start]].1.get_ref().after.first();
                let why = format!("a circle: {}", names.join(" after "));
                return given.map_or_else(|| self.at(0, &why), |given| self.wrong(given, &why));
            }
            path.push(next);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str) -> Result<System, String> {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("system.toml");
        std::fs::write(&path, text).expect("a file");
        read(&path).map_err(|error| error.replace(&format!("{}", path.display()), "FILE"))
    }

    #[test]
    fn tasks_come_in_the_order_of_their_needs() {
        let system = check("main = 'c'\n[task.c]\nfile = 'sh'\nafter = ['a', 'b']\n[task.b]\nfile = 'sh'\n[task.a]\nfile = 'sh'\nafter = ['b']\n")
            .expect("a good file");
        let names: Vec<&str> = system.tasks.iter().map(|task| task.name.as_str()).collect();
        assert_eq!(names, ["b", "a", "c"]);
        assert_eq!((system.main, &system.tasks[2].after[..]), (Some(2), &[1, 0][..]));
        assert!(!system.tasks[0].shared && system.tasks[0].file.is_absolute());
    }

    #[test]
    fn what_is_wrong_is_told_with_its_line() {
        for (text, wanted) in [
            ("", "FILE:1: no task"),
            ("[task.a]\nfil = 'sh'\n", "FILE:2: unknown field `fil`"),
            ("[task.a]\nfile = \n", "FILE:2: "),
            ("[task.a]\nfile = 'no-such-program-here'\n", "FILE:2: no-such-program-here: program not found"),
            ("[task.a]\nfile = './none.so'\n", "FILE:2: ./none.so: no such file"),
            ("[task.a]\nfile = 'sh'\nafter = ['b']\n", "FILE:3: after \"b\": there is no such task"),
            ("main = 'z'\n[task.a]\nfile = 'sh'\n", "FILE:1: main = \"z\": there is no such task"),
            ("[task.a]\nfile = 'sh'\nafter = ['a']\n", "FILE:3: a circle: a after a"),
            (
                "[task.z]\nfile = 'sh'\n[task.a]\nfile = 'sh'\nafter = ['b']\n[task.b]\nfile = 'sh'\nafter = ['z', 'a']\n",
                "FILE:5: a circle: a after b after a",
            ),
            ("[task.a]\nfile = 'sh'\nprocess = 'x'\n", "FILE:3: "),
            ("[task.a]\nfile = 'sh'\npause = -1.0\n", "FILE:3: a pause"),
            ("[task.a]\nfile = 'sh'\nrestart = 'sometimes'\n", "FILE:3: unknown variant"),
            ("[task.a]\nfile = 'sh'\nprovides = ['k.*']\nlook-up = ['k.x', 'l']\n", "FILE:4: look-up \"l\": no task provides it"),
        ] {
            let error = check(text).expect_err(text);
            assert!(error.starts_with(wanted), "{error:?} does not begin with {wanted:?}");
            assert!(!error.contains('\n'), "{error}");
        }
    }
}
