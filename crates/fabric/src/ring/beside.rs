//! What the two ends of a stream tell each other beside its bytes: the time of these, descriptors that belong to them, that the socket has news,
//! and that the stream goes back there.

use super::{Ring, TxCursor};
use crate::sync::{Ordering, full_fence, ticks};

impl Ring {
    /// As [`Ring::publish`], with the time of it for a reader that asks for that (W14).
    pub fn publish_timed(&self, tx: &TxCursor) {
        if self.control.reader.asks_time.load(Ordering::Relaxed) != 0 {
            self.control.producer.shown_at.store(ticks(), Ordering::Relaxed); // ordered by W3
        }
        self.publish(tx);
    }

    /// Whether the caller must ring the reader's bell because it wants one for each write (W12). After W4.
    pub fn rings_always(&self) -> bool {
        self.control.reader.hears_all.load(Ordering::Relaxed) != 0
    }

    /// Counts one message with descriptors as sent beside the ring. Ordered by the next W3.
    pub fn count_attachment(&self) {
        let sent = self.control.producer.attachments.load(Ordering::Relaxed);
        self.control.producer.attachments.store(sent.wrapping_add(1), Ordering::Relaxed);
    }

    /// Whether the reader has asked for the stream on the socket.
    pub fn reader_gave_back(&self) -> bool {
        self.control.reader.gives_back.load(Ordering::Acquire) == 1 // SYNC POINT: give back
    }

    /// Closes the ring for good unless the reader has asked for its bytes on the socket. One of the
    /// two ends wins: false means that the writer must send them there.
    pub fn close_unless_wanted(&self) -> bool {
        let flag = &self.control.reader.gives_back;
        let closes = flag.compare_exchange(0, 2, Ordering::AcqRel, Ordering::Acquire) != Err(1);
        if closes {
            self.close();
        }
        closes
    }

    /// Tells the reader to look at the socket: something happens there that the ring can't say.
    pub fn hint(&self) {
        let n = self.control.producer.hint.load(Ordering::Relaxed);
        self.control.producer.hint.store(n.wrapping_add(1), Ordering::Release);
    }

    /// Messages with descriptors sent so far (wraps).
    pub fn attachments(&self) -> u32 {
        self.control.producer.attachments.load(Ordering::Relaxed)
    }

    /// Changes whenever the writer wants the reader to look at the socket.
    pub fn hint_mark(&self) -> u32 {
        self.control.producer.hint.load(Ordering::Acquire)
    }

    /// From now on the writer rings for each write, or doesn't (R12). The caller must look again.
    pub fn hear_all(&self, on: bool) {
        self.control.reader.hears_all.store(on.into(), Ordering::Relaxed);
        full_fence(); // paired with W4
    }

    /// From now on the writer says when it shows bytes (R14).
    pub fn ask_time(&self) {
        let asks = &self.control.reader.asks_time;
        if asks.load(Ordering::Relaxed) == 0 {
            asks.store(1, Ordering::Relaxed);
        }
    }

    /// When the writer last showed bytes, by its own word; 0 if it was not asked.
    pub fn shown_at(&self) -> u64 {
        self.control.producer.shown_at.load(Ordering::Relaxed)
    }

    /// Asks the writer for the rest of the stream on the socket: it takes back what lies unread.
    ///
    /// False if the writer closed the ring first: then they stay there to be read.
    pub fn give_back(&self) -> bool {
        let flag = &self.control.reader.gives_back;
        flag.compare_exchange(0, 1, Ordering::AcqRel, Ordering::Acquire) != Err(2) // SYNC POINT: give back
    }
}
