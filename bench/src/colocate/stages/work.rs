//! The instructions of the stages: which functions do the work of which.

use crate::trips::attribution::Anchor;

/// A kind of work in a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Work {
    /// The client's stub, up to its `mach_msg`; with traps, all of it.
    StubBefore,
    /// The client's stub, from there on.
    StubAfter,
    /// Into `mach_msg`: arguments, buffer, lock.
    Enter,
    /// A message sent: header, names, rights.
    Send,
    /// A message written into the ring.
    Write,
    /// The receiver woken.
    Wake,
    /// Waiting for a message.
    Wait,
    /// A message received: header, names, rights.
    Receive,
    /// A message read out of the ring.
    Read,
    /// The loop around the server's demultiplexer.
    Serve,
    /// Demultiplexer and server's stub up to the routine; with traps, the server's trap function.
    ServerBefore,
    /// From the routine on.
    ServerAfter,
    /// The routine.
    Routine,
    /// Into `mach_trap` and out of it.
    Trap,
    /// The port, its table and the routine looked up.
    LookUp,
    /// A place taken in the server's turn.
    Take,
    /// The thread works for the server's task; the call is counted.
    Switch,
    /// The server's function called, so that exceptions end there.
    Catch,
    /// The thread works for the client's task again, and the place is given back.
    Back,
}

/// What either end of a message does.
fn message() -> Vec<Anchor<Work>> {
    const MSG: &str = "slipway_ports::msg";
    const LINE: &str = "slipway_ports::line";
    vec![
        Anchor::new("", "mach_msg", Work::Enter),
        Anchor::new(MSG, "send", Work::Send),
        Anchor::new(LINE, "room", Work::Write),
        Anchor::new(LINE, "write_plain", Work::Write),
        Anchor::new("slipway_fabric::ring", "wake_up", Work::Wake),
        Anchor::new("slipway_ports", "for_message", Work::Wait),
        Anchor::new(MSG, "receive", Work::Receive),
        Anchor::new(LINE, "front", Work::Read),
        Anchor::new(LINE, "copy_out", Work::Read),
        Anchor::new(LINE, "consume", Work::Read),
    ]
}

/// The client of a call by message, without parameters or with some.
pub fn client(routine: &str) -> Vec<Anchor<Work>> {
    let stub = Anchor::new("", &format!("send_{routine}"), Work::StubBefore).behind("mach_msg", Work::StubAfter);
    [message(), vec![stub]].concat()
}

/// The server of a call by message.
pub fn server(routine: &str) -> Vec<Anchor<Work>> {
    let (stub, near) = (format!("_X{routine}"), format!("near_{routine}"));
    let of_server = vec![
        Anchor::new("", "mach_msg_server", Work::Serve),
        Anchor::new("", "colocate_server", Work::ServerBefore).behind(&stub, Work::ServerAfter),
        Anchor::new("", &stub, Work::ServerBefore).behind(&near, Work::ServerAfter),
        Anchor::new("", &near, Work::Routine),
    ];
    [message(), of_server].concat()
}

/// Both ends of a call by trap.
pub fn trap(routine: &str) -> Vec<Anchor<Work>> {
    const TRAP: &str = "slipway_ports::trap";
    const TURN: &str = "slipway_fabric::turn";
    let (stub, function, near) = (format!("trap_{routine}"), format!("_T{routine}"), format!("near_{routine}"));
    vec![
        Anchor::new("", &stub, Work::StubBefore),
        // Of the calls before the server waits, which are no traps.
        Anchor::new("", &format!("_M{routine}"), Work::Enter).rare(),
        Anchor::new("", "mach_msg", Work::Enter),
        Anchor::new("", "mach_trap", Work::Trap),
        Anchor::new(TRAP, "call", Work::LookUp).behind("enter", Work::Switch).behind("run", Work::Back),
        Anchor::new(TURN, "enter", Work::Take),
        Anchor::new(TRAP, "run", Work::Catch),
        Anchor::new("", "slipway_trap_run", Work::Catch),
        Anchor::new(TURN, "leave", Work::Back),
        Anchor::new("", &function, Work::ServerBefore).behind(&near, Work::ServerAfter),
        Anchor::new("", &near, Work::Routine),
    ]
}
