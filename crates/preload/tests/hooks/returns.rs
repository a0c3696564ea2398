//! A connection goes back to its socket while both ends send as fast as they can, with descriptors in
//! between: nothing is lost, and all stays in order.

use std::thread;

use libc::{POLLIN, SOL_SOCKET};

use crate::support::{
    Fd, Server,
    calls::{call, close_all, good, identity, pipe, poll, write_all},
    hooked, hooked_with,
    messages::{self, space},
    watchdog::Step,
};

/// Messages each way; each is one byte longer than the one before, up to a point, and all begin with
/// their number.
const MESSAGES: usize = 400;

/// The message of a number, and the descriptor that goes with it, if one does.
fn message(number: usize, files: &[Fd]) -> (Vec<u8>, Option<Fd>) {
    let length = 4 + (number * 37) % 1500;
    let mut bytes = vec![(number % 251) as u8; length];
    bytes[..4].copy_from_slice(&(number as u32).to_ne_bytes());
    (bytes, (number % 7 == 3).then(|| files[number % files.len()]))
}

/// Puts the connection on its socket, by a call that changes nothing else.
fn give_back(fd: Fd) {
    let off = 0_i32;
    good(call!(setsockopt(fd, SOL_SOCKET, libc::SO_PASSCRED, (&raw const off).cast(), 4)));
}

fn send_all(fd: Fd, files: &[Fd], return_at: Option<usize>) {
    for number in 0..MESSAGES {
        if return_at == Some(number) {
            give_back(fd);
        }
        let (bytes, file) = message(number, files);
        let first = messages::send(fd, vec![bytes.clone()], file.as_slice(), 0);
        assert_eq!(first.value as usize, bytes.len(), "a blocking send sends all: {first:?}");
    }
}

fn receive_all(fd: Fd, files: &[Fd]) {
    let mut came = Vec::new();
    let mut bytes = Vec::new();
    let expected: usize = (0..MESSAGES).map(|n| message(n, files).0.len()).sum();
    while bytes.len() < expected {
        let before = bytes.len();
        let got = messages::receive(fd, &[1 + before % 3000], space(4), 0);
        assert!(got.value > 0, "{got:?} after {before} bytes");
        bytes.extend(got.bytes);
        // Descriptors come with a read that ends in, or with, their message.
        came.extend(got.files.into_iter().map(|(device, inode, _)| ((device, inode), before, bytes.len())));
    }
    let mut place = 0;
    let mut came = came.into_iter();
    for number in 0..MESSAGES {
        let (expected, file) = message(number, files);
        assert!(bytes[place..place + expected.len()] == expected, "message {number} at {place}");
        if let Some(file) = file {
            let (found, from, to) = came.next().expect("its descriptor came");
            assert_eq!(found, identity(file), "the descriptor of message {number}");
            assert!(from <= place && place < to && to <= place + expected.len(), "message {number} at {place}: {from}..{to}");
        }
        place += expected.len();
    }
    assert!(came.next().is_none(), "no descriptor too many");
}

/// Both ends send and receive at once; at message `return_at` of `returner` it goes back.
fn exchange(server: &Server, returner: usize, return_at: usize) {
    let c = server.connection();
    let files: Vec<_> = (0..3).map(|_| good(call!(memfd_create(c"passed".as_ptr(), libc::MFD_CLOEXEC))) as Fd).collect();
    let pipes = [pipe(), pipe()];
    thread::scope(|scope| {
        for (end, fd) in [c.client, c.server].into_iter().enumerate() {
            let (files, all_came, other_done) = (&files, pipes[end].1, pipes[1 - end].0);
            let at = (end == returner || returner == 2).then_some(return_at);
            scope.spawn(move || {
                send_all(fd, files, at);
                // As programs do, waits: what the other end wants back is sent from here.
                poll(&[(fd, 0), (other_done, POLLIN)], -1).expect("poll");
            });
            scope.spawn(move || {
                receive_all(fd, files);
                write_all(all_came, b"!");
            });
        }
    });
    close_all(pipes.into_iter().flat_map(|(output, input)| [output, input]));
    close_all(files);
}

fn returns(rounds: usize) {
    let server = Server::listen();
    for round in 0..rounds {
        let _step = Step::begin("a return under load");
        exchange(&server, round % 3, (round * 53) % MESSAGES);
    }
}

#[test]
fn a_return_under_load_loses_nothing() {
    hooked(|| returns(45));
}

#[test]
fn nor_in_a_ring_with_room() {
    hooked_with(&[("SLIPWAY_X11_RING", "256K")], || returns(45));
}
