//! The stubs of all benches but that of X11.

use std::env::{set_current_dir, var_os};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

pub fn make() -> Result<(), String> {
    let home = PathBuf::from(var_os("CARGO_MANIFEST_DIR").ok_or("no CARGO_MANIFEST_DIR")?);
    let out = PathBuf::from(var_os("OUT_DIR").ok_or("no OUT_DIR")?);
    let (stubs, include) = (home.join("stubs"), home.join("../include"));
    for read in [&stubs, &include] {
        println!("cargo:rerun-if-changed={}", read.display());
    }
    set_current_dir(&out).map_err(|error| format!("{}: {error}", out.display()))?;
    mig(&stubs, &include, "rpc", "-n -prefix call_ -user rpcUser.c -header rpc.h")?;
    mig(&stubs, &include, "rpc", "-n -server rpcServer.c -sheader rpcServer.h")?;
    mig(&stubs, &include, "rpc", "-n -prefix loop_ -user loopUser.c -header rpcLoop.h")?;
    mig(&stubs, &include, "colocate", "-n --trap -server colocateServer.c -sheader colocateServer.h")?;
    mig(&stubs, &include, "colocate", "-n -prefix send_ -user colocateUser.c -header colocate.h")?;
    mig(&stubs, &include, "colocate", "-n -prefix trap_ --trap -user trapUser.c -header colocateTrap.h")?;
    mig(&stubs, &include, "colocate", "--trap --lang rust")?;

    let compiler = || {
        let mut compiler = cc::Build::new();
        // What is measured is optimised in every profile, and compiled as programs are.
        compiler
            .std("gnu99")
            .opt_level(2)
            .force_frame_pointer(false)
            .pic(false)
            .flag("-fPIE")
            .warnings(true)
            .extra_warnings(true)
            .include(&include)
            .include(&stubs);
        compiler.include(&out);
        compiler
    };
    let here = |names: &[&str]| names.iter().map(|name| stubs.join(name)).collect::<Vec<_>>();
    let mut loops = compiler();
    loops.define("LOOP", None).define("mach_msg", "loop_msg").file("loopUser.c").files(here(&["client.c", "loop.c"]));
    loops.try_compile("rpc_loop").map_err(|error| error.to_string())?;
    let mut calls = compiler();
    calls.files(["rpcUser.c", "rpcServer.c"]).files(here(&["client.c", "server.c", "bare.c"]));
    calls.try_compile("rpc_calls").map_err(|error| error.to_string())?;
    let mut traps = compiler();
    traps.files(["colocateUser.c", "trapUser.c", "colocateServer.c"]);
    traps.files(here(&["colocate_client.c", "colocate_server.c"]));
    traps.try_compile("colocate_calls").map_err(|error| error.to_string())
}

fn mig(stubs: &Path, include: &Path, subsystem: &str, options: &str) -> Result<(), String> {
    let mut words: Vec<OsString> = vec!["-I".into(), include.into()];
    words.extend(options.split(' ').map(OsString::from));
    words.push(stubs.join(format!("{subsystem}.defs")).into());
    match slipway_mig::cli::run(words) {
        ExitCode::SUCCESS => Ok(()),
        code => Err(format!("mig failed ({code:?}), as said above")),
    }
}
