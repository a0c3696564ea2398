//! The small marks on the chart's bars, and the legend that explains them.

use super::super::hooks::Stage;
use super::super::published::{self, System};
use super::super::results::Results;
use super::super::targets::wanted;
use crate::report::drawing::text;
use svg::node::element::{Group, Path};

/// The published systems that the chart shows: all of them would hide the bars.
pub const SHOWN: [System; 4] = [System::Hp, System::Sgi, System::Stage1, System::Stage2d];

/// Half a mark's width.
const SIZE: f64 = 4.5;

/// Something that is marked on a bar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    /// A published ratio.
    Published(System),
    /// Ours at another stage.
    Stage(Stage),
    /// The ratio to reach.
    Target,
}

impl Mark {
    fn name(self) -> String {
        match self {
            Self::Published(System::Hp) => "HP 9000/735".to_owned(),
            Self::Published(System::Sgi) => "SGI Indigo2".to_owned(),
            Self::Published(System::Stage1) => "XFree86 stage 1".to_owned(),
            Self::Published(System::Stage2d) => "XFree86 stage 2d".to_owned(),
            Self::Published(other) => other.heading().to_owned(),
            Self::Stage(stage) => format!("ours, stage {}", stage.name()),
            Self::Target => "target".to_owned(),
        }
    }

    /// The mark with its middle at `x`, `y`.
    pub fn draw(self, x: f64, y: f64) -> Path {
        let s = SIZE;
        let (outline, fill) = match self {
            Self::Published(System::Hp) => (format!("M{} {}l{s} {}h{}z", x, y - s, 2.0 * s, -2.0 * s), "#2e9e5b"),
            Self::Published(System::Sgi) => (circle(x, y, s), "#b04fb5"),
            Self::Published(System::Stage1) => (format!("M{} {}h{}v{}h{}z", x - s, y - s, 2.0 * s, 2.0 * s, -2.0 * s), "#e3c12b"),
            Self::Published(_) => (format!("M{} {}l{s} {s}l{} {s}l{} {}z", x, y - s, -s, -s, -s), "#e6892e"),
            Self::Stage(Stage::One) => (circle(x, y, s), "#ffffff"),
            Self::Stage(_) => (format!("M{} {}l{s} {s}l{} {s}l{} {}z", x, y - s, -s, -s, -s), "#ffffff"),
            Self::Target => (format!("M{} {}v{}", x, y - 10.0, 20.0), "none"),
        };
        let (stroke, width) = match self {
            Self::Target => ("#c22727", 2.0),
            _ => ("#222222", 1.0),
        };
        Path::new().set("d", outline).set("fill", fill).set("stroke", stroke).set("stroke-width", width)
    }
}

fn circle(x: f64, y: f64, radius: f64) -> String {
    let (left, across) = (x - radius, 2.0 * radius);
    format!("M{left} {y}a{radius} {radius} 0 1 0 {across} 0a{radius} {radius} 0 1 0 -{across} 0z")
}

/// The marks that the chart of `results` has, in the order of drawing.
pub fn legend(results: &Results) -> Vec<Mark> {
    let mut marks = Vec::new();
    for system in SHOWN {
        let has = |test: &str| published::ratio(test, system).is_some();
        if results.rows.iter().any(|row| has(&row.test)) {
            marks.push(Mark::Published(system));
        }
    }
    marks.extend(results.other_stages().into_iter().map(Mark::Stage));
    let aimed = results.rows.iter().any(|row| wanted(&row.test, row.placement).is_some());
    if aimed && !results.settings.baseline {
        marks.push(Mark::Target);
    }
    marks
}

/// The legend as one line that starts at `x`.
pub fn draw_legend(marks: &[Mark], mut x: f64, y: f64) -> Group {
    let mut group = Group::new();
    for mark in marks {
        let name = mark.name();
        group = group.add(mark.draw(x + SIZE, y - 4.0)).add(text(x + 16.0, y, 12.0, "#222222", &name));
        // A letter is about 7 wide at this size.
        x += 16.0 + 7.2 * name.len() as f64 + 20.0;
    }
    group
}

#[cfg(test)]
mod tests {
    use super::super::sample::results;
    use super::*;

    #[test]
    fn the_legend_explains_what_is_there_and_no_more() {
        let mut results = results();
        let stage = Mark::Stage(Stage::One);
        assert!(legend(&results).contains(&stage));
        assert!(legend(&results).contains(&Mark::Target));
        results.rows.retain(|row| row.test == "pointer" && row.stage == results.stage);
        assert_eq!(legend(&results), [Mark::Target]);
        results.settings.baseline = true;
        assert_eq!(legend(&results), []);
    }
}
