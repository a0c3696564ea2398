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
/// The most bytes of unfinished messages that a receiver keeps. What would be more is lost: no program without bad intent has
/// as many senders within a large message at a time.
const KEPT_MAX: usize = 512 << 20;

/// What tells the parts of a message from others': its key and the bytes of all parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Mark {
    pub key: u64,
    pub total: u64,
}

impl Mark {
    /// One that no other message has, in any process.
    pub fn new(total: usize) -> Self {
        // Each has keys of the kernel's making.
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

/// Messages of which some parts came, by their keys.
#[derive(Debug)]
pub(super) struct Unfinished {
    messages: HashMap<u64, Vec<u8>>,
    kept: usize,
    most: usize,
}

impl Default for Unfinished {
    fn default() -> Self {
        Self { messages: HashMap::new(), kept: 0, most: KEPT_MAX }
    }
}

impl Unfinished {
    /// Keeps a part.
    pub fn add(&mut self, mark: Mark, part: &[u8]) {
        if self.kept + part.len() > self.most {
            return;
        }
        let most = usize::try_from(mark.total).unwrap_or(usize::MAX).min(PARTS_MAX);
        self.messages.entry(mark.key).or_insert_with(|| Vec::with_capacity(most)).extend_from_slice(part);
        self.kept += part.len();
    }

    /// The whole message, with its last part; None if some part is missing.
    pub fn finish(&mut self, mark: Mark, last: &[u8]) -> Option<Vec<u8>> {
        let mut message = self.messages.remove(&mark.key).unwrap_or_default();
        self.kept -= message.len();
        message.extend_from_slice(last);
        (message.len() as u64 == mark.total).then_some(message)
    }

    /// What there is, to go with the receiver to another process.
    pub fn into_parts(self) -> impl Iterator<Item = (u64, Vec<u8>)> {
        self.messages.into_iter()
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

    #[test]
    fn what_is_kept_has_a_limit() {
        let mut unfinished = Unfinished { most: 4, ..Unfinished::default() };
        (0..5).for_each(|key| unfinished.add(Mark { key, total: u64::MAX }, b"x"));
        assert_eq!((unfinished.kept, unfinished.into_parts().count()), (4, 4));
    }
}
