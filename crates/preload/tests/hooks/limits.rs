//! What a server refuses stays on its socket, works, and is told of once.

use rustix::process::{Resource, Rlimit, setrlimit};
use slipway_transport::status::Transport::{Ring, Socket};

use crate::support::{Server, hooked_output, watchdog::Step};

/// Makes `count` connections at once; all must work.
fn transports(count: usize) -> (Vec<slipway_transport::status::Transport>, Vec<u64>) {
    let _step = Step::begin("connections at a limit");
    let server = Server::listen();
    let connections: Vec<_> = (0..count).map(|_| server.fresh_connection()).collect();
    for _ in 0..3 {
        connections.iter().for_each(|c| c.exchange());
    }
    let status = server.status();
    assert_eq!(status.connections.len(), count);
    for connection in &status.connections {
        assert_eq!((connection.bytes_in, connection.bytes_out), (3, 3), "{connection:?}");
    }
    let mut found: Vec<_> = status.connections.iter().map(|c| c.transport).collect();
    found.sort_by_key(|t| *t == Socket);
    (found, status.connections.iter().map(|c| c.ring_bytes).collect())
}

/// How often standard error says that a client stays on its socket.
fn warnings(text: &str) -> usize {
    text.lines().filter(|line| line.starts_with("slipway: warning: ") && line.contains("stays on its socket")).count()
}

#[test]
fn one_client_on_shared_memory() {
    hooked_output(
        &[("SLIPWAY_X11_CLIENTS", "1")],
        || assert_eq!(transports(4).0, [Ring, Socket, Socket, Socket]),
        |outcome| {
            assert_eq!(warnings(&outcome.stderr), 1, "{}", outcome.stderr);
            assert!(outcome.stderr.contains("SLIPWAY_X11_CLIENTS"), "{}", outcome.stderr);
        },
    );
}

#[test]
fn little_memory_for_all() {
    // Two segments of two rings of 4 KiB and a page each.
    hooked_output(
        &[("SLIPWAY_X11_TOTAL", "24K")],
        || assert_eq!(transports(4).0, [Ring, Ring, Socket, Socket]),
        |outcome| {
            assert_eq!(warnings(&outcome.stderr), 1, "{}", outcome.stderr);
            assert!(outcome.stderr.contains("SLIPWAY_X11_TOTAL"), "{}", outcome.stderr);
        },
    );
}

#[test]
fn what_a_client_gives_up_another_can_have() {
    hooked_output(
        &[("SLIPWAY_X11_CLIENTS", "1")],
        || {
            let server = Server::listen();
            for _ in 0..5 {
                // Asserts that it is on the ring.
                drop(server.connection());
            }
            assert_eq!(server.status().granted_bytes, 0);
        },
        |outcome| assert_eq!(warnings(&outcome.stderr), 0, "{}", outcome.stderr),
    );
}

#[test]
fn a_large_wish_is_clamped() {
    hooked_output(
        &[("SLIPWAY_X11_RING", "1M"), ("SLIPWAY_X11_MAX", "16K")],
        || assert_eq!(transports(2), (vec![Ring, Ring], vec![16 << 10, 16 << 10])),
        |outcome| assert_eq!(warnings(&outcome.stderr), 0, "{}", outcome.stderr),
    );
}

#[test]
fn a_small_wish_is_raised() {
    hooked_output(
        &[("SLIPWAY_X11_RING", "4K"), ("SLIPWAY_X11_MIN", "32K")],
        || assert_eq!(transports(1), (vec![Ring], vec![32 << 10])),
        |outcome| assert_eq!(warnings(&outcome.stderr), 0, "{}", outcome.stderr),
    );
}

#[test]
fn less_memory_means_smaller_rings() {
    hooked_output(
        &[("SLIPWAY_X11_RING", "1M"), ("SLIPWAY_X11_TOTAL", "100K")],
        || assert_eq!(transports(1), (vec![Ring], vec![32 << 10])),
        |outcome| assert_eq!(warnings(&outcome.stderr), 0, "{}", outcome.stderr),
    );
}

/// A limit on the size of files counts for memory that is shared, too, and passing it would be a signal.
#[test]
fn small_files_only() {
    hooked_output(
        &[],
        || {
            let _step = Step::begin("a limit on the size of files");
            let server = Server::listen();
            let small = Rlimit { current: Some(8192), maximum: None };
            setrlimit(Resource::Fsize, small).expect("a limit");
            let connection = server.fresh_connection();
            (0..3).for_each(|_| connection.exchange());
            assert_eq!(server.transports(), [Socket]);
        },
        |outcome| assert_eq!(warnings(&outcome.stderr), 1, "{}", outcome.stderr),
    );
}

#[test]
fn switched_off_all_stay_on_their_sockets() {
    hooked_output(
        &[("SLIPWAY_X11", "off")],
        || {
            let server = Server::listen();
            let connection = server.fresh_connection();
            connection.exchange();
            assert!(slipway_transport::status::query(server.display).is_err(), "there is no hub");
        },
        |outcome| assert!(!outcome.stderr.contains("slipway:"), "{}", outcome.stderr),
    );
}

/// What a connection costs that is used little: no segment. One that goes on has it, and nothing is lost in between.
#[test]
fn memory_comes_with_use() {
    hooked_output(
        &[("SLIPWAY_X11_AFTER", "10")],
        || {
            let _step = Step::begin("use");
            let server = Server::listen();
            let few = server.fresh_connection();
            let many = server.fresh_connection();
            (0..4).for_each(|_| few.exchange());
            (0..40).for_each(|_| many.exchange());
            let status = server.status();
            let found: Vec<_> = status.connections.iter().map(|c| (c.transport, c.bytes_in, c.bytes_out)).collect();
            assert_eq!(found, [(Socket, 4, 4), (Ring, 40, 40)]);
            assert_eq!(status.connections[0].ring_bytes, 0);
            // As much as 40 KiB count like ten answers.
            let large = server.fresh_connection();
            large.wait_for();
            crate::support::calls::write_all(large.client, &[1; 40 << 10]);
            let mut left = 40 << 10;
            while left > 0 {
                left -= crate::support::calls::read_once(large.server, left).bytes.len();
            }
            assert_eq!(server.status().connections[2].ring_bytes, 4096);
        },
        |outcome| assert_eq!(warnings(&outcome.stderr), 0, "{}", outcome.stderr),
    );
}

/// Clients that were started together have used their connections enough at the same moment, and the server has not looked meanwhile.
#[test]
fn all_that_offer_together_are_heard() {
    use crate::support::{
        calls::{read_up_to, write_all},
        connection::Connection,
    };
    hooked_output(
        &[("SLIPWAY_X11_AFTER", "6")],
        || {
            let _step = Step::begin("many offers");
            let server = Server::listen();
            let connections: Vec<_> = (0..200).map(|_| server.fresh_connection()).collect();
            connections.iter().for_each(Connection::wait_for);
            for _ in 0..20 {
                connections.iter().for_each(|c| write_all(c.client, b"?"));
                for c in &connections {
                    assert_eq!(read_up_to(c.server, 1), b"?");
                    write_all(c.server, b"!");
                }
                connections.iter().for_each(|c| assert_eq!(read_up_to(c.client, 1), b"!"));
            }
            assert_eq!(server.transports(), [Ring; 200]);
        },
        |outcome| assert_eq!(warnings(&outcome.stderr), 0, "{}", outcome.stderr),
    );
}
