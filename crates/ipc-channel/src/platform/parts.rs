//! Large messages in parts.
//!
//! What is larger than a message may be in a line's ring goes through it in several, which costs no descriptor and no mapping. Parts of
//! several senders may alternate, and other messages may come between: each part has its message's key. The last one, with whatever else the
//! message carries, is where the message stands among the others.
//!
//! The next part of the message that had one last is received where it belongs: the head of its message lies on the bytes before it meanwhile.

use super::message::INLINE_MAX;
use slipway_fabric::sync::append;
use slipway_mach::abi::{
    HEADER,
    typed::{Field, type_word},
    types,
};
use slipway_mach::rights::{Error, Plain, SendRight};
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
/// The bytes of a part's message before the part: the header, and the items' types, with the mark.
const HEAD: usize = HEADER + 32;
/// The least that is left of a message whose next part is received where it belongs: other messages mostly find room there, too.
const EXPECTED_MIN: usize = 4096;
/// `msgh_id` of the last part of a message that carries nothing else, or the message of that part and whatever else it carries.
pub(super) const LAST: i32 = 0x6970_6303;

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

    /// The length of the message's part that lies in a buffer for the [expected](Expected) one, and whether it is the last; None if that is another message.
    pub fn expects(self, message: &Plain<'_>) -> Option<(usize, bool)> {
        let (its, at, last) = part(message)?;
        (its == self && at.start == HEAD - HEADER && !at.is_empty()).then_some((at.len(), last))
    }

    pub fn from_words(bytes: &[u8]) -> Option<Self> {
        let (key, rest) = bytes.split_first_chunk()?;
        Some(Self { key: u64::from_le_bytes(*key), total: u64::from_le_bytes(*rest.first_chunk()?) })
    }
}

/// Takes a message apart that is a part by its id: its mark, where it lies in the body, and whether it is the last one.
fn part(message: &Plain<'_>) -> Option<(Mark, std::ops::Range<usize>, bool)> {
    if !matches!(message.id, PART | LAST) {
        return None;
    }
    let plain = |at| Field::at(message.body, at).ok().filter(Field::is_plain);
    let mark = plain(0)?;
    let part = plain(mark.end)?;
    Some((Mark::from_words(&message.body[mark.data])?, part.data, message.id == LAST))
}

/// What came of a message that was looked at as a part.
pub(super) enum Taken {
    /// A part was added.
    Added,
    /// The message is whole, or lost.
    Whole(Option<Vec<u8>>),
}

/// Sends one part, behind which come so many bytes in others, or a last one of a message that carries nothing else.
pub(super) fn send(to: &SendRight, id: i32, mark: Mark, part: &[u8], behind: usize) -> Result<(), Error> {
    let [key, total] = mark.words();
    to.send_plain(id, &[type_word(types::INTEGER_64, 64, 2), key, total, type_of_bytes(part)], part, behind)
}

/// The type word of bytes as one item.
#[inline]
pub(super) fn type_of_bytes(bytes: &[u8]) -> u64 {
    type_word(types::BYTE, 8, bytes.len() as u32)
}

/// A message of which some parts came.
#[derive(Debug, Default)]
struct Begun {
    bytes: Vec<u8>,
    /// The number of its last part among all parts.
    latest: u64,
}

/// The message that had the last part of all, with room for its next one.
#[derive(Debug)]
pub(super) struct Expected {
    pub mark: Mark,
    begun: Begun,
    /// How many of the bytes are the message's, and those of them that a receive writes over.
    len: usize,
    covered: [u8; HEAD],
}

impl Expected {
    /// Behind what the next message is received, in memory that is there.
    pub fn bytes(&mut self) -> &mut Vec<u8> {
        &mut self.begun.bytes
    }

    /// The message's bytes again, and `part` more, which lie there.
    fn with(self, part: usize) -> Begun {
        let Self { mut begun, len, covered, .. } = self;
        let at = len - HEAD;
        begun.bytes.truncate(len + part);
        begun.bytes.resize(begun.bytes.len().max(len), 0);
        begun.bytes[at..len].copy_from_slice(&covered);
        begun
    }
}

impl Begun {
    /// What it counts for: what it has in memory.
    fn charge(&self) -> usize {
        self.bytes.capacity().max(CHARGE_MIN)
    }
}

/// Messages of which some parts came.
#[derive(Debug)]
pub(super) struct Unfinished {
    /// The message that had the last part, if it is not whole.
    latest: Option<(Mark, Begun)>,
    /// The others, by their keys.
    messages: HashMap<u64, Begun>,
    /// The charges of all.
    kept: usize,
    most: usize,
    parts: u64,
}

impl Default for Unfinished {
    fn default() -> Self {
        Self { latest: None, messages: HashMap::new(), kept: 0, most: KEPT_MAX, parts: 0 }
    }
}

impl Unfinished {
    fn remove(&mut self, key: u64) -> Begun {
        let begun = match self.latest.take() {
            Some((mark, begun)) if mark.key == key => Some(begun),
            other => {
                self.latest = other;
                self.messages.remove(&key)
            }
        };
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
            // A part is filled up to whole words.
            bytes.reserve_exact(room.min(ROOM_FIRST).next_multiple_of(8));
        }
        append(&mut bytes, part);
        self.had_part(mark, bytes);
    }

    /// The message has the last part.
    fn had_part(&mut self, mark: Mark, bytes: Vec<u8>) {
        self.parts += 1;
        if let Some((other, begun)) = self.latest.take() {
            self.messages.insert(other.key, begun);
        }
        self.keep(mark, Begun { bytes, latest: self.parts });
    }

    /// Keeps a message as the latest one, if there is none.
    fn keep(&mut self, mark: Mark, begun: Begun) {
        self.remove(mark.key);
        self.kept += begun.charge();
        match self.latest {
            None => self.latest = Some((mark, begun)),
            Some(_) => drop(self.messages.insert(mark.key, begun)),
        }
        while self.kept > self.most {
            let Some((&oldest, _)) = self.messages.iter().min_by_key(|(_, begun)| begun.latest) else { break };
            self.remove(oldest);
        }
    }

    /// Takes a message that is a part; one of another form loses what it belongs to.
    pub fn take(&mut self, message: &Plain<'_>) -> Taken {
        let Some((mark, at, last)) = part(message) else {
            return if message.id == PART { Taken::Added } else { Taken::Whole(None) };
        };
        let part = &message.body[at];
        if last {
            return Taken::Whole(self.finish(mark, part));
        }
        self.add(mark, part);
        Taken::Added
    }

    /// The message that had the last part, if much of it is still to come. It is this value's again with [`Self::put_back`] or [`Self::put_part`].
    #[inline]
    pub fn expect(&mut self) -> Option<Expected> {
        if self.latest.is_some() { self.expect_of_latest() } else { None }
    }

    #[inline(never)]
    fn expect_of_latest(&mut self) -> Option<Expected> {
        let (mark, len) = self.latest.as_ref().map(|(mark, begun)| (*mark, begun.bytes.len()))?;
        let left = (mark.total.min(PARTS_MAX as u64) as usize).checked_sub(len).filter(|left| *left >= EXPECTED_MIN)?;
        if len < HEAD {
            return None;
        }
        let mut begun = self.remove(mark.key);
        let covered = *begun.bytes.last_chunk()?;
        begun.bytes.reserve(left.min(INLINE_MAX).next_multiple_of(8));
        begun.bytes.truncate(len - HEAD);
        Some(Expected { mark, begun, len, covered })
    }

    /// Nothing of it came.
    pub fn put_back(&mut self, expected: Expected) {
        self.keep(expected.mark, expected.with(0));
    }

    /// Its next part came, of so many bytes.
    pub fn put_part(&mut self, expected: Expected, part: usize, last: bool) -> Taken {
        let mark = expected.mark;
        let Begun { bytes, .. } = expected.with(part);
        if last {
            return Taken::Whole((bytes.len() as u64 == mark.total).then_some(bytes));
        }
        self.had_part(mark, bytes);
        Taken::Added
    }

    /// The whole message, with its last part; None if some part is missing.
    pub fn finish(&mut self, mark: Mark, last: &[u8]) -> Option<Vec<u8>> {
        let mut message = self.remove(mark.key).bytes;
        append(&mut message, last);
        (message.len() as u64 == mark.total).then_some(message)
    }

    /// What there is, to go with the receiver to another process.
    pub fn into_parts(self) -> impl Iterator<Item = (u64, Vec<u8>)> {
        let latest = self.latest.map(|(mark, begun)| (mark.key, begun));
        self.messages.into_iter().chain(latest).map(|(key, begun)| (key, begun.bytes))
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
        let latest = unfinished.latest.iter().map(|(mark, _)| mark.key);
        let mut keys: Vec<u64> = unfinished.messages.keys().copied().chain(latest).collect();
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

    /// What a receive puts into the buffer of the expected part: a head, and the part.
    fn arrives(expected: &mut Expected, part: &[u8]) {
        expected.bytes().extend_from_slice(&[0xee; HEAD]);
        expected.bytes().extend_from_slice(part);
    }

    #[test]
    fn a_part_is_received_where_it_belongs() {
        let whole: Vec<u8> = (0..30_000u32).map(|i| (i % 253) as u8).collect();
        let mark = Mark { key: 1, total: whole.len() as u64 };
        let mut unfinished = Unfinished::default();
        assert!(unfinished.expect().is_none());
        unfinished.add(mark, &whole[..HEAD - 1]);
        assert!(unfinished.expect().is_none(), "the head has no place");
        unfinished.add(mark, &whole[HEAD - 1..10_000]);
        for (from, to) in [(10_000, 10_001), (10_001, 25_000)] {
            let mut expected = unfinished.expect().expect("much is to come");
            assert!(expected.bytes().capacity() - expected.bytes().len() >= (HEAD + whole.len() - from).next_multiple_of(8));
            arrives(&mut expected, &whole[from..to]);
            assert!(matches!(unfinished.put_part(expected, to - from, false), Taken::Added));
            // Another message came instead, also one that says that it is the same.
            let mut expected = unfinished.expect().expect("much is to come");
            arrives(&mut expected, &[9; 3000]);
            unfinished.add(mark, b"xyz");
            unfinished.put_back(expected);
        }
        let charge = unfinished.latest.as_ref().map(|(_, begun)| begun.charge());
        assert_eq!((keys(&unfinished), Some(unfinished.kept)), (vec![1], charge));
        let mut expected = unfinished.expect().expect("much is to come");
        arrives(&mut expected, &whole[25_000..]);
        match unfinished.put_part(expected, 5000, true) {
            Taken::Whole(Some(bytes)) => assert!(bytes == whole),
            _ => panic!("it is whole"),
        }
        assert_eq!((unfinished.kept, keys(&unfinished), unfinished.expect().is_none()), (0, vec![], true));
        // What is left is little, or the sender lies about how much.
        unfinished.add(mark, &whole[..whole.len() - EXPECTED_MIN + 1]);
        assert!(unfinished.expect().is_none());
        let lie = Mark { key: 2, total: u64::MAX };
        unfinished.add(lie, &whole);
        let mut expected = unfinished.expect().expect("much is to come");
        assert!(expected.bytes().capacity() <= 2 * (whole.len() + HEAD + INLINE_MAX).max(ROOM_FIRST));
        arrives(&mut expected, &[0; 8]);
        assert!(matches!(unfinished.put_part(expected, 8, true), Taken::Whole(None)));
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
