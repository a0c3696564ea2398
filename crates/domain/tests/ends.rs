//! How a task ends, with the host alone: no name server, and nothing to supervise it.

use slipway_domain::spec::Task;
use slipway_test_support::{WATCHDOG, built, output, repository, succeed, watchdog};
use std::{path::PathBuf, process::Command};

/// A task that ends as its argument says. More arguments than registers hold are on the stack.
const TASK: &str = r#"
#include <mach/task_main.h>
#include <err.h>
#include <errno.h>
#include <error.h>
#include <pthread.h>
#include <stdlib.h>
static void *exits(void *unused) { (void) unused; exit(4); }
MACH_TASK_MAIN(argc, argv) {
    pthread_t thread;
    errno = ENOENT;
    switch (argc > 1 ? atoi(argv[1]) : 0) {
    case 3: exit(3);
    case 4:
        pthread_create(&thread, NULL, exits, NULL);
        pthread_join(thread, NULL);
        break;
    case 5: err(5, "%d %s %.1f %d %d %d %d %d %d %d", 1, "two", 3.5, 4, 5, 6, 7, 8, 9, 10);
    case 6: errx(6, "%.1f %.1f %.1f %.1f %.1f %.1f %.1f %.1f %.1f", 1., 2., 3., 4., 5., 6., 7., 8., 9.);
    case 7: error(7, EINVAL, "%d %s %.1f", 1, "two", 3.5);
    case 8: error_at_line(8, 0, "file.x", 12, "%d %s %d %d %.1f", 1, "two", 3, 4, 5.5);
    }
    return 2;
}
"#;

#[test]
fn a_task_ends_by_a_return_by_exit_and_by_what_calls_exit() {
    let host = built("slipway-domain");
    let home = tempfile::tempdir().expect("a directory");
    let (source, file): (PathBuf, PathBuf) = (home.path().join("task.c"), home.path().join("task.so"));
    std::fs::write(&source, TASK).expect("a source file");
    let mut cc = Command::new("cc");
    cc.args(["-std=gnu11", "-Wall", "-Wextra", "-Werror", "-Wno-implicit-fallthrough", "-shared", "-fPIC", "-I"]);
    succeed(cc.arg(repository("include")).arg("-o").arg(&file).arg(&source));
    for (code, says) in [
        (2, ""),
        (3, ""),
        (4, ""),
        (5, "1 two 3.5 4 5 6 7 8 9 10: No such file or directory\n"),
        (6, "1.0 2.0 3.0 4.0 5.0 6.0 7.0 8.0 9.0\n"),
        (7, "1 two 3.5: Invalid argument\n"),
        (8, "file.x:12: 1 two 3 4 5.5\n"),
    ] {
        let task = Task { name: "task".into(), file: file.clone(), args: vec![code.to_string()], bootstrap: None };
        let task = serde_json::to_string(&task).expect("JSON");
        let _ended = watchdog("the host", WATCHDOG);
        let ended = output(Command::new(&host).arg("--task").arg(task));
        let told = String::from_utf8_lossy(&ended.stderr);
        assert_eq!(ended.status.code(), Some(code), "{told}");
        assert!(told.ends_with(says) && (says.is_empty() == told.is_empty()), "{code}: {told}");
    }
}
