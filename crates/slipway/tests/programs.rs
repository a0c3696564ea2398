//! Real programs on an X server, by themselves and over shared memory, with the same results.

mod harness;

use harness::build::{asset, scratch};
use harness::drawing::Drawing;
use harness::{DRAWINGS, Mode, Running, Screen, Server};
use std::fs;
use std::path::Path;
use std::process::Command;

/// Both ends by themselves, and both over shared memory.
const BOTH: [Mode; 2] = [Mode::Plain, Mode::Hooked];

/// Fails unless `name`, which `client` has become, uses what it should in this mode.
fn expect_transport(server: &Server, mode: Mode, client: &mut Running, name: &str) {
    if mode == Mode::Hooked {
        server.expect_ring(client, name, true);
    }
}

#[test]
fn x11perf() {
    for mode in BOTH {
        let server = Server::with(mode, &["-noreset", "-screen", "0", "1280x1024x24"]);
        // One that never ends, so that it is there however late its transport is asked for.
        let mut endless = server.run(mode, "x11perf", &["-reps", "1000000000", "-rect500"]);
        expect_transport(&server, mode, &mut endless, "x11perf");
        drop(endless);
        let tests = ["-rect500", "-pointer", "-putimage100", "-getimage100"];
        let mut args = vec!["-repeat", "2", "-reps", "1000"];
        args.extend(tests);
        let printed = server.output(mode, "x11perf", &args);
        let results = printed.lines().filter(|line| line.contains(" trep @ ")).count();
        assert_eq!(results, tests.len(), "a result of each test:\n{printed}");
    }
}

#[test]
fn xterm_scrolls_and_runs_a_pipeline() {
    let pictures = BOTH.map(|mode| {
        let server = Server::start(mode);
        let dir = scratch();
        let script = dir.path().join("script");
        fs::write(&script, XTERM_SCRIPT).expect("write the script");
        make_fifo(&dir.path().join("ready"));
        make_fifo(&dir.path().join("go"));
        let mut xterm = server.client(mode, "xterm");
        xterm.args(["-geometry", "100x40+0+0", "-xrm", "*cursorBlink: false", "-e", "sh"]);
        xterm.arg(&script).current_dir(&dir);
        let mut xterm = Running::start(xterm);

        // `cat` waits at the pipe for the script, and the watchdog for `cat`.
        let mut ready = Command::new("cat");
        ready.arg(dir.path().join("ready"));
        Running::start(ready).wait_line("ready");
        expect_transport(&server, mode, &mut xterm, "xterm");
        let read = |name: &str| fs::read_to_string(dir.path().join(name)).expect("read a result");
        assert_eq!(read("largest"), "20000\n");
        assert_eq!(read("numbers").lines().count(), 20_000);
        let picture = Screen::settled(&server, mode, 2);

        let mut go = Command::new("sh");
        go.args(["-c", "echo go > go"]).current_dir(&dir);
        Running::start(go).succeed();
        xterm.succeed();
        picture
    });
    let [plain, hooked] = pictures;
    assert!(plain == hooked, "the terminals differ: {}", plain.difference(&hooked));
}

/// Scrolls 20,000 lines, runs a pipeline, and asks the terminal twice where its cursor is: the
/// answer to the second comes when all that was printed is drawn.
const XTERM_SCRIPT: &str = r#"
set -e
seq -f 'line %g of a file that scrolls by' 20000 > lines
cat lines
seq 20000 | tee numbers | sort -n | tail -n 1 > largest
old=$(stty -g)
stty raw -echo
for _ in 1 2; do
    printf '\033[6n'
    answer=
    while [ "$answer" != R ]; do answer=$(dd bs=1 count=1 2>/dev/null); done
done
stty "$old"
echo ready > ready
read -r _ < go
"#;

fn make_fifo(path: &Path) {
    let mut mkfifo = Command::new("mkfifo");
    mkfifo.arg(path);
    Running::start(mkfifo).succeed();
}

fn draws_the_same(drawing: &Drawing) {
    let server = Server::start(Mode::Plain);
    let running = drawing.start(&server, Mode::Plain);
    let wanted = Screen::settled(&server, Mode::Plain, 1000);
    running.succeed();
    drop(server);

    let server = Server::start(Mode::Hooked);
    let mut running = drawing.start(&server, Mode::Hooked);
    server.expect_ring(&mut running, drawing.name, true);
    Screen::expect(&server, Mode::Hooked, &wanted);
    // A client with no hooks sees the same screen.
    Screen::expect(&server, Mode::Plain, &wanted);
    running.succeed();
}

#[test]
fn wish_draws_the_same() {
    draws_the_same(&DRAWINGS[0]);
}

#[test]
fn python_draws_the_same() {
    draws_the_same(&DRAWINGS[1]);
}

#[test]
fn java_awt() {
    let dir = scratch();
    let mut javac = Command::new("javac");
    javac.arg("-d").arg(dir.path()).arg(asset("java/Draw.java"));
    Running::start(javac).succeed();
    let checksums = BOTH.map(|mode| {
        let server = Server::start(mode);
        let mut java = server.client(mode, "java");
        java.args(["-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp"]);
        java.arg(dir.path()).arg("Draw");
        let mut java = Running::start(java);
        let ready = java.wait_line("ready");
        expect_transport(&server, mode, &mut java, "java");
        java.succeed();
        ready
    });
    assert_eq!(checksums[0], checksums[1], "the checksums of the pixels, plain and hooked");
}

#[test]
fn gtk_entry_driven_by_xdotool() {
    for mode in BOTH {
        let server = Server::start(mode);
        let mut zenity = server.client(mode, "zenity");
        zenity.args(["--entry", "--title", "slipway-entry", "--text", "A word:"]);
        zenity.env("NO_AT_BRIDGE", "1").env("GSETTINGS_BACKEND", "memory");
        let mut zenity = Running::start(zenity);
        let find = ["search", "--sync", "--onlyvisible", "--name", "slipway-entry"];
        let type_in = ["windowfocus", "--sync", "type", "--delay", "0", "over shared memory"];
        server.output(mode, "xdotool", &[&find[..], &type_in].concat());
        expect_transport(&server, mode, &mut zenity, "zenity");
        server.output(mode, "xdotool", &["key", "Return"]);
        assert_eq!(zenity.succeed(), "over shared memory\n", "what was typed, {mode:?}");
    }
}

#[test]
fn xdotool_moves_the_pointer() {
    for mode in BOTH {
        let server = Server::start(mode);
        // The program that xdotool runs inherits none of its connection.
        let pause = ["exec", "--sync", "sh", "-c", "echo ready; read -r _"];
        let args = [&["mousemove", "123", "234"][..], &pause].concat();
        let mut xdotool = server.run(mode, "xdotool", &args);
        xdotool.wait_line("ready");
        expect_transport(&server, mode, &mut xdotool, "xdotool");
        xdotool.say("go on");
        xdotool.succeed();
        let place = server.output(mode, "xdotool", &["getmouselocation", "--shell"]);
        assert!(place.starts_with("X=123\nY=234\n"), "the pointer is at {place}");
    }
}

#[test]
fn import_takes_the_same_screenshot() {
    let dir = scratch();
    let server = Server::start(Mode::Hooked);
    let drawing = DRAWINGS[0].start(&server, Mode::Hooked);
    let wanted = Screen::settled(&server, Mode::Plain, 1000);
    let shots = BOTH.map(|mode| {
        let file = dir.path().join(format!("{mode:?}.ppm"));
        let target = format!("ppm:{}", file.display());
        server.output(mode, "import", &["-window", "root", &target]);
        fs::read(file).expect("read the screenshot")
    });
    assert!(shots[0].len() > 640 * 480 * 3, "a whole screen, not {} bytes", shots[0].len());
    assert!(shots[0] == shots[1], "the plain screenshot and the hooked one differ");
    Screen::expect(&server, Mode::Hooked, &wanted);
    drawing.succeed();
}

#[test]
fn tools_that_list() {
    let server = Server::start(Mode::Hooked);
    let mut xeyes = server.run(Mode::Hooked, "xeyes", &["-name", "slipway-eyes"]);
    let find = ["search", "--sync", "--onlyvisible", "--name", "slipway-eyes"];
    server.output(Mode::Hooked, "xdotool", &find);
    server.expect_ring(&mut xeyes, "xeyes", true);
    let tools: [(&str, &[&str], &str); 4] = [
        ("xwininfo", &["-root", "-tree"], "slipway-eyes"),
        ("xprop", &["-name", "slipway-eyes"], "WM_CLASS"),
        ("xlsclients", &["-l"], "slipway-eyes"),
        ("xdpyinfo", &["-queryExtensions"], "MIT-SHM"),
    ];
    for (tool, args, expected) in tools {
        let [plain, hooked] = BOTH.map(|mode| server.output(mode, tool, args));
        assert!(plain.contains(expected), "{tool} without '{expected}':\n{plain}");
        assert_eq!(plain, hooked, "{tool}, plain and hooked");
    }
    assert!(xeyes.alive(), "the listed program has ended");
}
