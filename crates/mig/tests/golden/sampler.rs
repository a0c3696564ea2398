// The subsystem sampler, made by mig. Do not edit: change the .defs file.

use slipway_mach::mig;
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

/// `null`, as it is called within a process.
enum NullTrap {}

impl mig::Trap for NullTrap {
    const ID: i32 = 7000;
    const NAME: &'static str = "null";
    const TRIED: &'static str = "sampler.null";
    const ITEMS: &'static [mig::Item] = &[];
}

/// `four`, as it is called within a process.
enum FourTrap {}

impl mig::Trap for FourTrap {
    const ID: i32 = 7001;
    const NAME: &'static str = "four";
    const TRIED: &'static str = "sampler.four";
    const ITEMS: &'static [mig::Item] = &[
        // a
        mig::Item::new(mig::IN, mig::INTEGER_32, mig::Count::One, 4, 4),
        // b
        mig::Item::new(mig::IN, mig::INTEGER_32, mig::Count::One, 4, 4),
        // c
        mig::Item::new(mig::IN, mig::INTEGER_32, mig::Count::One, 4, 4),
        // d
        mig::Item::new(mig::IN, mig::INTEGER_32, mig::Count::One, 4, 4),
        // w
        mig::Item::new(mig::OUT, mig::INTEGER_32, mig::Count::One, 4, 4),
        // x
        mig::Item::new(mig::OUT, mig::INTEGER_32, mig::Count::One, 4, 4),
        // y
        mig::Item::new(mig::OUT, mig::INTEGER_32, mig::Count::One, 4, 4),
        // z
        mig::Item::new(mig::OUT, mig::INTEGER_32, mig::Count::One, 4, 4),
    ];
}

/// `sizes`, as it is called within a process.
enum SizesTrap {}

impl mig::Trap for SizesTrap {
    const ID: i32 = 7002;
    const NAME: &'static str = "sizes";
    const TRIED: &'static str = "sampler.sizes";
    const ITEMS: &'static [mig::Item] = &[
        // a
        mig::Item::new(mig::IN | mig::OUT, mig::CHAR, mig::Count::One, 1, 1),
        // b
        mig::Item::new(mig::IN | mig::OUT, mig::INTEGER_16, mig::Count::One, 2, 2),
        // c
        mig::Item::new(mig::IN | mig::OUT, mig::INTEGER_64, mig::Count::One, 8, 8),
        // d
        mig::Item::new(mig::IN | mig::OUT, mig::BOOLEAN, mig::Count::One, 4, 4),
        // e
        mig::Item::new(mig::IN | mig::OUT, mig::REAL_64, mig::Count::One, 8, 8),
    ];
}

/// `strings`, as it is called within a process.
enum StringsTrap {}

impl mig::Trap for StringsTrap {
    const ID: i32 = 7004;
    const NAME: &'static str = "strings";
    const TRIED: &'static str = "sampler.strings";
    const ITEMS: &'static [mig::Item] = &[
        // word
        mig::Item::new(mig::IN | mig::TEXT, mig::STRING, mig::Count::UpTo(64), 1, 1),
        // label
        mig::Item::new(
            mig::IN | mig::TEXT,
            mig::STRING,
            mig::Count::Fixed(16),
            1,
            1,
        ),
        // old
        mig::Item::new(
            mig::IN | mig::TEXT,
            mig::Kind::new(12, 192),
            mig::Count::Fixed(24),
            1,
            1,
        ),
        // word_out
        mig::Item::new(
            mig::OUT | mig::TEXT,
            mig::STRING,
            mig::Count::UpTo(64),
            1,
            1,
        ),
        // label_out
        mig::Item::new(
            mig::OUT | mig::TEXT,
            mig::STRING,
            mig::Count::Fixed(16),
            1,
            1,
        ),
        // old_out
        mig::Item::new(
            mig::OUT | mig::TEXT,
            mig::Kind::new(12, 192),
            mig::Count::Fixed(24),
            1,
            1,
        ),
        // both
        mig::Item::new(
            mig::IN | mig::OUT | mig::TEXT,
            mig::STRING,
            mig::Count::UpTo(64),
            1,
            1,
        ),
    ];
}

/// `structures`, as it is called within a process.
enum StructuresTrap {}

impl mig::Trap for StructuresTrap {
    const ID: i32 = 7005;
    const NAME: &'static str = "structures";
    const TRIED: &'static str = "sampler.structures";
    const ITEMS: &'static [mig::Item] = &[
        // pair
        mig::Item::new(mig::IN, mig::INTEGER_16.times(2), mig::Count::One, 4, 2),
        // pair_out
        mig::Item::new(mig::OUT, mig::INTEGER_16.times(2), mig::Count::One, 4, 2),
        // record
        mig::Item::new(
            mig::IN | mig::OUT,
            mig::BYTE.times(24),
            mig::Count::One,
            24,
            8,
        ),
        // list
        mig::Item::new(mig::IN, mig::BYTE.times(24), mig::Count::UpTo(8), 24, 8),
        // list_out
        mig::Item::new(mig::OUT, mig::BYTE.times(24), mig::Count::UpTo(8), 24, 8),
    ];
}

/// `arrays`, as it is called within a process.
enum ArraysTrap {}

impl mig::Trap for ArraysTrap {
    const ID: i32 = 7006;
    const NAME: &'static str = "arrays";
    const TRIED: &'static str = "sampler.arrays";
    const ITEMS: &'static [mig::Item] = &[
        // four
        mig::Item::new(mig::IN, mig::INTEGER_32, mig::Count::Fixed(4), 4, 4),
        // bytes
        mig::Item::new(mig::IN, mig::CHAR, mig::Count::UpTo(100), 1, 1),
        // add
        mig::Item::new(mig::IN, mig::INTEGER_32, mig::Count::One, 4, 4),
        // more
        mig::Item::new(mig::IN, mig::INTEGER_32, mig::Count::UpTo(4095), 4, 4),
        // four_out
        mig::Item::new(mig::OUT, mig::INTEGER_32, mig::Count::Fixed(4), 4, 4),
        // bytes_out
        mig::Item::new(mig::OUT, mig::CHAR, mig::Count::UpTo(100), 1, 1),
        // sum
        mig::Item::new(mig::OUT, mig::INTEGER_64, mig::Count::One, 8, 8),
        // both
        mig::Item::new(
            mig::IN | mig::OUT,
            mig::INTEGER_32,
            mig::Count::UpTo(4095),
            4,
            4,
        ),
        // last
        mig::Item::new(mig::OUT, mig::INTEGER_32, mig::Count::One, 4, 4),
    ];
}

/// `room`, as it is called within a process.
enum RoomTrap {}

impl mig::Trap for RoomTrap {
    const ID: i32 = 7007;
    const NAME: &'static str = "room";
    const TRIED: &'static str = "sampler.room";
    const ITEMS: &'static [mig::Item] = &[
        // list
        mig::Item::new(
            mig::OUT | mig::COUNT_IN_OUT,
            mig::INTEGER_32,
            mig::Count::UpTo(4095),
            4,
            4,
        ),
        // told
        mig::Item::new(mig::OUT, mig::INTEGER_32, mig::Count::One, 4, 4),
    ];
}

/// `accounts`, as it is called within a process.
enum AccountsTrap {}

impl mig::Trap for AccountsTrap {
    const ID: i32 = 7012;
    const NAME: &'static str = "accounts";
    const TRIED: &'static str = "sampler.accounts";
    const ITEMS: &'static [mig::Item] = &[
        // account
        mig::Item::new(mig::IN, mig::INTEGER_32, mig::Count::One, 4, 4),
        // other
        mig::Item::new(mig::IN | mig::OUT, mig::INTEGER_32, mig::Count::One, 4, 4),
        // third
        mig::Item::new(mig::OUT, mig::INTEGER_32, mig::Count::One, 4, 4),
    ];
}

/// `told`, as it is called within a process.
enum ToldTrap {}

impl mig::Trap for ToldTrap {
    const ID: i32 = 7015;
    const NAME: &'static str = "told";
    const TRIED: &'static str = "sampler.told";
    const ITEMS: &'static [mig::Item] = &[
        // word
        mig::Item::new(
            mig::OUT | mig::TEXT,
            mig::STRING,
            mig::Count::UpTo(64),
            1,
            1,
        ),
    ];
}

/// `numbers`, as it is called within a process.
enum NumbersTrap {}

impl mig::Trap for NumbersTrap {
    const ID: i32 = 7021;
    const NAME: &'static str = "numbers";
    const TRIED: &'static str = "sampler.numbers";
    const ITEMS: &'static [mig::Item] = &[
        // real
        mig::Item::new(mig::IN | mig::OUT, mig::REAL_32, mig::Count::One, 4, 4),
        // tiny
        mig::Item::new(mig::IN | mig::OUT, mig::INTEGER_8, mig::Count::One, 1, 1),
        // byte
        mig::Item::new(mig::IN | mig::OUT, mig::INTEGER_8, mig::Count::One, 1, 1),
        // half
        mig::Item::new(mig::IN | mig::OUT, mig::INTEGER_16, mig::Count::One, 2, 2),
        // word
        mig::Item::new(mig::IN | mig::OUT, mig::INTEGER_32, mig::Count::One, 4, 4),
        // wide
        mig::Item::new(mig::IN | mig::OUT, mig::INTEGER_64, mig::Count::One, 8, 8),
        // flags
        mig::Item::new(mig::IN, mig::BOOLEAN, mig::Count::UpTo(10), 4, 4),
        // flags_out
        mig::Item::new(mig::OUT, mig::BOOLEAN, mig::Count::UpTo(10), 4, 4),
        // big
        mig::Item::new(
            mig::IN | mig::OUT,
            mig::INTEGER_32,
            mig::Count::Fixed(2000),
            4,
            4,
        ),
    ];
}

/// A server of the subsystem sampler: each of its routines is a method.
#[derive(Debug)]
pub struct Sampler(pub mig::SendRight);

impl Sampler {
    /// sampler.defs:56, message 7000:
    /// `routine null(server: mach_port_t);`
    pub fn null(&self) -> Result<(), mig::Error> {
        let call = mig::Call::<NullTrap, 0>::new();
        let Some(made) = call.make(&self.0) else {
            return NullTrap::send(self);
        };
        made
    }

    /// sampler.defs:59, message 7001:
    /// `routine four(server: mach_port_t; a: int; b: int; c: int; d: int; out w: int; out x: int;
    /// out y: int; out z: int);`
    pub fn four(&self, a: i32, b: i32, c: i32, d: i32) -> Result<FourReply, mig::Error> {
        let mut w_memory = mig::Slot::<1>::new();
        let mut x_memory = mig::Slot::<1>::new();
        let mut y_memory = mig::Slot::<1>::new();
        let mut z_memory = mig::Slot::<1>::new();
        let mut call = mig::Call::<FourTrap, 6>::new();
        call.value(&a);
        call.value(&b);
        call.value(&c);
        call.value(&d);
        call.output(&mut w_memory);
        call.output(&mut x_memory);
        call.output(&mut y_memory);
        call.output(&mut z_memory);
        let Some(made) = call.make(&self.0) else {
            return FourTrap::send(self, a, b, c, d);
        };
        made?;
        let w: i32 = w_memory.get();
        let x: i32 = x_memory.get();
        let y: i32 = y_memory.get();
        let z: i32 = z_memory.get();
        Ok(FourReply { w, x, y, z })
    }

    /// sampler.defs:64, message 7002:
    /// `routine sizes(requestport server: mach_port_t; inout a: char; inout b: short; inout c:
    /// int64; inout d: boolean_t; inout e: double);`
    pub fn sizes(&self, a: u8, b: i16, c: i64, d: bool, e: f64) -> Result<SizesReply, mig::Error> {
        let mut a_memory = mig::Slot::<1>::new();
        let mut b_memory = mig::Slot::<1>::new();
        let mut c_memory = mig::Slot::<1>::new();
        let mut d_memory = mig::Slot::<1>::new();
        let mut e_memory = mig::Slot::<1>::new();
        let mut call = mig::Call::<SizesTrap, 5>::new();
        call.input(&mut a_memory, &a);
        call.input(&mut b_memory, &b);
        call.input(&mut c_memory, &c);
        call.input(&mut d_memory, &d);
        call.input(&mut e_memory, &e);
        let Some(made) = call.make(&self.0) else {
            return SizesTrap::send(self, a, b, c, d, e);
        };
        made?;
        let a: u8 = a_memory.get();
        let b: i16 = b_memory.get();
        let c: i64 = c_memory.get();
        let d: bool = d_memory.get();
        let e: f64 = e_memory.get();
        Ok(SizesReply { a, b, c, d, e })
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
        if !mig::may_call::<StringsTrap>(&self.0) {
            return StringsTrap::send(self, word, label, old, both);
        }
        let mut word_out_memory = mig::Text::new(64);
        let mut label_out_memory = mig::Text::new(16);
        let mut old_out_memory = mig::Text::new(24);
        let mut both_memory = mig::Text::of(both, 64);
        let mut call = mig::Call::<StringsTrap, 7>::new();
        call.text(word);
        call.text(label);
        call.text(old);
        call.room(&mut word_out_memory);
        call.room(&mut label_out_memory);
        call.room(&mut old_out_memory);
        call.room(&mut both_memory);
        let Some(made) = call.make(&self.0) else {
            return StringsTrap::send(self, word, label, old, both);
        };
        made?;
        let word_out: CString = word_out_memory.take()?;
        let label_out: CString = label_out_memory.take()?;
        let old_out: CString = old_out_memory.take()?;
        let both: CString = both_memory.take()?;
        Ok(StringsReply {
            word_out,
            label_out,
            old_out,
            both,
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
        if !mig::may_call::<StructuresTrap>(&self.0) {
            return StructuresTrap::send(self, pair, record, list);
        }
        let mut pair_out_memory = mig::Slot::<1>::new();
        let mut record_memory = mig::Slot::<3>::new();
        let list_memory = mig::Packed::new(list);
        let mut list_out_memory = mig::List::<Record>::new(8);
        let mut call = mig::Call::<StructuresTrap, 7>::new();
        call.value(pair);
        call.output(&mut pair_out_memory);
        call.input(&mut record_memory, record);
        call.array(&list_memory);
        call.list(&mut list_out_memory);
        let Some(made) = call.make(&self.0) else {
            return StructuresTrap::send(self, pair, record, list);
        };
        made?;
        let pair_out: [i16; 2] = pair_out_memory.get();
        let record: Record = record_memory.get();
        let list_out: Vec<Record> = list_out_memory.take()?;
        Ok(StructuresReply {
            pair_out,
            record,
            list_out,
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
        if !mig::may_call::<ArraysTrap>(&self.0) {
            return ArraysTrap::send(self, four, bytes, add, more, both);
        }
        let four_memory = mig::Packed::new(four);
        let bytes_memory = mig::Packed::new(bytes);
        let more_memory = mig::Packed::new(more);
        let mut four_out_memory = mig::Slot::<2>::new();
        let mut bytes_out_memory = mig::List::<u8>::new(100);
        let mut sum_memory = mig::Slot::<1>::new();
        let mut both_memory = mig::List::of(both, 4095);
        let mut last_memory = mig::Slot::<1>::new();
        let mut call = mig::Call::<ArraysTrap, 12>::new();
        call.array(&four_memory);
        call.array(&bytes_memory);
        call.value(&add);
        call.array(&more_memory);
        call.output(&mut four_out_memory);
        call.list(&mut bytes_out_memory);
        call.output(&mut sum_memory);
        call.list(&mut both_memory);
        call.output(&mut last_memory);
        let Some(made) = call.make(&self.0) else {
            return ArraysTrap::send(self, four, bytes, add, more, both);
        };
        made?;
        let four_out: [i32; 4] = four_out_memory.get();
        let bytes_out: Vec<u8> = bytes_out_memory.take()?;
        let sum: i64 = sum_memory.get();
        let both: Vec<i32> = both_memory.take()?;
        let last: i32 = last_memory.get();
        Ok(ArraysReply {
            four_out,
            bytes_out,
            sum,
            both,
            last,
        })
    }

    /// sampler.defs:106, message 7007:
    /// `routine room(server: mach_port_t; out list: ints_t, countinout; out told: natural_t);`
    pub fn room(&self, list_room: u32) -> Result<RoomReply, mig::Error> {
        if !mig::may_call::<RoomTrap>(&self.0) {
            return RoomTrap::send(self, list_room);
        }
        let mut list_memory = mig::List::<i32>::within(4095, list_room);
        let mut told_memory = mig::Slot::<1>::new();
        let mut call = mig::Call::<RoomTrap, 3>::new();
        call.list(&mut list_memory);
        call.output(&mut told_memory);
        let Some(made) = call.make(&self.0) else {
            return RoomTrap::send(self, list_room);
        };
        made?;
        let list: Vec<i32> = list_memory.take()?;
        let told: u32 = told_memory.get();
        Ok(RoomReply { list, told })
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
        let mut other_memory = mig::Slot::<1>::new();
        let mut third_memory = mig::Slot::<1>::new();
        let mut call = mig::Call::<AccountsTrap, 3>::new();
        call.value(&account);
        call.input(&mut other_memory, &other);
        call.output(&mut third_memory);
        let Some(made) = call.make(&self.0) else {
            return AccountsTrap::send(self, account, other);
        };
        made?;
        let other: i32 = other_memory.get();
        let third: i32 = third_memory.get();
        Ok(AccountsReply { other, third })
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
        if !mig::may_call::<ToldTrap>(&self.0) {
            return ToldTrap::send(self);
        }
        let mut word_memory = mig::Text::new(64);
        let mut call = mig::Call::<ToldTrap, 1>::new();
        call.room(&mut word_memory);
        let Some(made) = call.make(&self.0) else {
            return ToldTrap::send(self);
        };
        made?;
        let word: CString = word_memory.take()?;
        Ok(word)
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
        if !mig::may_call::<NumbersTrap>(&self.0) {
            return NumbersTrap::send(self, real, tiny, byte, half, word, wide, flags, big);
        }
        let mut real_memory = mig::Slot::<1>::new();
        let mut tiny_memory = mig::Slot::<1>::new();
        let mut byte_memory = mig::Slot::<1>::new();
        let mut half_memory = mig::Slot::<1>::new();
        let mut word_memory = mig::Slot::<1>::new();
        let mut wide_memory = mig::Slot::<1>::new();
        let flags_memory = mig::Packed::new(flags);
        let mut flags_out_memory = mig::List::<bool>::new(10);
        let mut big_memory = mig::FarSlot::new(1000);
        let mut call = mig::Call::<NumbersTrap, 11>::new();
        call.input(&mut real_memory, &real);
        call.input(&mut tiny_memory, &tiny);
        call.input(&mut byte_memory, &byte);
        call.input(&mut half_memory, &half);
        call.input(&mut word_memory, &word);
        call.input(&mut wide_memory, &wide);
        call.array(&flags_memory);
        call.list(&mut flags_out_memory);
        call.input(&mut big_memory, big);
        let Some(made) = call.make(&self.0) else {
            return NumbersTrap::send(self, real, tiny, byte, half, word, wide, flags, big);
        };
        made?;
        let real: f32 = real_memory.get();
        let tiny: i8 = tiny_memory.get();
        let byte: u8 = byte_memory.get();
        let half: u16 = half_memory.get();
        let word: u32 = word_memory.get();
        let wide: u64 = wide_memory.get();
        let flags_out: Vec<bool> = flags_out_memory.take()?;
        let big: Box<[i32; 2000]> = big_memory.get();
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

impl NullTrap {
    /// sampler.defs:56, message 7000:
    /// `routine null(server: mach_port_t);`
    #[inline(never)]
    fn send(client: &Sampler) -> Result<(), mig::Error> {
        let request = mig::Request::new(7000, "sampler.null");
        request.call(&client.0, 48, |_| Ok(()))
    }
}

impl FourTrap {
    /// sampler.defs:59, message 7001:
    /// `routine four(server: mach_port_t; a: int; b: int; c: int; d: int; out w: int; out x: int;
    /// out y: int; out z: int);`
    #[inline(never)]
    fn send(client: &Sampler, a: i32, b: i32, c: i32, d: i32) -> Result<FourReply, mig::Error> {
        let mut request = mig::Request::new(7001, "sampler.four");
        request.value(mig::INTEGER_32, &a);
        request.value(mig::INTEGER_32, &b);
        request.value(mig::INTEGER_32, &c);
        request.value(mig::INTEGER_32, &d);
        request.call(&client.0, 112, |reply| {
            let w: i32 = reply.value(mig::INTEGER_32)?;
            let x: i32 = reply.value(mig::INTEGER_32)?;
            let y: i32 = reply.value(mig::INTEGER_32)?;
            let z: i32 = reply.value(mig::INTEGER_32)?;
            Ok(FourReply { w, x, y, z })
        })
    }
}

impl SizesTrap {
    /// sampler.defs:64, message 7002:
    /// `routine sizes(requestport server: mach_port_t; inout a: char; inout b: short; inout c:
    /// int64; inout d: boolean_t; inout e: double);`
    #[inline(never)]
    fn send(
        client: &Sampler,
        a: u8,
        b: i16,
        c: i64,
        d: bool,
        e: f64,
    ) -> Result<SizesReply, mig::Error> {
        let mut request = mig::Request::new(7002, "sampler.sizes");
        request.value(mig::CHAR, &a);
        request.value(mig::INTEGER_16, &b);
        request.value(mig::INTEGER_64, &c);
        request.value(mig::BOOLEAN, &d);
        request.value(mig::REAL_64, &e);
        request.call(&client.0, 128, |reply| {
            let a: u8 = reply.value(mig::CHAR)?;
            let b: i16 = reply.value(mig::INTEGER_16)?;
            let c: i64 = reply.value(mig::INTEGER_64)?;
            let d: bool = reply.value(mig::BOOLEAN)?;
            let e: f64 = reply.value(mig::REAL_64)?;
            Ok(SizesReply { a, b, c, d, e })
        })
    }
}

impl StringsTrap {
    /// sampler.defs:74, message 7004:
    /// `routine strings(server: mach_port_t; word: word_t; label: label_t; old: old_string_t; out
    /// word_out: word_t; out label_out: label_t; out old_out: old_string_t; inout both: word_t);`
    #[inline(never)]
    fn send(
        client: &Sampler,
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
        request.call(&client.0, 248, |reply| {
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
}

impl StructuresTrap {
    /// sampler.defs:84, message 7005:
    /// `routine structures(server: mach_port_t; pair: short_pair_t; out pair_out: short_pair_t;
    /// inout record: record_t; list: record_array_t; out list_out: record_array_t);`
    #[inline(never)]
    fn send(
        client: &Sampler,
        pair: &[i16; 2],
        record: &Record,
        list: &[Record],
    ) -> Result<StructuresReply, mig::Error> {
        let mut request = mig::Request::new(7005, "sampler.structures");
        request.value(mig::INTEGER_16.times(2), pair);
        request.value(mig::BYTE.times(24), record);
        request.list(mig::BYTE.times(24), 8, list);
        request.call(&client.0, 296, |reply| {
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
}

impl ArraysTrap {
    /// sampler.defs:93, message 7006:
    /// `routine arrays(server: mach_port_t; four: four_ints_t; bytes: bytes_t; add: int; more:
    /// ints_t; out four_out: four_ints_t; out bytes_out: bytes_t; out sum: int64; inout both:
    /// ints_t; out last: int);`
    #[inline(never)]
    fn send(
        client: &Sampler,
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
        request.call(&client.0, 16608, |reply| {
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
}

impl RoomTrap {
    /// sampler.defs:106, message 7007:
    /// `routine room(server: mach_port_t; out list: ints_t, countinout; out told: natural_t);`
    #[inline(never)]
    fn send(client: &Sampler, list_room: u32) -> Result<RoomReply, mig::Error> {
        let mut request = mig::Request::new(7007, "sampler.room");
        request.value(mig::INTEGER_32, &list_room);
        request.call(&client.0, 16456, |reply| {
            let list: Vec<i32> = reply.list_within(mig::INTEGER_32, 4095, list_room)?;
            let told: u32 = reply.value(mig::INTEGER_32)?;
            Ok(RoomReply { list, told })
        })
    }
}

impl AccountsTrap {
    /// sampler.defs:150, message 7012:
    /// `routine accounts(server: mach_port_t; account: account_t; inout other: account_t; out
    /// third: account_t);`
    #[inline(never)]
    fn send(client: &Sampler, account: i32, other: i32) -> Result<AccountsReply, mig::Error> {
        let mut request = mig::Request::new(7012, "sampler.accounts");
        request.value(mig::INTEGER_32, &account);
        request.value(mig::INTEGER_32, &other);
        request.call(&client.0, 80, |reply| {
            let other: i32 = reply.value(mig::INTEGER_32)?;
            let third: i32 = reply.value(mig::INTEGER_32)?;
            Ok(AccountsReply { other, third })
        })
    }
}

impl ToldTrap {
    /// sampler.defs:167, message 7015:
    /// `routine told(server: mach_port_t; out word: word_t);`
    #[inline(never)]
    fn send(client: &Sampler) -> Result<CString, mig::Error> {
        let request = mig::Request::new(7015, "sampler.told");
        request.call(&client.0, 120, |reply| {
            let word: CString = reply.string(64)?;
            Ok(word)
        })
    }
}

impl NumbersTrap {
    /// sampler.defs:213, message 7021:
    /// `routine numbers(server: mach_port_t; inout real: float; inout tiny: int8_t; inout byte:
    /// uint8_t; inout half: uint16_t; inout word: unsigned; inout wide: uint64_t; flags: flags_t;
    /// out flags_out: flags_t; inout big: big_t);`
    #[inline(never)]
    #[allow(clippy::too_many_arguments)]
    fn send(
        client: &Sampler,
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
        request.call(&client.0, 8200, |reply| {
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

impl<S: SamplerServer> mig::Trapped<S> for NullTrap {
    fn serve(server: &mut S, call: &mut mig::Called<Self>) -> Result<(), mig::Code> {
        server.null(call.target())
    }
}

impl<S: SamplerServer> mig::Trapped<S> for FourTrap {
    fn serve(server: &mut S, call: &mut mig::Called<Self>) -> Result<(), mig::Code> {
        let a: i32 = call.value()?;
        let b: i32 = call.value()?;
        let c: i32 = call.value()?;
        let d: i32 = call.value()?;
        let out = server.four(call.target(), a, b, c, d)?;
        call.give(|results| {
            results.value(&out.w);
            results.value(&out.x);
            results.value(&out.y);
            results.value(&out.z);
        })
    }
}

impl<S: SamplerServer> mig::Trapped<S> for SizesTrap {
    fn serve(server: &mut S, call: &mut mig::Called<Self>) -> Result<(), mig::Code> {
        let a: u8 = call.value()?;
        let b: i16 = call.value()?;
        let c: i64 = call.value()?;
        let d: bool = call.value()?;
        let e: f64 = call.value()?;
        let out = server.sizes(call.target(), a, b, c, d, e)?;
        call.give(|results| {
            results.value(&out.a);
            results.value(&out.b);
            results.value(&out.c);
            results.value(&out.d);
            results.value(&out.e);
        })
    }
}

impl<S: SamplerServer> mig::Trapped<S> for StringsTrap {
    fn serve(server: &mut S, call: &mut mig::Called<Self>) -> Result<(), mig::Code> {
        let word: CString = call.text()?;
        let label: CString = call.text()?;
        let old: CString = call.text()?;
        let both: CString = call.text()?;
        let out = server.strings(call.target(), word, label, old, both)?;
        call.give(|results| {
            results.text(&out.word_out);
            results.text(&out.label_out);
            results.text(&out.old_out);
            results.text(&out.both);
        })
    }
}

impl<S: SamplerServer> mig::Trapped<S> for StructuresTrap {
    fn serve(server: &mut S, call: &mut mig::Called<Self>) -> Result<(), mig::Code> {
        let pair: [i16; 2] = call.value()?;
        let record: Record = call.value()?;
        let list: Vec<Record> = call.list()?;
        let out = server.structures(call.target(), pair, record, list)?;
        call.give(|results| {
            results.value(&out.pair_out);
            results.value(&out.record);
            results.list(&out.list_out);
        })
    }
}

impl<S: SamplerServer> mig::Trapped<S> for ArraysTrap {
    fn serve(server: &mut S, call: &mut mig::Called<Self>) -> Result<(), mig::Code> {
        let four: [i32; 4] = call.value()?;
        let bytes: Vec<u8> = call.list()?;
        let add: i32 = call.value()?;
        let more: Vec<i32> = call.list()?;
        let both: Vec<i32> = call.list()?;
        let out = server.arrays(call.target(), four, bytes, add, more, both)?;
        call.give(|results| {
            results.value(&out.four_out);
            results.list(&out.bytes_out);
            results.value(&out.sum);
            results.list(&out.both);
            results.value(&out.last);
        })
    }
}

impl<S: SamplerServer> mig::Trapped<S> for RoomTrap {
    fn serve(server: &mut S, call: &mut mig::Called<Self>) -> Result<(), mig::Code> {
        let list_room: u32 = call.room()?;
        let out = server.room(call.target(), list_room)?;
        call.give(|results| {
            results.list(&out.list);
            results.value(&out.told);
        })
    }
}

impl<S: SamplerServer> mig::Trapped<S> for AccountsTrap {
    fn serve(server: &mut S, call: &mut mig::Called<Self>) -> Result<(), mig::Code> {
        let account: i32 = call.value()?;
        let other: i32 = call.value()?;
        let account = server.account_by_number(account);
        let other = server.account_by_number(other);
        let out = server.accounts(call.target(), account, other)?;
        let other_value = server.account_number(out.other);
        let third_value = server.account_number(out.third);
        call.give(|results| {
            results.value(&other_value);
            results.value(&third_value);
        })
    }
}

impl<S: SamplerServer> mig::Trapped<S> for ToldTrap {
    fn serve(server: &mut S, call: &mut mig::Called<Self>) -> Result<(), mig::Code> {
        let word = server.told(call.target())?;
        call.give(|results| {
            results.text(&word);
        })
    }
}

impl<S: SamplerServer> mig::Trapped<S> for NumbersTrap {
    fn serve(server: &mut S, call: &mut mig::Called<Self>) -> Result<(), mig::Code> {
        let real: f32 = call.value()?;
        let tiny: i8 = call.value()?;
        let byte: u8 = call.value()?;
        let half: u16 = call.value()?;
        let word: u32 = call.value()?;
        let wide: u64 = call.value()?;
        let flags: Vec<bool> = call.list()?;
        let big: Box<[i32; 2000]> = call.value()?;
        let out = server.numbers(
            call.target(),
            real,
            tiny,
            byte,
            half,
            word,
            wide,
            flags,
            big,
        )?;
        call.give(|results| {
            results.value(&out.real);
            results.value(&out.tiny);
            results.value(&out.byte);
            results.value(&out.half);
            results.value(&out.word);
            results.value(&out.wide);
            results.list(&out.flags_out);
            results.value(&out.big);
        })
    }
}

/// The routines that can be called within a process, for `mig::serve_traps` and its kin.
pub fn traps<S: SamplerServer, W: mig::Way<S>>() -> mig::Traps<S, W> {
    let mut table = mig::Traps::new(7000, 26);
    table.add::<NullTrap>();
    table.add::<FourTrap>();
    table.add::<SizesTrap>();
    table.add::<StringsTrap>();
    table.add::<StructuresTrap>();
    table.add::<ArraysTrap>();
    table.add::<RoomTrap>();
    table.add::<AccountsTrap>();
    table.add::<ToldTrap>();
    table.add::<NumbersTrap>();
    table
}
