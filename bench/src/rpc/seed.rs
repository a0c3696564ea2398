//! What was published for calls by MIG's stubs, to stand beside ours.

use super::cases::Test;
use serde::Serialize;

/// The sources, for a caption.
pub const SOURCES: [&str; 2] = [
    "M. Hohmuth, S. Rudolph, 1996: milliseconds on a 66 MHz 486-DX2, Mach UK02pl13 and its emulation on L3",
    "J. Lepreau, M. Hibler, B. Ford, J. Law, 1993: cycles of a 67 MHz HP 9000/730, Mach NMK13; a server in its own task, one in the kernel called by messages, and by traps",
];

/// Cycles in a microsecond of the second source's machine.
const MHZ: f64 = 67.0;

/// Names of all published columns.
pub const COLUMNS: [&str; 5] = ["Mach 1996", "L3 emulation", "Mach 1993", "in kernel, message", "in kernel, trap"];

/// What was published for a call.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(untagged)]
pub enum Published {
    /// Of the first source.
    Milliseconds {
        /// Mach.
        mach_ms: f64,
        /// Mach messages, emulated on L3.
        l3_emulation_ms: f64,
    },
    /// Of the second.
    Cycles {
        /// Between tasks.
        message_cycles: u32,
        /// A server in the kernel, called by a message.
        kernel_message_cycles: u32,
        /// A server in the kernel, called by a trap.
        kernel_trap_cycles: u32,
    },
}

const fn ms(mach_ms: f64, l3_emulation_ms: f64) -> Option<Published> {
    Some(Published::Milliseconds { mach_ms, l3_emulation_ms })
}

const fn cycles(message_cycles: u32, kernel_message_cycles: u32, kernel_trap_cycles: u32) -> Option<Published> {
    Some(Published::Cycles { message_cycles, kernel_message_cycles, kernel_trap_cycles })
}

/// What was published for `test`.
pub fn published(test: Test) -> Option<Published> {
    match test {
        Test::Null => ms(0.270, 0.485),
        Test::Longwords(16) => ms(0.294, 0.502),
        Test::Longwords(256) => ms(0.624, 0.803),
        Test::Longwords(4095) => ms(6.65, 6.21),
        Test::Nothing => cycles(2312, 2220, 656),
        Test::In(64) => cycles(2555, 2462, 830),
        Test::In(1024) => cycles(5843, 5890, 1791),
        Test::Out(1024) => cycles(8366, 7512, 2741),
        Test::InOut(128) => cycles(3385, 3291, 1122),
        _ => None,
    }
}

impl Published {
    /// In microseconds, in the order of [`COLUMNS`].
    pub fn us(&self) -> [Option<f64>; 5] {
        let of_cycles = |cycles: u32| Some(f64::from(cycles) / MHZ);
        match *self {
            Self::Milliseconds { mach_ms, l3_emulation_ms } => {
                [Some(mach_ms * 1e3), Some(l3_emulation_ms * 1e3), None, None, None]
            }
            Self::Cycles { message_cycles, kernel_message_cycles, kernel_trap_cycles } => {
                [None, None, of_cycles(message_cycles), of_cycles(kernel_message_cycles), of_cycles(kernel_trap_cycles)]
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trips::cases::Test as _;

    /// The texts around the tables say what they come to.
    #[test]
    fn the_tables_agree_with_their_discussions() {
        for &test in Test::ALL {
            match published(test) {
                Some(Published::Milliseconds { .. }) => assert!(matches!(test, Test::Null | Test::Longwords(_)), "{test:?}"),
                // Messages take about three times as many cycles as traps.
                Some(Published::Cycles { message_cycles, kernel_message_cycles, kernel_trap_cycles }) => {
                    for cycles in [message_cycles, kernel_message_cycles] {
                        let ratio = f64::from(cycles) / f64::from(kernel_trap_cycles);
                        assert!((2.65..3.6).contains(&ratio), "{test:?}: {ratio}");
                    }
                }
                None => assert_eq!(test, Test::FourInts),
            }
        }
        let us = |test: Test| published(test).unwrap().us();
        // A null call is faster than a null message (401 us) on Mach, and slower than one (358 us) on L3.
        assert!(us(Test::Null)[0].unwrap() < 401.0 && us(Test::Null)[1].unwrap() > 358.0);
        assert!((us(Test::Nothing)[2].unwrap() - 34.5).abs() < 0.05);
    }
}
