//! Messages that stubs take apart, with the checks that stubs in C make.

use super::{
    array::Array,
    kind::{self, Kind},
    plain::{Plain, load_all},
    right::{AnyRight, Right},
};
use crate::{
    abi::{Code, SLOT, types},
    rights::{Body, Received, Region, ReplyRight, Target, give_up},
};
use std::ffi::{CStr, CString};

/// A request or a reply that is read from front to back. What does not fit the interface is an error, and what was
/// not read is given up with the reader.
#[derive(Debug)]
pub struct Reader {
    target: Target,
    sequence: u32,
    reply: Option<ReplyRight>,
    body: Body,
    /// What to say of a message that is not as it should be.
    fail: Code,
    /// Whether something was read that only a complex message has.
    carries: bool,
    /// Whether something was read that may be in the message or out of line.
    may_carry: bool,
}

type Result<T> = std::result::Result<T, Code>;

impl Reader {
    pub(super) fn new(message: Received, fail: Code) -> Self {
        let (target, sequence, reply, body) = message.into_parts();
        Self { target, sequence, reply, body, fail, carries: false, may_carry: false }
    }

    /// Where the message came to.
    pub fn target(&self) -> Target {
        self.target
    }

    /// `msgh_seqno`.
    pub fn sequence(&self) -> u32 {
        self.sequence
    }

    /// The right to answer with, which is the caller's then.
    pub fn take_reply(&mut self) -> Option<ReplyRight> {
        self.reply.take()
    }

    /// Whether the body has so many bytes and neither rights nor memory.
    pub(super) fn is_plain(&self, len: usize) -> bool {
        !self.body.is_complex() && self.body.len() == len
    }

    /// After the last item: whether there was nothing more.
    pub fn finish(&self) -> Result<()> {
        let carries_what_it_should = self.may_carry || self.body.is_complex() == self.carries;
        self.check(self.body.is_read() && carries_what_it_should)
    }

    fn check(&self, good: bool) -> Result<()> {
        if good { Ok(()) } else { Err(self.fail) }
    }

    fn word(&self) -> Result<u64> {
        self.body.word().map(|word| word & !kind::LONG).ok_or(self.fail)
    }

    fn data(&mut self, len: usize) -> Result<&[u8]> {
        self.body.data().filter(|data| data.len() == len).ok_or(self.fail)
    }

    /// One value, or an array of fixed length.
    pub fn value<T: Plain>(&mut self, kind: Kind) -> Result<T> {
        self.check(self.word()? == kind.inline(1))?;
        self.data(T::SIZE).map(T::load)
    }

    /// The number of elements that a type word tells, if it is right but for that.
    fn count(&self, kind: Kind, word: u64, most: u32) -> Result<u32> {
        let (number, units) = (kind::number(word), kind.units().max(1));
        let good = u64::from(number) <= u64::from(most) * u64::from(units) && number.is_multiple_of(units);
        self.check(good)?;
        Ok(number / units)
    }

    fn inline_count(&self, kind: Kind, most: u32) -> Result<u32> {
        let word = self.word()?;
        self.check(!kind::differs_but_number(word, kind.inline(0)))?;
        self.count(kind, word, most)
    }

    fn far_count(&self, kind: Kind, most: u32) -> Result<u32> {
        let word = self.word()?;
        self.check(self.body.is_complex() && !kind::differs_outside(word, kind.outside(0)))?;
        self.count(kind, word, most)
    }

    /// At most `most` elements in the message.
    pub fn list<T: Plain>(&mut self, kind: Kind, most: u32) -> Result<Vec<T>> {
        let count = self.inline_count(kind, most)?;
        self.data(count as usize * T::SIZE).map(load_all)
    }

    /// As [`Self::list`], where the caller has a buffer for `size` elements: more are `MIG_ARRAY_TOO_LARGE`.
    pub fn list_within<T: Plain>(&mut self, kind: Kind, most: u32, size: u32) -> Result<Vec<T>> {
        let list = self.list(kind, most)?;
        if list.len() > size as usize { Err(Code::MIG_ARRAY_TOO_LARGE) } else { Ok(list) }
    }

    /// An array without a limit: at most `inside` elements in the message, or any number out of line.
    pub fn array<T: Plain>(&mut self, kind: Kind, inside: u32) -> Result<Array<T>> {
        self.may_carry = true;
        if kind::is_inline(self.word()?) {
            return self.list(kind, inside).map(Array::from);
        }
        let carries = self.carries;
        let array = self.memory(kind, u32::MAX);
        self.carries = carries;
        array
    }

    /// At most `most` elements out of line.
    pub fn memory<T: Plain>(&mut self, kind: Kind, most: u32) -> Result<Array<T>> {
        let count = self.far_count(kind, most)?;
        self.region(count as usize * T::SIZE).map(Array::from_region)
    }

    /// Just `count` elements out of line.
    pub fn block<T: Plain>(&mut self, kind: Kind, count: u32) -> Result<Array<T>> {
        let good = self.body.is_complex() && !kind::differs_but_deallocate(self.word()?, kind.outside(count));
        self.check(good)?;
        self.region(count as usize * T::SIZE).map(Array::from_region)
    }

    /// One value out of line.
    pub fn far_value<T: Plain>(&mut self, kind: Kind) -> Result<T> {
        let good = self.body.is_complex() && !kind::differs_but_deallocate(self.word()?, kind.outside(1));
        self.check(good)?;
        self.region(T::SIZE).map(|region| T::load(&region))
    }

    fn region(&mut self, len: usize) -> Result<Region> {
        self.carries = true;
        let region = self.body.memory().ok_or(self.fail)?;
        self.check(region.len() == len)?;
        Ok(region)
    }

    fn terminated(&self, bytes: &[u8]) -> Result<CString> {
        CStr::from_bytes_until_nul(bytes).map(CStr::to_owned).map_err(|_| self.fail)
    }

    /// A string of at most `most` bytes with its NUL.
    pub fn string(&mut self, most: u32) -> Result<CString> {
        let bytes: Vec<u8> = self.list(kind::STRING, most)?;
        self.terminated(&bytes)
    }

    /// A string in a field of `size` bytes.
    pub fn fixed_string(&mut self, size: u32) -> Result<CString> {
        self.check(self.word()? == kind::STRING.inline(size))?;
        let bytes = self.data(size as usize)?.to_vec();
        self.terminated(&bytes)
    }

    /// A string in a field of `size` bytes, which the older form counts as one unit.
    pub fn unit_string(&mut self, size: u32) -> Result<CString> {
        self.check(self.word()? == kind::Kind::new(12, size * 8).inline(1))?;
        let bytes = self.data(size as usize)?.to_vec();
        self.terminated(&bytes)
    }

    /// A right.
    pub fn right<R: Right>(&mut self) -> Result<Option<R>> {
        self.check(self.word()? == Kind::new(R::KIND, 64).inline(1))?;
        let names = self.names(1)?;
        Ok(self.owned(names).pop().flatten())
    }

    /// A right of whatever kind.
    pub fn any_right(&mut self) -> Result<AnyRight> {
        let word = self.word()?;
        match word as u32 & 0xff {
            types::PORT_SEND => self.right_or_dead().map(AnyRight::Send),
            types::PORT_SEND_ONCE => self.right_or_dead().map(AnyRight::SendOnce),
            types::PORT_RECEIVE => self.right_or_dead().map(AnyRight::Receive),
            _ => Err(self.fail),
        }
    }

    /// As [`Self::right`], with one whose port is dead as a right of that name.
    fn right_or_dead<R: Right>(&mut self) -> Result<Option<R>> {
        self.check(self.word()? == Kind::new(R::KIND, 64).inline(1))?;
        let name = self.names(1)?.pop().filter(|name| *name != crate::abi::NULL);
        Ok(name.map(|name| R::received(self.body.task(), name)))
    }

    /// A right out of line.
    pub fn far_right<R: Right>(&mut self) -> Result<Option<R>> {
        let good = !kind::differs_but_deallocate(self.word()?, Kind::new(R::KIND, 32).outside(1));
        self.check(good)?;
        let names = self.names(1)?;
        Ok(self.owned(names).pop().flatten())
    }

    /// An array of just so many rights.
    pub fn right_block<R: Right, const N: usize>(&mut self) -> Result<[Option<R>; N]> {
        self.check(self.word()? == Kind::new(R::KIND, 64).inline(N as u32))?;
        let names = self.names(N)?;
        self.owned(names).try_into().map_err(|_| self.fail)
    }

    /// An array of just so many rights out of line.
    pub fn far_right_block<R: Right, const N: usize>(&mut self) -> Result<[Option<R>; N]> {
        let good = !kind::differs_but_deallocate(self.word()?, Kind::new(R::KIND, 32).outside(N as u32));
        self.check(good)?;
        let names = self.names(N)?;
        self.owned(names).try_into().map_err(|_| self.fail)
    }

    /// At most `most` rights in the message.
    pub fn rights<R: Right>(&mut self, most: u32) -> Result<Vec<Option<R>>> {
        let count = self.inline_count(Kind::new(R::KIND, 64), most)?;
        let names = self.names(count as usize)?;
        Ok(self.owned(names))
    }

    /// At most `most` rights out of line.
    pub fn far_rights<R: Right>(&mut self, most: u32) -> Result<Vec<Option<R>>> {
        let count = self.far_count(Kind::new(R::KIND, 32), most)?;
        let names = self.names(count as usize)?;
        Ok(self.owned(names))
    }

    /// Rights without a limit: at most `inside` in the message, or any number out of line.
    pub fn right_array<R: Right>(&mut self, inside: u32) -> Result<Vec<Option<R>>> {
        if kind::is_inline(self.word()?) { self.rights(inside) } else { self.far_rights(u32::MAX) }
    }

    fn names(&mut self, number: usize) -> Result<Vec<u32>> {
        self.carries = true;
        let kind = self.word()? as u32 & 0xff;
        let names = self.body.names().ok_or(self.fail)?;
        if names.len() != number {
            names.into_iter().for_each(|name| give_up(self.body.task(), kind, name));
            return Err(self.fail);
        }
        Ok(names)
    }

    fn owned<R: Right>(&self, names: Vec<u32>) -> Vec<Option<R>> {
        let task = self.body.task();
        let there = |name: u32| name != crate::abi::NULL && name != crate::abi::DEAD;
        names.into_iter().map(|name| there(name).then(|| R::received(task, name))).collect()
    }

    /// Whether two arrays that share a count have it.
    pub fn same_count(&self, a: usize, b: usize) -> Result<()> {
        self.check(a == b)
    }

    /// The return code that a reply begins with.
    pub(super) fn code(&mut self) -> Result<Code> {
        self.value::<i32>(kind::INTEGER_32).map(Code)
    }

    /// The bytes of a reply with nothing but a return code.
    pub(super) const CODE_ALONE: usize = 2 * SLOT;
}
