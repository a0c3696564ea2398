//! What calls by stubs should reach, and whether a run did.

use super::cases::{Method, Test};
use super::parts;
use super::results::Results;
use crate::targets::{Bound, Judgement, judgement, ratio};
use crate::trips::Placement::Different;

/// Holds `results` against every target.
pub fn judge(results: &Results) -> Vec<Judgement> {
    use Bound::AtMost;
    let us = |test, method| results.us(test, method, Different);
    let four = |part| results.instructions(Test::FourInts, Some(part));
    let (client, server) = (four(parts::CLIENT), four(parts::SERVER));
    let stubs = client.zip(server);
    let detail = stubs.map(|(client, server)| format!("client {client:.0}, server {server:.0}"));
    let large = Test::Longwords(4095);
    vec![
        ratio("null RPC / null message, two processes", AtMost(1.3), us(Test::Null, Method::Stubs), us(Test::Null, Method::Bare)),
        ratio("4095 longwords each way / bare message", AtMost(1.1), us(large, Method::Stubs), us(large, Method::Bare)),
        judgement(
            "instructions of stubs, four integers each way",
            AtMost(150.0),
            stubs.map(|(client, server)| client + server),
            detail.unwrap_or_default(),
        ),
        judgement(
            "ns of stubs, four integers each way",
            AtMost(10.0),
            results.work_ns(Test::FourInts),
            "without a message".to_owned(),
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rpc::report::sample::results;
    use crate::targets::Verdict;
    use crate::targets::tests::find;

    fn judged(results: &Results, what: &str) -> Judgement {
        find(judge(results), what)
    }

    #[test]
    fn bounds_hold_on_their_good_side() {
        let results = results();
        let null = judged(&results, "null RPC");
        assert_eq!((null.reached, null.verdict), (Some(1.25), Verdict::Met));
        assert_eq!(judged(&results, "4095 longwords").verdict, Verdict::Missed);
        let counted = judged(&results, "instructions of stubs");
        assert_eq!((counted.reached, counted.verdict), (Some(155.0), Verdict::Missed));
        assert_eq!(counted.detail, "client 90, server 65");
        let work = judged(&results, "ns of stubs");
        assert!((work.reached.unwrap() - 8.0).abs() < 1e-9 && work.verdict == Verdict::Met);
    }

    #[test]
    fn what_was_not_measured_is_not_judged() {
        let mut results = results();
        results.rows.clear();
        assert!(judge(&results).iter().all(|judgement| judgement.verdict == Verdict::NotMeasured));
    }
}
