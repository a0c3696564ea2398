//! Real programs under `slipway sockets`: both ends, one of them, none, with the same results.

mod harness;

use harness::place::{ENDS, HANGS, Place, Serving, expect_rings};
use slipway_test_support::{built, output, succeed, until, watchdog};
use std::{fs, os::fd::OwnedFd, os::unix::fs::PermissionsExt, process::Command};

/// Where PostgreSQL's programs are, which no PATH has.
const POSTGRESQL: &str = "/usr/lib/postgresql";

#[test]
#[ignore = "long: a database, four times"]
fn redis() {
    let _watchdog = watchdog("redis", HANGS);
    for (server, client) in ENDS {
        let place = Place::new(None);
        let socket = place.path("redis.sock");
        let mut command = place.command(server, "redis-server");
        command.args(["--port", "0", "--save", "", "--unixsocket"]).arg(&socket);
        let _serving = Serving::start(command, &socket);
        let cli = |args: &[&str]| succeed(place.command(client, "redis-cli").arg("-s").arg(&socket).args(args));
        assert_eq!(cli(&["set", "key", &"x".repeat(50_000)]), "OK\n");
        assert_eq!(cli(&["get", "key"]).trim_end(), "x".repeat(50_000));
        for clients in ["1", "50"] {
            let mut bench = place.command(client, "redis-benchmark");
            let printed =
                succeed(bench.arg("-s").arg(&socket).args(["-q", "-n", "5000", "-c", clients, "-t", "get,set,lpush,lrange_100"]));
            assert!(printed.matches("requests per second").count() >= 4, "{printed}");
        }
        assert_eq!(cli(&["llen", "mylist"]), "20000\n");
        let mut bench = place.command(client, "redis-benchmark");
        bench.arg("-s").arg(&socket).args(["-q", "-n", "100000000", "-c", "3", "-t", "get"]);
        expect_rings(&place, &socket, (server, client), bench);
    }
}

#[test]
#[ignore = "long: a database, four times"]
fn postgresql() {
    let _watchdog = watchdog("postgresql", HANGS);
    let versions = fs::read_dir(POSTGRESQL).expect("scripts/setup.sh installs it");
    let bin =
        versions.flatten().map(|version| version.path().join("bin")).find(|bin| bin.join("initdb").exists()).expect("initdb");
    // Any user that is not root.
    let place = Place::new(rustix::process::getuid().is_root().then_some(65_534));
    succeed(place.command(false, bin.join("initdb")).args(["-A", "trust", "-U", "me", "-D"]).arg(place.path("data")));
    let mut results = Vec::new();
    for (server, client) in ENDS {
        let socket = place.path(".s.PGSQL.5432");
        let mut command = place.command(server, bin.join("postgres"));
        command.arg("-D").arg(place.path("data")).args(["-c", "listen_addresses=", "-c", "fsync=off", "-c"]);
        command.arg(format!("unix_socket_directories={}", place.dir.path().display()));
        let serving = Serving::start(command, &socket);
        let with = |program: &str, args: &[&str]| {
            let mut command = place.command(client, bin.join(program));
            command.arg("-h").arg(place.dir.path()).args(["-U", "me"]).args(args).arg("postgres");
            command
        };
        until("it answers", || output(&mut with("psql", &["-c", "select 1"])).status.success());
        succeed(&mut with("pgbench", &["-i", "-q"]));
        let printed = succeed(&mut with("pgbench", &["-S", "-n", "-c", "4", "-t", "300"]));
        assert!(printed.contains("1200/1200"), "{printed}");
        let query = "copy (select repeat(md5(i::text), 20) from generate_series(1, 5000) i) to stdout";
        results.push(succeed(&mut with("psql", &["-At", "-c", query])));
        expect_rings(&place, &socket, (server, client), with("pgbench", &["-S", "-n", "-c", "2", "-T", "60"]));
        if server {
            until("no connection is left", || place.status(&socket)["servers"][0]["granted_bytes"] == 0);
        }
        drop(serving);
    }
    assert!(results.iter().all(|result| *result == results[0] && result.len() > 3_000_000));
}

#[test]
#[ignore = "long: two servers, four times"]
fn nginx() {
    let _watchdog = watchdog("nginx", HANGS);
    for (server, client) in ENDS {
        let place = Place::new(None);
        let front = place.path("front.sock");
        let (dir, file) = (place.dir.path().display(), place.path("file"));
        fs::write(&file, vec![b'x'; 700_000]).expect("a file");
        fs::write(place.path("large"), vec![b'x'; 30_000_000]).expect("a file");
        fs::set_permissions(place.dir.path(), fs::Permissions::from_mode(0o755)).expect("open to the workers");
        let user = if rustix::process::getuid().is_root() { "user root;" } else { "" };
        let configuration = format!(
            "{user} worker_processes 3; daemon off; pid {dir}/pid; error_log {dir}/errors;
             events {{ worker_connections 200; }}
             http {{ access_log off;
                     upstream up {{ server unix:{dir}/upstream.sock; keepalive 4; }}
                     server {{ listen unix:{dir}/upstream.sock; root {dir}; }}
                     server {{ listen unix:{dir}/front.sock;
                               location / {{ proxy_pass http://up; proxy_http_version 1.1; proxy_set_header Connection \"\"; }} }} }}"
        );
        fs::write(place.path("nginx.conf"), configuration).expect("a file");
        let mut command = place.command(server, "/usr/sbin/nginx");
        command.arg("-c").arg(place.path("nginx.conf")).arg("-p").arg(place.dir.path());
        let _serving = Serving::start(command, &front);
        for _ in 0..30 {
            let mut curl = place.command(client, "curl");
            let got = output(curl.arg("-sS").arg("--unix-socket").arg(&front).arg("http://host/file"));
            assert_eq!((got.stdout.len(), String::from_utf8_lossy(&got.stderr).as_ref()), (700_000, ""));
        }
        if server {
            // Its own connections to the upstream, which are in an epoll set before they connect.
            until("an upstream is on shared memory", || place.connections(&place.path("upstream.sock"), "ring") > 0);
        }
        let mut curl = place.command(client, "curl");
        curl.args(["-sS", "--limit-rate", "500k", "-o", "/dev/null", "--unix-socket"]).arg(&front).arg("http://host/large");
        expect_rings(&place, &front, (server, client), curl);
    }
}

#[test]
#[ignore = "long: a bus and its clients, four times"]
fn dbus() {
    let _watchdog = watchdog("dbus", HANGS);
    for (server, client) in ENDS {
        let place = Place::new(None);
        let socket = place.path("bus");
        fs::write(
            place.path("bus.conf"),
            format!(
                "<busconfig><type>session</type><listen>unix:path={}</listen><auth>EXTERNAL</auth><policy context=\"default\">
                 <allow send_destination=\"*\"/><allow own=\"*\"/><allow receive_sender=\"*\"/></policy></busconfig>",
                socket.display()
            ),
        )
        .expect("a file");
        let mut command = place.command(server, "dbus-daemon");
        command.arg("--config-file").arg(place.path("bus.conf")).args(["--nofork", "--nopidfile"]);
        let _serving = Serving::start(command, &socket);
        let address = format!("unix:path={}", socket.display());
        let call = |method: &str| {
            let mut command = place.command(client, "dbus-send");
            command.env("DBUS_SESSION_BUS_ADDRESS", &address).args([
                "--session",
                "--print-reply",
                "--dest=org.freedesktop.DBus",
                "/",
            ]);
            succeed(command.arg(format!("org.freedesktop.DBus.{method}")))
        };
        for _ in 0..20 {
            assert!(call("ListNames").contains("\"org.freedesktop.DBus\""));
        }
        // Who the caller is, by the socket's credentials.
        let mut own = place.command(client, "dbus-send");
        own.env("DBUS_SESSION_BUS_ADDRESS", &address).args(["--session", "--print-reply", "--dest=org.freedesktop.DBus", "/"]);
        let printed = succeed(own.args(["org.freedesktop.DBus.GetConnectionUnixUser", "string:org.freedesktop.DBus"]));
        assert!(printed.contains(&format!("uint32 {}", rustix::process::getuid().as_raw())), "{printed}");
        let mut monitor = place.command(client, "dbus-monitor");
        monitor.env("DBUS_SESSION_BUS_ADDRESS", &address).arg("--session");
        expect_rings(&place, &socket, (server, client), monitor);
    }
}

#[test]
fn a_listening_socket_from_systemd() {
    let _watchdog = watchdog("socket activation", HANGS);
    let place = Place::new(None);
    let socket = place.path("bus");
    // As systemd passes it: made by another process, number 3 in the server.
    let listener = std::os::unix::net::UnixListener::bind(&socket).expect("binds");
    fs::write(
        place.path("bus.conf"),
        "<busconfig><type>session</type><listen>systemd:</listen><auth>EXTERNAL</auth><policy context=\"default\">
         <allow send_destination=\"*\"/><allow own=\"*\"/><allow receive_sender=\"*\"/></policy></busconfig>",
    )
    .expect("a file");
    let mut command = place.command(false, "sh");
    command.args(["-c", "exec 3<&0 </dev/null; LISTEN_PID=$$ LISTEN_FDS=1 exec \"$@\"", "sh"]).stdin(OwnedFd::from(listener));
    command.arg(built("slipway")).args(["sockets", "--", "dbus-daemon"]);
    command.arg("--config-file").arg(place.path("bus.conf")).args(["--nofork", "--nopidfile"]);
    let _serving = Serving::start(command, &socket);
    let status = || output(place.command(false, built("slipway")).args(["sockets", "status"]).arg(&socket)).status.success();
    until("the server has a hub", status);
    let mut monitor = place.command(true, "dbus-monitor");
    monitor.env("DBUS_SESSION_BUS_ADDRESS", format!("unix:path={}", socket.display())).arg("--session");
    expect_rings(&place, &socket, (true, true), monitor);
}

#[test]
fn a_choice_from_the_file_and_from_options() {
    let place = Place::new(None);
    fs::create_dir(place.path("slipway")).expect("a directory");
    fs::write(place.path("slipway/sockets.toml"), "only = [\"/run/*\"]\nnot = [\"*/bus\"]\n").expect("a file");
    let chosen = |options: &[&str]| {
        let mut command = Command::new(built("slipway"));
        command.arg("sockets").args(options).args(["--", "sh", "-c", "echo $SLIPWAY_SOCKETS"]).env_remove("SLIPWAY_SOCKETS");
        succeed(command.env("XDG_CONFIG_HOME", place.dir.path()).env("SLIPWAY_PRELOAD", built("libslipway_preload.so")))
    };
    assert_eq!(chosen(&[]), "all:+/run/*:-*/bus\n");
    assert_eq!(chosen(&["--only", "/a", "--only", "/b"]), "all:+/a:+/b:-*/bus\n");
    fs::write(place.path("slipway/sockets.toml"), "ownly = []\n").expect("a file");
    let mut command = place.command(true, "true");
    let refused = output(&mut command);
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("sockets.toml"), "{refused:?}");
}

#[test]
fn a_home_that_is_closed_to_the_user_has_no_choice() {
    use std::os::unix::fs::PermissionsExt as _;
    let place = Place::new(None);
    let home = place.path("slipway");
    fs::create_dir(&home).expect("a directory");
    fs::write(home.join("sockets.toml"), "only = [\"/run/*\"]\n").expect("a file");
    fs::set_permissions(&home, fs::Permissions::from_mode(0o000)).expect("its owner's directory");
    // Root enters all the same, unless it has given its capabilities away.
    let mut command = Command::new("setpriv");
    command.args(["--bounding-set", "-all", "--inh-caps", "-all"]);
    if !rustix::process::geteuid().is_root() {
        command = Command::new("env");
    }
    command.arg(built("slipway")).args(["sockets", "--", "sh", "-c", "echo $SLIPWAY_SOCKETS"]).env_remove("SLIPWAY_SOCKETS");
    let chosen = succeed(command.env("XDG_CONFIG_HOME", place.dir.path()).env("SLIPWAY_PRELOAD", built("libslipway_preload.so")));
    fs::set_permissions(&home, fs::Permissions::from_mode(0o700)).expect("its owner's directory");
    assert_eq!(chosen, "all\n");
}
