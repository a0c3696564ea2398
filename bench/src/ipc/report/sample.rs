//! Results made up for the tests of the reports.

use crate::ipc::cases::{Case, Method, Test};
use crate::ipc::results::{Results, Row};
use crate::machine::Machine;
use crate::trips::Placement;
use crate::trips::exchange::Timing;
use crate::trips::results::{Missing, Settings, Unit};

/// Some tests, both placements, a count of instructions, a failure.
pub fn results() -> Results {
    use Method::{CacheLine, Copy, Iceoryx2, IpcChannel, Mach, MachSleep, Socket};
    use Placement::{Different, OneCore};
    let null = Test::Longwords(0);
    let case = |test, method, placement| Case { test, method, placement };
    let timed = [
        (case(Test::Floor, CacheLine, Different), 0.1),
        (case(Test::Floor, Copy, OneCore), 0.3),
        (case(null, Socket, Different), 40.0),
        (case(null, Socket, OneCore), 8.0),
        (case(null, IpcChannel, Different), 45.0),
        (case(null, Iceoryx2, Different), 0.9),
        (case(null, Mach, Different), 0.5),
        (case(Test::Longwords(4095), Mach, Different), 1.5),
        (case(Test::Ports(256), Socket, OneCore), 290.0),
        (case(Test::Ports(256), Mach, Different), 25.0),
        (case(Test::PassedOn(256), Mach, Different), 800.0),
        (case(Test::MakePort, Mach, OneCore), 0.08),
    ];
    let mut rows: Vec<Row> = timed
        .into_iter()
        .filter_map(|(case, us)| Row::timed(case, &[Timing { mean_us: us, p50_us: us * 0.9, p99_us: us * 3.0 }]))
        .collect();
    rows.push(Row::counted(case(Test::MakePort, Mach, OneCore), Unit::Bytes, 185.0));
    rows.push(Row::counted(case(null, MachSleep, OneCore), Unit::Instructions, 740.0));
    Results {
        machine: Machine { cpu: "A & B <CPU>".to_owned(), cores: 2, kernel: "6.1.0".to_owned(), hypervisor: Some(true) },
        date: "2026-01-02T03:04:05Z".to_owned(),
        settings: Settings { cores: "server on CPU 0, client on CPU 1".to_owned(), seconds: 0.1, repeat: 5 },
        rows,
        failed: vec![Missing { test: "null".to_owned(), variant: "pipe/one-core".to_owned(), reason: "no pipes".to_owned() }],
    }
}
