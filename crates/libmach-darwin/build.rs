//! Gives libmach-darwin.so its name, and has it ask for libmach.so, whose functions it calls. A library without functions stands in for that one at
//! the link, as Cargo builds both at the same time.

use std::{env, path::PathBuf};

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let directory = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    let (source, library) = (directory.join("empty.c"), directory.join("libmach.so"));
    std::fs::write(&source, "").expect("OUT_DIR can be written");
    let mut cc = cc::Build::new().cargo_metadata(false).get_compiler().to_command();
    cc.args(["-shared", "-nostdlib", "-Wl,-soname,libmach.so.1", "-o"]).arg(&library).arg(&source);
    assert!(cc.status().is_ok_and(|status| status.success()), "can't make {}: {cc:?}", library.display());
    // libmach.so is beside it.
    for argument in [
        "-Wl,-soname,libmach-darwin.so.1",
        "-Wl,-rpath,$ORIGIN",
        "-Wl,--no-as-needed",
        &library.display().to_string(),
        "-Wl,--as-needed",
    ] {
        println!("cargo:rustc-cdylib-link-arg={argument}");
    }
}
