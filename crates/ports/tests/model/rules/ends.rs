//! The end of rights and ports, and who is told.

use super::*;
use slipway_ports::abi::notify;

impl Model {
    /// Sends a notification with a send-once right, if there is one.
    pub(super) fn tell(&mut self, to: Option<Right>, id: i32, word: Option<u32>, rights: Vec<Right>) {
        if let Some(dest @ Right::Once(port)) = to {
            self.deliver(port, Message { id, dest, reply: Right::Null, rights, word, sender: None });
        }
    }

    pub(super) fn tell_deleted(&mut self, to: Option<Right>, name: u32) {
        self.tell(to, notify::PORT_DELETED, Some(name), Vec::new());
    }

    /// Puts a message into a port's queue. It is destroyed if the port is dead, or if it would be lost there.
    pub(super) fn deliver(&mut self, port: PortNo, message: Message) {
        let lost = |right: &Right| matches!(right, Right::Receive(it) if self.circle(*it, port));
        if !self.alive(port) || message.rights.iter().any(lost) {
            self.destroy_message(message);
        } else {
            self.port(port).queue.push_back(message);
        }
    }

    /// Destroys a message: the right it was sent with, that to answer with, those in its body. Messages that die with the
    /// ports in it are destroyed after it.
    pub(super) fn destroy_message(&mut self, message: Message) {
        self.doomed.push_back(message);
        if std::mem::replace(&mut self.destroying, true) {
            return;
        }
        while let Some(first) = self.doomed.front_mut() {
            let right = if first.dest != Right::Null {
                std::mem::replace(&mut first.dest, Right::Null)
            } else if first.reply != Right::Null {
                std::mem::replace(&mut first.reply, Right::Null)
            } else if !first.rights.is_empty() {
                first.rights.remove(0)
            } else {
                self.doomed.pop_front();
                continue;
            };
            self.destroy(right);
        }
        self.destroying = false;
    }

    /// Destroys a right that is nowhere any more.
    pub fn destroy(&mut self, right: Right) {
        match right {
            Right::Null | Right::Dead => {}
            Right::Send(port) => self.sender_gone(port),
            Right::Once(port) if self.alive(port) => self.tell(Some(right), notify::SEND_ONCE, None, Vec::new()),
            Right::Once(_) => {}
            Right::Receive(port) => match self.port(port).destroyed.take() {
                None => self.die(port),
                Some(Right::Once(backup)) if self.circle(port, backup) => self.die(port),
                to => self.tell(to, notify::PORT_DESTROYED, None, vec![Right::Receive(port)]),
            },
        }
    }

    /// A send right of the port is gone. If it was the last, who asked for that is told.
    pub(super) fn sender_gone(&mut self, port: PortNo) {
        let due = self.no_senders_due(port);
        self.tell_no_senders(due);
    }

    /// Who is to be told, and of how many, if the port has no senders.
    pub(super) fn no_senders_due(&mut self, port: PortNo) -> Option<(Right, u32)> {
        if !self.alive(port) || self.senders(port) > 0 {
            return None;
        }
        let it = self.port(port);
        Some((it.no_senders.take()?, it.mscount))
    }

    pub(super) fn tell_no_senders(&mut self, due: Option<(Right, u32)>) {
        if let Some((to, made)) = due {
            self.tell(Some(to), notify::NO_SENDERS, Some(made), Vec::new());
        }
    }

    /// The port dies.
    fn die(&mut self, port: PortNo) {
        self.forget_receiver(port);
        let it = self.port(port);
        it.alive = false;
        if let Some(to) = it.no_senders.take() {
            self.destroy(to);
        }
        while let Some(message) = self.port(port).queue.pop_front() {
            self.destroy_message(message);
        }
        for task in 0..self.tasks.len() {
            let names: Vec<u32> =
                self.tasks[task].names.iter().filter(|(_, it)| it.port == Some(port)).map(|(name, _)| *name).collect();
            for name in names {
                let entry = self.entry_mut(task, name);
                let request = entry.request.take();
                let refs = if entry.once { 1 } else { entry.send } + u32::from(request.is_some());
                *entry = Entry { dead: refs, ..Entry::default() };
                self.tell(request, notify::DEAD_NAME, Some(name), Vec::new());
            }
        }
    }

    /// Destroys all that a name denotes.
    pub(super) fn destroy_name(&mut self, task: usize, name: u32) {
        let Some(entry) = self.tasks[task].names.remove(&name) else { return };
        if let Some(set) = entry.set {
            self.ports.values_mut().filter(|it| it.set == Some(set)).for_each(|it| (it.set, it.passed_over) = (None, 0));
        }
        let Some(port) = entry.port else { return };
        if entry.once {
            self.destroy(Right::Once(port));
        }
        let due = if entry.send > 0 { self.no_senders_due(port) } else { None };
        if entry.receive {
            self.forget_receiver(port);
            self.destroy(Right::Receive(port));
        }
        self.tell_no_senders(due);
        self.tell_deleted(entry.request, name);
    }

    /// Ends a task.
    pub fn terminate(&mut self, task: usize) {
        self.tasks[task].dead = true;
        let names: Vec<u32> = self.tasks[task].names.keys().copied().collect();
        for name in names {
            self.destroy_name(task, name);
        }
    }
}
