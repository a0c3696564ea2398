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
    rights::{Outgoing, Part, ReceiveRight, Region, SendRight},
    task::Task,
};
use std::sync::{Arc, Mutex};

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

/// Memory that messages share with the test.
struct Shared(Arc<Region>);

impl AsRef<[u8]> for Shared {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

const LARGE: usize = 100_000;

fn pattern(of: u8) -> Vec<u8> {
    (0..LARGE).map(|i| (i % 251) as u8 ^ of).collect()
}

fn send_memory(right: &SendRight, region: &Arc<Region>) {
    right.send(Outgoing::new(ID).memory(Shared(Arc::clone(region))), None).expect("it is sent");
}

fn received(port: &ReceiveRight) -> Region {
    match port.receive(None).expect("a message").next_part() {
        Some(Part::Memory(_, region)) => region,
        other => panic!("{other:?}"),
    }
}

fn memory_files() -> usize {
    let files = std::fs::read_dir("/proc/self/fd").expect("descriptors");
    let names = files.filter_map(|file| std::fs::read_link(file.ok()?.path()).ok());
    names.filter(|name| name.to_string_lossy().contains("slipway-memory")).count()
}

/// Held by tests that lend memory: the process's descriptors are counted.
static COUNTED: Mutex<()> = Mutex::new(());

#[test]
fn lent_memory_is_as_it_was_sent() {
    let _alone = COUNTED.lock();
    let port = ReceiveRight::new().expect("a port");
    let right = port.make_send().expect("a send right");
    let lent_later = || {
        let mut region = Region::zeroed(LARGE).expect("memory");
        region.copy_from_slice(&pattern(0));
        region.lend().expect("a file");
        region.lend().expect("it is lent already");
        region
    };
    for at_once in [false, true] {
        let region = if at_once { Region::lent(&pattern(0)).expect("memory") } else { lent_later() };
        assert_eq!((region.len(), region[..] == *pattern(0)), (LARGE, true));
        let mut region = Arc::new(region);
        (0..3).for_each(|_| send_memory(&right, &region));
        assert_eq!(memory_files(), 1, "messages have the file that there is");
        // What the sender writes is in later messages alone; what a receiver writes, nowhere else.
        Arc::get_mut(&mut region).expect("nobody else has it")[50_000] = 99;
        send_memory(&right, &region);
        region.lend().expect("a file");
        let mut first = received(&port);
        first.fill(7);
        assert!((0..2).all(|_| received(&port)[..] == pattern(0)));
        let mut after = pattern(0);
        after[50_000] = 99;
        assert!(received(&port)[..] == after && region[..] == after);
        // Given up with its owner.
        send_memory(&right, &region);
        drop(region);
        assert!(received(&port)[..] == after);
        assert_eq!(memory_files(), 0);
    }
    // Another length is not what was lent.
    let region = Arc::new(Region::lent(&pattern(1)).expect("memory"));
    struct Front(Arc<Region>);
    impl AsRef<[u8]> for Front {
        fn as_ref(&self) -> &[u8] {
            &self.0[..LARGE - 1]
        }
    }
    right.send(Outgoing::new(ID).memory(Front(Arc::clone(&region))), None).expect("it is sent");
    assert_eq!(received(&port)[..], pattern(1)[..LARGE - 1]);
    assert!(Region::lent(&[]).is_err() && Region::zeroed(0).expect("nothing").lend().is_err());
}

/// Threads that send what is lent at that moment find the same bytes.
#[test]
fn memory_is_lent_while_others_read_it() {
    let _alone = COUNTED.lock();
    let port = ReceiveRight::new().expect("a port");
    let right = port.make_send().expect("a send right");
    for of in 0..20 {
        let mut region = Region::zeroed(LARGE).expect("memory");
        region.copy_from_slice(&pattern(of));
        let region = Arc::new(region);
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    region.lend().expect("a file");
                    send_memory(&right, &region);
                    assert!(region[..] == pattern(of));
                });
            }
        });
        (0..3).for_each(|_| assert!(received(&port)[..] == pattern(of)));
    }
}
