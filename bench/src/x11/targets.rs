//! What the transport should reach, and whether a run did.

use super::placement::Placement;
use super::results::{Results, Row};
use crate::stats::geometric_mean;
use crate::targets::{Judgement, Verdict, reaches};
use serde::Serialize;

/// Kinds of tests that behave alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Group {
    /// One round trip each.
    RoundTrips,
    /// Images there and back.
    Images,
    /// Small requests that the client batches.
    SmallDrawing,
    /// Tests that the server's own work bounds.
    ServerBound,
    /// The rest.
    Other,
}

impl Group {
    /// In the order of the tables.
    pub const ALL: [Self; 5] = [Self::RoundTrips, Self::Images, Self::SmallDrawing, Self::ServerBound, Self::Other];

    /// The group of `test`.
    pub fn of(test: &str) -> Self {
        let option = test.split([':', '+']).next().unwrap_or(test);
        match option {
            "pointer" | "prop" | "getimage10" => Self::RoundTrips,
            "noop" | "dot" | "line1" | "seg1" | "rect1" | "circle1" | "gc" => Self::SmallDrawing,
            "move" | "resize" | "map" | "ftext" => Self::ServerBound,
            _ if option.starts_with("putimage") || option.starts_with("getimage") => Self::Images,
            _ => Self::Other,
        }
    }

    /// For people.
    pub fn name(self) -> &'static str {
        match self {
            Self::RoundTrips => "round trips",
            Self::Images => "images",
            Self::SmallDrawing => "small drawing",
            Self::ServerBound => "server-bound",
            Self::Other => "other",
        }
    }
}

/// The ratio that `test` should reach at `placement`; none where only the geometric mean counts.
pub fn wanted(test: &str, placement: Placement) -> Option<f64> {
    use Placement::{Different, Flood, Free, Hogs, PlainClient, Shared};
    match (placement, Group::of(test)) {
        (PlainClient, _) => Some(0.98),
        (Flood, _) => Some(0.9),
        (Different, Group::RoundTrips) => Some(40.0),
        (Shared, Group::RoundTrips) => Some(1.3),
        (Hogs, Group::RoundTrips) => Some(2.0),
        (Different, Group::SmallDrawing) => Some(1.3),
        (Different, Group::ServerBound) => Some(0.98),
        (Different, _) => match test {
            "putimage100" => Some(9.0),
            "putimage500" => Some(6.0),
            "getimage500" => Some(5.0),
            _ => None,
        },
        (Shared | Free | Hogs, _) => None,
    }
}

/// How several rows become one figure.
enum Figure {
    /// The worst row decides.
    Lowest,
    /// The geometric mean decides and the worst row is named: where 0.98 is asked for, the worst of
    /// several rows would show the noise of the machine.
    Mean,
}

fn at_least(what: &str, bound: f64, figure: Figure, rows: &[&Row]) -> Judgement {
    let lowest = rows.iter().min_by(|a, b| a.ratio.total_cmp(&b.ratio));
    let worst = lowest.map_or(String::new(), |row| format!("lowest: {} {:.2}", row.test, row.ratio));
    let reached = match figure {
        Figure::Lowest => lowest.map(|row| row.ratio),
        Figure::Mean => geometric_mean(rows.iter().map(|row| row.ratio)),
    };
    let detail = match figure {
        Figure::Lowest => worst,
        Figure::Mean if rows.is_empty() => worst,
        Figure::Mean => format!("geometric mean of {}; {worst}", rows.len()),
    };
    Judgement {
        what: what.to_owned(),
        wanted: format!(">= {bound}"),
        reached,
        verdict: match reached {
            None => Verdict::NotMeasured,
            Some(value) if reaches(value, bound) => Verdict::Met,
            Some(_) => Verdict::Missed,
        },
        detail,
    }
}

/// Holds `results` against every target. `whole` says that the whole list of x11perf was run.
pub fn judge(results: &Results, whole: bool) -> Vec<Judgement> {
    use Placement::{Different, Flood, Hogs, PlainClient, Shared};
    let at = |placement: Placement, select: &dyn Fn(&Row) -> bool| -> Vec<&Row> {
        let rows = results.main_rows();
        rows.filter(|row| row.placement == placement && select(row)).collect()
    };
    let group = |group: Group| move |row: &Row| Group::of(&row.test) == group;
    let named = |name: &'static str| move |row: &Row| row.test == name;
    let any = |_: &Row| true;
    let list = match whole {
        true => at(Different, &any),
        false => Vec::new(),
    };
    use Figure::{Lowest, Mean};
    vec![
        at_least("round trips, different cores", 40.0, Lowest, &at(Different, &group(Group::RoundTrips))),
        at_least("round trips, one shared core", 1.3, Lowest, &at(Shared, &group(Group::RoundTrips))),
        at_least("round trips, a hog on each core", 2.0, Lowest, &at(Hogs, &group(Group::RoundTrips))),
        at_least("putimage100", 9.0, Lowest, &at(Different, &named("putimage100"))),
        at_least("putimage500", 6.0, Lowest, &at(Different, &named("putimage500"))),
        at_least("getimage500", 5.0, Lowest, &at(Different, &named("getimage500"))),
        at_least("small drawing", 1.3, Lowest, &at(Different, &group(Group::SmallDrawing))),
        at_least("server-bound", 0.98, Mean, &at(Different, &group(Group::ServerBound))),
        at_least("x11perf's whole list, mean", 1.5, Mean, &list),
        at_least("x11perf's whole list, each", 0.95, Lowest, &list),
        cpu_time(results),
        at_least("plain client, hooked server", 0.98, Mean, &at(PlainClient, &any)),
        at_least("plain client during a flood", 0.9, Lowest, &at(Flood, &any)),
    ]
}

/// CPU time an operation must not be above the socket's in any row.
fn cpu_time(results: &Results) -> Judgement {
    let costs: Vec<(&Row, f64)> = results
        .main_rows()
        .filter(|row| row.placement.hooks_client())
        .filter_map(|row| Some((row, row.cpu_us_ours? / row.cpu_us_socket?)))
        .collect();
    let highest = costs.iter().max_by(|a, b| a.1.total_cmp(&b.1));
    let above = costs.iter().filter(|(_, cost)| *cost > 1.005).count();
    Judgement {
        what: "CPU time an operation".to_owned(),
        wanted: "<= 1".to_owned(),
        reached: highest.map(|(_, cost)| *cost),
        verdict: match (highest, above) {
            (None, _) => Verdict::NotMeasured,
            (Some(_), 0) => Verdict::Met,
            (Some(_), _) => Verdict::Missed,
        },
        detail: highest.map_or(String::new(), |(row, cost)| {
            let place = row.placement.name();
            format!("highest: {} ({place}) {cost:.2}; above in {above} of {}", row.test, costs.len())
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::super::report::sample::results;
    use super::*;

    fn judged(whole: bool, what: &str) -> Judgement {
        let all = judge(&results(), whole);
        let mut found = all.into_iter().filter(|judgement| judgement.what == what);
        found.next().unwrap_or_else(|| panic!("no target '{what}'"))
    }

    #[test]
    fn the_worst_row_decides_and_is_named() {
        let hogs = judged(false, "round trips, a hog on each core");
        assert_eq!((hogs.reached, hogs.verdict), (Some(1.5), Verdict::Missed));
        assert_eq!(hogs.detail, "lowest: pointer 1.50");
        assert_eq!(judged(false, "putimage500").verdict, Verdict::Met);
        assert_eq!(judged(false, "putimage100").verdict, Verdict::NotMeasured);
    }

    #[test]
    fn the_whole_list_is_judged_only_when_it_was_run() {
        let what = "x11perf's whole list, each";
        assert_eq!(judged(false, what).verdict, Verdict::NotMeasured);
        assert_eq!(judged(true, what).reached, Some(0.97));
    }

    #[test]
    fn only_the_main_stage_counts() {
        // Stage 1 of the sample is at 0.9, far below what the full one reaches.
        let trips = judged(false, "round trips, different cores");
        assert_eq!((trips.reached, trips.verdict), (Some(50.0), Verdict::Met));
    }

    #[test]
    fn cpu_time_above_the_sockets_is_a_miss() {
        assert_eq!(judged(false, "CPU time an operation").verdict, Verdict::Met);
        let mut results = results();
        results.rows[2].cpu_us_ours = Some(29.0);
        let cpu = judge(&results, false).into_iter().find(|j| j.wanted == "<= 1");
        assert_eq!(cpu.unwrap().verdict, Verdict::Missed);
    }

    #[test]
    fn every_quick_test_of_a_named_target_has_its_bound() {
        use Placement::{Different, Flood, Hogs, PlainClient, Shared};
        let bounds = [
            ("prop", Different, Some(40.0)),
            ("prop", Shared, Some(1.3)),
            ("getimage10", Hogs, Some(2.0)),
            ("getimage500", Different, Some(5.0)),
            ("getimage100", Different, None),
            ("gc", Different, Some(1.3)),
            ("move:16", Different, Some(0.98)),
            ("rect100", Different, None),
            ("dot", PlainClient, Some(0.98)),
            ("pointer+noop", Flood, Some(0.9)),
        ];
        for (test, placement, bound) in bounds {
            assert_eq!(wanted(test, placement), bound, "{test}");
        }
        assert!(reaches(1.295, 1.3) && !reaches(1.294, 1.3));
    }
}
