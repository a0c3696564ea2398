//! Send-once rights on a line, which are numbers: tokens.
//!
//! The end with the port gives a number out and finds the port behind it again. When the port moves or dies, the holder
//! is told, and may have used the number before it hears that. So such a number is not given out again until
//! the holder has answered (TOKEN_SEEN), and what comes for it meanwhile goes where the right leads by then.

use super::{
    Once, Routes, Upcall, corrupt,
    endpoints::{once_pair, shared},
};
use crate::{
    line::{HELD, OutFd, Token},
    objects,
    state::{LineId, PortId, RemoteSendOnce, Right},
    wire::{Record, kind},
};
use slipway_fabric::{Corrupt, descriptor::Reserved};
use std::{collections::hash_map::Entry, io, os::fd::AsFd, sync::Arc};
use zerocopy::IntoBytes;

impl Routes {
    /// The port, which is here, is about to move: its send-once rights on lines become sockets, of which the receiving
    /// ends go to `onces`.
    pub(crate) fn reroute_tokens(&mut self, port: PortId, onces: &mut Vec<Arc<Reserved>>) -> io::Result<()> {
        for (number, token) in self.all_tokens_of(port) {
            let sender = Arc::new(once_pair(onces)?);
            let record = Record { kind: kind::TOKEN_REROUTED, target: token, fds: 1, ..Record::default() };
            self.change_token(number, token, Token::Moved(Arc::clone(&sender)), record, vec![OutFd(sender)]);
        }
        Ok(())
    }

    /// The port died: processes with send-once rights to it over lines are told.
    pub(crate) fn drop_tokens_of(&mut self, port: PortId) {
        for (number, token) in self.all_tokens_of(port) {
            let record = Record { kind: kind::TOKEN_DEAD, target: token, ..Record::default() };
            self.change_token(number, token, Token::Dead, record, Vec::new());
            self.state.drop_soright(port);
        }
    }

    /// Lines and numbers of a port's tokens.
    fn all_tokens_of(&self, port: PortId) -> Vec<(LineId, u32)> {
        let count = self.state.ports.get(port.0 as usize).map_or(0, |it| it.sorights as usize);
        if count == 0 {
            return Vec::new();
        }
        let lines = self.lines.iter();
        let tokens = lines.flat_map(|(number, line)| line.tokens_of(port).into_iter().map(move |it| (number, it)));
        tokens.take(count).collect()
    }

    fn change_token(&mut self, number: LineId, token: u32, to: Token, record: Record, fds: Vec<OutFd>) {
        let Some(line) = self.lines.get_mut(number) else { return };
        if let Some(it) = line.tokens.get_mut(token as usize) {
            *it = to;
        }
        line.post(record, fds);
        line.ring_bell();
    }

    /// Takes note of a send-once right to a port of the other end, which has come as a number. Beyond [`HELD`] it is dropped
    /// at once. A number that stands for a right here already is refused, and that right stays as it is.
    pub(crate) fn hold_token(&mut self, number: LineId, token: u32) -> Result<Right, Corrupt> {
        let Self { lines, onces, stirred, .. } = self;
        let line = lines.get_mut(number).ok_or_else(corrupt)?;
        let full = line.held.len() >= HELD;
        match line.held.entry(token) {
            Entry::Occupied(_) => Err(Corrupt { what: "token" }),
            Entry::Vacant(_) if full => {
                line.post(Record { kind: kind::TOKEN_DROPPED, target: token, ..Record::default() }, Vec::new());
                stirred.push(number);
                Ok(Right::Dead)
            }
            Entry::Vacant(place) => {
                let once = RemoteSendOnce(onces.insert(Once::Token { line: number, token }) as u32);
                place.insert(once);
                Ok(Right::RemoteSendOnce(once))
            }
        }
    }

    /// The holder knows what became of a token that was rerouted, or whose port died.
    pub(crate) fn token_seen(&mut self, number: LineId, token: u32) -> Result<(), Corrupt> {
        let line = self.lines.get_mut(number).ok_or_else(corrupt)?;
        match line.tokens.get(token as usize) {
            None | Some(Token::Port(_)) => return Err(Corrupt { what: "token" }),
            Some(Token::Moved(_) | Token::Dead | Token::Spent) => drop(line.tokens.remove(token as usize)),
        }
        self.stir(number);
        Ok(())
    }

    /// The holder of a token dropped it unused.
    pub(crate) fn token_dropped(&mut self, number: LineId, token: u32) {
        // A rerouted one's socket hangs up, and so tells the port.
        if let Some(Token::Port(port)) = self.lines.get_mut(number).and_then(|line| line.take_token(token)) {
            self.state.destroy_right(Right::SendOnce(port));
        }
        self.stir(number);
    }

    /// The holder of a token passed it on: its new holder sends through the other end of `socket`.
    pub(crate) fn token_moved(&mut self, number: LineId, token: u32, socket: Reserved) {
        match self.lines.get_mut(number).and_then(|line| line.take_token(token)) {
            Some(Token::Port(port)) => self.adopt_or_destroy(socket, port),
            Some(Token::Moved(holder)) => {
                let record = Record { kind: kind::TOKEN_MOVED, fds: 1, ..Record::default() };
                // If nobody takes it there, its other end hangs up, which is all that can be told.
                let _ = objects::send((*holder).as_fd(), &[record.as_bytes()], &[socket.as_fd()]);
            }
            Some(Token::Dead | Token::Spent) | None => {}
        }
        self.stir(number);
    }

    /// The right behind a token that comes back to the end that gave it.
    pub(crate) fn token_back(&mut self, number: LineId, token: u32) -> Option<Right> {
        Some(match self.lines.get_mut(number)?.take_token(token)? {
            Token::Port(port) => Right::SendOnce(port),
            Token::Moved(socket) => Right::RemoteSendOnce(RemoteSendOnce(self.onces.insert(Once::Socket(socket)) as u32)),
            Token::Dead | Token::Spent => Right::Dead,
        })
    }

    /// The right behind a token that this process holds is `to` by now: the socket that it goes on with, or nothing.
    pub(crate) fn held_changed(&mut self, number: LineId, token: u32, to: Option<Reserved>) {
        let Some(line) = self.lines.get_mut(number) else { return };
        line.post(Record { kind: kind::TOKEN_SEEN, target: token, ..Record::default() }, Vec::new());
        let Some(once) = line.held.remove(&token) else { return };
        match (to, self.onces.get_mut(once.0 as usize)) {
            (Some(socket), Some(it)) => {
                *it = Once::Socket(Arc::new(socket));
                if self.state.is_once_watched(once) {
                    self.watch_once(once);
                }
            }
            (None, Some(_)) => self.onces_died(&[once]),
            (_, None) => {}
        }
        // A thread that waits to send with it need not wait for this line.
        self.upcall(Upcall::NotFull(number));
        self.stir(number);
    }

    /// The ports of remote send-once rights died: their names become dead names, and what waits in messages arrives dead.
    pub(crate) fn onces_died(&mut self, onces: &[RemoteSendOnce]) {
        let mut left: rustc_hash::FxHashSet<RemoteSendOnce> = onces.iter().copied().collect();
        left.retain(|once| {
            let named = self.state.remote_send_once_died(*once);
            if named {
                self.onces.try_remove(once.0 as usize);
            }
            !named
        });
        if left.is_empty() {
            return;
        }
        self.state.each_waiting(None, &mut |right| {
            if let Right::RemoteSendOnce(once) = right
                && left.remove(once)
            {
                self.onces.try_remove(once.0 as usize);
                *right = Right::Dead;
            }
        });
        for once in left {
            // A thread is about to send it, or to send it with.
            if let Some(it) = self.onces.get_mut(once.0 as usize) {
                *it = Once::Dead;
            }
        }
    }

    /// Turns a token into a socket, for others to send to: the owner listens to its other end.
    pub(super) fn move_token(&mut self, line: LineId, token: u32) -> io::Result<Reserved> {
        let (sender, receiver) = objects::socket_pair()?;
        let (sender, receiver) = (Reserved::new(sender)?, shared(receiver)?);
        let it = self.lines.get_mut(line).ok_or(io::ErrorKind::NotFound)?;
        it.post(Record { kind: kind::TOKEN_MOVED, target: token, fds: 1, ..Record::default() }, vec![OutFd(receiver)]);
        self.stirred.push(line);
        Ok(sender)
    }

    /// Tells the owner of a token that it was dropped unused.
    pub(crate) fn drop_token(&mut self, number: LineId, token: u32) {
        if let Some(line) = self.lines.get_mut(number) {
            line.held.remove(&token);
            line.post(Record { kind: kind::TOKEN_DROPPED, target: token, ..Record::default() }, Vec::new());
            self.stir(number);
        }
    }

    /// A remote send-once right was dropped unused.
    pub(crate) fn drop_once(&mut self, once: RemoteSendOnce) {
        match self.onces.try_remove(once.0 as usize) {
            Some(Once::Token { line, token }) => self.drop_token(line, token),
            // Its receiving end hangs up, and tells the port.
            Some(Once::Socket(_) | Once::Dead) | None => {}
        }
    }
}
