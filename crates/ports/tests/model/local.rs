//! The state itself as the subject: several spaces in one process, without I/O.

use crate::{
    ops::{Act, Got, Outcome, Send},
    rules::{self, Check, Model, PortNo, same},
    step::{Seen, each_right, has_receive},
};
use slipway_ports::{
    abi::{self, Code, kind, types},
    state::{
        Effect, PortId, Right, SpaceId, State,
        message::{Item, Message},
        space::Object,
    },
};
use std::collections::BTreeMap;

/// Tasks in one process.
pub struct Local {
    state: State,
    spaces: Vec<SpaceId>,
    /// Which port of the model is which, as long as it is known.
    known: BTreeMap<PortId, PortNo>,
}

impl Local {
    pub fn new(tasks: usize) -> Self {
        let mut state = State::default();
        let spaces = (0..tasks).map(|_| state.new_space()).collect();
        Self { state, spaces, known: BTreeMap::new() }
    }

    pub fn replace_task(&mut self, task: usize) {
        self.spaces[task] = self.state.new_space();
    }

    /// Does what a task does.
    pub fn act(&mut self, task: usize, act: &Act) -> Outcome {
        let space = self.spaces[task];
        let state = &mut self.state;
        match act {
            Act::Allocate { right } => Outcome::named(state.port_allocate(space, *right)),
            Act::AllocateName { right, name } => Outcome::of(state.port_allocate_name(space, *right, *name)),
            Act::Rename { old, new } => Outcome::of(state.port_rename(space, *old, *new)),
            Act::Destroy { name } => Outcome::of(state.port_destroy(space, *name)),
            Act::Deallocate { name } => Outcome::of(state.port_deallocate(space, *name)),
            Act::ModRefs { name, right, delta } => Outcome::of(state.port_mod_refs(space, *name, *right, *delta)),
            Act::SetQlimit { name, limit } => Outcome::of(state.port_set_qlimit(space, *name, *limit)),
            Act::SetMscount { name, count } => Outcome::of(state.port_set_mscount(space, *name, *count)),
            Act::SetSeqno { name, seqno } => Outcome::of(state.port_set_seqno(space, *name, *seqno)),
            Act::SetPayload { name, payload: Some(payload) } => {
                Outcome::of(state.port_set_protected_payload(space, *name, *payload))
            }
            Act::SetPayload { name, payload: None } => Outcome::of(state.port_clear_protected_payload(space, *name)),
            Act::MoveMember { member, after } => Outcome::of(state.port_move_member(space, *member, *after)),
            Act::Request { name, id, sync, to } => {
                let to = state.copyin(space, to.0, to.1);
                let previous = to.and_then(|to| state.port_request_notification(space, *name, *id, *sync, to));
                Outcome::named(previous.map(|right| put(state, space, right)))
            }
            Act::Insert { into, at, right } => {
                let right = state.copyin(space, right.0, right.1);
                Outcome::of(right.and_then(|right| state.port_insert_right(self.spaces[*into], *at, right)))
            }
            Act::Extract { from, right } => {
                let right = state.port_extract_right(self.spaces[*from], right.0, right.1);
                Outcome::named(right.map(|right| put(state, space, right)))
            }
            Act::Send(it) => Outcome::of(self.send(space, it)),
            Act::Receive { name } => match self.receive(space, *name) {
                Ok(got) => Outcome { got: Some(got), ..Outcome::of(Ok(())) },
                Err(code) => Outcome::of(Err(code)),
            },
            Act::Terminate => {
                state.terminate(space);
                Outcome::of(Ok(()))
            }
        }
    }

    fn send(&mut self, space: SpaceId, it: &Send) -> Result<(), Code> {
        let state = &mut self.state;
        let port = state.space(space).get(it.dest.0).and_then(|entry| entry.port()).ok_or(Code::SEND_INVALID_DEST)?;
        if !state.can_copyin(space, it.dest.0, it.dest.1) {
            return Err(Code::SEND_INVALID_DEST);
        }
        if it.reply.1 == types::MOVE_RECEIVE || !state.can_copyin(space, it.reply.0, it.reply.1) {
            return Err(Code::SEND_INVALID_REPLY);
        }
        let local = state.port(port).local().expect("ports are in this process");
        let once = matches!(it.dest.1, types::MOVE_SEND_ONCE | types::MAKE_SEND_ONCE);
        if !once && local.queue.len() as u32 >= local.qlimit {
            return Err(Code::SEND_TIMED_OUT);
        }
        let dest = state.copyin(space, it.dest.0, it.dest.1).expect("can_copyin said so");
        let reply = state.copyin(space, it.reply.0, it.reply.1).expect("can_copyin said so");
        let mut rights = Vec::new();
        let mut wrong = None;
        for (name, disposition) in &it.rights {
            match state.copyin(space, *name, *disposition) {
                Ok(right) => rights.push(right),
                Err(code) => {
                    wrong = Some(code);
                    break;
                }
            }
        }
        let mut body = vec![0; 8];
        body.extend(u64::from(it.word).to_le_bytes());
        // In two parts, in the two forms that there are.
        let inline = rights.drain(..rights.len() / 2).collect();
        let items = vec![Item::Ports { at: 0, rights: inline }, Item::PortArray { at: 8, rights }].into();
        let message = Box::new(Message {
            id: it.id,
            complex: true,
            dest,
            reply,
            body,
            short: false,
            sender: Default::default(),
            items,
            origin: None,
            charge: Default::default(),
        });
        if wrong.is_some() {
            state.destroy_message(message);
            return Err(Code::SEND_INVALID_RIGHT);
        }
        state.enqueue(port, message);
        Ok(())
    }

    fn receive(&mut self, space: SpaceId, name: u32) -> Result<Got, Code> {
        let state = &mut self.state;
        if state.space(space).dead {
            return Err(Code::INVALID_TASK);
        }
        let entry = *state.space(space).get(name).ok_or(Code::RCV_INVALID_NAME)?;
        let port = match entry.object {
            Object::Set(set) => state.next_ready(set).ok_or(Code::RCV_TIMED_OUT)?,
            Object::Port(port) if entry.has(kind::RECEIVE) => {
                if state.port(port).local().is_some_and(|local| local.set.is_some()) {
                    return Err(Code::RCV_IN_SET);
                }
                port
            }
            _ => return Err(Code::RCV_INVALID_NAME),
        };
        let message = *state.dequeue(port).ok_or(Code::RCV_TIMED_OUT)?;
        let local = state.port_mut(port).local_mut().expect("ports are in this process");
        let (from, seqno) = (local.receiver.map_or(abi::NULL, |(_, name)| name), local.seqno);
        local.seqno += 1;
        let reply = put(state, space, message.reply);
        match message.dest {
            Right::SendOnce(port) => state.drop_soright(port),
            dest => state.destroy_right(dest),
        }
        let mut rights = Vec::new();
        for item in message.items {
            let held = match item {
                Item::Ports { rights, .. } => rights.into_vec(),
                Item::PortArray { rights, .. } => rights,
                Item::Memory { .. } => Vec::new(),
            };
            rights.extend(held.into_iter().map(|right| {
                let kind = right.received_type();
                (put(state, space, right), kind)
            }));
        }
        // The notification of a destroyed port has no word but the name itself.
        let word = message.body.get(8..12).map(|word| u32::from_le_bytes(word.try_into().expect("4 bytes")));
        let word = word.filter(|_| message.id != abi::notify::PORT_DESTROYED);
        Ok(Got { from, payload: None, id: message.id, seqno, word, reply, rights })
    }

    /// Does what the I/O layer does: nothing, but to free what no right refers to any more.
    pub fn settle(&mut self) -> Check {
        while let Some(effect) = self.state.effects.pop_front() {
            match effect {
                Effect::Forgotten(port) => {
                    if !self.state.ports.contains(port.0 as usize) {
                        return Err(format!("{port:?} was forgotten twice"));
                    }
                    self.known.remove(&port);
                    self.state.free_port(port);
                }
                Effect::Arrived(_) | Effect::NotFull(_) | Effect::Died(_) | Effect::Changed(_) | Effect::SetGone(_) => {}
                // Of senders that there will be, as none were elsewhere.
                Effect::WatchSenders(_) => {}
                other => return Err(format!("{other:?} without ports elsewhere")),
            }
        }
        Ok(())
    }

    /// What a task finds out about its space.
    pub fn see(&self, task: usize) -> Seen {
        let space = self.spaces[task];
        let mut seen = Seen::default();
        for (name, types) in self.state.port_names(space).unwrap_or_default() {
            let mut refs = [!0; 5];
            each_right().for_each(|right| refs[right as usize] = self.state.port_get_refs(space, name, right).unwrap_or(!0));
            seen.names.insert(name, (types, refs));
            let (receive, set) = has_receive(types);
            if receive && let Ok(status) = self.state.port_get_receive_status(space, name) {
                seen.status.insert(name, status);
            }
            if set && let Ok(mut members) = self.state.port_get_set_status(space, name) {
                members.sort_unstable();
                seen.members.insert(name, members);
            }
        }
        seen
    }

    /// Compares what no task can see: queues, counts, and that nothing is kept that nobody refers to.
    pub fn check_inside(&mut self, model: &Model, census: &BTreeMap<PortNo, (usize, usize)>) -> Check {
        for (task, space) in self.spaces.iter().enumerate() {
            for (name, entry) in self.state.space(*space).iter() {
                let number = model.tasks[task].names.get(&name).and_then(|entry| entry.port);
                match (entry.port(), number) {
                    (Some(port), Some(number)) => {
                        let known = *self.known.entry(port).or_insert(number);
                        same("the port of a name", known, number)?;
                    }
                    (None, None) => {}
                    other => return Err(format!("the port of {name:#x}: {other:?}")),
                }
            }
        }
        for (port, number) in &self.known {
            let (it, by_rules) = (self.state.port(*port), &model.ports[number]);
            same("whether a port lives", it.local().is_some(), by_rules.alive)?;
            let rights = (it.srights as usize, it.sorights as usize);
            same("send and send-once rights", rights, census.get(number).copied().unwrap_or_default())?;
            let queue = it.local().map(|local| &local.queue).into_iter().flatten();
            let queue = queue.map(|message| self.translate(message)).collect::<Result<Vec<_>, _>>()?;
            same("a queue", queue, by_rules.queue.iter().cloned().collect())?;
            same("a payload", it.local().and_then(|local| local.payload()), by_rules.payload.filter(|_| by_rules.alive))?;
        }
        let needed = model.ports.iter().filter(|(number, it)| it.alive || census.contains_key(number)).count();
        same("the number of ports", self.state.ports.len(), needed)?;
        let sets = model.tasks.iter().flat_map(|task| task.names.values()).filter(|entry| entry.set.is_some()).count();
        same("the number of sets", self.state.sets.len(), sets)
    }

    fn translate(&self, message: &Message) -> Check<rules::Message> {
        let number = |port: PortId| self.known.get(&port).copied().ok_or_else(|| format!("{port:?} in a message is unknown"));
        let right = |right: &Right| {
            Ok::<_, String>(match right {
                Right::Null => rules::Right::Null,
                Right::Dead => rules::Right::Dead,
                Right::Send(port) => rules::Right::Send(number(*port)?),
                Right::SendOnce(port) => rules::Right::Once(number(*port)?),
                Right::Receive(port) => rules::Right::Receive(number(*port)?),
                Right::RemoteSendOnce(once) => return Err(format!("{once:?} without ports elsewhere")),
            })
        };
        let word = message.body.get(8..12).map(|word| u32::from_le_bytes(word.try_into().expect("4 bytes")));
        Ok(rules::Message {
            id: message.id,
            dest: right(&message.dest)?,
            reply: right(&message.reply)?,
            rights: message.items.iter().flat_map(Item::rights).map(right).collect::<Result<_, _>>()?,
            word: word.filter(|_| message.id != abi::notify::PORT_DESTROYED),
            sender: None,
        })
    }
}

fn put(state: &mut State, space: SpaceId, right: Right) -> u32 {
    match state.copyout(space, right) {
        Ok(name) => name,
        Err(right) => {
            state.destroy_right(right);
            abi::NULL
        }
    }
}
