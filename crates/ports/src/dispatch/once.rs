//! Messages of send-once rights that third parties hold: they come out of a socket of their own.

use super::Inner;
use crate::{
    account::{self, Charge},
    line::INLINE,
    objects,
    routes::{OnceEnd, Routes, import::View},
    state::{Home, PortId, Right},
    wire::{self, Record, kind, parse},
};
use rustix::io::Errno;
use std::{os::fd::AsFd, sync::Arc};

/// Packets that may go before the message of a send-once right's socket. Each has descriptors, as many as a packet takes,
/// or is a look at where the right leads.
const PACKETS: u32 = 320;

impl Inner {
    /// Takes the message of a send-once right that a third party held.
    pub(crate) fn dispatch_once_end(&mut self, id: u32) {
        loop {
            let Routes { once_ends, ledger, .. } = &mut self.routes;
            let Some(end) = once_ends.get_mut(id as usize) else { return };
            let port = end.port;
            let mut bytes = vec![0; wire::RECORD + INLINE];
            let before = end.fds.len();
            end.packets += 1;
            let account = |sender| {
                let account = Charge::of(&end.socket).unwrap_or_else(|| ledger.of(sender));
                Arc::clone(end.account.insert(account))
            };
            match account::receive_held(end.socket.as_fd(), &mut bytes, &mut end.fds, account) {
                Ok((n, _)) if n >= wire::RECORD => {
                    bytes.truncate(n);
                    let end = once_ends.remove(id as usize);
                    return self.take_from_socket(port, &bytes, end);
                }
                // Descriptors, which go first, as many as a packet takes; or a process tests whether its right leads here.
                Ok((1..wire::RECORD, lost)) if end.packets <= PACKETS => {
                    if lost {
                        end.fds.resize_with(before + objects::FD_BATCH, || None);
                    }
                }
                Err(Errno::WOULDBLOCK) => return,
                // Dropped unused, or broken, which comes to the same.
                _ => {
                    once_ends.remove(id as usize);
                    return self.state.destroy_right(Right::SendOnce(port));
                }
            }
        }
    }

    fn take_from_socket(&mut self, port: PortId, bytes: &[u8], OnceEnd { mut fds, account, .. }: OnceEnd) {
        let mut rest = bytes;
        let record = wire::take::<Record>(&mut rest);
        // What found no place here is the last.
        fds.resize_with(fds.len().max(record.map_or(0, |record| record.fds as usize)), || None);
        if record.is_some_and(|record| record.kind == kind::TOKEN_MOVED) {
            return match fds.into_iter().flatten().next() {
                Some(socket) => self.adopt_or_destroy(socket, port),
                None => self.state.destroy_right(Right::SendOnce(port)),
            };
        }
        let decoded = record.and_then(|record| {
            let body = wire::take_bytes(&mut rest, record.body as usize)?.to_vec();
            let items = wire::take_bytes(&mut rest, record.items as usize)?.to_vec();
            let parsed = parse::message(&record, body, items, fds, account.as_ref()).ok()?;
            self.import(View::Loose, parsed).ok().flatten()
        });
        match decoded {
            Some(mut message) => {
                message.dest = Right::SendOnce(port);
                match self.state.port(port).home {
                    Home::Here(_) => self.state.enqueue(port, message),
                    _ => self.state.destroy_message(message),
                }
            }
            None => self.state.destroy_right(Right::SendOnce(port)),
        }
    }
}
