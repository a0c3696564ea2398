//! Which connections use shared memory, and that all others work as they do without Slipway.

mod harness;

use harness::build::{c_program, scratch};
use harness::{DRAWINGS, Mode, Running, Screen, Server};
use std::process::Command;

/// The picture of the first drawing, both ends by themselves.
fn reference() -> Screen {
    let server = Server::start(Mode::Plain);
    let drawing = DRAWINGS[0].start(&server, Mode::Plain);
    let screen = Screen::settled(&server, Mode::Plain, 1000);
    drawing.succeed();
    screen
}

#[test]
fn a_plain_client_of_a_hooked_server_stays_on_the_socket() {
    let wanted = reference();
    let server = Server::start(Mode::Hooked);
    let mut plain = DRAWINGS[0].start(&server, Mode::Plain);
    Screen::expect(&server, Mode::Plain, &wanted);
    server.expect_ring(&mut plain, DRAWINGS[0].name, false);
    plain.succeed();
}

#[test]
fn a_hooked_client_of_a_plain_server_stays_on_the_socket() {
    let wanted = reference();
    let server = Server::start(Mode::Plain);
    let hooked = DRAWINGS[0].start(&server, Mode::Hooked);
    Screen::expect(&server, Mode::Hooked, &wanted);
    let printed = hooked.finish();
    assert!(printed.status.success(), "{}: {}", printed.status, printed.stderr);
    assert_eq!(printed.stderr, "", "a plain server is nothing to warn of");
}

#[test]
fn switched_off_the_hooks_change_nothing() {
    let wanted = reference();
    for (server, client) in [(Mode::Off, Mode::Hooked), (Mode::Hooked, Mode::Off)] {
        let server = Server::start(server);
        let mut drawing = DRAWINGS[0].start(&server, client);
        if client == Mode::Off {
            server.expect_ring(&mut drawing, DRAWINGS[0].name, false);
        }
        Screen::expect(&server, client, &wanted);
        drawing.succeed();
    }
}

#[test]
fn a_static_program_stays_on_the_socket() {
    let dir = scratch();
    let raw = c_program("raw", dir.path(), &["-static"]);
    let raw = raw.to_str().expect("a path in UTF-8");
    for (server, client) in [(Mode::Hooked, Mode::Hooked), (Mode::Hooked, Mode::Plain)] {
        let server = Server::start(server);
        let mut running = server.run(client, raw, &[]);
        running.wait_line("ready");
        server.expect_ring(&mut running, "raw", false);
        assert_eq!(running.succeed(), "ready\ndone\n");
    }
}

#[test]
fn a_program_without_a_library_uses_the_ring() {
    let dir = scratch();
    let raw = c_program("raw", dir.path(), &[]);
    let server = Server::start(Mode::Hooked);
    let mut running = server.run(Mode::Hooked, raw.to_str().expect("a path in UTF-8"), &[]);
    running.wait_line("ready");
    let connection = server.connection_of(&mut running, "raw");
    assert!(connection.ring, "{connection:?}");
    // Set-up, then 1,000 requests of 4 bytes with replies of 32.
    assert_eq!(connection.bytes_in, 12 + 4 * 1000, "what the client sent");
    assert!(connection.bytes_out > 32 * 1000, "what the client received: {connection:?}");
    assert_eq!(running.succeed(), "ready\ndone\n");
}

#[test]
fn a_tcp_display_stays_on_its_socket() {
    let wanted = reference();
    let server = Server::with(Mode::Hooked, &["-noreset", "-listen", "tcp"]);
    let mut wish = server.client(Mode::Hooked, "wish");
    wish.env("DISPLAY", format!("127.0.0.1:{}", server.number()));
    wish.arg(harness::build::asset(DRAWINGS[0].script));
    let mut wish = Running::start(wish);
    wish.wait_line("ready");
    for connection in server.connections() {
        assert!(!connection.ring, "a TCP connection on shared memory: {connection:?}");
    }
    Screen::expect(&server, Mode::Hooked, &wanted);
    wish.succeed();
}

#[test]
fn the_servers_access_control_stays_in_force() {
    let dir = scratch();
    let authority = dir.path().join("authority");
    let file = authority.to_str().expect("a path in UTF-8");
    let server = Server::try_displays(|number| {
        let mut xauth = Command::new("xauth");
        let cookie = "00112233445566778899aabbccddeeff";
        xauth.args(["-f", file, "add", &format!(":{number}"), ".", cookie]);
        Running::start(xauth).succeed();
        let mut command = Mode::Hooked.command("Xvfb");
        command.args([&format!(":{number}"), "-noreset", "-auth", file]);
        command
    });
    for mode in [Mode::Plain, Mode::Hooked] {
        let mut refused = server.client(mode, "xdpyinfo");
        refused.env("XAUTHORITY", dir.path().join("none"));
        let refused = Running::start(refused).finish();
        assert_eq!(refused.status.code(), Some(1), "without the cookie, {mode:?}");
        assert!(refused.stderr.contains("unable to open display"), "{}", refused.stderr);
        let mut granted = server.client(mode, "xdpyinfo");
        granted.env("XAUTHORITY", &authority);
        assert!(Running::start(granted).succeed().contains("MIT-SHM"));
    }
}

#[test]
fn a_server_that_resets_takes_clients_again() {
    // Without -noreset, Xvfb starts afresh when its last client has gone.
    let server = Server::with(Mode::Hooked, &[]);
    for _ in 0..5 {
        let mut drawing = start_beside_a_reset(&server);
        server.expect_ring(&mut drawing, DRAWINGS[0].name, true);
        drawing.succeed();
    }
}

/// A drawing on a server that may be about to start afresh: that closes all connections, those of
/// clients that come at this moment included, with Slipway or without.
fn start_beside_a_reset(server: &Server) -> Running {
    const TRIES: u32 = 100;
    for _ in 0..TRIES {
        let mut drawing = DRAWINGS[0].run(server, Mode::Hooked);
        if drawing.next_line().is_some() {
            return drawing;
        }
        let ended = drawing.finish();
        assert!(ended.stderr.contains("connect"), "no lost connection: {ended:?}");
    }
    panic!("no client could connect in {TRIES} tries");
}

#[test]
fn a_server_that_is_a_client_too() {
    let [wanted, hooked] = [Mode::Plain, Mode::Hooked].map(|mode| {
        let host = Server::start(mode);
        let nested = Server::try_displays(|number| {
            let mut xephyr = host.client(mode, "Xephyr");
            xephyr.args([&format!(":{number}"), "-screen", "640x480", "-noreset", "-no-host-grab"]);
            xephyr
        });
        let mut drawing = DRAWINGS[0].start(&nested, mode);
        let screens = [&nested, &host].map(|server| Screen::settled(server, mode, 1000));
        if mode == Mode::Hooked {
            nested.expect_ring(&mut drawing, DRAWINGS[0].name, true);
            let xephyr = host.connections().into_iter().find(|c| c.name.starts_with("Xephyr"));
            assert!(xephyr.as_ref().is_some_and(|c| c.ring), "the nested server: {xephyr:?}");
        }
        drawing.succeed();
        screens
    });
    for (wanted, hooked) in wanted.iter().zip(&hooked) {
        assert!(wanted == hooked, "the screens differ: {}", hooked.difference(wanted));
    }
}

/// Its handler does no more than to set a flag, and the wait that the signal ends is followed by a look at it.
#[test]
fn a_signal_that_comes_while_the_server_looks_ends_its_wait() {
    let dir = scratch();
    let program = c_program("terminate", dir.path(), &["-lX11"]);
    for turn in 0..15 {
        // With a timer in the server, its next tick would end the wait.
        let mut server = Server::with(Mode::Hooked, &["-noreset", "-dumbSched"]);
        let mut client = server.client(Mode::Hooked, program.to_str().expect("UTF-8"));
        client.args([server.pid().to_string(), (turn % 5 * 10).to_string()]);
        let mut client = Running::start(client);
        client.wait_line("sent");
        assert!(server.ends(), "{}", server.errors());
    }
}

#[test]
fn a_signal_that_comes_while_a_client_looks_ends_its_wait() {
    let dir = scratch();
    let raises = c_program("raises", dir.path(), &["-shared", "-fPIC"]);
    let program = c_program("interrupted", dir.path(), &[raises.to_str().expect("UTF-8"), "-lX11"]);
    let server = Server::start(Mode::Hooked);
    let mut client = server.run(Mode::Hooked, program.to_str().expect("UTF-8"), &[]);
    client.wait_line("connected");
    server.expect_ring(&mut client, "interrupted", true);
    client.say("go");
    let said = client.succeed();
    assert!(said.ends_with("poll -1, EINTR, signal handled, awake\n"), "{said}");
}

#[test]
fn signal_handlers_are_what_the_program_has_set() {
    let dir = scratch();
    let program = c_program("handlers", dir.path(), &["-lX11"]);
    for mode in [Mode::Plain, Mode::Hooked] {
        let server = Server::start(mode);
        assert_eq!(server.output(mode, program.to_str().expect("UTF-8"), &[]), "done\n", "{mode:?}");
    }
}
