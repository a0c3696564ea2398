//! The entry (`src/launch.c`), which starts programs without the command line: only when it can, and as the command line does.

mod harness;

use harness::build::build_c;
use harness::{Bench, Running};
use slipway_test_support::succeed;
use std::fs;
use std::os::unix::fs::symlink;
use std::process::{Command, ExitStatus};

/// What a program printed, sorted, how it ended, and what had the hooks.
type Seen = (ExitStatus, Vec<String>, String, Vec<String>);

/// Runs `slipway HOW ARGS`, which the command line reads, or `slipway HOW -- ARGS`.
fn run(bench: &Bench, how: &str, dashes: bool, args: &[&str], surroundings: &dyn Fn(&mut Command)) -> Seen {
    let _ = fs::remove_file(bench.path("log"));
    let words: Vec<&str> = [how].into_iter().chain(dashes.then_some("--")).chain(args.iter().copied()).collect();
    let mut command = bench.slipway(&words);
    command.env("XDG_CONFIG_HOME", bench.path("none")).current_dir(bench.dir.path());
    surroundings(&mut command);
    let outcome = Running::start(command).finish();
    let mut lines: Vec<String> = outcome.stdout.lines().map(str::to_owned).collect();
    lines.sort();
    (outcome.status, lines, outcome.stderr, bench.hooked())
}

fn agree(bench: &Bench, args: &[&str], surroundings: &dyn Fn(&mut Command)) -> Seen {
    let [seen, _] = ["x11", "sockets"].map(|how| {
        let by_entry = run(bench, how, true, args, surroundings);
        assert_eq!(by_entry, run(bench, how, false, args, surroundings), "{how} {args:?}");
        by_entry
    });
    seen
}

#[test]
fn no_library_is_loaded_on_the_way() {
    let bench = Bench::new();
    for how in ["x11", "sockets"] {
        let mut command = Command::new("strace");
        bench.prepare(&mut command);
        command.env("XDG_CONFIG_HOME", bench.path("none")).arg("-o").arg(bench.path("calls")).arg(harness::SLIPWAY);
        succeed(command.args([how, "--", "true"]));
        let calls = fs::read_to_string(bench.path("calls")).expect("calls");
        let mut programs = calls.split("execve(").skip(1);
        let (own, its) = (programs.next().expect("slipway"), programs.next().expect("true"));
        assert!(!own.contains("mmap(") && own.lines().count() < 30, "{own}");
        assert!(its.starts_with("\"/") && its.contains("/true\""), "{its}");
    }
    assert_eq!(bench.hooked(), ["true", "true"]);
}

#[test]
fn the_loader_may_be_named() {
    let loader = if cfg!(target_arch = "aarch64") { "/lib/ld-linux-aarch64.so.1" } else { "/lib64/ld-linux-x86-64.so.2" };
    let bench = Bench::new();
    let mut by_loader = Command::new(loader);
    bench.prepare(&mut by_loader);
    by_loader.args([harness::SLIPWAY, "--version"]);
    let said = Running::start(bench.slipway(&["--version"])).succeed();
    assert!(said.starts_with("slipway "), "{said}");
    assert_eq!(Running::start(by_loader).succeed(), said);
}

#[test]
fn programs_are_found_as_by_the_command_line() {
    let bench = Bench::new();
    let seen = agree(&bench, &["env"], &|_| {});
    assert!(seen.0.success() && seen.3 == ["env"], "{seen:?}");
    let words = ["sh", "-c", "echo \"$0\"; printf '<%s>' \"$@\"; exit 3", "zero", "a", "", "b c"];
    assert_eq!(agree(&bench, &words, &|_| {}).1, ["<a><><b c>", "zero"]);

    // The same program again, which names no loader and yet has one.
    let nested = agree(&bench, &[harness::SLIPWAY, "x11", "env"], &|_| {});
    assert_eq!((nested.2.as_str(), nested.3), ("", vec!["slipway".to_owned(), "env".to_owned()]));

    bench.script("listing", "#!/bin/sh\nenv\n");
    build_c("int main(void) { return 3; }", &bench.path("static"), &["-static"]);
    for dir in ["dir/env", "empty"] {
        fs::create_dir_all(bench.path(dir)).expect("mkdir");
    }
    fs::write(bench.path("empty/env"), "").expect("a file that can't be executed");
    for program in
        ["./listing", "listing", "./static", "nothing", "/nothing/there", "/", "./dir", "", "empty/env", "/usr/bin/env"]
    {
        agree(&bench, &[program], &|_| {});
    }
    let long = "x".repeat(5000);
    for path in ["", ":/usr/bin", "/usr/bin:", "dir:/usr/bin", "empty:/usr/bin", "listing:/usr/bin", "/nothing", "empty", &long] {
        for program in ["env", "listing"] {
            agree(&bench, &[program], &|command| _ = command.env("PATH", path));
        }
    }
    agree(&bench, &["env"], &|command| _ = command.env_remove("PATH"));
}

#[test]
fn surroundings_count_as_for_the_command_line() {
    let bench = Bench::new();
    for (name, value) in [
        ("LD_PRELOAD", "/nonexistent/other.so"),
        ("ASAN_OPTIONS", "detect_leaks=0"),
        ("SLIPWAY_X11", "off"),
        ("SLIPWAY_X11", "maybe"),
        ("SLIPWAY_X11_SPIN", "7"),
        ("SLIPWAY_X11_MIN", "32M"),
        ("SLIPWAY_LOG", "loud"),
        ("SLIPWAY_SOCKETS", "+/run/*"),
        ("SLIPWAY_SOCKETS", "nonsense"),
    ] {
        agree(&bench, &["env"], &|command| _ = command.env(name, value));
    }
    symlink(&bench.hook, bench.path("link.so")).expect("link");
    fs::copy(&bench.hook, bench.path("a space.so")).expect("copy");
    fs::write(bench.path("text.so"), "no library").expect("write");
    for library in ["", "link.so", "./link.so", "a space.so", "text.so", "nothing.so", "/"] {
        agree(&bench, &["env"], &|command| _ = command.env("SLIPWAY_PRELOAD", library));
    }
    agree(&bench, &["env"], &|command| _ = command.env_remove("SLIPWAY_PRELOAD"));

    for dir in ["config/slipway", "home/.config/slipway"] {
        fs::create_dir_all(bench.path(dir)).expect("mkdir");
        fs::write(bench.path(dir).join("sockets.toml"), "only = [\"/a/*\"]\n").expect("write");
    }
    for (name, dir, chosen) in
        [("XDG_CONFIG_HOME", "config", "all:+/a/*"), ("HOME", "home", "all:+/a/*"), ("HOME", "none", "all")]
    {
        let surroundings = |command: &mut Command| {
            command.env_remove("XDG_CONFIG_HOME").env(name, bench.path(dir));
        };
        agree(&bench, &["env"], &surroundings);
        let seen = run(&bench, "sockets", true, &["env"], &surroundings);
        assert!(seen.1.contains(&format!("SLIPWAY_SOCKETS={chosen}")), "{seen:?}");
    }
}

#[test]
fn of_several_variables_of_one_name_the_first_counts() {
    let bench = Bench::new();
    let adds = "#include <string.h>\n#include <unistd.h>\nextern char **environ;\nint main(int count, char **words) {\n\
        int have = 0; while (environ[have]) have++;\n char *all[have + 2]; memcpy(all, environ, have * sizeof *all);\n\
        all[have] = \"PATH=other\"; all[have + 1] = NULL; return execve(words[1], words + 1, all); }";
    build_c(adds, &bench.path("adds"), &[]);
    fs::create_dir(bench.path("other")).expect("mkdir");
    build_c("int main(void) { return 3; }", &bench.path("other/true"), &[]);
    for dashes in [&["--"][..], &[]] {
        let mut command = Command::new(bench.path("adds"));
        bench.prepare(&mut command);
        command.current_dir(bench.dir.path());
        succeed(command.args([harness::SLIPWAY, "x11"]).args(dashes).arg("true"));
    }
    assert_eq!(bench.hooked(), ["true", "true"]);
}
