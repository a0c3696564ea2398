//! Makes the modules, as docs/mig.md says; mig is called as a library, which a project of its own has no need to do.

use std::{path::PathBuf, process::ExitCode};

/// Each module, what it is made of and with which option.
const MODULES: [(&str, &str, Option<&str>); 6] = [
    ("sampler", "examples/mig/sampler.defs", Some("--trap")),
    ("tidy", "examples/mig/tidy.defs", Some("--trap")),
    ("traps", "crates/mig/tests/c/trap.defs", Some("--trap")),
    ("traps_by_message", "crates/mig/tests/c/trap.defs", None),
    ("targets", "crates/mig/tests/interfaces/targets.defs", None),
    ("names", "crates/mig/tests/golden/rust_names.defs", None),
];

fn main() -> ExitCode {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../..");
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets it"));
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed={}", root.join("include/mach").display());
    for (module, defs, option) in MODULES {
        let defs = root.join(defs);
        println!("cargo:rerun-if-changed={}", defs.display());
        let made = out.join(format!("{module}.rs"));
        let mut words = vec!["--lang".into(), "rust".into(), "-I".into(), root.join("include").into_os_string()];
        words.extend(option.map(Into::into));
        words.extend(["-rust".into(), made.into_os_string(), defs.into_os_string()]);
        // Its messages are on standard error, which cargo shows.
        if slipway_mig::cli::run(words) != ExitCode::SUCCESS {
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}
