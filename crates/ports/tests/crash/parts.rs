//! The parts that the tasks play which are to be killed. Each goes on until then.

use crate::support::{nursery::bootstrap, tools::Dice, *};
use slipway_fabric::sync::pages;
use slipway_ports::{
    abi::{Code, notify, types},
    task::Task,
};
use std::collections::VecDeque;

/// Parts.
pub const CLIENT: i32 = 10;
pub const SERVER: i32 = 11;
pub const RELAY: i32 = 12;
pub const HOLDER: i32 = 13;
pub const SENDER: i32 = 14;

/// Messages.
pub const HELLO: i32 = 500;
pub const WELCOME: i32 = 501;
pub const PLAIN: i32 = 600;
pub const MEMORY: i32 = 601;
pub const RIGHTS: i32 = 602;
pub const MOVING: i32 = 603;

/// Plays a part.
pub fn play(part: i32, seed: u64) {
    let boot = bootstrap();
    let own = receive_right();
    assert_eq!(send(&Msg::new(HELLO, (boot, types::COPY_SEND), (own, types::MAKE_SEND))), Code::SUCCESS);
    let dice = Dice::new(seed);
    match part {
        CLIENT => client(own, dice),
        SERVER => server(own, dice),
        RELAY => relay(own),
        HOLDER => holder(own, dice),
        SENDER => sender(own),
        other => panic!("part {other}"),
    }
}

/// Memory to be sent out of line, unmapped when it was.
pub struct OutOfLine(usize, usize);

impl OutOfLine {
    fn new(len: usize) -> Self {
        let size = pages::whole_pages(len).expect("a size");
        let at = pages::allocate(None, size).expect("memory");
        // SAFETY: memory of this test, which nothing else refers to.
        unsafe { pages::write(at, &vec![(len % 251) as u8; len]) }.expect("our memory");
        Self(at, size)
    }
}

impl Drop for OutOfLine {
    fn drop(&mut self) {
        // SAFETY: memory of this test, which nothing else refers to.
        unsafe { pages::deallocate(self.0, self.1) }.expect("our memory");
    }
}

/// A request with or without a reply right, and what must live until it is sent.
pub fn random_request(to: u32, reply: Option<u32>, dice: &mut Dice) -> (Msg, Option<OutOfLine>) {
    let reply = reply.map_or((0, 0), |port| (port, types::MAKE_SEND_ONCE));
    let msg = |id| Msg::new(id, (to, types::COPY_SEND), reply);
    match dice.below(6) {
        0 => {
            let len = dice.of(&[1, 3_000, 20_000, 100_000]);
            let memory = OutOfLine::new(len);
            let mut msg = msg(MEMORY).int(len as u64);
            msg.0[3] |= 0x80;
            // Bytes out of line, their number in the type word.
            msg.0.extend((9 | 8 << 8 | (len as u64) << 32).to_le_bytes());
            msg.0.extend((memory.0 as u64).to_le_bytes());
            (msg, Some(memory))
        }
        1 => {
            // The rights are the request's: the ports are forgotten by the reply port's owner alone.
            let ports: Vec<u32> = (0..1 + dice.below(20)).map(|_| reply.0.max(1)).collect();
            if reply.0 == 0 {
                return (msg(PLAIN).int(7 << 32), None);
            }
            (msg(RIGHTS).ports(types::MAKE_SEND, &ports), None)
        }
        _ => (msg(PLAIN).int(7 << 32 | dice.below(1000) as u64), None),
    }
}

/// Gives up a right that came, unless it came dead.
pub fn drop_right(name: u32) {
    if name != 0 && name != !0 {
        Task::current().deallocate(name).expect("a right");
    }
}

/// Gives up a right that an answer brought back.
pub fn drop_carried(answer: &Msg) {
    if answer.0.len() >= 64 {
        // It is a send right to the reply port itself, under whose name it joined.
        let _ = Task::current().deallocate(answer.u32(56));
    }
}

fn client(own: u32, mut dice: Dice) {
    let welcome = receive(own);
    let server = welcome.reply();
    let reply = receive_right();
    loop {
        let asks = dice.below(4) > 0;
        let (msg, memory) = random_request(server, asks.then_some(reply), &mut dice);
        match send(&msg) {
            Code::SUCCESS => {}
            Code::SEND_INVALID_DEST => return,
            code => panic!("a request: {code:?}"),
        }
        drop(memory);
        if asks {
            let answer = receive(reply);
            if answer.id() == notify::SEND_ONCE {
                return;
            }
            drop_carried(&answer);
        }
    }
}

/// Answers most requests; some never, some late, some by dropping the right.
fn server(own: u32, mut dice: Dice) {
    let task = Task::current();
    let mut kept = Vec::new();
    loop {
        let msg = receive(own);
        match msg.id() {
            MEMORY => {
                let len = msg.u64(40) as usize;
                // SAFETY: memory of this test, which nothing else refers to.
                unsafe { pages::deallocate(msg.u64(56) as usize, pages::whole_pages(len).expect("a size")) }.expect("our memory");
            }
            RIGHTS => {
                let count = (msg.u64(32) >> 32) as usize;
                (0..count).for_each(|i| drop_right(msg.u32(40 + 8 * i)));
            }
            _ => {}
        }
        if msg.reply() == 0 {
            continue;
        }
        match dice.below(12) {
            0 => task.deallocate(msg.reply()).expect("a right"),
            1 if kept.len() < 2 => {
                kept.push((msg.id(), msg.reply()));
                continue;
            }
            _ => answer(msg.id(), msg.reply()),
        }
        if dice.below(3) == 0
            && let Some((id, reply)) = kept.pop()
        {
            answer(id, reply);
        }
    }
}

fn answer(id: i32, reply: u32) {
    let msg = Msg::new(id + 100, (reply, types::MOVE_SEND_ONCE), (0, 0)).int(1);
    assert_eq!(send(&msg), Code::SUCCESS);
}

/// The starter's welcome, and what others were quicker to send.
fn welcomed(own: u32) -> (Msg, VecDeque<Msg>) {
    let mut early = VecDeque::new();
    loop {
        let msg = receive(own);
        if msg.id() == WELCOME {
            return (msg, early);
        }
        early.push_back(msg);
    }
}

/// Passes each message on to the next, the last back to who asked.
fn relay(own: u32) {
    let (welcome, mut early) = welcomed(own);
    let next = (welcome.0.len() > 48).then(|| welcome.u32(56));
    let shared = welcome.u32(40);
    loop {
        let msg = early.pop_front().unwrap_or_else(|| receive(own));
        let reply = msg.reply();
        // One in a while goes to the port that all know, where nobody listens: it must not disturb the others.
        if msg.u64(40) % 16 == 15 {
            let _ = send_for(&Msg::new(1, (shared, types::COPY_SEND), (0, 0)), Some(0));
        }
        let sent = match next {
            Some(next) => send(&Msg::new(msg.id(), (next, types::COPY_SEND), (reply, types::MOVE_SEND_ONCE)).int(msg.u64(40))),
            None => send(&Msg::new(msg.id(), (reply, types::MOVE_SEND_ONCE), (0, 0)).int(msg.u64(40))),
        };
        if sent != Code::SUCCESS {
            // The next is dead: whoever waits is told by this.
            assert_eq!(sent, Code::SEND_INVALID_DEST);
            drop_right(reply);
        }
    }
}

/// Receives some messages from the port that moves, reports them, and hands it on.
fn holder(own: u32, mut dice: Dice) {
    let (welcome, mut early) = welcomed(own);
    let (other, log) = (welcome.u32(40), welcome.u32(56));
    loop {
        let msg = early.pop_front().unwrap_or_else(|| receive(own));
        assert_eq!(msg.id(), MOVING);
        let moving = msg.u32(40);
        for _ in 0..dice.below(12) {
            let Ok(msg) = receive_within(moving, 20) else { break };
            let report = Msg::new(PLAIN, (log, types::COPY_SEND), (0, 0)).int(msg.u64(40));
            if send(&report) != Code::SUCCESS {
                return;
            }
        }
        let on = Msg::new(MOVING, (other, types::COPY_SEND), (0, 0)).ports(types::MOVE_RECEIVE, &[moving]);
        if send(&on) != Code::SUCCESS {
            return;
        }
    }
}

/// Sends numbers to the port that moves.
fn sender(own: u32) {
    let moving = receive(own).u32(40);
    for i in 0u64.. {
        if send(&Msg::new(PLAIN, (moving, types::COPY_SEND), (0, 0)).int(1 << 40 | i)) != Code::SUCCESS {
            break;
        }
    }
    let _until_killed = receive_within(own, 10 * SOON);
}
