//! The tree that the commands work on: a program in C, of which the bench makes each file.

use anyhow::{Context, ensure};
use std::fs;
use std::path::Path;
use std::process::Command;

/// Directories, and files of a program in each.
const DIRS: usize = 8;
const FILES: usize = 6;
/// Lines of a text beside each.
const LINES: usize = 400;

/// Makes it in a directory; as a repository of git's, with a second branch, if git is there.
pub fn make(tree: &Path, git: bool) -> anyhow::Result<()> {
    let (mut calls, mut makefile) = (String::new(), String::from("OBJECTS =\n"));
    for dir in 0..DIRS {
        fs::create_dir_all(tree.join(format!("src/part{dir}"))).context("the tree")?;
        for file in 0..FILES {
            let (name, at) = (format!("part{dir}_{file}"), tree.join(format!("src/part{dir}/file{file}")));
            let header = format!("#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\nint {name}(int);\n");
            let body = |n| {
                format!(
                    "static int step{n}(int x) {{ char text[32]; snprintf(text, 32, \"%d\", x); return (int) strlen(text) + {n}; }}\n"
                )
            };
            let steps: String = (0..12).map(body).collect();
            let sum: String = (0..12).map(|n| format!(" + step{n}(x)")).collect();
            fs::write(at.with_extension("h"), header)?;
            fs::write(
                at.with_extension("c"),
                format!("#include \"file{file}.h\"\n{steps}int {name}(int x) {{ return x{sum}; }}\n"),
            )?;
            fs::write(at.with_extension("txt"), format!("some text of {name}\n").repeat(LINES))?;
            calls += &format!("extern int {name}(int); x = {name}(x);\n");
            makefile += &format!("OBJECTS += part{dir}/file{file}.o\n");
        }
    }
    fs::write(tree.join("src/main.c"), format!("int main(void) {{ int x = 1;\n{calls}return x == 0; }}\n"))?;
    fs::write(tree.join("src/Makefile"), makefile + "program: main.o $(OBJECTS)\n\tcc -o $@ main.o $(OBJECTS)\n")?;
    if git {
        let script = "git init -q -b main . && echo /copy >.git/info/exclude && git add . && git commit -qm one && git switch -qc side \
                      && for f in src/part*/*.txt; do echo more >>$f; done && git commit -qam two && git switch -q main";
        let mut command = Command::new("sh");
        command.args(["-ec", script]).current_dir(tree);
        let done = command.envs(GIT).output().context("sh")?;
        ensure!(done.status.success(), "git: {}", String::from_utf8_lossy(&done.stderr));
    }
    Ok(())
}

/// So that git looks at nothing of the user's.
pub const GIT: [(&str, &str); 6] = [
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("GIT_CONFIG_GLOBAL", "/dev/null"),
    ("GIT_AUTHOR_NAME", "bench"),
    ("GIT_AUTHOR_EMAIL", "bench@localhost"),
    ("GIT_COMMITTER_NAME", "bench"),
    ("GIT_COMMITTER_EMAIL", "bench@localhost"),
];
