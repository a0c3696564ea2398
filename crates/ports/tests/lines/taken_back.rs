//! What is taken back of a ring is what was written there, whatever the port's old owner does to the memory of the line.

use super::{
    moves::{close, line_of_ours, message},
    *,
};

/// Bytes that look like the record of a message to slot 0, with as many behind it.
fn forged(id: i32) -> Vec<u8> {
    [message(0, id).as_bytes(), &[0; 32]].concat()
}

/// The old owner writes over what lies in the other end's ring, as far as the kernel has it do so.
fn write_over(line: &Line) -> Option<Errno> {
    match line.map_theirs() {
        Ok(area) => {
            area.copy_in(0, &[0x2a; 4096]);
            None
        }
        Err(error) => Errno::from_io_error(&error),
    }
}

#[test]
fn an_old_owner_changes_nothing_of_what_the_maker_of_the_line_sent() {
    let door = Port::new();
    let (mut old, name, _) = line_to(&door, receive_right());
    assert_eq!(send(&Msg::new(50, (name, types::COPY_SEND), (0, 0)).int(5)), Code::SUCCESS);
    tools::until("a message", || old.has_come());
    assert_eq!(write_over(&old), Some(Errno::PERM));
    close(&old, 0);
    let mut new = Line::take(&door.r);
    let (record, body, _) = new.read();
    assert_eq!((record.kind, record.id, &body[8..12]), (kind::MESSAGE, 50, &5u32.to_le_bytes()[..]));
}

#[test]
fn an_old_owner_changes_nothing_of_what_was_sent_to_the_maker_of_the_line() {
    let (own, port) = (receive_right(), Port::new());
    let mut old = line_of_ours(own);
    let (record, rest) = with_right(message(0, 51), WireRight { form: form::FIRST_LINE_RIGHT, value: 1 }, &[], 1);
    old.write(&record, &rest, &[port.s.as_fd()]);
    let name = receive(own).u32(40);
    assert_eq!(send(&Msg::new(52, (name, types::COPY_SEND), (0, 0)).int(6)), Code::SUCCESS);
    tools::until("a message", || old.has_come());
    assert_eq!(write_over(&old), Some(Errno::PERM));
    close(&old, 1);
    let mut new = Line::take(&port.r);
    let (record, body, _) = new.read();
    assert_eq!((record.kind, record.id, &body[8..12]), (kind::MESSAGE, 52, &6u32.to_le_bytes()[..]));
}

/// Where the old owner says that it is, bytes of a message look like a message.
#[test]
fn no_part_of_a_message_is_taken_back() {
    let door = Port::new();
    let (mut old, name, _) = line_to(&door, receive_right());
    let msg = Msg::new(53, (name, types::COPY_SEND), (0, 0)).bytes(&forged(54));
    assert_eq!(send(&msg), Code::SUCCESS);
    assert_eq!(send(&Msg::new(55, (name, types::COPY_SEND), (0, 0))), Code::SUCCESS);
    tools::until("a message", || old.has_come());
    let ahead = old.find(message(0, 54).as_bytes());
    old.claim_taken(ahead);
    close(&old, 0);
    let mut new = Line::take(&door.r);
    assert_eq!(next(&mut new, kind::MESSAGE).0.id, 55);
}

/// The bytes behind what it says that it has taken are written over, and what lies there is none of this end's records any more.
#[test]
fn a_line_ends_whose_reader_stops_within_a_record() {
    let door = Port::new();
    let (mut line, name, _) = line_to(&door, receive_right());
    assert_eq!(send(&Msg::new(56, (name, types::COPY_SEND), (0, 0)).bytes(&[1; 64])), Code::SUCCESS);
    tools::until("a message", || line.has_come());
    line.claim_taken(8);
    tools::until("the line ends", || {
        let _ = send_for(&Msg::new(57, (name, types::COPY_SEND), (0, 0)).bytes(&[1; 9000]), Some(0));
        line.is_closed()
    });
}

/// What lies in its ring is the living peer's to read: nothing comes twice.
#[test]
fn an_end_that_breaks_a_line_sends_nothing_again() {
    let door = Port::new();
    let (mut line, name, _) = line_to(&door, receive_right());
    assert_eq!(send(&Msg::new(58, (name, types::COPY_SEND), (0, 0))), Code::SUCCESS);
    line.write(&Record { kind: 0xff, ..Record::default() }, &[], &[]);
    tools::until("the line ends", || line.is_closed());
    assert_eq!(next(&mut line, kind::MESSAGE).0.id, 58);
    assert_eq!(send(&Msg::new(59, (name, types::COPY_SEND), (0, 0))), Code::SUCCESS);
    assert_eq!(next(&mut Line::take(&door.r), kind::MESSAGE).0.id, 59);
}

/// A living peer at whose closed slot something lies is told that it was taken back, as with a line that goes on.
#[test]
fn an_end_that_breaks_a_line_takes_back_what_was_sent_to_a_closed_slot() {
    let door = Port::new();
    let (mut line, name, _) = line_to(&door, receive_right());
    assert_eq!(send(&Msg::new(60, (name, types::COPY_SEND), (0, 0))), Code::SUCCESS);
    line.write_quietly(&Record { kind: 0xff, ..Record::default() }, &[], &[]);
    close(&line, 0);
    tools::until("the line ends", || line.is_closed());
    assert!(line.credit.is_seen(0));
    assert_eq!(next(&mut Line::take(&door.r), kind::MESSAGE).0.id, 60);
}
