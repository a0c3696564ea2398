// The subsystem sampler, made by mig. Do not edit: change the .defs file.

use slipway_ports::mig;
use std::ffi::{CStr, CString};
use std::time::Duration;

/// `record_t`, of 24 bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Record {
    /// At byte 0.
    pub tag: u8,
    /// At byte 8.
    pub big: u64,
    /// At byte 16.
    pub small: i32,
}

impl mig::Plain for Record {
    const SIZE: usize = 24;

    fn load(from: &[u8]) -> Self {
        Self {
            tag: mig::field(from, 0),
            big: mig::field(from, 8),
            small: mig::field(from, 16),
        }
    }

    fn store(&self, to: &mut [u8]) {
        mig::set_field(to, 0, &self.tag);
        mig::set_field(to, 8, &self.big);
        mig::set_field(to, 16, &self.small);
    }
}

/// What `four` gives back.
#[derive(Debug)]
pub struct FourReply {
    /// `w`.
    pub w: i32,
    /// `x`.
    pub x: i32,
    /// `y`.
    pub y: i32,
    /// `z`.
    pub z: i32,
}

/// What `sizes` gives back.
#[derive(Debug)]
pub struct SizesReply {
    /// `a`.
    pub a: u8,
    /// `b`.
    pub b: i16,
    /// `c`.
    pub c: i64,
    /// `d`.
    pub d: bool,
    /// `e`.
    pub e: f64,
}

/// What `strings` gives back.
#[derive(Debug)]
pub struct StringsReply {
    /// `word_out`.
    pub word_out: CString,
    /// `label_out`.
    pub label_out: CString,
    /// `old_out`.
    pub old_out: CString,
    /// `both`.
    pub both: CString,
}

/// What `structures` gives back.
#[derive(Debug)]
pub struct StructuresReply {
    /// `pair_out`.
    pub pair_out: [i16; 2],
    /// `record`.
    pub record: Record,
    /// `list_out`.
    pub list_out: Vec<Record>,
}

/// What `arrays` gives back.
#[derive(Debug)]
pub struct ArraysReply {
    /// `four_out`.
    pub four_out: [i32; 4],
    /// `bytes_out`.
    pub bytes_out: Vec<u8>,
    /// `sum`.
    pub sum: i64,
    /// `both`.
    pub both: Vec<i32>,
    /// `last`.
    pub last: i32,
}

/// What `room` gives back.
#[derive(Debug)]
pub struct RoomReply {
    /// `list`.
    pub list: Vec<i32>,
    /// `told`.
    pub told: u32,
}

/// What `unlimited` gives back.
#[derive(Debug)]
pub struct UnlimitedReply {
    /// `where`.
    pub r#where: u32,
    /// `list_out`.
    pub list_out: mig::Array<i32>,
}

/// What `out_of_line` gives back.
#[derive(Debug)]
pub struct OutOfLineReply {
    /// `sum`.
    pub sum: i64,
    /// `list_out`.
    pub list_out: mig::Array<i32>,
}

/// What `ports` gives back.
#[derive(Debug)]
pub struct PortsReply {
    /// `copy_out`.
    pub copy_out: Option<mig::SendRight>,
    /// `made_out`.
    pub made_out: Option<mig::SendRight>,
    /// `any_out`.
    pub any_out: mig::AnyRight,
}

/// What `port_arrays` gives back.
#[derive(Debug)]
pub struct PortArraysReply {
    /// `some_out`.
    pub some_out: Vec<Option<mig::SendRight>>,
    /// `far_out`.
    pub far_out: Vec<Option<mig::SendRight>>,
    /// `either_out`.
    pub either_out: Vec<Option<mig::SendRight>>,
}

/// What `accounts` gives back.
#[derive(Debug)]
pub struct AccountsReply<Account = i32> {
    /// `other`.
    pub other: Account,
    /// `third`.
    pub third: Account,
}

/// What `both_ways` gives back.
#[derive(Debug)]
pub struct BothWaysReply {
    /// `list`.
    pub list: mig::Array<i32>,
    /// `words`.
    pub words: Vec<u8>,
}

/// What `numbers` gives back.
#[derive(Debug)]
pub struct NumbersReply {
    /// `real`.
    pub real: f32,
    /// `tiny`.
    pub tiny: i8,
    /// `byte`.
    pub byte: u8,
    /// `half`.
    pub half: u16,
    /// `word`.
    pub word: u32,
    /// `wide`.
    pub wide: u64,
    /// `flags_out`.
    pub flags_out: Vec<bool>,
    /// `big`.
    pub big: Box<[i32; 2000]>,
}

/// What `moves` gives back.
#[derive(Debug)]
pub struct MovesReply {
    /// `send_out`.
    pub send_out: Option<mig::SendRight>,
    /// `once_out`.
    pub once_out: Option<mig::SendOnceRight>,
    /// `receive_out`.
    pub receive_out: Option<mig::ReceiveRight>,
    /// `both`.
    pub both: Option<mig::SendRight>,
    /// `said_out`.
    pub said_out: Option<mig::SendRight>,
    /// `watches`.
    pub watches: bool,
}

/// What `far_things` gives back.
#[derive(Debug)]
pub struct FarThingsReply {
    /// `record_out`.
    pub record_out: Record,
    /// `list_out`.
    pub list_out: mig::Array<Record>,
    /// `any_out`.
    pub any_out: mig::Array<Record>,
    /// `there`.
    pub there: u32,
}

/// A server of the subsystem sampler: each of its routines is a method.
#[derive(Debug)]
pub struct Sampler(pub mig::SendRight);

impl Sampler {
    /// sampler.defs:56, message 7000:
    /// `routine null(server: mach_port_t);`
    pub fn null(&self) -> Result<(), mig::Error> {
        let request = mig::Request::new(7000, "sampler.null");
        request.call(&self.0, 48, |_| Ok(()))
    }

    /// sampler.defs:59, message 7001:
    /// `routine four(server: mach_port_t; a: int; b: int; c: int; d: int; out w: int; out x: int;
    /// out y: int; out z: int);`
    pub fn four(&self, a: i32, b: i32, c: i32, d: i32) -> Result<FourReply, mig::Error> {
        let mut request = mig::Request::new(7001, "sampler.four");
        request.value(mig::INTEGER_32, &a);
        request.value(mig::INTEGER_32, &b);
        request.value(mig::INTEGER_32, &c);
        request.value(mig::INTEGER_32, &d);
        request.call(&self.0, 112, |reply| {
            let w: i32 = reply.value(mig::INTEGER_32)?;
            let x: i32 = reply.value(mig::INTEGER_32)?;
            let y: i32 = reply.value(mig::INTEGER_32)?;
            let z: i32 = reply.value(mig::INTEGER_32)?;
            Ok(FourReply { w, x, y, z })
        })
    }

    /// sampler.defs:64, message 7002:
    /// `routine sizes(requestport server: mach_port_t; inout a: char; inout b: short; inout c:
    /// int64; inout d: boolean_t; inout e: double);`
    pub fn sizes(&self, a: u8, b: i16, c: i64, d: bool, e: f64) -> Result<SizesReply, mig::Error> {
        let mut request = mig::Request::new(7002, "sampler.sizes");
        request.value(mig::CHAR, &a);
        request.value(mig::INTEGER_16, &b);
        request.value(mig::INTEGER_64, &c);
        request.value(mig::BOOLEAN, &d);
        request.value(mig::REAL_64, &e);
        request.call(&self.0, 128, |reply| {
            let a: u8 = reply.value(mig::CHAR)?;
            let b: i16 = reply.value(mig::INTEGER_16)?;
            let c: i64 = reply.value(mig::INTEGER_64)?;
            let d: bool = reply.value(mig::BOOLEAN)?;
            let e: f64 = reply.value(mig::REAL_64)?;
            Ok(SizesReply { a, b, c, d, e })
        })
    }

    /// sampler.defs:74, message 7004:
    /// `routine strings(server: mach_port_t; word: word_t; label: label_t; old: old_string_t; out
    /// word_out: word_t; out label_out: label_t; out old_out: old_string_t; inout both: word_t);`
    pub fn strings(
        &self,
        word: &CStr,
        label: &CStr,
        old: &CStr,
        both: &CStr,
    ) -> Result<StringsReply, mig::Error> {
        let mut request = mig::Request::new(7004, "sampler.strings");
        request.string(64, word);
        request.fixed_string(16, label);
        request.unit_string(24, old);
        request.string(64, both);
        request.call(&self.0, 248, |reply| {
            let word_out: CString = reply.string(64)?;
            let label_out: CString = reply.fixed_string(16)?;
            let old_out: CString = reply.unit_string(24)?;
            let both: CString = reply.string(64)?;
            Ok(StringsReply {
                word_out,
                label_out,
                old_out,
                both,
            })
        })
    }

    /// sampler.defs:84, message 7005:
    /// `routine structures(server: mach_port_t; pair: short_pair_t; out pair_out: short_pair_t;
    /// inout record: record_t; list: record_array_t; out list_out: record_array_t);`
    pub fn structures(
        &self,
        pair: &[i16; 2],
        record: &Record,
        list: &[Record],
    ) -> Result<StructuresReply, mig::Error> {
        let mut request = mig::Request::new(7005, "sampler.structures");
        request.value(mig::INTEGER_16.times(2), pair);
        request.value(mig::BYTE.times(24), record);
        request.list(mig::BYTE.times(24), 8, list);
        request.call(&self.0, 296, |reply| {
            let pair_out: [i16; 2] = reply.value(mig::INTEGER_16.times(2))?;
            let record: Record = reply.value(mig::BYTE.times(24))?;
            let list_out: Vec<Record> = reply.list(mig::BYTE.times(24), 8)?;
            Ok(StructuresReply {
                pair_out,
                record,
                list_out,
            })
        })
    }

    /// sampler.defs:93, message 7006:
    /// `routine arrays(server: mach_port_t; four: four_ints_t; bytes: bytes_t; add: int; more:
    /// ints_t; out four_out: four_ints_t; out bytes_out: bytes_t; out sum: int64; inout both:
    /// ints_t; out last: int);`
    pub fn arrays(
        &self,
        four: &[i32; 4],
        bytes: &[u8],
        add: i32,
        more: &[i32],
        both: &[i32],
    ) -> Result<ArraysReply, mig::Error> {
        let mut request = mig::Request::new(7006, "sampler.arrays");
        request.value(mig::INTEGER_32.times(4), four);
        request.list(mig::CHAR, 100, bytes);
        request.value(mig::INTEGER_32, &add);
        request.list(mig::INTEGER_32, 4095, more);
        request.list(mig::INTEGER_32, 4095, both);
        request.call(&self.0, 16608, |reply| {
            let four_out: [i32; 4] = reply.value(mig::INTEGER_32.times(4))?;
            let bytes_out: Vec<u8> = reply.list(mig::CHAR, 100)?;
            let sum: i64 = reply.value(mig::INTEGER_64)?;
            let both: Vec<i32> = reply.list(mig::INTEGER_32, 4095)?;
            let last: i32 = reply.value(mig::INTEGER_32)?;
            Ok(ArraysReply {
                four_out,
                bytes_out,
                sum,
                both,
                last,
            })
        })
    }

    /// sampler.defs:106, message 7007:
    /// `routine room(server: mach_port_t; out list: ints_t, countinout; out told: natural_t);`
    pub fn room(&self, list_room: u32) -> Result<RoomReply, mig::Error> {
        let mut request = mig::Request::new(7007, "sampler.room");
        request.value(mig::INTEGER_32, &list_room);
        request.call(&self.0, 16456, |reply| {
            let list: Vec<i32> = reply.list_within(mig::INTEGER_32, 4095, list_room)?;
            let told: u32 = reply.value(mig::INTEGER_32)?;
            Ok(RoomReply { list, told })
        })
    }

    /// sampler.defs:112, message 7008:
    /// `routine unlimited(server: mach_port_t; list: any_ints_t; copied: any_ints_t, servercopy;
    /// given: any_ints_t, dealloc[]; out where: natural_t; out list_out: any_ints_t, dealloc;
    /// count: natural_t);`
    pub fn unlimited<'a>(
        &self,
        list: &[i32],
        copied: &[i32],
        given: impl Into<mig::Lend<'a, i32>>,
        count: u32,
    ) -> Result<UnlimitedReply, mig::Error> {
        let given: mig::Lend<'a, i32> = given.into();
        let mut request = mig::Request::new(7008, "sampler.unlimited");
        request.array(mig::INTEGER_32, 512, list);
        request.array(mig::INTEGER_32, 512, copied);
        request.array(mig::INTEGER_32, 512, given);
        request.value(mig::INTEGER_32, &count);
        request.call(&self.0, 2120, |reply| {
            let r#where: u32 = reply.value(mig::INTEGER_32)?;
            let list_out: mig::Array<i32> = reply.array(mig::INTEGER_32, 512)?;
            Ok(UnlimitedReply { r#where, list_out })
        })
    }

    /// sampler.defs:121, message 7009:
    /// `routine out_of_line(server: mach_port_t; list: far_ints_t; given: far_ints_t, dealloc;
    /// block: far_block_t; out sum: int64; out list_out: far_ints_t, dealloc);`
    pub fn out_of_line(
        &self,
        list: &[i32],
        given: impl Into<mig::Array<i32>>,
        block: &[i32; 1024],
    ) -> Result<OutOfLineReply, mig::Error> {
        let given: mig::Array<i32> = given.into();
        let mut request = mig::Request::new(7009, "sampler.out_of_line");
        request.memory(mig::INTEGER_32, u32::MAX, list);
        request.memory(mig::INTEGER_32, u32::MAX, given);
        request.block(mig::INTEGER_32, 1024, block);
        request.call(&self.0, 80, |reply| {
            let sum: i64 = reply.value(mig::INTEGER_64)?;
            let list_out: mig::Array<i32> = reply.memory(mig::INTEGER_32, u32::MAX)?;
            Ok(OutOfLineReply { sum, list_out })
        })
    }

    /// sampler.defs:130, message 7010:
    /// `routine ports(server: mach_port_t; copy: mach_port_t; made: mach_port_make_send_t; out
    /// copy_out: mach_port_t = MACH_MSG_TYPE_MOVE_SEND ctype: mach_port_t; out made_out:
    /// mach_port_t = MACH_MSG_TYPE_MOVE_SEND ctype: mach_port_t; any: mach_port_poly_t; out
    /// any_out: mach_port_poly_t);`
    pub fn ports<'a>(
        &self,
        copy: Option<&mig::SendRight>,
        made: Option<&mig::ReceiveRight>,
        any: impl Into<mig::Carry<'a>>,
    ) -> Result<PortsReply, mig::Error> {
        let mut request = mig::Request::new(7010, "sampler.ports");
        request.right(mig::COPY_SEND, copy);
        request.right(mig::MAKE_SEND, made);
        request.any_right(any);
        request.call(&self.0, 96, |reply| {
            let copy_out: Option<mig::SendRight> = reply.right()?;
            let made_out: Option<mig::SendRight> = reply.right()?;
            let any_out: mig::AnyRight = reply.any_right()?;
            Ok(PortsReply {
                copy_out,
                made_out,
                any_out,
            })
        })
    }

    /// sampler.defs:139, message 7011:
    /// `routine port_arrays(server: mach_port_t; three: three_ports_t; some: some_ports_t; out
    /// some_out: some_ports_t = array[*:8] of mach_port_move_send_t; far: far_ports_t; out far_out:
    /// far_ports_t = ^array[] of mach_port_move_send_t, dealloc; either: any_ports_t; out
    /// either_out: any_ports_t = array[] of mach_port_move_send_t, dealloc);`
    pub fn port_arrays(
        &self,
        three: &[Option<&mig::SendRight>; 3],
        some: &[Option<&mig::SendRight>],
        far: &[Option<&mig::SendRight>],
        either: &[Option<&mig::SendRight>],
    ) -> Result<PortArraysReply, mig::Error> {
        let mut request = mig::Request::new(7011, "sampler.port_arrays");
        request.rights(mig::COPY_SEND, 3, three);
        request.rights(mig::COPY_SEND, 8, some);
        request.far_rights(mig::COPY_SEND, u32::MAX, far);
        request.right_array(mig::COPY_SEND, 256, either);
        request.call(&self.0, 2192, |reply| {
            let some_out: Vec<Option<mig::SendRight>> = reply.rights(8)?;
            let far_out: Vec<Option<mig::SendRight>> = reply.far_rights(u32::MAX)?;
            let either_out: Vec<Option<mig::SendRight>> = reply.right_array(256)?;
            Ok(PortArraysReply {
                some_out,
                far_out,
                either_out,
            })
        })
    }

    /// sampler.defs:150, message 7012:
    /// `routine accounts(server: mach_port_t; account: account_t; inout other: account_t; out
    /// third: account_t);`
    pub fn accounts(&self, account: i32, other: i32) -> Result<AccountsReply, mig::Error> {
        let mut request = mig::Request::new(7012, "sampler.accounts");
        request.value(mig::INTEGER_32, &account);
        request.value(mig::INTEGER_32, &other);
        request.call(&self.0, 80, |reply| {
            let other: i32 = reply.value(mig::INTEGER_32)?;
            let third: i32 = reply.value(mig::INTEGER_32)?;
            Ok(AccountsReply { other, third })
        })
    }

    /// sampler.defs:157, message 7013:
    /// `routine sequence(server: mach_port_t; msgseqno seqno: mach_port_seqno_t; out seqno_out:
    /// mach_port_seqno_t);`
    pub fn sequence(&self) -> Result<u32, mig::Error> {
        let request = mig::Request::new(7013, "sampler.sequence");
        request.call(&self.0, 64, |reply| {
            let seqno_out: u32 = reply.value(mig::INTEGER_32)?;
            Ok(seqno_out)
        })
    }

    /// sampler.defs:163, message 7014:
    /// `simpleroutine tell(server: mach_port_t; word: word_t);`
    pub fn tell(&self, word: &CStr) -> Result<(), mig::Error> {
        let mut request = mig::Request::new(7014, "sampler.tell");
        request.string(64, word);
        request.send(&self.0)
    }

    /// sampler.defs:167, message 7015:
    /// `routine told(server: mach_port_t; out word: word_t);`
    pub fn told(&self) -> Result<CString, mig::Error> {
        let request = mig::Request::new(7015, "sampler.told");
        request.call(&self.0, 120, |reply| {
            let word: CString = reply.string(64)?;
            Ok(word)
        })
    }

    /// sampler.defs:172, message 7016:
    /// `routine later(server: mach_port_t; sreplyport reply: mach_port_move_send_once_t; waittime
    /// time: natural_t; value: int; out doubled: int);`
    pub fn later(&self, time: Duration, value: i32) -> Result<i32, mig::Error> {
        let mut request = mig::Request::new(7016, "sampler.later");
        request.wait_time(time);
        request.value(mig::INTEGER_32, &value);
        request.call(&self.0, 64, |reply_| {
            let doubled: i32 = reply_.value(mig::INTEGER_32)?;
            Ok(doubled)
        })
    }

    /// sampler.defs:179, message 7017:
    /// `simpleroutine release(server: mach_port_t);`
    pub fn release(&self) -> Result<(), mig::Error> {
        let request = mig::Request::new(7017, "sampler.release");
        request.send(&self.0)
    }

    /// sampler.defs:183, message 7018:
    /// `routine refuse(server: mach_port_t; code: int; right: mach_port_make_send_t; list:
    /// any_ints_t; far: far_ints_t; ports: some_ports_t; out nothing: int);`
    pub fn refuse(
        &self,
        code: i32,
        right: Option<&mig::ReceiveRight>,
        list: &[i32],
        far: &[i32],
        ports: &[Option<&mig::SendRight>],
    ) -> Result<i32, mig::Error> {
        let mut request = mig::Request::new(7018, "sampler.refuse");
        request.value(mig::INTEGER_32, &code);
        request.right(mig::MAKE_SEND, right);
        request.array(mig::INTEGER_32, 512, list);
        request.memory(mig::INTEGER_32, u32::MAX, far);
        request.rights(mig::COPY_SEND, 8, ports);
        request.call(&self.0, 64, |reply| {
            let nothing: i32 = reply.value(mig::INTEGER_32)?;
            Ok(nothing)
        })
    }

    /// sampler.defs:193, message 7019:
    /// `routine both_ways(server: mach_port_t; inout list: any_ints_t, dealloc; how: natural_t;
    /// right: mach_port_make_send_t; out words: bytes_t);`
    pub fn both_ways(
        &self,
        list: impl Into<mig::Array<i32>>,
        how: u32,
        right: Option<&mig::ReceiveRight>,
    ) -> Result<BothWaysReply, mig::Error> {
        let list: mig::Array<i32> = list.into();
        let mut request = mig::Request::new(7019, "sampler.both_ways");
        request.array(mig::INTEGER_32, 512, list);
        request.value(mig::INTEGER_32, &how);
        request.right(mig::MAKE_SEND, right);
        request.call(&self.0, 2216, |reply| {
            let list: mig::Array<i32> = reply.array(mig::INTEGER_32, 512)?;
            let words: Vec<u8> = reply.list(mig::CHAR, 100)?;
            Ok(BothWaysReply { list, words })
        })
    }

    /// sampler.defs:203, message 7020:
    /// `routine timed(server: mach_port_t; msgoption option: int; value: int; out same: int);`
    pub fn timed(&self, option: u32, value: i32) -> Result<i32, mig::Error> {
        let mut request = mig::Request::new(7020, "sampler.timed");
        request.options(0x10); // MACH_SEND_TIMEOUT
        request.options(option);
        request.wait_time(Duration::from_millis(1000));
        request.value(mig::INTEGER_32, &value);
        request.call(&self.0, 64, |reply| {
            let same: i32 = reply.value(mig::INTEGER_32)?;
            Ok(same)
        })
    }

    /// sampler.defs:213, message 7021:
    /// `routine numbers(server: mach_port_t; inout real: float; inout tiny: int8_t; inout byte:
    /// uint8_t; inout half: uint16_t; inout word: unsigned; inout wide: uint64_t; flags: flags_t;
    /// out flags_out: flags_t; inout big: big_t);`
    #[allow(clippy::too_many_arguments)]
    pub fn numbers(
        &self,
        real: f32,
        tiny: i8,
        byte: u8,
        half: u16,
        word: u32,
        wide: u64,
        flags: &[bool],
        big: &[i32; 2000],
    ) -> Result<NumbersReply, mig::Error> {
        let mut request = mig::Request::new(7021, "sampler.numbers");
        request.value(mig::REAL_32, &real);
        request.value(mig::INTEGER_8, &tiny);
        request.value(mig::INTEGER_8, &byte);
        request.value(mig::INTEGER_16, &half);
        request.value(mig::INTEGER_32, &word);
        request.value(mig::INTEGER_64, &wide);
        request.list(mig::BOOLEAN, 10, flags);
        request.value(mig::INTEGER_32.times(2000), big);
        request.call(&self.0, 8200, |reply| {
            let real: f32 = reply.value(mig::REAL_32)?;
            let tiny: i8 = reply.value(mig::INTEGER_8)?;
            let byte: u8 = reply.value(mig::INTEGER_8)?;
            let half: u16 = reply.value(mig::INTEGER_16)?;
            let word: u32 = reply.value(mig::INTEGER_32)?;
            let wide: u64 = reply.value(mig::INTEGER_64)?;
            let flags_out: Vec<bool> = reply.list(mig::BOOLEAN, 10)?;
            let big: Box<[i32; 2000]> = reply.value(mig::INTEGER_32.times(2000))?;
            Ok(NumbersReply {
                real,
                tiny,
                byte,
                half,
                word,
                wide,
                flags_out,
                big,
            })
        })
    }

    /// sampler.defs:226, message 7022:
    /// `routine moves(server: mach_port_t; send: mach_port_move_send_t; once:
    /// mach_port_move_send_once_t; made: mach_port_make_send_once_t; receive:
    /// mach_port_move_receive_t; out send_out: mach_port_move_send_t; out once_out:
    /// mach_port_move_send_once_t; out receive_out: mach_port_move_receive_t; inout both:
    /// mach_port_move_send_t; said: mach_port_send_t; out said_out: mach_port_send_t; passed:
    /// passed_t; watched: watched_t; out watches: boolean_t);`
    #[allow(clippy::too_many_arguments)]
    pub fn moves(
        &self,
        send: Option<mig::SendRight>,
        once: Option<mig::SendOnceRight>,
        made: Option<&mig::ReceiveRight>,
        receive: Option<mig::ReceiveRight>,
        both: Option<mig::SendRight>,
        said: Option<mig::SendRight>,
        passed: Option<&mig::ReceiveRight>,
        watched: Option<&mig::ReceiveRight>,
    ) -> Result<MovesReply, mig::Error> {
        let mut request = mig::Request::new(7022, "sampler.moves");
        request.right(mig::MOVE_SEND, send);
        request.right(mig::MOVE_SEND_ONCE, once);
        request.right(mig::MAKE_SEND_ONCE, made);
        request.right(mig::MOVE_RECEIVE, receive);
        request.right(mig::MOVE_SEND, both);
        request.right(mig::MOVE_SEND, said);
        request.right(mig::MAKE_SEND, passed);
        request.right(mig::MAKE_SEND, watched);
        request.call(&self.0, 144, |reply| {
            let send_out: Option<mig::SendRight> = reply.right()?;
            let once_out: Option<mig::SendOnceRight> = reply.right()?;
            let receive_out: Option<mig::ReceiveRight> = reply.right()?;
            let both: Option<mig::SendRight> = reply.right()?;
            let said_out: Option<mig::SendRight> = reply.right()?;
            let watches: bool = reply.value(mig::BOOLEAN)?;
            Ok(MovesReply {
                send_out,
                once_out,
                receive_out,
                both,
                said_out,
                watches,
            })
        })
    }

    /// sampler.defs:243, message 7023:
    /// `routine far_things(server: mach_port_t; record: far_record_t; list: far_records_t; any:
    /// any_records_t; three: far_three_ports_t; out record_out: far_record_t, dealloc; out
    /// list_out: far_records_t, dealloc; out any_out: any_records_t, dealloc; out there:
    /// natural_t);`
    pub fn far_things(
        &self,
        record: &Record,
        list: &[Record],
        any: &[Record],
        three: &[Option<&mig::SendRight>; 3],
    ) -> Result<FarThingsReply, mig::Error> {
        let mut request = mig::Request::new(7023, "sampler.far_things");
        request.far_value(mig::BYTE.times(24), record);
        request.memory(mig::BYTE.times(24), u32::MAX, list);
        request.array(mig::BYTE.times(24), 85, any);
        request.far_rights(mig::COPY_SEND, 3, three);
        request.call(&self.0, 2144, |reply| {
            let record_out: Record = reply.far_value(mig::BYTE.times(24))?;
            let list_out: mig::Array<Record> = reply.memory(mig::BYTE.times(24), u32::MAX)?;
            let any_out: mig::Array<Record> = reply.array(mig::BYTE.times(24), 85)?;
            let there: u32 = reply.value(mig::INTEGER_32)?;
            Ok(FarThingsReply {
                record_out,
                list_out,
                any_out,
                there,
            })
        })
    }

    /// sampler.defs:255, message 7024:
    /// `routine reply_to(server: mach_port_t; ureplyport port: mach_port_make_send_once_t; value:
    /// int; out same: int);`
    pub fn reply_to(&self, port: &mig::ReceiveRight, value: i32) -> Result<i32, mig::Error> {
        let mut request = mig::Request::new(7024, "sampler.reply_to");
        request.value(mig::INTEGER_32, &value);
        request.call_from(&self.0, 64, port, mig::MAKE_SEND_ONCE, |reply| {
            let same: i32 = reply.value(mig::INTEGER_32)?;
            Ok(same)
        })
    }

    /// sampler.defs:262, message 7025:
    /// `simpleroutine ask(server: mach_port_t; ureplyport port: mach_port_make_send_once_t; code:
    /// int);`
    pub fn ask(&self, port: Option<&mig::ReceiveRight>, code: i32) -> Result<(), mig::Error> {
        let mut request = mig::Request::new(7025, "sampler.ask");
        request.value(mig::INTEGER_32, &code);
        request.send_from(&self.0, mig::MAKE_SEND_ONCE, port)
    }
}

/// The right to answer a `later`. Dropped, it tells the caller that nobody will answer.
#[derive(Debug)]
pub struct LaterReplyPort(mig::Later);

impl LaterReplyPort {
    /// Sends the answer.
    pub fn answer(self, answer: Result<i32, mig::Code>) -> Result<(), mig::Error> {
        self.0.answer(answer, |out, reply| {
            reply.value(mig::INTEGER_32, &out);
        })
    }
}

/// A server of the subsystem sampler. An error that a routine returns is its caller's result.
pub trait SamplerServer {
    /// What C calls `struct account`. Who has one drops it: that is its `destructor`.
    type Account;

    /// What C calls `struct watched`. Who has one drops it: that is its `destructor`.
    type Watched;

    /// Translates what the message has, or is to have.
    fn account_by_number(&mut self, value: i32) -> Self::Account;

    /// Translates what the message has, or is to have.
    fn account_number(&mut self, value: Self::Account) -> i32;

    /// Translates what the message has, or is to have.
    fn watched_port(&mut self, value: Option<mig::SendRight>) -> Self::Watched;

    /// sampler.defs:56, message 7000:
    /// `routine null(server: mach_port_t);`
    fn null(&mut self, server: mig::Target) -> Result<(), mig::Code>;

    /// sampler.defs:59, message 7001:
    /// `routine four(server: mach_port_t; a: int; b: int; c: int; d: int; out w: int; out x: int;
    /// out y: int; out z: int);`
    fn four(
        &mut self,
        server: mig::Target,
        a: i32,
        b: i32,
        c: i32,
        d: i32,
    ) -> Result<FourReply, mig::Code>;

    /// sampler.defs:64, message 7002:
    /// `routine sizes(requestport server: mach_port_t; inout a: char; inout b: short; inout c:
    /// int64; inout d: boolean_t; inout e: double);`
    fn sizes(
        &mut self,
        server: mig::Target,
        a: u8,
        b: i16,
        c: i64,
        d: bool,
        e: f64,
    ) -> Result<SizesReply, mig::Code>;

    /// sampler.defs:74, message 7004:
    /// `routine strings(server: mach_port_t; word: word_t; label: label_t; old: old_string_t; out
    /// word_out: word_t; out label_out: label_t; out old_out: old_string_t; inout both: word_t);`
    fn strings(
        &mut self,
        server: mig::Target,
        word: CString,
        label: CString,
        old: CString,
        both: CString,
    ) -> Result<StringsReply, mig::Code>;

    /// sampler.defs:84, message 7005:
    /// `routine structures(server: mach_port_t; pair: short_pair_t; out pair_out: short_pair_t;
    /// inout record: record_t; list: record_array_t; out list_out: record_array_t);`
    fn structures(
        &mut self,
        server: mig::Target,
        pair: [i16; 2],
        record: Record,
        list: Vec<Record>,
    ) -> Result<StructuresReply, mig::Code>;

    /// sampler.defs:93, message 7006:
    /// `routine arrays(server: mach_port_t; four: four_ints_t; bytes: bytes_t; add: int; more:
    /// ints_t; out four_out: four_ints_t; out bytes_out: bytes_t; out sum: int64; inout both:
    /// ints_t; out last: int);`
    fn arrays(
        &mut self,
        server: mig::Target,
        four: [i32; 4],
        bytes: Vec<u8>,
        add: i32,
        more: Vec<i32>,
        both: Vec<i32>,
    ) -> Result<ArraysReply, mig::Code>;

    /// sampler.defs:106, message 7007:
    /// `routine room(server: mach_port_t; out list: ints_t, countinout; out told: natural_t);`
    fn room(&mut self, server: mig::Target, list_room: u32) -> Result<RoomReply, mig::Code>;

    /// sampler.defs:112, message 7008:
    /// `routine unlimited(server: mach_port_t; list: any_ints_t; copied: any_ints_t, servercopy;
    /// given: any_ints_t, dealloc[]; out where: natural_t; out list_out: any_ints_t, dealloc;
    /// count: natural_t);`
    fn unlimited(
        &mut self,
        server: mig::Target,
        list: mig::Array<i32>,
        copied: mig::Array<i32>,
        given: mig::Array<i32>,
        count: u32,
    ) -> Result<UnlimitedReply, mig::Code>;

    /// sampler.defs:121, message 7009:
    /// `routine out_of_line(server: mach_port_t; list: far_ints_t; given: far_ints_t, dealloc;
    /// block: far_block_t; out sum: int64; out list_out: far_ints_t, dealloc);`
    fn out_of_line(
        &mut self,
        server: mig::Target,
        list: mig::Array<i32>,
        given: mig::Array<i32>,
        block: mig::Array<i32>,
    ) -> Result<OutOfLineReply, mig::Code>;

    /// sampler.defs:130, message 7010:
    /// `routine ports(server: mach_port_t; copy: mach_port_t; made: mach_port_make_send_t; out
    /// copy_out: mach_port_t = MACH_MSG_TYPE_MOVE_SEND ctype: mach_port_t; out made_out:
    /// mach_port_t = MACH_MSG_TYPE_MOVE_SEND ctype: mach_port_t; any: mach_port_poly_t; out
    /// any_out: mach_port_poly_t);`
    fn ports(
        &mut self,
        server: mig::Target,
        copy: Option<mig::SendRight>,
        made: Option<mig::SendRight>,
        any: mig::AnyRight,
    ) -> Result<PortsReply, mig::Code>;

    /// sampler.defs:139, message 7011:
    /// `routine port_arrays(server: mach_port_t; three: three_ports_t; some: some_ports_t; out
    /// some_out: some_ports_t = array[*:8] of mach_port_move_send_t; far: far_ports_t; out far_out:
    /// far_ports_t = ^array[] of mach_port_move_send_t, dealloc; either: any_ports_t; out
    /// either_out: any_ports_t = array[] of mach_port_move_send_t, dealloc);`
    fn port_arrays(
        &mut self,
        server: mig::Target,
        three: [Option<mig::SendRight>; 3],
        some: Vec<Option<mig::SendRight>>,
        far: Vec<Option<mig::SendRight>>,
        either: Vec<Option<mig::SendRight>>,
    ) -> Result<PortArraysReply, mig::Code>;

    /// sampler.defs:150, message 7012:
    /// `routine accounts(server: mach_port_t; account: account_t; inout other: account_t; out
    /// third: account_t);`
    fn accounts(
        &mut self,
        server: mig::Target,
        account: Self::Account,
        other: Self::Account,
    ) -> Result<AccountsReply<Self::Account>, mig::Code>;

    /// sampler.defs:157, message 7013:
    /// `routine sequence(server: mach_port_t; msgseqno seqno: mach_port_seqno_t; out seqno_out:
    /// mach_port_seqno_t);`
    fn sequence(&mut self, server: mig::Target, seqno: u32) -> Result<u32, mig::Code>;

    /// sampler.defs:163, message 7014:
    /// `simpleroutine tell(server: mach_port_t; word: word_t);`
    fn tell(&mut self, server: mig::Target, word: CString) -> Result<(), mig::Code>;

    /// sampler.defs:167, message 7015:
    /// `routine told(server: mach_port_t; out word: word_t);`
    fn told(&mut self, server: mig::Target) -> Result<CString, mig::Code>;

    /// sampler.defs:172, message 7016:
    /// `routine later(server: mach_port_t; sreplyport reply: mach_port_move_send_once_t; waittime
    /// time: natural_t; value: int; out doubled: int);`
    fn later(&mut self, server: mig::Target, reply: LaterReplyPort, value: i32);

    /// sampler.defs:179, message 7017:
    /// `simpleroutine release(server: mach_port_t);`
    fn release(&mut self, server: mig::Target) -> Result<(), mig::Code>;

    /// sampler.defs:183, message 7018:
    /// `routine refuse(server: mach_port_t; code: int; right: mach_port_make_send_t; list:
    /// any_ints_t; far: far_ints_t; ports: some_ports_t; out nothing: int);`
    fn refuse(
        &mut self,
        server: mig::Target,
        code: i32,
        right: Option<mig::SendRight>,
        list: mig::Array<i32>,
        far: mig::Array<i32>,
        ports: Vec<Option<mig::SendRight>>,
    ) -> Result<i32, mig::Code>;

    /// sampler.defs:193, message 7019:
    /// `routine both_ways(server: mach_port_t; inout list: any_ints_t, dealloc; how: natural_t;
    /// right: mach_port_make_send_t; out words: bytes_t);`
    fn both_ways(
        &mut self,
        server: mig::Target,
        list: mig::Array<i32>,
        how: u32,
        right: Option<mig::SendRight>,
    ) -> Result<BothWaysReply, mig::Code>;

    /// sampler.defs:203, message 7020:
    /// `routine timed(server: mach_port_t; msgoption option: int; value: int; out same: int);`
    fn timed(&mut self, server: mig::Target, value: i32) -> Result<i32, mig::Code>;

    /// sampler.defs:213, message 7021:
    /// `routine numbers(server: mach_port_t; inout real: float; inout tiny: int8_t; inout byte:
    /// uint8_t; inout half: uint16_t; inout word: unsigned; inout wide: uint64_t; flags: flags_t;
    /// out flags_out: flags_t; inout big: big_t);`
    #[allow(clippy::too_many_arguments)]
    fn numbers(
        &mut self,
        server: mig::Target,
        real: f32,
        tiny: i8,
        byte: u8,
        half: u16,
        word: u32,
        wide: u64,
        flags: Vec<bool>,
        big: Box<[i32; 2000]>,
    ) -> Result<NumbersReply, mig::Code>;

    /// sampler.defs:226, message 7022:
    /// `routine moves(server: mach_port_t; send: mach_port_move_send_t; once:
    /// mach_port_move_send_once_t; made: mach_port_make_send_once_t; receive:
    /// mach_port_move_receive_t; out send_out: mach_port_move_send_t; out once_out:
    /// mach_port_move_send_once_t; out receive_out: mach_port_move_receive_t; inout both:
    /// mach_port_move_send_t; said: mach_port_send_t; out said_out: mach_port_send_t; passed:
    /// passed_t; watched: watched_t; out watches: boolean_t);`
    #[allow(clippy::too_many_arguments)]
    fn moves(
        &mut self,
        server: mig::Target,
        send: Option<mig::SendRight>,
        once: Option<mig::SendOnceRight>,
        made: Option<mig::SendOnceRight>,
        receive: Option<mig::ReceiveRight>,
        both: Option<mig::SendRight>,
        said: Option<mig::SendRight>,
        passed: Option<mig::SendRight>,
        watched: Self::Watched,
    ) -> Result<MovesReply, mig::Code>;

    /// sampler.defs:243, message 7023:
    /// `routine far_things(server: mach_port_t; record: far_record_t; list: far_records_t; any:
    /// any_records_t; three: far_three_ports_t; out record_out: far_record_t, dealloc; out
    /// list_out: far_records_t, dealloc; out any_out: any_records_t, dealloc; out there:
    /// natural_t);`
    fn far_things(
        &mut self,
        server: mig::Target,
        record: Record,
        list: mig::Array<Record>,
        any: mig::Array<Record>,
        three: [Option<mig::SendRight>; 3],
    ) -> Result<FarThingsReply, mig::Code>;

    /// sampler.defs:255, message 7024:
    /// `routine reply_to(server: mach_port_t; ureplyport port: mach_port_make_send_once_t; value:
    /// int; out same: int);`
    fn reply_to(&mut self, server: mig::Target, value: i32) -> Result<i32, mig::Code>;

    /// sampler.defs:262, message 7025:
    /// `simpleroutine ask(server: mach_port_t; ureplyport port: mach_port_make_send_once_t; code:
    /// int);`
    fn ask(&mut self, server: mig::Target, code: i32) -> Result<(), mig::Code>;
}

/// Serves a request, and makes the answer, which is to be sent.
///
/// # Errors
/// The request itself, if no routine has its identifier.
pub fn demux<S: SamplerServer + ?Sized>(server: &mut S, request: mig::Received) -> mig::Served {
    let routine: mig::Routine<S> = match request.id() {
        7000 => serve_null,
        7001 => serve_four,
        7002 => serve_sizes,
        7004 => serve_strings,
        7005 => serve_structures,
        7006 => serve_arrays,
        7007 => serve_room,
        7008 => serve_unlimited,
        7009 => serve_out_of_line,
        7010 => serve_ports,
        7011 => serve_port_arrays,
        7012 => serve_accounts,
        7013 => serve_sequence,
        7014 => serve_tell,
        7015 => serve_told,
        7016 => serve_later,
        7017 => serve_release,
        7018 => serve_refuse,
        7019 => serve_both_ways,
        7020 => serve_timed,
        7021 => serve_numbers,
        7022 => serve_moves,
        7023 => serve_far_things,
        7024 => serve_reply_to,
        7025 => serve_ask,
        _ => return Err(Box::new(request)),
    };
    Ok(mig::answer(request, server, routine))
}

fn serve_null<S: SamplerServer + ?Sized>(
    server: &mut S,
    request: &mut mig::Reader,
    _reply: &mut mig::Writer<'static>,
) -> Result<(), mig::Code> {
    request.finish()?;
    server.null(request.target())
}

fn serve_four<S: SamplerServer + ?Sized>(
    server: &mut S,
    request: &mut mig::Reader,
    reply: &mut mig::Writer<'static>,
) -> Result<(), mig::Code> {
    let a: i32 = request.value(mig::INTEGER_32)?;
    let b: i32 = request.value(mig::INTEGER_32)?;
    let c: i32 = request.value(mig::INTEGER_32)?;
    let d: i32 = request.value(mig::INTEGER_32)?;
    request.finish()?;
    let out = server.four(request.target(), a, b, c, d)?;
    reply.value(mig::INTEGER_32, &out.w);
    reply.value(mig::INTEGER_32, &out.x);
    reply.value(mig::INTEGER_32, &out.y);
    reply.value(mig::INTEGER_32, &out.z);
    Ok(())
}

fn serve_sizes<S: SamplerServer + ?Sized>(
    server: &mut S,
    request: &mut mig::Reader,
    reply: &mut mig::Writer<'static>,
) -> Result<(), mig::Code> {
    let a: u8 = request.value(mig::CHAR)?;
    let b: i16 = request.value(mig::INTEGER_16)?;
    let c: i64 = request.value(mig::INTEGER_64)?;
    let d: bool = request.value(mig::BOOLEAN)?;
    let e: f64 = request.value(mig::REAL_64)?;
    request.finish()?;
    let out = server.sizes(request.target(), a, b, c, d, e)?;
    reply.value(mig::CHAR, &out.a);
    reply.value(mig::INTEGER_16, &out.b);
    reply.value(mig::INTEGER_64, &out.c);
    reply.value(mig::BOOLEAN, &out.d);
    reply.value(mig::REAL_64, &out.e);
    Ok(())
}

fn serve_strings<S: SamplerServer + ?Sized>(
    server: &mut S,
    request: &mut mig::Reader,
    reply: &mut mig::Writer<'static>,
) -> Result<(), mig::Code> {
    let word: CString = request.string(64)?;
    let label: CString = request.fixed_string(16)?;
    let old: CString = request.unit_string(24)?;
    let both: CString = request.string(64)?;
    request.finish()?;
    let out = server.strings(request.target(), word, label, old, both)?;
    reply.string(64, &out.word_out);
    reply.fixed_string(16, &out.label_out);
    reply.unit_string(24, &out.old_out);
    reply.string(64, &out.both);
    Ok(())
}

fn serve_structures<S: SamplerServer + ?Sized>(
    server: &mut S,
    request: &mut mig::Reader,
    reply: &mut mig::Writer<'static>,
) -> Result<(), mig::Code> {
    let pair: [i16; 2] = request.value(mig::INTEGER_16.times(2))?;
    let record: Record = request.value(mig::BYTE.times(24))?;
    let list: Vec<Record> = request.list(mig::BYTE.times(24), 8)?;
    request.finish()?;
    let out = server.structures(request.target(), pair, record, list)?;
    reply.value(mig::INTEGER_16.times(2), &out.pair_out);
    reply.value(mig::BYTE.times(24), &out.record);
    reply.list(mig::BYTE.times(24), 8, &out.list_out);
    Ok(())
}

fn serve_arrays<S: SamplerServer + ?Sized>(
    server: &mut S,
    request: &mut mig::Reader,
    reply: &mut mig::Writer<'static>,
) -> Result<(), mig::Code> {
    let four: [i32; 4] = request.value(mig::INTEGER_32.times(4))?;
    let bytes: Vec<u8> = request.list(mig::CHAR, 100)?;
    let add: i32 = request.value(mig::INTEGER_32)?;
    let more: Vec<i32> = request.list(mig::INTEGER_32, 4095)?;
    let both: Vec<i32> = request.list(mig::INTEGER_32, 4095)?;
    request.finish()?;
    let out = server.arrays(request.target(), four, bytes, add, more, both)?;
    reply.value(mig::INTEGER_32.times(4), &out.four_out);
    reply.list(mig::CHAR, 100, &out.bytes_out);
    reply.value(mig::INTEGER_64, &out.sum);
    reply.list(mig::INTEGER_32, 4095, &out.both);
    reply.value(mig::INTEGER_32, &out.last);
    Ok(())
}

fn serve_room<S: SamplerServer + ?Sized>(
    server: &mut S,
    request: &mut mig::Reader,
    reply: &mut mig::Writer<'static>,
) -> Result<(), mig::Code> {
    let list_room: u32 = request.value(mig::INTEGER_32)?;
    let list_room = list_room.min(4095);
    request.finish()?;
    let out = server.room(request.target(), list_room)?;
    reply.list(mig::INTEGER_32, 4095, &out.list);
    reply.value(mig::INTEGER_32, &out.told);
    Ok(())
}

fn serve_unlimited<S: SamplerServer + ?Sized>(
    server: &mut S,
    request: &mut mig::Reader,
    reply: &mut mig::Writer<'static>,
) -> Result<(), mig::Code> {
    let list: mig::Array<i32> = request.array(mig::INTEGER_32, 512)?;
    let copied: mig::Array<i32> = request.array(mig::INTEGER_32, 512)?;
    let given: mig::Array<i32> = request.array(mig::INTEGER_32, 512)?;
    let count: u32 = request.value(mig::INTEGER_32)?;
    request.finish()?;
    let out = server.unlimited(request.target(), list, copied, given, count)?;
    reply.value(mig::INTEGER_32, &out.r#where);
    reply.array(mig::INTEGER_32, 512, out.list_out);
    Ok(())
}

fn serve_out_of_line<S: SamplerServer + ?Sized>(
    server: &mut S,
    request: &mut mig::Reader,
    reply: &mut mig::Writer<'static>,
) -> Result<(), mig::Code> {
    let list: mig::Array<i32> = request.memory(mig::INTEGER_32, u32::MAX)?;
    let given: mig::Array<i32> = request.memory(mig::INTEGER_32, u32::MAX)?;
    let block: mig::Array<i32> = request.block(mig::INTEGER_32, 1024)?;
    request.finish()?;
    let out = server.out_of_line(request.target(), list, given, block)?;
    reply.value(mig::INTEGER_64, &out.sum);
    reply.memory(mig::INTEGER_32, u32::MAX, out.list_out);
    Ok(())
}

fn serve_ports<S: SamplerServer + ?Sized>(
    server: &mut S,
    request: &mut mig::Reader,
    reply: &mut mig::Writer<'static>,
) -> Result<(), mig::Code> {
    let copy: Option<mig::SendRight> = request.right()?;
    let made: Option<mig::SendRight> = request.right()?;
    let any: mig::AnyRight = request.any_right()?;
    request.finish()?;
    let out = server.ports(request.target(), copy, made, any)?;
    reply.right(mig::MOVE_SEND, out.copy_out);
    reply.right(mig::MOVE_SEND, out.made_out);
    reply.any_right(out.any_out);
    Ok(())
}

fn serve_port_arrays<S: SamplerServer + ?Sized>(
    server: &mut S,
    request: &mut mig::Reader,
    reply: &mut mig::Writer<'static>,
) -> Result<(), mig::Code> {
    let three: [Option<mig::SendRight>; 3] = request.right_block()?;
    let some: Vec<Option<mig::SendRight>> = request.rights(8)?;
    let far: Vec<Option<mig::SendRight>> = request.far_rights(u32::MAX)?;
    let either: Vec<Option<mig::SendRight>> = request.right_array(256)?;
    request.finish()?;
    let out = server.port_arrays(request.target(), three, some, far, either)?;
    reply.rights(mig::MOVE_SEND, 8, out.some_out);
    reply.far_rights(mig::MOVE_SEND, u32::MAX, out.far_out);
    reply.right_array(mig::MOVE_SEND, 256, out.either_out);
    Ok(())
}

fn serve_accounts<S: SamplerServer + ?Sized>(
    server: &mut S,
    request: &mut mig::Reader,
    reply: &mut mig::Writer<'static>,
) -> Result<(), mig::Code> {
    let account: i32 = request.value(mig::INTEGER_32)?;
    let other: i32 = request.value(mig::INTEGER_32)?;
    request.finish()?;
    let account = server.account_by_number(account);
    let other = server.account_by_number(other);
    let out = server.accounts(request.target(), account, other)?;
    let other_value = server.account_number(out.other);
    reply.value(mig::INTEGER_32, &other_value);
    let third_value = server.account_number(out.third);
    reply.value(mig::INTEGER_32, &third_value);
    Ok(())
}

fn serve_sequence<S: SamplerServer + ?Sized>(
    server: &mut S,
    request: &mut mig::Reader,
    reply: &mut mig::Writer<'static>,
) -> Result<(), mig::Code> {
    request.finish()?;
    let seqno_out = server.sequence(request.target(), request.sequence())?;
    reply.value(mig::INTEGER_32, &seqno_out);
    Ok(())
}

fn serve_tell<S: SamplerServer + ?Sized>(
    server: &mut S,
    request: &mut mig::Reader,
    _reply: &mut mig::Writer<'static>,
) -> Result<(), mig::Code> {
    let word: CString = request.string(64)?;
    request.finish()?;
    server.tell(request.target(), word)
}

fn serve_told<S: SamplerServer + ?Sized>(
    server: &mut S,
    request: &mut mig::Reader,
    reply: &mut mig::Writer<'static>,
) -> Result<(), mig::Code> {
    request.finish()?;
    let word = server.told(request.target())?;
    reply.string(64, &word);
    Ok(())
}

fn serve_later<S: SamplerServer + ?Sized>(
    server: &mut S,
    request: &mut mig::Reader,
    _reply_: &mut mig::Writer<'static>,
) -> Result<(), mig::Code> {
    let value: i32 = request.value(mig::INTEGER_32)?;
    request.finish()?;
    let reply = LaterReplyPort(mig::Later::new(request, 7016));
    server.later(request.target(), reply, value);
    Err(mig::Code::MIG_NO_REPLY)
}

fn serve_release<S: SamplerServer + ?Sized>(
    server: &mut S,
    request: &mut mig::Reader,
    _reply: &mut mig::Writer<'static>,
) -> Result<(), mig::Code> {
    request.finish()?;
    server.release(request.target())
}

fn serve_refuse<S: SamplerServer + ?Sized>(
    server: &mut S,
    request: &mut mig::Reader,
    reply: &mut mig::Writer<'static>,
) -> Result<(), mig::Code> {
    let code: i32 = request.value(mig::INTEGER_32)?;
    let right: Option<mig::SendRight> = request.right()?;
    let list: mig::Array<i32> = request.array(mig::INTEGER_32, 512)?;
    let far: mig::Array<i32> = request.memory(mig::INTEGER_32, u32::MAX)?;
    let ports: Vec<Option<mig::SendRight>> = request.rights(8)?;
    request.finish()?;
    let nothing = server.refuse(request.target(), code, right, list, far, ports)?;
    reply.value(mig::INTEGER_32, &nothing);
    Ok(())
}

fn serve_both_ways<S: SamplerServer + ?Sized>(
    server: &mut S,
    request: &mut mig::Reader,
    reply: &mut mig::Writer<'static>,
) -> Result<(), mig::Code> {
    let list: mig::Array<i32> = request.array(mig::INTEGER_32, 512)?;
    let how: u32 = request.value(mig::INTEGER_32)?;
    let right: Option<mig::SendRight> = request.right()?;
    request.finish()?;
    let out = server.both_ways(request.target(), list, how, right)?;
    reply.array(mig::INTEGER_32, 512, out.list);
    reply.list(mig::CHAR, 100, &out.words);
    Ok(())
}

fn serve_timed<S: SamplerServer + ?Sized>(
    server: &mut S,
    request: &mut mig::Reader,
    reply: &mut mig::Writer<'static>,
) -> Result<(), mig::Code> {
    let value: i32 = request.value(mig::INTEGER_32)?;
    request.finish()?;
    let same = server.timed(request.target(), value)?;
    reply.value(mig::INTEGER_32, &same);
    Ok(())
}

fn serve_numbers<S: SamplerServer + ?Sized>(
    server: &mut S,
    request: &mut mig::Reader,
    reply: &mut mig::Writer<'static>,
) -> Result<(), mig::Code> {
    let real: f32 = request.value(mig::REAL_32)?;
    let tiny: i8 = request.value(mig::INTEGER_8)?;
    let byte: u8 = request.value(mig::INTEGER_8)?;
    let half: u16 = request.value(mig::INTEGER_16)?;
    let word: u32 = request.value(mig::INTEGER_32)?;
    let wide: u64 = request.value(mig::INTEGER_64)?;
    let flags: Vec<bool> = request.list(mig::BOOLEAN, 10)?;
    let big: Box<[i32; 2000]> = request.value(mig::INTEGER_32.times(2000))?;
    request.finish()?;
    let out = server.numbers(
        request.target(),
        real,
        tiny,
        byte,
        half,
        word,
        wide,
        flags,
        big,
    )?;
    reply.value(mig::REAL_32, &out.real);
    reply.value(mig::INTEGER_8, &out.tiny);
    reply.value(mig::INTEGER_8, &out.byte);
    reply.value(mig::INTEGER_16, &out.half);
    reply.value(mig::INTEGER_32, &out.word);
    reply.value(mig::INTEGER_64, &out.wide);
    reply.list(mig::BOOLEAN, 10, &out.flags_out);
    reply.value(mig::INTEGER_32.times(2000), &out.big);
    Ok(())
}

fn serve_moves<S: SamplerServer + ?Sized>(
    server: &mut S,
    request: &mut mig::Reader,
    reply: &mut mig::Writer<'static>,
) -> Result<(), mig::Code> {
    let send: Option<mig::SendRight> = request.right()?;
    let once: Option<mig::SendOnceRight> = request.right()?;
    let made: Option<mig::SendOnceRight> = request.right()?;
    let receive: Option<mig::ReceiveRight> = request.right()?;
    let both: Option<mig::SendRight> = request.right()?;
    let said: Option<mig::SendRight> = request.right()?;
    let passed: Option<mig::SendRight> = request.right()?;
    let watched: Option<mig::SendRight> = request.right()?;
    request.finish()?;
    let watched = server.watched_port(watched);
    let out = server.moves(
        request.target(),
        send,
        once,
        made,
        receive,
        both,
        said,
        passed,
        watched,
    )?;
    reply.right(mig::MOVE_SEND, out.send_out);
    reply.right(mig::MOVE_SEND_ONCE, out.once_out);
    reply.right(mig::MOVE_RECEIVE, out.receive_out);
    reply.right(mig::MOVE_SEND, out.both);
    reply.right(mig::MOVE_SEND, out.said_out);
    reply.value(mig::BOOLEAN, &out.watches);
    Ok(())
}

fn serve_far_things<S: SamplerServer + ?Sized>(
    server: &mut S,
    request: &mut mig::Reader,
    reply: &mut mig::Writer<'static>,
) -> Result<(), mig::Code> {
    let record: Record = request.far_value(mig::BYTE.times(24))?;
    let list: mig::Array<Record> = request.memory(mig::BYTE.times(24), u32::MAX)?;
    let any: mig::Array<Record> = request.array(mig::BYTE.times(24), 85)?;
    let three: [Option<mig::SendRight>; 3] = request.far_right_block()?;
    request.finish()?;
    let out = server.far_things(request.target(), record, list, any, three)?;
    reply.far_value(mig::BYTE.times(24), &out.record_out);
    reply.memory(mig::BYTE.times(24), u32::MAX, out.list_out);
    reply.array(mig::BYTE.times(24), 85, out.any_out);
    reply.value(mig::INTEGER_32, &out.there);
    Ok(())
}

fn serve_reply_to<S: SamplerServer + ?Sized>(
    server: &mut S,
    request: &mut mig::Reader,
    reply: &mut mig::Writer<'static>,
) -> Result<(), mig::Code> {
    let value: i32 = request.value(mig::INTEGER_32)?;
    request.finish()?;
    let same = server.reply_to(request.target(), value)?;
    reply.value(mig::INTEGER_32, &same);
    Ok(())
}

fn serve_ask<S: SamplerServer + ?Sized>(
    server: &mut S,
    request: &mut mig::Reader,
    _reply: &mut mig::Writer<'static>,
) -> Result<(), mig::Code> {
    let code: i32 = request.value(mig::INTEGER_32)?;
    request.finish()?;
    server.ask(request.target(), code)
}
