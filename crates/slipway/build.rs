//! Compiles the entry (src/launch.c), and has an optimised build carry the other parts of Slipway inside: cargo installs programs, and neither shared objects nor the
//! programs of other packages.
//!
//! They are built by a cargo of their own, from the packages beside this one in the workspace or in a registry. `SLIPWAY_PARTS=beside`
//! leaves them out: `make` sets it, since it installs them as files.

use std::env;
use std::fmt::Write;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A part: its package, its file in a build directory, and its place in an installation.
const PARTS: [(&str, &str, &str); 4] = [
    ("preload", "libslipway_preload.so", "lib/slipway/libslipway_preload.so"),
    ("libmach", "libmach.so", "lib/libmach.so.1"),
    ("bootstrap", "slipway-bootstrap", "libexec/slipway/slipway-bootstrap"),
    ("domain", "slipway-domain", "libexec/slipway/slipway-domain"),
];
/// The dynamic loaders that src/launch.c knows.
const LOADERS: [&str; 2] = ["/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1"];
const VARIABLE: &str = "SLIPWAY_PARTS";
const HINT: &str = "; SLIPWAY_PARTS=beside builds without the parts, which then have to be installed with it";

fn main() -> Result<(), String> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed={VARIABLE}");
    let out = PathBuf::from(variable("OUT_DIR")?);
    let is_inside = variable("PROFILE")? == "release"
        && match env::var(VARIABLE).as_deref() {
            Ok("beside") => false,
            Ok("inside") | Err(env::VarError::NotPresent) => true,
            other => return Err(format!("{VARIABLE} is inside or beside, not {other:?}")),
        };
    entry(is_inside)?;
    let mut list = String::from("[");
    let mut stamp = DefaultHasher::new();
    if is_inside {
        let built = build(&out)?;
        for (_, file, place) in PARTS {
            let file = built.join(file);
            let bytes = fs::read(&file).map_err(|error| format!("{}: {error}", file.display()))?;
            bytes.hash(&mut stamp);
            write!(list, "({place:?}, include_bytes!({file:?})), ").map_err(|error| error.to_string())?;
        }
    }
    let stamp = format!("{}-{:016x}", variable("CARGO_PKG_VERSION")?, stamp.finish());
    let text = format!("/// Places and contents.\nconst PARTS: &[(&str, &[u8])] = &{list}];\nconst STAMP: &str = {stamp:?};\n");
    fs::write(out.join("parts.rs"), text).map_err(|error| format!("{}: {error}", out.display()))
}

/// Puts the entry in front of the C library's. The program names no dynamic loader then: the entry loads it when it is needed.
fn entry(carries_parts: bool) -> Result<(), String> {
    println!("cargo::rerun-if-changed=src/launch.c");
    let target = |what: &str| env::var(format!("CARGO_CFG_TARGET_{what}")).unwrap_or_default();
    let is_known = ["x86_64", "aarch64"].contains(&target("ARCH").as_str())
        && (target("OS"), target("ENV")) == ("linux".into(), "gnu".into());
    // Systems that keep their loader elsewhere (NixOS, Guix) name it in each program.
    let is_elsewhere = env::var("HOST") == env::var("TARGET") && !LOADERS.iter().any(|loader| Path::new(loader).exists());
    if !is_known || is_elsewhere || target("FEATURE").split(',').any(|feature| feature == "crt-static") {
        return Ok(());
    }
    let mut build = cc::Build::new();
    // There is no C library yet that could have functions or a thread's canary.
    for flag in ["-std=gnu11", "-ffreestanding", "-fno-builtin", "-fno-stack-protector", "-fPIE", "-fvisibility=hidden"] {
        build.flag(flag);
    }
    build.flag_if_supported("-fno-tree-loop-distribute-patterns").opt_level(2);
    if carries_parts {
        build.define("SLIPWAY_CARRIES_PARTS", None);
    }
    build.file("src/launch.c").warnings(true).extra_warnings(true).link_lib_modifier("+whole-archive");
    build.try_compile("slipway_launch").map_err(|error| error.to_string())?;
    for argument in ["--no-dynamic-linker", "-e,slipway_entry"] {
        println!("cargo::rustc-link-arg-bin=slipway=-Wl,{argument}");
    }
    Ok(())
}

fn variable(name: &str) -> Result<String, String> {
    env::var(name).map_err(|error| format!("{name}: {error}"))
}

/// Builds the parts: the directory in which they are.
fn build(out: &Path) -> Result<PathBuf, String> {
    let home = PathBuf::from(variable("CARGO_MANIFEST_DIR")?);
    let crates = home.parent().ok_or("the package is in the root directory")?;
    if crates.join("../Cargo.toml").is_file() && crates.join("preload/Cargo.toml").is_file() {
        println!("cargo::rerun-if-changed={}", crates.join("../Cargo.lock").display());
        for package in fs::read_dir(crates).map_err(|error| error.to_string())?.flatten() {
            if package.path() != home {
                println!("cargo::rerun-if-changed={}", package.path().display());
            }
        }
        let packages = PARTS.iter().flat_map(|(package, ..)| ["-p".to_owned(), format!("slipway-{package}")]);
        compile(out, &crates.join("../Cargo.toml"), &packages.collect::<Vec<_>>())?;
    } else {
        fetch(out)?;
        for (package, ..) in PARTS {
            let names = [format!("slipway-{package}-{}", variable("CARGO_PKG_VERSION")?), format!("slipway-{package}")];
            let mut manifests = names.iter().map(|name| crates.join(name).join("Cargo.toml"));
            let manifest = manifests.find(|path| path.is_file());
            compile(out, &manifest.ok_or_else(|| format!("slipway-{package} is not in {}{HINT}", crates.display()))?, &[])?;
        }
    }
    Ok(out.join("parts").join(variable("TARGET")?).join("release"))
}

fn compile(out: &Path, manifest: &Path, packages: &[String]) -> Result<(), String> {
    let mut cargo = cargo("build")?;
    cargo.args(["--release", "--locked", "--target", &variable("TARGET")?]).args(packages);
    cargo.arg("--target-dir").arg(out.join("parts")).arg("--manifest-path").arg(manifest);
    // As the workspace's profile, which its packages don't have in a registry; and they are carried without what debuggers read.
    for (name, value) in [("LTO", "thin"), ("CODEGEN_UNITS", "1"), ("DEBUG", "false"), ("STRIP", "debuginfo")] {
        let name = format!("CARGO_PROFILE_RELEASE_{name}");
        if env::var_os(&name).is_none() {
            cargo.env(name, value);
        }
    }
    run(cargo)
}

/// Has cargo put the packages into the registry's directory, beside this one: nothing that is built here depends on them.
fn fetch(out: &Path) -> Result<(), String> {
    let asker = out.join("asker");
    let version = variable("CARGO_PKG_VERSION")?;
    let mut manifest =
        "[workspace]\n[package]\nname = \"asker\"\nedition = \"2024\"\n[lib]\npath = \"lib.rs\"\n[dependencies]\n".to_owned();
    for (package, ..) in PARTS {
        manifest.push_str(&format!("slipway-{package} = \"={version}\"\n"));
    }
    let written = fs::create_dir_all(&asker).and_then(|()| fs::write(asker.join("lib.rs"), ""));
    let written = written.and_then(|()| fs::write(asker.join("Cargo.toml"), manifest));
    written.map_err(|error| format!("{}: {error}", asker.display()))?;
    let mut cargo = cargo("fetch")?;
    cargo.arg("--manifest-path").arg(asker.join("Cargo.toml"));
    run(cargo)
}

fn cargo(command: &str) -> Result<Command, String> {
    let mut cargo = Command::new(variable("CARGO")?);
    cargo.arg(command).arg("--quiet").env_remove("RUSTC_WORKSPACE_WRAPPER");
    Ok(cargo)
}

fn run(mut cargo: Command) -> Result<(), String> {
    let status = cargo.status().map_err(|error| format!("{cargo:?}: {error}"))?;
    status.success().then_some(()).ok_or_else(|| format!("{cargo:?}: {status}{HINT}"))
}
