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

/// The first table: the cycles of the 21 stages of a call with 128 bytes InOut by message, to a server in its own task and
/// to one in the kernel.
pub const MESSAGE_STAGES: [(u32, u32); 21] = [
    (24, 24),
    (199, 199),
    (350, 369),
    (18, 18),
    (205, 205),
    (159, 159),
    (178, 178),
    (122, 121),
    (443, 404),
    (19, 19),
    (17, 17),
    (172, 172),
    (378, 304),
    (18, 18),
    (211, 212),
    (144, 144),
    (178, 179),
    (90, 90),
    (364, 364),
    (172, 173),
    (17, 17),
];

/// The second: those of its 12 stages by trap.
pub const TRAP_STAGES: [u32; 12] = [24, 213, 116, 22, 92, 29, 232, 20, 229, 17, 163, 17];

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
        // The tables' last lines.
        let (out, inside): (Vec<u32>, Vec<u32>) = MESSAGE_STAGES.into_iter().unzip();
        assert_eq!((out.iter().sum::<u32>(), inside.iter().sum::<u32>()), (3478, 3386));
        assert_eq!(TRAP_STAGES.iter().sum::<u32>(), 1174);
        assert!((published(Test::OwnLibrary).unwrap().ratio().unwrap() - 1.44).abs() < 0.01);
        assert!((published(Test::OwnCall).unwrap().ratio().unwrap() - 1.13).abs() < 0.01);
    }
}
