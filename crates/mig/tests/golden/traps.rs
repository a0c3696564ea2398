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

/// `nothing`, as it is called within a process.
enum NothingTrap {}

impl mig::Trap for NothingTrap {
    const ID: i32 = 8000;
    const NAME: &'static str = "nothing";
    const TRIED: &'static str = "traps.nothing";
    const ITEMS: &'static [mig::Item] = &[];
}

/// `numbers`, as it is called within a process.
enum NumbersTrap {}

impl mig::Trap for NumbersTrap {
    const ID: i32 = 8001;
    const NAME: &'static str = "numbers";
    const TRIED: &'static str = "traps.numbers";
    const ITEMS: &'static [mig::Item] = &[
        // a
        mig::Item::new(mig::IN, mig::CHAR, mig::Count::One, 1, 1),
        // b
        mig::Item::new(mig::IN, mig::INTEGER_16, mig::Count::One, 2, 2),
        // c
        mig::Item::new(mig::IN, mig::INTEGER_32, mig::Count::One, 4, 4),
        // d
        mig::Item::new(mig::IN, mig::INTEGER_64, mig::Count::One, 8, 8),
        // e
        mig::Item::new(mig::IN, mig::REAL_64, mig::Count::One, 8, 8),
        // f
        mig::Item::new(mig::OUT, mig::INTEGER_32, mig::Count::One, 4, 4),
        // g
        mig::Item::new(mig::OUT, mig::REAL_64, mig::Count::One, 8, 8),
        // h
        mig::Item::new(mig::IN | mig::OUT, mig::INTEGER_64, mig::Count::One, 8, 8),
        // code
        mig::Item::new(mig::IN, mig::INTEGER_32, mig::Count::One, 4, 4),
    ];
}

/// `behind`, as it is called within a process.
enum BehindTrap {}

impl mig::Trap for BehindTrap {
    const ID: i32 = 8002;
    const NAME: &'static str = "behind";
    const TRIED: &'static str = "traps.behind";
    const ITEMS: &'static [mig::Item] = &[
        // number
        mig::Item::new(mig::IN, mig::INTEGER_32, mig::Count::One, 4, 4),
        // doubled
        mig::Item::new(mig::OUT, mig::INTEGER_32, mig::Count::One, 4, 4),
    ];
}

/// `records`, as it is called within a process.
enum RecordsTrap {}

impl mig::Trap for RecordsTrap {
    const ID: i32 = 8003;
    const NAME: &'static str = "records";
    const TRIED: &'static str = "traps.records";
    const ITEMS: &'static [mig::Item] = &[
        // one
        mig::Item::new(mig::IN, mig::INTEGER_64.times(3), mig::Count::One, 24, 8),
        // two
        mig::Item::new(mig::OUT, mig::INTEGER_64.times(3), mig::Count::One, 24, 8),
        // three
        mig::Item::new(
            mig::IN | mig::OUT,
            mig::INTEGER_64.times(3),
            mig::Count::One,
            24,
            8,
        ),
        // list
        mig::Item::new(
            mig::IN,
            mig::INTEGER_64.times(3),
            mig::Count::UpTo(5),
            24,
            8,
        ),
        // list_out
        mig::Item::new(
            mig::OUT,
            mig::INTEGER_64.times(3),
            mig::Count::UpTo(5),
            24,
            8,
        ),
        // code
        mig::Item::new(mig::IN, mig::INTEGER_32, mig::Count::One, 4, 4),
    ];
}

/// `scribble`, as it is called within a process.
enum ScribbleTrap {}

impl mig::Trap for ScribbleTrap {
    const ID: i32 = 8004;
    const NAME: &'static str = "scribble";
    const TRIED: &'static str = "traps.scribble";
    const ITEMS: &'static [mig::Item] = &[
        // three
        mig::Item::new(mig::IN, mig::INTEGER_16, mig::Count::Fixed(3), 2, 2),
        // list
        mig::Item::new(mig::IN, mig::INTEGER_32, mig::Count::UpTo(10), 4, 4),
        // word
        mig::Item::new(mig::IN | mig::TEXT, mig::STRING, mig::Count::UpTo(16), 1, 1),
        // label
        mig::Item::new(
            mig::IN | mig::TEXT,
            mig::STRING,
            mig::Count::Fixed(12),
            1,
            1,
        ),
        // one
        mig::Item::new(mig::IN, mig::INTEGER_64.times(3), mig::Count::One, 24, 8),
    ];
}

/// `lent`, as it is called within a process.
enum LentTrap {}

impl mig::Trap for LentTrap {
    const ID: i32 = 8005;
    const NAME: &'static str = "lent";
    const TRIED: &'static str = "traps.lent";
    const ITEMS: &'static [mig::Item] = &[
        // three
        mig::Item::new(mig::IN, mig::INTEGER_16, mig::Count::Fixed(3), 2, 2),
        // list
        mig::Item::new(mig::IN, mig::INTEGER_32, mig::Count::UpTo(10), 4, 4),
        // word
        mig::Item::new(mig::IN | mig::TEXT, mig::STRING, mig::Count::UpTo(16), 1, 1),
        // label
        mig::Item::new(
            mig::IN | mig::TEXT,
            mig::STRING,
            mig::Count::Fixed(12),
            1,
            1,
        ),
        // address
        mig::Item::new(mig::IN, mig::INTEGER_64, mig::Count::One, 8, 8),
        // same
        mig::Item::new(mig::OUT, mig::INTEGER_32, mig::Count::One, 4, 4),
    ];
}

/// `strings`, as it is called within a process.
enum StringsTrap {}

impl mig::Trap for StringsTrap {
    const ID: i32 = 8006;
    const NAME: &'static str = "strings";
    const TRIED: &'static str = "traps.strings";
    const ITEMS: &'static [mig::Item] = &[
        // word
        mig::Item::new(mig::IN | mig::TEXT, mig::STRING, mig::Count::UpTo(16), 1, 1),
        // label
        mig::Item::new(
            mig::IN | mig::TEXT,
            mig::STRING,
            mig::Count::Fixed(12),
            1,
            1,
        ),
        // word_out
        mig::Item::new(
            mig::OUT | mig::TEXT,
            mig::STRING,
            mig::Count::UpTo(16),
            1,
            1,
        ),
        // label_out
        mig::Item::new(
            mig::OUT | mig::TEXT,
            mig::STRING,
            mig::Count::Fixed(12),
            1,
            1,
        ),
        // word_both
        mig::Item::new(
            mig::IN | mig::OUT | mig::TEXT,
            mig::STRING,
            mig::Count::UpTo(16),
            1,
            1,
        ),
        // label_both
        mig::Item::new(
            mig::IN | mig::OUT | mig::TEXT,
            mig::STRING,
            mig::Count::Fixed(12),
            1,
            1,
        ),
        // code
        mig::Item::new(mig::IN, mig::INTEGER_32, mig::Count::One, 4, 4),
    ];
}

/// `arrays`, as it is called within a process.
enum ArraysTrap {}

impl mig::Trap for ArraysTrap {
    const ID: i32 = 8007;
    const NAME: &'static str = "arrays";
    const TRIED: &'static str = "traps.arrays";
    const ITEMS: &'static [mig::Item] = &[
        // list
        mig::Item::new(mig::IN, mig::INTEGER_32, mig::Count::UpTo(10), 4, 4),
        // claim
        mig::Item::new(mig::IN, mig::INTEGER_32, mig::Count::One, 4, 4),
        // three
        mig::Item::new(mig::OUT, mig::INTEGER_16, mig::Count::Fixed(3), 2, 2),
        // list_out
        mig::Item::new(mig::OUT, mig::INTEGER_32, mig::Count::UpTo(10), 4, 4),
        // list_both
        mig::Item::new(
            mig::IN | mig::OUT,
            mig::INTEGER_32,
            mig::Count::UpTo(10),
            4,
            4,
        ),
        // code
        mig::Item::new(mig::IN, mig::INTEGER_32, mig::Count::One, 4, 4),
    ];
}

/// `room`, as it is called within a process.
enum RoomTrap {}

impl mig::Trap for RoomTrap {
    const ID: i32 = 8008;
    const NAME: &'static str = "room";
    const TRIED: &'static str = "traps.room";
    const ITEMS: &'static [mig::Item] = &[
        // claim
        mig::Item::new(mig::IN, mig::INTEGER_32, mig::Count::One, 4, 4),
        // list
        mig::Item::new(
            mig::OUT | mig::COUNT_IN_OUT,
            mig::INTEGER_32,
            mig::Count::UpTo(10),
            4,
            4,
        ),
        // told
        mig::Item::new(mig::OUT, mig::INTEGER_32, mig::Count::One, 4, 4),
    ];
}

/// `pairs`, as it is called within a process.
enum PairsTrap {}

impl mig::Trap for PairsTrap {
    const ID: i32 = 8009;
    const NAME: &'static str = "pairs";
    const TRIED: &'static str = "traps.pairs";
    const ITEMS: &'static [mig::Item] = &[
        // keys
        mig::Item::new(mig::IN, mig::INTEGER_32, mig::Count::UpTo(10), 4, 4),
        // values
        mig::Item::new(
            mig::IN | mig::SAME_COUNT,
            mig::INTEGER_32,
            mig::Count::UpTo(10),
            4,
            4,
        ),
        // keys_out
        mig::Item::new(mig::OUT, mig::INTEGER_32, mig::Count::UpTo(10), 4, 4),
        // values_out
        mig::Item::new(
            mig::OUT | mig::SAME_COUNT,
            mig::INTEGER_32,
            mig::Count::UpTo(10),
            4,
            4,
        ),
        // code
        mig::Item::new(mig::IN, mig::INTEGER_32, mig::Count::One, 4, 4),
    ];
}

/// `many`, as it is called within a process.
enum ManyTrap {}

impl mig::Trap for ManyTrap {
    const ID: i32 = 8010;
    const NAME: &'static str = "many";
    const TRIED: &'static str = "traps.many";
    const ITEMS: &'static [mig::Item] = &[
        // list
        mig::Item::new(mig::IN, mig::INTEGER_32, mig::Count::UpTo(20000), 4, 4),
        // list_out
        mig::Item::new(mig::OUT, mig::INTEGER_32, mig::Count::UpTo(20000), 4, 4),
        // code
        mig::Item::new(mig::IN, mig::INTEGER_32, mig::Count::One, 4, 4),
    ];
}

/// `moneys`, as it is called within a process.
enum MoneysTrap {}

impl mig::Trap for MoneysTrap {
    const ID: i32 = 8011;
    const NAME: &'static str = "moneys";
    const TRIED: &'static str = "traps.moneys";
    const ITEMS: &'static [mig::Item] = &[
        // one
        mig::Item::new(mig::IN, mig::INTEGER_32, mig::Count::One, 4, 4),
        // two
        mig::Item::new(mig::IN | mig::OUT, mig::INTEGER_32, mig::Count::One, 4, 4),
        // three
        mig::Item::new(mig::OUT, mig::INTEGER_32, mig::Count::One, 4, 4),
        // code
        mig::Item::new(mig::IN, mig::INTEGER_32, mig::Count::One, 4, 4),
    ];
}

/// `object`, as it is called within a process.
enum ObjectTrap {}

impl mig::Trap for ObjectTrap {
    const ID: i32 = 8012;
    const NAME: &'static str = "object";
    const TRIED: &'static str = "traps.object";
    const ITEMS: &'static [mig::Item] = &[
        // number
        mig::Item::new(mig::OUT, mig::INTEGER_32, mig::Count::One, 4, 4),
    ];
}

/// `told`, as it is called within a process.
enum ToldTrap {}

impl mig::Trap for ToldTrap {
    const ID: i32 = 8014;
    const NAME: &'static str = "told";
    const TRIED: &'static str = "traps.told";
    const ITEMS: &'static [mig::Item] = &[
        // number
        mig::Item::new(mig::OUT, mig::INTEGER_32, mig::Count::One, 4, 4),
    ];
}

/// A server of the subsystem traps: each of its routines is a method.
#[derive(Debug)]
pub struct Traps(pub mig::SendRight);

impl Traps {
    /// trap.defs:28, message 8000:
    /// `routine nothing(server: mach_port_t);`
    pub fn nothing(&self) -> Result<(), mig::Error> {
        let call = mig::Call::<NothingTrap, 0>::new();
        let Some(made) = call.make(&self.0) else {
            return NothingTrap::send(self);
        };
        made
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
        let mut f_memory = mig::Slot::<1>::new();
        let mut g_memory = mig::Slot::<1>::new();
        let mut h_memory = mig::Slot::<1>::new();
        let mut call = mig::Call::<NumbersTrap, 7>::new();
        call.value(&a);
        call.value(&b);
        call.value(&c);
        call.value(&d);
        call.value(&e);
        call.output(&mut f_memory);
        call.output(&mut g_memory);
        call.input(&mut h_memory, &h);
        call.value(&code);
        let Some(made) = call.make(&self.0) else {
            return NumbersTrap::send(self, a, b, c, d, e, h, code);
        };
        made?;
        let f: i32 = f_memory.get();
        let g: f64 = g_memory.get();
        let h: i64 = h_memory.get();
        Ok(NumbersReply { f, g, h })
    }

    /// trap.defs:39, message 8002:
    /// `routine behind(number: int; server: mach_port_t; out doubled: int);`
    pub fn behind(&self, number: i32) -> Result<i32, mig::Error> {
        let mut doubled_memory = mig::Slot::<1>::new();
        let mut call = mig::Call::<BehindTrap, 2>::new();
        call.value(&number);
        call.output(&mut doubled_memory);
        let Some(made) = call.make(&self.0) else {
            return BehindTrap::send(self, number);
        };
        made?;
        let doubled: i32 = doubled_memory.get();
        Ok(doubled)
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
        if !mig::may_call::<RecordsTrap>(&self.0) {
            return RecordsTrap::send(self, one, three, list, code);
        }
        let mut one_memory = mig::Slot::<3>::new();
        let mut two_memory = mig::Slot::<3>::new();
        let mut three_memory = mig::Slot::<3>::new();
        let list_memory = mig::Packed::new(list);
        let mut list_out_memory = mig::List::<[i64; 3]>::new(5);
        let mut call = mig::Call::<RecordsTrap, 8>::new();
        call.input(&mut one_memory, one);
        call.output(&mut two_memory);
        call.input(&mut three_memory, three);
        call.array(&list_memory);
        call.list(&mut list_out_memory);
        call.value(&code);
        let Some(made) = call.make(&self.0) else {
            return RecordsTrap::send(self, one, three, list, code);
        };
        made?;
        let two: [i64; 3] = two_memory.get();
        let three: [i64; 3] = three_memory.get();
        let list_out: Vec<[i64; 3]> = list_out_memory.take()?;
        Ok(RecordsReply {
            two,
            three,
            list_out,
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
        let three_memory = mig::Packed::new(three);
        let list_memory = mig::Packed::new(list);
        let mut one_memory = mig::Slot::<3>::new();
        let mut call = mig::Call::<ScribbleTrap, 6>::new();
        call.array(&three_memory);
        call.array(&list_memory);
        call.text(word);
        call.text(label);
        call.input(&mut one_memory, one);
        let Some(made) = call.make(&self.0) else {
            return ScribbleTrap::send(self, three, list, word, label, one);
        };
        made
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
        let three_memory = mig::Packed::new(three);
        let list_memory = mig::Packed::new(list);
        let mut same_memory = mig::Slot::<1>::new();
        let mut call = mig::Call::<LentTrap, 7>::new();
        call.array(&three_memory);
        call.array(&list_memory);
        call.text(word);
        call.text(label);
        call.value(&address);
        call.output(&mut same_memory);
        let Some(made) = call.make(&self.0) else {
            return LentTrap::send(self, three, list, word, label, address);
        };
        made?;
        let same: i32 = same_memory.get();
        Ok(same)
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
        if !mig::may_call::<StringsTrap>(&self.0) {
            return StringsTrap::send(self, word, label, word_both, label_both, code);
        }
        let mut word_out_memory = mig::Text::new(16);
        let mut label_out_memory = mig::Text::new(12);
        let mut word_both_memory = mig::Text::of(word_both, 16);
        let mut label_both_memory = mig::Text::of(label_both, 12);
        let mut call = mig::Call::<StringsTrap, 7>::new();
        call.text(word);
        call.text(label);
        call.room(&mut word_out_memory);
        call.room(&mut label_out_memory);
        call.room(&mut word_both_memory);
        call.room(&mut label_both_memory);
        call.value(&code);
        let Some(made) = call.make(&self.0) else {
            return StringsTrap::send(self, word, label, word_both, label_both, code);
        };
        made?;
        let word_out: CString = word_out_memory.take()?;
        let label_out: CString = label_out_memory.take()?;
        let word_both: CString = word_both_memory.take()?;
        let label_both: CString = label_both_memory.take()?;
        Ok(StringsReply {
            word_out,
            label_out,
            word_both,
            label_both,
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
        if !mig::may_call::<ArraysTrap>(&self.0) {
            return ArraysTrap::send(self, list, claim, list_both, code);
        }
        let list_memory = mig::Packed::new(list);
        let mut three_memory = mig::Slot::<1>::new();
        let mut list_out_memory = mig::List::<i32>::new(10);
        let mut list_both_memory = mig::List::of(list_both, 10);
        let mut call = mig::Call::<ArraysTrap, 8>::new();
        call.array(&list_memory);
        call.value(&claim);
        call.output(&mut three_memory);
        call.list(&mut list_out_memory);
        call.list(&mut list_both_memory);
        call.value(&code);
        let Some(made) = call.make(&self.0) else {
            return ArraysTrap::send(self, list, claim, list_both, code);
        };
        made?;
        let three: [i16; 3] = three_memory.get();
        let list_out: Vec<i32> = list_out_memory.take()?;
        let list_both: Vec<i32> = list_both_memory.take()?;
        Ok(ArraysReply {
            three,
            list_out,
            list_both,
        })
    }

    /// trap.defs:92, message 8008:
    /// `routine room(server: mach_port_t; claim: int; out list: ints_t, countinout; out told:
    /// int);`
    pub fn room(&self, claim: i32, list_room: u32) -> Result<RoomReply, mig::Error> {
        if !mig::may_call::<RoomTrap>(&self.0) {
            return RoomTrap::send(self, claim, list_room);
        }
        let mut list_memory = mig::List::<i32>::within(10, list_room);
        let mut told_memory = mig::Slot::<1>::new();
        let mut call = mig::Call::<RoomTrap, 4>::new();
        call.value(&claim);
        call.list(&mut list_memory);
        call.output(&mut told_memory);
        let Some(made) = call.make(&self.0) else {
            return RoomTrap::send(self, claim, list_room);
        };
        made?;
        let list: Vec<i32> = list_memory.take()?;
        let told: i32 = told_memory.get();
        Ok(RoomReply { list, told })
    }

    /// trap.defs:98, message 8009:
    /// `routine pairs(server: mach_port_t; keys: ints_t; values: ints_t, samecount; out keys_out:
    /// ints_t; out values_out: ints_t, samecount; code: int);`
    pub fn pairs(&self, keys: &[i32], values: &[i32], code: i32) -> Result<PairsReply, mig::Error> {
        if !mig::may_call::<PairsTrap>(&self.0) {
            return PairsTrap::send(self, keys, values, code);
        }
        let keys_memory = mig::Packed::new(keys);
        let values_memory = mig::Packed::new(values);
        let mut keys_out_memory = mig::List::<i32>::new(10);
        let mut values_out_memory = mig::List::<i32>::new(10);
        let mut call = mig::Call::<PairsTrap, 7>::new();
        call.array(&keys_memory);
        call.array(&values_memory);
        call.list(&mut keys_out_memory);
        call.list(&mut values_out_memory);
        call.value(&code);
        let Some(made) = call.make(&self.0) else {
            return PairsTrap::send(self, keys, values, code);
        };
        made?;
        let keys_out: Vec<i32> = keys_out_memory.take()?;
        let values_out: Vec<i32> = values_out_memory.take_same(keys_out.len())?;
        Ok(PairsReply {
            keys_out,
            values_out,
        })
    }

    /// trap.defs:107, message 8010:
    /// `routine many(server: mach_port_t; list: many_t; out list_out: many_t; code: int);`
    pub fn many(&self, list: &[i32], code: i32) -> Result<Vec<i32>, mig::Error> {
        if !mig::may_call::<ManyTrap>(&self.0) {
            return ManyTrap::send(self, list, code);
        }
        let list_memory = mig::Packed::new(list);
        let mut list_out_memory = mig::List::<i32>::new(20000);
        let mut call = mig::Call::<ManyTrap, 5>::new();
        call.array(&list_memory);
        call.list(&mut list_out_memory);
        call.value(&code);
        let Some(made) = call.make(&self.0) else {
            return ManyTrap::send(self, list, code);
        };
        made?;
        let list_out: Vec<i32> = list_out_memory.take()?;
        Ok(list_out)
    }

    /// trap.defs:113, message 8011:
    /// `routine moneys(server: mach_port_t; one: money_t; inout two: money_t; out three: money_t;
    /// code: int);`
    pub fn moneys(&self, one: i32, two: i32, code: i32) -> Result<MoneysReply, mig::Error> {
        let mut two_memory = mig::Slot::<1>::new();
        let mut three_memory = mig::Slot::<1>::new();
        let mut call = mig::Call::<MoneysTrap, 4>::new();
        call.value(&one);
        call.input(&mut two_memory, &two);
        call.output(&mut three_memory);
        call.value(&code);
        let Some(made) = call.make(&self.0) else {
            return MoneysTrap::send(self, one, two, code);
        };
        made?;
        let two: i32 = two_memory.get();
        let three: i32 = three_memory.get();
        Ok(MoneysReply { two, three })
    }

    /// trap.defs:121, message 8012:
    /// `routine object(server: object_t; out number: int);`
    pub fn object(&self) -> Result<i32, mig::Error> {
        let mut number_memory = mig::Slot::<1>::new();
        let mut call = mig::Call::<ObjectTrap, 1>::new();
        call.output(&mut number_memory);
        let Some(made) = call.make(&self.0) else {
            return ObjectTrap::send(self);
        };
        made?;
        let number: i32 = number_memory.get();
        Ok(number)
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
        let mut number_memory = mig::Slot::<1>::new();
        let mut call = mig::Call::<ToldTrap, 1>::new();
        call.output(&mut number_memory);
        let Some(made) = call.make(&self.0) else {
            return ToldTrap::send(self);
        };
        made?;
        let number: i32 = number_memory.get();
        Ok(number)
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

impl NothingTrap {
    /// trap.defs:28, message 8000:
    /// `routine nothing(server: mach_port_t);`
    #[inline(never)]
    fn send(client: &Traps) -> Result<(), mig::Error> {
        let request = mig::Request::new(8000, "traps.nothing");
        request.call(&client.0, 48, |_| Ok(()))
    }
}

impl NumbersTrap {
    /// trap.defs:31, message 8001:
    /// `routine numbers(server: mach_port_t; a: char; b: short; c: int; d: int64; e: double; out f:
    /// int; out g: double; inout h: int64; code: int);`
    #[inline(never)]
    #[allow(clippy::too_many_arguments)]
    fn send(
        client: &Traps,
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
        request.call(&client.0, 96, |reply| {
            let f: i32 = reply.value(mig::INTEGER_32)?;
            let g: f64 = reply.value(mig::REAL_64)?;
            let h: i64 = reply.value(mig::INTEGER_64)?;
            Ok(NumbersReply { f, g, h })
        })
    }
}

impl BehindTrap {
    /// trap.defs:39, message 8002:
    /// `routine behind(number: int; server: mach_port_t; out doubled: int);`
    #[inline(never)]
    fn send(client: &Traps, number: i32) -> Result<i32, mig::Error> {
        let mut request = mig::Request::new(8002, "traps.behind");
        request.value(mig::INTEGER_32, &number);
        request.call(&client.0, 64, |reply| {
            let doubled: i32 = reply.value(mig::INTEGER_32)?;
            Ok(doubled)
        })
    }
}

impl RecordsTrap {
    /// trap.defs:44, message 8003:
    /// `routine records(server: mach_port_t; one: record_t; out two: record_t; inout three:
    /// record_t; list: records_t; out list_out: records_t; code: int);`
    #[inline(never)]
    fn send(
        client: &Traps,
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
        request.call(&client.0, 240, |reply| {
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
}

impl ScribbleTrap {
    /// trap.defs:54, message 8004:
    /// `routine scribble(server: mach_port_t; three: three_t; list: ints_t; word: word_t; label:
    /// label_t; one: record_t);`
    #[inline(never)]
    fn send(
        client: &Traps,
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
        request.call(&client.0, 48, |_| Ok(()))
    }
}

impl LentTrap {
    /// trap.defs:63, message 8005:
    /// `routine lent(server: mach_port_t; three: three_t, const; list: ints_t, const; word: word_t,
    /// const; label: label_t, const; address: int64; out same: int);`
    #[inline(never)]
    fn send(
        client: &Traps,
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
        request.call(&client.0, 64, |reply| {
            let same: i32 = reply.value(mig::INTEGER_32)?;
            Ok(same)
        })
    }
}

impl StringsTrap {
    /// trap.defs:72, message 8006:
    /// `routine strings(server: mach_port_t; word: word_t; label: label_t; out word_out: word_t;
    /// out label_out: label_t; inout word_both: word_t; inout label_both: label_t; code: int);`
    #[inline(never)]
    fn send(
        client: &Traps,
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
        request.call(&client.0, 144, |reply| {
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
}

impl ArraysTrap {
    /// trap.defs:83, message 8007:
    /// `routine arrays(server: mach_port_t; list: ints_t; claim: int; out three: three_t; out
    /// list_out: ints_t; inout list_both: ints_t; code: int);`
    #[inline(never)]
    fn send(
        client: &Traps,
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
        request.call(&client.0, 160, |reply| {
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
}

impl RoomTrap {
    /// trap.defs:92, message 8008:
    /// `routine room(server: mach_port_t; claim: int; out list: ints_t, countinout; out told:
    /// int);`
    #[inline(never)]
    fn send(client: &Traps, claim: i32, list_room: u32) -> Result<RoomReply, mig::Error> {
        let mut request = mig::Request::new(8008, "traps.room");
        request.value(mig::INTEGER_32, &claim);
        request.value(mig::INTEGER_32, &list_room);
        request.call(&client.0, 112, |reply| {
            let list: Vec<i32> = reply.list_within(mig::INTEGER_32, 10, list_room)?;
            let told: i32 = reply.value(mig::INTEGER_32)?;
            Ok(RoomReply { list, told })
        })
    }
}

impl PairsTrap {
    /// trap.defs:98, message 8009:
    /// `routine pairs(server: mach_port_t; keys: ints_t; values: ints_t, samecount; out keys_out:
    /// ints_t; out values_out: ints_t, samecount; code: int);`
    #[inline(never)]
    fn send(
        client: &Traps,
        keys: &[i32],
        values: &[i32],
        code: i32,
    ) -> Result<PairsReply, mig::Error> {
        let mut request = mig::Request::new(8009, "traps.pairs");
        request.list(mig::INTEGER_32, 10, keys);
        request.same_count(keys.len(), values.len());
        request.list(mig::INTEGER_32, 10, values);
        request.value(mig::INTEGER_32, &code);
        request.call(&client.0, 144, |reply| {
            let keys_out: Vec<i32> = reply.list(mig::INTEGER_32, 10)?;
            let values_out: Vec<i32> = reply.list(mig::INTEGER_32, 10)?;
            reply.same_count(keys_out.len(), values_out.len())?;
            Ok(PairsReply {
                keys_out,
                values_out,
            })
        })
    }
}

impl ManyTrap {
    /// trap.defs:107, message 8010:
    /// `routine many(server: mach_port_t; list: many_t; out list_out: many_t; code: int);`
    #[inline(never)]
    fn send(client: &Traps, list: &[i32], code: i32) -> Result<Vec<i32>, mig::Error> {
        let mut request = mig::Request::new(8010, "traps.many");
        request.list(mig::INTEGER_32, 20000, list);
        request.value(mig::INTEGER_32, &code);
        request.call(&client.0, 80056, |reply| {
            let list_out: Vec<i32> = reply.list(mig::INTEGER_32, 20000)?;
            Ok(list_out)
        })
    }
}

impl MoneysTrap {
    /// trap.defs:113, message 8011:
    /// `routine moneys(server: mach_port_t; one: money_t; inout two: money_t; out three: money_t;
    /// code: int);`
    #[inline(never)]
    fn send(client: &Traps, one: i32, two: i32, code: i32) -> Result<MoneysReply, mig::Error> {
        let mut request = mig::Request::new(8011, "traps.moneys");
        request.value(mig::INTEGER_32, &one);
        request.value(mig::INTEGER_32, &two);
        request.value(mig::INTEGER_32, &code);
        request.call(&client.0, 80, |reply| {
            let two: i32 = reply.value(mig::INTEGER_32)?;
            let three: i32 = reply.value(mig::INTEGER_32)?;
            Ok(MoneysReply { two, three })
        })
    }
}

impl ObjectTrap {
    /// trap.defs:121, message 8012:
    /// `routine object(server: object_t; out number: int);`
    #[inline(never)]
    fn send(client: &Traps) -> Result<i32, mig::Error> {
        let request = mig::Request::new(8012, "traps.object");
        request.call(&client.0, 64, |reply| {
            let number: i32 = reply.value(mig::INTEGER_32)?;
            Ok(number)
        })
    }
}

impl ToldTrap {
    /// trap.defs:128, message 8014:
    /// `routine told(server: mach_port_t; out number: int);`
    #[inline(never)]
    fn send(client: &Traps) -> Result<i32, mig::Error> {
        let request = mig::Request::new(8014, "traps.told");
        request.call(&client.0, 64, |reply| {
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

impl<S: TrapsServer> mig::Trapped<S> for NothingTrap {
    fn serve(server: &mut S, call: &mut mig::Called<Self>) -> Result<(), mig::Code> {
        server.nothing(call.target())
    }
}

impl<S: TrapsServer> mig::Trapped<S> for NumbersTrap {
    fn serve(server: &mut S, call: &mut mig::Called<Self>) -> Result<(), mig::Code> {
        let a: u8 = call.value()?;
        let b: i16 = call.value()?;
        let c: i32 = call.value()?;
        let d: i64 = call.value()?;
        let e: f64 = call.value()?;
        let h: i64 = call.value()?;
        let code: i32 = call.value()?;
        let out = server.numbers(call.target(), a, b, c, d, e, h, code)?;
        call.give(|results| {
            results.value(&out.f);
            results.value(&out.g);
            results.value(&out.h);
        })
    }
}

impl<S: TrapsServer> mig::Trapped<S> for BehindTrap {
    fn serve(server: &mut S, call: &mut mig::Called<Self>) -> Result<(), mig::Code> {
        let number: i32 = call.value()?;
        let doubled = server.behind(number, call.target())?;
        call.give(|results| {
            results.value(&doubled);
        })
    }
}

impl<S: TrapsServer> mig::Trapped<S> for RecordsTrap {
    fn serve(server: &mut S, call: &mut mig::Called<Self>) -> Result<(), mig::Code> {
        let one: [i64; 3] = call.value()?;
        let three: [i64; 3] = call.value()?;
        let list: Vec<[i64; 3]> = call.list()?;
        let code: i32 = call.value()?;
        let out = server.records(call.target(), one, three, list, code)?;
        call.give(|results| {
            results.value(&out.two);
            results.value(&out.three);
            results.list(&out.list_out);
        })
    }
}

impl<S: TrapsServer> mig::Trapped<S> for ScribbleTrap {
    fn serve(server: &mut S, call: &mut mig::Called<Self>) -> Result<(), mig::Code> {
        let three: [i16; 3] = call.value()?;
        let list: Vec<i32> = call.list()?;
        let word: CString = call.text()?;
        let label: CString = call.text()?;
        let one: [i64; 3] = call.value()?;
        server.scribble(call.target(), three, list, word, label, one)
    }
}

impl<S: TrapsServer> mig::Trapped<S> for LentTrap {
    fn serve(server: &mut S, call: &mut mig::Called<Self>) -> Result<(), mig::Code> {
        let three: [i16; 3] = call.value()?;
        let list: Vec<i32> = call.list()?;
        let word: CString = call.text()?;
        let label: CString = call.text()?;
        let address: i64 = call.value()?;
        let same = server.lent(call.target(), three, list, word, label, address)?;
        call.give(|results| {
            results.value(&same);
        })
    }
}

impl<S: TrapsServer> mig::Trapped<S> for StringsTrap {
    fn serve(server: &mut S, call: &mut mig::Called<Self>) -> Result<(), mig::Code> {
        let word: CString = call.text()?;
        let label: CString = call.text()?;
        let word_both: CString = call.text()?;
        let label_both: CString = call.text()?;
        let code: i32 = call.value()?;
        let out = server.strings(call.target(), word, label, word_both, label_both, code)?;
        call.give(|results| {
            results.text(&out.word_out);
            results.text(&out.label_out);
            results.text(&out.word_both);
            results.text(&out.label_both);
        })
    }
}

impl<S: TrapsServer> mig::Trapped<S> for ArraysTrap {
    fn serve(server: &mut S, call: &mut mig::Called<Self>) -> Result<(), mig::Code> {
        let list: Vec<i32> = call.list()?;
        let claim: i32 = call.value()?;
        let list_both: Vec<i32> = call.list()?;
        let code: i32 = call.value()?;
        let out = server.arrays(call.target(), list, claim, list_both, code)?;
        call.give(|results| {
            results.value(&out.three);
            results.list(&out.list_out);
            results.list(&out.list_both);
        })
    }
}

impl<S: TrapsServer> mig::Trapped<S> for RoomTrap {
    fn serve(server: &mut S, call: &mut mig::Called<Self>) -> Result<(), mig::Code> {
        let claim: i32 = call.value()?;
        let list_room: u32 = call.room()?;
        let out = server.room(call.target(), claim, list_room)?;
        call.give(|results| {
            results.list(&out.list);
            results.value(&out.told);
        })
    }
}

impl<S: TrapsServer> mig::Trapped<S> for PairsTrap {
    fn serve(server: &mut S, call: &mut mig::Called<Self>) -> Result<(), mig::Code> {
        let keys: Vec<i32> = call.list()?;
        let values: Vec<i32> = call.list()?;
        let code: i32 = call.value()?;
        let out = server.pairs(call.target(), keys, values, code)?;
        call.give(|results| {
            results.list(&out.keys_out);
            results.list(&out.values_out);
        })
    }
}

impl<S: TrapsServer> mig::Trapped<S> for ManyTrap {
    fn serve(server: &mut S, call: &mut mig::Called<Self>) -> Result<(), mig::Code> {
        let list: Vec<i32> = call.list()?;
        let code: i32 = call.value()?;
        let list_out = server.many(call.target(), list, code)?;
        call.give(|results| {
            results.list(&list_out);
        })
    }
}

impl<S: TrapsServer> mig::Trapped<S> for MoneysTrap {
    fn serve(server: &mut S, call: &mut mig::Called<Self>) -> Result<(), mig::Code> {
        let one: i32 = call.value()?;
        let two: i32 = call.value()?;
        let code: i32 = call.value()?;
        let one = server.money_of(one);
        let two = server.money_of(two);
        let out = server.moneys(call.target(), one, two, code)?;
        let two_value = server.number_of(out.two);
        let three_value = server.number_of(out.three);
        call.give(|results| {
            results.value(&two_value);
            results.value(&three_value);
        })
    }
}

impl<S: TrapsServer> mig::Trapped<S> for ObjectTrap {
    fn serve(server: &mut S, call: &mut mig::Called<Self>) -> Result<(), mig::Code> {
        let target = server.object_of(call.target());
        let number = server.object(target)?;
        call.give(|results| {
            results.value(&number);
        })
    }
}

impl<S: TrapsServer> mig::Trapped<S> for ToldTrap {
    fn serve(server: &mut S, call: &mut mig::Called<Self>) -> Result<(), mig::Code> {
        let number = server.told(call.target())?;
        call.give(|results| {
            results.value(&number);
        })
    }
}

/// The routines that can be called within a process, for `mig::serve_traps` and its kin.
pub fn traps<S: TrapsServer, W: mig::Way<S>>() -> mig::Traps<S, W> {
    let mut table = mig::Traps::new(8000, 16);
    table.add::<NothingTrap>();
    table.add::<NumbersTrap>();
    table.add::<BehindTrap>();
    table.add::<RecordsTrap>();
    table.add::<ScribbleTrap>();
    table.add::<LentTrap>();
    table.add::<StringsTrap>();
    table.add::<ArraysTrap>();
    table.add::<RoomTrap>();
    table.add::<PairsTrap>();
    table.add::<ManyTrap>();
    table.add::<MoneysTrap>();
    table.add::<ObjectTrap>();
    table.add::<ToldTrap>();
    table
}
