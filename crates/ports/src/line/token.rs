//! The numbers that stand for send-once rights to ports of this end.

use super::{Line, parts::Token};
use crate::state::PortId;

impl Line {
    /// Gives out a number for a send-once right to a port here.
    #[inline]
    pub fn give_token(&mut self, port: PortId) -> u32 {
        self.tokens.insert(Token::Port(port)) as u32
    }

    /// The port behind a number, if it is here.
    #[inline]
    pub fn token_port(&self, token: u32) -> Option<PortId> {
        match self.tokens.get(token as usize) {
            Some(Token::Port(port)) => Some(*port),
            _ => None,
        }
    }

    /// What the holder's use of a number uses up. `None` if there is nothing to use.
    #[inline]
    pub fn take_token(&mut self, token: u32) -> Option<Token> {
        match self.tokens.get_mut(token as usize)? {
            Token::Port(_) => Some(self.tokens.remove(token as usize)),
            Token::Spent => None,
            other => Some(std::mem::replace(other, Token::Spent)),
        }
    }

    /// Numbers that stand for a port here.
    pub fn tokens_of(&self, port: PortId) -> Vec<u32> {
        let of = |token: &Token| matches!(token, Token::Port(other) if *other == port);
        self.tokens.iter().filter(|(_, token)| of(token)).map(|(number, _)| number as u32).collect()
    }
}
