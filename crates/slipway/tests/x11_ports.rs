//! X over Mach ports: the same pictures, the ends of either side, displays that are held, started on demand, and lied to.

mod harness;

use harness::build::{asset, scratch, script, set_mode};
use harness::process::slipway;
use harness::server::own_display;
use harness::{DRAWINGS, Mode, Running, Screen, Server};
use mach as _;
use slipway_mach::abi::{HEADER, option, types};
use slipway_mach::rights::{Outgoing, ReceiveRight, SendRight};
use slipway_mach::task::Task;
use slipway_mach::{Request, bootstrap};
use slipway_test_support::{NameServer, built, until};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

#[test]
fn pictures_are_those_of_the_socket_and_of_rings() {
    for drawing in &DRAWINGS {
        let pictures = [Mode::Plain, Mode::Hooked, Mode::Ports].map(|mode| {
            let server = Server::start(mode);
            let mut running = drawing.start(&server, mode);
            if mode == Mode::Ports {
                server.expect_ports(&mut running, drawing.name);
            }
            let picture = Screen::settled(&server, mode, 1000);
            // A client on the socket sees it, too.
            Screen::expect(&server, Mode::Plain, &picture);
            running.succeed();
            picture
        });
        for other in &pictures[1..] {
            assert!(pictures[0] == *other, "{}: {}", drawing.name, pictures[0].difference(other));
        }
    }
}

/// Both ways, with more than the queues hold; and small messages, of which each waits for the other side.
#[test]
fn large_and_small_messages_come_over() {
    let server = Server::with(Mode::Ports, &["-noreset", "-screen", "0", "1280x1024x24"]);
    let tests = ["-putimage500", "-getimage500", "-putimage100", "-pointer", "-rect10"];
    let mut args = vec!["-repeat", "2", "-reps", "200"];
    args.extend(tests);
    let printed = server.output(Mode::Ports, "x11perf", &args);
    let results = printed.lines().filter(|line| line.contains(" trep @ ")).count();
    assert_eq!(results, tests.len(), "a result of each test:\n{printed}");
}

#[test]
fn a_client_that_is_killed_is_gone_and_one_whose_server_is_killed_ends() {
    let mut server = Server::start(Mode::Ports);
    let mut killed = DRAWINGS[0].start(&server, Mode::Ports);
    server.expect_ports(&mut killed, DRAWINGS[0].name);
    let mut stays = DRAWINGS[0].start(&server, Mode::Ports);
    drop(killed);
    until("the connection of the killed client is gone", || server.connections().len() == 1);
    server.expect_ports(&mut stays, DRAWINGS[0].name);
    // KillClient is a request like any other: the server closes that connection.
    let mut kill = Command::new("kill");
    kill.args(["-KILL", &server.pid().to_string()]);
    Running::start(kill).succeed();
    assert!(!server.ends());
    assert!(!stays.ends().success(), "it has lost its display");
}

/// A sandbox with no network, no other processes, and nothing of the runtime directory or of /tmp.
fn sandbox(command: &mut Command, program: &str) {
    let built = built("libmach.so");
    let dir = built.parent().expect("a directory");
    command.args(["bwrap", "--unshare-all", "--die-with-parent", "--ro-bind", "/", "/", "--tmpfs", "/tmp", "--ro-bind"]);
    command.arg(dir).arg(dir).args(["--dev", "/dev", "--proc", "/proc", program]);
}

#[test]
fn a_program_that_holds_the_port_needs_nothing_else() {
    let empty = Command::new("bwrap").args(["--unshare-all", "--ro-bind", "/", "/", "true"]).output().expect("bwrap");
    if !empty.status.success() {
        eprintln!("left out: user namespaces are forbidden here: {}", String::from_utf8_lossy(&empty.stderr));
        return;
    }
    let server = Server::start(Mode::Ports);
    let command = |hold: bool| {
        let mut command = slipway();
        server.address(&mut command);
        command.env("SLIPWAY_LIBMACH", built("libmach.so")).args(["x11", "--over=ports"]);
        if hold {
            command.args(["--hold", &server.display()]);
        }
        command.arg("--");
        sandbox(&mut command, "xdpyinfo");
        Running::start(command)
    };
    let printed = command(true).succeed();
    assert!(printed.contains(&format!("name of display:    {}", server.display())), "{printed}");
    let without = command(false).finish();
    assert!(!without.status.success(), "nobody can find it");
    assert!(without.stderr.contains("unable to open display"), "{without:?}");
}

#[test]
fn a_display_starts_with_its_first_client() {
    let dir = scratch();
    set_mode(dir.path(), 0o700);
    let display = own_display(0);
    let slipway_path = built("slipway");
    let program = dir.path().join("server");
    let text = format!("#!/bin/sh\nexec '{}' x11 --over=ports -- Xvfb :{display} -terminate\n", slipway_path.display());
    script(&program, &text);
    let prepare = |command: &mut Command| {
        command.env("SLIPWAY_RUNTIME_DIR", dir.path());
        command.env("SLIPWAY_LIBMACH", built("libmach.so")).env("SLIPWAY_PRELOAD", built("libslipway_preload.so"));
    };
    let mut names = slipway();
    names.args([
        "run",
        "--private",
        "--service",
        &format!("x11.{display}={}", program.display()),
        "--",
        slipway_path.to_str().expect("UTF-8"),
    ]);
    names.args(["x11", "--over=ports", "--", "xdpyinfo", "-display", &format!(":{display}")]);
    prepare(&mut names);
    let socket = format!("/tmp/.X11-unix/X{display}");
    assert!(UnixStream::connect(socket).is_err(), "another's server");
    let printed = Running::start(names).succeed();
    assert!(printed.contains(&format!("name of display:    :{display}")), "{printed}");
    until("the server ends after its last client", || !Path::new(&format!("/tmp/.X{display}-lock")).exists());
}

/// What a peer of the same user could send; each is dropped, or ends that peer's connection, and the server goes on.
#[test]
fn a_peer_that_lies_harms_itself_only() {
    let server = Server::start(Mode::Ports);
    let (names, dir) = server.names.as_ref().expect("it goes over ports");
    let _ = names;
    let task = Task::current();
    let address = bootstrap::Address { socket: dir.path().join("names"), named: true };
    let (s, t) = bootstrap::reach(&address).expect("the name server");
    let own = task.import(s, t).expect("a right");
    let display = bootstrap::look_up(task, Some(own), format!("x11.{}", server.number())).expect("the display");
    let display = SendRight::from_name(task, display);
    let patience = Some(Duration::from_secs(60));

    let raw = |id: i32, body: &[u8], reply: &ReceiveRight| {
        let size = HEADER + body.len();
        let mut message = Vec::new();
        for word in [types::COPY_SEND | types::MAKE_SEND << 8, size as u32, display.name(), 0, reply.name(), 0, 0, id as u32] {
            message.extend(word.to_ne_bytes());
        }
        message.extend(body);
        let send = Request { option: option::SEND_MSG, send_size: size, ..Request::default() };
        task.mach_msg(&mut message, &send)
    };
    let replies: Vec<_> = (0..300).map(|_| ReceiveRight::new().expect("a port")).collect();
    let connect = 0x5831_3101;
    for (i, reply) in replies.iter().enumerate() {
        // Requests that nobody follows up, some of them cut short, some for a token that does not exist.
        let body = [i as u8; 24];
        let id = connect + (i % 8) as i32;
        raw(id, &body[..if i % 5 == 0 { 8 } else { 24 }], reply);
        display.send(Outgoing::new(id).memory(vec![0; 100_000]).bytes(&body), patience).expect("sent");
    }
    // It has read all of that, and serves others.
    server.output(Mode::Ports, "xdpyinfo", &[]);
    let mut drawing = DRAWINGS[0].start(&server, Mode::Ports);
    server.expect_ports(&mut drawing, DRAWINGS[0].name);
    drawing.succeed();
}

/// A client that waits for its connection beside other descriptors, in each way there is.
#[test]
fn clients_wait_in_poll_select_and_epoll() {
    let server = Server::start(Mode::Ports);
    let script = asset("x11_waits.py");
    for how in ["poll", "select", "epoll", "blocking", "within", "nested"] {
        let printed = server.output(Mode::Ports, "/usr/bin/python3", &[script.to_str().expect("UTF-8"), how]);
        assert_eq!(printed.trim(), "2000 answers, 2000 wake-ups of the pipe", "{how}");
    }
}

/// Several at once, of which none takes another's news; and children that have none of it.
#[test]
fn threads_wait_beside_each_other() {
    let server = Server::start(Mode::Ports);
    let script = asset("x11_threads.py");
    let printed = server.output(Mode::Ports, "/usr/bin/python3", &[script.to_str().expect("UTF-8")]);
    assert_eq!(printed.trim(), "8 threads were answered");
}

/// A role of x11_connects.py.
fn role(names: &NameServer, role: &str, display: &str) -> Command {
    let mut command = Mode::Ports.command("/usr/bin/python3");
    command.arg(asset("x11_connects.py")).args([role, display]);
    names.used_by(&mut command);
    command
}

/// A client whose connect(2) fails and is tried once more, with the name that its socket has from before.
#[test]
fn a_client_that_tries_once_more_is_answered() {
    let dir = scratch();
    let names = NameServer::start(&dir.path().join("names"));
    let mut server = Server::try_displays(|number| role(&names, "serve", &format!(":{number}")));
    let filler = UnixStream::connect(format!("/tmp/.X11-unix/X{}", server.number())).expect("the queue takes one");
    let mut client = role(&names, "retry", &server.display());
    server.address(&mut client);
    let mut client = Running::start(client);
    client.wait_line("full");
    server.say("accept");
    client.say("");
    client.wait_line("answered");
    server.expect_ports(&mut client, "python3");
    client.say("");
    client.succeed();
    drop(filler);
    assert!(server.ends());
}

/// A server that waits for a message which the name of a client's socket promised finds the client on the socket.
#[test]
fn a_name_without_a_message_is_a_client_on_its_socket() {
    let server = Server::start(Mode::Ports);
    let script = asset("x11_connects.py");
    let printed = server.output(Mode::Plain, "/usr/bin/python3", &[script.to_str().expect("UTF-8"), "named", &server.display()]);
    assert_eq!(printed.trim(), "answered");
}

/// A reader that lags still hears that there is room for what it writes.
#[test]
fn a_client_with_much_unread_goes_on_writing() {
    let dir = scratch();
    let names = NameServer::start(&dir.path().join("names"));
    let mut server = Server::try_displays(|number| role(&names, "serve", &format!(":{number}")));
    server.say("accept");
    let mut client = role(&names, "write", &server.display());
    server.address(&mut client);
    let mut client = Running::start(client);
    client.wait_line("written");
    server.expect_ports(&mut client, "python3");
    client.say("");
    client.succeed();
    let mut end = role(&names, "end", &server.display());
    server.address(&mut end);
    Running::start(end).succeed();
    assert!(server.ends());
}
