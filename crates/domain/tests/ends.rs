//! How a task ends, with the host alone: no name server, and nothing to supervise it.

use slipway_domain::spec::Task;
use slipway_test_support::{WATCHDOG, built, output, repository, succeed, watchdog};
use std::{os::unix::process::ExitStatusExt, path::PathBuf, process::Command};
use tempfile::TempDir;

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

/// A task of this text.
fn compiled(home: &TempDir, text: &str) -> PathBuf {
    let (source, file) = (home.path().join("task.c"), home.path().join("task.so"));
    std::fs::write(&source, text).expect("a source file");
    let mut cc = Command::new("cc");
    cc.args(["-std=gnu11", "-Wall", "-Wextra", "-Werror", "-Wno-implicit-fallthrough", "-shared", "-fPIC", "-I"]);
    succeed(cc.arg(repository("include")).arg("-o").arg(&file).arg(&source));
    file
}

#[test]
fn a_task_ends_by_a_return_by_exit_and_by_what_calls_exit() {
    let host = built("slipway-domain");
    let home = tempfile::tempdir().expect("a directory");
    let file = compiled(&home, TASK);
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

/// Its constructor sets handlers, and the library's for exceptions, which calls what was there before. As LOADS says it crashes in there, or later.
const LOADS: &str = r#"
#include <mach/exception.h>
#include <mach/mach.h>
#include <mach/task_main.h>
#include <signal.h>
#include <stdlib.h>
static struct sigaction before, exceptions;
static volatile int came;
static int is(const char *how) { return *getenv("LOADS") == *how; }
static void on_fpe(int signal) { came = signal; }
static void on_bus(int signal, siginfo_t *info, void *context) { before.sa_sigaction(signal, info, context); }
static struct sigaction set(int signal) { struct sigaction now; sigaction(signal, NULL, &now); return now; }
/* The host's own handler sets the default, for a fault to come again. */
static void crash(int signal) { for (;;) raise(signal); }
__attribute__((constructor)) static void loads(void) {
    mach_port_t port;
    struct sigaction fpe = {.sa_handler = on_fpe}, bus = {.sa_sigaction = on_bus, .sa_flags = SA_SIGINFO};
    sigaction(SIGFPE, &fpe, NULL);
    sigaction(SIGBUS, &bus, &before);
    if (mach_port_allocate(mach_task_self(), MACH_PORT_RIGHT_RECEIVE, &port) != KERN_SUCCESS) abort();
    if (mach_port_insert_right(mach_task_self(), port, port, MACH_MSG_TYPE_MAKE_SEND) != KERN_SUCCESS) abort();
    if (task_set_exception_ports(mach_task_self(), EXC_MASK_SOFTWARE, port, EXCEPTION_DEFAULT, 0) != KERN_SUCCESS) abort();
    exceptions = set(SIGSEGV);
    if (is("crash")) crash(SIGBUS);
}
MACH_TASK_MAIN(argc, argv) {
    (void) argc, (void) argv;
    raise(SIGFPE);
    if (came != SIGFPE) return 3;
    if (set(SIGSEGV).sa_sigaction != exceptions.sa_sigaction) return 4;
    if (set(SIGABRT).sa_handler != SIG_DFL) return 5;
    if (is("later")) crash(SIGBUS);
    if (is("fault")) crash(SIGSEGV);
    return 2;
}
"#;

#[test]
fn handlers_that_a_files_constructor_sets_stay() {
    let host = built("slipway-domain");
    let home = tempfile::tempdir().expect("a directory");
    let file = compiled(&home, LOADS);
    for (how, ends, blamed) in [
        ("well", (Some(2), None), false),
        ("later", (None, Some(libc::SIGBUS)), false),
        ("fault", (None, Some(libc::SIGSEGV)), false),
        ("crash", (None, Some(libc::SIGBUS)), true),
    ] {
        let task = Task { name: "task".into(), file: file.clone(), args: Vec::new(), bootstrap: None };
        let task = serde_json::to_string(&task).expect("JSON");
        let _ended = watchdog("the host", WATCHDOG);
        let ended = output(Command::new(&host).arg("--task").arg(task).env("LOADS", how));
        let told = String::from_utf8_lossy(&ended.stderr);
        assert_eq!((ended.status.code(), ended.status.signal()), ends, "{how}: {told}");
        assert_eq!(told.contains("crashed while it was loaded"), blamed, "{how}: {told}");
    }
}
