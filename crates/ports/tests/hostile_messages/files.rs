//! Descriptors that wait: they must keep no thread but the one that is there for them.

use super::*;
use std::{
    io::Write as _,
    net::{TcpListener, TcpStream},
    time::Duration,
};

/// A socket that waits when its last descriptor is closed, and the end for which it waits.
fn lingering() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let mut socket = TcpStream::connect(listener.local_addr().expect("its address")).expect("a connection");
    let (other, _) = listener.accept().expect("a connection");
    socket.set_nonblocking(true).expect("a flag");
    while socket.write(&[0; 4096]).is_ok() {}
    rustix::net::sockopt::set_socket_linger(&socket, Some(Duration::from_secs(3600))).expect("an option");
    (socket, other)
}

/// Threads that close such descriptors.
fn closers() -> usize {
    let tasks = std::fs::read_dir("/proc/self/task").expect("/proc").flatten();
    let name = |task: std::fs::DirEntry| std::fs::read_to_string(task.path().join("comm")).unwrap_or_default();
    tasks.map(name).filter(|name| name.trim() == "slipway-closer").count()
}

/// Has the victim drop a descriptor that waits, in some way. The peer's own is closed before.
type Attack = fn(&mut Line, u32, TcpStream);

/// Sends a descriptor ahead of its record.
fn ahead(line: &Line, socket: TcpStream) {
    objects::send(line.fd_socket.as_fd(), &[&[1]], &[socket.as_fd()]).expect("room");
}

/// A unix socket in whose queue the descriptor lies.
fn within(socket: TcpStream) -> OwnedFd {
    let (a, b) = objects::socket_pair().expect("sockets");
    objects::send(a.as_fd(), &[&[0]], &[socket.as_fd()]).expect("room");
    b
}

const ATTACKS: [Attack; 6] = [
    // In a request for a line, to a port that comes to the victim with it.
    |line, _, socket| {
        let (port, (a, _b)) = (Port::new(), objects::socket_pair().expect("sockets"));
        let request = [0x534d_0007u32, 512 << 10];
        objects::send(port.s.as_fd(), &[request.as_bytes()], &[a.as_fd(), a.as_fd(), socket.as_fd(), a.as_fd()]).expect("room");
        drop(socket);
        let (record, mut rest) = one_right(message(0), types::PORT_RECEIVE, right(form::RECEIVE, 0));
        rest.resize(rest.len() + size_of::<Luggage>(), 0);
        let record = Record { items: record.items + size_of::<Luggage>() as u32, fds: 2, ..record };
        line.write(&record, &rest, &[port.r.as_fd(), port.s.as_fd()]);
    },
    // In a record that is refused.
    |line, _, socket| {
        ahead(line, socket);
        line.write(&Record { kind: kind::WATCH, fds: 1, ..Record::default() }, &[], &[]);
        until("the victim closes the line", || line.is_closed());
    },
    // With a record that needs none.
    |line, _, socket| {
        ahead(line, socket);
        line.write(&Record { kind: kind::LOOK, fds: 1, ..Record::default() }, &[], &[]);
    },
    // On a socket that is not read any more.
    |line, _, socket| {
        ahead(line, socket);
        line.write(&message(77), &[], &[]);
    },
    // As the pipe of a right.
    |line, _, socket| {
        let port = Port::new();
        let (record, rest) = one_right(message(0), types::PORT_SEND, right(form::SEND, 0));
        let both = [port.s.as_fd(), socket.as_fd()];
        objects::send(line.fd_socket.as_fd(), &[&[2]], &both).expect("room");
        drop(socket);
        line.write(&Record { fds: 2, ..record }, &rest, &[]);
        until("the victim closes the line", || line.is_closed());
    },
    // Unread in a socket that is itself dropped.
    |line, _, socket| {
        let outer = within(socket);
        objects::send(line.fd_socket.as_fd(), &[&[1]], &[outer.as_fd()]).expect("room");
        drop(outer);
        line.write(&Record { kind: kind::LOOK, fds: 1, ..Record::default() }, &[], &[]);
    },
];

#[test]
fn a_descriptor_that_waits_keeps_nobody() {
    alone("files::a_descriptor_that_waits_keeps_nobody", friend, |test| {
        let mut friend = Friend::new(test);
        let own = receive_right();
        let (s, _t) = Task::current().export(own).expect("sockets");
        for attack in ATTACKS {
            let (socket, other) = lingering();
            let mut hostile = Line::make(&s);
            attack(&mut hostile, own, socket);
            until("the descriptor is closed", || {
                friend.round_trip();
                closers() == 1
            });
            // A new line, and the end of one, are heard of as ever.
            let mut line = Line::make(&s);
            line.write(&message(0), &[], &[]);
            until("a record is taken", || line.unread() == 0);
            line.write(&message(77), &[], &[]);
            until("the victim closes the line", || line.is_closed());
            friend.round_trip();
            until("the others are closed, and it is not over", || closers() == 1);
            drop(other);
            until("the connection is cut", || closers() == 0);
        }
        friend.end();
    });
}
