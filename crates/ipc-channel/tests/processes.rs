//! Channels between processes: this program again, with a role and the name of a one-shot server in its environment.

use serde::{Deserialize, Serialize};
use slipway_ipc_channel::{
    IpcError, TryRecvError,
    ipc::{self, IpcOneShotServer, IpcReceiver, IpcReceiverSet, IpcSelectionResult, IpcSender, IpcSharedMemory},
};
use slipway_test_support::{WATCHDOG, Watchdog, until, watchdog};
use std::{
    env, io,
    process::{Child, Command, Stdio},
    thread,
    time::Duration,
};

const ROLE: &str = "SLIPWAY_TEST_ROLE";
const NAME: &str = "SLIPWAY_TEST_NAME";

/// What goes to a child and comes from it.
#[derive(Debug, Serialize, Deserialize)]
enum Said {
    Sender(IpcSender<Said>),
    Receiver(IpcReceiver<Said>),
    Number(u64),
    Bytes(Vec<u8>),
    Memory(IpcSharedMemory),
    /// The number of its sender, its own number there, and perhaps a sender.
    Numbered(u64, u64, Vec<u8>, Option<IpcSender<Said>>),
    End,
}
use Said::{Bytes, End, Memory, Number, Numbered, Receiver, Sender};

fn number(said: Result<Said, IpcError>) -> u64 {
    match said {
        Ok(Number(number)) => number,
        other => panic!("{other:?} where a number was due"),
    }
}

/// A child with a role: what it is told by, and what it says.
struct Other {
    child: Child,
    to: IpcSender<Said>,
    from: IpcReceiver<Said>,
    _watchdog: Watchdog,
}

impl Other {
    fn start(role: &str) -> Self {
        let (server, name) = IpcOneShotServer::new().expect("a server");
        let mut command = Command::new(env::current_exe().expect("this program"));
        let child = command.args(["--exact", "a_child", "--nocapture"]).env(ROLE, role).env(NAME, name).stdout(Stdio::null());
        let child = child.spawn().expect("a child");
        let watchdog = watchdog(role, WATCHDOG);
        let (from, first) = server.accept().expect("the child connects");
        let Sender(to) = first else { panic!("{first:?}") };
        Self { child, to, from, _watchdog: watchdog }
    }

    fn tell(&self, said: Said) {
        self.to.send(said).expect("the child receives");
    }

    fn end(mut self) {
        assert!(self.child.wait().expect("the child ends").success());
    }
}

/// What the children do; not a test of its own.
#[test]
fn a_child() {
    let (Ok(role), Ok(name)) = (env::var(ROLE), env::var(NAME)) else { return };
    let to = IpcSender::<Said>::connect(name).expect("the server is there");
    let (sender, from) = ipc::channel::<Said>().expect("a channel");
    to.send(Sender(sender)).expect("the parent receives");
    match role.as_str() {
        // Sends back what it gets.
        "echo" => {
            while let Ok(said) = from.recv() {
                let last = matches!(said, End);
                to.send(said).expect("the parent receives");
                if last {
                    break;
                }
            }
        }
        // Uses each sender that it is given for many numbers, and is gone.
        "burst" => {
            let Ok(Sender(other)) = from.recv() else { panic!("a sender was due") };
            drop((to, from));
            (0..500).for_each(|i| other.send(Number(i)).expect("it is received"));
        }
        // Sends more than fits anywhere, and is gone.
        "large" => {
            let Ok(Sender(other)) = from.recv() else { panic!("a sender was due") };
            drop((to, from));
            other.send(Bytes(large())).expect("it is received");
            other.send(Number(1)).expect("it is received");
        }
        // Sends messages of many sizes, some with a sender, of two threads at once, and is gone.
        "sizes" => {
            let (Ok(Number(of)), Ok(Sender(other))) = (from.recv(), from.recv()) else { panic!("a sender was due") };
            drop((to, from));
            thread::scope(|scope| {
                for of in [of, of + 1] {
                    let other = other.clone();
                    scope.spawn(move || (0..SIZES).for_each(|i| other.send(numbered(of, i)).expect("it is received")));
                }
            });
        }
        // Gives its own process's channel away, to the process that it is told.
        "introduce" => {
            let Ok(Sender(other)) = from.recv() else { panic!("a sender was due") };
            let (sender, receiver) = ipc::channel().expect("a channel");
            other.send(Sender(sender)).expect("it is received");
            to.send(Receiver(receiver)).expect("the parent receives");
        }
        // Sums up what comes over a receiver that it is given, and gives that to the next.
        "relay" => {
            let Ok(Receiver(work)) = from.recv() else { panic!("a receiver was due") };
            let sum = (0..10).map(|_| number(work.recv())).sum();
            to.send(Number(sum)).expect("the parent receives");
            to.send(Receiver(work)).expect("the parent receives");
        }
        // Receives what is large, over a receiver that it is given.
        "take" => {
            let Ok(Receiver(work)) = from.recv() else { return };
            assert!(matches!(work.recv(), Ok(Bytes(bytes)) if bytes == large()));
            to.send(Number(number(work.recv()))).expect("the parent receives");
            assert!(matches!(work.recv(), Err(IpcError::Disconnected)));
        }
        // Waits to be killed.
        "wait" => drop(from.recv()),
        other => panic!("{other}"),
    }
}

/// A message in many parts.
fn large() -> Vec<u8> {
    (0..10_000_000u32).map(|i| (i % 253) as u8).collect()
}

/// How many messages each thread of a child sends.
const SIZES: u64 = 24;

/// The bytes of a message that a child sends: some in one part, most in several, and any number of them behind the last whole word.
fn sized(of: u64, i: u64) -> Vec<u8> {
    (0..40_000 * (i % 8) + 13 * i + of).map(|at| (at * 7 + of * 31 + i) as u8).collect()
}

fn numbered(of: u64, i: u64) -> Said {
    let sender = i.is_multiple_of(3).then(|| ipc::channel().expect("a channel").0);
    Numbered(of, i, sized(of, i), sender)
}

/// Their parts alternate, and each sender's messages come whole and in their order.
#[test]
fn large_messages_of_several_senders() {
    let others = [0, 2, 4].map(|of| (of, Other::start("sizes")));
    let (sender, receiver) = ipc::channel::<Said>().expect("a channel");
    for (of, other) in &others {
        other.tell(Number(*of));
        other.tell(Sender(sender.clone()));
    }
    drop(sender);
    let mut next = [0; 6];
    loop {
        // Some parts are not waited for.
        let said = match receiver.try_recv_timeout(Duration::from_millis(1)) {
            Err(TryRecvError::Empty) => receiver.recv(),
            Err(TryRecvError::IpcError(error)) => Err(error),
            Ok(said) => Ok(said),
        };
        match said {
            Ok(Numbered(of, i, bytes, other)) => {
                assert_eq!((i, other.is_some()), (next[of as usize], i.is_multiple_of(3)));
                assert!(bytes == sized(of, i), "{} bytes", bytes.len());
                next[of as usize] += 1;
            }
            Err(IpcError::Disconnected) => break,
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(next, [SIZES; 6]);
    others.into_iter().for_each(|(_, other)| other.end());
}

/// What has come of it goes along.
#[test]
fn a_receiver_moves_within_a_message() {
    let mut moves = 0;
    // Whether parts have come is not to be seen from here: after some of these looks they have.
    for looks in 0..6 {
        let (sends, takes) = (Other::start("large"), Other::start("take"));
        let (sender, receiver) = ipc::channel::<Said>().expect("a channel");
        sends.tell(Sender(sender));
        let has_come = (0..looks).any(|_| match receiver.try_recv_timeout(Duration::from_millis(1)) {
            Err(TryRecvError::Empty) => false,
            Ok(Bytes(bytes)) => bytes == large(),
            other => panic!("{other:?}"),
        });
        if !has_come {
            moves += 1;
            takes.tell(Receiver(receiver));
            assert_eq!(number(takes.from.recv()), 1);
        } else {
            assert_eq!(number(receiver.recv()), 1);
            takes.tell(End);
        }
        sends.end();
        takes.end();
    }
    assert!(moves > 0, "it always came at once");
}

#[test]
fn everything_goes_there_and_back() {
    let other = Other::start("echo");
    for length in [0, 1, 4096, 48 << 10, (48 << 10) + 1, 96 << 10, 1 << 20, 5_000_001, 17 << 20] {
        let bytes: Vec<u8> = (0..length).map(|i| (i % 251) as u8).collect();
        other.tell(Bytes(bytes.clone()));
        assert!(matches!(other.from.recv(), Ok(Bytes(got)) if got == bytes), "{length} bytes");
        let memory = IpcSharedMemory::from_bytes(&bytes);
        other.tell(Memory(memory.clone()));
        // A second time, and as it is then.
        other.tell(Memory(memory));
        for _ in 0..2 {
            assert!(matches!(other.from.recv(), Ok(Memory(got)) if *got == bytes[..]), "{length} bytes of memory");
        }
    }
    // An end of a channel that comes back is what it was.
    let (sender, receiver) = ipc::channel::<Said>().expect("a channel");
    other.tell(Sender(sender.clone()));
    let Ok(Sender(back)) = other.from.recv() else { panic!("a sender was due") };
    sender.send(Number(1)).expect("it is received");
    other.tell(Receiver(receiver));
    let Ok(Receiver(receiver)) = other.from.recv() else { panic!("a receiver was due") };
    back.send(Number(2)).expect("it is received");
    assert_eq!((number(receiver.recv()), number(receiver.recv())), (1, 2));
    drop((sender, back));
    assert!(matches!(receiver.recv(), Err(IpcError::Disconnected)));
    other.tell(End);
    assert!(matches!(other.from.recv(), Ok(End)));
    let Other { from, .. } = &other;
    assert!(matches!(from.recv(), Err(IpcError::Disconnected)), "the child has ended");
    other.end();
}

#[test]
fn messages_of_every_short_length_cross() {
    let echo = Other::start("echo");
    for length in 0..100 {
        let bytes: Vec<u8> = (1..=length).collect();
        echo.tell(Bytes(bytes.clone()));
        assert!(matches!(echo.from.recv(), Ok(Bytes(back)) if back == bytes), "{length}");
    }
    echo.tell(End);
    assert!(matches!(echo.from.recv(), Ok(End)));
    echo.end();
}

/// The files of memory that this process has open, in all tests together.
fn memory_files() -> usize {
    let files = std::fs::read_dir("/proc/self/fd").expect("descriptors");
    let names = files.filter_map(|file| std::fs::read_link(file.ok()?.path()).ok());
    names.filter(|name| name.to_string_lossy().contains("slipway-memory")).count()
}

/// On one processor the receiver of a large message is not woken for each part of it, and its sender not for each part that was taken.
#[test]
fn large_messages_cross_on_one_processor() {
    use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
    let all = sched_getaffinity(None).expect("this thread's processors");
    let mut one = CpuSet::new();
    one.set((0..CpuSet::MAX_CPU).find(|cpu| all.is_set(*cpu)).expect("there is one"));
    sched_setaffinity(None, &one).expect("it is one of them");
    let other = Other::start("echo");
    for length in [97 << 10, 200_000, 1 << 20, 3_000_001] {
        let bytes: Vec<u8> = (0..length).map(|i| (i % 251) as u8).collect();
        let (sender, receiver) = ipc::channel::<Said>().expect("a channel");
        for round in 0..10 {
            other.tell(Bytes(bytes.clone()));
            assert!(matches!(other.from.recv(), Ok(Bytes(got)) if got == bytes), "{length} bytes");
            // One whose last part carries a sender, and one behind it.
            other.tell(Numbered(round, 0, bytes.clone(), Some(sender.clone())));
            other.tell(Number(round));
            let Ok(Numbered(_, _, got, Some(back))) = other.from.recv() else { panic!("bytes and a sender were due") };
            assert!(got == bytes, "{length} bytes");
            back.send(Number(round)).expect("it is received");
            assert_eq!((number(other.from.recv()), number(receiver.recv())), (round, round));
        }
    }
    other.tell(End);
    assert!(matches!(other.from.recv(), Ok(End)));
    other.end();
}

/// Memory that is sent many times has one file here, and none once it is gone; its receiver has no file of it.
#[test]
fn memory_has_one_descriptor() {
    let other = Other::start("echo");
    let many: Vec<_> = (0..20u8).map(|of| IpcSharedMemory::from_bytes(&[of; 100_000])).collect();
    let mut kept = Vec::new();
    for _ in 0..10 {
        for (of, memory) in many.iter().enumerate() {
            other.tell(Memory(memory.clone()));
            let Ok(Memory(got)) = other.from.recv() else { panic!("memory was due") };
            assert!(got.len() == 100_000 && got.iter().all(|byte| usize::from(*byte) == of));
            kept.push(got);
        }
    }
    // Other tests have some.
    until("a file for each", || (20..60).contains(&memory_files()));
    drop(many);
    until("files of the other tests alone", || memory_files() < 20);
    other.tell(End);
    assert!(matches!(other.from.recv(), Ok(End)));
    other.end();
}

/// Who receives memory again has it as it was sent, whatever was written before to where it was.
#[test]
fn memory_that_comes_again_is_as_it_was_sent() {
    let other = Other::start("echo");
    let bytes = |of: u8| vec![of; 300_000];
    let mut memory = IpcSharedMemory::from_bytes(&bytes(0));
    for round in 0..20u8 {
        for of in 0..3 {
            other.tell(Memory(memory.clone()));
            let Ok(Memory(mut got)) = other.from.recv() else { panic!("memory was due") };
            assert!(*got == bytes(round), "{round}, {of}");
            if of > 0 {
                #[allow(unsafe_code, reason = "the interface has an unsafe function")]
                // SAFETY: this thread alone has the memory.
                unsafe { got.deref_mut() }.fill(!round);
            }
        }
        // What was received stays as it is when its sender writes.
        other.tell(Memory(memory.clone()));
        let Ok(Memory(kept)) = other.from.recv() else { panic!("memory was due") };
        #[allow(unsafe_code, reason = "the interface has an unsafe function")]
        // SAFETY: as above.
        unsafe { memory.deref_mut() }.fill(round + 1);
        assert!(*kept == bytes(round) && *memory == bytes(round + 1));
    }
    other.tell(End);
    assert!(matches!(other.from.recv(), Ok(End)));
    other.end();
}

/// The last sender may be in a third process, which sends and is gone at once.
#[test]
fn what_was_sent_comes_before_the_end() {
    for _ in 0..20 {
        let other = Other::start("burst");
        let (sender, receiver) = ipc::channel().expect("a channel");
        other.tell(Sender(sender));
        for expected in 0..500 {
            assert_eq!(number(receiver.recv()), expected);
        }
        assert!(matches!(receiver.recv(), Err(IpcError::Disconnected)));
        assert!(matches!(receiver.try_recv(), Err(TryRecvError::IpcError(IpcError::Disconnected))), "and for ever");
        other.end();
    }
}

#[test]
fn a_sender_of_a_third_process_is_counted() {
    for _ in 0..5 {
        let (first, burst) = (Other::start("introduce"), Other::start("burst"));
        // The port is the first child's, its sender goes to the second one, and its receiver comes here.
        first.tell(Sender(burst.to.clone()));
        let Ok(Receiver(receiver)) = first.from.recv() else { panic!("a receiver was due") };
        let mut set = IpcReceiverSet::new().expect("a set");
        let id = set.add(receiver).expect("it is in the set");
        let mut expected = 0;
        'all: loop {
            for result in set.select().expect("it selects") {
                match result {
                    IpcSelectionResult::MessageReceived(from, message) => {
                        assert_eq!(from, id);
                        assert_eq!(number(message.to().map_err(IpcError::from)), expected);
                        expected += 1;
                    }
                    IpcSelectionResult::ChannelClosed(from) => {
                        assert_eq!(from, id);
                        break 'all;
                    }
                }
            }
        }
        assert_eq!(expected, 500);
        first.end();
        burst.end();
    }
}

#[test]
fn a_receiver_takes_what_waits_along() {
    let (one, two) = (Other::start("relay"), Other::start("relay"));
    let (sender, receiver) = ipc::channel().expect("a channel");
    (0..5).for_each(|i| sender.send(Number(i)).expect("it waits"));
    one.tell(Receiver(receiver));
    (5..30).for_each(|i| sender.send(Number(i)).expect("it is received"));
    assert_eq!(number(one.from.recv()), 45);
    let Ok(Receiver(receiver)) = one.from.recv() else { panic!("a receiver was due") };
    two.tell(Receiver(receiver));
    assert_eq!(number(two.from.recv()), 145);
    let Ok(Receiver(receiver)) = two.from.recv() else { panic!("a receiver was due") };
    drop(sender);
    assert_eq!((20..30).map(|_| number(receiver.recv())).sum::<u64>(), 245);
    assert!(matches!(receiver.recv(), Err(IpcError::Disconnected)), "the notification came along");
    one.end();
    two.end();
}

/// The first to receive asks for the end of the senders, wherever the receiver has been by then.
#[test]
fn the_end_of_the_senders_is_told_to_who_receives() {
    let other = Other::start("echo");
    for waited in [false, true] {
        for gone_before in [false, true] {
            let (sender, receiver) = ipc::channel::<Said>().expect("a channel");
            if waited {
                assert!(matches!(receiver.try_recv(), Err(TryRecvError::Empty)));
            }
            sender.send(Number(1)).expect("it is received");
            let mut sender = Some(sender).filter(|_| !gone_before);
            other.tell(Receiver(receiver));
            let Ok(Receiver(receiver)) = other.from.recv() else { panic!("a receiver was due") };
            assert_eq!(number(receiver.recv()), 1);
            if let Some(sender) = sender.take() {
                assert!(matches!(receiver.try_recv(), Err(TryRecvError::Empty)), "there is one");
                drop(sender);
            }
            assert!(matches!(receiver.recv(), Err(IpcError::Disconnected)));
        }
    }
    other.tell(End);
    assert!(matches!(other.from.recv(), Ok(End)));
    other.end();
}

/// A receiver that moves takes along that there are no senders.
#[test]
fn a_receiver_without_senders_stays_so() {
    let other = Other::start("echo");
    let (sender, receiver) = ipc::channel::<Said>().expect("a channel");
    sender.send(Number(7)).expect("it waits");
    drop(sender);
    other.tell(Receiver(receiver));
    let Ok(Receiver(receiver)) = other.from.recv() else { panic!("a receiver was due") };
    assert_eq!(number(receiver.recv()), 7);
    assert!(matches!(receiver.recv(), Err(IpcError::Disconnected)));
    other.tell(Receiver(receiver));
    let Ok(Receiver(receiver)) = other.from.recv() else { panic!("a receiver was due") };
    assert!(matches!(receiver.recv(), Err(IpcError::Disconnected)));
    let mut set = IpcReceiverSet::new().expect("a set");
    let id = set.add(receiver).expect("it is in the set");
    assert!(matches!(set.select().expect("it selects")[..], [IpcSelectionResult::ChannelClosed(closed)] if closed == id));
    other.tell(End);
    other.end();
}

#[test]
fn death_is_told_at_either_end() {
    let mut other = Other::start("wait");
    other.child.kill().expect("it is killed");
    assert!(matches!(other.from.recv(), Err(IpcError::Disconnected)));
    // The receiver is gone: the sender learns of it, at once or after what fits.
    until("the sender learns of it", || match other.to.send(Number(1)) {
        Ok(()) => false,
        Err(IpcError::Io(error)) => error.kind() == io::ErrorKind::BrokenPipe,
        Err(error) => panic!("{error:?}"),
    });
    other.child.wait().expect("it has ended");
}

/// Programs send before anybody receives.
#[test]
fn a_thousand_messages_wait() {
    let other = Other::start("echo");
    let senders: Vec<_> = (0..4).map(|_| ipc::channel::<Said>().expect("a channel")).collect();
    for (sender, _) in &senders {
        (0..1000).for_each(|i| sender.send(Number(i)).expect("it waits"));
    }
    (0..1000).for_each(|i| other.tell(Number(i)));
    for (_, receiver) in &senders {
        (0..1000).for_each(|i| assert_eq!(number(receiver.recv()), i));
    }
    (0..1000).for_each(|i| assert_eq!(number(other.from.recv()), i));
    other.tell(End);
    other.end();
}

/// One that waits for room goes on when the receiver takes something, or goes.
#[test]
fn a_sender_waits_for_room() {
    let _watchdog = watchdog("a full channel", WATCHDOG);
    let (sender, receiver) = ipc::channel().expect("a channel");
    let sends = thread::spawn(move || (0..).find_map(|i| sender.send(Number(i)).err()).expect("the receiver goes"));
    (0..3000).for_each(|i| assert_eq!(number(receiver.recv()), i));
    drop(receiver);
    let error = sends.join().expect("the thread ends");
    assert!(matches!(&error, IpcError::Io(error) if error.kind() == io::ErrorKind::BrokenPipe), "{error:?}");
}
