//! What safe code can't do with a message: have memory read or unmapped by address.

use mach as _;
use slipway_mach::{
    Request,
    abi::{
        COMPLEX, Code, HEADER, option,
        typed::{self, type_word},
        types,
    },
    mig::{self, Kind},
    rights::{Outgoing, ReceiveRight},
    task::Task,
};

const ID: i32 = 77;

/// A message to a port with an item out of line, behind a plain one.
fn with_memory(dest: u32, bits: u64, address: usize) -> Vec<u8> {
    let words = [
        u64::from(types::MAKE_SEND | COMPLEX),
        u64::from(dest),
        0,
        (ID as u64) << 32,
        type_word(types::INTEGER_32, 32, 1),
        7,
        type_word(types::BYTE, 8, 4096) & !typed::INLINE | bits,
        address as u64,
    ];
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

fn send(mut message: Vec<u8>) -> Code {
    let request = Request { option: option::SEND_MSG, send_size: message.len(), ..Request::default() };
    Task::current().mach_msg(&mut message, &request)
}

#[test]
fn an_address_is_not_sent_by_safe_code() {
    let port = ReceiveRight::new().expect("a port");
    let kept = vec![5u8; 4096];
    for bits in [0, typed::DEALLOCATE] {
        assert_eq!(send(with_memory(port.name(), bits, kept.as_ptr().addr())), Code::SEND_INVALID_DATA);
    }
    assert!(kept.iter().all(|byte| *byte == 5));
    // What only looks like it is data.
    let mut plain = with_memory(port.name(), 0, 1);
    plain[3] = 0;
    assert_eq!(send(plain), Code::SUCCESS);
    assert_eq!(port.receive(None).expect("a message").next_int(), Some(7));
    assert_eq!(send(with_memory(port.name(), 0, 1)[..HEADER].to_vec()), Code::SUCCESS);
}

#[test]
fn an_item_has_as_many_bytes_as_it_says() {
    let port = ReceiveRight::new().expect("a port");
    let right = port.make_send().expect("a send right");
    let hidden = &with_memory(0, typed::DEALLOCATE, 4096)[HEADER + 16..];
    let sent = |message: Outgoing| right.send(message.no_right(), None).map_err(|error| error.code);
    assert_eq!(sent(Outgoing::new(ID).data(types::BYTE, 8, 0, hidden)), Err(Code::SEND_INVALID_TYPE));
    assert_eq!(sent(Outgoing::new(ID).data(types::BYTE, 8, 17, hidden)), Err(Code::SEND_INVALID_TYPE));
    assert_eq!(sent(Outgoing::new(ID).data(1 << 31, 8, 16, hidden)), Err(Code::SEND_INVALID_TYPE));
    assert_eq!(sent(Outgoing::new(ID).data(types::BYTE, 8, 16, hidden)), Ok(()));

    let fill = |fill: fn(&mut mig::Request<'_>)| {
        let mut request = mig::Request::new(ID, "a request");
        fill(&mut request);
        request.send(&right).map_err(|error| error.code)
    };
    assert_eq!(fill(|request| request.value(Kind::new(types::BYTE, 8), &7u64)), Err(Code::SEND_INVALID_TYPE));
    assert_eq!(fill(|request| request.list(Kind::new(types::BYTE, 8), 9, &[7u64])), Err(Code::SEND_INVALID_TYPE));
    assert_eq!(fill(|request| request.memory(Kind::new(types::BYTE, 64), 9, &b"abc"[..])), Err(Code::SEND_INVALID_TYPE));
    assert_eq!(fill(|request| request.far_value(Kind::new(types::BYTE, 64), &7u8)), Err(Code::SEND_INVALID_TYPE));
    assert_eq!(fill(|request| request.memory(Kind::new(types::BYTE, 8), 9, &b"abc"[..])), Ok(()));
}
