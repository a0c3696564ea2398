//! Generated code: it compiles without a warning, runs, and stands hostile messages.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use slipway_test_support::built;

use crate::support::{COMPILERS, c_files, compile_strictly, include, mig, output, root, run};

fn generate(dir: &Path) {
    let defs = root().join("examples/mig/sampler.defs");
    run(mig().arg(defs).args(["-sheader", "samplerServer.h", "-defaults", "samplerDefaults.c"]).current_dir(dir));
}

/// Builds the sampler's client and server into one program.
fn build(dir: &Path, compiler: &str, options: &[&str]) -> std::path::PathBuf {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c");
    let program = dir.join(format!("sampler-{compiler}"));
    let mut command = Command::new(compiler);
    command.args(["-std=gnu99", "-g", "-o"]).arg(&program).args(options);
    for place in [include(), root().join("examples/mig"), tests.clone(), dir.to_owned()] {
        command.arg("-I").arg(place);
    }
    command.args(["samplerUser.c", "samplerServer.c"]).args(["fake_mach.c", "sampler_main.c"].map(|f| tests.join(f)));
    command.args(["sampler_server.c", "sampler_client.c"].map(|f| root().join("examples/mig").join(f)));
    run(command.current_dir(dir));
    program
}

const SANITIZERS: &str = "-fsanitize=address,undefined";

/// The same with traps beside messages.
fn generate_traps(dir: &Path) {
    let defs = root().join("examples/mig/sampler.defs");
    run(mig().arg(defs).args(["--trap", "-sheader", "samplerServer.h"]).current_dir(dir));
}

#[test]
fn there_is_no_warning() {
    let dir = tempfile::tempdir().unwrap();
    generate(dir.path());
    let types = root().join("examples/mig");
    let files = c_files(dir.path());
    assert_eq!(files.len(), 3);
    compile_strictly(dir.path(), &files, &["-I".as_ref(), types.as_os_str()]);
}

#[test]
fn the_definitions_of_libmach_compile() {
    for name in ["mach_port", "notify", "exc", "bootstrap"] {
        let dir = tempfile::tempdir().unwrap();
        let defs = include().join(format!("mach/{name}.defs"));
        run(mig().arg(&defs).args(["-DSERVERPREFIX=s_", "-sheader", "s.h", "-defaults", "d.c"]).current_dir(dir.path()));
        compile_strictly(dir.path(), &c_files(dir.path()), &[]);
    }
}

/// A server without routines, and one whose author left them out.
#[test]
fn routines_may_be_missing() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("none.defs"), "subsystem none 100;\n").unwrap();
    run(mig().args(["-sheader", "s.h", "-defaults", "d.c", "none.defs"]).current_dir(dir.path()));
    compile_strictly(dir.path(), &c_files(dir.path()), &[]);
    let text = "subsystem some 100;\n#include <mach/std_types.defs>\ntype l = array[] of int;\nimport \"l.h\";\n\
        routine here(s : mach_port_t);\nroutine gone(s : mach_port_t; a : int; out b : l, dealloc[]);\n";
    std::fs::write(dir.path().join("some.defs"), text).unwrap();
    std::fs::write(dir.path().join("l.h"), "typedef int *l;\n").unwrap();
    run(mig().args(["-sheader", "s.h", "some.defs"]).current_dir(dir.path()));
    compile_strictly(dir.path(), &c_files(dir.path()), &["-DMIG_EOPNOTSUPP=45".as_ref()]);
    let main = "#include \"s.h\"\n\
        #if !defined MIG_RPC_HAVE_gone || defined MIG_RPC_HAVE_other\n#error\n#endif\n\
        kern_return_t here(mach_port_t s) { return s == 7 ? 0 : 1; }\n\
        int main(void) { return here(7) || gone(7, 1, 0, 0, 0) != 45; }\n";
    std::fs::write(dir.path().join("main.c"), main).unwrap();
    let mut compile = Command::new("cc");
    compile.arg("-DMIG_EOPNOTSUPP=45").arg("-I").arg(include()).args(["-o", "some", "main.c", "someServer.c"]);
    run(compile.current_dir(dir.path()));
    run(&mut Command::new(dir.path().join("some")));
}

/// The deallocate bit of a reply is what the server's routine said, in memory of both forms.
#[test]
fn a_server_says_whether_its_memory_goes() {
    let dir = tempfile::tempdir().unwrap();
    let text = "subsystem gift 100;\n#include <mach/std_types.defs>\n#include <mach/mach_types.defs>\n\
        type list_t = array[] of int;\nimport \"list.h\";\n\
        routine give(s : mach_port_t; what : int; out a : list_t, dealloc[]; out b : pointer_t, dealloc[]);\n";
    let main = "#include <stdlib.h>\n#include \"s.h\"\n\
        kern_return_t give(mach_port_t s, int what, list_t *a, unsigned *n, boolean_t *free_a, vm_offset_t *b, unsigned *m, boolean_t *free_b) {\n\
            if (*free_a || *free_b) return 9;\n\
            if (what & 4) *a = (list_t) 4096;\n\
            *n = 2; *b = s; *m = 3; *free_a = what & 1; *free_b = what & 2;\n\
            return 0; }\n\
        struct request { mach_msg_header_t head; mach_msg_type_t type; int what, pad; };\n\
        struct reply { mig_reply_header_t head; mach_msg_type_t a; char rest[4096]; };\n\
        void mig_deallocate(vm_address_t a, vm_size_t n) { (void) a; (void) n; abort(); }\n\
        int main(void) { static struct reply reply; for (int what = 0; what < 8; what++) {\n\
            struct request in = {.head = {.msgh_size = sizeof in, .msgh_id = 100}, .what = what,\n\
                .type = {.msgt_name = MACH_MSG_TYPE_INTEGER_32, .msgt_size = 32, .msgt_inline = 1, .msgt_number = 1}};\n\
            if (!gift_server(&in.head, &reply.head.Head) || reply.head.RetCode) return 1;\n\
            mach_msg_type_t *b = (mach_msg_type_t *) (reply.rest + 8);\n\
            if (reply.a.msgt_inline != !(what & 4) || reply.a.msgt_deallocate != ((what & 5) == 5)) return 2;\n\
            if (b->msgt_inline || b->msgt_deallocate != ((what & 2) != 0) || b->msgt_number != 3) return 3;\n\
            if (!reply.a.msgt_longform || !b->msgt_longform) return 4; }\n\
            return 0; }\n";
    for (name, text) in [("gift.defs", text), ("list.h", "typedef int *list_t;\n"), ("main.c", main)] {
        std::fs::write(dir.path().join(name), text).unwrap();
    }
    run(mig().args(["-n", "-server", "s.c", "-sheader", "s.h", "gift.defs"]).current_dir(dir.path()));
    for compiler in COMPILERS {
        let mut compile = Command::new(compiler);
        compile.args(["-O2", "-I"]).arg(include()).args(["-o", "gift", "main.c", "s.c"]);
        run(compile.current_dir(dir.path()));
        run(&mut Command::new(dir.path().join("gift")));
    }
}

/// Mach 2.5's names, where they mean something today.
#[test]
fn the_names_of_mach_2_5_are_read() {
    let dir = tempfile::tempdir().unwrap();
    let old = "subsystem old 100;\ntype int = MSG_TYPE_INTEGER_32;\ntype port_t = MSG_TYPE_PORT;\ntype port_all_t = MSG_TYPE_PORT_ALL;\n\
        type name_t = (MSG_TYPE_STRING, 8*80);\ntype data_t = array[*:16] of MSG_TYPE_BYTE;\nimport \"old_types.h\";\n\
        routine look_up(server : port_t; name : name_t; out port : port_t; data : data_t; all : port_all_t);\n";
    let new =
        old.replace("MSG_TYPE_PORT_ALL", "MACH_MSG_TYPE_MOVE_RECEIVE").replace("= MSG_TYPE_PORT;", "= MACH_MSG_TYPE_COPY_SEND;");
    let new = new.replace(" MSG_TYPE", " MACH_MSG_TYPE").replace("(MSG_TYPE", "(MACH_MSG_TYPE");
    let made = |text: &str| {
        std::fs::write(dir.path().join("old.defs"), text).unwrap();
        run(mig().arg("old.defs").current_dir(dir.path()));
        ["oldUser.c", "oldServer.c"].map(|file| std::fs::read_to_string(dir.path().join(file)).unwrap())
    };
    let (old, new) = (made(old), made(&new));
    assert_eq!(old, new);
    std::fs::write(dir.path().join("old.defs"), "subsystem o 1;\ntype p = MSG_TYPE_PORT_OWNERSHIP;\nroutine x(a : p);\n")
        .unwrap();
    let refused = output(mig().arg("old.defs").current_dir(dir.path()));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("no ownership"));
}

/// Each type of the library's definitions can be an argument: C knows it, and has the size that the definition says.
#[test]
fn the_types_of_libmach_compile() {
    let dir = tempfile::tempdir().unwrap();
    let mut text = "subsystem all 100;\n#include <mach/mach_types.defs>\n".to_owned();
    for file in ["std_types", "mach_types"] {
        let defs = std::fs::read_to_string(include().join(format!("mach/{file}.defs"))).unwrap();
        for name in defs.lines().filter_map(|line| line.strip_prefix("type ")?.split_once(" = ")).map(|(name, _)| name) {
            text += &format!("routine with_{name}(server : mach_port_t; a : {name}; out b : {name});\n");
        }
    }
    for name in ["memory_object_copy_strategy_t", "emulation_vector_t", "task_info_t", "processor_array_t", "vm_sync_t"] {
        assert!(text.contains(&format!("a : {name};")), "{name} is missing");
    }
    std::fs::write(dir.path().join("all.defs"), text).unwrap();
    run(mig().args(["-sheader", "s.h", "-defaults", "d.c", "-DSERVERPREFIX=s_", "all.defs"]).current_dir(dir.path()));
    compile_strictly(dir.path(), &c_files(dir.path()), &[]);
}

#[test]
fn headers_suit_cxx() {
    let dir = tempfile::tempdir().unwrap();
    generate(dir.path());
    std::fs::write(dir.path().join("x.cc"), "#include \"sampler.h\"\nint main() { return sampler_base_id != 7000; }\n").unwrap();
    let mut command = Command::new("c++");
    command.args(["-std=c++11", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "x.cc", "-I"]).arg(include());
    run(command.arg("-I").arg(root().join("examples/mig")).current_dir(dir.path()));
}

/// The sampler's client and server in one program, by messages and by traps.
fn every_feature(compiler: &str, optimised: &str) {
    let dir = tempfile::tempdir().unwrap();
    generate(dir.path());
    // Clang's sanitizers are a package of their own.
    let checks: &[&str] = if compiler == "gcc" { &[SANITIZERS, "-fno-sanitize-recover=undefined"] } else { &[] };
    let program = build(dir.path(), compiler, &[&[optimised], checks].concat());
    assert_eq!(run(&mut Command::new(program)), "good\n");
    generate_traps(dir.path());
    let program = build(dir.path(), compiler, &[&[optimised, "-DWITH_TRAPS"], checks].concat());
    assert_eq!(run(&mut Command::new(program)), "good\n");
}

#[test]
fn every_feature_works_in_one_process() {
    every_feature("gcc", "-O1");
}

#[test]
#[ignore = "long: eight programs"]
fn every_feature_works_as_each_compiler_has_it() {
    for compiler in COMPILERS {
        ["-O0", "-O2"].iter().for_each(|optimised| every_feature(compiler, optimised));
    }
}

/// The sampler over the real libmach.
#[test]
fn every_feature_works_over_libmach() {
    let library = built("libmach.so");
    threads(&library, generate, &[]);
    threads(&library, generate_traps, &["-DWITH_TRAPS"]);
}

fn threads(library: &Path, generate: fn(&Path), options: &[&str]) {
    let dir = tempfile::tempdir().unwrap();
    generate(dir.path());
    for name in ["libmach.so", "libmach.so.1"] {
        std::os::unix::fs::symlink(library, dir.path().join(name)).unwrap();
    }
    let mut command = Command::new("cc");
    command.args(["-std=gnu99", "-g", "-O2", "-o", "threads", "samplerUser.c", "samplerServer.c"]).args(options);
    command.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c/sampler_threads.c"));
    for place in [include(), root().join("examples/mig"), dir.path().to_owned()] {
        command.arg("-I").arg(place);
    }
    command.args(["sampler_server.c", "sampler_client.c"].map(|f| root().join("examples/mig").join(f)));
    run(command.args(["-L.", "-lmach", "-lpthread"]).current_dir(dir.path()));
    let mut command = Command::new("timeout");
    command.arg("60").arg(dir.path().join("threads")).env("LD_LIBRARY_PATH", dir.path());
    assert_eq!(run(&mut command), "good\n");
}

#[test]
#[ignore = "long: one more program of the sampler with sanitizers"]
fn large_messages_leave_the_stack() {
    let dir = tempfile::tempdir().unwrap();
    let defs = root().join("examples/mig/sampler.defs");
    run(mig().arg(defs).args(["-maxonstack", "100", "-sheader", "samplerServer.h"]).current_dir(dir.path()));
    let user = std::fs::read_to_string(dir.path().join("samplerUser.c")).unwrap();
    assert!(user.contains("malloc(sizeof *Mess)"));
    let types = root().join("examples/mig");
    compile_strictly(dir.path(), &c_files(dir.path()), &["-I".as_ref(), types.as_os_str()]);
    let program = build(dir.path(), "cc", &["-O1", SANITIZERS, "-fno-sanitize-recover=undefined"]);
    assert_eq!(run(&mut Command::new(program)), "good\n");
}

/// Changes requests and replies at random, in so many rounds from each seed.
fn hostile(seeds: &[&str], rounds: u32) {
    let dir = tempfile::tempdir().unwrap();
    generate(dir.path());
    let program = build(dir.path(), "cc", &["-O2", SANITIZERS, "-fno-sanitize-recover=undefined"]);
    for mode in ["fuzz-requests", "fuzz-replies"] {
        for seed in seeds {
            // What a check complains of is not the question, so leaks of the checks themselves do not count.
            let mut command = Command::new("timeout");
            command.arg(Duration::from_secs(600).as_secs().to_string()).arg(&program).args([mode, seed, &rounds.to_string()]);
            run(command.env("ASAN_OPTIONS", "detect_leaks=0"));
        }
    }
}

#[test]
fn hostile_messages_do_no_harm() {
    hostile(&["1"], 3);
}

#[test]
#[ignore = "long: 75 rounds each of requests and replies"]
fn many_hostile_messages_do_no_harm() {
    hostile(&["1", "2", "3"], 25);
}

/// Messages that older compilers' stubs were deceived by, one by one.
#[test]
fn known_faults_are_not_repeated() {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c");
    for compiler in COMPILERS {
        let dir = tempfile::tempdir().unwrap();
        run(mig().arg(tests.join("faults.defs")).args(["-sheader", "faultsServer.h"]).current_dir(dir.path()));
        let mut command = Command::new(compiler);
        command.args(["-std=gnu99", "-g", "-O2", "-Wall", "-Wextra", "-o", "faults", "faultsUser.c", "faultsServer.c"]);
        command.args((compiler == "gcc").then_some(SANITIZERS)).arg("-I").arg(include()).arg("-I").arg(&tests).args(["-I", "."]);
        run(command.args(["faults.c", "fake_mach.c"].map(|file| tests.join(file))).current_dir(dir.path()));
        assert_eq!(run(&mut Command::new(dir.path().join("faults"))), "good\n");
    }
}
