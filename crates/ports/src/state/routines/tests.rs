//! One small test for each rule; random sequences are compared with a model in `tests/model.rs`.

mod names;
mod notifications;
mod receive;
mod transfer;

use crate::{
    abi::{Code, kind, notify, right, types},
    state::{
        Effect, Right, SpaceId, State,
        message::{Item, Message, Origin},
    },
};

/// A state with spaces, and what a program does with it.
struct World {
    state: State,
    a: SpaceId,
    b: SpaceId,
}

/// A notification or message, as a receiver sees it.
#[derive(Debug, PartialEq, Eq)]
struct Got {
    id: i32,
    /// The word after the type, of a notification with one.
    word: Option<u32>,
    /// Names of the rights in it.
    names: Vec<u32>,
}

impl World {
    fn new() -> Self {
        let mut state = State::default();
        let (a, b) = (state.new_space(), state.new_space());
        Self { state, a, b }
    }

    /// A new port in a space.
    fn port(&mut self, space: SpaceId) -> u32 {
        self.state.port_allocate(space, right::RECEIVE).expect("a port")
    }

    /// Gives `to` a right made of `name` in `from`: its name there.
    fn give(&mut self, from: SpaceId, name: u32, disposition: u32, to: SpaceId) -> u32 {
        let right = self.state.copyin(from, name, disposition).expect("a right");
        self.state.copyout(to, right).expect("a name")
    }

    /// A send-once right to be told with.
    fn once(&mut self, space: SpaceId, name: u32) -> Right {
        self.state.copyin(space, name, types::MAKE_SEND_ONCE).expect("a send-once right")
    }

    /// Asks for a notification to `to`, where nothing was asked for.
    fn request(&mut self, space: SpaceId, name: u32, id: i32, to: u32) {
        let to = self.once(space, to);
        let previous = self.state.port_request_notification(space, name, id, 0, to).expect("a request");
        assert_eq!(previous, Right::Null);
    }

    /// Sends a message that carries rights.
    fn send(&mut self, space: SpaceId, name: u32, disposition: u32, id: i32, rights: Vec<Right>) {
        let dest = self.state.copyin(space, name, disposition).expect("a destination");
        let (Right::Send(port) | Right::SendOnce(port)) = dest else { panic!("no destination: {dest:?}") };
        let complex = !rights.is_empty();
        let items = if complex { vec![Item::PortArray { at: 8, rights }] } else { Vec::new() };
        let message = Message {
            id,
            complex,
            dest,
            reply: Right::Null,
            body: vec![0; 16],
            short: false,
            sender: Default::default(),
            items: items.into(),
            origin: None,
            charge: Default::default(),
        };
        self.state.enqueue(port, Box::new(message));
    }

    /// Takes the next message from a port.
    fn receive(&mut self, space: SpaceId, name: u32) -> Option<Got> {
        let port = self.state.space(space).get(name)?.port()?;
        let message = *self.state.dequeue(port)?;
        let mut names = Vec::new();
        for item in message.items {
            match item {
                Item::Ports { rights, .. } => {
                    names.extend(rights.into_iter().map(|right| self.state.copyout(space, right).expect("a name")))
                }
                Item::PortArray { rights, .. } => {
                    names.extend(rights.into_iter().map(|right| self.state.copyout(space, right).expect("a name")))
                }
                Item::Memory { .. } => {}
            }
        }
        match message.dest {
            Right::SendOnce(port) => self.state.drop_soright(port),
            other => self.state.destroy_right(other),
        }
        let word = message.body.get(8..12).map(|word| u32::from_le_bytes(word.try_into().expect("4 bytes")));
        Some(Got { id: message.id, word, names })
    }

    /// The next message, which must be a notification with a word.
    fn told(&mut self, space: SpaceId, name: u32) -> Option<(i32, Option<u32>)> {
        self.receive(space, name).map(|got| (got.id, got.word))
    }

    fn kind(&self, space: SpaceId, name: u32) -> Result<u32, Code> {
        self.state.port_type(space, name)
    }

    /// Does what the I/O layer does with effects, which is nothing but to free what is forgotten.
    fn settle(&mut self) -> Vec<Effect> {
        let effects: Vec<Effect> = self.state.effects.drain(..).collect();
        for effect in &effects {
            if let Effect::Forgotten(port) = effect {
                self.state.free_port(*port);
            }
        }
        effects
    }
}

#[test]
fn what_is_gone_leaves_nothing() {
    let mut w = World::new();
    let (a, b) = (w.a, w.b);
    let name = w.port(a);
    let note = w.port(b);
    let other = w.give(a, name, types::MAKE_SEND, b);
    let once = w.give(a, name, types::MAKE_SEND_ONCE, b);
    w.request(b, other, notify::DEAD_NAME, note);
    w.send(b, other, types::COPY_SEND, 1, Vec::new());
    w.send(b, once, types::MOVE_SEND_ONCE, 2, Vec::new());
    w.state.terminate(a);
    w.state.terminate(b);
    w.settle();
    assert!(w.state.ports.is_empty(), "{:?}", w.state.ports);
    assert!(w.state.sets.is_empty());
}

#[test]
fn a_message_is_taken_once() {
    let mut w = World::new();
    let name = w.port(w.a);
    let other = w.give(w.a, name, types::MAKE_SEND, w.b);
    w.send(w.b, other, types::COPY_SEND, 1, Vec::new());
    let port = w.state.space(w.a).get(name).and_then(|entry| entry.port()).expect("a port");
    let queue = &mut w.state.port_mut(port).local_mut().expect("it is here").queue;
    queue[0].origin = Some(Origin::Notify(0));
    let message = w.state.dequeue(port).expect("a message");
    w.state.destroy_message(message);
    let taken = w.settle().into_iter().filter(|effect| matches!(effect, Effect::Taken(_)));
    assert_eq!(taken.count(), 1);
}

#[test]
fn a_port_in_its_task_is_small() {
    let port = size_of::<crate::state::port::Port>();
    let name = size_of::<crate::state::space::Entry>() + 4;
    assert!(port + name <= 200, "{port} and {name} bytes");
}
