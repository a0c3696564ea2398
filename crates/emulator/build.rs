//! Compiles the emulation library into a flat piece of text for its fixed place. Processors for which there is none get an empty one.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

#[allow(dead_code, reason = "the library's own half uses the others")]
#[path = "src/layout.rs"]
mod layout;

fn main() -> Result<(), String> {
    for file in ["build.rs", "src/layout.rs", "src/emulator.c", "src/kernel.h", "src/index.h", "src/path.h", "src/emulator.ld"] {
        println!("cargo::rerun-if-changed={file}");
    }
    let out = PathBuf::from(env::var("OUT_DIR").map_err(|error| error.to_string())?).join("emulator.bin");
    if env::var("CARGO_CFG_TARGET_ARCH").as_deref() == Ok("x86_64") { build(&out) } else { write(&out) }
}

fn write(out: &Path) -> Result<(), String> {
    fs::write(out, []).map_err(|error| format!("{}: {error}", out.display()))
}

fn build(out: &Path) -> Result<(), String> {
    let mut build = cc::Build::new();
    for flag in [
        "-std=gnu11",
        "-ffreestanding",
        "-fno-builtin",
        "-fno-stack-protector",
        "-fPIE",
        "-fvisibility=hidden",
        "-mgeneral-regs-only",
    ] {
        build.flag(flag);
    }
    for flag in ["-fno-tree-loop-distribute-patterns", "-fcf-protection=none", "-fno-asynchronous-unwind-tables"] {
        build.flag_if_supported(flag);
    }
    build.file("src/emulator.c").opt_level(2).debug(false).warnings(true).extra_warnings(true);
    for (name, value) in layout::ALL {
        build.define(name, Some(format!("{value:#x}UL").as_str()));
    }
    let objects = build.try_compile_intermediates().map_err(|error| error.to_string())?;
    let mut link = build.try_get_compiler().map_err(|error| error.to_string())?.to_command();
    link.args(["-nostdlib", "-static", "-no-pie", "-Wl,--build-id=none", "-Wl,--oformat=binary", "-Wl,-e,0"]);
    for (name, value) in layout::ALL {
        link.arg(format!("-Wl,--defsym={name}={value:#x}"));
    }
    link.arg("-o").arg(out).args(objects).arg("-Wl,-T,src/emulator.ld");
    let status = link.status().map_err(|error| format!("{link:?}: {error}"))?;
    status.success().then_some(()).ok_or_else(|| format!("{link:?}: {status}"))
}
