//! What calls to a server in the same process should reach, and whether a run did.

use super::cases::{Method, Test};
use super::results::Results;
use super::stages::BY_STUB;
use crate::targets::{Bound, Judgement, judgement, ratio};

/// Holds `results` against every target.
pub fn judge(results: &Results) -> Vec<Judgement> {
    use Bound::{AtLeast, AtMost};
    let us = |test, method| results.call_us(test, method);
    let null = |method| us(Test::Null, method);
    let instructions = results.instructions(Test::Null, Method::Trap, None);
    // In turns in the same two processes.
    let stub = |which: usize| Some(results.ns(Test::Null, Method::MessageTrapStubs, BY_STUB[which])?.value / 1e3);
    let copied = |test| Some((us(test, Method::Trap)? - null(Method::Trap)?) * 1e3);
    vec![
        judgement(
            "null trap RPC, ns",
            AtMost(25.0),
            null(Method::Trap).map(|us| us * 1e3),
            "stubs and routine included".to_owned(),
        ),
        judgement("null trap RPC, instructions", AtMost(120.0), instructions, "stubs and routine included".to_owned()),
        ratio("null by message between processes / by trap", AtLeast(15.0), null(Method::Message), null(Method::Trap)),
        ratio("null by message in one process / by trap", AtLeast(5.0), null(Method::OneProcess), null(Method::Trap)),
        judgement("1K In by trap beside null, ns", AtMost(60.0), copied(Test::In1k), "one copy".to_owned()),
        judgement("1K Out by trap beside null, ns", AtMost(60.0), copied(Test::Out1k), "one copy".to_owned()),
        judgement("1K In, const, by trap beside null, ns", AtMost(10.0), copied(Test::Const1k), "no copy".to_owned()),
        ratio("trap stub / plain stub, server in another process", AtMost(1.05), stub(1), stub(0)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::colocate::report::sample::results;
    use crate::targets::Verdict;
    use crate::targets::tests::find;

    #[test]
    fn bounds_hold_on_their_good_side() {
        let of = |what| find(judge(&results()), what);
        assert_eq!(of("null trap RPC, ns").verdict, Verdict::Met);
        assert_eq!(of("null trap RPC, instructions").verdict, Verdict::Missed);
        let between = of("null by message between");
        assert!(between.verdict == Verdict::Met && (between.reached.unwrap() - 50.0).abs() < 1e-9);
        assert_eq!(of("null by message in one").verdict, Verdict::Missed);
        assert_eq!(of("1K In, const").verdict, Verdict::NotMeasured);
        assert_eq!(of("trap stub").verdict, Verdict::Met);
    }

    #[test]
    fn what_was_not_measured_is_not_judged() {
        let mut results = results();
        results.rows.clear();
        assert!(judge(&results).iter().all(|judgement| judgement.verdict == Verdict::NotMeasured));
    }
}
