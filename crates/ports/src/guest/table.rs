//! The functions that a guest calls and an owner has: each is a method of [`Functions`] here and one of [`Task`] there.

use super::{VERSION, by_hand::ByHand};
use crate::{abi::Code, task::Task};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// What a call comes to, as a code and a number.
pub(super) trait Outcome: Sized {
    fn tell(self) -> (i32, u64);
    fn told(code: i32, value: u64) -> Self;
}

impl Outcome for Result<(), Code> {
    fn tell(self) -> (i32, u64) {
        (self.err().unwrap_or(Code::SUCCESS).0, 0)
    }

    fn told(code: i32, _: u64) -> Self {
        if Code(code) == Code::SUCCESS { Ok(()) } else { Err(Code(code)) }
    }
}

impl Outcome for Result<u32, Code> {
    fn tell(self) -> (i32, u64) {
        self.map_or_else(|code| (code.0, 0), |value| (0, value.into()))
    }

    fn told(code: i32, value: u64) -> Self {
        Result::<(), Code>::told(code, 0).map(|()| value as u32)
    }
}

impl Outcome for Option<u64> {
    fn tell(self) -> (i32, u64) {
        self.map_or((Code::FAILURE.0, 0), |value| (0, value))
    }

    fn told(code: i32, value: u64) -> Self {
        (Code(code) == Code::SUCCESS).then_some(value)
    }
}

impl Outcome for u32 {
    fn tell(self) -> (i32, u64) {
        (0, self.into())
    }

    fn told(_: i32, value: u64) -> Self {
        value as u32
    }
}

impl Outcome for bool {
    fn tell(self) -> (i32, u64) {
        (0, self.into())
    }

    fn told(_: i32, value: u64) -> Self {
        value != 0
    }
}

impl Outcome for () {
    fn tell(self) -> (i32, u64) {
        (0, 0)
    }

    fn told(_: i32, _: u64) -> Self {}
}

/// Runs a call of the owner's: its code. A panic ends here as `KERN_FAILURE`.
pub(super) fn code(run: impl FnOnce() -> i32) -> i32 {
    catch_unwind(AssertUnwindSafe(run)).unwrap_or(Code::FAILURE.0)
}

macro_rules! calls {
    ($($name:ident($($argument:ident: $type:ty),*) -> $result:ty;)*) => {
        /// The functions, in the layout of C.
        #[derive(Debug)]
        #[repr(C)]
        pub struct Functions {
            version: u32,
            $($name: extern "C" fn(Task, $($type,)* &mut u64) -> i32,)*
            pub(super) by_hand: ByHand,
        }

        /// The owner's side.
        mod owned {
            use super::{Code, Outcome, Task, code};

            $(pub extern "C" fn $name(of: Task, $($argument: $type,)* value: &mut u64) -> i32 {
                code(|| {
                    let outcome: $result = of.$name($($argument),*);
                    let (code, number) = outcome.tell();
                    *value = number;
                    code
                })
            })*
        }

        static FUNCTIONS: Functions = Functions { version: VERSION, $($name: owned::$name,)* by_hand: ByHand::OWN };

        /// The guest's side.
        impl Functions {
            $(pub(crate) fn $name(&self, of: Task, $($argument: $type),*) -> $result {
                let mut value = 0;
                let code = (self.$name)(of, $($argument,)* &mut value);
                <$result>::told(code, value)
            })*
        }
    };
}

calls! {
    self_name() -> u32;
    thread_name() -> u32;
    host_name() -> u32;
    self_right() -> Result<u32, Code>;
    terminate() -> ();
    kind(name: u32) -> Result<u32, Code>;
    rename(old: u32, new: u32) -> Result<(), Code>;
    allocate(which: u32) -> Result<u32, Code>;
    allocate_name(which: u32, name: u32) -> Result<(), Code>;
    reply_port() -> Result<u32, Code>;
    destroy(name: u32) -> Result<(), Code>;
    deallocate(name: u32) -> Result<(), Code>;
    get_refs(name: u32, which: u32) -> Result<u32, Code>;
    mod_refs(name: u32, which: u32, delta: i32) -> Result<(), Code>;
    set_qlimit(name: u32, limit: u32) -> Result<(), Code>;
    set_mscount(name: u32, count: u32) -> Result<(), Code>;
    set_seqno(name: u32, seqno: u32) -> Result<(), Code>;
    set_payload(name: u32, payload: u64) -> Result<(), Code>;
    clear_payload(name: u32) -> Result<(), Code>;
    move_member(member: u32, after: u32) -> Result<(), Code>;
    request_notification(name: u32, id: i32, sync: u32, to: u32, how: u32) -> Result<u32, Code>;
    insert_right(name: u32, from: Task, right_name: u32, how: u32) -> Result<(), Code>;
    extract_right(name: u32, how: u32, to: Task) -> Result<u32, Code>;
    special_by_number(which: u32) -> Result<u32, Code>;
    set_special_by_number(which: u32, name: u32) -> Result<(), Code>;
    note_name_server(name: u32) -> ();
    is_name_server(name: u32) -> bool;
    withdraw_traps(name: u32) -> Result<(), Code>;
    wait_for_callers() -> ();
    trap_calls(name: u32) -> Option<u64>;
}

/// This copy's own table.
pub(super) const OWN: *const Functions = &raw const FUNCTIONS;

/// This copy's table, for guests that want this version of it; null for those that want another.
pub fn functions(version: u32) -> *const Functions {
    if version == VERSION { OWN } else { std::ptr::null() }
}
