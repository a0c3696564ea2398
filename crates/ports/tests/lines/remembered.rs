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
        assert!(how == item::QUEUED || how == item::BUNDLE || words == indices, "{words:?}");
    }

    fn forgets(&mut self, index: u32) {
        let (record, _) = next(&mut self.line, kind::FORGET);
        assert_eq!((record.target, record.flags), (index, 0));
    }

    /// Says whether it remembers what it was to.
    fn answers(&mut self, indices: &[u32], flags: u8) {
        for target in indices {
            self.line.write(&Record { kind: kind::REMEMBERS, target: *target, flags, ..Record::default() }, &[], &[]);
        }
        tools::until("it is taken", || self.line.unread() == 0 || self.line.is_closed());
    }

    /// The second time, and the answer.
    fn remembers(&mut self, names: &[u32], indices: &[u64]) {
        self.passes(names, item::REMEMBER, indices, 2 * names.len());
        self.answers(&indices.iter().map(|index| *index as u32).collect::<Vec<_>>(), 0);
    }
}

fn deallocate(name: u32) {
    Task::current().deallocate(name).expect("a right");
}

/// From the reader's answer on nothing goes with it, until its sender has no right any more.
#[test]
fn the_ends_of_a_right_go_until_it_is_remembered() {
    let (door, port) = (Port::new(), Port::new());
    let mut taker = Taker::new(&door);
    let (name, pipe) = port.give();
    taker.passes(&[name], item::QUEUED, &[], 2);
    taker.passes(&[name], item::REMEMBER, &[0], 2);
    taker.passes(&[name], item::QUEUED, &[], 2);
    taker.answers(&[0], 0);
    taker.passes(&[name], item::REMEMBERED, &[0], 0);
    let (kind, indices, _) = taker.pass(types::MOVE_SEND, &[name]);
    assert_eq!((kind, indices), (item::REMEMBERED, vec![0]));
    taker.forgets(0);
    hung_up(&pipe);
    let (name, _pipe) = port.give();
    taker.passes(&[name], item::QUEUED, &[], 2);
    taker.passes(&[name], item::REMEMBER, &[0], 2);
    deallocate(name);
    taker.forgets(0);
    // The index is another's only after the answer.
    let (name, _pipe) = port.give();
    taker.passes(&[name], item::QUEUED, &[], 2);
    taker.passes(&[name], item::REMEMBER, &[1], 2);
    taker.answers(&[0, 1], 0);
    taker.passes(&[name], item::REMEMBERED, &[1], 0);
}

/// The port moves before the message is accepted: its rights come to the new owner with their ends.
fn is_taken_back_whole(many: u64, first: u32) {
    let door = Port::new();
    let mut taker = Taker::new(&door);
    let ports: Vec<Port> = (0..many).map(|_| Port::new()).collect();
    let (names, pipes): (Vec<u32>, Vec<OwnedFd>) = ports.iter().map(Port::give).unzip();
    let indices: Vec<u64> = (0..many).collect();
    let fds = |how| if how == item::BUNDLE { 1 } else { 2 * many as usize };
    taker.passes(&names, first, &[], fds(first));
    taker.remembers(&names, &indices);
    taker.passes(&names, item::REMEMBERED, &indices, 0);
    assert_eq!(send(&Msg::new(6, (taker.to, types::COPY_SEND), (0, 0)).ports(types::MOVE_SEND, &names)), Code::SUCCESS);
    tools::until("a record", || taker.line.has_come());
    let mut accepted = taker.taken;
    (0..3).for_each(|_| taker.line.credit.accept(0, &mut accepted));
    taker.line.credit.close(0, &accepted, Closed::Moved);
    taker.line.ring();
    let (record, came) = next(&mut Line::take(&door.r), kind::MESSAGE);
    assert_eq!((record.id, came.len()), (6, fds(first)));
    if first == item::QUEUED {
        assert_eq!(objects::identity(&came[0]).ok(), Some(ports[0].identity()));
    }
    assert!(pipes.iter().all(|pipe| !objects::hung_up(pipe)));
    drop((came, taker));
    pipes.iter().for_each(hung_up);
}

#[test]
fn what_is_taken_back_needs_the_ends_of_its_rights() {
    is_taken_back_whole(1, item::QUEUED);
    is_taken_back_whole(20, item::BUNDLE);
}

/// Also those that go as a bundle, in any message, until one is among them that did not go before.
#[test]
fn many_rights_are_remembered() {
    let door = Port::new();
    let mut taker = Taker::new(&door);
    let ports: Vec<Port> = (0..301).map(|_| Port::new()).collect();
    let (names, pipes): (Vec<u32>, Vec<OwnedFd>) = ports.iter().map(Port::give).unzip();
    let indices: Vec<u64> = (0..300).collect();
    taker.passes(&names[..300], item::BUNDLE, &[], 1);
    taker.remembers(&names[..300], &indices);
    taker.passes(&names[..300], item::REMEMBERED, &indices, 0);
    taker.passes(&names[7..9], item::REMEMBERED, &[7, 8], 0);
    taker.passes(&names[100..], item::BUNDLE, &[], 1);
    taker.remembers(&names[100..], &(100..301).collect::<Vec<_>>());
    taker.passes(&names[200..], item::REMEMBERED, &(200..301).collect::<Vec<_>>(), 0);
    for (name, index) in names.iter().zip(0..) {
        deallocate(*name);
        taker.forgets(index);
    }
    pipes.iter().for_each(hung_up);
}

/// A reader that has no place is not asked again there.
#[test]
fn a_right_that_its_reader_does_not_remember_goes_with_its_ends() {
    let (door, port, other) = (Port::new(), Port::new(), Port::new());
    let mut taker = Taker::new(&door);
    let (name, pipe) = port.give();
    taker.passes(&[name], item::QUEUED, &[], 2);
    taker.passes(&[name], item::REMEMBER, &[0], 2);
    taker.answers(&[0], flag::LOST);
    (0..2).for_each(|_| taker.passes(&[name], item::QUEUED, &[], 2));
    deallocate(name);
    hung_up(&pipe);
    let (name, _pipe) = other.give();
    taker.passes(&[name], item::QUEUED, &[], 2);
    taker.remembers(&[name], &[1]);
    taker.passes(&[name], item::REMEMBERED, &[1], 0);
}

/// What came of it afterwards is another port.
#[test]
fn a_right_whose_port_was_falsely_said_to_be_dead_is_forgotten() {
    let (door, port, own) = (Port::new(), Port::new(), receive_right());
    let mut giver = line_of_ours(own);
    let head = Record { kind: kind::MESSAGE, ..once(0, 98) };
    let (record, rest) = with_right(head, WireRight { form: form::FIRST_LINE_RIGHT, value: 1 }, &[], 1);
    giver.write(&record, &rest, &[port.s.as_fd()]);
    let name = receive(own).u32(40);
    let mut taker = Taker::new(&door);
    taker.passes(&[name], item::QUEUED, &[], 2);
    taker.remembers(&[name], &[0]);
    // A right to it that waits in a message keeps what is known of it.
    let waits = Msg::new(7, (receive_right(), types::MAKE_SEND), (0, 0)).ports(types::COPY_SEND, &[name]);
    assert_eq!(send(&waits), Code::SUCCESS);
    giver.credit.close(1, &RxCount::default(), Closed::Dead);
    giver.ring();
    tools::until("the port is dead", || is_dead(name));
    let (_again, _pipe) = port.give();
    taker.forgets(0);
}

#[test]
fn an_answer_to_no_question_ends_the_line() {
    for (asked, index) in [(0, 0), (2, 1), (2, u32::MAX), (3, 0)] {
        let (door, port) = (Port::new(), Port::new());
        let mut taker = Taker::new(&door);
        let (name, _pipe) = port.give();
        (0..asked.min(2)).for_each(|_| drop(taker.pass(types::COPY_SEND, &[name])));
        if asked == 3 {
            taker.answers(&[0], 0);
        }
        assert!(!taker.line.is_closed());
        taker.answers(&[index], 0);
        tools::until("the line is closed", || taker.line.is_closed());
    }
}

/// A message to slot 0 with one right, of which the last item says this, and with so many descriptors.
fn with_one(how: u32, index: u64, fds: u16) -> (Record, Vec<u8>) {
    saying(how, &[0], &[index], fds)
}

/// A message to slot 0 with rights of these numbers, of which the last item says these words.
fn saying(how: u32, numbers: &[u32], words: &[u64], fds: u16) -> (Record, Vec<u8>) {
    let (record, mut rest) = message(0, numbers, words);
    let at = rest.len() - size_of::<ItemHead>() - 8 * words.len();
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

/// A right whose ends are none is not remembered, and its sender is told.
#[test]
fn what_could_not_be_remembered_is_said() {
    let (mut giver, it) = (Giver::new(), held());
    let answer = |giver: &mut Giver| {
        let (record, _) = next(&mut giver.line, kind::REMEMBERS);
        (record.target, record.flags)
    };
    assert!(is_dead(giver.gives(item::REMEMBER, 4, &[it.write.as_fd(), it.write.as_fd()])));
    assert_eq!(answer(&mut giver), (4, flag::LOST));
    let name = giver.remember(5, &it);
    assert_eq!(answer(&mut giver), (5, 0));
    reaches(name, &it.port);
    giver.ended_by(item::REMEMBERED, 4);
}

/// Rights of one message, one of them twice, that are used, kept and given up, and a port among them that dies.
#[test]
fn many_remembered_rights_come_again() {
    let (own, mut all) = (receive_right(), (0..20).map(|_| held()).collect::<Vec<_>>());
    let mut line = line_of_ours(own);
    let indices: Vec<u64> = (100..120).collect();
    let mut give = |how: u32, fds: &[BorrowedFd<'_>]| {
        let numbers: Vec<u32> = (0..20).chain([3]).collect();
        let (record, rest) = saying(how, &numbers, &indices, fds.len() as u16);
        line.write(&record, &rest, fds);
        let msg = receive(own);
        (0..21).map(|at| msg.u32(40 + 8 * at)).collect::<Vec<u32>>()
    };
    let first = give(item::REMEMBER, &all.iter().flat_map(|it| [it.port.s.as_fd(), it.write.as_fd()]).collect::<Vec<_>>());
    assert_eq!(first[3], first[20]);
    assert_eq!(give(item::REMEMBERED, &[]), first);
    reaches(first[3], &all[3].port);
    first.iter().chain(&first).for_each(|name| deallocate(*name));
    let gone = all.remove(0);
    drop(gone);
    let again = give(item::REMEMBERED, &[]);
    tools::until("the port is dead", || is_dead(again[0]));
    again.iter().zip(&all).skip(1).take(5).for_each(|(name, _)| assert!(!is_dead(*name)));
    reaches(again[1], &all[0].port);
    let pipes: Vec<OwnedFd> = all.into_iter().map(|it| it.read).collect();
    again[1..].iter().for_each(|name| deallocate(*name));
    assert!(pipes.iter().all(|pipe| !objects::hung_up(pipe)));
    drop(line);
    pipes.iter().for_each(hung_up);
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
    for index in [0, 8, 512, u64::MAX] {
        Giver::new().ended_by(item::REMEMBERED, index);
    }
    let it = held();
    for index in [512, 1 << 32, u64::MAX] {
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
