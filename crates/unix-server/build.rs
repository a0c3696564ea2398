//! Makes the stubs of `<servers/unix.defs>` and `<servers/unix_signal.defs>` with mig.

use std::{ffi::OsString, path::PathBuf, process::ExitCode};

fn main() -> Result<(), String> {
    let path = |variable: &str| std::env::var_os(variable).map(PathBuf::from).ok_or(format!("no {variable}"));
    let (include, out) = (path("CARGO_MANIFEST_DIR")?.join("../../include"), path("OUT_DIR")?);
    for name in ["unix", "unix_signal"] {
        let defs = include.join(format!("servers/{name}.defs"));
        println!("cargo::rerun-if-changed={}", defs.display());
        let mut words: Vec<OsString> = vec!["-I".into(), include.clone().into()];
        words.extend(["--trap", "--lang", "rust", "-rust"].map(OsString::from));
        words.extend([out.join(format!("{name}.rs")).into(), defs.into()]);
        match slipway_mig::cli::run(words) {
            ExitCode::SUCCESS => {}
            code => return Err(format!("mig failed ({code:?}), as said above")),
        }
    }
    Ok(())
}
