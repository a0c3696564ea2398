//! The interfaces of GNU Mach, as Debian's gnumach-dev package has them: all are read, and every complete
//! subsystem generates and compiles.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use crate::support::{c_files, compile_strictly, mig, output, run};

/// Where the package's files are: named by a variable, or where Debian installs them.
pub fn directory() -> PathBuf {
    let named = std::env::var_os("GNUMACH_INCLUDE").map(PathBuf::from);
    let usual = ["/usr/include/x86_64-gnu", "/usr/include/x86_64-linux-gnu", "/usr/include"].map(PathBuf::from);
    let found = named.into_iter().chain(usual).find(|dir| dir.join("mach/gnumach.defs").is_file());
    found.expect("the files of GNU Mach: scripts/setup.sh installs gnumach-dev, or GNUMACH_INCLUDE names where they are")
}

/// Adds the .defs files below a directory.
pub fn collect(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            collect(&path, found);
        } else if path.extension() == Some(OsStr::new("defs")) {
            found.push(path);
        }
    }
}

#[test]
#[ignore = "long: the 18 subsystems of GNU Mach by two compilers"]
fn the_files_of_gnumach_are_read() {
    let dir = directory();
    let mut files = Vec::new();
    for part in ["mach", "device", "mach_debug"] {
        collect(&dir.join(part), &mut files);
    }
    files.sort();
    assert!(files.len() >= 25, "{} has only {} files", dir.display(), files.len());
    let mut subsystems = 0;
    for file in &files {
        subsystems += usize::from(one(&dir, file));
    }
    assert!(subsystems >= 18, "only {subsystems} subsystems were generated");
}

/// Reads one file; whether it is a subsystem.
fn one(dir: &Path, file: &Path) -> bool {
    let work = tempfile::tempdir().unwrap();
    let text = std::fs::read_to_string(file).unwrap();
    if !text.contains("\nsubsystem") {
        // Types only. Some count on another file before them.
        let wrapper = format!("#include <mach/mach_types.defs>\n#include \"{}\"\n", file.display());
        std::fs::write(work.path().join("types.defs"), wrapper).unwrap();
        let mut command = mig_of(dir);
        run(command.args(["-check", "types.defs"]).current_dir(work.path()));
        return false;
    }
    // Prefixes keep the kernel's routines apart from libmach's, which differ here and there.
    let mut command = mig_of(dir);
    command.args(["-DSERVERPREFIX=s_", "-DUSERPREFIX=u_", "-sheader", "s.h", "-defaults", "d.c"]).arg(file);
    let result = output(command.current_dir(work.path()));
    assert!(result.status.success(), "{}:\n{}", file.display(), String::from_utf8_lossy(&result.stderr));
    let extra: Vec<&OsStr> = ["-idirafter"].into_iter().map(OsStr::new).chain([dir.as_os_str()]).collect();
    compile_strictly(work.path(), &c_files(work.path()), &extra);
    true
}

/// The compiler with the package's definitions and not libmach's.
fn mig_of(dir: &Path) -> std::process::Command {
    let mut command = std::process::Command::new(mig().get_program());
    command.arg("-I").arg(dir);
    command
}
