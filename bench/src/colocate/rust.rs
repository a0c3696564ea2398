//! The client and the server of `stubs/colocate.defs` in Rust, by mig's stubs in Rust.

use anyhow::{Context, bail, ensure};
use slipway_mach::mig::{self, Code, SendRight, Target};
use slipway_mach::rights::ReceiveRight;
use slipway_mach::task::Task;
use std::hint::black_box;
use std::mem::ManuallyDrop;
use stubs::{Colocate, ColocateServer};

#[allow(clippy::all, clippy::pedantic, dead_code, reason = "made by mig, for whoever wants it")]
mod stubs {
    include!(concat!(env!("OUT_DIR"), "/colocate.rs"));
}

/// A client, and what it sends.
pub struct Client {
    /// The right is the caller's.
    server: ManuallyDrop<Colocate>,
    small: [u8; 64],
    block: [u8; 1024],
    words: [i32; 32],
    /// The first byte that came last.
    last: Option<u8>,
}

impl Client {
    /// A client of the port that the calling thread's task has a send right to by this name.
    pub fn new(server: u32) -> Self {
        let server = ManuallyDrop::new(Colocate(SendRight::from_name(Task::current(), server)));
        Self { server, small: [0; 64], block: [0; 1024], words: [0; 32], last: None }
    }

    /// The call of that number.
    #[inline]
    pub fn call(&mut self, test: i32, turn: i32) -> anyhow::Result<()> {
        match test {
            0 => self.server.nothing()?,
            1 => {
                self.small[0] = turn as u8;
                self.server.in_small(&self.small)?;
            }
            2 => {
                self.block[0] = turn as u8;
                self.server.in_block(&self.block)?;
            }
            3 => {
                self.block[0] = turn as u8;
                self.server.in_const(&self.block)?;
            }
            4 => {
                let came = Some(self.server.out_block()?[0]);
                ensure!(came != self.last, "what came is what came before");
                self.last = came;
            }
            5 => {
                (self.words[0], self.words[31]) = (turn, turn);
                let back = self.server.words(&self.words)?;
                ensure!((back[0], back[31]) == (turn ^ 1, turn), "what came back is not what is due");
            }
            _ => bail!("the server in Rust makes no calls of its own"),
        }
        Ok(())
    }
}

/// Does as little as the routines of `stubs/colocate_server.c`, which are compiled apart: what they are given has to be there.
struct Server(u8);

impl ColocateServer for Server {
    fn nothing(&mut self, _: Target) -> Result<(), Code> {
        Ok(())
    }

    fn in_small(&mut self, _: Target, data: [u8; 64]) -> Result<(), Code> {
        black_box(&data);
        Ok(())
    }

    fn in_block(&mut self, _: Target, data: [u8; 1024]) -> Result<(), Code> {
        black_box(&data);
        Ok(())
    }

    fn in_const(&mut self, _: Target, data: [u8; 1024]) -> Result<(), Code> {
        black_box(&data);
        Ok(())
    }

    fn out_block(&mut self, _: Target) -> Result<[u8; 1024], Code> {
        self.0 = self.0.wrapping_add(1);
        Ok([self.0; 1024])
    }

    fn words(&mut self, _: Target, mut data: [i32; 32]) -> Result<[i32; 32], Code> {
        data[0] ^= 1;
        Ok(data)
    }

    fn own_calls(&mut self, _: Target, _: i32, _: i32) -> Result<(), Code> {
        Err(Code::INVALID_ARGUMENT)
    }
}

/// Answers calls at the port, by trap where that is possible, without end.
pub fn serve(port: u32) -> anyhow::Result<()> {
    let port = ReceiveRight::from_name(Task::current(), port);
    match mig::serve_traps(&port, &mut Server(0), stubs::traps(), stubs::demux).context("mig::serve_traps")? {}
}
