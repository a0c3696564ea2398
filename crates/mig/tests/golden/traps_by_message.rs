// The subsystem traps, made by mig. Do not edit: change the .defs file.

use slipway_mach::mig;
use std::ffi::{CStr, CString};

/// What `numbers` gives back.
#[derive(Debug)]
pub struct NumbersReply {
    /// `f`.
    pub f: i32,
    /// `g`.
    pub g: f64,
    /// `h`.
    pub h: i64,
}

/// What `records` gives back.
#[derive(Debug)]
pub struct RecordsReply {
    /// `two`.
    pub two: [i64; 3],
    /// `three`.
    pub three: [i64; 3],
    /// `list_out`.
    pub list_out: Vec<[i64; 3]>,
}

/// What `strings` gives back.
#[derive(Debug)]
pub struct StringsReply {
    /// `word_out`.
    pub word_out: CString,
    /// `label_out`.
    pub label_out: CString,
    /// `word_both`.
    pub word_both: CString,
    /// `label_both`.
    pub label_both: CString,
}

/// What `arrays` gives back.
#[derive(Debug)]
pub struct ArraysReply {
    /// `three`.
    pub three: [i16; 3],
    /// `list_out`.
    pub list_out: Vec<i32>,
    /// `list_both`.
    pub list_both: Vec<i32>,
}

/// What `room` gives back.
#[derive(Debug)]
pub struct RoomReply {
    /// `list`.
    pub list: Vec<i32>,
    /// `told`.
    pub told: i32,
}

/// What `pairs` gives back.
#[derive(Debug)]
pub struct PairsReply {
    /// `keys_out`.
    pub keys_out: Vec<i32>,
    /// `values_out`.
    pub values_out: Vec<i32>,
}

/// What `moneys` gives back.
#[derive(Debug)]
pub struct MoneysReply<Money = i32> {
    /// `two`.
    pub two: Money,
    /// `three`.
    pub three: Money,
}

/// A server of the subsystem traps: each of its routines is a method.
#[derive(Debug)]
pub struct Traps(pub mig::SendRight);

impl Traps {
    /// trap.defs:28, message 8000:
    /// `routine nothing(server: mach_port_t);`
    pub fn nothing(&self) -> Result<(), mig::Error> {
        let request = mig::Request::new(8000, "traps.nothing");
        request.call(&self.0, 48, |_| Ok(()))
    }

    /// trap.defs:31, message 8001:
    /// `routine numbers(server: mach_port_t; a: char; b: short; c: int; d: int64; e: double; out f:
    /// int; out g: double; inout h: int64; code: int);`
    #[allow(clippy::too_many_arguments)]
    pub fn numbers(
        &self,
        a: u8,
        b: i16,
        c: i32,
        d: i64,
        e: f64,
        h: i64,
        code: i32,
    ) -> Result<NumbersReply, mig::Error> {
        let mut request = mig::Request::new(8001, "traps.numbers");
        request.value(mig::CHAR, &a);
        request.value(mig::INTEGER_16, &b);
        request.value(mig::INTEGER_32, &c);
        request.value(mig::INTEGER_64, &d);
        request.value(mig::REAL_64, &e);
        request.value(mig::INTEGER_64, &h);
        request.value(mig::INTEGER_32, &code);
        request.call(&self.0, 96, |reply| {
            let f: i32 = reply.value(mig::INTEGER_32)?;
            let g: f64 = reply.value(mig::REAL_64)?;
            let h: i64 = reply.value(mig::INTEGER_64)?;
            Ok(NumbersReply { f, g, h })
        })
    }

    /// trap.defs:39, message 8002:
    /// `routine behind(number: int; server: mach_port_t; out doubled: int);`
    pub fn behind(&self, number: i32) -> Result<i32, mig::Error> {
        let mut request = mig::Request::new(8002, "traps.behind");
        request.value(mig::INTEGER_32, &number);
        request.call(&self.0, 64, |reply| {
            let doubled: i32 = reply.value(mig::INTEGER_32)?;
            Ok(doubled)
        })
    }

    /// trap.defs:44, message 8003:
    /// `routine records(server: mach_port_t; one: record_t; out two: record_t; inout three:
    /// record_t; list: records_t; out list_out: records_t; code: int);`
    pub fn records(
        &self,
        one: &[i64; 3],
        three: &[i64; 3],
        list: &[[i64; 3]],
        code: i32,
    ) -> Result<RecordsReply, mig::Error> {
        let mut request = mig::Request::new(8003, "traps.records");
        request.value(mig::INTEGER_64.times(3), one);
        request.value(mig::INTEGER_64.times(3), three);
        request.list(mig::INTEGER_64.times(3), 5, list);
        request.value(mig::INTEGER_32, &code);
        request.call(&self.0, 240, |reply| {
            let two: [i64; 3] = reply.value(mig::INTEGER_64.times(3))?;
            let three: [i64; 3] = reply.value(mig::INTEGER_64.times(3))?;
            let list_out: Vec<[i64; 3]> = reply.list(mig::INTEGER_64.times(3), 5)?;
            Ok(RecordsReply {
                two,
                three,
                list_out,
            })
        })
    }

    /// trap.defs:54, message 8004:
    /// `routine scribble(server: mach_port_t; three: three_t; list: ints_t; word: word_t; label:
    /// label_t; one: record_t);`
    pub fn scribble(
        &self,
        three: &[i16; 3],
        list: &[i32],
        word: &CStr,
        label: &CStr,
        one: &[i64; 3],
    ) -> Result<(), mig::Error> {
        let mut request = mig::Request::new(8004, "traps.scribble");
        request.value(mig::INTEGER_16.times(3), three);
        request.list(mig::INTEGER_32, 10, list);
        request.string(16, word);
        request.fixed_string(12, label);
        request.value(mig::INTEGER_64.times(3), one);
        request.call(&self.0, 48, |_| Ok(()))
    }

    /// trap.defs:63, message 8005:
    /// `routine lent(server: mach_port_t; three: three_t, const; list: ints_t, const; word: word_t,
    /// const; label: label_t, const; address: int64; out same: int);`
    pub fn lent(
        &self,
        three: &[i16; 3],
        list: &[i32],
        word: &CStr,
        label: &CStr,
        address: i64,
    ) -> Result<i32, mig::Error> {
        let mut request = mig::Request::new(8005, "traps.lent");
        request.value(mig::INTEGER_16.times(3), three);
        request.list(mig::INTEGER_32, 10, list);
        request.string(16, word);
        request.fixed_string(12, label);
        request.value(mig::INTEGER_64, &address);
        request.call(&self.0, 64, |reply| {
            let same: i32 = reply.value(mig::INTEGER_32)?;
            Ok(same)
        })
    }

    /// trap.defs:72, message 8006:
    /// `routine strings(server: mach_port_t; word: word_t; label: label_t; out word_out: word_t;
    /// out label_out: label_t; inout word_both: word_t; inout label_both: label_t; code: int);`
    pub fn strings(
        &self,
        word: &CStr,
        label: &CStr,
        word_both: &CStr,
        label_both: &CStr,
        code: i32,
    ) -> Result<StringsReply, mig::Error> {
        let mut request = mig::Request::new(8006, "traps.strings");
        request.string(16, word);
        request.fixed_string(12, label);
        request.string(16, word_both);
        request.fixed_string(12, label_both);
        request.value(mig::INTEGER_32, &code);
        request.call(&self.0, 144, |reply| {
            let word_out: CString = reply.string(16)?;
            let label_out: CString = reply.fixed_string(12)?;
            let word_both: CString = reply.string(16)?;
            let label_both: CString = reply.fixed_string(12)?;
            Ok(StringsReply {
                word_out,
                label_out,
                word_both,
                label_both,
            })
        })
    }

    /// trap.defs:83, message 8007:
    /// `routine arrays(server: mach_port_t; list: ints_t; claim: int; out three: three_t; out
    /// list_out: ints_t; inout list_both: ints_t; code: int);`
    pub fn arrays(
        &self,
        list: &[i32],
        claim: i32,
        list_both: &[i32],
        code: i32,
    ) -> Result<ArraysReply, mig::Error> {
        let mut request = mig::Request::new(8007, "traps.arrays");
        request.list(mig::INTEGER_32, 10, list);
        request.value(mig::INTEGER_32, &claim);
        request.list(mig::INTEGER_32, 10, list_both);
        request.value(mig::INTEGER_32, &code);
        request.call(&self.0, 160, |reply| {
            let three: [i16; 3] = reply.value(mig::INTEGER_16.times(3))?;
            let list_out: Vec<i32> = reply.list(mig::INTEGER_32, 10)?;
            let list_both: Vec<i32> = reply.list(mig::INTEGER_32, 10)?;
            Ok(ArraysReply {
                three,
                list_out,
                list_both,
            })
        })
    }

    /// trap.defs:92, message 8008:
    /// `routine room(server: mach_port_t; claim: int; out list: ints_t, countinout; out told:
    /// int);`
    pub fn room(&self, claim: i32, list_room: u32) -> Result<RoomReply, mig::Error> {
        let mut request = mig::Request::new(8008, "traps.room");
        request.value(mig::INTEGER_32, &claim);
        request.value(mig::INTEGER_32, &list_room);
        request.call(&self.0, 112, |reply| {
            let list: Vec<i32> = reply.list_within(mig::INTEGER_32, 10, list_room)?;
            let told: i32 = reply.value(mig::INTEGER_32)?;
            Ok(RoomReply { list, told })
        })
    }

    /// trap.defs:98, message 8009:
    /// `routine pairs(server: mach_port_t; keys: ints_t; values: ints_t, samecount; out keys_out:
    /// ints_t; out values_out: ints_t, samecount; code: int);`
    pub fn pairs(&self, keys: &[i32], values: &[i32], code: i32) -> Result<PairsReply, mig::Error> {
        let mut request = mig::Request::new(8009, "traps.pairs");
        request.list(mig::INTEGER_32, 10, keys);
        request.same_count(keys.len(), values.len());
        request.list(mig::INTEGER_32, 10, values);
        request.value(mig::INTEGER_32, &code);
        request.call(&self.0, 144, |reply| {
            let keys_out: Vec<i32> = reply.list(mig::INTEGER_32, 10)?;
            let values_out: Vec<i32> = reply.list(mig::INTEGER_32, 10)?;
            reply.same_count(keys_out.len(), values_out.len())?;
            Ok(PairsReply {
                keys_out,
                values_out,
            })
        })
    }

    /// trap.defs:107, message 8010:
    /// `routine many(server: mach_port_t; list: many_t; out list_out: many_t; code: int);`
    pub fn many(&self, list: &[i32], code: i32) -> Result<Vec<i32>, mig::Error> {
        let mut request = mig::Request::new(8010, "traps.many");
        request.list(mig::INTEGER_32, 20000, list);
        request.value(mig::INTEGER_32, &code);
        request.call(&self.0, 80056, |reply| {
            let list_out: Vec<i32> = reply.list(mig::INTEGER_32, 20000)?;
            Ok(list_out)
        })
    }

    /// trap.defs:113, message 8011:
    /// `routine moneys(server: mach_port_t; one: money_t; inout two: money_t; out three: money_t;
    /// code: int);`
    pub fn moneys(&self, one: i32, two: i32, code: i32) -> Result<MoneysReply, mig::Error> {
        let mut request = mig::Request::new(8011, "traps.moneys");
        request.value(mig::INTEGER_32, &one);
        request.value(mig::INTEGER_32, &two);
        request.value(mig::INTEGER_32, &code);
        request.call(&self.0, 80, |reply| {
            let two: i32 = reply.value(mig::INTEGER_32)?;
            let three: i32 = reply.value(mig::INTEGER_32)?;
            Ok(MoneysReply { two, three })
        })
    }

    /// trap.defs:121, message 8012:
    /// `routine object(server: object_t; out number: int);`
    pub fn object(&self) -> Result<i32, mig::Error> {
        let request = mig::Request::new(8012, "traps.object");
        request.call(&self.0, 64, |reply| {
            let number: i32 = reply.value(mig::INTEGER_32)?;
            Ok(number)
        })
    }

    /// trap.defs:126, message 8013:
    /// `simpleroutine tell(server: mach_port_t; number: int);`
    pub fn tell(&self, number: i32) -> Result<(), mig::Error> {
        let mut request = mig::Request::new(8013, "traps.tell");
        request.value(mig::INTEGER_32, &number);
        request.send(&self.0)
    }

    /// trap.defs:128, message 8014:
    /// `routine told(server: mach_port_t; out number: int);`
    pub fn told(&self) -> Result<i32, mig::Error> {
        let request = mig::Request::new(8014, "traps.told");
        request.call(&self.0, 64, |reply| {
            let number: i32 = reply.value(mig::INTEGER_32)?;
            Ok(number)
        })
    }

    /// trap.defs:130, message 8015:
    /// `routine right(server: mach_port_t; right: mach_port_make_send_t; out number: int);`
    pub fn right(&self, right: Option<&mig::ReceiveRight>) -> Result<i32, mig::Error> {
        let mut request = mig::Request::new(8015, "traps.right");
        request.right(mig::MAKE_SEND, right);
        request.call(&self.0, 64, |reply| {
            let number: i32 = reply.value(mig::INTEGER_32)?;
            Ok(number)
        })
    }
}

/// A server of the subsystem traps. An error that a routine returns is its caller's result.
pub trait TrapsServer {
    /// What C calls `int`. Who has one drops it: that is its `destructor`.
    type Int;

    /// What C calls `struct money`. Who has one drops it: that is its `destructor`.
    type Money;

    /// Translates what the message has, or is to have.
    fn money_of(&mut self, value: i32) -> Self::Money;

    /// Translates what the message has, or is to have.
    fn number_of(&mut self, value: Self::Money) -> i32;

    /// Translates what the message has, or is to have.
    fn object_of(&mut self, value: mig::Target) -> Self::Int;

    /// trap.defs:28, message 8000:
    /// `routine nothing(server: mach_port_t);`
    fn nothing(&mut self, server: mig::Target) -> Result<(), mig::Code>;

    /// trap.defs:31, message 8001:
    /// `routine numbers(server: mach_port_t; a: char; b: short; c: int; d: int64; e: double; out f:
    /// int; out g: double; inout h: int64; code: int);`
    #[allow(clippy::too_many_arguments)]
    fn numbers(
        &mut self,
        server: mig::Target,
        a: u8,
        b: i16,
        c: i32,
        d: i64,
        e: f64,
        h: i64,
        code: i32,
    ) -> Result<NumbersReply, mig::Code>;

    /// trap.defs:39, message 8002:
    /// `routine behind(number: int; server: mach_port_t; out doubled: int);`
    fn behind(&mut self, number: i32, server: mig::Target) -> Result<i32, mig::Code>;

    /// trap.defs:44, message 8003:
    /// `routine records(server: mach_port_t; one: record_t; out two: record_t; inout three:
    /// record_t; list: records_t; out list_out: records_t; code: int);`
    fn records(
        &mut self,
        server: mig::Target,
        one: [i64; 3],
        three: [i64; 3],
        list: Vec<[i64; 3]>,
        code: i32,
    ) -> Result<RecordsReply, mig::Code>;

    /// trap.defs:54, message 8004:
    /// `routine scribble(server: mach_port_t; three: three_t; list: ints_t; word: word_t; label:
    /// label_t; one: record_t);`
    fn scribble(
        &mut self,
        server: mig::Target,
        three: [i16; 3],
        list: Vec<i32>,
        word: CString,
        label: CString,
        one: [i64; 3],
    ) -> Result<(), mig::Code>;

    /// trap.defs:63, message 8005:
    /// `routine lent(server: mach_port_t; three: three_t, const; list: ints_t, const; word: word_t,
    /// const; label: label_t, const; address: int64; out same: int);`
    fn lent(
        &mut self,
        server: mig::Target,
        three: [i16; 3],
        list: Vec<i32>,
        word: CString,
        label: CString,
        address: i64,
    ) -> Result<i32, mig::Code>;

    /// trap.defs:72, message 8006:
    /// `routine strings(server: mach_port_t; word: word_t; label: label_t; out word_out: word_t;
    /// out label_out: label_t; inout word_both: word_t; inout label_both: label_t; code: int);`
    fn strings(
        &mut self,
        server: mig::Target,
        word: CString,
        label: CString,
        word_both: CString,
        label_both: CString,
        code: i32,
    ) -> Result<StringsReply, mig::Code>;

    /// trap.defs:83, message 8007:
    /// `routine arrays(server: mach_port_t; list: ints_t; claim: int; out three: three_t; out
    /// list_out: ints_t; inout list_both: ints_t; code: int);`
    fn arrays(
        &mut self,
        server: mig::Target,
        list: Vec<i32>,
        claim: i32,
        list_both: Vec<i32>,
        code: i32,
    ) -> Result<ArraysReply, mig::Code>;

    /// trap.defs:92, message 8008:
    /// `routine room(server: mach_port_t; claim: int; out list: ints_t, countinout; out told:
    /// int);`
    fn room(
        &mut self,
        server: mig::Target,
        claim: i32,
        list_room: u32,
    ) -> Result<RoomReply, mig::Code>;

    /// trap.defs:98, message 8009:
    /// `routine pairs(server: mach_port_t; keys: ints_t; values: ints_t, samecount; out keys_out:
    /// ints_t; out values_out: ints_t, samecount; code: int);`
    fn pairs(
        &mut self,
        server: mig::Target,
        keys: Vec<i32>,
        values: Vec<i32>,
        code: i32,
    ) -> Result<PairsReply, mig::Code>;

    /// trap.defs:107, message 8010:
    /// `routine many(server: mach_port_t; list: many_t; out list_out: many_t; code: int);`
    fn many(
        &mut self,
        server: mig::Target,
        list: Vec<i32>,
        code: i32,
    ) -> Result<Vec<i32>, mig::Code>;

    /// trap.defs:113, message 8011:
    /// `routine moneys(server: mach_port_t; one: money_t; inout two: money_t; out three: money_t;
    /// code: int);`
    fn moneys(
        &mut self,
        server: mig::Target,
        one: Self::Money,
        two: Self::Money,
        code: i32,
    ) -> Result<MoneysReply<Self::Money>, mig::Code>;

    /// trap.defs:121, message 8012:
    /// `routine object(server: object_t; out number: int);`
    fn object(&mut self, server: Self::Int) -> Result<i32, mig::Code>;

    /// trap.defs:126, message 8013:
    /// `simpleroutine tell(server: mach_port_t; number: int);`
    fn tell(&mut self, server: mig::Target, number: i32) -> Result<(), mig::Code>;

    /// trap.defs:128, message 8014:
    /// `routine told(server: mach_port_t; out number: int);`
    fn told(&mut self, server: mig::Target) -> Result<i32, mig::Code>;

    /// trap.defs:130, message 8015:
    /// `routine right(server: mach_port_t; right: mach_port_make_send_t; out number: int);`
    fn right(
        &mut self,
        server: mig::Target,
        right: Option<mig::SendRight>,
    ) -> Result<i32, mig::Code>;
}

/// Serves a request, and makes the answer, which is to be sent.
///
/// # Errors
/// The request itself, if no routine has its identifier.
pub fn demux<S: TrapsServer + ?Sized>(server: &mut S, request: mig::Received) -> mig::Served {
    let routine: mig::Routine<S> = match request.id() {
        8000 => serve_nothing,
        8001 => serve_numbers,
        8002 => serve_behind,
        8003 => serve_records,
        8004 => serve_scribble,
        8005 => serve_lent,
        8006 => serve_strings,
        8007 => serve_arrays,
        8008 => serve_room,
        8009 => serve_pairs,
        8010 => serve_many,
        8011 => serve_moneys,
        8012 => serve_object,
        8013 => serve_tell,
        8014 => serve_told,
        8015 => serve_right,
        _ => return Err(Box::new(request)),
    };
    Ok(mig::answer(request, server, routine))
}

fn serve_nothing<S: TrapsServer + ?Sized>(
    server: &mut S,
    request: &mut mig::Reader,
    _reply: &mut mig::Writer<'static>,
) -> Result<(), mig::Code> {
    request.finish()?;
    server.nothing(request.target())
}

fn serve_numbers<S: TrapsServer + ?Sized>(
    server: &mut S,
    request: &mut mig::Reader,
    reply: &mut mig::Writer<'static>,
) -> Result<(), mig::Code> {
    let a: u8 = request.value(mig::CHAR)?;
    let b: i16 = request.value(mig::INTEGER_16)?;
    let c: i32 = request.value(mig::INTEGER_32)?;
    let d: i64 = request.value(mig::INTEGER_64)?;
    let e: f64 = request.value(mig::REAL_64)?;
    let h: i64 = request.value(mig::INTEGER_64)?;
    let code: i32 = request.value(mig::INTEGER_32)?;
    request.finish()?;
    let out = server.numbers(request.target(), a, b, c, d, e, h, code)?;
    reply.value(mig::INTEGER_32, &out.f);
    reply.value(mig::REAL_64, &out.g);
    reply.value(mig::INTEGER_64, &out.h);
    Ok(())
}

fn serve_behind<S: TrapsServer + ?Sized>(
    server: &mut S,
    request: &mut mig::Reader,
    reply: &mut mig::Writer<'static>,
) -> Result<(), mig::Code> {
    let number: i32 = request.value(mig::INTEGER_32)?;
    request.finish()?;
    let doubled = server.behind(number, request.target())?;
    reply.value(mig::INTEGER_32, &doubled);
    Ok(())
}

fn serve_records<S: TrapsServer + ?Sized>(
    server: &mut S,
    request: &mut mig::Reader,
    reply: &mut mig::Writer<'static>,
) -> Result<(), mig::Code> {
    let one: [i64; 3] = request.value(mig::INTEGER_64.times(3))?;
    let three: [i64; 3] = request.value(mig::INTEGER_64.times(3))?;
    let list: Vec<[i64; 3]> = request.list(mig::INTEGER_64.times(3), 5)?;
    let code: i32 = request.value(mig::INTEGER_32)?;
    request.finish()?;
    let out = server.records(request.target(), one, three, list, code)?;
    reply.value(mig::INTEGER_64.times(3), &out.two);
    reply.value(mig::INTEGER_64.times(3), &out.three);
    reply.list(mig::INTEGER_64.times(3), 5, &out.list_out);
    Ok(())
}

fn serve_scribble<S: TrapsServer + ?Sized>(
    server: &mut S,
    request: &mut mig::Reader,
    _reply: &mut mig::Writer<'static>,
) -> Result<(), mig::Code> {
    let three: [i16; 3] = request.value(mig::INTEGER_16.times(3))?;
    let list: Vec<i32> = request.list(mig::INTEGER_32, 10)?;
    let word: CString = request.string(16)?;
    let label: CString = request.fixed_string(12)?;
    let one: [i64; 3] = request.value(mig::INTEGER_64.times(3))?;
    request.finish()?;
    server.scribble(request.target(), three, list, word, label, one)
}

fn serve_lent<S: TrapsServer + ?Sized>(
    server: &mut S,
    request: &mut mig::Reader,
    reply: &mut mig::Writer<'static>,
) -> Result<(), mig::Code> {
    let three: [i16; 3] = request.value(mig::INTEGER_16.times(3))?;
    let list: Vec<i32> = request.list(mig::INTEGER_32, 10)?;
    let word: CString = request.string(16)?;
    let label: CString = request.fixed_string(12)?;
    let address: i64 = request.value(mig::INTEGER_64)?;
    request.finish()?;
    let same = server.lent(request.target(), three, list, word, label, address)?;
    reply.value(mig::INTEGER_32, &same);
    Ok(())
}

fn serve_strings<S: TrapsServer + ?Sized>(
    server: &mut S,
    request: &mut mig::Reader,
    reply: &mut mig::Writer<'static>,
) -> Result<(), mig::Code> {
    let word: CString = request.string(16)?;
    let label: CString = request.fixed_string(12)?;
    let word_both: CString = request.string(16)?;
    let label_both: CString = request.fixed_string(12)?;
    let code: i32 = request.value(mig::INTEGER_32)?;
    request.finish()?;
    let out = server.strings(request.target(), word, label, word_both, label_both, code)?;
    reply.string(16, &out.word_out);
    reply.fixed_string(12, &out.label_out);
    reply.string(16, &out.word_both);
    reply.fixed_string(12, &out.label_both);
    Ok(())
}

fn serve_arrays<S: TrapsServer + ?Sized>(
    server: &mut S,
    request: &mut mig::Reader,
    reply: &mut mig::Writer<'static>,
) -> Result<(), mig::Code> {
    let list: Vec<i32> = request.list(mig::INTEGER_32, 10)?;
    let claim: i32 = request.value(mig::INTEGER_32)?;
    let list_both: Vec<i32> = request.list(mig::INTEGER_32, 10)?;
    let code: i32 = request.value(mig::INTEGER_32)?;
    request.finish()?;
    let out = server.arrays(request.target(), list, claim, list_both, code)?;
    reply.value(mig::INTEGER_16.times(3), &out.three);
    reply.list(mig::INTEGER_32, 10, &out.list_out);
    reply.list(mig::INTEGER_32, 10, &out.list_both);
    Ok(())
}

fn serve_room<S: TrapsServer + ?Sized>(
    server: &mut S,
    request: &mut mig::Reader,
    reply: &mut mig::Writer<'static>,
) -> Result<(), mig::Code> {
    let claim: i32 = request.value(mig::INTEGER_32)?;
    let list_room: u32 = request.value(mig::INTEGER_32)?;
    let list_room = list_room.min(10);
    request.finish()?;
    let out = server.room(request.target(), claim, list_room)?;
    reply.list(mig::INTEGER_32, 10, &out.list);
    reply.value(mig::INTEGER_32, &out.told);
    Ok(())
}

fn serve_pairs<S: TrapsServer + ?Sized>(
    server: &mut S,
    request: &mut mig::Reader,
    reply: &mut mig::Writer<'static>,
) -> Result<(), mig::Code> {
    let keys: Vec<i32> = request.list(mig::INTEGER_32, 10)?;
    let values: Vec<i32> = request.list(mig::INTEGER_32, 10)?;
    request.same_count(keys.len(), values.len())?;
    let code: i32 = request.value(mig::INTEGER_32)?;
    request.finish()?;
    let out = server.pairs(request.target(), keys, values, code)?;
    reply.list(mig::INTEGER_32, 10, &out.keys_out);
    reply.same_count(out.keys_out.len(), out.values_out.len());
    reply.list(mig::INTEGER_32, 10, &out.values_out);
    Ok(())
}

fn serve_many<S: TrapsServer + ?Sized>(
    server: &mut S,
    request: &mut mig::Reader,
    reply: &mut mig::Writer<'static>,
) -> Result<(), mig::Code> {
    let list: Vec<i32> = request.list(mig::INTEGER_32, 20000)?;
    let code: i32 = request.value(mig::INTEGER_32)?;
    request.finish()?;
    let list_out = server.many(request.target(), list, code)?;
    reply.list(mig::INTEGER_32, 20000, &list_out);
    Ok(())
}

fn serve_moneys<S: TrapsServer + ?Sized>(
    server: &mut S,
    request: &mut mig::Reader,
    reply: &mut mig::Writer<'static>,
) -> Result<(), mig::Code> {
    let one: i32 = request.value(mig::INTEGER_32)?;
    let two: i32 = request.value(mig::INTEGER_32)?;
    let code: i32 = request.value(mig::INTEGER_32)?;
    request.finish()?;
    let one = server.money_of(one);
    let two = server.money_of(two);
    let out = server.moneys(request.target(), one, two, code)?;
    let two_value = server.number_of(out.two);
    reply.value(mig::INTEGER_32, &two_value);
    let three_value = server.number_of(out.three);
    reply.value(mig::INTEGER_32, &three_value);
    Ok(())
}

fn serve_object<S: TrapsServer + ?Sized>(
    server: &mut S,
    request: &mut mig::Reader,
    reply: &mut mig::Writer<'static>,
) -> Result<(), mig::Code> {
    request.finish()?;
    let target = server.object_of(request.target());
    let number = server.object(target)?;
    reply.value(mig::INTEGER_32, &number);
    Ok(())
}

fn serve_tell<S: TrapsServer + ?Sized>(
    server: &mut S,
    request: &mut mig::Reader,
    _reply: &mut mig::Writer<'static>,
) -> Result<(), mig::Code> {
    let number: i32 = request.value(mig::INTEGER_32)?;
    request.finish()?;
    server.tell(request.target(), number)
}

fn serve_told<S: TrapsServer + ?Sized>(
    server: &mut S,
    request: &mut mig::Reader,
    reply: &mut mig::Writer<'static>,
) -> Result<(), mig::Code> {
    request.finish()?;
    let number = server.told(request.target())?;
    reply.value(mig::INTEGER_32, &number);
    Ok(())
}

fn serve_right<S: TrapsServer + ?Sized>(
    server: &mut S,
    request: &mut mig::Reader,
    reply: &mut mig::Writer<'static>,
) -> Result<(), mig::Code> {
    let right: Option<mig::SendRight> = request.right()?;
    request.finish()?;
    let number = server.right(request.target(), right)?;
    reply.value(mig::INTEGER_32, &number);
    Ok(())
}
