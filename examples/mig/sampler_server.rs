//! The routines of the server in Rust, as sampler_server.c and tidy_server.c have them in C. It registers itself as "sampler".

// What `mig --lang rust --trap` writes; docs/mig.md says how a project makes its own.
use slipway_mig_interfaces::{sampler, tidy};

use sampler::{
    AccountsReply, ArraysReply, BothWaysReply, FarThingsReply, FourReply, LaterReplyPort, MovesReply, NumbersReply,
    OutOfLineReply, PortArraysReply, PortsReply, Record, RoomReply, SamplerServer, SizesReply, StringsReply, StructuresReply,
    UnlimitedReply,
};
use slipway_mach::mig::{self, AnyRight, Array, Code, ReceiveRight, Received, SendOnceRight, SendRight, Served, Target};
use std::{error::Error, ffi::CString, io::Write};
use tidy::{PairsReply, TidyServer};

/// The server's own memory.
#[derive(Default)]
pub struct Server {
    /// What `tell` said.
    told: CString,
    /// Who waits for the answer to the last `later`, and its value.
    waiting: Option<(LaterReplyPort, i32)>,
}

/// What callers know by a number.
pub struct Account {
    balance: i64,
}

/// A port as the server sees it.
pub struct Watched(Option<SendRight>);

fn sum_of(list: &[i32]) -> i64 {
    list.iter().map(|number| i64::from(*number)).sum()
}

impl SamplerServer for Server {
    type Account = Account;
    type Watched = Watched;

    fn watched_port(&mut self, port: Option<SendRight>) -> Watched {
        Watched(port)
    }

    fn account_by_number(&mut self, number: i32) -> Account {
        Account { balance: i64::from(number) * 100 }
    }

    fn account_number(&mut self, account: Account) -> i32 {
        (account.balance / 100) as i32
    }

    fn null(&mut self, _: Target) -> Result<(), Code> {
        Ok(())
    }

    fn four(&mut self, _: Target, a: i32, b: i32, c: i32, d: i32) -> Result<FourReply, Code> {
        Ok(FourReply { w: d, x: c, y: b, z: a })
    }

    fn sizes(&mut self, _: Target, a: u8, b: i16, c: i64, d: bool, e: f64) -> Result<SizesReply, Code> {
        Ok(SizesReply { a: a.wrapping_add(1), b: b.wrapping_add(1), c: c.wrapping_add(1), d: !d, e: e * 2.0 })
    }

    fn strings(&mut self, _: Target, word: CString, label: CString, old: CString, both: CString) -> Result<StringsReply, Code> {
        let mut longer = both.into_bytes();
        if longer.len() + 2 <= 64 {
            longer.push(b'!');
        }
        let both = CString::new(longer).unwrap_or_default();
        Ok(StringsReply { word_out: word, label_out: label, old_out: old, both })
    }

    fn structures(&mut self, _: Target, pair: [i16; 2], record: Record, list: Vec<Record>) -> Result<StructuresReply, Code> {
        let record = Record { big: record.big.wrapping_add(record.small as u64), ..record };
        Ok(StructuresReply { pair_out: [pair[1], pair[0]], record, list_out: list.into_iter().rev().collect() })
    }

    fn arrays(
        &mut self,
        _: Target,
        four: [i32; 4],
        bytes: Vec<u8>,
        add: i32,
        more: Vec<i32>,
        mut both: Vec<i32>,
    ) -> Result<ArraysReply, Code> {
        let [a, b, c, d] = four;
        // One element more, if there is room.
        if both.len() < 4095 {
            both.push(add);
        }
        let bytes_out = bytes.into_iter().rev().collect();
        Ok(ArraysReply { four_out: [d, c, b, a], bytes_out, sum: i64::from(add) + sum_of(&more), both, last: add })
    }

    fn room(&mut self, _: Target, list_room: u32) -> Result<RoomReply, Code> {
        Ok(RoomReply { list: (0..list_room as i32).collect(), told: list_room })
    }

    fn unlimited(
        &mut self,
        _: Target,
        list: Array<i32>,
        copied: Array<i32>,
        given: Array<i32>,
        count: u32,
    ) -> Result<UnlimitedReply, Code> {
        // A number from outside: without a limit any caller could make this task use all memory there is.
        if count > 1_000_000 {
            return Err(Code::INVALID_ARGUMENT);
        }
        let sum = sum_of(&list) + sum_of(&copied) + sum_of(&given);
        let list_out = vec![sum as i32; count as usize].into();
        Ok(UnlimitedReply { r#where: u32::from(!copied.is_region()), list_out })
    }

    fn out_of_line(&mut self, _: Target, list: Array<i32>, given: Array<i32>, block: Array<i32>) -> Result<OutOfLineReply, Code> {
        Ok(OutOfLineReply { sum: sum_of(&list) + sum_of(&given) + sum_of(&block), list_out: list })
    }

    fn ports(&mut self, _: Target, copy: Option<SendRight>, made: Option<SendRight>, any: AnyRight) -> Result<PortsReply, Code> {
        Ok(PortsReply { copy_out: copy, made_out: made, any_out: any })
    }

    fn port_arrays(
        &mut self,
        _: Target,
        _three: [Option<SendRight>; 3],
        some: Vec<Option<SendRight>>,
        far: Vec<Option<SendRight>>,
        either: Vec<Option<SendRight>>,
    ) -> Result<PortArraysReply, Code> {
        Ok(PortArraysReply { some_out: some.into_iter().rev().collect(), far_out: far, either_out: either })
    }

    fn accounts(&mut self, _: Target, account: Account, other: Account) -> Result<AccountsReply<Account>, Code> {
        let third = Account { balance: account.balance + other.balance };
        Ok(AccountsReply { other: account, third })
    }

    fn sequence(&mut self, _: Target, seqno: u32) -> Result<u32, Code> {
        Ok(seqno)
    }

    fn tell(&mut self, _: Target, word: CString) -> Result<(), Code> {
        self.told = word;
        Ok(())
    }

    fn told(&mut self, _: Target) -> Result<CString, Code> {
        Ok(self.told.clone())
    }

    fn later(&mut self, _: Target, reply: LaterReplyPort, value: i32) {
        // The last one goes unanswered if it is not released: its caller is told.
        self.waiting = Some((reply, value));
    }

    fn release(&mut self, _: Target) -> Result<(), Code> {
        match self.waiting.take() {
            Some((reply, value)) => reply.answer(Ok(value.wrapping_mul(2))).map_err(|error| error.code),
            None => Ok(()),
        }
    }

    fn refuse(
        &mut self,
        _: Target,
        code: i32,
        _right: Option<SendRight>,
        _list: Array<i32>,
        _far: Array<i32>,
        _ports: Vec<Option<SendRight>>,
    ) -> Result<i32, Code> {
        Err(if code == 0 { Code::FAILURE } else { Code(code) })
    }

    fn both_ways(&mut self, _: Target, list: Array<i32>, how: u32, _right: Option<SendRight>) -> Result<BothWaysReply, Code> {
        let words = vec![b'w'; if how == 2 { 101 } else { 3 }];
        let list = if how == 1 { list.repeat(2).into() } else { list };
        Ok(BothWaysReply { list, words })
    }

    fn timed(&mut self, _: Target, value: i32) -> Result<i32, Code> {
        Ok(value)
    }

    fn numbers(
        &mut self,
        _: Target,
        real: f32,
        tiny: i8,
        byte: u8,
        half: u16,
        word: u32,
        wide: u64,
        flags: Vec<bool>,
        mut big: Box<[i32; 2000]>,
    ) -> Result<NumbersReply, Code> {
        big.reverse();
        Ok(NumbersReply {
            real: real * 2.0,
            tiny: tiny.wrapping_sub(1),
            byte: byte.wrapping_add(1),
            half: half.wrapping_add(1),
            word: word.wrapping_add(1),
            wide: wide.wrapping_add(1),
            flags_out: flags.into_iter().map(|flag| !flag).collect(),
            big,
        })
    }

    fn moves(
        &mut self,
        _: Target,
        send: Option<SendRight>,
        once: Option<SendOnceRight>,
        made: Option<SendOnceRight>,
        receive: Option<ReceiveRight>,
        both: Option<SendRight>,
        said: Option<SendRight>,
        passed: Option<SendRight>,
        watched: Watched,
    ) -> Result<MovesReply, Code> {
        let name = |right: Option<SendRight>| right.map(|right| right.name());
        let watches = name(passed) == name(watched.0);
        Ok(MovesReply { send_out: send, once_out: once.or(made), receive_out: receive, both, said_out: said, watches })
    }

    fn far_things(
        &mut self,
        _: Target,
        record: Record,
        list: Array<Record>,
        any: Array<Record>,
        three: [Option<SendRight>; 3],
    ) -> Result<FarThingsReply, Code> {
        let there = three.iter().flatten().count() as u32;
        Ok(FarThingsReply { record_out: record, list_out: list, any_out: any, there })
    }

    fn reply_to(&mut self, _: Target, value: i32) -> Result<i32, Code> {
        Ok(value)
    }

    fn ask(&mut self, _: Target, code: i32) -> Result<(), Code> {
        Err(Code(code))
    }
}

impl TidyServer for Server {
    fn pairs(&mut self, _: Target, keys: Vec<i32>, values: Vec<i32>) -> Result<PairsReply, Code> {
        Ok(PairsReply { keys_out: values, values_out: keys })
    }

    fn tidy(&mut self, _: Target, list: Array<i32>) -> Result<Array<i32>, Code> {
        Ok(list)
    }

    fn hurry(&mut self, _: Target, value: f64) -> Result<f64, Code> {
        Ok(value)
    }

    fn hurry_on(&mut self, _: Target, value: i32) -> Result<i32, Code> {
        Ok(value.wrapping_add(1))
    }

    fn hint(&mut self, _: Target, _values: Vec<i32>) -> Result<(), Code> {
        Ok(())
    }
}

impl Server {
    /// Serves a request of either interface: one port has both.
    pub fn serve(&mut self, request: Received) -> Served {
        sampler::demux(self, request).or_else(|request| tidy::demux(self, *request))
    }

    /// The routines of both that can be called.
    pub fn traps() -> mig::Traps<Self, mig::Exclusive> {
        sampler::traps().and(tidy::traps())
    }
}

/// The program.
pub fn main() -> Result<(), Box<dyn Error>> {
    let port = ReceiveRight::new()?;
    port.make_send()?.register("sampler")?;
    println!("ready");
    std::io::stdout().flush()?;
    let mut server = Server::default();
    // Tasks that share the process call the routines; all others send.
    match mig::serve_traps(&port, &mut server, Server::traps(), Server::serve)? {}
}
