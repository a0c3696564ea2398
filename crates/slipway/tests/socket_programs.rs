//! More programs under `slipway sockets`, each over its own protocol: both ends, one of them, none, with the same results.

mod harness;

use harness::build::asset;
use harness::place::{ENDS, HANGS, Place, Serving, expect_rings};
use slipway_test_support::{output, succeed, until, watchdog};
use std::{
    fs,
    io::{BufRead, BufReader},
    os::unix::fs::PermissionsExt,
    process::{Command, Stdio},
};

#[test]
#[ignore = "long: a database, four times"]
fn mariadb() {
    let _watchdog = watchdog("mariadb", HANGS);
    let place = Place::new(None);
    // It asks to be told that root is meant.
    let user = if rustix::process::getuid().is_root() { "--user=root" } else { "--skip-external-locking" };
    let data = format!("--datadir={}", place.path("data").display());
    succeed(place.command(false, "mariadb-install-db").args(["--no-defaults", "--skip-test-db", user, &data]));
    let mut dumps = Vec::new();
    for (server, client) in ENDS {
        let socket = place.path("socket");
        let of_socket = format!("--socket={}", socket.display());
        let mut command = place.command(server, "/usr/sbin/mariadbd");
        command.args(["--no-defaults", user, &data, &of_socket, "--skip-networking"]);
        command.arg(format!("--pid-file={}", place.path("pid").display()));
        let serving = Serving::start(command, &socket);
        let with = |program: &str, args: &[&str]| {
            let mut command = place.command(client, program);
            command.args(["--no-defaults", &of_socket, "-u", "root"]).args(args);
            command
        };
        until("it answers", || output(&mut with("mariadb", &["-e", "select 1"])).status.success());
        let rows = "create database if not exists d; use d; create or replace table t (i int primary key, s text);
                    insert into t select seq, repeat(md5(seq), seq % 200) from seq_1_to_3000; select count(*), sum(length(s)) from t";
        assert_eq!(succeed(&mut with("mariadb", &["-N", "-e", rows])), "3000\t9552000\n");
        dumps.push(succeed(&mut with("mariadb-dump", &["--skip-comments", "d"])));
        expect_rings(&place, &socket, (server, client), with("mariadb", &["-e", "select sleep(60)"]));
        // It ends by a request of its own protocol, and holds signals back.
        succeed(&mut with("mariadb-admin", &["shutdown"]));
        drop(serving);
    }
    assert!(dumps.iter().all(|dump| *dump == dumps[0] && dump.len() > 9_000_000));
}

/// The compositor's clients pass it descriptors of memory, and get some.
#[test]
#[ignore = "long: a compositor and its clients, four times"]
fn wayland() {
    let _watchdog = watchdog("weston", HANGS);
    let mut globals = Vec::new();
    for (server, client) in ENDS {
        let place = Place::new(None);
        let socket = place.path("run/display");
        let command = |hooked, program| {
            let mut command = place.command(hooked, program);
            command.env("XDG_RUNTIME_DIR", place.path("run")).env("WAYLAND_DISPLAY", "display");
            command
        };
        let mut weston = command(server, "weston");
        weston.args(["--backend=headless-backend.so", "--socket=display", "--idle-time=0"]).env_remove("WAYLAND_DISPLAY");
        let _serving = Serving::start(weston, &socket);
        let printed = succeed(&mut command(client, "weston-info"));
        globals.push(printed.lines().filter(|line| line.starts_with("interface:")).map(str::to_owned).collect::<Vec<_>>());
        let mut drawing =
            command(client, "weston-simple-shm").env("WAYLAND_DEBUG", "1").stderr(Stdio::piped()).spawn().expect("starts");
        let said = BufReader::new(drawing.stderr.take().expect("a pipe")).lines();
        let frames = said.map_while(Result::ok).filter(|line| line.contains("wl_callback@") && line.contains(".done(")).take(50);
        assert_eq!(frames.count(), 50, "it draws a frame when the last was shown");
        let _ = drawing.kill();
        let _ = drawing.wait();
        expect_rings(&place, &socket, (server, client), command(client, "weston-simple-shm"));
    }
    assert!(globals.iter().all(|of_ends| *of_ends == globals[0] && !of_ends.is_empty()));
}

const GRPC: &str = "
import grpc, sys
from concurrent import futures
same = lambda data: data
address = 'unix:' + sys.argv[2]
if sys.argv[1] == 'server':
    class Echo(grpc.GenericRpcHandler):
        def service(self, details):
            return grpc.unary_unary_rpc_method_handler(lambda data, context: data, request_deserializer=same, response_serializer=same)
    server = grpc.server(futures.ThreadPoolExecutor(4))
    server.add_generic_rpc_handlers((Echo(),))
    server.add_insecure_port(address)
    server.start()
    server.wait_for_termination()
with grpc.insecure_channel(address) as channel:
    echo = channel.unary_unary('/test/echo', request_serializer=same, response_deserializer=same)
    assert echo(b'x' * 3000000, wait_for_ready=True) == b'x' * 3000000
    count = int(sys.argv[3])
    for number in range(count):
        assert echo(b'%d' % number) == b'%d' % number
";

#[test]
#[ignore = "long: two programs in Python, four times"]
fn grpc() {
    let _watchdog = watchdog("grpc", HANGS);
    for (server, client) in ENDS {
        let place = Place::new(None);
        let socket = place.path("socket");
        fs::write(place.path("echo.py"), GRPC).expect("a file");
        let run = |hooked, what: &str, count: &str| {
            let mut command = place.command(hooked, "/usr/bin/python3");
            command.arg(place.path("echo.py")).arg(what).arg(&socket).arg(count);
            command
        };
        let _serving = Serving::start(run(server, "server", "0"), &socket);
        succeed(&mut run(client, "client", "300"));
        expect_rings(&place, &socket, (server, client), run(client, "client", "100000000"));
    }
}

/// Calls of several threads at once, by callbacks and by completion queues.
#[test]
#[ignore = "long: two programs in C++ that are compiled, four times"]
fn grpc_in_cpp() {
    let _watchdog = watchdog("grpc in C++", HANGS);
    let built = Place::new(None);
    let program = built.path("grpc");
    let mut compiler = Command::new("g++");
    compiler.args(["-std=c++17", "-Wall", "-Werror", "-o"]).arg(&program).arg(asset("c/grpc.cc"));
    succeed(compiler.args(["-lgrpc++", "-lgrpc", "-lgpr", "-labsl_synchronization", "-pthread"]));
    for (server, client) in ENDS {
        let place = Place::new(None);
        let socket = place.path("socket");
        let run = |hooked, what: &str, count: &str| {
            let mut command = place.command(hooked, &program);
            command.arg(what).arg(&socket).arg(count);
            command
        };
        let _serving = Serving::start(run(server, "server", "0"), &socket);
        succeed(&mut run(client, "client", "300"));
        expect_rings(&place, &socket, (server, client), run(client, "client", "100000000"));
    }
}

/// Workers that are forked before they accept, and a proxy that keeps its connections to them.
#[test]
#[ignore = "long: two servers, four times"]
fn php() {
    let _watchdog = watchdog("php-fpm", HANGS);
    let programs = fs::read_dir("/usr/sbin").expect("a directory").flatten().map(|entry| entry.path());
    let fpm = programs.into_iter().find(|path| path.to_string_lossy().starts_with("/usr/sbin/php-fpm"));
    let fpm = fpm.expect("scripts/setup.sh installs it");
    for (server, client) in ENDS {
        let place = Place::new(None);
        let (dir, socket) = (place.dir.path().display(), place.path("fpm"));
        fs::set_permissions(place.dir.path(), fs::Permissions::from_mode(0o755)).expect("open to the workers");
        let root = rustix::process::getuid().is_root();
        let (user, nginx_user) = if root { ("user=root\ngroup=root", "user root;") } else { ("", "") };
        fs::write(
            place.path("fpm.conf"),
            format!(
                "[global]\nerror_log={dir}/errors\ndaemonize=no\n[www]\n{user}\nlisten={dir}/fpm\npm=static\npm.max_children=3\n"
            ),
        )
        .expect("a file");
        fs::write(place.path("i.php"), "<?php echo str_repeat('0123456789', 70000), md5(file_get_contents('php://input'));")
            .expect("a file");
        fs::write(
            place.path("nginx.conf"),
            format!(
                "{nginx_user} daemon off; pid {dir}/pid; error_log {dir}/errors; events {{ }}
                 http {{ access_log off; client_body_temp_path {dir}/body; fastcgi_temp_path {dir}/fastcgi; proxy_temp_path {dir}/proxy;
                         uwsgi_temp_path {dir}/uwsgi; scgi_temp_path {dir}/scgi; client_max_body_size 10m;
                         upstream php {{ server unix:{dir}/fpm; keepalive 2; }}
                         server {{ listen unix:{dir}/front;
                                   location / {{ fastcgi_pass php; fastcgi_keep_conn on; fastcgi_param SCRIPT_FILENAME {dir}/i.php;
                                                 fastcgi_param REQUEST_METHOD $request_method; fastcgi_param CONTENT_LENGTH $content_length;
                                                 fastcgi_param CONTENT_TYPE $content_type; }} }} }}"
            ),
        )
        .expect("a file");
        let mut command = place.command(server, &fpm);
        command.arg("--fpm-config").arg(place.path("fpm.conf"));
        if root {
            command.arg("--allow-to-run-as-root");
        }
        let _serving = Serving::start(command, &socket);
        let mut nginx = place.command(client, "/usr/sbin/nginx");
        nginx.arg("-c").arg(place.path("nginx.conf")).arg("-p").arg(place.dir.path());
        let _front = Serving::start(nginx, &place.path("front"));
        fs::write(place.path("sent"), "x".repeat(2_000_000)).expect("a file");
        for _ in 0..10 {
            let mut curl = Command::new("curl");
            curl.arg("-sS").arg("--unix-socket").arg(place.path("front")).arg("--data-binary");
            let printed = succeed(curl.arg(format!("@{}", place.path("sent").display())).arg("http://host/"));
            assert_eq!(printed.len(), 700_032);
            assert!(printed.ends_with("939ee55a36872cb4222e09cced62a7b5"), "{}", &printed[700_000..]);
        }
        if server {
            let transport = if client { "ring" } else { "socket" };
            until("a worker has its connection", || place.connections(&socket, transport) > 0);
        }
    }
}

#[test]
#[ignore = "long: a sound server and its clients, four times"]
fn pulseaudio() {
    let _watchdog = watchdog("pulseaudio", HANGS);
    for (server, client) in ENDS {
        let place = Place::new(None);
        let socket = place.path("socket");
        let surroundings = |command: &mut Command| {
            command.env("HOME", place.dir.path()).env("XDG_RUNTIME_DIR", place.path("run"));
            command.env("PULSE_SERVER", format!("unix:{}", socket.display()));
        };
        let mut command = place.command(server, "pulseaudio");
        command.args(["-n", "--exit-idle-time=-1", "--daemonize=no", "--load=module-null-sink rate=48000", "--load"]);
        command.arg(format!("module-native-protocol-unix socket={} auth-anonymous=1", socket.display()));
        surroundings(&mut command);
        let _serving = Serving::start(command, &socket);
        let with = |program: &str, args: &[&str]| {
            let mut command = place.command(client, program);
            surroundings(command.args(args));
            command
        };
        assert!(succeed(&mut with("pactl", &["info"])).contains("Server Name: pulseaudio"));
        // Half a second of it.
        fs::write(place.path("sound"), vec![0; 96_000]).expect("a file");
        succeed(&mut with("pacat", &["--rate=48000", "--raw", place.path("sound").to_str().expect("UTF-8")]));
        // It passes its credentials as messages, which only the kernel can: the connection stays on its socket.
        expect_rings(&place, &socket, (server, false), with("pactl", &["subscribe"]));
    }
}

#[test]
#[ignore = "long: an agent and its clients, four times"]
fn ssh_agent() {
    let _watchdog = watchdog("ssh-agent", HANGS);
    let keys = Place::new(None);
    succeed(keys.command(false, "ssh-keygen").args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(keys.path("key")));
    for (server, client) in ENDS {
        let place = Place::new(None);
        let socket = place.path("socket");
        let mut command = place.command(server, "ssh-agent");
        command.arg("-D").arg("-a").arg(&socket);
        let _serving = Serving::start(command, &socket);
        let add = |args: &[&str]| succeed(place.command(client, "ssh-add").env("SSH_AUTH_SOCK", &socket).args(args));
        add(&["-q", keys.path("key").to_str().expect("UTF-8")]);
        assert!(add(&["-l"]).contains("ED25519"));
        // It signs, and the signature is good.
        add(&["-T", keys.path("key.pub").to_str().expect("UTF-8")]);
    }
}
