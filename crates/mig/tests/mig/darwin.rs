//! Stubs of Darwin's dialect: they compile as strictly as the typed ones, and what its messages can't carry is said.
//!
//! That they work is shown by libmach's tests, where client and server talk.

use std::path::Path;

use crate::support::{c_files, compile_strictly_with, golden, include, mig, output, run};

fn strictly(dir: &Path) {
    compile_strictly_with(&[include().join("darwin"), include()], dir, &c_files(dir), &[]);
}

/// Every kind of argument; and one file for each routine, with prefixes, on the heap, and with the tables that can be had.
#[test]
fn stubs_compile_strictly() {
    let source = include().join("../crates/libmach/tests/c/darwin");
    let outputs = "-sheader s.h -iheader i.h -dheader d.h -defaults defaults.c -i one_ -user all.c -prefix p_ -subrprefix __ -s -maxonstack 16";
    for options in ["-sheader s.h", outputs] {
        let dir = tempfile::tempdir().unwrap();
        for name in ["all.defs", "all_types.h"] {
            std::fs::copy(source.join(name), dir.path().join(name)).unwrap();
        }
        run(mig().args(["--dialect", "darwin"]).args(options.split(' ')).arg("all.defs").current_dir(dir.path()));
        if options == outputs {
            // libmach-darwin has no second names for its routines.
            let defines = ["mach_msg", "mach_msg_destroy", "mig_get_reply_port", "mig_put_reply_port", "mig_dealloc_reply_port"];
            let more = ["mig_strncpy", "mig_strncpy_zerofill", "mig_deallocate"];
            let text: String = defines.iter().chain(&more).map(|name| format!("#define __{name} {name}\n")).collect();
            let types = dir.path().join("all_types.h");
            std::fs::write(&types, std::fs::read_to_string(&types).unwrap() + &text).unwrap();
        }
        strictly(dir.path());
    }
}

#[test]
fn what_its_messages_cannot_carry_is_refused() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/diagnostics/darwin.txt");
    let dir = tempfile::tempdir().unwrap();
    std::fs::copy(file.with_extension("defs.in"), dir.path().join("darwin.defs")).unwrap();
    // It is correct in the typed dialect.
    run(mig()
        .args(["-user", "/dev/null", "-server", "/dev/null", "-header", "/dev/null", "darwin.defs"])
        .current_dir(dir.path()));
    let output = output(mig().args(["--dialect", "darwin", "darwin.defs"]).current_dir(dir.path()));
    assert_eq!(output.status.code(), Some(1));
    golden(&file, &String::from_utf8_lossy(&output.stderr));
}

#[test]
fn it_goes_with_c_and_messages_only() {
    for options in [["--dialect", "darwin", "--trap"].as_slice(), &["--dialect=darwin", "--lang=rust"], &["--dialect", "hurd"]] {
        let output = output(mig().args(options).arg("x.defs"));
        assert_eq!(output.status.code(), Some(2), "{options:?}");
    }
}
