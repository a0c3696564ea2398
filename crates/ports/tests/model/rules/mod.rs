//! Mach's rules in the plainest form: what a task's names mean, what ports hold, and what happens.
//!
//! Nothing is counted here. Who has send rights, where a receive right is, whether it is lost in a circle:
//! all is found by looking at everything there is. Names that a space chooses are told by the subject, and
//! checked: a new one must be free, and a right to a port that the task knows comes under the known name.

mod ends;
mod messages;
mod routines;

use slipway_ports::abi::{self, Code};
use std::collections::{BTreeMap, VecDeque};

/// What went wrong in the subject, in words.
pub type Check<T = ()> = Result<T, String>;

/// A port. No two in a run have the same number.
pub type PortNo = usize;
/// A port set, likewise.
pub type SetNo = usize;

/// A right outside of spaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Right {
    Null,
    Dead,
    Send(PortNo),
    Once(PortNo),
    Receive(PortNo),
}

/// What a name denotes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Entry {
    pub port: Option<PortNo>,
    pub set: Option<SetNo>,
    /// User references of the send right; 0 if there is none.
    pub send: u32,
    pub once: bool,
    pub receive: bool,
    /// User references of a dead name.
    pub dead: u32,
    /// Who is told when the port dies.
    pub request: Option<Right>,
}

/// A port as the kernel knows it.
#[derive(Debug, Clone)]
pub struct Port {
    pub alive: bool,
    pub queue: VecDeque<Message>,
    pub qlimit: u32,
    pub seqno: u32,
    pub mscount: u32,
    pub payload: Option<u64>,
    pub set: Option<SetNo>,
    pub no_senders: Option<Right>,
    pub destroyed: Option<Right>,
    /// How often another member of its set was received from while it had a message.
    pub passed_over: usize,
    /// How often the receive right left a space, or that of a port in whose queue it waited.
    pub moves: u32,
}

/// A message in a queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    pub id: i32,
    /// The right it was sent with. The queue's port, if it was used up.
    pub dest: Right,
    pub reply: Right,
    /// Rights in the body.
    pub rights: Vec<Right>,
    /// The word of a notification, or what a test put there.
    pub word: Option<u32>,
    /// If tasks are processes: who sent it with a send right, and how often the port had moved by then.
    pub sender: Option<(usize, u32)>,
}

/// A task.
#[derive(Debug, Clone, Default)]
pub struct Task {
    pub names: BTreeMap<u32, Entry>,
    pub dead: bool,
}

/// All there is.
#[derive(Debug, Default, Clone)]
pub struct Model {
    /// Whether each task is a process of its own. Then `mach_msg` does what it does there: a message that found no room
    /// comes back, a type is that of the descriptor also if the right is dead, and a queue limit counts by itself
    /// for each sending process.
    pub apart: bool,
    pub tasks: Vec<Task>,
    pub ports: BTreeMap<PortNo, Port>,
    /// Rights of a message that is being received.
    hand: VecDeque<Right>,
    /// Messages to be destroyed, the one that is being destroyed first.
    doomed: VecDeque<Message>,
    destroying: bool,
    next: usize,
}

impl Entry {
    /// Its `MACH_PORT_TYPE_*` bits.
    pub fn kind(&self) -> u32 {
        let bit = |on: bool, kind: u32| if on { kind } else { 0 };
        bit(self.send > 0, abi::kind::SEND)
            | bit(self.receive, abi::kind::RECEIVE)
            | bit(self.once, abi::kind::SEND_ONCE)
            | bit(self.set.is_some(), abi::kind::PORT_SET)
            | bit(self.dead > 0, abi::kind::DEAD_NAME)
            | bit(self.request.is_some(), abi::kind::DNREQUEST)
    }

    fn is_empty(&self) -> bool {
        self.kind() & !abi::kind::DNREQUEST == 0
    }
}

impl Model {
    /// So many tasks without any rights.
    pub fn new(tasks: usize) -> Self {
        Self { tasks: vec![Task::default(); tasks], ..Self::default() }
    }

    /// A task in place of one that is gone.
    pub fn replace_task(&mut self, task: usize) {
        self.tasks[task] = Task::default();
    }

    fn number(&mut self) -> usize {
        self.next += 1;
        self.next
    }

    fn new_port(&mut self) -> PortNo {
        let number = self.number();
        let port = Port {
            alive: true,
            queue: VecDeque::new(),
            qlimit: 5,
            seqno: 0,
            mscount: 0,
            payload: None,
            set: None,
            no_senders: None,
            destroyed: None,
            passed_over: 0,
            moves: 0,
        };
        self.ports.insert(number, port);
        number
    }

    pub fn port(&mut self, port: PortNo) -> &mut Port {
        self.ports.get_mut(&port).expect("ports are never forgotten")
    }

    /// Whether a port lives.
    pub fn alive(&self, port: PortNo) -> bool {
        self.ports[&port].alive
    }

    fn entry(&self, task: usize, name: u32) -> Result<&Entry, Code> {
        if self.tasks[task].dead {
            return Err(Code::INVALID_TASK);
        }
        self.tasks[task].names.get(&name).ok_or(Code::INVALID_NAME)
    }

    fn entry_mut(&mut self, task: usize, name: u32) -> &mut Entry {
        self.tasks[task].names.get_mut(&name).expect("the name was looked up before")
    }

    /// The port whose receive right a name denotes.
    pub fn receive_right(&self, task: usize, name: u32) -> Result<PortNo, Code> {
        let entry = self.entry(task, name)?;
        entry.port.filter(|_| entry.receive).ok_or(Code::INVALID_RIGHT)
    }

    /// The name under which a task has a port's send or receive right.
    fn known_name(&self, task: usize, port: PortNo) -> Option<u32> {
        let mut names = self.tasks[task].names.iter();
        names.find(|(_, entry)| entry.port == Some(port) && (entry.send > 0 || entry.receive)).map(|(name, _)| *name)
    }

    /// All rights that are outside of spaces.
    fn loose(&self) -> impl Iterator<Item = &Right> {
        let queued = self.ports.values().flat_map(|port| &port.queue);
        let in_messages = queued.chain(&self.doomed).flat_map(|it| it.rights.iter().chain([&it.dest, &it.reply]));
        let requests = self.ports.values().flat_map(|port| port.no_senders.iter().chain(&port.destroyed));
        let entries = self.tasks.iter().flat_map(|task| task.names.values()).filter_map(|entry| entry.request.as_ref());
        in_messages.chain(requests).chain(entries).chain(&self.hand)
    }

    /// All send and send-once rights: one for each name, one for each outside of spaces.
    fn rights(&self) -> impl Iterator<Item = Right> {
        let names = self.tasks.iter().flat_map(|task| task.names.values());
        let named = names.filter_map(|entry| match entry.port {
            Some(port) if entry.send > 0 => Some(Right::Send(port)),
            Some(port) if entry.once => Some(Right::Once(port)),
            _ => None,
        });
        named.chain(self.loose().copied())
    }

    /// How many send rights a port has.
    fn senders(&self, port: PortNo) -> usize {
        self.rights().filter(|right| *right == Right::Send(port)).count()
    }

    /// How many send and send-once rights each port has, if any.
    pub fn census(&self) -> BTreeMap<PortNo, (usize, usize)> {
        let mut census = BTreeMap::<_, (usize, usize)>::new();
        for right in self.rights() {
            match right {
                Right::Send(port) => census.entry(port).or_default().0 += 1,
                Right::Once(port) => census.entry(port).or_default().1 += 1,
                _ => {}
            }
        }
        census
    }

    /// The port whose queue a port's receive right waits in.
    fn waits_in(&self, port: PortNo) -> Option<PortNo> {
        let waits = |it: &Port| it.queue.iter().any(|message| message.rights.contains(&Right::Receive(port)));
        self.ports.iter().find(|(_, it)| waits(it)).map(|(number, _)| *number)
    }

    /// Whether nobody could get at `port` any more if its receive right waited in the queue of `dest`.
    fn circle(&self, port: PortNo, dest: PortNo) -> bool {
        let mut at = Some(dest);
        while let Some(it) = at {
            if it == port {
                return true;
            }
            at = self.waits_in(it);
        }
        false
    }

    /// Takes a right out of a space, or makes one. `Err` if that can't be; nothing has happened then.
    pub fn take(&mut self, task: usize, name: u32, disposition: u32) -> Result<Right, Code> {
        use abi::types::*;
        match name {
            abi::NULL => return Ok(Right::Null),
            abi::DEAD => return Ok(Right::Dead),
            _ => {}
        }
        let entry = self.entry(task, name)?.clone();
        let port = entry.port;
        let (right, emptied) = match (disposition, port) {
            (MAKE_SEND, Some(port)) if entry.receive => {
                self.port(port).mscount += 1;
                (Right::Send(port), false)
            }
            (MAKE_SEND_ONCE, Some(port)) if entry.receive => (Right::Once(port), false),
            (MOVE_RECEIVE, Some(port)) if entry.receive => {
                self.entry_mut(task, name).receive = false;
                self.forget_receiver(port);
                (Right::Receive(port), true)
            }
            (COPY_SEND, Some(port)) if entry.send > 0 => (Right::Send(port), false),
            (MOVE_SEND, Some(port)) if entry.send > 0 => {
                self.entry_mut(task, name).send -= 1;
                (Right::Send(port), true)
            }
            (MOVE_SEND_ONCE, Some(port)) if entry.once => {
                self.entry_mut(task, name).once = false;
                (Right::Once(port), true)
            }
            (COPY_SEND, None) if entry.dead > 0 => (Right::Dead, false),
            (MOVE_SEND | MOVE_SEND_ONCE, None) if entry.dead > 0 => {
                self.entry_mut(task, name).dead -= 1;
                (Right::Dead, true)
            }
            _ => return Err(Code::INVALID_RIGHT),
        };
        if emptied {
            self.drop_if_empty(task, name);
        }
        Ok(right)
    }

    /// What a receive right loses that leaves its space.
    fn forget_receiver(&mut self, port: PortNo) {
        let it = self.port(port);
        (it.mscount, it.seqno, it.payload, it.set, it.passed_over) = (0, 0, None, None, 0);
        self.count_move(port);
    }

    /// A port moves, and those whose receive rights wait in its queue with it.
    fn count_move(&mut self, port: PortNo) {
        let it = self.port(port);
        it.moves += 1;
        let rights = it.queue.iter().flat_map(|message| &message.rights);
        let along: Vec<PortNo> =
            rights.filter_map(|right| if let Right::Receive(it) = right { Some(*it) } else { None }).collect();
        along.into_iter().for_each(|port| self.count_move(port));
    }

    /// A name that denotes nothing any more goes; who waits for its death learns that.
    fn drop_if_empty(&mut self, task: usize, name: u32) {
        if self.tasks[task].names.get(&name).is_some_and(Entry::is_empty)
            && let Some(entry) = self.tasks[task].names.remove(&name)
        {
            self.tell_deleted(entry.request, name);
        }
    }

    /// A right to a port that died in another process while the right was in a message: as if the port had died when
    /// the right was there. Several have one name.
    fn put_dead(&mut self, task: usize, told: u32) -> Check {
        let entry = self.tasks[task].names.entry(told).or_default();
        if told == abi::NULL || (entry.dead == 0 && !entry.is_empty()) {
            return Err(format!("a dead right got the name {told:#x}, which is taken or no name"));
        }
        entry.dead += 1;
        Ok(())
    }

    /// Puts a right into a space, where the subject says that it got the name `told`.
    pub fn put(&mut self, task: usize, right: Right, told: u32) -> Check {
        let port = match right {
            Right::Send(port) | Right::Once(port) | Right::Receive(port) if self.alive(port) => port,
            Right::Null => return same("the name of no right", told, abi::NULL),
            Right::Send(_) | Right::Once(_) if self.apart && told != abi::DEAD => return self.put_dead(task, told),
            _ => return same("the name of a dead right", told, abi::DEAD),
        };
        let known = self.known_name(task, port).filter(|_| !matches!(right, Right::Once(_)));
        match known {
            Some(known) => same("the name of a port that the task knows", told, known)?,
            None if told == abi::NULL || told == abi::DEAD || self.tasks[task].names.contains_key(&told) => {
                return Err(format!("a right got the name {told:#x}, which is taken or no name"));
            }
            None => drop(self.tasks[task].names.insert(told, Entry { port: Some(port), ..Entry::default() })),
        }
        let entry = self.entry_mut(task, told);
        match right {
            Right::Send(_) => entry.send = (entry.send + 1).min(abi::UREFS_MAX - 1),
            Right::Once(_) => entry.once = true,
            _ => entry.receive = true,
        }
        Ok(())
    }
}

/// Says what differs, if two things do.
pub fn same<T: PartialEq + std::fmt::Debug>(what: &str, subject: T, model: T) -> Check {
    if subject == model { Ok(()) } else { Err(format!("{what}: {subject:?}, but by the rules {model:?}")) }
}
