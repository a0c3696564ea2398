//! What is remembered from one plain message to the next is forgotten at every change: between fast exchanges with another process come
//! random calls that change names, rights, sets, queues, limits and lines, and the next exchange shows each of them.

mod support;

use slipway_ports::{
    abi::{Code, option, right, types},
    msg::Request,
    task::Task,
};
use std::process::Child;
use support::{tools::*, *};

/// What a message asks the server for, in its id: an echo, as many messages as the queue takes and then their number, or the end.
const ECHO: i32 = 0;
const BURST: i32 = 1;
const END: i32 = 2;
/// Ports of the client, the last of which is for reports.
const PORTS: usize = 4;
const REPORT: usize = PORTS - 1;
/// The round in which a second line comes.
const TWO: usize = 2000;
/// The most messages of a burst.
const MOST: u32 = 8;

fn id(n: u32, what: i32, port: usize) -> i32 {
    (n as i32) << 5 | what << 3 | port as i32
}

/// Sends what is in the buffer, receives into it, or one after the other, and waits as long as that takes.
fn call(buffer: &mut [u8], option: u32, from: u32) -> Code {
    let size = buffer.len();
    let request = Request { option, send_size: size, receive_size: size, receive_name: from, ..Request::default() };
    Task::current().mach_msg(buffer, &request)
}

fn plain(id: i32, to: u32) -> Msg {
    Msg::new(id, (to, types::COPY_SEND), (0, 0))
}

/// The other process.
fn serve() {
    let (_, own) = hello();
    let first = receive(own);
    let to: Vec<u32> = (0..PORTS).map(|n| first.u32(40 + 8 * n)).collect();
    let mut msg = plain(0, 0);
    assert_eq!(call(&mut msg.0, option::RCV_MSG, own), Code::SUCCESS);
    loop {
        let (id, port) = (msg.id(), msg.id() as usize & 7);
        msg = match id >> 3 & 3 {
            ECHO => plain(id, to[port]),
            BURST => {
                let sent = (0..MOST).take_while(|_| send_for(&plain(id, to[port]), Some(0)) == Code::SUCCESS).count();
                plain(sent as i32, to[REPORT])
            }
            _ => return,
        };
        assert_eq!(call(&mut msg.0, option::SEND_MSG | option::RCV_MSG, own), Code::SUCCESS);
    }
}

/// A port of the client, as it ought to be.
struct Port {
    name: u32,
    payload: Option<u64>,
    in_set: bool,
    seqno: u32,
}

struct Client {
    task: Task,
    ports: Vec<Port>,
    set: u32,
    /// The servers, by the names of the send rights for their ports.
    servers: Vec<u32>,
    children: Vec<Child>,
    n: u32,
}

impl Client {
    fn new() -> Self {
        let task = Task::current();
        let port = |_| {
            let name = receive_right();
            task.insert_right(name, task, name, types::MAKE_SEND).expect("a send right");
            Port { name, payload: None, in_set: false, seqno: 0 }
        };
        let set = task.allocate(right::PORT_SET).expect("a set");
        Self { task, ports: (0..PORTS).map(port).collect(), set, servers: Vec::new(), children: Vec::new(), n: 0 }
    }

    fn start(&mut self, test: &str) {
        let hello = receive_right();
        self.children.push(start(test, "server", hello));
        let server = receive(hello).reply();
        let names: Vec<u32> = self.ports.iter().map(|port| port.name).collect();
        assert_eq!(send(&plain(0, server).ports(types::MAKE_SEND, &names)), Code::SUCCESS);
        self.servers.push(server);
    }

    /// A name that nothing has.
    fn unused(&self) -> u32 {
        let name = receive_right();
        self.task.destroy(name).expect("a port");
        name
    }

    fn from(&self, port: usize) -> u32 {
        if self.ports[port].in_set { self.set } else { self.ports[port].name }
    }

    /// Checks a message that came to the port.
    fn check(&mut self, msg: &Msg, id: i32, port: usize) {
        let it = &mut self.ports[port];
        let (local, kind) = it.payload.map_or((it.name.into(), types::PORT_SEND), |payload| (payload, types::PROTECTED_PAYLOAD));
        let got = (msg.id(), u64::from(msg.u32(16)) | u64::from(msg.u32(20)) << 32, msg.u32(0) >> 8 & 0xff, msg.u32(24));
        assert_eq!(got, (id, local, kind, it.seqno), "id, local, its type, number");
        it.seqno += 1;
    }

    fn receive(&mut self, id: i32, port: usize) {
        let mut msg = plain(0, 0);
        assert_eq!(call(&mut msg.0, option::RCV_MSG, self.from(port)), Code::SUCCESS);
        self.check(&msg, id, port);
    }

    fn next(&mut self, what: i32, port: usize) -> i32 {
        self.n += 1;
        id(self.n, what, port)
    }

    /// A message to a server and its echo.
    fn exchange(&mut self, server: usize, port: usize) {
        let id = self.next(ECHO, port);
        let mut msg = plain(id, self.servers[server]);
        assert_eq!(call(&mut msg.0, option::SEND_MSG | option::RCV_MSG, self.from(port)), Code::SUCCESS);
        self.check(&msg, id, port);
    }

    /// Changes something, and looks at what ought to be otherwise.
    fn change(&mut self, which: usize, dice: &mut Dice, port: usize, server: usize) {
        let name = self.ports[port].name;
        match which {
            0 => {
                self.ports[port].name = self.unused();
                self.task.rename(name, self.ports[port].name).expect("a free name");
                if dice.below(2) == 0 {
                    assert_eq!(call(&mut plain(0, 0).0, option::RCV_MSG, name), Code::RCV_INVALID_NAME);
                    return;
                }
                // Another port under the old name.
                self.task.allocate_name(right::RECEIVE, name).expect("a free name");
                self.task.insert_right(name, self.task, name, types::MAKE_SEND).expect("a send right");
                assert_eq!(send(&plain(-1, name)), Code::SUCCESS);
                let id = self.next(ECHO, port);
                let mut msg = plain(id, self.servers[server]);
                assert_eq!(call(&mut msg.0, option::SEND_MSG | option::RCV_MSG, name), Code::SUCCESS);
                assert_eq!((msg.id(), msg.u32(16)), (-1, name));
                self.task.destroy(name).expect("the other port");
                self.receive(id, port);
            }
            1 => {
                let payload = dice.any();
                self.task.set_payload(name, payload).expect("the port");
                self.ports[port].payload = Some(payload);
            }
            2 => {
                self.task.clear_payload(name).expect("the port");
                self.ports[port].payload = None;
            }
            3 => {
                let in_set = !self.ports[port].in_set;
                self.task.move_member(name, if in_set { self.set } else { 0 }).expect("the port");
                self.ports[port].in_set = in_set;
                let other = if in_set { name } else { self.set };
                if in_set {
                    assert_eq!(call(&mut plain(0, 0).0, option::RCV_MSG, other), Code::RCV_IN_SET);
                }
            }
            4 => {
                // What is queued here comes first.
                assert_eq!(send(&plain(-2, name)), Code::SUCCESS);
                let id = self.next(ECHO, port);
                let mut msg = plain(id, self.servers[server]);
                assert_eq!(call(&mut msg.0, option::SEND_MSG | option::RCV_MSG, self.from(port)), Code::SUCCESS);
                self.check(&msg, -2, port);
                self.receive(id, port);
            }
            5 => {
                let (old, new) = (self.servers[server], self.unused());
                self.task.rename(old, new).expect("a free name");
                self.servers[server] = new;
                let mut msg = plain(0, old);
                assert_eq!(call(&mut msg.0, option::SEND_MSG | option::RCV_MSG, self.from(port)), Code::SEND_INVALID_DEST);
                // A port of this task under the old name gets what is sent there.
                self.task.allocate_name(right::RECEIVE, old).expect("a free name");
                self.task.insert_right(old, self.task, old, types::MAKE_SEND).expect("a send right");
                let mut msg = plain(-3, old);
                assert_eq!(call(&mut msg.0, option::SEND_MSG | option::RCV_MSG, old), Code::SUCCESS);
                assert_eq!((msg.id(), msg.u32(16)), (-3, old));
                self.task.destroy(old).expect("that port");
            }
            6 => {
                let limit = 1 + dice.below(MOST as usize - 1) as u32;
                self.task.set_qlimit(name, limit).expect("the port");
                let id = self.next(BURST, port);
                let mut msg = plain(id, self.servers[server]);
                let report = self.from(REPORT);
                assert_eq!(call(&mut msg.0, option::SEND_MSG | option::RCV_MSG, report), Code::SUCCESS);
                self.check(&msg, limit as i32, REPORT);
                (0..limit).for_each(|_| self.receive(id, port));
            }
            7 => {
                let seqno = dice.any() as u32 / 2;
                self.task.set_seqno(name, seqno).expect("the port");
                self.ports[port].seqno = seqno;
            }
            9 => {
                // From here on somebody may poll, and less is remembered.
                let pollable = self.task.pollable(name).expect("a descriptor");
                let id = self.next(ECHO, port);
                assert_eq!(send(&plain(id, self.servers[server])), Code::SUCCESS);
                if !self.ports[port].in_set {
                    let mut polled = [rustix::event::PollFd::new(&pollable, rustix::event::PollFlags::IN)];
                    let soon = rustix::event::Timespec { tv_sec: WATCHDOG.as_secs() as i64, tv_nsec: 0 };
                    assert_eq!(rustix::event::poll(&mut polled, Some(&soon)), Ok(1), "the message is told of");
                }
                self.receive(id, port);
            }
            _ => {
                // The receive right goes away in a message, and comes back by another name.
                let (carrier, report) = (self.ports[REPORT].name, self.from(REPORT));
                assert_eq!(send(&plain(-4, carrier).ports(types::MOVE_RECEIVE, &[name])), Code::SUCCESS);
                assert_eq!(call(&mut plain(0, 0).0, option::RCV_MSG, name), Code::RCV_INVALID_NAME);
                let msg = receive(report);
                self.check(&msg, -4, REPORT);
                let it = &mut self.ports[port];
                (it.name, it.in_set, it.seqno, it.payload) = (msg.u32(40), false, 0, None);
                self.task.clear_payload(it.name).expect("the port");
            }
        }
    }
}

#[test]
fn the_next_message_shows_every_change() {
    const NAME: &str = "the_next_message_shows_every_change";
    if role().is_some() {
        return serve();
    }
    let _dog = watchdog(NAME, WATCHDOG + fuzz_time());
    let seed = NamedSeed(seed());
    let mut dice = Dice::new(seed.0);
    let mut client = Client::new();
    client.start(NAME);
    for round in 0..3000 {
        // One line at first, of which alone all is remembered; then two.
        if round == TWO {
            client.start(NAME);
        }
        let (server, port) = (dice.below(client.servers.len()), dice.below(REPORT));
        for _ in 0..dice.below(4) {
            client.exchange(server, port);
        }
        let changes = if round < TWO { 9 } else { 10 };
        client.change(dice.below(changes), &mut dice, port, server);
        client.exchange(server, port);
    }
    // The last: the other end is gone, and with it the line.
    for server in client.servers.clone() {
        client.exchange(client.servers.len() - 1, 0);
        assert_eq!(send(&plain(id(0, END, 0), server)), Code::SUCCESS);
    }
    well(std::mem::take(&mut client.children));
    for server in client.servers.clone() {
        until("the server's port is known to be dead", || {
            call(&mut plain(0, server).0, option::SEND_MSG, 0) == Code::SEND_INVALID_DEST
        });
    }
}
