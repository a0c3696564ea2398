//! The client of trap.defs: what trap_client.c does, in the same words.

use super::traps::Traps;
use crate::transcript::Transcript;
use slipway_mach::mig::{Error, ReceiveRight};
use std::ffi::{CStr, CString};

const CODES: [i32; 4] = [0, 5, 1234, -300];
/// What fills memory of the caller's in C.
const UNTOUCHED: i32 = 0x6f6f_6f6f;

/// The code that a stub in C would have returned.
fn code<T>(result: &Result<T, Error>) -> i32 {
    result.as_ref().map_or_else(|error| error.code.0, |_| 0)
}

fn record(number: i64) -> [i64; 3] {
    [number as u8 as i64, 1000 + number, i64::from(-number as u32)]
}

struct Client<'a> {
    server: &'a Traps,
    to: Transcript,
    lent: i32,
}

impl Client<'_> {
    fn result<T>(&mut self, routine: &str, result: &Result<T, Error>) {
        self.to.line(format_args!("-- {routine}: {}", code(result)));
        crate::disturb(self.server.0.name());
    }

    fn numbers(&mut self) {
        let result = self.server.nothing();
        self.result("nothing", &result);
        for code in CODES {
            let (mut f, mut g, mut h) = (0x5a5a_5a5a, 5.5, 1i64 << 50);
            let result = self.server.numbers(b'a', -2, 3, i64::MIN + 5, 2.25, h, code);
            self.result("numbers", &result);
            if let Ok(reply) = result {
                (f, g, h) = (reply.f, reply.g, reply.h);
            }
            self.to.note("f", &f);
            self.to.note("g", &g);
            self.to.note("h", &h);
            let result = self.server.behind(code);
            self.result("behind", &result);
            self.to.note("f", &result.unwrap_or(1));
        }
    }

    fn records(&mut self) {
        for code in CODES {
            let (one, mut two, mut three) = (record(1), record(2), record(3));
            let list: Vec<_> = (10..16).map(record).collect();
            let mut back = list.clone();
            for n in 0..=6 {
                let mut count = 77;
                let result = self.server.records(&one, &three, &list[..n], code);
                self.result("records", &result);
                if let Ok(reply) = result {
                    (two, three, count) = (reply.two, reply.three, reply.list_out.len() as u32);
                    back[..reply.list_out.len()].copy_from_slice(&reply.list_out);
                }
                for (what, record) in [("one", &one), ("two", &two), ("three", &three)] {
                    self.to.record(what, record);
                }
                self.to.note("count", &count);
                for (list, back) in list.iter().zip(&back) {
                    self.to.record("list[k]", list);
                    self.to.record("back[k]", back);
                }
            }
        }
    }

    fn inputs(&mut self) {
        let words = [c"", c"word", c"fifteen letters", c"sixteen letters.", c"much longer than the room for it"];
        let (three, one) = ([1, -2, 3], record(4));
        let list: Vec<i32> = (1..=11).collect();
        for (i, word) in words.into_iter().enumerate() {
            let long: Vec<i32> = (1..=12).collect();
            let result = self.server.scribble(&three, &long[..3 * i], word, word, &one);
            self.result("scribble", &result);
            self.to.note("three", &three[..]);
            self.to.note("list", &list[..]);
            self.to.text("word", word);
            self.to.record("one", &one);
            let address = list.as_ptr().addr() as i64;
            let result = self.server.lent(&three, &list[..4], word, word, address);
            self.result("lent", &result);
            self.lent += result.unwrap_or(0);
            self.to.note("list", &list[..]);
            self.to.text("word", word);
        }
        let result = self.server.lent(&three, &[], c"", c"", 1);
        self.result("lent", &result);
        let result = self.server.scribble(&three, &[], c"", c"", &one);
        self.result("scribble", &result);
    }

    fn strings(&mut self) {
        for word in [c"", c"eleven lett", c"twelve lette", c"a string longer than any room"] {
            for code in CODES {
                let result = self.server.strings(word, word, word, word, code);
                self.result("strings", &result);
                let rooms = [("word_out", 16), ("label_out", 12), ("word_both", 16), ("label_both", 12)];
                let mut notes: Vec<Vec<u8>> = Vec::new();
                match result {
                    Ok(reply) => {
                        let texts = [reply.word_out, reply.label_out, reply.word_both, reply.label_both];
                        for ((what, size), text) in rooms.into_iter().zip(&texts) {
                            self.to.text(what, text);
                            // Up to the limit anything may be behind the NUL.
                            let both = what.ends_with("both");
                            notes.push(memory(size, if both { Some(word) } else { None }, both));
                        }
                    }
                    Err(_) => {
                        for (what, _) in rooms {
                            let both = what.ends_with("both");
                            notes.push(memory(0, if both { Some(word) } else { None }, both));
                        }
                    }
                }
                for ((what, _), bytes) in rooms.into_iter().zip(notes) {
                    self.to.note(what, &bytes[..]);
                }
            }
        }
    }

    fn arrays(&mut self) {
        for (i, claim) in [0, 3, 9, 10, 11, -1].into_iter().enumerate() {
            for (k, code) in CODES.into_iter().enumerate() {
                let list: Vec<i32> = (1..=14).collect();
                let (mut three, mut out, mut both) = ([4i16, 5, 6], [UNTOUCHED; 12], [0x6262_6262; 12]);
                let (mut out_count, mut both_count) = (77, i as u32 * 2);
                let result = self.server.arrays(&list[..k * 3 + i], claim, &both[..i * 2], code);
                self.result("arrays", &result);
                if let Ok(reply) = result {
                    three = reply.three;
                    put(&mut out, &mut out_count, &reply.list_out);
                    put(&mut both, &mut both_count, &reply.list_both);
                }
                self.to.note("list", &list[..11]);
                self.to.note("three", &three[..]);
                self.to.note("out", &out[..]);
                self.to.note("out_count", &out_count);
                self.to.note("both", &both[..]);
                self.to.note("both_count", &both_count);
                both_count = 4;
                let result = self.server.arrays(&both[..4], 4, &both[..4], code);
                self.result("arrays", &result);
                if let Ok(reply) = result {
                    put(&mut both, &mut out_count, &reply.list_out);
                    put(&mut both, &mut both_count, &reply.list_both);
                }
                self.to.note("both", &both[..]);
                self.to.note("out_count", &out_count);
                self.to.note("both_count", &both_count);
            }
        }
        for claim in [0, 3, 9, 10, 11, -1] {
            for room in (0..13).step_by(3) {
                let (mut list, mut count, mut told) = ([0x6c6c_6c6c; 12], room, 0);
                let result = self.server.room(claim, room);
                self.result("room", &result);
                if let Ok(reply) = result {
                    put(&mut list, &mut count, &reply.list);
                    told = reply.told;
                }
                self.to.note("list", &list[..]);
                self.to.note("count", &count);
                self.to.note("told", &told);
            }
        }
        for i in 0..12 {
            let (keys, values): (Vec<i32>, _) = ((1..=12).collect(), [0x7676_7676; 12]);
            let (mut keys_out, mut values_out, mut count) = ([0x6b6b_6b6b; 12], values, 77);
            let result = self.server.pairs(&keys[..i], &values[..i], CODES[i % 2]);
            self.result("pairs", &result);
            if let Ok(reply) = result {
                put(&mut keys_out, &mut count, &reply.keys_out);
                put(&mut values_out, &mut count, &reply.values_out);
            }
            self.to.note("keys", &keys[..]);
            self.to.note("values", &values[..]);
            self.to.note("keys_out", &keys_out[..]);
            self.to.note("values_out", &values_out[..]);
            self.to.note("count", &count);
        }
    }

    fn many(&mut self) {
        let list: Vec<i32> = (0..20001).collect();
        let mut out = vec![0; 20001];
        for n in (0..=20001).step_by(20001 / 3) {
            let mut count = 1;
            let result = self.server.many(&list[..n], if n == 6667 { 5 } else { 0 });
            self.result("many", &result);
            if let Ok(reply) = result {
                put(&mut out, &mut count, &reply);
            }
            self.to.note("list", &list[..]);
            self.to.note("out", &out[..]);
            self.to.note("count", &count);
        }
    }

    fn conversions(&mut self) {
        for code in CODES {
            let result = self.server.moneys(10, 20, code);
            self.result("moneys", &result);
            let (two, three) = result.map_or((20, 30), |reply| (reply.two, reply.three));
            self.to.note("two", &two);
            self.to.note("three", &three);
            let result = self.server.object();
            self.result("object", &result);
            self.to.note("three", &result.unwrap_or(9));
        }
    }

    fn messages(&mut self) {
        let result = self.server.tell(9);
        self.result("tell", &result);
        let mut number = 0;
        let result = self.server.told();
        self.result("told", &result);
        number = result.unwrap_or(number);
        self.to.note("number", &number);
        let port = ReceiveRight::new();
        self.result("allocate", &port);
        let result = self.server.right(port.as_ref().ok());
        self.result("right", &result);
        self.to.note("number", &result.unwrap_or(number));
        drop(port);
        self.result("destroy", &Ok(()));
    }
}

/// What came back in an array, where C has it.
fn put(to: &mut [i32], count: &mut u32, from: &[i32]) {
    to[..from.len()].copy_from_slice(from);
    *count = from.len() as u32;
}

/// Forty bytes that C has for a string, of which the first `wiped` were written over.
fn memory(wiped: usize, text: Option<&CStr>, both: bool) -> Vec<u8> {
    let mut bytes = vec![if both { b'b' } else { b'o' }; 40];
    let text = text.map(|text| CString::from(text).into_bytes_with_nul()).unwrap_or_default();
    bytes[..text.len()].copy_from_slice(&text);
    bytes[..wiped].fill(b'o');
    bytes
}

/// Calls every routine. How often the server had the caller's own array.
pub fn check(server: &Traps, to: Transcript) -> i32 {
    let mut client = Client { server, to, lent: 0 };
    client.numbers();
    client.records();
    client.inputs();
    client.strings();
    client.arrays();
    client.many();
    client.conversions();
    client.messages();
    client.lent
}
