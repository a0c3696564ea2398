//! Ratios that were published for earlier shared-memory transports, to stand beside ours.
//!
//! All from R. Faith, "Shared Memory Transport for XFree86", Precision Insight, 2000: x11perf rates
//! with the transport over rates without it, as printed there (two decimals). HP: HP-UX 10.20 on an
//! HP 9000/735. SGI: IRIX 6.5 on an Indigo2 High Impact. XFree86: the stages of that paper's own
//! implementation, before 3.9.18.

/// A column of published ratios.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum System {
    /// HP's X server.
    Hp,
    /// SGI's X server.
    Sgi,
    /// XFree86, stage 1, while the writer polled a full pipe.
    Stage1Polling,
    /// XFree86, stage 1, polling removed.
    Stage1,
    /// XFree86, stage 2b: the pipe is used only when the server sleeps.
    Stage2b,
    /// XFree86, stage 2c: no copy in the client.
    Stage2c,
    /// XFree86, stage 2d: 2b with less synchronisation.
    Stage2d,
}

impl System {
    /// In the paper's order.
    pub const ALL: [Self; 7] =
        [Self::Hp, Self::Sgi, Self::Stage1Polling, Self::Stage1, Self::Stage2b, Self::Stage2c, Self::Stage2d];

    /// A heading for a narrow column.
    pub fn heading(self) -> &'static str {
        match self {
            Self::Hp => "HP",
            Self::Sgi => "SGI",
            Self::Stage1Polling => "XF86 1 polling",
            Self::Stage1 => "XF86 1",
            Self::Stage2b => "XF86 2b",
            Self::Stage2c => "XF86 2c",
            Self::Stage2d => "XF86 2d",
        }
    }
}

/// x11perf's option and the ratios in the order of [`System::ALL`]; 0: not in the paper.
const RATIOS: [(&str, [f64; 7]); 19] = [
    ("dot", [1.39, 2.72, 0.23, 0.74, 0.99, 1.04, 1.15]),
    ("rect1", [1.30, 1.69, 0.24, 0.88, 1.10, 1.10, 1.11]),
    ("rect10", [1.05, 1.41, 0.38, 0.95, 1.04, 1.04, 1.04]),
    ("rect100", [1.00, 1.00, 1.00, 1.00, 1.00, 1.00, 1.00]),
    ("rect500", [1.00, 1.00, 1.00, 1.00, 1.00, 1.00, 1.00]),
    ("line1", [1.24, 2.19, 0.0, 0.0, 0.0, 0.0, 0.0]),
    ("line10", [1.09, 2.14, 0.0, 0.0, 0.0, 0.0, 0.0]),
    ("line100", [1.01, 1.09, 0.0, 0.0, 0.0, 0.0, 0.0]),
    ("line500", [1.00, 1.00, 0.0, 0.0, 0.0, 0.0, 0.0]),
    ("putimage10", [1.24, 1.52, 0.14, 0.92, 1.12, 1.36, 1.40]),
    ("putimage100", [1.64, 2.55, 0.44, 0.74, 1.08, 1.29, 1.14]),
    ("putimage500", [0.85, 1.81, 0.71, 0.89, 0.89, 0.89, 0.89]),
    ("shmput10", [1.16, 1.34, 0.0, 0.0, 0.0, 0.0, 0.0]),
    ("shmput100", [1.04, 0.97, 0.0, 0.0, 0.0, 0.0, 0.0]),
    ("shmput500", [1.00, 0.98, 0.0, 0.0, 0.0, 0.0, 0.0]),
    ("noop", [1.02, 1.46, 1.01, 1.00, 1.14, 1.12, 1.15]),
    // Given in the paper's text as the highest or lowest ratio of a run.
    ("fcircle1", [1.79, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]),
    ("prop", [0.80, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]),
    ("wpcircle10", [0.0, 0.62, 0.0, 0.0, 0.0, 0.0, 0.0]),
];

/// The geometric means that the paper gives: all operations on HP, the executed ones on SGI,
/// XFree86 3.9.18 at 24 bits.
pub const GEOMETRIC_MEANS: &str = "HP 1.06, SGI 1.08, XFree86 1.03";

/// The paper, for a caption.
pub const SOURCE: &str = "R. Faith, Shared Memory Transport for XFree86, 2000";

/// The published ratio of x11perf's `test` for `system`.
pub fn ratio(test: &str, system: System) -> Option<f64> {
    let column = System::ALL.iter().position(|other| *other == system)?;
    let (_, ratios) = RATIOS.iter().find(|(name, _)| *name == test)?;
    Some(ratios[column]).filter(|ratio| *ratio > 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rates without and with the transport, as the paper prints them: the ratios follow from them.
    #[test]
    fn ratios_follow_from_the_published_rates() {
        let rates = [
            ("dot", System::Hp, 2_390_000.0, 3_320_000.0),
            ("putimage100", System::Hp, 988.0, 1620.0),
            ("putimage500", System::Hp, 40.0, 33.9),
            ("dot", System::Sgi, 1_940_000.0, 5_270_000.0),
            ("line10", System::Sgi, 1_450_000.0, 3_110_000.0),
            ("putimage500", System::Sgi, 41.5, 75.1),
            ("noop", System::Sgi, 529_000.0, 771_000.0),
            ("putimage10", System::Stage1Polling, 57_100.0, 8020.0),
            ("putimage100", System::Stage1, 1110.0, 818.0),
            ("putimage10", System::Stage2b, 57_100.0, 63_900.0),
            ("putimage100", System::Stage2c, 1110.0, 1430.0),
            ("putimage10", System::Stage2d, 57_100.0, 79_900.0),
            ("noop", System::Stage2d, 2_150_000.0, 2_480_000.0),
        ];
        for (test, system, without, with) in rates {
            let printed = ratio(test, system).unwrap();
            assert!((printed - with / without).abs() < 0.011, "{test} {system:?}");
        }
    }

    #[test]
    fn what_the_paper_lacks_is_none() {
        assert_eq!(ratio("line1", System::Stage2d), None);
        assert_eq!(ratio("pointer", System::Hp), None);
        assert_eq!(ratio("prop", System::Hp), Some(0.80));
    }

    #[test]
    fn no_test_is_listed_twice() {
        for (index, (name, _)) in RATIOS.iter().enumerate() {
            assert!(RATIOS[..index].iter().all(|(other, _)| other != name), "{name}");
        }
    }
}
