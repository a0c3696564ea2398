//! Death at every phase, of either side, and a client that is stopped: real processes with the hooks.
//! Whoever survives learns of it, serves the others, and keeps nothing of the dead.

mod roles;
#[path = "../support/mod.rs"]
mod support;

use slipway_fabric::sync::{AtomicU32, Ordering::Relaxed};
use slipway_transport::status::{self, ServerStatus, Transport};
use std::{
    io::{BufRead, BufReader, Write},
    os::unix::{fs::PermissionsExt, process::ExitStatusExt},
    path::PathBuf,
    process::{Child, ChildStdin, Command, Stdio},
    sync::{
        LazyLock, Mutex, PoisonError,
        mpsc::{Receiver, channel},
    },
    time::Duration,
};
use support::connection::in_time;

/// A wait this long is one that nothing will end.
const WATCHDOG: Duration = Duration::from_secs(120);

/// The clients that are in the midst of something: nothing said yet, asleep, spinning or amid a
/// transfer, stuck at a full ring.
const PHASES: [&str; 4] = ["connected", "sleeper", "talker", "glutton"];

/// Never spinning, as usual, and spinning so long that death comes meanwhile.
const SPINS: [&str; 3] = ["0", "50", "1000000"];

/// What the processes of the other tests run: nothing without a role.
#[test]
fn role() {
    if let Ok(role) = std::env::var("SLIPWAY_TEST_ROLE") {
        let display = std::env::var("SLIPWAY_TEST_DISPLAY").expect("set with the role");
        roles::play(&role, display.parse().expect("a number"));
    }
}

fn runtime_dir() -> PathBuf {
    static DIR: LazyLock<PathBuf> = LazyLock::new(|| {
        let dir = std::env::temp_dir().join(format!("slipway-death-{}", std::process::id()));
        // SAFETY: every test comes here before it reads the environment.
        unsafe { std::env::set_var("SLIPWAY_RUNTIME_DIR", &dir) };
        dir
    });
    DIR.clone()
}

/// A test on its stage: a runtime directory that goes with the last of them, and a range of displays
/// that no other run of these tests has.
struct Place {
    first: u32,
}

static TESTS: Mutex<u32> = Mutex::new(0);

impl Place {
    fn enter() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let mut tests = TESTS.lock().unwrap_or_else(PoisonError::into_inner);
        *tests += 1;
        std::fs::create_dir_all(runtime_dir()).expect("make a directory");
        std::fs::set_permissions(runtime_dir(), PermissionsExt::from_mode(0o700)).expect("close it");
        Self { first: 100_000 + std::process::id() * 64 + NEXT.fetch_add(8, Relaxed) }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut tests = TESTS.lock().unwrap_or_else(PoisonError::into_inner);
        *tests -= 1;
        if *tests == 0 {
            let _ = std::fs::remove_dir_all(runtime_dir());
        }
        for display in self.first..self.first + 8 {
            let _ = std::fs::remove_file(format!("/tmp/.X11-unix/X{display}"));
        }
    }
}

/// A process with the hooks in one of the roles.
struct Actor {
    child: Child,
    orders: Option<ChildStdin>,
    said: Receiver<String>,
    role: String,
}

impl Actor {
    /// Starts it; it is in its phase when this returns.
    fn start(role: &str, display: u32, spin: &str) -> Self {
        let mut actor = Self::launch(role, display, spin);
        actor.expect("there");
        actor
    }

    fn launch(role: &str, display: u32, spin: &str) -> Self {
        Self::launch_at(role, display, spin, "full")
    }

    fn launch_at(role: &str, display: u32, spin: &str, stage: &str) -> Self {
        std::fs::create_dir_all("/tmp/.X11-unix").expect("the directory of the X sockets");
        let mut child = Command::new(std::env::current_exe().expect("the test program"))
            .args(["role", "--exact", "--nocapture", "--test-threads=1"])
            .env("SLIPWAY_TEST_ROLE", role)
            .env("SLIPWAY_TEST_DISPLAY", display.to_string())
            .env("SLIPWAY_RUNTIME_DIR", runtime_dir())
            .env("SLIPWAY_X11_RING", "64K")
            .env("SLIPWAY_X11_AFTER", "0")
            .env("SLIPWAY_X11_SPIN", spin)
            .env("SLIPWAY_X11_STAGE", stage)
            .env("LD_PRELOAD", support::hooked::library())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("start a process");
        let out = BufReader::new(child.stdout.take().expect("piped"));
        let (tell, said) = channel();
        std::thread::spawn(move || {
            for line in out.lines().map_while(Result::ok) {
                if let Some(said) = line.strip_prefix("@ ") {
                    let _ = tell.send(said.to_owned());
                }
            }
        });
        let orders = child.stdin.take();
        Self { child, orders, said, role: role.to_owned() }
    }

    /// The next thing it says.
    fn next(&mut self) -> String {
        self.said.recv_timeout(WATCHDOG).unwrap_or_else(|error| panic!("the {} says nothing: {error}", self.role))
    }

    fn expect(&mut self, what: &str) {
        let said = self.next();
        assert_eq!(said, what, "from the {}", self.role);
    }

    /// Has the good client make so many round trips.
    fn round_trips(&mut self, count: usize) {
        writeln!(self.orders.as_mut().expect("not ended"), "{count}").expect("it reads its orders");
        self.expect("done");
    }

    fn signal(&self, signal: libc::c_int) {
        // SAFETY: no pointers; the process is not reaped yet, so the number is its own.
        assert_eq!(unsafe { libc::kill(self.child.id() as libc::pid_t, signal) }, 0);
    }

    fn kill(mut self) {
        self.signal(libc::SIGKILL);
        assert_eq!(self.child.wait().expect("reap").signal(), Some(libc::SIGKILL));
    }

    /// Ends it in good order.
    fn end(mut self) {
        drop(self.orders.take());
        assert!(self.child.wait().expect("reap").success(), "the {} failed", self.role);
    }

    /// A server's holdings when it has had a client more: it keeps what one end remembered, for the next.
    fn holdings_after_a_client(&mut self, display: u32, spin: &str) -> (usize, usize) {
        Actor::start("sleeper", display, spin).kill();
        self.expect("gone");
        self.holdings()
    }

    /// Its descriptors other than eventfds, and its mappings of segments and of what an end remembers.
    fn holdings(&self) -> (usize, usize) {
        let maps = std::fs::read_to_string(format!("/proc/{}/maps", self.child.id())).expect("its mappings");
        let shared = |line: &&str| line.contains(" rw-s ");
        let (_, others) = self.descriptors();
        (others, maps.lines().filter(shared).count())
    }

    /// Its eventfds, of which a line has two as soon as it has rung often, and its other descriptors.
    fn descriptors(&self) -> (usize, usize) {
        let all = std::fs::read_dir(format!("/proc/{}/fd", self.child.id())).expect("its descriptors").flatten();
        let is_eventfd = |path: &PathBuf| std::fs::read_link(path).is_ok_and(|file| file.ends_with("anon_inode:[eventfd]"));
        let (eventfds, others): (Vec<_>, Vec<_>) = all.map(|entry| entry.path()).partition(is_eventfd);
        (eventfds.len(), others.len())
    }
}

impl Drop for Actor {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn status(display: u32) -> ServerStatus {
    in_time(|| status::query(display)).expect("the server answers")
}

fn rings(display: u32) -> usize {
    status(display).connections.iter().filter(|c| c.transport == Transport::Ring).count()
}

#[test]
fn a_server_outlives_clients_killed_at_every_phase() {
    a_server_outlives(1);
}

#[test]
#[ignore = "long: 60 kills"]
fn a_server_outlives_many_clients_killed_at_every_phase() {
    a_server_outlives(5);
}

/// Kills so many clients at each phase, for each way of spinning.
fn a_server_outlives(kills: usize) {
    let place = Place::enter();
    for (display, spin) in (place.first..).zip(SPINS) {
        let mut server = Actor::start("server", display, spin);
        let (eventfds, _) = server.descriptors();
        let mut good = Actor::start("good", display, spin);
        assert_eq!(rings(display), 1);
        good.round_trips(1);
        let before = server.holdings_after_a_client(display, spin);
        for phase in PHASES {
            for _ in 0..kills {
                let client = Actor::start(phase, display, spin);
                if phase != "connected" {
                    // By then the server has been round, and has seen the ring.
                    good.round_trips(1);
                    assert_eq!(rings(display), 2, "the {phase} is on a ring");
                }
                client.kill();
                server.expect("gone");
                good.round_trips(3);
            }
        }
        assert_eq!(server.holdings(), before);
        assert!(server.descriptors().0 <= eventfds + 2, "doorbells of lines that are gone");
        good.end();
        server.expect("gone");
        server.end();
    }
}

#[test]
fn thirty_killed_clients_leave_nothing_behind() {
    killed_clients_leave_nothing_behind(3);
}

#[test]
#[ignore = "long: 300 kills"]
fn three_hundred_killed_clients_leave_nothing_behind() {
    killed_clients_leave_nothing_behind(30);
}

/// Kills ten clients at a time.
fn killed_clients_leave_nothing_behind(times: usize) {
    let place = Place::enter();
    let display = place.first;
    let mut server = Actor::start("server", display, "50");
    let (eventfds, _) = server.descriptors();
    let mut good = Actor::start("good", display, "50");
    let before = server.holdings_after_a_client(display, "50");
    for n in 0..times {
        // Some are killed in their phase, some wherever they are on the way there.
        let clients: Vec<_> = (0..10).map(|i| Actor::launch(PHASES[(n + i) % 4], display, "50")).collect();
        let mut came = 0;
        for (i, mut client) in clients.into_iter().enumerate() {
            if i % 2 == 0 {
                client.expect("there");
                came += 1;
            }
            client.kill();
        }
        good.round_trips(1);
        for _ in 0..came {
            server.expect("gone");
        }
    }
    // Those killed underway may or may not have connected: the server says so in the order in which
    // it finds out, and the good client's departure is the last.
    good.end();
    let fewer = |after: (usize, usize)| after.0 < before.0 && after.1 < before.1;
    while !fewer(server.holdings()) {
        server.expect("gone");
    }
    assert_eq!(server.descriptors().0, eventfds, "doorbells of lines that are gone");
    assert_eq!(status(display).granted_bytes, 0);
    server.end();
}

#[test]
fn a_stopped_client_stops_nobody() {
    let place = Place::enter();
    let display = place.first;
    let mut server = Actor::start("server", display, "50");
    let mut good = Actor::start("good", display, "50");
    let stopped: Vec<_> = PHASES
        .iter()
        .map(|phase| {
            let client = Actor::start(phase, display, "50");
            client.signal(libc::SIGSTOP);
            good.round_trips(100);
            client
        })
        .collect();
    good.round_trips(500);
    // A late-comer gets in too, and those who were stopped go on where they were.
    let late = Actor::start("sleeper", display, "50");
    late.kill();
    server.expect("gone");
    for client in &stopped {
        client.signal(libc::SIGCONT);
        good.round_trips(10);
        client.signal(libc::SIGSTOP);
    }
    good.round_trips(100);
    for client in stopped {
        client.kill();
        server.expect("gone");
    }
    good.end();
    server.expect("gone");
    server.end();
}

/// At stage one every write rings, and the line's queue holds fewer bells than this client rings.
#[test]
fn a_stopped_server_finds_all_that_was_written_meanwhile() {
    let place = Place::enter();
    for (display, stage) in (place.first..).zip(["1", "2b", "full"]) {
        let mut server = Actor::launch_at("server", display, "50", stage);
        server.expect("there");
        let mut client = Actor::launch_at("dripper", display, "50", stage);
        client.expect("there");
        for _ in 0..5 {
            server.signal(libc::SIGSTOP);
            client.round_trips(2000);
            server.signal(libc::SIGCONT);
            client.expect("echoed");
            client.expect("again");
        }
        client.end();
        server.expect("gone");
        server.end();
    }
}

#[test]
fn clients_outlive_a_server_killed_at_every_phase() {
    let place = Place::enter();
    for (display, spin) in (place.first..).zip(SPINS) {
        let server = Actor::start("server", display, spin);
        let mut clients: Vec<_> = PHASES.iter().map(|phase| Actor::start(phase, display, spin)).collect();
        assert!(rings(display) >= 3);
        server.kill();
        for client in &mut clients {
            let said = client.next();
            let ways = ["over end", "over ConnectionReset", "over BrokenPipe", "over UnexpectedEof"];
            assert!(ways.contains(&said.as_str()), "the {} says {said}", client.role);
        }
        for client in clients {
            client.end();
        }
    }
}

#[test]
fn the_next_server_takes_the_place_of_a_killed_one() {
    let place = Place::enter();
    let display = place.first;
    let hub = || runtime_dir().join(format!("x11-{display}"));
    let server = Actor::start("server", display, "50");
    assert!(hub().exists());
    server.kill();
    assert!(status::query(display).is_err());
    let mut server = Actor::start("server", display, "50");
    let mut good = Actor::start("good", display, "50");
    good.round_trips(10);
    assert_eq!(rings(display), 1, "the new hub answers under the old name");
    good.end();
    server.expect("gone");
    server.end();
    let ours = |name: &str| name.ends_with(&format!("x11-{display}")) || name.contains(&format!("x11-{display}-"));
    let left: Vec<_> = std::fs::read_dir(runtime_dir())
        .expect("the runtime directory")
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| ours(name))
        .collect();
    assert!(left.is_empty(), "{left:?} is left behind");
}
