//! The file that describes a system: which tasks, which share a process, what is started again, and what each may ask for.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use slipway_bootstrap::config::{Keys, OnFailure, Program, Source, Spanned};
use slipway_bootstrap::supervise::Restart;
use slipway_domain::note::{self, Kind};

use crate::{locate, program};

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
    /// What is run: a program, or a shared object.
    pub program: Program,
    /// Whether it is a shared object, and runs in a host.
    pub shared: bool,
    /// Tasks of the same process have the same word here.
    pub process: String,
    pub on_failure: OnFailure,
    /// Tasks that are ready before this one starts, by place.
    pub after: Vec<usize>,
    pub provides: Option<Vec<String>>,
    pub look_up: Option<Vec<String>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    main: Option<Spanned<String>>,
    #[serde(default)]
    task: BTreeMap<String, Spanned<Keys>>,
}

/// Reads and checks a file. The error names the file, the line and what is wrong.
pub fn read(path: &Path) -> Result<System, String> {
    let text = std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let source = Source { path: path.to_owned(), text };
    let file: File = source.parse()?;
    if file.task.is_empty() {
        return Err(source.at(0, "no task: a task is a table such as [task.store] with a file"));
    }
    let mut raw: Vec<(String, Spanned<Keys>)> = file.task.into_iter().collect();
    raw.sort_by_key(|(_, task)| task.span().start);
    let names: Vec<String> = raw.iter().map(|(name, _)| name.clone()).collect();
    let mut tasks = Vec::new();
    for (name, task) in &raw {
        tasks.push(task_of(&source, name, task.get_ref(), &names)?);
    }
    check_processes(&source, &raw, &tasks)?;
    check_services(&source, &raw)?;
    let order = order(&source, &raw, &tasks)?;
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

fn task_of(source: &Source, name: &str, keys: &Keys, names: &[String]) -> Result<TaskConfig, String> {
    if let Some(name) = &keys.name {
        return Err(source.wrong(name, "name: only the file of a service has it; a task has the name of its table"));
    }
    if let Some(restart) = keys.restart.as_ref().filter(|it| *it.get_ref() == Restart::OnDemand) {
        return Err(source.wrong(restart, "on-demand is for the file of a service: never, on-failure or always"));
    }
    let (file, shared) = file(source, &keys.program)?;
    if let (false, Some(process)) = (shared, &keys.process) {
        let why = format!("{}: a program has a process of its own; only tasks with MACH_TASK_MAIN can share one", file.display());
        return Err(source.wrong(process, why));
    }
    if let (true, Some(path)) = (shared, keys.directory.as_ref().or(keys.output.as_ref())) {
        return Err(source.wrong(path, "directory and output are for programs: the tasks of a process share them"));
    }
    let mut after = Vec::new();
    for other in keys.after.iter().flatten() {
        let at = names.iter().position(|name| name == other.get_ref());
        after.push(at.ok_or_else(|| source.wrong(other, format!("after {:?}: there is no such task", other.get_ref())))?);
    }
    let plain = |given: &Option<Vec<Spanned<String>>>| {
        given.as_ref().map(|list| list.iter().map(|it| it.get_ref().clone()).collect::<Vec<_>>())
    };
    Ok(TaskConfig {
        name: name.to_owned(),
        program: Program { program: file, ..keys.program(source, Restart::Never)? },
        shared,
        process: keys.process.as_ref().map_or_else(|| format!("\0{name}"), |it| it.get_ref().clone()),
        on_failure: keys.on_failure.unwrap_or_default(),
        after,
        provides: plain(&keys.provides),
        look_up: plain(&keys.look_up),
    })
}

/// The file, beside the configuration or as it is, else a program in PATH; and whether it is a shared object.
fn file(source: &Source, given: &Spanned<String>) -> Result<(PathBuf, bool), String> {
    let name = Path::new(given.get_ref());
    let beside = source.path.parent().unwrap_or(Path::new("")).join(name);
    let path = if beside.is_file() { beside } else { locate::task(name) };
    if path.is_file() && note::kind(&path) != Kind::Other {
        return match note::check(&path) {
            Ok(()) => Ok((path, true)),
            Err(why) => Err(source.wrong(given, format!("{}: {why}", path.display()))),
        };
    }
    let found = if path.is_file() {
        program::Program::find(std::path::absolute(&path).unwrap_or(path).as_os_str())
    } else {
        program::Program::find(OsStr::new(given.get_ref()))
    };
    found.map(|program| (program.path, false)).map_err(|failure| source.wrong(given, failure.message))
}

/// Tasks of one process have one environment.
fn check_processes(source: &Source, raw: &[(String, Spanned<Keys>)], tasks: &[TaskConfig]) -> Result<(), String> {
    for (at, (_, task)) in raw.iter().enumerate() {
        for (key, value) in &task.get_ref().env {
            let other = tasks[..at].iter().find(|other| {
                other.process == tasks[at].process && other.program.env.get(key).is_some_and(|theirs| theirs != value.get_ref())
            });
            if let Some(other) = other {
                let why = format!("env.{key}: {} shares this process and has another value for it", other.name);
                return Err(source.wrong(value, why));
            }
        }
    }
    Ok(())
}

/// A service that is looked up is provided, as far as that is told.
fn check_services(source: &Source, raw: &[(String, Spanned<Keys>)]) -> Result<(), String> {
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
            return Err(source.wrong(wanted, format!("look-up {:?}: no task provides it", wanted.get_ref())));
        }
    }
    Ok(())
}

/// The places of the tasks, each behind those that it comes after.
fn order(source: &Source, raw: &[(String, Spanned<Keys>)], tasks: &[TaskConfig]) -> Result<Vec<usize>, String> {
    let mut order: Vec<usize> = Vec::new();
    while order.len() < tasks.len() {
        let free = |at: &usize| !order.contains(at) && tasks[*at].after.iter().all(|before| order.contains(before));
        match (0..tasks.len()).find(free) {
            Some(next) => order.push(next),
            None => return Err(circle(source, raw, tasks, &order)),
        }
    }
    Ok(order)
}

/// Every task that is left comes after another one that is: going from one to the next leads round a circle.
fn circle(source: &Source, raw: &[(String, Spanned<Keys>)], tasks: &[TaskConfig], placed: &[usize]) -> String {
    let mut path = vec![(0..tasks.len()).find(|at| !placed.contains(at)).unwrap_or(0)];
    loop {
        let at = path[path.len() - 1];
        let next = tasks[at].after.iter().find(|before| !placed.contains(before)).copied().unwrap_or(at);
        if let Some(start) = path.iter().position(|seen| *seen == next) {
            let names: Vec<&str> = path[start..].iter().chain([&next]).map(|at| tasks[*at].name.as_str()).collect();
            let given = raw[path[start]].1.get_ref().after.iter().flatten().next();
            let why = format!("a circle: {}", names.join(" after "));
            return given.map_or_else(|| source.at(0, &why), |given| source.wrong(given, &why));
        }
        path.push(next);
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
        assert!(!system.tasks[0].shared && system.tasks[0].program.program.is_absolute());
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
            ("[task.a]\nfile = 'sh'\nrestart = 'on-demand'\n", "FILE:3: on-demand is for the file of a service"),
            ("[task.a]\nname = 'a'\nfile = 'sh'\n", "FILE:2: name: only the file of a service"),
            ("[task.a]\nfile = 'sh'\nprovides = ['k.*']\nlook-up = ['k.x', 'l']\n", "FILE:4: look-up \"l\": no task provides it"),
        ] {
            let error = check(text).expect_err(text);
            assert!(error.starts_with(wanted), "{error:?} does not begin with {wanted:?}");
            assert!(!error.contains('\n'), "{error}");
        }
    }
}
