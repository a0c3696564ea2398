//! Channels within a process: errors, sets, servers, routers, and what another program may send.

use serde::{Deserialize, Serialize, Serializer, ser::Error};
use slipway_fabric::sync::{AtomicBool, Ordering};
use slipway_ipc_channel::{
    IpcError, TryRecvError, TrySelectError,
    ipc::{self, IpcOneShotServer, IpcReceiver, IpcReceiverSet, IpcSelectionResult, IpcSender, IpcSharedMemory},
    platform::{self, OsIpcSender},
    router::RouterProxy,
};
use slipway_mach::{
    bootstrap::contact,
    rights::{Outgoing, SendRight},
    task::Task,
};
use slipway_test_support::{WATCHDOG, watchdog};
use std::{io, path::Path, sync::Arc, thread, time::Duration};

fn kind<T: std::fmt::Debug>(result: Result<T, IpcError>) -> io::ErrorKind {
    match result {
        Err(IpcError::Io(error)) => error.kind(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_receiver_that_was_moved_away_receives_nothing() {
    let (sender, receiver) = platform::channel().expect("a channel");
    let moved = receiver.consume();
    let error = receiver.recv().map(drop).expect_err("it was moved");
    assert_eq!(io::Error::from(error).kind(), io::ErrorKind::NotConnected);
    sender.send(b"x", vec![], vec![]).expect("it is received");
    assert!(moved.recv().is_ok());
    assert!(sender == sender.clone() && sender != OsIpcSender::default());
}

#[test]
fn bytes_of_any_length_are_received_as_they_were_sent() {
    let (sender, receiver) = ipc::bytes_channel().expect("a channel");
    let most = OsIpcSender::get_max_fragment_size();
    for length in (0..70).chain(most - 9..most + 10).chain([2 * most + 1]) {
        let bytes: Vec<u8> = (0..length).map(|i| i as u8 | 1).collect();
        sender.send(&bytes).expect("it is received");
        assert!(receiver.recv().expect("bytes") == bytes, "{length}");
    }
    drop(sender);
    assert!(matches!(receiver.recv(), Err(IpcError::Disconnected)));
}

#[test]
fn errors_are_those_of_the_interface() {
    let (sender, receiver) = ipc::channel::<u32>().expect("a channel");
    assert!(matches!(receiver.try_recv(), Err(TryRecvError::Empty)));
    assert!(matches!(receiver.try_recv_timeout(Duration::from_micros(1)), Err(TryRecvError::Empty)));
    sender.clone().to_opaque().to::<String>().send("\u{1f6a2}".repeat(9)).expect("it is received");
    sender.send(5).expect("it is received");
    drop(sender);
    // A number can be read from the text's bytes; what is behind it is not looked at, as there.
    assert!(receiver.recv().is_ok());
    assert_eq!(receiver.recv().expect("a number"), 5);
    assert!(matches!(receiver.recv(), Err(IpcError::Disconnected)));
    let (sender, receiver) = ipc::channel::<u32>().expect("a channel");
    drop(receiver);
    assert_eq!(kind(sender.send(1)), io::ErrorKind::BrokenPipe);
}

/// A sender where a receiver is due, and a number of nothing.
#[test]
fn what_a_message_does_not_have_is_no_value() {
    let (sender, receiver) = ipc::channel::<IpcSender<u8>>().expect("a channel");
    let (other, _kept) = ipc::channel::<u8>().expect("a channel");
    let receivers = receiver.to_opaque().to::<ipc::IpcReceiver<u8>>();
    sender.send(other.clone()).expect("it is received");
    assert!(matches!(receivers.recv(), Err(IpcError::SerializationError(_))));
    sender.to_opaque().to::<u32>().send(3).expect("it is received");
    assert!(matches!(receivers.recv(), Err(IpcError::SerializationError(_))));
}

/// What a value carries is given up when the value can't be serialized, and does not go with the next one.
#[test]
fn a_value_that_fails_leaves_nothing_behind() {
    #[derive(Deserialize)]
    struct Fails(Option<IpcSender<u8>>);
    impl Serialize for Fails {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            match &self.0 {
                Some(sender) => sender.serialize(serializer).and_then(|_| Err(S::Error::custom("no"))),
                None => serializer.serialize_none(),
            }
        }
    }
    let (sender, receiver) = ipc::channel::<Fails>().expect("a channel");
    let (inner, end) = ipc::channel::<u8>().expect("a channel");
    assert!(matches!(sender.send(Fails(Some(inner))), Err(IpcError::SerializationError(_))));
    assert!(matches!(end.recv(), Err(IpcError::Disconnected)));
    sender.send(Fails(None)).expect("it is received");
    drop((sender, receiver));
}

#[test]
fn a_set_tells_all_before_the_end() {
    let _watchdog = watchdog("a set", WATCHDOG);
    let mut set = IpcReceiverSet::new().expect("a set");
    assert!(matches!(set.try_select(), Err(TrySelectError::Empty)));
    let ends: Vec<_> = (0..50)
        .map(|_| {
            let (sender, receiver) = ipc::channel::<u64>().expect("a channel");
            (set.add(receiver).expect("it is in the set"), sender)
        })
        .collect();
    for (id, sender) in ends {
        (0..4).for_each(|i| sender.send(id * 4 + i).expect("it is received"));
    }
    let mut told = [0; 50];
    while told.iter().any(|count| *count < 5) {
        for result in set.select().expect("it selects") {
            match result {
                IpcSelectionResult::MessageReceived(id, message) => {
                    assert_eq!(message.to::<u64>().expect("a number"), id * 4 + told[id as usize]);
                    told[id as usize] += 1;
                }
                IpcSelectionResult::ChannelClosed(id) => {
                    assert_eq!(told[id as usize], 4, "all was told before");
                    told[id as usize] += 1;
                }
            }
        }
    }
    assert!(matches!(set.try_select_timeout(Duration::from_millis(1)), Err(TrySelectError::Empty)));
}

#[test]
fn a_server_is_for_one_client() {
    let _watchdog = watchdog("a server", WATCHDOG);
    let (server, name) = IpcOneShotServer::<u8>::new().expect("a server");
    let sender = IpcSender::<u8>::connect(name.clone()).expect("it listens");
    sender.send(7).expect("nobody has accepted yet");
    let (receiver, first) = server.accept().expect("the client is there");
    assert_eq!(first, 7);
    assert!(!Path::new(&name).exists(), "the name leads nowhere any more");
    let refused = IpcSender::<u8>::connect(name).expect_err("nobody listens");
    assert_eq!(refused.kind(), io::ErrorKind::ConnectionRefused);
    drop(sender);
    assert!(matches!(receiver.recv(), Err(IpcError::Disconnected)));

    let (server, name) = IpcOneShotServer::<u8>::new().expect("a server");
    drop(IpcSender::<u8>::connect(name).expect("it listens"));
    assert!(matches!(server.accept().map(drop), Err(IpcError::Disconnected)), "it went without a message");

    let (server, name) = IpcOneShotServer::<u8>::new().expect("a server");
    drop(server);
    assert!(!Path::new(&name).exists());
}

#[test]
fn memory_is_as_it_was_sent() {
    let (sender, receiver) = ipc::channel().expect("a channel");
    for length in [0, 10, 100_000] {
        #[allow(unused_mut, reason = "what is received is its own")]
        let mut memory = IpcSharedMemory::from_byte(1, length);
        sender.send(memory.clone()).expect("it is received");
        let got: IpcSharedMemory = receiver.recv().expect("memory");
        assert_eq!(got, memory);
        assert_eq!(got.take().map(|bytes| bytes.len()), Some(length));
    }
}

/// A program with the sender can send other messages of Mach.
#[test]
fn a_message_of_another_form_is_no_value() {
    let (server, name) = IpcOneShotServer::<String>::new().expect("a server");
    let (sending, holder) = contact::greet(Path::new(&name)).expect("it listens");
    let task = Task::current();
    let right = SendRight::from_name(task, task.import(sending, holder).expect("a right"));
    for message in [Outgoing::new(5), Outgoing::new(0x6970_6300).ints(&[1, 2]), Outgoing::new(0x6970_6301), Outgoing::new(70)] {
        right.send(message, None).expect("it is received");
    }
    assert!(matches!(server.accept().map(drop), Err(IpcError::SerializationError(_))));
}

#[test]
fn a_router_that_ended_takes_nothing() {
    let _watchdog = watchdog("a router", WATCHDOG);
    let router = RouterProxy::new();
    let (sender, receiver) = ipc::channel::<u8>().expect("a channel");
    let routed = router.route_ipc_receiver_to_new_crossbeam_receiver(receiver);
    sender.send(3).expect("it is received");
    assert_eq!(routed.recv(), Ok(3));
    router.shutdown();
    assert!(routed.recv().is_err() && sender.send(4).is_err());
    let (_sender, receiver) = ipc::channel::<u8>().expect("a channel");
    assert!(router.route_ipc_receiver_to_new_crossbeam_receiver(receiver).recv().is_err());
}

/// More orders than messages wait at a port, from a function that the router's own thread calls.
#[test]
fn a_router_takes_any_number_of_orders() {
    let _watchdog = watchdog("a router", WATCHDOG);
    let router = Arc::new(RouterProxy::new());
    let (count, counted) = crossbeam_channel::unbounded();
    let (sender, receiver) = ipc::channel::<u32>().expect("a channel");
    let orders = router.clone();
    let give = move |number: Result<u32, _>| {
        for i in 0..number.expect("a number") {
            let (sender, receiver) = ipc::channel::<u32>().expect("a channel");
            let count = count.clone();
            orders
                .add_typed_route(receiver, Box::new(move |number| count.send(number.expect("a number")).expect("it is counted")));
            sender.send(i).expect("it is received");
        }
    };
    router.add_typed_route(receiver, Box::new(give));
    sender.send(2500).expect("it is received");
    let mut got: Vec<u32> = counted.iter().take(2500).collect();
    got.sort_unstable();
    assert!(got.into_iter().eq(0..2500));
    router.shutdown();
}

/// What waits for no message ends, whatever else somebody sends.
#[test]
fn parts_without_end_do_not_keep_a_receiver() {
    let _watchdog = watchdog("a receiver", WATCHDOG);
    let (server, name) = IpcOneShotServer::<u8>::new().expect("a server");
    let (sending, holder) = contact::greet(Path::new(&name)).expect("it listens");
    let task = Task::current();
    let right = SendRight::from_name(task, task.import(sending, holder).expect("a right"));
    let part = |key| Outgoing::new(0x6970_6302).longs(&[key, 100]).bytes(b"part");
    right.send(Outgoing::new(0x6970_6300).bytes(&[9]), None).expect("it is received");
    let (receiver, first) = server.accept().expect("the message");
    assert_eq!(first, 9);
    let go_on = AtomicBool::new(true);
    let (begun, sees) = crossbeam_channel::bounded(1);
    thread::scope(|threads| {
        threads.spawn(|| {
            for key in 0.. {
                if key == 2000 {
                    begun.send(()).expect("it is seen");
                }
                if right.send(part(key), None).is_err() || !go_on.load(Ordering::Relaxed) {
                    return;
                }
            }
        });
        // Until the sender sends all the time.
        while sees.try_recv().is_err() {
            assert!(matches!(receiver.try_recv(), Err(TryRecvError::Empty)));
        }
        assert!(matches!(receiver.try_recv(), Err(TryRecvError::Empty)));
        assert!(matches!(receiver.try_recv_timeout(Duration::from_millis(1)), Err(TryRecvError::Empty)));
        let mut set = IpcReceiverSet::new().expect("a set");
        set.add(receiver).expect("it is in the set");
        assert!(matches!(set.try_select(), Err(TrySelectError::Empty)));
        go_on.store(false, Ordering::Relaxed);
        // The sender may wait for a place.
        let _ = set.try_select();
        drop(set);
    });
}

/// A value needs all of its bytes, or none is told.
#[test]
fn lost_bytes_are_an_error() {
    let _watchdog = watchdog("lost bytes", WATCHDOG);
    let (server, name) = IpcOneShotServer::<()>::new().expect("a server");
    let (sending, holder) = contact::greet(Path::new(&name)).expect("it listens");
    let task = Task::current();
    let right = SendRight::from_name(task, task.import(sending, holder).expect("a right"));
    right.send(Outgoing::new(0x6970_6300).bytes(&[]), None).expect("it is received");
    let (receiver, ()) = server.accept().expect("the message");
    // The last part of a message of which no other came, in both forms; memory that is none; another program's message.
    let last = || Outgoing::new(0x6970_6303).longs(&[1, 100]).bytes(b"last");
    for message in [last(), last().no_right(), Outgoing::new(0x6970_6301), Outgoing::new(5)] {
        right.send(message, None).expect("it is received");
        assert!(matches!(receiver.recv(), Err(IpcError::SerializationError(_))));
    }
    let bytes = ipc::bytes_channel().expect("a channel");
    let (carrier, carried) = ipc::channel().expect("a channel");
    carrier.send(bytes.1).expect("it is received");
    let bytes_receiver: ipc::IpcBytesReceiver = carried.recv().expect("the receiver");
    bytes.0.send(b"x").expect("it is received");
    assert_eq!(bytes_receiver.recv().expect("bytes"), b"x");
    right.send(last(), None).expect("it is received");
    let as_bytes: IpcReceiver<ipc::IpcBytesReceiver> = carried.to_opaque().to();
    carrier.to_opaque().to::<IpcReceiver<()>>().send(receiver).expect("it is received");
    assert_eq!(kind(as_bytes.recv().expect("the receiver").recv()), io::ErrorKind::InvalidData);
}
