//! Makes the stubs of the compiler's `trap.defs` in both languages, and compiles the client and the server in C.

use std::env::{set_current_dir, var_os};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

fn main() -> Result<(), String> {
    let home = PathBuf::from(var_os("CARGO_MANIFEST_DIR").ok_or("no CARGO_MANIFEST_DIR")?);
    let out = PathBuf::from(var_os("OUT_DIR").ok_or("no OUT_DIR")?);
    let (tests, include) = (home.join("../mig/tests/c"), home.join("../../include"));
    for read in [&tests, &include, &home.join("c")] {
        println!("cargo:rerun-if-changed={}", read.display());
    }
    set_current_dir(&out).map_err(|error| format!("{}: {error}", out.display()))?;
    let defs = tests.join("trap.defs");
    mig(&defs, &include, "--trap -sheader trapsServer.h")?;
    mig(&defs, &include, "--lang rust --trap -rust traps.rs")?;
    mig(&defs, &include, "--lang rust -rust old_traps.rs")?;
    // The calls that are counted elsewhere in C.
    let colocate = home.join("../../bench/stubs/colocate.defs");
    println!("cargo:rerun-if-changed={}", colocate.display());
    mig(&colocate, &include, "--lang rust --trap -rust colocate.rs")?;
    let mut compiler = cc::Build::new();
    compiler.std("gnu99").opt_level(2).debug(true).warnings(true).includes([&include, &tests, &out]);
    let mut stubs = compiler.clone();
    stubs.flag("-include").flag("mach/trap.h").define("mach_trap", "party_trap").file("trapsUser.c");
    compiler.file("trapsServer.c");
    compiler.files(["trap_client.c", "trap_server.c"].map(|name| tests.join(name))).file(home.join("c/glue.c"));
    compiler.try_compile("parties").map_err(|error| error.to_string())?;
    stubs.try_compile("parties_stubs").map_err(|error| error.to_string())
}

fn mig(defs: &Path, include: &Path, options: &str) -> Result<(), String> {
    let mut words: Vec<OsString> = vec!["-I".into(), include.into()];
    words.extend(options.split(' ').map(OsString::from));
    words.push(defs.into());
    match slipway_mig::cli::run(words) {
        ExitCode::SUCCESS => Ok(()),
        code => Err(format!("mig failed ({code:?}), as said above")),
    }
}
