//! What Mach messages should reach, and whether a run did.

use super::cases::{Method, Test};
use super::results::Results;
use crate::report::format::microseconds;
use crate::targets::{Bound, Judgement, judgement, ratio};
use crate::trips::Placement;
use crate::trips::results::Unit;

use Method::{CacheLine, Copy, Fabric, Iceoryx2, IpcChannel, Mach, MachSleep, Socket};
use Placement::{Different, OneCore};

const NULL: Test = Test::Longwords(0);
const LARGE: Test = Test::Longwords(4095);

/// The large message; the bare line tells how much of its time is the way from core to core.
fn large(mach: Option<f64>, copies: Option<f64>, line: Option<f64>) -> Judgement {
    let mut judged = ratio("4095 longwords / 4 copies and a null message", Bound::AtMost(1.0), mach, copies);
    if let (Some(line), Some(_)) = (line, judged.reached) {
        judged.detail.push_str(&format!("; the bare line takes {} us", microseconds(line)));
    }
    judged
}

/// Holds `results` against every target.
pub fn judge(results: &Results) -> Vec<Judgement> {
    use Bound::{AtLeast, AtMost};
    let us = |test, method, placement| results.us(test, method, placement);
    let mach = us(NULL, Mach, Different);
    let floor = us(Test::Floor, CacheLine, Different);
    let copies = us(NULL, Mach, Different).zip(us(Test::Floor, Copy, OneCore)).map(|(null, copy)| null + 4.0 * copy);
    let instructions = |test, method| results.row(test, method, OneCore, Unit::Instructions).map(|row| row.value);
    let each = |test| results.right_us(test, Mach, Different);
    let between = "different cores, there and deallocated";
    let stays = "one that never leaves its task";
    let bytes = results.row(Test::MakePort, Mach, OneCore, Unit::Bytes).map(|row| row.value);
    let right = instructions(NULL, MachSleep)
        .zip(instructions(Test::Ports(256), MachSleep))
        .map(|(null, rights)| (rights - null) / 2.0 / 256.0);
    vec![
        ratio("null message / cache-line round trip", AtMost(4.0), mach, floor),
        ratio("AF_UNIX / null message", AtLeast(60.0), us(NULL, Socket, Different), mach),
        ratio("null message / iceoryx2, busy polling", AtMost(0.5), mach, us(NULL, Iceoryx2, Different)),
        ratio("ipc-channel / null message", AtLeast(100.0), us(NULL, IpcChannel, Different), mach),
        ratio("no spinning, one core / AF_UNIX", AtMost(0.6), us(NULL, MachSleep, OneCore), us(NULL, Socket, OneCore)),
        ratio("no spinning, different cores / AF_UNIX", AtMost(1.0), us(NULL, MachSleep, Different), us(NULL, Socket, Different)),
        judgement(
            "instructions of a null message, both sides",
            AtMost(1000.0),
            instructions(NULL, MachSleep),
            "no spinning, without the kernel's; GNU Mach 2,985 with them".to_owned(),
        ),
        large(us(LARGE, Mach, Different), copies, us(LARGE, Fabric, Different)),
        judgement("us a right, of 256 that the owner gives", AtMost(0.1), each(Test::Ports(256)), between.to_owned()),
        judgement("us a right, of 256 passed on", AtMost(1.0), each(Test::PassedOn(256)), between.to_owned()),
        judgement("us a right that the owner gives, alone", AtMost(4.0), each(Test::Ports(1)), between.to_owned()),
        judgement("us a right passed on, alone", AtMost(4.0), each(Test::PassedOn(1)), between.to_owned()),
        ratio(
            "RPC, 100 moved ports / owned",
            AtMost(1.1),
            us(Test::RpcMoved(100), Mach, Different),
            us(Test::RpcOwned(100), Mach, Different),
        ),
        judgement(
            "instructions a right, of 256",
            AtMost(2390.0),
            right,
            "without the kernel's; the bound is GNU Mach's with them".to_owned(),
        ),
        judgement("us to make and destroy a port", AtMost(0.1), us(Test::MakePort, Mach, OneCore), stays.to_owned()),
        judgement("bytes of memory a port", AtMost(200.0), bytes, stays.to_owned()),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ipc::report::sample::results;
    use crate::targets::Verdict;
    use crate::targets::tests::find;

    fn judged(results: &Results, what: &str) -> Judgement {
        find(judge(results), what)
    }

    #[test]
    fn bounds_hold_on_their_good_side() {
        let results = results();
        // The sample: cache line 0.1, Mach 0.5, AF_UNIX 40, iceoryx2 0.9, ipc-channel 45 us.
        let line = judged(&results, "null message / cache-line");
        assert_eq!((line.reached, line.verdict), (Some(5.0), Verdict::Missed));
        assert_eq!(line.detail, "0.50 us to 0.10 us");
        let socket = judged(&results, "AF_UNIX");
        assert_eq!((socket.reached, socket.verdict), (Some(80.0), Verdict::Met));
        assert_eq!(judged(&results, "null message / iceoryx2").verdict, Verdict::Missed);
        assert_eq!(judged(&results, "ipc-channel").verdict, Verdict::Missed);
        assert_eq!(judged(&results, "instructions of a null").verdict, Verdict::Met);
    }

    #[test]
    fn rights_and_ports_are_held_against_their_bounds() {
        let results = results();
        // The sample: null 0.5 us, 256 rights 25 us, passed on 800 us; a port 0.08 us, 185 bytes.
        let owned = judged(&results, "us a right, of 256 that the owner gives");
        assert_eq!((owned.reached, owned.verdict), (Some(24.5 / 512.0), Verdict::Met));
        let passed_on = judged(&results, "us a right, of 256 passed on");
        assert_eq!((passed_on.reached, passed_on.verdict), (Some(799.5 / 512.0), Verdict::Missed));
        assert_eq!(judged(&results, "us a right passed on, alone").verdict, Verdict::NotMeasured);
        assert_eq!(judged(&results, "us to make and destroy a port").verdict, Verdict::Met);
        assert_eq!(judged(&results, "bytes of memory a port").reached, Some(185.0));
    }

    #[test]
    fn what_was_not_measured_is_not_judged() {
        let mut results = results();
        results.rows.retain(|row| row.case.method != Mach);
        let unmeasured = judged(&results, "AF_UNIX");
        assert_eq!((unmeasured.verdict, unmeasured.detail.as_str()), (Verdict::NotMeasured, ""));
        assert_eq!(judged(&results, "4095 longwords").verdict, Verdict::NotMeasured);
    }
}
