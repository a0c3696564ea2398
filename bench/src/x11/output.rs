//! What x11perf prints.

/// One measured test: x11perf's line `N reps @ T msec (R/sec): label`.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    /// Operations done. A repetition of most tests is several operations (1000 dots, 4 windows).
    pub operations: u64,
    /// Operations a second.
    pub rate: f64,
    /// What x11perf calls the test.
    pub label: String,
}

impl Line {
    /// Seconds that x11perf timed.
    pub fn seconds(&self) -> f64 {
        self.operations as f64 / self.rate
    }

    fn parse(line: &str) -> Option<Self> {
        let (operations, rest) = line.split_once(" reps @")?;
        let (_milliseconds, rest) = rest.split_once(" msec (")?;
        let (rate, label) = rest.split_once("/sec): ")?;
        let rate: f64 = rate.trim().parse().ok()?;
        (rate.is_finite() && rate > 0.0).then_some(Self {
            operations: operations.trim().parse().ok()?,
            rate,
            label: label.trim_end().to_owned(),
        })
    }
}

/// Every measured test in x11perf's output, in its order; its averages (`trep`) are left out.
pub fn lines(output: &str) -> Vec<Line> {
    output.lines().filter_map(Line::parse).collect()
}

/// Version of the server as x11perf reports it ("21.1.7" for release 12101007 of X.Org).
pub fn server_version(output: &str) -> Option<String> {
    let line = output.lines().find(|line| line.contains(" server version "))?;
    let (vendor, rest) = line.split_once(" server version ")?;
    let release: u64 = rest.split(' ').next()?.parse().ok()?;
    if vendor != "The X.Org Foundation" {
        return Some(format!("{vendor} {release}"));
    }
    // Since X.Org 21 the release is 1, two digits of the year's version, two of the minor, three of the patch.
    Some(match release {
        12_000_000.. => {
            format!("{}.{}.{}", release / 100_000 % 100, release / 1000 % 100, release % 1000)
        }
        _ => {
            format!("{}.{}.{}", release / 10_000_000, release / 100_000 % 100, release / 1000 % 100)
        }
    })
}

/// x11perf's own version.
pub fn program_version(output: &str) -> Option<&str> {
    output.lines().find_map(|line| line.strip_prefix("x11perf - X11 performance program, version ")).map(str::trim)
}

#[cfg(test)]
mod tests {
    use super::*;

    const CAPTURED: &str = "\
x11perf - X11 performance program, version 1.2
The X.Org Foundation server version 12101007 on :300
from host
Sat Nov 21 02:00:53 2026

Sync time adjustment is 0.0592 msecs.

   70000000 reps @   0.0000 msec (70400000.0/sec): X protocol NoOperation

      20000 reps @   0.0675 msec ( 14800.0/sec): QueryPointer

          4 reps @   0.0995 msec ( 10100.0/sec): Move window (4 kids)
   10000000 reps @   0.0000 msec (244439012.5/sec): Dot
";

    #[test]
    fn captured_lines() {
        let lines = lines(CAPTURED);
        let short: Vec<_> = lines.iter().map(|line| (line.operations, line.rate, line.label.as_str())).collect();
        let expected = [
            (70_000_000, 70_400_000.0, "X protocol NoOperation"),
            (20_000, 14_800.0, "QueryPointer"),
            (4, 10_100.0, "Move window (4 kids)"),
            (10_000_000, 244_439_012.5, "Dot"),
        ];
        assert_eq!(short, expected);
        assert!((lines[1].seconds() - 1.3514).abs() < 1e-3);
    }

    #[test]
    fn versions() {
        assert_eq!(server_version(CAPTURED).as_deref(), Some("21.1.7"));
        assert_eq!(program_version(CAPTURED), Some("1.2"));
        let older = "The X.Org Foundation server version 12013000 on :1";
        assert_eq!(server_version(older).as_deref(), Some("20.13.0"));
        let xfree86 = "The XFree86 Project, Inc server version 40300000 on :0";
        assert_eq!(server_version(xfree86).as_deref(), Some("The XFree86 Project, Inc 40300000"));
        assert_eq!(server_version(""), None);
    }

    #[test]
    fn broken_lines_are_no_results() {
        for line in [
            "",
            "Sync time adjustment is 0.0592 msecs.",
            "x reps @ 1.0 msec ( 10.0/sec): Dot",
            "5 reps @ 1.0 msec ( inf/sec): Dot",
            "5 reps @ 1.0 msec ( 0.0/sec): Dot",
            "5 reps @ 1.0 msec ( 10.0/sec)",
            "300 trep @ 0.0076 msec (131233.6/sec): Dot",
        ] {
            assert_eq!(lines(line), [], "{line}");
        }
    }
}
