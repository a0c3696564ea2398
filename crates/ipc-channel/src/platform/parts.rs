//! Large messages in parts.
//!
//! What is larger than a message may be in a line's ring goes through it in several, which costs no descriptor and no mapping. Parts of
//! several senders may alternate, and other messages may come between: each part has its message's key. The last one, with whatever else the
//! message carries, is where the message stands among the others.

use slipway_mach::abi::{typed::type_word, types};
use slipway_mach::rights::{Error, SendRight};
use std::collections::HashMap;

/// `msgh_id` of a part that others follow.
pub(super) const PART: i32 = 0x6970_6302;
/// The most bytes that are sent in parts; larger ones go out of line. A receiver may have to keep as many for each sender.
pub(super) const PARTS_MAX: usize = 16 << 20;
/// The most bytes of unfinished messages that a receiver keeps. For more, the message that has had no part for the longest time is
/// forgotten: its sender was killed within it, or means no good.
pub(super) const KEPT_MAX: usize = 512 << 20;
/// The least that a message counts for, so that small parts are as bounded as large ones: how many there are, and the search for the oldest.
const CHARGE_MIN: usize = 64 << 10;
/// How much of a message its first part makes room for.
const ROOM_FIRST: usize = 1 << 20;

/// What tells the parts of a message from others': its key and the bytes of all parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Mark {
    pub key: u64,
    pub total: u64,
}

impl Mark {
    /// One that no other message has, in any process.
    pub fn new(total: usize) -> Self {
        // A thread's keys begin with random numbers of the kernel's, and differ from each other.
        let key = std::hash::BuildHasher::hash_one(&std::hash::RandomState::new(), (std::process::id(), total));
        Self { key: key | 1, total: total as u64 }
    }

    /// As items have it.
    pub fn words(self) -> [u64; 2] {
        [self.key, self.total]
    }

    pub fn from_words(bytes: &[u8]) -> Option<Self> {
        let (key, rest) = bytes.split_first_chunk()?;
        Some(Self { key: u64::from_le_bytes(*key), total: u64::from_le_bytes(*rest.first_chunk()?) })
    }
}

/// Sends one part, or a last one of a message that carries nothing else.
pub(super) fn send(to: &SendRight, id: i32, mark: Mark, part: &[u8]) -> Result<(), Error> {
    let [key, total] = mark.words().map(u64::to_le_bytes);
    let type_of_mark = type_word(types::INTEGER_64, 64, 2).to_le_bytes();
    send_bytes(to, id, &[&type_of_mark, &key, &total], part)
}

/// Sends bytes as one item behind others, filled up to whole words.
pub(super) fn send_bytes(to: &SendRight, id: i32, before: &[&[u8]], bytes: &[u8]) -> Result<(), Error> {
    let type_of_bytes = type_word(types::BYTE, 8, bytes.len() as u32).to_le_bytes();
    let padding = &[0; 8][..bytes.len().next_multiple_of(8) - bytes.len()];
    let mut body: [&[u8]; 6] = [&[]; 6];
    body[..before.len()].copy_from_slice(before);
    body[3..].copy_from_slice(&[&type_of_bytes, bytes, padding]);
    to.send_plain(id, &body, None)
}

/// A message of which some parts came.
#[derive(Debug, Default)]
struct Begun {
    bytes: Vec<u8>,
    /// The number of its last part among all parts.
    latest: u64,
}

impl Begun {
    /// What it counts for: what it has in memory.
    fn charge(&self) -> usize {
        self.bytes.capacity().max(CHARGE_MIN)
    }
}

/// Messages of which some parts came, by their keys.
#[derive(Debug)]
pub(super) struct Unfinished {
    messages: HashMap<u64, Begun>,
    /// The charges of all.
    kept: usize,
    most: usize,
    parts: u64,
}

impl Default for Unfinished {
    fn default() -> Self {
        Self { messages: HashMap::new(), kept: 0, most: KEPT_MAX, parts: 0 }
    }
}

impl Unfinished {
    fn remove(&mut self, key: u64) -> Begun {
        let begun = self.messages.remove(&key);
        self.kept -= begun.as_ref().map_or(0, Begun::charge);
        begun.unwrap_or_default()
    }

    /// Keeps a part. No sender of ours makes an empty one, or more of them than the message has bytes: such a message is forgotten.
    pub fn add(&mut self, mark: Mark, part: &[u8]) {
        let Begun { mut bytes, .. } = self.remove(mark.key);
        let room = mark.total.min(PARTS_MAX as u64) as usize;
        if part.is_empty() || bytes.len() + part.len() > room {
            return;
        }
        if bytes.is_empty() {
            bytes.reserve_exact(room.min(ROOM_FIRST));
        }
        bytes.extend_from_slice(part);
        self.parts += 1;
        let begun = Begun { bytes, latest: self.parts };
        self.kept += begun.charge();
        self.messages.insert(mark.key, begun);
        while self.kept > self.most {
            let Some((&oldest, _)) = self.messages.iter().min_by_key(|(_, begun)| begun.latest) else { break };
            self.remove(oldest);
        }
    }

    /// The whole message, with its last part; None if some part is missing.
    pub fn finish(&mut self, mark: Mark, last: &[u8]) -> Option<Vec<u8>> {
        let mut message = self.remove(mark.key).bytes;
        message.extend_from_slice(last);
        (message.len() as u64 == mark.total).then_some(message)
    }

    /// What there is, to go with the receiver to another process.
    pub fn into_parts(self) -> impl Iterator<Item = (u64, Vec<u8>)> {
        self.messages.into_iter().map(|(key, begun)| (key, begun.bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_whole_or_none() {
        let mut unfinished = Unfinished::default();
        let [one, two] = [Mark { key: 1, total: 5 }, Mark { key: 2, total: 4 }];
        unfinished.add(one, b"ab");
        unfinished.add(two, b"xy");
        unfinished.add(one, b"cd");
        assert_eq!(unfinished.finish(two, b"z"), None, "a part is missing");
        assert_eq!(unfinished.finish(one, b"e"), Some(b"abcde".to_vec()));
        assert_eq!((unfinished.kept, unfinished.finish(one, b"")), (0, None));
        assert_eq!(unfinished.finish(Mark { key: 3, total: 1 }, b"a"), Some(b"a".to_vec()));
    }

    fn keys(unfinished: &Unfinished) -> Vec<u64> {
        let mut keys: Vec<u64> = unfinished.messages.keys().copied().collect();
        keys.sort_unstable();
        keys
    }

    #[test]
    fn the_message_that_waits_for_longest_makes_room() {
        let mut unfinished = Unfinished { most: 4 * CHARGE_MIN, ..Unfinished::default() };
        let add = |unfinished: &mut Unfinished, key| unfinished.add(Mark { key, total: 9 }, b"x");
        (0..4).for_each(|key| add(&mut unfinished, key));
        add(&mut unfinished, 0);
        add(&mut unfinished, 4);
        assert_eq!((unfinished.kept, keys(&unfinished)), (4 * CHARGE_MIN, vec![0, 2, 3, 4]));
        // One that has as much as all others together.
        let large = Mark { key: 5, total: 2 * CHARGE_MIN as u64 };
        unfinished.add(large, &vec![0; 2 * CHARGE_MIN]);
        assert_eq!(keys(&unfinished), [0, 4, 5]);
        assert_eq!(unfinished.finish(Mark { key: 0, total: 3 }, b"y"), Some(b"xxy".to_vec()));
        (0..3).for_each(|key| drop(unfinished.finish(Mark { key: 5 - key, total: 0 }, b"")));
        assert_eq!((unfinished.kept, keys(&unfinished)), (0, vec![]), "what was charged is given back");
    }

    #[test]
    fn what_no_sender_of_ours_sends_is_not_kept() {
        let mut unfinished = Unfinished::default();
        unfinished.add(Mark { key: 1, total: 9 }, b"");
        unfinished.add(Mark { key: 2, total: 3 }, b"abc");
        unfinished.add(Mark { key: 2, total: 3 }, b"d");
        unfinished.add(Mark { key: 3, total: u64::MAX }, &vec![0; PARTS_MAX + 1]);
        assert_eq!((unfinished.kept, keys(&unfinished)), (0, vec![]));
    }
}
