//! What is taken back of a ring is what was written there, whatever the port's old owner does to the memory of the line.

use super::{
    moves::{close, message},
    *,
};

/// Bytes that look like the record of a message to slot 0, with as many behind it.
fn forged(id: i32) -> Vec<u8> {
    [message(0, id).as_bytes(), &[0; 32]].concat()
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
