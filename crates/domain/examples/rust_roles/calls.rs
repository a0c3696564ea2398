//! The calls that a task has, one after the other, and what they come to: the same in a task that shares its process and in a
//! program of its own.

use slipway_mach::{
    Special,
    abi::{Code, notify, right, types},
    rights::{Outgoing, Part, PortSet, ReceiveRight, Received, SendRight},
    task::Task,
};
use std::{error::Error, fmt::Write, os::fd::AsRawFd, thread, time::Duration};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Makes them all, in a new task of the process: what they came to, line by line.
pub fn transcript() -> Result<String> {
    let before = Task::current();
    let task = Task::new();
    task.set_label("calls");
    task.enter();
    let mut said = String::new();
    let done = names(task, &mut said)
        .and_then(|()| messages(task, &mut said))
        .and_then(|()| notifications(task, &mut said))
        .and_then(|()| others(task, before, &mut said));
    writeln!(said, "back {} {}", before.enter() == task, Task::current() == before)?;
    task.terminate();
    task.wait_for_callers();
    writeln!(said, "ended {:?} {:?}", task.allocate(right::RECEIVE), task.names().map(|names| names.len()))?;
    done.map(|()| said)
}

fn names(task: Task, said: &mut String) -> Result<()> {
    writeln!(said, "current {} number {}", Task::current() == task, Task::by_number(task.number()) == task)?;
    writeln!(said, "self {} named {}", task.self_name() != 0, task.named(task.self_name()) == Some(task))?;
    writeln!(said, "nobody {:?}", task.named(0x7700).map(|task| task.number()))?;
    let port = task.allocate(right::RECEIVE)?;
    writeln!(said, "kind {:x} refs {:?}", task.kind(port)?, task.get_refs(port, right::RECEIVE))?;
    writeln!(said, "none {:?} {:?}", task.kind(0x7700), task.deallocate(0x7700))?;
    task.allocate_name(right::PORT_SET, 0x7700)?;
    task.move_member(port, 0x7700)?;
    writeln!(said, "members {} names {}", task.set_status(0x7700)? == [port], task.names()?.len())?;
    task.rename(0x7700, 0x7800)?;
    writeln!(said, "again {:?}", task.allocate_name(right::RECEIVE, 0x7800))?;
    writeln!(said, "limits {:?} {:?}", task.set_qlimit(port, 3), task.set_qlimit(port, 999))?;
    task.set_mscount(port, 7)?;
    task.set_seqno(port, 9)?;
    task.set_payload(port, 1 << 40)?;
    let mut status = task.receive_status(port)?;
    writeln!(said, "set {}", std::mem::take(&mut status.pset) == 0x7800)?;
    writeln!(said, "status {status:?}")?;
    task.clear_payload(port)?;
    task.insert_right(port, task, port, types::MAKE_SEND)?;
    task.mod_refs(port, right::SEND, 4)?;
    writeln!(said, "send {:x} {:?}", task.kind(port)?, task.get_refs(port, right::SEND))?;
    writeln!(said, "too many {:?}", task.mod_refs(port, right::SEND, -6))?;
    let once = task.extract_right(port, types::MAKE_SEND_ONCE, task)?;
    writeln!(said, "once {:x}", task.kind(once)?)?;
    writeln!(said, "deallocate {:?} {:?}", task.deallocate(once), task.destroy(0x7800))?;
    task.destroy(port)?;
    writeln!(said, "gone {:?}", task.kind(port))?;
    let reply = task.reply_port()?;
    writeln!(said, "reply {:x} traps {:?} {:?}", task.kind(reply)?, task.trap_calls(reply), task.withdraw_traps(reply))?;
    task.mod_refs(reply, right::RECEIVE, -1)?;
    Ok(())
}

/// What a message has in it.
fn content(message: &mut Received) -> Result<String> {
    let mut said = format!("{} {}:", message.id(), message.sequence());
    while let Some(part) = message.next_part() {
        match part {
            Part::Data(kind, bytes) => write!(said, " data {} {} {}", kind.name, kind.bits, bytes.len())?,
            Part::Memory(_, region) => write!(said, " memory {} {}", region.len(), region.iter().all(|byte| *byte == 5))?,
            Part::Send(right) => write!(said, " send {}", right.is_some())?,
            Part::SendOnce(right) => write!(said, " once {}", right.is_some())?,
            Part::Receive(right) => write!(said, " receive {}", right.is_some())?,
        }
    }
    Ok(said)
}

fn messages(task: Task, said: &mut String) -> Result<()> {
    let (port, other) = (ReceiveRight::new()?, ReceiveRight::new()?);
    let send = port.make_send()?;
    let moved = ReceiveRight::new()?;
    let message = Outgoing::new(1).ints(&[1, 2]).longs(&[3]).bytes(b"four").memory(vec![5; 100_000]).memory(Vec::new());
    let message = message.copy_send(&send).make_send(&other).make_send_once(&other).no_right().receive_right(moved);
    send.send(message, None)?;
    writeln!(said, "sent {}", content(&mut port.receive(None)?)?)?;
    // Larger than any buffer that is there before.
    send.send(Outgoing::new(2).bytes(&[0; 200_000]), None)?;
    writeln!(said, "large {}", content(&mut port.receive(None)?)?)?;
    writeln!(said, "nothing {:?}", port.receive(Some(Duration::ZERO)).err())?;
    port.set_queue_limit(1)?;
    send.send(Outgoing::new(3), None)?;
    let full = send.send(Outgoing::new(4).copy_send(&send).memory(vec![5; 5000]), Some(Duration::from_millis(1)));
    writeln!(said, "full {full:?} refs {:?}", task.get_refs(send.name(), right::SEND))?;
    let set = PortSet::new()?;
    set.add(&port)?;
    let readable = set.descriptor()?;
    writeln!(said, "descriptor {}", readable.as_raw_fd() > 2)?;
    let message = set.receive(None)?;
    writeln!(said, "by set {} {}", message.id(), message.port() == port.name())?;
    writeln!(said, "not alone {:?}", port.receive(Some(Duration::ZERO)).err())?;
    set.remove(&port)?;
    writeln!(said, "no descriptor {:?}", task.pollable(0x7700).map_err(|error| error.kind()).err())?;

    // A thread that answers, and one call that nobody does.
    thread::scope(|scope| {
        scope.spawn(|| {
            let before = task.enter();
            for _ in 0..2 {
                let Ok(mut request) = port.receive(None) else { return };
                let (number, reply) = (request.next_int(), request.take_reply());
                if let (Some(number), Some(reply)) = (number.filter(|number| *number < 10), reply) {
                    let _ = reply.send(Outgoing::new(11).ints(&[number + 1]));
                }
            }
            before.enter();
        });
        let mut call = |number| -> Result<()> {
            let mut answer = send.call(Outgoing::new(10).ints(&[number]), None)?;
            writeln!(said, "answer {} {:?} {}", answer.id(), answer.next_int(), answer.is_notification(notify::SEND_ONCE))?;
            Ok(())
        };
        call(6).and_then(|()| call(12))
    })?;
    drop(port);
    let dead = send.send(Outgoing::new(5), None);
    writeln!(said, "dead {dead:?} {:x} {}", task.kind(send.name())?, dead.is_err_and(|error| error.is_dead()))?;
    Ok(())
}

fn notifications(task: Task, said: &mut String) -> Result<()> {
    let (told, port) = (ReceiveRight::new()?, ReceiveRight::new()?);
    let send = port.make_send()?;
    writeln!(said, "first {:?}", port.notify_no_senders(told.make_send_once()?)?.is_none())?;
    let before = port.notify_no_senders(told.make_send_once()?)?;
    writeln!(said, "second {}", before.is_some())?;
    drop(before);
    writeln!(said, "lost {}", told.receive(None)?.is_notification(notify::SEND_ONCE))?;
    drop(send);
    writeln!(said, "no senders {}", told.receive(None)?.is_notification(notify::NO_SENDERS))?;
    let send = port.make_send()?;
    send.notify_death(told.make_send_once()?)?;
    drop(port);
    writeln!(said, "death {}", told.receive(None)?.is_notification(notify::DEAD_NAME))?;
    let wrong = task.request_notification(0x7700, notify::DEAD_NAME, 0, told.name(), types::MAKE_SEND_ONCE);
    writeln!(said, "wrong {wrong:?}")?;
    Ok(())
}

fn others(task: Task, before: Task, said: &mut String) -> Result<()> {
    let port = ReceiveRight::new()?;
    // What another task of the process gets, and gives.
    let there = before.allocate(right::RECEIVE)?;
    task.insert_right(0x7700, before, there, types::MAKE_SEND)?;
    let send = SendRight::from_name(task, 0x7700);
    send.send(Outgoing::new(20), None)?;
    let at = ReceiveRight::from_name(before, there);
    writeln!(said, "across {} {}", at.receive(None)?.id(), before.extract_right(there, types::MAKE_SEND_ONCE, task)? != 0)?;
    writeln!(said, "beside {} {}", task.is_beside(&before), task == before)?;

    let (sending, holder) = task.export(port.name())?;
    let imported = SendRight::from_name(task, task.import(sending, holder)?);
    imported.send(Outgoing::new(21), None)?;
    writeln!(said, "imported {} {}", port.receive(None)?.id(), imported.name() == port.name())?;
    writeln!(said, "not exported {:?}", task.export(0x7900).map_err(|error| error.kind()).err())?;
    let file = || std::fs::File::open("/dev/null").map(Into::into);
    writeln!(said, "not imported {:?}", task.import(file()?, file()?).map_err(|error| error.kind()).is_err())?;

    writeln!(said, "special {:?} {:?}", task.special(Special::Exception), task.bootstrap())?;
    task.set_special(Special::Exception, imported.name())?;
    task.set_bootstrap(imported.name())?;
    let special = (task.special(Special::Exception)?, task.bootstrap()?);
    writeln!(said, "set special {} {}", special.0 == imported.name(), special.1 == imported.name())?;
    writeln!(said, "not special {:?}", task.set_special(Special::Bootstrap, 0x7900))?;
    let own = [task.thread_name(), task.host_name(), task.self_right()?].map(|name| task.kind(name));
    let again = (task.thread_name(), task.thread_name());
    writeln!(said, "own {own:x?} {}", again.0 == again.1)?;
    writeln!(said, "code {}", Code::SUCCESS)?;
    Ok(())
}
