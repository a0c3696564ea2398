//! Messages to be sent.

use super::{
    carried::{Carried, settle},
    owned::{Error, ReceiveRight, SendOnceRight, SendRight},
};
use crate::{
    Request,
    abi::{
        self, COMPLEX, Code, HEADER, SLOT, option,
        typed::{self, type_word},
        types,
    },
    task::Task,
};
use std::time::Duration;

/// Whether there is a time-out, and its whole milliseconds.
pub(super) fn milliseconds(timeout: Option<Duration>) -> (bool, u32) {
    (timeout.is_some(), timeout.map_or(0, |timeout| u32::try_from(timeout.as_millis()).unwrap_or(u32::MAX)))
}

/// A header, with room for the size, which the send fills in.
fn header(bits: u32, dest: u32, reply: u32, id: i32) -> [u8; HEADER] {
    let mut header = [0; HEADER];
    header[..4].copy_from_slice(&bits.to_le_bytes());
    header[8..12].copy_from_slice(&dest.to_le_bytes());
    header[16..20].copy_from_slice(&reply.to_le_bytes());
    header[28..].copy_from_slice(&id.to_le_bytes());
    header
}

pub(super) fn sent(code: Code) -> Result<(), Error> {
    if code == Code::SUCCESS { Ok(()) } else { Err(Error { tried: "sending a message", code }) }
}

/// A message that is put together and then sent once.
///
/// Rights that are added by value move into the message; those added by reference are copied or made when it
/// is sent. A message that is dropped unsent gives everything up.
#[derive(Debug, Default)]
pub struct Outgoing {
    id: i32,
    body: Vec<u8>,
    complex: bool,
    carried: Vec<Carried>,
    failed: Option<Code>,
}

impl Outgoing {
    /// An empty message with an id.
    pub fn new(id: i32) -> Self {
        Self { id, ..Self::default() }
    }

    fn typed(mut self, word: u64, data: &[u8]) -> Self {
        self.body.extend(word.to_le_bytes());
        self.body.extend(data);
        self.body.resize(self.body.len().next_multiple_of(SLOT), 0);
        self
    }

    /// Adds 32-bit integers.
    pub fn ints(self, values: &[u32]) -> Self {
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        self.typed(type_word(types::INTEGER_32, 32, values.len() as u32), &bytes)
    }

    /// Adds 64-bit integers.
    pub fn longs(self, values: &[u64]) -> Self {
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        self.typed(type_word(types::INTEGER_64, 64, values.len() as u32), &bytes)
    }

    /// Adds bytes, inline.
    pub fn bytes(self, bytes: &[u8]) -> Self {
        self.typed(type_word(types::BYTE, 8, bytes.len() as u32), bytes)
    }

    /// Adds `number` elements of a type (`MACH_MSG_TYPE_*`) of `bits` bits each, as they lie in memory. If their bytes are
    /// not so many, the send fails with `SEND_INVALID_TYPE`.
    pub fn data(mut self, name: u32, bits: u32, number: u32, elements: &[u8]) -> Self {
        let word = type_word(name, bits, number);
        let told = typed::Descriptor::parse(word).map(|of| (of.name, of.bits, of.number, of.size()));
        if told != Ok((name, bits, number, elements.len() as u64)) {
            self.failed = Some(Code::SEND_INVALID_TYPE);
        }
        self.typed(word, elements)
    }

    /// Adds the null right, where a receiver expects a send right or none.
    pub fn no_right(self) -> Self {
        self.right(types::COPY_SEND, abi::NULL)
    }

    /// Adds the null right, where a receiver expects a receive right or none.
    pub fn no_receive_right(self) -> Self {
        self.right(types::MOVE_RECEIVE, abi::NULL)
    }

    fn right(mut self, disposition: u32, name: u32) -> Self {
        self.complex = true;
        self.typed(type_word(disposition, 64, 1), &u64::from(name).to_le_bytes())
    }

    /// Moves a send right into the message.
    pub fn send_right(mut self, right: SendRight) -> Self {
        let name = right.name();
        self.carried.push(Carried::Send(right));
        self.right(types::MOVE_SEND, name)
    }

    /// Moves a send-once right into the message.
    pub fn send_once_right(mut self, right: SendOnceRight) -> Self {
        let name = right.name();
        self.carried.push(Carried::SendOnce(right));
        self.right(types::MOVE_SEND_ONCE, name)
    }

    /// Moves a receive right into the message: its queue and its senders go with it.
    pub fn receive_right(mut self, right: ReceiveRight) -> Self {
        let name = right.name();
        self.carried.push(Carried::Receive(right));
        self.right(types::MOVE_RECEIVE, name)
    }

    /// Adds a copy of a send right.
    pub fn copy_send(self, right: &SendRight) -> Self {
        self.right(types::COPY_SEND, right.name())
    }

    /// Adds a new send right to a port.
    pub fn make_send(self, port: &ReceiveRight) -> Self {
        self.right(types::MAKE_SEND, port.name())
    }

    /// Adds a new send-once right to a port.
    pub fn make_send_once(self, port: &ReceiveRight) -> Self {
        self.right(types::MAKE_SEND_ONCE, port.name())
    }

    /// Adds memory out of line: the receiver gets pages of its own with these bytes. What large memory costs is one copy here.
    pub fn memory(mut self, bytes: impl AsRef<[u8]> + Send + 'static) -> Self {
        let bytes = Box::new(bytes);
        self.out_of_line((*bytes).as_ref());
        self.carried.push(Carried::Memory(bytes));
        self
    }

    /// Adds an item for memory that lives until the message is sent.
    pub(super) fn out_of_line(&mut self, bytes: &[u8]) {
        self.complex = true;
        let Ok(number) = u32::try_from(bytes.len()) else {
            self.failed = Some(Code::SEND_INVALID_TYPE);
            return;
        };
        let word = type_word(types::BYTE, 8, number) & !typed::INLINE;
        self.body.extend(word.to_le_bytes());
        self.body.extend((bytes.as_ptr().expose_provenance() as u64).to_le_bytes());
    }

    /// How large it is.
    pub(super) fn size(&self) -> usize {
        HEADER + self.body.len()
    }

    /// Sends it to `dest` with `reply`, each a name and its disposition.
    pub(super) fn send(self, task: Task, dest: (u32, u32), reply: (u32, u32), timeout: Option<Duration>) -> Result<(), Error> {
        let bits = dest.1 | reply.1 << 8 | if self.complex { COMPLEX } else { 0 };
        let mut buffer = Vec::with_capacity(self.size());
        buffer.extend(header(bits, dest.0, reply.0, self.id));
        buffer.extend(&self.body);
        let (timed, timeout) = milliseconds(timeout);
        let request = Request {
            option: option::SEND_MSG | if timed { option::SEND_TIMEOUT } else { 0 },
            send_size: buffer.len(),
            timeout,
            ..Request::default()
        };
        let code = match self.failed {
            Some(code) => code,
            #[allow(unsafe_code, reason = "memory by address, as messages carry it")]
            // SAFETY: an item has as many bytes as it says, and those out of line are in what is carried, or borrowed by the caller.
            None => unsafe { task.mach_msg_with_memory(&mut buffer, &request) },
        };
        settle(task, code, &buffer, self.carried);
        sent(code)
    }
}
