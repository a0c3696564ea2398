//! A process that is a task: it does what it is told over a socket, by the public calls alone.

use crate::{
    ops::{Act, Got, Outcome, Send, Taken},
    step::{Seen, each_right, has_receive},
    support::{self, Msg, receive_right},
};
use serde::{Deserialize, Serialize};
use slipway_fabric::sync::pages;
use slipway_ports::{
    abi::{self, Code, HEADER, SLOT, call::Status, notify, option, typed::Descriptor, types},
    msg::Request,
    state::notify::type_word,
    task::Task,
};
use std::{
    io::{BufRead as _, BufReader, Write as _},
    os::unix::net::UnixStream,
};

/// What a process is told to do.
#[derive(Debug, Serialize, Deserialize)]
pub enum Command {
    /// Something that concerns no other process.
    Act(Act),
    /// To say what its task can see, after it has waited so many milliseconds for a message that never comes.
    See { wait: u32 },
    /// To take a right out of its task and send it to process `to`.
    Give { to: usize, right: Taken },
    /// To put the right that comes from another process into its task, under a name if there is one.
    Accept { at: Option<u32>, right: Taken },
}

/// What comes of it.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Answer {
    code: i32,
    name: u32,
    got: Option<Got>,
    names: Vec<(u32, u32, [u32; 5])>,
    status: Vec<(u32, [u32; 6], [i32; 3])>,
    members: Vec<(u32, Vec<u32>)>,
}

impl Answer {
    fn new(outcome: Outcome) -> Self {
        Self { code: outcome.code.0, name: outcome.name, got: outcome.got, ..Self::default() }
    }

    pub fn outcome(self) -> Outcome {
        Outcome { code: Code(self.code), name: self.name, got: self.got }
    }

    pub fn seen(self) -> Seen {
        let status = self.status.into_iter().map(
            |(name, [pset, seqno, mscount, qlimit, msgcount, sorights], [srights, pdrequest, nsrequest])| {
                (name, Status { pset, seqno, mscount, qlimit, msgcount, sorights, srights, pdrequest, nsrequest })
            },
        );
        Seen {
            names: self.names.into_iter().map(|(name, types, refs)| (name, (types, refs))).collect(),
            status: status.collect(),
            members: self.members.into_iter().collect(),
        }
    }
}

/// The task that is tested, and beside it one that carries rights between processes.
struct Player {
    task: Task,
    carrier: Task,
    /// Where the carrier gets rights.
    port: u32,
    /// Where the others' carriers get them.
    others: Vec<u32>,
}

/// A task as every other process sees one: nothing in its space.
fn empty_task() -> Task {
    let task = Task::new();
    task.deallocate(task.self_name()).expect("the name of the task");
    task
}

/// A helper process: until the other end of its socket hangs up.
pub fn play(path: &str) {
    let socket = UnixStream::connect(path).expect("the starter's socket");
    let starter = support::inherited();
    let carrier = Task::current();
    let port = receive_right();
    assert_eq!(support::send(&Msg::new(1, (starter, types::COPY_SEND), (port, types::MAKE_SEND))), Code::SUCCESS);
    let others = support::receive(port);
    let others = (0..(others.0.len() - HEADER) / 16).map(|i| others.u32(HEADER + 16 * i + 8)).collect();
    let mut player = Player { task: empty_task(), carrier, port, others };
    let mut lines = BufReader::new(socket.try_clone().expect("a descriptor")).lines();
    while let Some(Ok(line)) = lines.next() {
        let answer = player.answer(&serde_json::from_str(&line).expect("a command"));
        let mut text = serde_json::to_string(&answer).expect("an answer");
        text.push('\n');
        if (&socket).write_all(text.as_bytes()).is_err() {
            return;
        }
    }
}

/// How to move a right on that was taken in this way.
fn moving(disposition: u32) -> u32 {
    match disposition {
        types::MOVE_RECEIVE => types::MOVE_RECEIVE,
        types::MOVE_SEND_ONCE | types::MAKE_SEND_ONCE => types::MOVE_SEND_ONCE,
        _ => types::MOVE_SEND,
    }
}

fn is_none(name: u32) -> bool {
    name == abi::NULL || name == abi::DEAD
}

impl Player {
    fn answer(&mut self, command: &Command) -> Answer {
        match command {
            Command::Act(act) => Answer::new(self.act(act)),
            Command::See { wait } => {
                if *wait > 0 {
                    assert_eq!(support::receive_within(self.port, *wait).err(), Some(Code::RCV_TIMED_OUT));
                }
                self.see()
            }
            Command::Give { to, right } => Answer::new(self.give(*to, *right)),
            Command::Accept { at, right } => Answer::new(self.accept(*at, *right)),
        }
    }

    fn act(&mut self, act: &Act) -> Outcome {
        let task = self.task;
        match act {
            Act::Allocate { right } => Outcome::named(task.allocate(*right)),
            Act::AllocateName { right, name } => Outcome::of(task.allocate_name(*right, *name)),
            Act::Rename { old, new } => Outcome::of(task.rename(*old, *new)),
            Act::Destroy { name } => Outcome::of(task.destroy(*name)),
            Act::Deallocate { name } => Outcome::of(task.deallocate(*name)),
            Act::ModRefs { name, right, delta } => Outcome::of(task.mod_refs(*name, *right, *delta)),
            Act::SetQlimit { name, limit } => Outcome::of(task.set_qlimit(*name, *limit)),
            Act::SetMscount { name, count } => Outcome::of(task.set_mscount(*name, *count)),
            Act::SetSeqno { name, seqno } => Outcome::of(task.set_seqno(*name, *seqno)),
            Act::SetPayload { name, payload: Some(payload) } => Outcome::of(task.set_payload(*name, *payload)),
            Act::SetPayload { name, payload: None } => Outcome::of(task.clear_payload(*name)),
            Act::MoveMember { member, after } => Outcome::of(task.move_member(*member, *after)),
            Act::Request { name, id, sync, to } => Outcome::named(task.request_notification(*name, *id, *sync, to.0, to.1)),
            Act::Insert { at, right, .. } => Outcome::of(task.insert_right(*at, task, right.0, right.1)),
            Act::Extract { right, .. } => Outcome::named(task.extract_right(right.0, right.1, task)),
            Act::Send(it) => self.send(it),
            Act::Receive { name } => {
                let (code, buffer) = self.mach_msg(vec![0; 4096], option::RCV_MSG | option::RCV_TIMEOUT, *name);
                let got = (code == Code::SUCCESS).then(|| read(&Msg(buffer), false));
                Outcome { code, name: abi::NULL, got }
            }
            Act::Terminate => {
                task.terminate();
                self.task = empty_task();
                Outcome::of(Ok(()))
            }
        }
    }

    /// Without waiting.
    fn mach_msg(&self, mut buffer: Vec<u8>, option: u32, receive_name: u32) -> (Code, Vec<u8>) {
        let size = buffer.len();
        let request = Request { option, send_size: size, receive_size: size, receive_name, timeout: 0, notify: 0 };
        let code = self.task.mach_msg(&mut buffer, &request);
        (code, buffer)
    }

    fn send(&self, it: &Send) -> Outcome {
        let mut msg = Msg::new(it.id, it.dest, it.reply).int(it.word.into());
        // In the two forms that there are. The names out of line stay where they are until the call is over.
        let (inline, apart) = it.rights.split_at(it.rights.len() / 2);
        for (name, disposition) in inline {
            msg = msg.ports(*disposition, &[*name]);
        }
        let arrays: Vec<[u32; 1]> = apart.iter().map(|(name, _)| [*name]).collect();
        for (array, (_, disposition)) in arrays.iter().zip(apart) {
            msg.0[3] |= 0x80;
            msg.0.extend((type_word(*disposition, 32, 1) & !(1 << 29)).to_le_bytes());
            msg.0.extend((array.as_ptr().addr() as u64).to_le_bytes());
        }
        let (code, buffer) = self.mach_msg(msg.0, option::SEND_MSG | option::SEND_TIMEOUT, abi::NULL);
        Outcome { code, name: abi::NULL, got: (code == Code::SEND_TIMED_OUT).then(|| read(&Msg(buffer), true)) }
    }

    fn see(&self) -> Answer {
        let mut answer = Answer::default();
        let task = self.task;
        // What lies in lines is only counted when somebody looks, also if the task has no port to look at.
        self.carrier.receive_status(self.port).expect("the carrier's port");
        for (name, types) in task.names().unwrap_or_default() {
            let mut refs = [!0; 5];
            each_right().for_each(|right| refs[right as usize] = task.get_refs(name, right).unwrap_or(!0));
            answer.names.push((name, types, refs));
            let (receive, set) = has_receive(types);
            if receive && let Ok(it) = task.receive_status(name) {
                let numbers = [it.pset, it.seqno, it.mscount, it.qlimit, it.msgcount, it.sorights];
                answer.status.push((name, numbers, [it.srights, it.pdrequest, it.nsrequest]));
            }
            if set && let Ok(mut members) = task.set_status(name) {
                members.sort_unstable();
                answer.members.push((name, members));
            }
        }
        answer
    }

    fn give(&self, to: usize, right: Taken) -> Outcome {
        if is_none(right.0) {
            return Outcome::named(Ok(right.0));
        }
        let carried = match self.task.extract_right(right.0, right.1, self.carrier) {
            Ok(name) if is_none(name) => return Outcome::named(Ok(name)),
            Ok(name) => name,
            Err(code) => return Outcome::of(Err(code)),
        };
        let msg = Msg::new(2, (self.others[to], types::COPY_SEND), (0, 0)).ports(moving(right.1), &[carried]);
        assert_eq!(support::send(&msg), Code::SUCCESS, "a right to be carried");
        Outcome::named(Ok(carried))
    }

    fn accept(&self, at: Option<u32>, right: Taken) -> Outcome {
        let (mut name, moving) = (right.0, moving(right.1));
        if !is_none(name) {
            name = support::receive(self.port).u32(HEADER + SLOT);
        }
        match at {
            Some(at) => Outcome::of(self.task.insert_right(at, self.carrier, name, moving)),
            None if is_none(name) => Outcome::named(Ok(name)),
            None => Outcome::named(self.carrier.extract_right(name, moving, self.task)),
        }
    }
}

/// A received message, or one that came back: its two ports are the other way round.
fn read(msg: &Msg, back: bool) -> Got {
    let local_type = (msg.u32(0) & abi::LOCAL_MASK) >> 8;
    let mut got = Got {
        from: msg.u32(16),
        payload: None,
        id: msg.id(),
        seqno: msg.u32(24),
        word: None,
        reply: msg.reply(),
        rights: Vec::new(),
    };
    if back {
        std::mem::swap(&mut got.from, &mut got.reply);
    } else if local_type == types::PROTECTED_PAYLOAD {
        // The driver knows which port has this payload.
        (got.from, got.payload) = (abi::NULL, Some(msg.u64(16)));
    }
    let mut at = HEADER;
    while at < msg.u32(4) as usize {
        let it = Descriptor::parse(msg.u64(at)).expect("a received type");
        at += SLOT;
        let number = it.number as usize;
        let mut names = Vec::new();
        if it.is_port() && it.inline {
            names.extend((0..number).map(|i| msg.u32(at + i * SLOT)));
        } else if it.is_port() {
            let mut bytes = vec![0; number * 4];
            pages::read(msg.u64(at) as usize, &mut bytes).expect("names out of line");
            // SAFETY: memory of this test, which nothing else refers to.
            unsafe { pages::deallocate(msg.u64(at) as usize, pages::page_size()) }.expect("a page of ours");
            names.extend(bytes.chunks_exact(4).map(|name| u32::from_le_bytes([name[0], name[1], name[2], name[3]])));
        } else {
            got.word = Some(msg.u32(at));
        }
        got.rights.extend(names.into_iter().map(|name| (name, it.name)));
        at += if it.inline { (it.size() as usize).next_multiple_of(SLOT) } else { SLOT };
    }
    debug_assert!(got.id != notify::PORT_DESTROYED || got.rights.len() == 1);
    got
}
