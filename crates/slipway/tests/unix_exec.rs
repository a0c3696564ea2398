//! Programs that `slipway unix` has programs execute.

mod harness;

use harness::build::{build_c, c_program, scratch_in_target};
use harness::process::clean;
use harness::{Running, SLIPWAY};
use std::fs;
use std::process::Command;
use tempfile::TempDir;

/// Runs each path twenty times, from memory that is the child's, too, and says how; the path must stay as it was, and the memory is the parent's own
/// once that goes on. The child of vfork executes it from the same memory, that of posix_spawn from the same, on another stack.
const SPAWNS: &str = r#"
#define _GNU_SOURCE
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
extern char **environ;
static int how(char *path, const char *is, int is_vfork) {
    char *args[] = {path, "x", 0};
    pid_t child = 0;
    int status = -1;
    if (is_vfork) {
        if ((child = vfork()) == 0) {
            execve(path, args, environ);
            _exit(100);
        }
    } else if (posix_spawn(&child, path, 0, 0, args, environ)) {
        return -2;
    }
    if (strcmp(path, is))
        return -3;
    memset(path, '#', strlen(is));
    int ended = waitpid(child, &status, 0) == child;
    for (const char *at = path; *at; at++)
        if (*at != '#')
            return -4;
    strcpy(path, is);
    return ended && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}
int main(int count, char **paths) {
    for (int i = 1; i < count; i++) {
        char path[4096];
        strcpy(path, paths[i]);
        for (int n = 0; n < 20; n++) {
            int code = how(path, paths[i], n & 1);
            if (code != 7) {
                printf("%s: run %d: %d, then %s\n", paths[i], n, code, path);
                return 1;
            }
        }
    }
    return 0;
}
"#;

/// What a shell script prints in a layer that is discarded. It must succeed.
fn sh(dir: &TempDir, options: &[&str], script: &str) -> String {
    let mut command = Command::new(SLIPWAY);
    command.args(["unix", "--quiet", "--discard"]).args(options).args(["--", "sh", "-ec", script]);
    command.env("XDG_STATE_HOME", dir.path().join("state")).current_dir(dir.path());
    clean(&mut command);
    let ran = Running::start(command).finish();
    assert_eq!((ran.code(), ran.stderr.as_str()), (0, ""), "{options:?}: {ran:?}");
    ran.stdout
}

#[test]
fn the_path_stays_in_memory_that_parent_and_child_share() {
    let dir = scratch_in_target();
    build_c(SPAWNS, &dir.path().join("spawns"), &[]);
    build_c("int main(void) { return 7; }", &dir.path().join("seven"), &[]);
    fs::create_dir(dir.path().join("on-host")).expect("mkdir");
    fs::copy(dir.path().join("seven"), dir.path().join("on-host/seven")).expect("copy");
    let made = "mkdir made; cp seven made/program; printf '#!/bin/sh\\nexit 7\\n' >made/script; chmod +x made/script";
    let relative = "./seven seven on-host/seven ./made/program made//./program made/script";
    for options in [&["--net-only"][..], &[]] {
        assert_eq!(sh(&dir, options, &format!("{made}; ./spawns {relative}")), "", "{options:?}");
        assert_eq!(sh(&dir, options, &format!("{made}; ./spawns $PWD/seven")), "", "{options:?}");
        // What the kernel finds by no path of the program's own.
        let other = "$PWD/made/program made/../seven ../${PWD##*/}/made/script $PWD/made/script";
        assert_eq!(sh(&dir, options, &format!("{made}; ./spawns {other}")), "", "{options:?}");
    }
}

/// Executes itself by /proc, from memory that is the child's, too, and with a path that is an argument as well.
const ITSELF: &str = r#"
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
extern char **environ;
static void tell(const char *path, pid_t child) {
    int status = -1;
    waitpid(child, &status, 0);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 7) printf("%s: %x\n", path, status);
}
int main(int count, char **args) {
    const char *links[] = {"/proc/self/exe", "/proc/thread-self/exe", "/proc/self/../self/exe", 0};
    char number[64];
    pid_t child;
    if (count > 1) return strcmp(args[1], "x") ? 8 : 7;
    for (const char **link = links; *link; link++) {
        char *path = strcpy(number, *link), *again[] = {path, "x", 0};
        if ((child = vfork()) == 0) { execve(path, again, environ); _exit(100); }
        tell(path, child);
        if (posix_spawn(&child, path, 0, 0, again, environ)) puts("posix_spawn");
        tell(path, child);
        if ((child = fork()) == 0) { execv(path, again); _exit(100); }
        tell(path, child);
    }
    return 0;
}
"#;

#[test]
fn a_program_executes_itself() {
    let dir = scratch_in_target();
    for (name, flags) in [("itself", &[][..]), ("static", &["-static"])] {
        build_c(ITSELF, &dir.path().join(name), flags);
    }
    for options in [&["--net-only"][..], &["--contain"], &[]] {
        assert_eq!(sh(&dir, options, "for p in itself static; do ./$p; cp $p made; ./made; done"), "", "{options:?}");
    }
}

#[test]
fn a_program_is_told_the_path_that_it_was_executed_by() {
    let dir = scratch_in_target();
    let source = "#include <stdio.h>\n#include <sys/auxv.h>\n\
                  int main(int count, char **args) { puts(args[0]); puts((char *)getauxval(AT_EXECFN)); return count != 1; }";
    build_c(source, &dir.path().join("told"), &[]);
    for options in [&["--net-only"][..], &["--contain"], &[]] {
        let out = sh(
            &dir,
            options,
            "mkdir d; cp told d/made; ./told; d/made; printf '#!/bin/sh\\necho $0' >d/s; chmod +x d/s; d/s; ls -A",
        );
        let expected = "./told\n./told\nd/made\nd/made\nd/s\nd\nstate\ntold\ntold.c\n";
        assert_eq!(out, expected, "{options:?}");
    }
}

/// What a library of the tests' says.
fn build_library(dir: &TempDir, name: &str, says: &str) {
    let flags = ["-shared", "-fPIC", "-nostdlib"];
    build_c(&format!("int says(void) {{ return {says}; }}"), &dir.path().join(name), &flags);
}

/// Libraries that the program links, loads and is told of, of the host's and of the layer's, in directories of each.
#[test]
fn a_loader_finds_what_the_layer_has() {
    let dir = scratch_in_target();
    fs::create_dir(dir.path().join("lib")).expect("mkdir");
    for (name, says) in [("lib/libone.so", "1"), ("two", "2"), ("three", "3")] {
        build_library(&dir, name, says);
    }
    let one = "#include <stdio.h>\nint says(void);\nint main(void) { printf(\"%d \", says()); return 0; }";
    let at = dir.path().join("lib").display().to_string();
    build_c(one, &dir.path().join("linked"), &["-L", &at, "-Wl,-rpath", &at, "-lone"]);
    let loads = c_program("loads", dir.path(), &["-ldl"]);
    let loads = loads.display();
    let script = format!(
        "./linked; cp two lib/libone.so; ./linked; mv lib/libone.so lib/libone.so.1; ln -s libone.so.1 lib/libone.so; ./linked
         LD_PRELOAD=$PWD/three ./linked; LD_PRELOAD=./three ./linked; rm lib/libone.so; ./linked 2>/dev/null || echo $?
         mkdir new; cp two new/libone.so; LD_LIBRARY_PATH=new ./linked; (cd new; LD_LIBRARY_PATH=. ../linked); LD_LIBRARY_PATH=$PWD/new ./linked
         {loads} $PWD/three ./new/libone.so new/../two missing; cd new; {loads} ./libone.so ../three
         cd ..; {loads} filtered $PWD/three new/libone.so"
    );
    for options in [&["--net-only"][..], &["--contain"], &[]] {
        let out = sh(&dir, options, &script);
        assert_eq!(out, "1 2 2 3 3 127\n2 2 2 1 3 2 2 -1 \n1 2 3 \n1 3 2 \n", "{options:?}");
    }
}

/// The emulation library's place is taken in such a program: its loader goes on as without it.
#[cfg(target_arch = "x86_64")]
#[test]
fn a_program_at_the_emulation_librarys_place_is_loaded() {
    let dir = scratch_in_target();
    build_library(&dir, "one", "1");
    for at in ["0x70000000", "0x70004000", "0x70100000", "0x70951000"] {
        let source = fs::read_to_string(harness::build::asset("c/loads.c")).expect("read a source");
        build_c(&source, &dir.path().join("loads"), &["-no-pie", &format!("-Wl,-Ttext-segment={at}"), "-ldl"]);
        assert_eq!(sh(&dir, &[], "cp one two; ./loads $PWD/one ./two $PWD/missing"), "1 1 1 -1 \n", "{at}");
    }
}

/// Its text is the process's own then, in which it jumps to the emulation library.
#[cfg(target_arch = "x86_64")]
#[test]
fn a_loader_opens_files_by_the_emulation_library() {
    let dir = scratch_in_target();
    let own = "sed -n '/r-xp.*ld-linux/,/^VmFlags/s/^Anonymous: *\\([0-9]*\\).*/\\1/p' /proc/self/smaps";
    assert_eq!(sh(&dir, &["--net-only"], own), "0\n");
    assert_ne!(sh(&dir, &[], own), "0\n");
}

/// Executes what PROG says, whose path lies in the environment, many times, and says how often the program did not find PROG as WANT says.
const FROM_ENVIRONMENT: &str = r#"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
extern char **environ;
int main(int count, char **args) {
    if (count > 1)
        return strcmp(args[1], "child") || strcmp(getenv("PROG"), getenv("WANT"));
    int wrong = 0;
    for (int n = 0; n < 60; n++) {
        int status;
        pid_t child = fork();
        if (child == 0) {
            char *prog = getenv("PROG"), *args[] = {n & 1 ? "x" : prog, "child", 0};
            execve(prog, args, environ);
            _exit(9);
        }
        waitpid(child, &status, 0);
        wrong += status != 0;
    }
    return wrong;
}
"#;

#[test]
fn the_environment_stays_where_the_path_lies_in_it() {
    let dir = scratch_in_target();
    build_c(FROM_ENVIRONMENT, &dir.path().join("runs"), &[]);
    build_c(FROM_ENVIRONMENT, &dir.path().join("static"), &["-static"]);
    let script = "mkdir made; cp runs made/program; printf '#!/bin/sh\\n[ \"$PROG\" = \"$WANT\" ] && [ \"$1\" = child ]\\n' >made/script; \
                  chmod +x made/script; for runs in ./runs ./static; do for name in program script; do \
                  PROG=$PWD/made/$name WANT=$PWD/made/$name $runs || echo $runs $name $?; done; done";
    for options in [&["--net-only"][..], &[]] {
        assert_eq!(sh(&dir, options, script), "", "{options:?}");
    }
}

#[test]
fn the_limit_on_the_size_of_files_is_the_commands() {
    // The last is refused without a signal, as the command may have been started.
    let script = "ulimit -Sf 0; \"$@\" sh -c 'ulimit -Sf; (echo text >file) 2>/dev/null; echo $?; mv big new; wc -c <new; ls'
        trap '' XFSZ; \"$@\" sh -c '(echo text >file) 2>/dev/null; echo $?'";
    let said = |net: &[&str]| {
        let (dir, state) = (scratch_in_target(), scratch_in_target());
        fs::write(dir.path().join("big"), [1; 4096]).expect("write");
        let mut command = Command::new("sh");
        clean(command.args(["-c", script, "sh"]).args(net).env("XDG_STATE_HOME", state.path()).current_dir(dir.path()));
        Running::start(command).finish().stdout
    };
    let native = said(&["env"]);
    assert_eq!(native, "0\n153\n4096\nfile\nnew\n1\n");
    for net in [&[][..], &["--net-only"]] {
        assert_eq!(said(&[&[SLIPWAY, "unix", "--quiet", "--discard"], net, &["--"]].concat()), native, "{net:?}");
    }
}

#[test]
fn what_is_kept_is_not_limited_in_size() {
    let (dir, state) = (scratch_in_target(), scratch_in_target());
    let script = "\"$0\" unix --quiet --new l -- sh -c 'echo text >file'; ulimit -Sf 0; \"$0\" unix keep l; cat file";
    let mut command = Command::new("sh");
    clean(command.args(["-c", script, SLIPWAY]).env("XDG_STATE_HOME", state.path()).current_dir(dir.path()));
    let ran = Running::start(command).finish();
    assert_eq!((ran.stdout.as_str(), ran.stderr.as_str()), ("1 name changed; the layer is gone\ntext\n", ""));
}
