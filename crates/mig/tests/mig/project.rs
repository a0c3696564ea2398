//! A project outside of this repository, as docs/mig.md says to build it: its own text is what is run here.

use std::path::{Path, PathBuf};
use std::process::Command;

use slipway_test_support::built;

use crate::support::{output, root, run};

/// The blocks of code in the first sections of docs/mig.md, in their order.
fn blocks() -> Vec<String> {
    let text = std::fs::read_to_string(root().join("docs/mig.md")).unwrap();
    let text = text.split("## The language").next().unwrap();
    let mut blocks = vec![String::new()];
    for line in text.lines() {
        let last = blocks.last_mut().unwrap();
        match line.strip_prefix("    ") {
            Some(code) => *last += &format!("{code}\n"),
            None if line.is_empty() => *last += "\n",
            None if last.trim().is_empty() => last.clear(),
            None => blocks.push(String::new()),
        }
    }
    blocks.retain(|block| !block.trim().is_empty());
    blocks
}

/// What `make install` lays out, as far as a project needs it.
fn prefix(dir: &Path) -> PathBuf {
    let library = built("libmach.so");
    let prefix = dir.join("prefix");
    let place = |name: &str| {
        let path = prefix.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        path
    };
    // The program finds its definitions by where it is, so no link will do.
    std::fs::copy(env!("CARGO_BIN_EXE_mig"), place("bin/mig")).unwrap();
    for name in ["lib/libmach.so", "lib/libmach.so.1"] {
        std::os::unix::fs::symlink(&library, place(name)).unwrap();
    }
    std::os::unix::fs::symlink(root().join("include").canonicalize().unwrap(), place("include")).unwrap();
    let filled = |from: &str, to: &str| {
        let text = std::fs::read_to_string(root().join(from)).unwrap();
        let text = text.replace("@PREFIX@", prefix.to_str().unwrap()).replace("@VERSION@", env!("CARGO_PKG_VERSION"));
        std::fs::write(place(to), text).unwrap();
    };
    filled("scripts/mach.pc.in", "lib/pkgconfig/mach.pc");
    filled("scripts/cmake/mach-config.cmake", "lib/cmake/mach/mach-config.cmake");
    filled("scripts/cmake/mach-config-version.cmake.in", "lib/cmake/mach/mach-config-version.cmake");
    prefix
}

/// The project: the interface and its types are those of the page, the programs are put in one that has both sides.
fn project(dir: &Path, blocks: &[String]) -> PathBuf {
    let project = dir.join("project");
    std::fs::create_dir(&project).unwrap();
    let write = |name: &str, text: &str| std::fs::write(project.join(name), text).unwrap();
    write("kv.defs", &blocks[0]);
    write("kv_types.h", &blocks[1]);
    write("kv-server.c", SERVER);
    write("kv-client.c", CLIENT);
    project
}

const SERVER: &str = r#"
#include <mach/mach.h>
#include <stdio.h>
#include <string.h>
#include "kvServer.h"
static char kept[4096];
static mach_msg_type_number_t length;
kern_return_t kv_put(mach_port_t server, kv_name_t name, kv_value_t value, mach_msg_type_number_t count) {
    (void) server; (void) name;
    memcpy(kept, value, length = count);
    return KERN_SUCCESS;
}
kern_return_t kv_get(mach_port_t server, kv_name_t name, kv_value_t value, mach_msg_type_number_t *count) {
    (void) server; (void) name;
    if (*count < length) return KERN_NO_SPACE;
    memcpy(value, kept, *count = length);
    return KERN_SUCCESS;
}
int main(void) { printf("%d\n", kv_server_routines[1] != 0 && mach_task_self() != 0); return 0; }
"#;

const CLIENT: &str = r#"
#include <mach/mach.h>
#include <stdio.h>
#include "kv.h"
int main(void) {
    kv_value_t value;
    mach_msg_type_number_t count = sizeof value;
    printf("%d\n", kv_get(MACH_PORT_DEAD, "name", value, &count) == MACH_SEND_INVALID_DEST);
    return 0;
}
"#;

/// Runs both programs that a build has put there.
fn try_out(dir: &Path, prefix: &Path) {
    for program in ["kv-server", "kv-client"] {
        let mut command = Command::new(dir.join(program));
        assert_eq!(run(command.env("LD_LIBRARY_PATH", prefix.join("lib"))), "1\n", "{program}");
    }
}

/// Adds a routine to the interface; the stubs must be made again, which the programs then show.
fn extend(project: &Path) {
    let defs = project.join("kv.defs");
    let text = std::fs::read_to_string(&defs).unwrap() + "routine kv_count(server : mach_port_t; out count : int);\n";
    // Make tells ages by times, and the next one may be the same.
    let later = std::time::SystemTime::now() + std::time::Duration::from_secs(5);
    std::fs::write(&defs, text).unwrap();
    std::fs::File::options().write(true).open(&defs).unwrap().set_modified(later).unwrap();
}

#[test]
fn make_builds_it() {
    let dir = tempfile::tempdir().unwrap();
    let prefix = prefix(dir.path());
    let blocks = blocks();
    assert_eq!(blocks.len(), 4, "{blocks:?}");
    let project = project(dir.path(), &blocks);
    std::fs::write(project.join("Makefile"), &blocks[2]).unwrap();
    let make = || {
        let mut command = Command::new("make");
        command.arg("CFLAGS=-O1 -Wall -Wextra -Werror").current_dir(&project).env_remove("MAKEFLAGS").env_remove("MAKELEVEL");
        command.env("PKG_CONFIG_PATH", prefix.join("lib/pkgconfig"));
        command
    };
    run(&mut make());
    try_out(&project, &prefix);
    assert!(run(&mut make()).contains("Nothing to be done"));
    extend(&project);
    let again = output(&mut make());
    assert!(String::from_utf8_lossy(&again.stderr).contains("kv_count"), "the server has no such routine: {again:?}");
}

#[test]
fn cmake_builds_it() {
    let dir = tempfile::tempdir().unwrap();
    let prefix = prefix(dir.path());
    let blocks = blocks();
    let project = project(dir.path(), &blocks);
    std::fs::write(project.join("CMakeLists.txt"), &blocks[3]).unwrap();
    let build = dir.path().join("build");
    let at = format!("-DCMAKE_PREFIX_PATH={}", prefix.display());
    run(Command::new("cmake").arg("-S").arg(&project).arg("-B").arg(&build).args([&at, "-DCMAKE_C_FLAGS=-Wall -Wextra -Werror"]));
    let make = || {
        let mut command = Command::new("cmake");
        command.arg("--build").arg(&build).env_remove("MAKEFLAGS").env_remove("MAKELEVEL");
        command
    };
    run(&mut make());
    try_out(&build, &prefix);
    assert!(!run(&mut make()).contains("Stubs of"), "nothing has changed");
    extend(&project);
    let again = output(&mut make());
    let said = format!("{}{}", String::from_utf8_lossy(&again.stdout), String::from_utf8_lossy(&again.stderr));
    assert!(said.contains("Stubs of kv.defs") && said.contains("kv_count"), "the server has no such routine: {said}");
}
