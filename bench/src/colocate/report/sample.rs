//! Results made up for the tests of the reports.

use crate::colocate::cases::{Case, Method, Test};
use crate::colocate::results::{Results, Row};
use crate::colocate::stages::{ALL, BY_STUB, groups};
use crate::machine::Machine;
use crate::trips::Placement;
use crate::trips::exchange::Timing;
use crate::trips::results::{Missing, Settings, Unit};

/// Some tests, both placements, counts of instructions, a failure.
pub fn results() -> Results {
    use Placement::{Different, OneCore};
    let case = |test, method, placement| Case { test, method, placement };
    let timed = [
        (case(Test::Null, Method::Message, Different), 1.0),
        (case(Test::Null, Method::MessageTrapStubs, Different), 1.02),
        (case(Test::Null, Method::OneProcess, Different), 0.08),
        (case(Test::Null, Method::Trap, OneCore), 0.02),
        (case(Test::Null, Method::Plain, OneCore), 0.003),
        (case(Test::In1k, Method::Message, Different), 1.5),
        (case(Test::In1k, Method::Trap, OneCore), 0.04),
        (case(Test::OwnCall, Method::Message, Different), 1.2),
    ];
    let mut rows: Vec<Row> = timed
        .into_iter()
        .filter_map(|(case, us)| Row::timed(case, &[Timing { mean_us: us, p50_us: us * 0.9, p99_us: us * 3.0 }]))
        .collect();
    let null = case(Test::Null, Method::Trap, OneCore);
    rows.push(Row::counted(null, Unit::Instructions, 130.0));
    let counts = [9, 12, 30, 8, 20, 10, 33, 4, 2, 2];
    let stages = groups(Method::Trap).unwrap_or_default().iter().flat_map(|group| group.stages);
    rows.extend(stages.zip(counts).map(|(stage, count)| Row::part(null, stage.name, Unit::Instructions, count.into())));
    let times = [("client's stub", -0.2), ("mach_trap", 13.7), ("server's trap function", 1.4), ("routine", 0.3), (ALL, 15.2)];
    rows.extend(times.into_iter().filter_map(|(part, ns)| Row::spread(null, part, Unit::Nanoseconds, &[ns, ns - 0.1, ns + 0.1])));
    let far = case(Test::Null, Method::MessageTrapStubs, Different);
    rows.extend(BY_STUB.into_iter().zip([600.0, 612.0]).map(|(part, ns)| Row::part(far, part, Unit::Nanoseconds, ns)));
    Results {
        machine: Machine { cpu: "A & B <CPU>".to_owned(), cores: 2, kernel: "6.1.0".to_owned(), hypervisor: Some(true) },
        date: "2026-01-02T03:04:05Z".to_owned(),
        settings: Settings { cores: "server on CPU 0, client on CPU 1".to_owned(), seconds: 0.1, repeat: 5 },
        rows,
        failed: vec![Missing { test: "null".to_owned(), variant: "capnp/one-core".to_owned(), reason: "no socket".to_owned() }],
    }
}
