//! The connection in a process and the children that it forks.

use libc::{POLLIN, SHUT_WR, pid_t};
use slipway_fabric::sync::{AtomicBool, Ordering::Relaxed};
use slipway_transport::status::Transport;

use crate::support::{
    Connection, Fd, Server,
    calls::{call, child, good, identity, join, pipe, poll, read_up_to, write_all},
    connection::watch,
    hooked, messages,
    watchdog::{Step, at_step},
};

fn connected() -> (Server, Connection) {
    let server = Server::listen();
    let connection = server.connection();
    (server, connection)
}

#[test]
fn a_child_serves_its_parent() {
    hooked(|| {
        let _step = Step::begin("a child as the server");
        let (_server, c) = connected();
        let pid = child(|| {
            call!(close(c.client));
            for i in 0..2000_u32 {
                if read_up_to(c.server, 4) != i.to_ne_bytes() {
                    return false;
                }
                write_all(c.server, &(i + 1).to_ne_bytes());
            }
            read_up_to(c.server, 1).is_empty()
        });
        // Until here the parent holds the child's end too.
        call!(close(c.server));
        for i in 0..2000_u32 {
            write_all(c.client, &i.to_ne_bytes());
            if i % 5 == 0 {
                assert_eq!(poll(&[(c.client, POLLIN)], -1), Ok(vec![POLLIN]));
            }
            assert_eq!(read_up_to(c.client, 4), (i + 1).to_ne_bytes());
        }
        good(call!(shutdown(c.client, SHUT_WR)));
        join(pid);
    });
}

#[test]
fn both_go_on_with_one_end() {
    hooked(|| {
        let _step = Step::begin("one end in two processes");
        let (_server, c) = connected();
        write_all(c.client, b"before ");
        let pid = child(|| {
            write_all(c.client, b"child ");
            read_up_to(c.server, 13) == b"before child "
        });
        join(pid);
        write_all(c.client, b"parent");
        assert_eq!(read_up_to(c.server, 6), b"parent", "the child's reads count for the parent, too");
        write_all(c.server, b"reply");
        join(child(|| read_up_to(c.client, 2) == b"re"));
        assert_eq!(read_up_to(c.client, 3), b"ply");
    });
}

#[test]
fn turns_across_a_full_ring() {
    hooked(|| {
        let _step = Step::begin("parent and child in turn");
        let (_server, c) = connected();
        let data: Vec<u8> = (0..9000).map(|i| (i % 251) as u8).collect();
        for round in 0..20 {
            let part = &data[round * 400..][..900];
            let writer = child(|| {
                write_all(c.client, part);
                true
            });
            join(writer);
            if round % 2 == 0 {
                join(child(|| read_up_to(c.server, 900) == part));
            } else {
                assert!(read_up_to(c.server, 900) == part, "round {round}");
            }
        }
    });
}

#[test]
fn a_child_that_closes_or_exits_leaves_the_parents_connection_alone() {
    hooked(|| {
        let _step = Step::begin("a child closes");
        let (_server, c) = connected();
        join(child(|| {
            good(call!(close(c.client)));
            good(call!(close(c.server)));
            true
        }));
        c.exchange();
        join(child(|| true));
        c.exchange();
        // Also one that ends as programs do, with handlers that run at exit.
        let pid = good(call!(fork())) as pid_t;
        if pid == 0 {
            call!(exit(0));
        }
        join(pid);
        c.exchange();
        assert_eq!(poll(&[(c.client, POLLIN), (c.server, POLLIN)], 0), Ok(vec![0, 0]));
        // The hub is the parent's: new connections still get a ring.
        drop(c);
        let again = _server.connection();
        again.exchange();
    });
}

#[test]
fn the_end_comes_when_the_last_holder_closes() {
    hooked(|| {
        let _step = Step::begin("the last holder");
        let (_server, c) = connected();
        let (hold, release) = crate::support::calls::pipe();
        let pid = child(|| {
            call!(close(release));
            call!(close(c.client));
            // Holds the server's end until the parent says so.
            let over = read_up_to(hold, 1).is_empty();
            write_all(c.server, b"last");
            over
        });
        let server_end = c.server;
        good(call!(close(server_end)));
        assert_eq!(poll(&[(c.client, POLLIN)], 0), Ok(vec![0]), "the child holds it");
        call!(close(release));
        assert_eq!(read_up_to(c.client, 100), b"last");
        join(pid);
        call!(close(hold));
    });
}

#[test]
fn an_offer_without_an_answer_survives_a_fork() {
    hooked(|| {
        let _step = Step::begin("a fork before the answer");
        let server = Server::listen();
        let client = server.connect();
        let pid = child(|| {
            write_all(client, b"child");
            true
        });
        join(pid);
        let accepted = server.accept();
        write_all(client, b" parent");
        assert_eq!(read_up_to(accepted, 12), b"child parent");
        write_all(accepted, b"fine");
        assert_eq!(read_up_to(client, 4), b"fine");
        Connection { client, server: accepted }.exchange();
    });
}

#[test]
fn a_parent_that_ends_leaves_the_connection_to_its_child() {
    hooked(|| {
        let _step = Step::begin("a client that goes into the background");
        let server = Server::listen();
        let (told, tell) = pipe();
        let pid = child(|| {
            let client = server.connect();
            for _ in 0..5 {
                write_all(client, b"!");
                assert_eq!(read_up_to(client, 1), b"!");
            }
            child(|| {
                write_all(tell, &std::process::id().to_ne_bytes());
                read_up_to(client, 1).is_empty()
            });
            true
        });
        let accepted = server.accept();
        for _ in 0..5 {
            assert_eq!(read_up_to(accepted, 1), b"!");
            write_all(accepted, b"!");
        }
        join(pid);
        let heir = u32::from_ne_bytes(read_up_to(told, 4).try_into().expect("a number"));
        let status = server.status();
        let connection = &status.connections[0];
        assert_eq!((connection.pid, connection.transport), (heir, Transport::Ring), "{status:?}");
        call!(close(accepted));
    });
}

/// Each process has what it reads, whichever slept or read before, and nobody keeps what another has received.
#[test]
fn descriptors_go_to_the_process_that_reads() {
    hooked(|| {
        let _step = Step::begin("descriptors in turn");
        let (_server, c) = connected();
        let files: Vec<Fd> = (0..5).map(|_| call!(memfd_create(c"passed".as_ptr(), libc::MFD_CLOEXEC))).collect();
        let (output, input) = pipe();
        for file in &files {
            assert_eq!(messages::send(c.client, vec![b"!".to_vec()], &[*file], 0).value, 1);
        }
        assert_eq!(messages::send(c.client, vec![b"!".to_vec()], &[input], 0).value, 1);
        good(call!(close(input)));
        let receive = |file: Fd| {
            assert_eq!(poll(&[(c.server, POLLIN)], -1), Ok(vec![POLLIN]));
            let got = messages::receive(c.server, &[1], messages::space(1), 0);
            got.files == [(identity(file).0, identity(file).1, false)] && got.flags == 0
        };
        assert!(receive(files[0]));
        let (go, told) = (pipe(), pipe());
        let pid = child(|| {
            call!(close(go.1));
            let mut all = true;
            for file in [files[1], files[3]] {
                all &= read_up_to(go.0, 1) == b"!" && receive(file);
                write_all(told.1, b"!");
            }
            // Until the end of the pipe, of which it has nothing.
            all && read_up_to(go.0, 1) == b"!"
        });
        for file in [files[2], files[4]] {
            // It sleeps for something else while descriptors are there.
            assert_eq!(poll(&[(c.server, 0)], 20), Ok(vec![0]));
            write_all(go.1, b"!");
            assert_eq!(read_up_to(told.0, 1), b"!");
            assert!(receive(file));
        }
        assert_eq!(messages::receive(c.server, &[1], messages::space(1), 0).files.len(), 1);
        assert!(read_up_to(output, 1).is_empty());
        write_all(go.1, b"!");
        join(pid);
        c.exchange();
    });
}

/// A child has none of the threads that were in the hooks when the process forked, and waits for none of them.
#[test]
fn a_child_does_without_what_other_threads_were_at() {
    hooked(|| {
        let _step = Step::begin("forks beside threads in the hooks");
        let (server, c) = connected();
        let set = good(call!(epoll_create1(libc::EPOLL_CLOEXEC))) as Fd;
        watch(set, c.client, libc::EPOLLIN as u32, 1);
        let over = AtomicBool::new(false);
        let all = [(server.listener, POLLIN), (set, POLLIN), (c.client, POLLIN), (c.server, POLLIN)];
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let mut event = libc::epoll_event { events: 0, u64: 0 };
                while !over.load(Relaxed) {
                    good(call!(epoll_wait(set, &raw mut event, 1, 0)));
                }
            });
            scope.spawn(|| {
                while !over.load(Relaxed) {
                    assert_eq!(poll(&[(server.listener, POLLIN)], 0), Ok(vec![0]));
                }
            });
            let forks = std::panic::catch_unwind(|| {
                for step in 0..100 {
                    at_step(step);
                    join(child(|| {
                        call!(alarm(60));
                        poll(&all, 0).expect("an answer");
                        write_all(c.server, b"!");
                        read_up_to(c.server, 0);
                        true
                    }));
                    assert_eq!(read_up_to(c.client, 1), b"!");
                }
            });
            over.store(true, Relaxed);
            forks.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        });
        call!(close(set));
        server.connection().exchange();
    });
}
