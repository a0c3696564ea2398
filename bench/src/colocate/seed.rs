//! What was published for servers in the kernel, to stand beside ours.

use super::cases::Test;
use serde::Serialize;

/// The source, for a caption.
pub const SOURCE: &str = "J. Lepreau, M. Hibler, B. Ford, J. Law, 1993: a 67 MHz HP 9000/730, Mach NMK13; a server in its own task, one in the kernel \
     called by messages, and by traps";

/// Cycles in a microsecond of that machine.
const MHZ: f64 = 67.0;

/// Names of the published columns.
pub const COLUMNS: [&str; 3] = ["Mach 1993", "in kernel, message", "in kernel, trap"];

/// What was published for a call.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Published {
    /// Microseconds, a column each: between tasks, in the kernel by message, in the kernel by trap.
    pub us: [Option<f64>; 3],
}

impl Published {
    /// How many times as long a message took as a trap.
    pub fn ratio(&self) -> Option<f64> {
        Some(self.us[0]? / self.us[2]?)
    }
}

/// What was published for `test`: the third table, and the fifth.
pub fn published(test: Test) -> Option<Published> {
    let cycles = |columns: [u32; 3]| Some(Published { us: columns.map(|cycles| Some(f64::from(cycles) / MHZ)) });
    match test {
        Test::Null => cycles([2312, 2220, 656]),
        Test::In64 => cycles([2555, 2462, 830]),
        Test::In1k => cycles([5843, 5890, 1791]),
        Test::Out1k => cycles([8366, 7512, 2741]),
        Test::InOut128 => cycles([3385, 3291, 1122]),
        Test::Const1k => None,
        // To the kernel: by a trapping call that does nothing, and by a message.
        Test::OwnLibrary => Some(Published { us: [Some(6.86), None, Some(4.75)] }),
        Test::OwnCall => Some(Published { us: [Some(18.81), None, Some(16.71)] }),
    }
}

/// A stage of a call with 128 bytes InOut, and the cycles that were published for it.
pub type Stage = (&'static str, u32);

/// The first table, out of the kernel, its 21 stages joined to those that can be told apart here.
pub const MESSAGE_STAGES: [Stage; 5] = [
    // 1, 2, 20, 21
    ("client's stub", 24 + 199 + 172 + 17),
    // 3 to 8 and most of 9, 13 to 19
    ("mach_msg, both ways", 350 + 18 + 205 + 159 + 178 + 122 + 443 + 378 + 18 + 211 + 144 + 178 + 90 + 364),
    // 10, 12
    ("server's stub", 19 + 172),
    // 11
    ("routine", 17),
    ("all", 3478),
];

/// The second table likewise, of its 12 stages.
pub const TRAP_STAGES: [Stage; 5] = [
    // 1, 12
    ("client's stub", 24 + 17),
    // 2 to 6, 10, 11
    ("mach_trap, in and out", 213 + 116 + 22 + 92 + 29 + 17 + 163),
    // 7, 9
    ("server's trap function", 232 + 229),
    // 8
    ("routine", 20),
    ("all", 1174),
];

#[cfg(test)]
mod tests {
    use super::*;

    /// The texts around the tables say what they come to.
    #[test]
    fn the_tables_agree_with_their_discussions() {
        for test in [Test::Null, Test::In64, Test::In1k, Test::Out1k, Test::InOut128] {
            let ratio = published(test).unwrap().ratio().unwrap();
            assert!((2.95..3.6).contains(&ratio), "{test:?}: {ratio}");
        }
        for stages in [MESSAGE_STAGES, TRAP_STAGES] {
            let (all, parts) = stages.split_last().unwrap();
            assert_eq!(parts.iter().map(|stage| stage.1).sum::<u32>(), all.1);
        }
        assert!((published(Test::OwnLibrary).unwrap().ratio().unwrap() - 1.44).abs() < 0.01);
        assert!((published(Test::OwnCall).unwrap().ratio().unwrap() - 1.13).abs() < 0.01);
    }
}
