//! A task's names for rights.
//!
//! A name that the space chose is an index and a generation, so that a stale name does not denote
//! the next right with its index. Names that the program chose itself lie in a map.

use super::{
    exception_ports::Exceptions,
    ids::{PortId, RemoteSendOnce, SetId},
    right::Right,
};
use crate::abi::{self, kind};
use rustc_hash::FxHashMap;
use slipway_fabric::sync::{AtomicU32, Ordering};
use std::sync::Arc;

/// What a name refers to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Object {
    /// Nothing: a dead name.
    None,
    /// A port: send, receive, or a send-once right whose port was here when it was made.
    Port(PortId),
    /// A send-once right to a port in another process.
    Once(RemoteSendOnce),
    /// A port set.
    Set(SetId),
}

/// One name's meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// `MACH_PORT_TYPE_*` bits of the rights it denotes, without DNREQUEST.
    pub kind: u32,
    /// User references: of a send right or dead name; 1 for a send-once right; 0 else.
    pub urefs: u32,
    /// What it refers to.
    pub object: Object,
    /// The dead-name request, as an index into [`Space::requests`] plus one; 0 for none.
    pub request: u32,
}

impl Entry {
    /// A new entry without a request.
    pub fn new(kind: u32, urefs: u32, object: Object) -> Self {
        Self { kind, urefs, object, request: 0 }
    }

    /// The port it refers to, if it is one.
    pub fn port(&self) -> Option<PortId> {
        match self.object {
            Object::Port(port) => Some(port),
            _ => None,
        }
    }

    /// Its kind as `mach_port_type` tells it, with DNREQUEST.
    pub fn shown_kind(&self) -> u32 {
        self.kind | if self.request == 0 { 0 } else { kind::DNREQUEST }
    }

    /// Whether all of `kinds` are among its rights.
    pub fn has(&self, kinds: u32) -> bool {
        self.kind & kinds == kinds
    }
}

const GENERATION_BITS: u32 = 8;
const GENERATIONS: u32 = 1 << GENERATION_BITS;
/// The end of the list of free indices.
const END: u32 = !0;

#[derive(Debug)]
enum TableEntry {
    Used(u8, Entry),
    /// Generation of the last user, and the next free index.
    Free(u8, u32),
    /// The program has chosen all names with this index. It is in no list until the program gives one back.
    AllTaken,
}

/// The name by which a task knows itself; null once the task has given that name up. Copies are the same, and may be
/// read without the lock.
#[derive(Debug, Clone, Default)]
pub struct SelfName(Arc<AtomicU32>);

impl SelfName {
    /// The name, as it is or was just now.
    #[inline]
    pub fn get(&self) -> u32 {
        self.0.load(Ordering::Relaxed)
    }

    /// Sets it, with the lock held.
    pub fn set(&self, name: u32) {
        self.0.store(name, Ordering::Relaxed);
    }
}

/// A task's names.
#[derive(Debug)]
pub struct Space {
    table: Vec<TableEntry>,
    free: u32,
    used: usize,
    chosen: FxHashMap<u32, Entry>,
    /// Dead-name requests: the send-once rights that get the notifications.
    pub requests: slab::Slab<Right>,
    /// `mach_task_self`: a name in this space.
    pub self_name: SelfName,
    /// The port that stands for the task.
    pub task_port: Option<PortId>,
    /// The task's bootstrap port, if it has one.
    pub bootstrap: Right,
    /// Its special port for exceptions, which are told there if no other port of `exceptions` is for them.
    pub exception: Right,
    /// Where its exceptions are told.
    pub exceptions: Exceptions,
    /// Names that the task was given for its name server: when that is gone they stand for its successor.
    pub name_servers: Vec<u32>,
    /// What the task is called, among others of its process.
    pub label: Box<str>,
    /// Whether the task is gone.
    pub dead: bool,
}

impl Default for Space {
    fn default() -> Self {
        Self {
            table: Vec::new(),
            free: END,
            used: 0,
            chosen: FxHashMap::default(),
            requests: slab::Slab::new(),
            self_name: SelfName::default(),
            task_port: None,
            bootstrap: Right::Null,
            exception: Right::Null,
            exceptions: Exceptions::default(),
            name_servers: Vec::new(),
            label: Box::default(),
            dead: false,
        }
    }
}

fn join(index: u32, generation: u8) -> u32 {
    // Index 0 would make names below 256: programs use small numbers for their own ends.
    (index + 1) << GENERATION_BITS | u32::from(generation)
}

fn split(name: u32) -> Option<(usize, u8)> {
    Some(((name >> GENERATION_BITS).checked_sub(1)? as usize, (name % GENERATIONS) as u8))
}

impl Space {
    /// The entry of a name.
    #[inline]
    pub fn get(&self, name: u32) -> Option<&Entry> {
        if let Some((index, generation)) = split(name)
            && let Some(TableEntry::Used(own, entry)) = self.table.get(index)
            && *own == generation
        {
            return Some(entry);
        }
        self.get_chosen(name)
    }

    #[cold]
    fn get_chosen(&self, name: u32) -> Option<&Entry> {
        self.chosen.get(&name)
    }

    /// As [`Space::get`].
    #[inline]
    pub fn get_mut(&mut self, name: u32) -> Option<&mut Entry> {
        if let Some((index, generation)) = split(name)
            && let Some(TableEntry::Used(own, entry)) = self.table.get_mut(index)
            && *own == generation
        {
            return Some(entry);
        }
        self.chosen.get_mut(&name)
    }

    /// Gives an entry a name of the space's choice; None if there are too many names, or the task is gone.
    pub fn insert(&mut self, entry: Entry) -> Option<u32> {
        if self.dead {
            return None;
        }
        loop {
            let (index, mut generation) = self.claim()?;
            if !self.chosen.is_empty() {
                // Names that the program has taken are passed over.
                let mut free = (0..GENERATIONS).map(|n| generation.wrapping_add(n as u8));
                let Some(next) = free.find(|next| !self.chosen.contains_key(&join(index, *next))) else {
                    self.table[index as usize] = TableEntry::AllTaken;
                    continue;
                };
                generation = next;
            }
            self.table[index as usize] = TableEntry::Used(generation, entry);
            self.used += 1;
            return Some(join(index, generation));
        }
    }

    /// Takes a free index, and the generation after its last user's.
    fn claim(&mut self) -> Option<(u32, u8)> {
        if self.free == END {
            let index = self.table.len() as u32;
            if index >= (1 << (32 - GENERATION_BITS)) - 3 {
                return None;
            }
            self.table.push(TableEntry::Free(0, END));
            return Some((index, 1));
        }
        let index = self.free;
        let TableEntry::Free(generation, next) = self.table[index as usize] else {
            unreachable!("the list of free indices holds free ones");
        };
        self.free = next;
        Some((index, generation.wrapping_add(1)))
    }

    /// Gives an entry the name that the program chose; false if the name is taken or can't be used, or the task is gone.
    pub fn insert_at(&mut self, name: u32, entry: Entry) -> bool {
        let free = name != abi::NULL && name != abi::DEAD && !self.dead && self.get(name).is_none();
        if free {
            self.chosen.insert(name, entry);
        }
        free
    }

    /// Removes a name.
    pub fn remove(&mut self, name: u32) -> Option<Entry> {
        if name == self.self_name.get() {
            self.self_name.set(abi::NULL);
        }
        if let Some((index, generation)) = split(name)
            && let Some(TableEntry::Used(own, entry)) = self.table.get(index)
            && *own == generation
        {
            let entry = *entry;
            self.table[index] = TableEntry::Free(generation, self.free);
            self.free = index as u32;
            self.used -= 1;
            return Some(entry);
        }
        let entry = self.chosen.remove(&name)?;
        if let Some((index, generation)) = split(name)
            && let Some(own @ TableEntry::AllTaken) = self.table.get_mut(index)
        {
            *own = TableEntry::Free(generation.wrapping_sub(1), self.free);
            self.free = index as u32;
        }
        Some(entry)
    }

    /// All names and their entries, in no order.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &Entry)> {
        let own = self.table.iter().enumerate().filter_map(|(index, own)| match own {
            TableEntry::Used(generation, entry) => Some((join(index as u32, *generation), entry)),
            TableEntry::Free(..) | TableEntry::AllTaken => None,
        });
        own.chain(self.chosen.iter().map(|(name, entry)| (*name, entry)))
    }

    /// How many names there are.
    pub fn len(&self) -> usize {
        self.used + self.chosen.len()
    }

    /// Whether there is no name.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The kind of a name as `mach_port_type` tells it.
    pub fn kind(&self, name: u32) -> Option<u32> {
        self.get(name).map(Entry::shown_kind)
    }
}
