//! Files in the grammar of Apple and OSF.

use crate::support::{c_files, compile_strictly, compile_strictly_with, include, mig, output, run};

/// What only that grammar has, and types that it does not build in.
const FILE: &str = "
subsystem old 900;
type int = MACH_MSG_TYPE_INTEGER_32;
type int64 = MACH_MSG_TYPE_INTEGER_64;
type char = MACH_MSG_TYPE_CHAR;
#include <mach/std_types.defs>
type real_t = MACH_MSG_TYPE_REAL_64 ctype: double;
type list_t = array[*:16] of int;
type far_t = ^array[] of int;
import <stdint.h>;
iimport <stddef.h>;
dimport <mach/boolean.h>;
import \"old_types.h\";
UseSpecialReplyPort 1;
ConsumeOnSendError Timeout;
UserTypeLimit 1024;
OnStackLimit 2048;
sendtime 50;
Routine timed(RequestPort server : mach_port_t; in a : real_t; out b : real_t; WaitTime t : natural_t);
nosendtime;
waittime 7;
ConsumeOnSendError Any;
Routine shared(server : mach_port_t; in x : list_t; in y : list_t, SameCount; out z : list_t; out w : list_t, SameCount);
nowaittime;
Routine auto_far(server : mach_port_t; in x : far_t, Auto; inout const : int; out y : far_t, Overwrite; SendTime s : natural_t);
Routine sized(server : mach_port_t; in a : int32; in b : unsigned64; out c : mach_msg_size_t; out d : mach_msg_options_t);
simpleroutine told(server : mach_port_t; in x : list_t, const; MsgOption o : int);
simpleroutine answer(server : mach_port_t; ureplyport r : mach_port_make_send_once_t; in code : kern_return_t, RetCode);
";

fn with(text: &str) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("old.defs"), text).unwrap();
    let types = "#ifndef T\n#define T\ntypedef int *list_t;\ntypedef int *far_t;\n#endif\n";
    std::fs::write(dir.path().join("old_types.h"), types).unwrap();
    dir
}

#[test]
fn it_is_recognised_and_compiles() {
    let dir = with(&FILE.replace("inout const : int", "inout n : int"));
    let outputs = ["-sheader", "s.h", "-iheader", "i.h", "-dheader", "d.h", "-defaults", "d.c", "-DSERVERPREFIX=s_"];
    run(mig().args(outputs).arg("old.defs").current_dir(dir.path()));
    compile_strictly(dir.path(), &c_files(dir.path()), &[]);
    let user = std::fs::read_to_string(dir.path().join("oldUser.c")).unwrap();
    // Two time-outs need two calls.
    assert!(user.contains("MACH_SEND_MSG | MACH_SEND_TIMEOUT,\n\t\t48, 0, MACH_PORT_NULL, 50,"), "{user}");
    assert!(user.contains("MACH_RCV_MSG | MACH_RCV_TIMEOUT,\n\t\t\t0, 64, mig_reply_port, t_,"), "{user}");
    assert!(user.contains("if (msg_result == MACH_SEND_TIMED_OUT)\n\t\tmach_msg_destroy(&InP->Head);"), "{user}");
    let definitions = std::fs::read_to_string(dir.path().join("d.h")).unwrap();
    assert!(definitions.contains("#include <mach/boolean.h>") && !definitions.contains("kern_return_t timed"));
}

/// The same in Darwin's dialect, which has no `overwrite`.
#[test]
fn it_compiles_in_darwins_dialect() {
    let dir = with(&FILE.replace("inout const : int", "inout n : int").replace(", Overwrite", ""));
    let outputs = ["--dialect", "darwin", "-sheader", "s.h", "-iheader", "i.h", "-dheader", "d.h", "-DSERVERPREFIX=s_"];
    run(mig().args(outputs).arg("old.defs").current_dir(dir.path()));
    compile_strictly_with(&[include().join("darwin"), include()], dir.path(), &c_files(dir.path()), &[]);
    let user = std::fs::read_to_string(dir.path().join("oldUser.c")).unwrap();
    assert!(user.contains("MACH_SEND_MSG | MACH_SEND_TIMEOUT,\n\t\t40, 0, MACH_PORT_NULL, 50,"), "{user}");
}

#[test]
fn an_option_decides_where_the_file_does_not() {
    let dir = with(FILE);
    let refused = output(mig().args(["-grammar", "gnu", "old.defs"]).current_dir(dir.path()));
    let text = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(1));
    assert!(text.contains("belongs to the Apple/OSF grammar") && text.contains("command line"), "{text}");
}
