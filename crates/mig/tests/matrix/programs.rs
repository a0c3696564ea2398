//! The parties as processes.

use slipway_test_support::{NameServer, built, repository, succeed, symlink};
use std::{
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Child, ChildStdout, Command, Stdio},
};

/// The directories of libmach's headers, and of the sampler.
pub fn include_and_example() -> (PathBuf, PathBuf) {
    (repository("include"), repository("examples/mig"))
}

/// A process that is killed at the end of the test.
pub struct Running {
    child: Child,
    /// Kept open: what the process says later is no error.
    _said: BufReader<ChildStdout>,
}

impl Running {
    /// Starts a program, which says `ready` when others can rely on it.
    fn start(command: &mut Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap_or_else(|error| panic!("start {command:?}: {error}"));
        let mut said = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut line = String::new();
        while !line.trim_end().ends_with("ready") {
            line.clear();
            let len = said.read_line(&mut line).expect("what the program says");
            assert!(len > 0, "{command:?} ended before it was ready");
        }
        Self { child, _said: said }
    }

    /// Fails if the process ended.
    pub fn must_still_run(&mut self) {
        let ended = self.child.try_wait().expect("the state of a process");
        assert!(ended.is_none(), "the server ended: {ended:?}");
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A program that is a client or a server, with its arguments and environment.
pub struct Party {
    command: Vec<PathBuf>,
    environment: Vec<(String, PathBuf)>,
}

impl Party {
    /// This test program again, to play a part in one of its tests.
    pub fn this_test(test: &str, variable: &str, role: &str) -> Self {
        let own = std::env::current_exe().expect("the path of this test");
        let command = [own.as_path(), Path::new(test), Path::new("--exact"), Path::new("--nocapture")];
        Self { command: command.map(Path::to_owned).into(), environment: vec![(variable.into(), role.into())] }
    }

    fn command(&self, names: &NameServer) -> Command {
        let mut command = Command::new("timeout");
        command.args(["--foreground", "600"]).args(&self.command).envs(self.environment.iter().map(|(k, v)| (k, v)));
        names.used_by(&mut command);
        command
    }

    /// Starts it as a server.
    pub fn start(&self, names: &NameServer) -> Running {
        let mut command = Command::new(&self.command[0]);
        command.args(&self.command[1..]).envs(self.environment.iter().map(|(k, v)| (k, v)));
        Running::start(names.used_by(&mut command))
    }

    /// Runs it as a client, which must succeed.
    pub fn succeed(&self, names: &NameServer) {
        self.output(names);
    }

    /// Runs it as a client, which must succeed; what it said.
    pub fn output(&self, names: &NameServer) -> String {
        succeed(&mut self.command(names))
    }
}

/// Makes what C programs need beside their sources: the library, and the stubs.
fn prepare(directory: &Path) -> (PathBuf, PathBuf) {
    let library = built("libmach.so");
    for name in ["libmach.so", "libmach.so.1"] {
        symlink(&library, &directory.join(name));
    }
    let (include, example) = include_and_example();
    for name in ["sampler", "tidy"] {
        let mut mig = Command::new(env!("CARGO_BIN_EXE_mig"));
        mig.arg("-I").arg(&include).arg("-sheader").arg(format!("{name}Server.h")).arg(example.join(format!("{name}.defs")));
        succeed(mig.current_dir(directory));
    }
    (include, example)
}

/// The program that tells what it makes of replies.
pub fn c_program(directory: &Path, argument: &str) -> Party {
    let (include, example) = prepare(directory);
    let program = directory.join("replies");
    let mut cc = Command::new("cc");
    cc.args(["-std=gnu99", "-g", "-O1", "-Wall", "-Wextra", "-Werror", "-DMACH_TASK_EXECUTABLE", "-I."]);
    cc.arg("-I")
        .arg(&include)
        .arg("-I")
        .arg(&example)
        .arg("-o")
        .arg(&program)
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/matrix/replies.c"));
    succeed(cc.args(["samplerUser.c", "tidyUser.c", "-L.", "-lmach"]).current_dir(directory));
    Party { command: vec![program, argument.into()], environment: vec![("LD_LIBRARY_PATH".into(), directory.to_owned())] }
}

/// The sampler's server and client in C, over libmach.
pub fn c_programs(directory: &Path) -> (Party, Party) {
    let (include, example) = prepare(directory);
    let program = |role: &str, half: &str| {
        let program = directory.join(format!("sampler-{role}"));
        let mut cc = Command::new("cc");
        cc.args(["-std=gnu99", "-g", "-O1", "-Wall", "-Wextra", "-Werror", "-DMAIN", "-I."]).arg("-I").arg(&include);
        cc.arg("-I")
            .arg(&example)
            .arg("-o")
            .arg(&program)
            .args(["sampler", "tidy"].map(|name| example.join(format!("{name}_{role}.c"))));
        cc.args(["sampler", "tidy"].map(|name| format!("{name}{half}.c")));
        succeed(cc.args(["-L.", "-lmach"]).current_dir(directory));
        Party { command: vec![program], environment: vec![("LD_LIBRARY_PATH".into(), directory.to_owned())] }
    };
    (program("server", "Server"), program("client", "User"))
}
