//! The server of trap.defs: what trap_server.c does, in the same words.

use super::traps::{ArraysReply, MoneysReply, NumbersReply, PairsReply, RecordsReply, RoomReply, StringsReply, TrapsServer};
use crate::transcript::Transcript;
use slipway_mach::mig::{Code, SendRight, Target};
use std::ffi::{CStr, CString};

/// The server's own memory.
#[derive(Debug)]
pub struct Server {
    /// Where it notes what its routines are given.
    pub to: Transcript,
    /// The port that is served.
    pub port: u32,
    last: i32,
}

/// `struct money`.
#[derive(Debug)]
pub struct Money {
    number: i32,
    more: i64,
}

fn done<T>(code: i32, values: T) -> Result<T, Code> {
    if code == 0 { Ok(values) } else { Err(Code(code)) }
}

/// A string in its field of 12 bytes.
fn label(text: &CStr) -> [u8; 12] {
    std::array::from_fn(|at| text.to_bytes().get(at).copied().unwrap_or(0))
}

fn text(bytes: &[u8]) -> CString {
    CString::new(bytes).unwrap_or_default()
}

impl Server {
    /// The server of a port.
    pub fn new(to: Transcript, port: u32) -> Self {
        Self { to, port, last: 0 }
    }

    fn begin(&mut self, routine: &str, server: Target) {
        let strange = if server == Target::Port(self.port) { "" } else { " at a strange port" };
        self.to.line(format_args!("-- {routine}{strange}"));
    }
}

impl TrapsServer for Server {
    type Money = Money;
    type Int = i32;

    fn money_of(&mut self, value: i32) -> Money {
        Money { number: value, more: i64::from(value) * 3 }
    }

    fn number_of(&mut self, value: Money) -> i32 {
        (value.more / 3) as i32
    }

    fn object_of(&mut self, value: Target) -> i32 {
        if value == Target::Port(self.port) { 1 } else { -1 }
    }

    fn nothing(&mut self, server: Target) -> Result<(), Code> {
        self.begin("nothing", server);
        Ok(())
    }

    fn numbers(
        &mut self,
        server: Target,
        a: u8,
        b: i16,
        c: i32,
        d: i64,
        e: f64,
        h: i64,
        code: i32,
    ) -> Result<NumbersReply, Code> {
        self.begin("numbers", server);
        self.to.note("a", &a);
        self.to.note("b", &b);
        self.to.note("c", &c);
        self.to.note("d", &d);
        self.to.note("e", &e);
        self.to.note("*f", &0i32);
        self.to.note("*g", &0f64);
        self.to.note("*h", &h);
        done(code, NumbersReply { f: c + 1, g: e + 1.0, h: -h })
    }

    fn behind(&mut self, number: i32, server: Target) -> Result<i32, Code> {
        self.begin("behind", server);
        self.to.note("number", &number);
        Ok(number.wrapping_mul(2))
    }

    fn records(
        &mut self,
        server: Target,
        one: [i64; 3],
        mut three: [i64; 3],
        list: Vec<[i64; 3]>,
        code: i32,
    ) -> Result<RecordsReply, Code> {
        self.begin("records", server);
        self.to.record("one", &one);
        self.to.record("*two", &[0; 3]);
        self.to.record("*three", &three);
        self.to.note("listCnt", &(list.len() as u32));
        self.to.note("*list_outCnt", &5u32);
        list.iter().for_each(|record| self.to.record("list[i]", record));
        three[2] = i64::from((three[2] as u32).wrapping_add(1));
        let list_out = list.into_iter().rev().collect();
        done(code, RecordsReply { two: [0, one[1] + 1, 0], three, list_out })
    }

    fn scribble(
        &mut self,
        server: Target,
        three: [i16; 3],
        list: Vec<i32>,
        word: CString,
        label_: CString,
        one: [i64; 3],
    ) -> Result<(), Code> {
        self.begin("scribble", server);
        self.to.note("three", &three[..]);
        self.to.note("list", &list[..]);
        self.to.text("word", &word);
        self.to.note("label", &label(&label_)[..]);
        self.to.record("one", &one);
        Ok(())
    }

    fn lent(
        &mut self,
        server: Target,
        three: [i16; 3],
        list: Vec<i32>,
        word: CString,
        label_: CString,
        address: i64,
    ) -> Result<i32, Code> {
        self.begin("lent", server);
        self.to.note("three", &three[..]);
        self.to.note("list", &list[..]);
        self.to.text("word", &word);
        self.to.note("label", &label(&label_)[..]);
        Ok((list.as_ptr().addr() as i64 == address).into())
    }

    fn strings(
        &mut self,
        server: Target,
        word: CString,
        label_: CString,
        word_both: CString,
        label_both: CString,
        code: i32,
    ) -> Result<StringsReply, Code> {
        self.begin("strings", server);
        self.to.text("word", &word);
        self.to.note("label", &label(&label_)[..]);
        self.to.text("word_out", c"");
        self.to.text("label_out", c"");
        self.to.text("word_both", &word_both);
        self.to.note("label_both", &label(&label_both)[..]);
        let mut both = word_both.into_bytes();
        if let Some(first) = both.first_mut() {
            *first = b'!';
        }
        let reply = StringsReply {
            word_out: text(&[b'w'; 16]),
            label_out: text(if word.is_empty() { b"" } else { b"label" }),
            word_both: text(&both),
            label_both: text(&[b'l'; 12]),
        };
        done(code, reply)
    }

    fn arrays(
        &mut self,
        server: Target,
        list: Vec<i32>,
        claim: i32,
        list_both: Vec<i32>,
        code: i32,
    ) -> Result<ArraysReply, Code> {
        self.begin("arrays", server);
        self.to.note("list", &list[..]);
        self.to.note("three", &[0i16; 3][..]);
        self.to.note("*list_outCnt", &10u32);
        self.to.note("list_both", &list_both[..]);
        // In C the count is said, whatever lies there. Here an array has as many elements as it says.
        let claim = usize::try_from(claim).unwrap_or(4096);
        let list_both = if claim > 5 && claim <= 10 { vec![0; 10] } else { list_both.iter().map(|n| n + 1).collect() };
        let list_out = (0..claim).map(|i| 100 + i as i32).collect();
        done(code, ArraysReply { three: [0, 7, 0], list_out, list_both })
    }

    fn room(&mut self, server: Target, claim: i32, list_room: u32) -> Result<RoomReply, Code> {
        self.begin("room", server);
        self.to.note("*listCnt", &list_room);
        let claim = usize::try_from(claim).unwrap_or(4096);
        Ok(RoomReply { list: (0..claim).map(|i| i as i32).collect(), told: list_room as i32 })
    }

    fn pairs(&mut self, server: Target, keys: Vec<i32>, values: Vec<i32>, code: i32) -> Result<PairsReply, Code> {
        self.begin("pairs", server);
        self.to.note("keys", &keys[..]);
        self.to.note("values", &values[..]);
        self.to.note("*keys_outCnt", &10u32);
        done(code, PairsReply { keys_out: values, values_out: keys })
    }

    fn many(&mut self, server: Target, list: Vec<i32>, code: i32) -> Result<Vec<i32>, Code> {
        self.begin("many", server);
        self.to.note("list", &list[..]);
        self.to.note("*list_outCnt", &20000u32);
        done(code, list.iter().map(|n| !n).collect())
    }

    fn moneys(&mut self, server: Target, one: Money, two: Money, code: i32) -> Result<MoneysReply<Money>, Code> {
        self.begin("moneys", server);
        self.to.note("one.more", &one.more);
        self.to.note("two->more", &two.more);
        self.to.note("three->more", &0i64);
        let reply = MoneysReply { two: Money { more: one.more, ..two }, three: Money { number: 0, more: one.more + two.more } };
        // What the destructor notes in C.
        self.to.note("money.number", &one.number);
        done(code, reply)
    }

    fn object(&mut self, server: i32) -> Result<i32, Code> {
        self.to.line("-- object");
        self.to.note("server", &server);
        self.to.note("object", &server);
        Ok(server)
    }

    fn tell(&mut self, server: Target, number: i32) -> Result<(), Code> {
        self.begin("tell", server);
        self.last = number;
        Ok(())
    }

    fn told(&mut self, server: Target) -> Result<i32, Code> {
        self.begin("told", server);
        Ok(self.last)
    }

    fn right(&mut self, server: Target, _right: Option<SendRight>) -> Result<i32, Code> {
        self.begin("right", server);
        Ok(5)
    }
}
