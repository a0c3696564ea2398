//! Results made up for the tests of the reports.

use super::super::hooks::Stage;
use super::super::placement::Placement;
use super::super::results::{Missing, Results, Row, Settings, UNIT};
use crate::machine::Machine;

fn row(test: &str, placement: Placement, stage: Stage, socket: f64, ratio: f64) -> Row {
    Row {
        test: test.to_owned(),
        label: format!("{test} <&> \"quoted\""),
        placement,
        stage: Some(stage),
        unit: UNIT,
        socket,
        ours: socket * ratio,
        ratio,
        cpu_us_socket: Some(28.5),
        cpu_us_ours: (placement != Placement::Flood).then_some(1.88),
        ratio_range: [ratio * 0.95, ratio * 1.05],
    }
}

/// Rows at three placements, two stages, a skipped test.
pub fn results() -> Results {
    use Placement::{Different, Flood, Hogs};
    let stage = Stage::Full;
    Results {
        machine: Machine { cpu: "A & B <CPU>".to_owned(), cores: 2, kernel: "6.1.0".to_owned(), hypervisor: Some(true) },
        floor: Some(crate::x11::floor::Floor { within_us: 25.0, across_us: 70.0 }),
        date: "2026-01-02T03:04:05Z".to_owned(),
        settings: Settings {
            server: "21.1.7".to_owned(),
            x11perf: "1.2".to_owned(),
            cores: "server on CPU 0, client on CPU 1".to_owned(),
            spin_us: "50".to_owned(),
            seconds: 0.4,
            repeat: 3,
            baseline: false,
            preload: Some("/l/libslipway_preload.so".to_owned()),
        },
        stage: Some(stage),
        rows: vec![
            row("pointer", Different, stage, 18_000.0, 50.0),
            row("pointer", Different, Stage::One, 18_000.0, 0.9),
            row("putimage500", Different, stage, 4500.0, 6.9),
            row("dot", Different, stage, 246e6, 1.31),
            row("move", Different, stage, 1e6, 0.97),
            row("pointer", Hogs, stage, 9000.0, 1.5),
            row("pointer+noop", Flood, stage, 9000.0, 0.95),
        ],
        skipped: vec![Missing {
            test: "shmput10".to_owned(),
            placement: Different,
            reason: "x11perf -shmput10 printed no result".to_owned(),
        }],
        failed: Vec::new(),
    }
}
