//! Send rights to third parties' ports whose descriptors are left in the line's own socket.

use super::bundles::{Held, held, hung_up, identities, is_dead, message, reaches};
use super::moves::line_of_ours;
use super::*;

/// A line of ours to a port of the library's, with which rights come.
struct Giver {
    line: Line,
    own: u32,
}

/// The record of a message with rights to ports of these identities, whose descriptors are in a packet of the line's socket.
fn record_of(identities: &[u64]) -> (Record, Vec<u8>) {
    let numbers: Vec<u32> = (0..identities.len() as u32).collect();
    let (record, mut rest) = message(0, &numbers, identities);
    let at = rest.len() - size_of::<ItemHead>() - 8 * identities.len();
    rest[at..][..4].copy_from_slice(&item::QUEUED.to_le_bytes());
    (Record { kind: kind::MESSAGE, fds: 0, ..record }, rest)
}

impl Giver {
    fn new() -> Self {
        let own = receive_right();
        Self { line: line_of_ours(own), own }
    }

    /// Sends a packet of descriptors, and behind it the record with these identities.
    fn write(&mut self, identities: &[u64], fds: &[BorrowedFd<'_>]) {
        objects::send(self.line.fd_socket.as_fd(), &[&[fds.len() as u8]], fds).expect("room");
        let (record, rest) = record_of(identities);
        self.line.write(&record, &rest, &[]);
    }

    /// Gives the library the right, and keeps nothing of it but the port: its name there, and the pipe.
    fn give(&mut self, it: Held) -> (u32, Port, OwnedFd) {
        self.write(&[it.port.identity()], &[it.port.s.as_fd(), it.write.as_fd()]);
        (receive(self.own).u32(40), it.port, it.read)
    }
}

fn deallocate(name: u32) {
    Task::current().deallocate(name).expect("a right");
}

/// Gives up a right that is dead a moment after it came, or was already then.
fn give_up(name: u32) {
    if name != slipway_ports::abi::DEAD {
        deallocate(name);
    }
}

#[test]
fn a_right_alone_is_used_and_given_up() {
    let mut giver = Giver::new();
    let (used, port, pipe) = giver.give(held());
    reaches(used, &port);
    deallocate(used);
    hung_up(&pipe);
    // One that is never used, alone and with others.
    let (unused, _port, pipe) = giver.give(held());
    assert!(!objects::hung_up(&pipe));
    deallocate(unused);
    hung_up(&pipe);
    let given: Vec<_> = (0..5).map(|_| giver.give(held())).collect();
    given.iter().step_by(2).for_each(|(name, ..)| deallocate(*name));
    given.iter().step_by(2).for_each(|(.., pipe)| hung_up(pipe));
    given.iter().skip(1).step_by(2).for_each(|(name, port, pipe)| {
        assert!(!objects::hung_up(pipe));
        reaches(*name, port);
    });
}

/// Descriptors come in the order of the records that they belong to.
#[test]
fn a_record_with_descriptors_finds_its_own() {
    let mut giver = Giver::new();
    let (first, port, _pipe) = giver.give(held());
    let other = held();
    let (record, rest) = with_right(message(0, &[], &[]).0, WireRight { form: form::SEND, value: 0 }, &[], 2);
    let record = Record { kind: kind::MESSAGE, target: 0, ..record };
    giver.line.write(&record, &rest, &[other.port.s.as_fd(), other.write.as_fd()]);
    let second = receive(giver.own).u32(40);
    reaches(second, &other.port);
    reaches(first, &port);
    let (third, port, _pipe) = giver.give(held());
    let (fourth, last, _pipe) = giver.give(held());
    reaches(fourth, &last);
    reaches(third, &port);
}

/// The right is its holder's, whatever becomes of the one that gave it.
#[test]
fn a_right_outlives_the_line_that_it_came_over() {
    let mut giver = Giver::new();
    let (name, port, pipe) = giver.give(held());
    let (other, _port, gone) = giver.give(held());
    deallocate(other);
    drop(giver);
    reaches(name, &port);
    hung_up(&gone);
    deallocate(name);
    hung_up(&pipe);
}

/// More than are left in the socket at a time, and more than it holds.
#[test]
fn many_rights_come_one_by_one() {
    let mut giver = Giver::new();
    let given: Vec<_> = (0..400).map(|_| giver.give(held())).collect();
    given.iter().step_by(50).for_each(|(name, port, _)| reaches(*name, port));
    given.iter().for_each(|(name, ..)| deallocate(*name));
    given.iter().for_each(|(.., pipe)| hung_up(pipe));
    assert!(!giver.line.is_closed());
}

/// Descriptors in the queues of this process's sockets.
fn in_queues() -> usize {
    let infos = std::fs::read_dir("/proc/self/fdinfo").expect("fdinfo").flatten();
    let infos = infos.filter_map(|info| std::fs::read_to_string(info.path()).ok());
    let count = |info: String| info.lines().find_map(|line| line.strip_prefix("scm_fds:")?.trim().parse::<usize>().ok());
    infos.filter_map(count).sum()
}

/// In a process of its own, whose queues no other test fills.
#[test]
fn what_is_left_unread_is_bounded() {
    if role().is_none() {
        let mut child = start("queued::what_is_left_unread_is_bounded", "giver", receive_right());
        assert!(child.wait().expect("its end").success());
        return;
    }
    let mut kept = Vec::new();
    let mut givers: Vec<Giver> = (0..10).map(|_| Giver::new()).collect();
    tools::until("the lines are made", || in_queues() == 0);
    kept.extend((0..40).map(|_| givers[0].give(held())));
    let queued = in_queues();
    assert!(queued <= 32, "of a line: {queued}");
    tools::until("what is left unread is taken", || in_queues() == 0);
    // Written first and received at once, which takes less than the time after which it is taken anyway.
    let held: Vec<Held> = (0..140).map(|_| held()).collect();
    for (number, it) in held.iter().enumerate() {
        givers[number / 14].write(&[it.port.identity()], &[it.port.s.as_fd(), it.write.as_fd()]);
    }
    kept.extend(held.into_iter().enumerate().map(|(number, it)| (receive(givers[number / 14].own).u32(40), it.port, it.read)));
    let queued = in_queues();
    assert!(queued <= 128, "of all lines: {queued}");
    kept.iter().step_by(40).for_each(|(name, port, _)| reaches(*name, port));
}

/// What a record says of a right is a word that only this right hangs on.
#[test]
fn a_false_identity_is_a_right_to_nothing() {
    let (honest, mut giver) = (Port::new(), Giver::new());
    let it = held();
    giver.write(&[honest.identity()], &[it.port.s.as_fd(), it.write.as_fd()]);
    drop(it.write);
    let lie = receive(giver.own).u32(40);
    let (name, _pipe) = honest.give();
    assert!(name != lie && is_dead(lie));
    reaches(name, &honest);
    hung_up(&it.read);
    // Of a port that is known already: the right is what it is.
    let it = held();
    giver.write(&[honest.identity()], &[it.port.s.as_fd(), it.write.as_fd()]);
    let other = receive(giver.own).u32(40);
    assert_ne!(other, name);
    reaches(other, &it.port);
    assert!(!giver.line.is_closed());
}

/// What lies there instead of a sending end and a pipe: the line ends, whether the right is given up first or used.
#[test]
fn a_wrong_packet_ends_its_line() {
    let file = || OwnedFd::from(std::fs::File::open("/dev/null").expect("a file"));
    let wrong: [(u8, Vec<OwnedFd>); 4] =
        [(0, Vec::new()), (1, vec![Port::new().s]), (2, vec![Port::new().s, file()]), (3, vec![held().read, file(), file()])];
    for (count, fds) in wrong {
        for used in [false, true] {
            let mut giver = Giver::new();
            let port = Port::new();
            let fds: Vec<_> = fds.iter().map(AsFd::as_fd).collect();
            // Else there is none.
            if count > 0 {
                objects::send(giver.line.fd_socket.as_fd(), &[&[count]], &fds).expect("room");
            }
            let (record, rest) = record_of(&[port.identity()]);
            giver.line.write(&record, &rest, &[]);
            let name = receive(giver.own).u32(40);
            if used {
                let _ = send(&Msg::new(77, (name, types::COPY_SEND), (0, 0)));
                assert!(is_dead(name));
            } else {
                give_up(name);
            }
            tools::until("the line is closed", || giver.line.is_closed());
        }
    }
}

/// As if they had found no place here.
#[test]
fn a_packet_without_its_descriptors_is_a_dead_right() {
    for used in [false, true] {
        let mut giver = Giver::new();
        objects::send(giver.line.fd_socket.as_fd(), &[&[2]], &[]).expect("room");
        let (record, rest) = record_of(&[Port::new().identity()]);
        giver.line.write(&record, &rest, &[]);
        let name = receive(giver.own).u32(40);
        if used {
            tools::until("the port is dead", || is_dead(name));
        } else {
            give_up(name);
        }
        let (next, port, _pipe) = giver.give(held());
        reaches(next, &port);
    }
}

#[test]
fn a_record_that_says_too_much_ends_its_line() {
    let claims = [1 << 60; 16];
    for (identities, fds) in [(&claims[..0], 1), (&claims[..1], 1), (&claims[..], 0)] {
        let mut giver = Giver::new();
        let (mut record, mut rest) = record_of(identities);
        if identities.is_empty() {
            // No right is of it.
            (record, rest) = (Record { body: 0, items: 16, flags: 0, ..record }, rest[rest.len() - 16..].to_vec());
        }
        let other = held();
        giver.line.write(&Record { fds, ..record }, &rest, &[other.port.s.as_fd()][..fds as usize]);
        tools::until("the line is closed", || giver.line.is_closed());
    }
}

/// The port moved before the message was accepted: its right goes to the new owner.
#[test]
fn a_right_that_is_taken_back_is_sent_again() {
    let (door, it) = (Port::new(), held());
    let (mut line, to, _) = line_to(&door, receive_right());
    let (name, pipe) = it.port.give();
    let msg = Msg::new(12, (to, types::COPY_SEND), (0, 0)).ports(types::MOVE_SEND, &[name]);
    assert_eq!(send(&msg), Code::SUCCESS);
    tools::until("a record", || line.has_come());
    let mut accepted = RxCount::default();
    line.credit.accept(0, &mut accepted);
    line.credit.close(0, &accepted, Closed::Moved);
    line.ring();
    let (record, fds) = next(&mut Line::take(&door.r), kind::MESSAGE);
    assert_eq!((record.id, fds.len()), (12, 2));
    assert_eq!(objects::identity(&fds[0]).ok(), identities(&[it]).pop());
    drop((fds, line));
    hung_up(&pipe);
}
