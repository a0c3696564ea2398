//! Send rights to third parties' ports that go over a line again and again.

use super::bundles::{Held, held, hung_up, is_dead, message, reaches};
use super::moves::line_of_ours;
use super::*;
use slipway_ports::wire::flag;

/// What the last item of a message says: its kind, and a word for each right.
fn last_item(record: &Record, rest: &[u8]) -> (u32, Vec<u64>) {
    let mut items = &rest[record.body as usize..];
    loop {
        let (head, after) = ItemHead::read_from_prefix(items).expect("an item");
        let (words, after) = after.split_at(8 * head.count as usize);
        if after.is_empty() {
            return (head.kind, words.as_chunks().0.iter().map(|word| u64::from_ne_bytes(*word)).collect());
        }
        items = after;
    }
}

/// A line that the library has made to a port of ours, over which it passes rights on.
struct Taker {
    line: Line,
    to: u32,
    taken: RxCount,
}

impl Taker {
    fn new(door: &Port) -> Self {
        let (line, to, _) = line_to(door, receive_right());
        let mut taken = RxCount::default();
        line.credit.take(0, &mut taken);
        Self { line, to, taken }
    }

    /// Has the library pass the rights of these names on: how it does so, and descriptors.
    fn pass(&mut self, kind: u32, names: &[u32]) -> (u32, Vec<u64>, Vec<OwnedFd>) {
        assert_eq!(send(&Msg::new(5, (self.to, types::COPY_SEND), (0, 0)).ports(kind, names)), Code::SUCCESS);
        let (record, rest, fds) = self.line.read();
        assert_eq!(record.id, 5, "{record:?}");
        self.line.credit.take(0, &mut self.taken);
        self.line.ring();
        let (kind, words) = last_item(&record, &rest);
        (kind, words, fds)
    }

    fn passes(&mut self, names: &[u32], how: u32, indices: &[u64], fds: usize) {
        let (kind, words, came) = self.pass(types::COPY_SEND, names);
        assert_eq!((kind, came.len()), (how, fds));
        assert!(how == item::QUEUED || words == indices, "{words:?}");
    }

    fn forgets(&mut self, index: u32) {
        let (record, _) = next(&mut self.line, kind::FORGET);
        assert_eq!((record.target, record.flags), (index, 0));
    }
}

fn deallocate(name: u32) {
    Task::current().deallocate(name).expect("a right");
}

/// From the third time on nothing goes with it, until its sender has no right any more.
#[test]
fn the_ends_of_a_right_go_twice() {
    let (door, port) = (Port::new(), Port::new());
    let mut taker = Taker::new(&door);
    let (name, pipe) = port.give();
    taker.passes(&[name], item::QUEUED, &[], 2);
    taker.passes(&[name], item::REMEMBER, &[0], 2);
    taker.passes(&[name], item::REMEMBERED, &[0], 0);
    let (kind, indices, _) = taker.pass(types::MOVE_SEND, &[name]);
    assert_eq!((kind, indices), (item::REMEMBERED, vec![0]));
    taker.forgets(0);
    hung_up(&pipe);
    let (name, _pipe) = port.give();
    taker.passes(&[name], item::REMEMBER, &[1], 2);
    deallocate(name);
    taker.forgets(1);
}

#[test]
fn a_right_whose_index_goes_to_another_goes_with_its_ends_again() {
    let door = Port::new();
    let mut taker = Taker::new(&door);
    let ports: Vec<Port> = (0..9).map(|_| Port::new()).collect();
    let (names, _pipes): (Vec<u32>, Vec<OwnedFd>) = ports.iter().map(Port::give).unzip();
    taker.passes(&names[..8], item::QUEUED, &[], 16);
    taker.passes(&names[..8], item::REMEMBER, &[0, 1, 2, 3, 4, 5, 6, 7], 16);
    taker.passes(&names[5..8], item::REMEMBERED, &[5, 6, 7], 0);
    taker.passes(&names, item::QUEUED, &[], 18);
    taker.passes(&names[8..], item::REMEMBER, &[0], 2);
    taker.passes(&names[..1], item::QUEUED, &[], 2);
    names[1..].iter().for_each(|name| deallocate(*name));
    (1..8).for_each(|index| taker.forgets(index));
    taker.forgets(0);
}

/// They come again with the message that its port's new owner gets.
#[test]
fn what_is_taken_back_needs_the_ends_of_its_rights() {
    let (door, port) = (Port::new(), Port::new());
    let mut taker = Taker::new(&door);
    let (name, pipe) = port.give();
    taker.passes(&[name], item::QUEUED, &[], 2);
    for how in [item::REMEMBER, item::REMEMBERED] {
        taker.passes(&[name], how, &[0], if how == item::REMEMBER { 2 } else { 0 });
    }
    assert_eq!(send(&Msg::new(6, (taker.to, types::COPY_SEND), (0, 0)).ports(types::MOVE_SEND, &[name])), Code::SUCCESS);
    tools::until("a record", || taker.line.has_come());
    let mut accepted = taker.taken;
    (0..3).for_each(|_| taker.line.credit.accept(0, &mut accepted));
    taker.line.credit.close(0, &accepted, Closed::Moved);
    taker.line.ring();
    let (record, fds) = next(&mut Line::take(&door.r), kind::MESSAGE);
    assert_eq!((record.id, fds.len()), (6, 2));
    assert_eq!(objects::identity(&fds[0]).ok(), Some(port.identity()));
    assert!(!objects::hung_up(&pipe));
    drop((fds, taker));
    hung_up(&pipe);
}

/// The reader that has lost a right says so, and is told to forget it, whatever is there by now.
#[test]
fn a_right_that_its_reader_has_lost_goes_with_its_ends_again() {
    let (door, port) = (Port::new(), Port::new());
    let mut taker = Taker::new(&door);
    let (name, _pipe) = port.give();
    taker.passes(&[name], item::QUEUED, &[], 2);
    taker.passes(&[name], item::REMEMBER, &[0], 2);
    let lost = |index| Record { kind: kind::FORGET, flags: flag::LOST, target: index, ..Record::default() };
    for index in [0, 0, 1, 99] {
        taker.line.write(&lost(index), &[], &[]);
    }
    taker.forgets(0);
    taker.passes(&[name], item::REMEMBER, &[1], 2);
    assert!(!taker.line.is_closed());
}

/// A message to slot 0 with one right, of which the last item says this, and with so many descriptors.
fn with_one(how: u32, index: u64, fds: u16) -> (Record, Vec<u8>) {
    let (record, mut rest) = message(0, &[0], &[index]);
    let at = rest.len() - size_of::<ItemHead>() - 8;
    rest[at..][..4].copy_from_slice(&how.to_le_bytes());
    (Record { kind: kind::MESSAGE, fds, ..record }, rest)
}

/// A line of ours to a port of the library's, over which it gets rights.
struct Giver {
    line: Line,
    own: u32,
}

impl Giver {
    fn new() -> Self {
        let own = receive_right();
        Self { line: line_of_ours(own), own }
    }

    /// Sends a message with one right, of which the last item says this.
    fn write(&mut self, how: u32, index: u64, fds: &[BorrowedFd<'_>]) {
        let (record, rest) = with_one(how, index, fds.len() as u16);
        self.line.write(&record, &rest, fds);
    }

    fn gives(&mut self, how: u32, index: u64, fds: &[BorrowedFd<'_>]) -> u32 {
        self.write(how, index, fds);
        receive(self.own).u32(40)
    }

    fn remember(&mut self, index: u64, it: &Held) -> u32 {
        self.gives(item::REMEMBER, index, &[it.port.s.as_fd(), it.write.as_fd()])
    }

    fn forget(&mut self, index: u32) {
        self.line.write(&Record { kind: kind::FORGET, target: index, ..Record::default() }, &[], &[]);
    }

    fn ended_by(mut self, how: u32, index: u64) {
        self.write(how, index, &[]);
        tools::until("the line is closed", || self.line.is_closed());
    }
}

#[test]
fn a_remembered_right_comes_again_until_it_is_forgotten() {
    let (mut giver, it) = (Giver::new(), held());
    let name = giver.remember(3, &it);
    let Held { port, read, write } = it;
    drop(write);
    assert_eq!(giver.gives(item::REMEMBERED, 3, &[]), name);
    reaches(name, &port);
    deallocate(name);
    deallocate(name);
    let name = giver.gives(item::REMEMBERED, 3, &[]);
    reaches(name, &port);
    // It counts as held: the library may get it again at any time.
    deallocate(name);
    let name = giver.gives(item::REMEMBERED, 3, &[]);
    assert!(!objects::hung_up(&read));
    giver.forget(3);
    tools::until("it is forgotten", || giver.line.unread() == 0);
    reaches(name, &port);
    assert!(!objects::hung_up(&read));
    deallocate(name);
    hung_up(&read);
    giver.ended_by(item::REMEMBERED, 3);
}

#[test]
fn what_is_remembered_ends_with_its_line_or_with_another_at_its_index() {
    let (mut giver, first, second) = (Giver::new(), held(), held());
    deallocate(giver.remember(0, &first));
    deallocate(giver.remember(0, &second));
    let [(_first, gone), (port, kept)] = [first, second].map(|it| (it.port, it.read));
    hung_up(&gone);
    let name = giver.gives(item::REMEMBERED, 0, &[]);
    drop(giver);
    reaches(name, &port);
    deallocate(name);
    hung_up(&kept);
}

/// The port of a right that is remembered comes here, and goes again.
#[test]
fn a_remembered_right_is_to_the_port_wherever_that_is() {
    let (mut giver, it, to) = (Giver::new(), held(), Port::new());
    deallocate(giver.remember(1, &it));
    let (record, rest) = with_right(
        Record { kind: kind::MESSAGE, ..once(0, 98) },
        WireRight { form: form::RECEIVE, value: 0 },
        Luggage { onces: 0, ..luggage() }.as_bytes(),
        2,
    );
    giver.line.write(&record, &rest, &[it.port.r.as_fd(), it.port.s.as_fd()]);
    let here = receive(giver.own).u32(40);
    assert_eq!(giver.gives(item::REMEMBERED, 1, &[]), here);
    let (elsewhere, _pipe) = to.give();
    let moves = Msg::new(56, (elsewhere, types::COPY_SEND), (0, 0)).ports(types::MOVE_RECEIVE, &[here]);
    assert_eq!(send(&moves), Code::SUCCESS);
    let mut line = Line::take(&to.r);
    assert_eq!(next(&mut line, kind::MESSAGE).0.id, 56);
    let name = giver.gives(item::REMEMBERED, 1, &[]);
    assert_eq!(send(&Msg::new(77, (name, types::COPY_SEND), (0, 0))), Code::SUCCESS);
    let mut records = std::iter::from_fn(|| Some(line.read().0));
    assert_eq!(records.find(|record| record.kind == kind::MESSAGE).map(|record| record.id), Some(77));
}

#[test]
fn a_right_that_was_dead_when_it_came_again_is_dead() {
    let (mut giver, it) = (Giver::new(), held());
    let name = giver.remember(2, &it);
    deallocate(name);
    drop(it);
    let name = giver.gives(item::REMEMBERED, 2, &[]);
    tools::until("the port is dead", || is_dead(name));
    assert!(!giver.line.is_closed());
}

/// A right whose ends are none, or found no place here, is dead each time, and its sender is told once.
#[test]
fn a_right_that_was_lost_is_said_to_be() {
    let (mut giver, it) = (Giver::new(), held());
    let name = giver.gives(item::REMEMBER, 4, &[it.write.as_fd(), it.write.as_fd()]);
    assert!(is_dead(name));
    assert!(is_dead(giver.gives(item::REMEMBERED, 4, &[])));
    let (record, _) = next(&mut giver.line, kind::FORGET);
    assert_eq!((record.target, record.flags), (4, flag::LOST));
    giver.forget(4);
    reaches(giver.remember(4, &it), &it.port);
}

/// A message that was lost or taken back for another reason says what is remembered all the same.
#[test]
fn a_message_that_nobody_gets_is_remembered() {
    let it = held();
    let second = receive_right();
    let (s, _t) = Task::current().export(second).expect("sockets");
    let mut other = Line::make(&s);
    other.write(&Record { kind: kind::MESSAGE, ..once(0, 70) }, &[], &[]);
    assert_eq!(receive(second).id(), 70);
    Task::current().destroy(second).expect("the port");
    tools::until("the gate is closed", || other.is_dead(0));
    other.credit.see(0);
    let (record, rest) = with_one(item::REMEMBER, 7, 2);
    other.write(&record, &rest, &[it.port.s.as_fd(), it.write.as_fd()]);
    tools::until("it is dropped", || other.unread() == 0);
    drop(it.write);
    assert!(!objects::hung_up(&it.read) && !other.is_closed());
    other.write(&Record { kind: kind::FORGET, target: 7, ..Record::default() }, &[], &[]);
    hung_up(&it.read);
}

#[test]
fn an_index_that_nothing_was_said_of_ends_the_line() {
    for index in [0, 8, u64::MAX] {
        Giver::new().ended_by(item::REMEMBERED, index);
    }
    let it = held();
    for index in [8, 1 << 32, u64::MAX] {
        let mut giver = Giver::new();
        giver.write(item::REMEMBER, index, &[it.port.s.as_fd(), it.write.as_fd()]);
        tools::until("the line is closed", || giver.line.is_closed());
    }
    let mut giver = Giver::new();
    giver.forget(8);
    tools::until("the line is closed", || giver.line.is_closed());
    let mut giver = Giver::new();
    giver.write(item::REMEMBER, 0, &[it.port.s.as_fd()]);
    tools::until("the line is closed", || giver.line.is_closed());
}
