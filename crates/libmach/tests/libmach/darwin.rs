//! Darwin's dialect: C programs with the headers of include/darwin and libmach-darwin.so, by themselves and with those of the typed dialect.

use crate::support::{self, HEADERS_OF_DARWIN};
use slipway_test_support::{NameServer, built, repository, symlink};
use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, ExitCode},
    sync::OnceLock,
};

/// What a program of the dialect is linked with, as `pkg-config mach-darwin` says it.
fn flags() -> &'static [String] {
    static MADE: OnceLock<Vec<String>> = OnceLock::new();
    MADE.get_or_init(|| {
        let directory = support::program("lib-darwin");
        fs::create_dir_all(&directory).expect("make a directory");
        for (name, link) in [("libmach.so", "libmach.so.1"), ("libmach_darwin.so", "libmach-darwin.so.1")] {
            symlink(&built(name), &directory.join(link));
        }
        fs::copy(repository("scripts/libmach-darwin.so.in"), directory.join("libmach-darwin.so")).expect("copy a linker script");
        let path = directory.display();
        vec![format!("-L{path}"), "-lmach-darwin".to_owned(), format!("-Wl,-rpath,{path}")]
    })
}

fn compile(name: &str, sources: &[&str]) -> PathBuf {
    let own: Vec<&str> = flags().iter().map(String::as_str).collect();
    support::link_with(HEADERS_OF_DARWIN, name, sources, &own)
}

#[test]
fn layouts_and_values() {
    support::run(&mut Command::new(compile("darwin-layouts", &["darwin/layouts.c"])));
}

#[test]
fn messages() {
    support::run(&mut Command::new(compile("darwin-messages", &["darwin/messages.c", "check.c"])));
}

/// What `mig --dialect darwin` makes of an interface with every kind of argument: a client and a server of it.
#[test]
fn stubs() {
    let directory = support::program("stubs-darwin");
    fs::create_dir_all(&directory).expect("make a directory");
    let file = |name: &str| directory.join(name).display().to_string();
    let outputs = [("-user", "all_user.c"), ("-server", "all_server.c"), ("-header", "all.h"), ("-sheader", "all_server.h")];
    let outputs = outputs.iter().flat_map(|(option, name)| [(*option).to_owned(), file(name)]);
    let words = ["--dialect", "darwin", "-I"].map(str::to_owned).into_iter().chain([repository("include").display().to_string()]);
    let words = words.chain(outputs).chain([support::source("darwin/all.defs").display().to_string()]);
    assert!(slipway_mig::cli::run(words.map(Into::into)) == ExitCode::SUCCESS, "mig refuses all.defs");
    let own = support::source("darwin").display().to_string();
    let mut arguments = vec!["-I".to_owned(), directory.display().to_string(), "-I".to_owned(), own];
    arguments.extend([file("all_user.c"), file("all_server.c"), "-lpthread".to_owned()]);
    arguments.extend_from_slice(flags());
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let program = support::link_with(HEADERS_OF_DARWIN, "darwin-stubs", &["darwin/all_main.c", "check.c"], &arguments);
    support::run(&mut Command::new(program));
}

/// The exceptions of the typed dialect's test, in Darwin's form.
#[test]
fn exceptions() {
    let directory = support::program("exceptions-darwin");
    fs::create_dir_all(&directory).expect("make a directory");
    let file = |name: &str| directory.join(name).display().to_string();
    let include = repository("include").display().to_string();
    let servers = ["exc", "mach_exc"].map(|name| {
        let defs = repository(&format!("include/darwin/mach/{name}.defs")).display().to_string();
        let (server, header) = (file(&format!("{name}Server.c")), file(&format!("{name}Server.h")));
        let words = ["-n", "--dialect", "darwin", "-I", &include, "-server", &server, "-sheader", &header, &defs];
        assert!(slipway_mig::cli::run(words.map(Into::into)) == ExitCode::SUCCESS, "mig refuses {name}.defs");
        server
    });
    let directory = directory.display().to_string();
    let mut arguments = vec!["-I", &directory, &servers[0], &servers[1], "-lpthread"];
    arguments.extend(flags().iter().map(String::as_str));
    let program = support::link_with(HEADERS_OF_DARWIN, "darwin-exceptions", &["exceptions.c", "check.c"], &arguments);
    support::run(&mut Command::new(program));
}

/// The loop of the guide gets all of its answers.
#[test]
fn event_loop() {
    let path = repository("examples/darwin/loop.c").display().to_string();
    let mut arguments = vec![path.as_str(), "-lpthread"];
    arguments.extend(flags().iter().map(String::as_str));
    let program = support::link_with(HEADERS_OF_DARWIN, "darwin-loop", &[], &arguments);
    let output = slipway_test_support::output(Command::new("timeout").arg("600").arg(program));
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.lines().count() == 5 && text.ends_with("answer: 25\n"), "{output:?}");
}

/// Messages that both dialects can say cross in both directions.
#[test]
fn between_the_dialects() {
    let darwin = compile("darwin-crossing", &["darwin/crossing_darwin.c", "check.c"]);
    let typed = support::compile("typed-crossing", &["darwin/crossing_typed.c", "check.c"], &[]);
    let directory = tempfile::tempdir().expect("make a directory");
    let socket = directory.path().join("bootstrap");
    let _server = NameServer::start(&socket);
    support::run(Command::new(darwin).arg(typed).env("SLIPWAY_BOOTSTRAP", &socket));
}

/// Each header by itself and all together, before those that both dialects have, in C and C++.
#[test]
fn headers() {
    let include = repository("include/darwin");
    let found = support::headers_in(&include);
    assert!(found.len() >= 9, "only {} headers in {}", found.len(), include.display());
    let mut together = String::new();
    for header in found {
        let name = header.strip_prefix(&include).expect("a path in include").display().to_string();
        let text = format!("#include <{name}>\n");
        syntax(&text, "c99", "c");
        together += &text;
    }
    together += "#include <mach/exception.h>\n#include <servers/bootstrap.h>\n#include <mach/slipway.h>\n";
    for (standard, language) in [("c99", "c"), ("c11", "c"), ("c++11", "c++"), ("c++20", "c++")] {
        syntax(&together, standard, language);
    }
}

fn syntax(text: &str, standard: &str, language: &str) {
    let directory = tempfile::tempdir().expect("make a directory");
    let source = directory.path().join("headers.c");
    fs::write(&source, format!("{text}extern int nothing_else;\n")).expect("write a source");
    for compiler in ["gcc", "clang"] {
        let mut command = Command::new(compiler);
        command.args(["-x", language, &format!("-std={standard}")]);
        command.args(["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Werror", "-fsyntax-only"]);
        command.args(HEADERS_OF_DARWIN.iter().flat_map(|path| ["-I".into(), repository(path)])).arg(&source);
        support::run(&mut command);
    }
}

/// What the headers declare is there with these two libraries.
#[test]
fn everything_declared_is_there() {
    let names = ["mach/mach.h", "servers/bootstrap.h"].map(|name| format!("#include <{name}>\n")).concat();
    let mut declared = Vec::new();
    for header in support::headers_in(&repository("include/darwin")) {
        declared.extend(crate::linking::declared(&fs::read_to_string(header).expect("a header can be read")));
    }
    declared.sort();
    declared.dedup();
    assert!(declared.len() > 15, "{declared:?}");
    let rows: String = declared.iter().map(|name| format!("    (const char *) &{name},\n")).collect();
    let source = support::program("all-darwin.c");
    fs::write(&source, format!("{names}const char *const all[] = {{\n{rows}}};\nint main(void) {{ return all[0] == 0; }}\n"))
        .expect("write a source");
    let own: Vec<&str> = flags().iter().map(String::as_str).collect();
    let path = Path::new(&source).display().to_string();
    // A function is no object in ISO C.
    let mut arguments = vec!["-Wno-pedantic", "-x", "c", &path, "-x", "none"];
    arguments.extend(own);
    support::run(&mut Command::new(support::link_with(HEADERS_OF_DARWIN, "all-darwin", &[], &arguments)));
}
