//! Declarations that mig does not write, but a program may.

use super::INT;
use slipway_fabric::sync::{AtomicU32, Ordering};
use slipway_mach::mig::{self, Call, Called, Code, Count, Item, List, ReceiveRight, Trap, Trapped, Traps};

/// A string whose elements have the size of a number, and an array that has
/// another's count and yet room that is told of.
enum Odd<const WHICH: usize> {}

const STRING: usize = 0;
const SHARING: usize = 1;
const MOST: u32 = 4096;

impl<const WHICH: usize> Trap for Odd<WHICH> {
    const ID: i32 = 600 + WHICH as i32;
    const NAME: &'static str = ["string", "sharing"][WHICH];
    const TRIED: &'static str = "test.odd";
    const ITEMS: &'static [Item] = [
        &[Item::new(mig::IN | mig::TEXT, mig::STRING, Count::One, 8, 8)] as &[Item],
        &[
            Item::new(mig::OUT, INT, Count::UpTo(MOST), 4, 4),
            Item::new(mig::OUT | mig::COUNT_IN_OUT | mig::SAME_COUNT, INT, Count::UpTo(MOST), 4, 4),
        ],
    ][WHICH];
}

impl Trapped<&AtomicU32> for Odd<STRING> {
    fn serve(server: &mut &AtomicU32, call: &mut Called<Self>) -> Result<(), Code> {
        assert_eq!(call.value::<u64>(), Err(Code::MIG_BAD_ARGUMENTS), "a string is a number");
        server.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }
}

impl Trapped<&AtomicU32> for Odd<SHARING> {
    fn serve(_: &mut &AtomicU32, call: &mut Called<Self>) -> Result<(), Code> {
        assert_eq!(call.room(), Err(Code::MIG_BAD_ARGUMENTS), "there is no place for such a count");
        call.give(|results| (0..2).for_each(|_| results.list(&[7i32; MOST as usize])))
    }
}

#[test]
fn what_a_stub_says_of_an_item_can_not_make_it_something_else() {
    let port = ReceiveRight::new().expect("a port");
    let to = port.make_send().expect("a send right");
    let called = AtomicU32::new(0);
    let mut table = Traps::<&AtomicU32, mig::Shared>::new(600, 2);
    table.add::<Odd<STRING>>();
    table.add::<Odd<SHARING>>();
    let run = || {
        // An address that the server would read from.
        let mut call = Call::<Odd<STRING>, 1>::new();
        call.value(&0x10u64);
        assert_eq!(call.make(&to), None, "a number is passed as a string");
        let mut call = Call::<Odd<STRING>, 1>::new();
        call.text(c"text");
        assert_eq!(call.make(&to), Some(Ok(())));
        // Less room than the server may write.
        let (mut all, mut few) = (List::<i32>::new(MOST), List::<i32>::within(MOST, 1));
        let mut call = Call::<Odd<SHARING>, 3>::new();
        call.list(&mut all);
        call.list(&mut few);
        assert_eq!(call.make(&to), None, "the server does not know of the room");
        let (mut all, mut same) = (List::<i32>::new(MOST), List::<i32>::new(MOST));
        let mut call = Call::<Odd<SHARING>, 3>::new();
        call.list(&mut all);
        call.list(&mut same);
        assert_eq!(call.make(&to), Some(Ok(())));
        assert_eq!(same.take_same(all.take().expect("an array").len()), Ok(vec![7; MOST as usize]));
    };
    mig::with_shared_traps(&port, &called, table, run).expect("a registration");
    assert_eq!(called.load(Ordering::Relaxed), 1);
}
