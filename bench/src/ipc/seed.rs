//! What was published for Mach and for its emulation on L3, to stand beside ours.
//!
//! M. Hohmuth and S. Rudolph, 1996: round trips in milliseconds on a 66 MHz 486-DX2. Mach: UK02pl13 of
//! the University of Utah with Lites 1.1. L3: their Libmach emulation, and L3's own messages.

use super::cases::Test;
use serde::Serialize;

/// The source, for a caption.
pub const SOURCE: &str = "M. Hohmuth, S. Rudolph, 1996, 66 MHz 486-DX2";

/// The columns' headings.
pub const COLUMNS: [&str; 3] = ["Mach", "L3 emul.", "L3 native"];

/// One line of the table, milliseconds.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Published {
    #[serde(skip)]
    test: Test,
    /// Mach.
    pub mach_ms: f64,
    /// Mach messages, emulated on L3.
    pub l3_emulation_ms: f64,
    /// L3's own messages, where it has the like.
    pub l3_native_ms: Option<f64>,
}

const fn line(test: Test, mach_ms: f64, l3_emulation_ms: f64, l3_native_ms: Option<f64>) -> Published {
    Published { test, mach_ms, l3_emulation_ms, l3_native_ms }
}

const TABLE: [Published; 7] = [
    line(Test::Longwords(0), 0.401, 0.358, Some(0.039)),
    line(Test::Longwords(16), 0.407, 0.375, Some(0.045)),
    line(Test::Longwords(256), 0.604, 0.539, Some(0.108)),
    line(Test::Longwords(4095), 4.34, 4.05, Some(1.43)),
    line(Test::Ports(1), 0.628, 0.689, None),
    line(Test::Ports(16), 2.29, 4.00, None),
    line(Test::Ports(256), 29.69, 72.35, None),
];

/// What was published for `test`.
pub fn published(test: Test) -> Option<Published> {
    TABLE.into_iter().find(|line| line.test == test)
}

impl Published {
    /// In the order of [`COLUMNS`], milliseconds.
    pub fn columns(&self) -> [Option<f64>; 3] {
        [Some(self.mach_ms), Some(self.l3_emulation_ms), self.l3_native_ms]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trips::cases::Test as _;

    /// The text around the table says what it comes to: a right costs Mach 110 us alone and 55 us among
    /// 256; the emulation 165, 115 and 140 us for 1, 16 and 256; L3 is 10 times faster than Mach for small
    /// messages, 3 times for large ones.
    #[test]
    fn the_table_agrees_with_its_discussion() {
        let null = published(Test::Longwords(0)).unwrap();
        let right = |count: u32| {
            let line = published(Test::Ports(count)).unwrap();
            let each = |all: f64, none: f64| (all - none) / 2.0 / f64::from(count) * 1000.0;
            (each(line.mach_ms, null.mach_ms), each(line.l3_emulation_ms, null.l3_emulation_ms))
        };
        let near = |value: f64, said: f64| (value / said - 1.0).abs() < 0.05;
        assert!(near(right(1).0, 113.0) && near(right(256).0, 57.0));
        assert!(near(right(1).1, 165.0) && near(right(16).1, 115.0) && near(right(256).1, 140.0));
        let large = published(Test::Longwords(4095)).unwrap();
        assert!(near(null.mach_ms / null.l3_native_ms.unwrap(), 10.3));
        assert!(near(large.mach_ms / large.l3_native_ms.unwrap(), 3.0));
    }

    #[test]
    fn every_message_and_every_right_of_ones_own_was_published() {
        for &test in Test::ALL {
            let expected = matches!(test, Test::Longwords(_) | Test::Ports(_));
            assert_eq!(published(test).is_some(), expected, "{test:?}");
        }
    }
}
