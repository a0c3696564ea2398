//! The process's port set: what comes to its connections, and waiting for it.

use super::{
    display::Displays,
    end::{End, Region},
    libmach::{Mach, Name},
    message::{ACCEPT, BEFORE, DATA, END, OUTLINE, REGION, Received, WORDS, read_item},
};
use crate::{descriptor::Reserved, report, settings::Settings, stream::locked};
use rustix::event::{EventfdFlags, epoll, eventfd};
use slipway_abi::{Code, HEADER, notify, option};
use slipway_fabric::sync::{AtomicU32, Ordering::SeqCst};
use std::{
    collections::HashMap,
    io,
    os::fd::{AsFd, BorrowedFd},
    sync::{Arc, Mutex, TryLockError},
    time::Duration,
};
use zerocopy::IntoBytes;

/// Messages that are taken off the set in one go: a peer that never stops sending doesn't keep its reader there.
const MOST: usize = 256;

/// How long a thread that waits for ports alone waits in `mach_msg`, which looks before it sleeps and is woken directly, before it sleeps in the
/// kernel among all that it waits for. A signal or another descriptor is noticed so much later.
pub const DIRECTLY: Duration = Duration::from_millis(1);

/// The one of the process.
#[derive(Debug)]
pub struct Office {
    /// The process's libmach.
    pub mach: Mach,
    /// Has every port that a connection receives from, and those where clients ask for one.
    pub set: Name,
    ends: Mutex<HashMap<Name, Arc<End>>>,
    /// The displays that this process serves.
    pub displays: Displays,
    /// The message that is being received: whoever has it takes messages off the set.
    receiving: Mutex<Vec<u64>>,
    /// Readable while a message may be there, for those that sleep.
    gate: Reserved,
    /// Part of it: a message came to another thread.
    stirred: Reserved,
    /// Threads that sleep, or are about to.
    sleepers: AtomicU32,
    /// 1: it is the parent's of this process, which was forked.
    lost: AtomicU32,
}

static OFFICE: Mutex<Option<Result<Arc<Office>, ()>>> = Mutex::new(None);

impl Office {
    /// The process's office, if connections go over ports; opened when it is first wanted.
    pub fn get() -> Option<Arc<Self>> {
        if !Settings::get().over_ports {
            return None;
        }
        let made = locked(&OFFICE)
            .get_or_insert_with(|| {
                Self::open().map_err(|why| {
                    report::warn(format_args!("no connection can go over Mach ports: {why}; they stay on their sockets"));
                })
            })
            .clone();
        made.ok()
    }

    fn open() -> Result<Arc<Self>, String> {
        let mach = Mach::find()?;
        let set = mach.set().map_err(|code| code.to_string())?;
        let descriptor = mach.descriptor(set).map_err(|code| code.to_string())?;
        let gate = || -> io::Result<(Reserved, Reserved)> {
            let gate = epoll::create(epoll::CreateFlags::CLOEXEC)?;
            let stirred = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
            epoll::add(&gate, &descriptor, epoll::EventData::new_u64(0), epoll::EventFlags::IN)?;
            epoll::add(&gate, &stirred, epoll::EventData::new_u64(0), epoll::EventFlags::IN)?;
            // As long as the gate is open, so is what it watches.
            std::mem::forget(Reserved::new(descriptor)?);
            Ok((Reserved::new(gate)?, Reserved::new(stirred)?))
        };
        let (gate, stirred) = gate().map_err(|error| error.to_string())?;
        Ok(Arc::new(Self {
            mach,
            set,
            ends: Mutex::default(),
            displays: Displays::default(),
            receiving: Mutex::new(vec![0; WORDS]),
            gate,
            stirred,
            sleepers: AtomicU32::new(0),
            lost: AtomicU32::new(0),
        }))
    }

    /// A child of fork has no rights: its parent's connections are none of its own.
    pub fn after_fork() {
        if let Some(Ok(office)) = locked(&OFFICE).take() {
            locked(&office.ends).drain().for_each(|(_, end)| end.orphan());
            office.lost.store(1, SeqCst);
        }
    }

    /// An end receives from here on.
    pub fn enter(&self, name: Name, end: &Arc<End>) {
        let mut ends = locked(&self.ends);
        ends.insert(name, Arc::clone(end));
        if ends.len() == 1 && self.sleepers.load(SeqCst) == 0 {
            self.poll(false);
        }
    }

    /// An end receives no more.
    pub fn leave(&self, name: Name) {
        let mut ends = locked(&self.ends);
        ends.remove(&name);
        if ends.is_empty() {
            // A server without clients may wait in any way for the first.
            self.poll(true);
        }
    }

    /// Takes what has come to the ports, if no other thread does just now.
    pub fn collect(&self) {
        match self.receiving.try_lock() {
            Ok(mut buffer) => self.drain(&mut buffer),
            Err(TryLockError::Poisoned(poisoned)) => self.drain(&mut poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => {}
        }
    }

    /// As [`Self::collect`]; waits for the other thread.
    pub fn collect_all(&self) {
        self.drain(&mut locked(&self.receiving));
    }

    fn drain(&self, buffer: &mut [u64]) {
        for _ in 0..MOST {
            if !self.take(buffer, 0) {
                return;
            }
        }
    }

    /// Waits for a message, [`DIRECTLY`] at most, and takes what has come. False if nothing has, or another thread waits so.
    pub fn wait(&self) -> bool {
        let Ok(mut buffer) = self.receiving.try_lock() else { return false };
        let came = self.take(&mut buffer, DIRECTLY.as_millis() as u32);
        if came {
            self.drain(&mut buffer);
        }
        came
    }

    /// Takes one message off the set, and gives it to whom it is for.
    fn take(&self, buffer: &mut [u64], timeout: u32) -> bool {
        if self.lost.load(SeqCst) != 0 {
            return false;
        }
        let receive = |buffer: &mut [u64], options| {
            #[allow(unsafe_code, reason = "mach_msg")]
            // SAFETY: the buffer is as long as is said.
            unsafe {
                self.mach.message(buffer, option::RCV_MSG | option::RCV_TIMEOUT | options, 0, self.set, timeout, 0)
            }
        };
        match receive(buffer, option::RCV_LARGE) {
            Ok(()) => {}
            Err(Code::RCV_TOO_LARGE) => {
                // Nothing that an end of ours sends: taken to find out whose it is.
                let words = Received::read(buffer).size.div_ceil(8).max(WORDS);
                let mut large = vec![0; words];
                if receive(&mut large, 0).is_ok() {
                    self.sort(&mut large);
                }
                return true;
            }
            Err(_) => return false,
        }
        self.sort(buffer);
        true
    }

    fn sort(&self, buffer: &mut [u64]) {
        let front = Received::read(buffer);
        let end = locked(&self.ends).get(&front.at).cloned();
        let known = match &end {
            Some(end) => self.of_end(end, &front, buffer),
            None => self.displays.hear(&self.mach, &front, buffer),
        };
        if !known {
            self.mach.destroy_message(buffer);
            if let Some(end) = &end
                && !front.by_send_once
            {
                report::warn(format_args!(
                    "a peer sent a message that means nothing ({:#x}); the connection is closed",
                    front.id
                ));
                end.lose_peer();
            }
        }
        if end.is_some() && self.sleepers.load(SeqCst) != 0 {
            let _ = rustix::io::write(&self.stirred, &1u64.to_ne_bytes());
        }
    }

    /// Whether the message is one that an end understands.
    fn of_end(&self, end: &Arc<End>, front: &Received, buffer: &[u64]) -> bool {
        match front.id {
            DATA if !front.complex && front.reply == 0 && front.size >= BEFORE && front.size <= size_of_val(buffer) => {
                let body = buffer[BEFORE / 8..].as_bytes();
                match usize::try_from(buffer[HEADER / 8]).ok().filter(|n| *n <= front.size - BEFORE).and_then(|n| body.get(..n)) {
                    Some(bytes) => end.deliver(bytes),
                    None => return false,
                }
            }
            REGION if front.complex && front.reply == 0 => {
                match read_item(buffer, front.size).filter(|(_, bytes)| *bytes <= OUTLINE) {
                    Some(item) => end.deliver_region(Region::new(self.mach, item)),
                    None => return false,
                }
            }
            ACCEPT if !front.complex && front.reply != 0 && !end.has_met() => end.meet(front.reply),
            END if !front.complex && front.reply == 0 => end.finish(),
            notify::MSG_ACCEPTED if front.by_send_once => end.has_room(),
            notify::NO_SENDERS if front.by_send_once => end.lose_peer(),
            _ => return false,
        }
        true
    }

    fn poll(&self, on: bool) {
        if self.lost.load(SeqCst) == 0 {
            self.mach.poll(self.set, on);
        }
    }

    /// What a thread sleeps on between [`Self::lie_down`] and [`Self::get_up`], for reading.
    pub fn gate(&self) -> BorrowedFd<'_> {
        self.gate.as_fd()
    }

    /// A thread is about to sleep. It looks at what it waits for once more.
    pub fn lie_down(&self) {
        if self.sleepers.fetch_add(1, SeqCst) == 0 {
            self.poll(true);
        }
        // Nothing may be left there of which the descriptor doesn't tell.
        self.collect_all();
    }

    /// The thread is awake again.
    pub fn get_up(&self) {
        if self.sleepers.fetch_sub(1, SeqCst) == 1 && !locked(&self.ends).is_empty() {
            self.poll(false);
        }
        let _ = rustix::io::read(&self.stirred, &mut [0u8; 8]);
        self.collect();
    }
}
