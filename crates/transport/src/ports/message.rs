//! The messages of a connection.
//!
//! A message is a header of 32 bytes and a body of plain bytes. Nothing goes out of line: a megabyte that is mapped takes several times as long
//! as one that is copied through the queue, since each page is faulted in at both ends.

use super::libmach::Name;
use slipway_abi::{
    COMPLEX, HEADER, LOCAL_MASK, REMOTE_MASK,
    types::{PORT_SEND, PORT_SEND_ONCE},
};

/// The first number that a message of a connection has as its `msgh_id`: "X11" and the version.
const FIRST: i32 = 0x5831_3101;
/// A client asks for a connection: the [token](crate::line::TOKEN) and the client's process number. The reply port is a send right to the port
/// that it receives from.
pub const CONNECT: i32 = FIRST;
/// A client that finds no socket of the display asks the server to stand in for it: its token.
pub const SUMMON: i32 = FIRST + 1;
/// The server has accepted the connection. The reply port is a send right to the port that it receives from.
pub const ACCEPT: i32 = FIRST + 2;
/// Bytes of the stream: how many, as 8 bytes, and they.
pub const DATA: i32 = FIRST + 3;
/// No more bytes come: the sender has shut its half down.
pub const END: i32 = FIRST + 4;

/// Most bytes of the stream in one message.
pub const INLINE: usize = 32 << 10;
/// Bytes before the stream's own in a [`DATA`] message.
pub const BEFORE: usize = HEADER + 8;
/// Words of a buffer that any message of a connection fits.
pub const WORDS: usize = (BEFORE + INLINE) / 8;
/// The header of a message to be sent.
#[derive(Debug, Clone, Copy, Default)]
pub struct Front {
    /// Its `msgh_id`.
    pub id: i32,
    /// The destination, and how the right to it is used (`MACH_MSG_TYPE_*`).
    pub to: (Name, u32),
    /// The reply port, and how the right is made or given.
    pub reply: (Name, u32),
}

impl Front {
    /// Writes it over the first words of a message of `size` bytes.
    pub fn write(&self, buffer: &mut [u64], size: usize) {
        let bits = self.to.1 | self.reply.1 << 8;
        buffer[0] = u64::from(bits) | (size as u64) << 32;
        buffer[1] = self.to.0.into();
        buffer[2] = self.reply.0.into();
        buffer[3] = u64::from(self.id as u32) << 32;
    }
}

/// A received message's header.
#[derive(Debug, Clone, Copy)]
pub struct Received {
    /// Its `msgh_id`.
    pub id: i32,
    /// Its size in bytes.
    pub size: usize,
    /// The port that it came to.
    pub at: Name,
    /// The send right that came as its reply port; 0 if there is none.
    pub reply: Name,
    /// It came by a send-once right, as the library's own notifications do.
    pub by_send_once: bool,
    /// The body has rights or memory.
    pub complex: bool,
}

impl Received {
    /// Reads it.
    pub fn read(buffer: &[u64]) -> Self {
        let bits = buffer[0] as u32;
        Self {
            id: (buffer[3] >> 32) as i32,
            size: (buffer[0] >> 32) as usize,
            at: buffer[2] as Name,
            reply: if bits & REMOTE_MASK == PORT_SEND { buffer[1] as Name } else { 0 },
            by_send_once: (bits & LOCAL_MASK) >> 8 == PORT_SEND_ONCE,
            complex: bits & COMPLEX != 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_read_as_it_was_written() {
        let mut buffer = [0; 4];
        Front { id: DATA, to: (7, PORT_SEND), reply: (9, PORT_SEND_ONCE) }.write(&mut buffer, BEFORE);
        let read = Received::read(&buffer);
        assert!(read.id == DATA && read.size == BEFORE && !read.complex);
        // What the sender calls remote is local where it arrives.
        assert!(read.at == 9 && read.reply == 7 && read.by_send_once);
    }
}
