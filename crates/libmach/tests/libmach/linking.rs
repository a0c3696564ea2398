//! What the headers declare is in the libraries, shared and static, for C and C++.

use crate::support;
use slipway_test_support::repository;
use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// The functions that a header declares: what stands before the first parenthesis of an `extern` declaration.
pub fn declared(header: &str) -> Vec<String> {
    let text = header.split("/*").map(|part| part.split_once("*/").map_or(part, |(_, code)| code)).collect::<String>();
    let declarations = text.split("extern ").skip(1).filter(|rest| !rest.starts_with("\"C\""));
    let fronts = declarations.filter_map(|rest| rest.split_once(['(', ';', '{'])).map(|(front, _)| front.trim().to_owned());
    fronts.filter_map(|front| front.split([' ', '*']).next_back().map(str::to_owned)).collect()
}

/// A program that refers to everything that the headers declare, and makes one call.
fn source(extension: &str) -> PathBuf {
    let include = repository("include");
    let found = support::headers();
    let mut names = Vec::new();
    let mut text = String::new();
    for path in &found {
        names.extend(declared(&fs::read_to_string(path).expect("a header can be read")));
        text += &format!("#include <{}>\n", path.strip_prefix(&include).expect("a path in include").display());
    }
    names.sort();
    names.dedup();
    assert!(names.len() > 70, "only {} declarations in {}: {names:?}", names.len(), include.display());
    let rows: String = names.iter().map(|name| format!("    (const char *) &{name},\n")).collect();
    text += &format!("const char *const all[] = {{\n{rows}}};\n");
    text += "int main(void) {\n    for (unsigned i = 0; i < sizeof all / sizeof *all; i++) if (!all[i]) return 1;\n";
    text += "    return mach_task_self() == MACH_PORT_NULL;\n}\n";
    let path = support::program(&format!("all.{extension}"));
    fs::write(&path, text).expect("write a source");
    path
}

fn build(compiler: &str, source: &Path, name: &str, arguments: &[String]) -> PathBuf {
    let output = support::program(name);
    let mut command = Command::new(compiler);
    command.args(["-Wall", "-Wextra", "-Werror", "-I"]).arg(repository("include")).arg("-o").arg(&output).arg(source);
    support::run(command.args(arguments));
    output
}

#[test]
fn everything_declared_is_in_the_shared_library() {
    let library = support::library();
    let rpath = format!("-Wl,--disable-new-dtags,-rpath,{}", library.display());
    let arguments = [format!("-L{}", library.display()), "-lmach".to_owned(), rpath];
    for (compiler, source, name) in [("cc", source("c"), "all-c"), ("c++", source("cpp"), "all-cpp")] {
        support::run(&mut Command::new(build(compiler, &source, name, &arguments)));
        // A variable of the library's is copied into a program that is not position-independent.
        let fixed = [&arguments[..], &["-no-pie".to_owned()]].concat();
        support::run(&mut Command::new(build(compiler, &source, &format!("{name}-fixed"), &fixed)));
    }
}

#[test]
fn everything_declared_is_in_the_static_library() {
    let archive = support::library().join("libmach.a");
    let arguments = [archive.display().to_string(), "-lpthread".into(), "-ldl".into(), "-lm".into(), "-lgcc_s".into()];
    support::run(&mut Command::new(build("cc", &source("static.c"), "all-static", &arguments)));
}
