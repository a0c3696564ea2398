//! Results made up for the tests of the reports.

use crate::machine::Machine;
use crate::rpc::cases::{Case, Method, Test};
use crate::rpc::parts;
use crate::rpc::results::{Results, Row};
use crate::trips::Placement;
use crate::trips::exchange::Timing;
use crate::trips::results::{Missing, Settings, Unit};

/// Some tests, both placements, counts of instructions, a failure.
pub fn results() -> Results {
    use Method::{Bare, BareOneProcess, ClientStub, Ready, ServerStub, Stubs, StubsOneProcess, StubsSleep};
    use Placement::{Different, OneCore};
    let large = Test::Longwords(4095);
    let case = |test, method, placement| Case { test, method, placement };
    let timed = [
        (case(Test::Null, Stubs, Different), 0.75),
        (case(Test::Null, Bare, Different), 0.6),
        (case(large, Stubs, Different), 9.0),
        (case(large, Bare, Different), 6.0),
        (case(Test::In(1024), Stubs, Different), 1.1),
        (case(Test::Null, StubsOneProcess, OneCore), 3.0),
        (case(Test::Null, BareOneProcess, OneCore), 2.0),
        (case(Test::FourInts, ClientStub, OneCore), 9.0),
        (case(Test::FourInts, Ready, OneCore), 4.0),
        (case(Test::FourInts, ServerStub, OneCore), 3.0),
    ];
    let mut rows: Vec<Row> = timed
        .into_iter()
        .filter_map(|(case, us)| Row::timed(case, &[Timing { mean_us: us, p50_us: us * 0.9, p99_us: us * 3.0 }]))
        .collect();
    let four = case(Test::FourInts, StubsSleep, OneCore);
    rows.push(Row::counted(four, Unit::Instructions, 2300.0));
    let part = |name: &str, count| Row::part(four, name, Unit::Instructions, count);
    rows.extend([part(parts::CLIENT, 90.0), part("client-stub/call_four", 70.0), part("client-stub/mig_get_reply_port", 20.0)]);
    rows.extend([part(parts::SERVER, 65.0), part("server-stub/_Xfour", 65.0), part(parts::MESSAGE, 1000.0)]);
    Results {
        machine: Machine { cpu: "A & B <CPU>".to_owned(), cores: 2, kernel: "6.1.0".to_owned(), hypervisor: Some(true) },
        date: "2026-01-02T03:04:05Z".to_owned(),
        settings: Settings { cores: "server on CPU 0, client on CPU 1".to_owned(), seconds: 0.1, repeat: 5 },
        rows,
        failed: vec![Missing { test: "null".to_owned(), variant: "once/one-core".to_owned(), reason: "no right".to_owned() }],
    }
}
