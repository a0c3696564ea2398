//! Round trips as a chart: a bar for each way, on a logarithmic axis, published figures as marks.

use super::Placement;
use super::cases::{Case, Method, Test};
use super::results::{Results, Row, Unit};
use crate::report::axis::Axis;
use crate::report::drawing::{INK, PALE, page, text};
use crate::report::format::microseconds;
use svg::Document;
use svg::node::element::{Group, Line, Path, Rectangle};

const WIDTH: f64 = 1120.0;
const MARGIN: f64 = 28.0;
/// Where the bars are; names are left of it, figures right.
const PLOT_LEFT: f64 = 240.0;
const PLOT_WIDTH: f64 = 700.0;
const ROW: f64 = 17.0;
const BAR: f64 = 11.0;
/// Room for a test's heading.
const HEADING: f64 = 30.0;

/// The colour of what this repository makes.
pub const OURS: &str = "#3b75af";
/// The colour of what the system has.
pub const SYSTEM: &str = "#8a8a8a";

/// The colours of the published columns.
const PUBLISHED: [&str; 5] = ["#2e9e5b", "#b04fb5", "#222222", "#c0392b", "#12a5b8"];

/// A colour and what it stands for.
pub struct Key(pub &'static str, pub &'static str);

/// What a chart shows.
pub struct Chart<'a> {
    /// Over all of it.
    pub title: &'a str,
    /// The bars' colours.
    pub keys: &'a [Key],
    /// What the marks stand for, at most five.
    pub marks: &'a [&'a str],
    /// Where the marks are from.
    pub sources: &'a [&'a str],
    /// The tests.
    pub sections: Vec<Section>,
}

/// One test.
pub struct Section {
    /// Its name.
    pub title: String,
    /// A bar for each way.
    pub bars: Vec<Bar>,
    /// The published figures, microseconds, in the order of [`Chart::marks`].
    pub marks: Vec<Option<f64>>,
}

/// One way to do a test.
pub struct Bar {
    /// How and where.
    pub label: String,
    /// How long, microseconds.
    pub us: f64,
    /// One of the chart's.
    pub colour: &'static str,
}

/// The tests of a bench, with a bar for each way and placement that was timed and is `shown`.
pub fn sections<M: Method>(
    results: &Results<Case<M::Test, M>>,
    shown: impl Fn(M) -> bool,
    colour: impl Fn(M) -> &'static str,
    marks: impl Fn(M::Test) -> Vec<Option<f64>>,
) -> Vec<Section> {
    let section = |&test: &M::Test| {
        let of_test = |row: &&Row<Case<M::Test, M>>| row.case.test == test && row.unit == Unit::Microseconds && row.value > 0.0;
        let mut rows: Vec<_> = results.rows.iter().filter(of_test).filter(|row| shown(row.case.method)).collect();
        rows.sort_by_key(|row| Placement::ALL.iter().position(|place| *place == row.case.placement));
        let bar = |row: &Row<Case<M::Test, M>>| {
            let Case { method, placement, .. } = row.case;
            let label = format!("{}, {}", method.heading().replace('\n', " "), placement.name());
            Bar { label, us: row.value, colour: colour(method) }
        };
        (!rows.is_empty()).then(|| Section { title: test.title(), bars: rows.into_iter().map(bar).collect(), marks: marks(test) })
    };
    M::Test::ALL.iter().filter_map(section).collect()
}

impl Chart<'_> {
    /// The chart; `results` tell where, when and how it was measured.
    pub fn draw<C>(&self, results: &Results<C>) -> Document {
        let bars = self.sections.iter().flat_map(|section| &section.bars).map(|bar| bar.us);
        let published = self.sections.iter().flat_map(|section| &section.marks).flatten().copied();
        let axis = Axis::around(bars.chain(published), PLOT_LEFT, PLOT_WIDTH);
        let mut y = 38.0;
        let mut body = title(self, results, &mut y);
        for part in &self.sections {
            body = section(body, part, &axis, &mut y);
        }
        page(WIDTH, y + 24.0, body)
    }
}

fn title<C>(chart: &Chart<'_>, results: &Results<C>, y: &mut f64) -> Group {
    let day = results.date.split('T').next().unwrap_or_default();
    let settings = &results.settings;
    let heading = text(MARGIN, *y, 20.0, INK, chart.title);
    *y += 22.0;
    let machine = text(MARGIN, *y, 13.0, PALE, &format!("{}, {day}", results.machine.line()));
    *y += 18.0;
    let method = format!("medians of {} interleaved runs of {} s; logarithmic axis", settings.repeat, settings.seconds);
    let method = text(MARGIN, *y, 13.0, PALE, &method);
    *y += 24.0;
    let mut group = Group::new().add(heading.set("font-weight", "bold")).add(machine).add(method);
    let mut x = MARGIN;
    for Key(colour, name) in chart.keys {
        let box_ = Rectangle::new().set("x", x).set("y", *y - 10.0).set("width", 12.0).set("height", 12.0).set("fill", *colour);
        group = group.add(box_).add(text(x + 18.0, *y, 12.0, INK, name));
        x += 38.0 + 7.2 * name.len() as f64;
    }
    for (index, name) in chart.marks.iter().enumerate() {
        group = group.add(mark(index, x + 5.0, *y - 4.0)).add(text(x + 16.0, *y, 12.0, INK, name));
        x += 36.0 + 7.2 * name.len() as f64;
    }
    *y += 18.0;
    for (index, source) in chart.sources.iter().enumerate() {
        let mark = if index == 0 { "Marks: " } else { "" };
        group = group.add(text(MARGIN, *y, 11.0, PALE, &format!("{mark}{source}")));
        *y += 14.0;
    }
    *y -= 6.0;
    group
}

fn section(mut body: Group, section: &Section, axis: &Axis, y: &mut f64) -> Group {
    let top = *y + HEADING;
    let bottom = top + ROW * section.bars.len() as f64;
    body = body.add(text(MARGIN, *y + 22.0, 14.0, INK, &section.title).set("font-weight", "bold"));
    for tick in axis.ticks().into_iter().filter(|tick| tick.log10().fract().abs() < 1e-9) {
        let x = axis.x(tick);
        let line = Line::new().set("x1", x).set("x2", x).set("y1", top).set("y2", bottom).set("stroke", "#dddddd");
        let label = text(x, top - 5.0, 10.0, PALE, &tick.to_string());
        body = body.add(line).add(label.set("text-anchor", "middle"));
    }
    for (index, one) in section.bars.iter().enumerate() {
        let middle = top + ROW * (index as f64 + 0.5);
        body = body.add(bar(one, axis, middle));
    }
    for (index, us) in section.marks.iter().enumerate() {
        if let Some(us) = us {
            body = body.add(mark(index, axis.x(*us), top + ROW * section.bars.len() as f64 / 2.0));
        }
    }
    *y = bottom;
    body
}

fn bar(bar: &Bar, axis: &Axis, middle: f64) -> Group {
    let end = axis.x(bar.us);
    let drawn = Rectangle::new()
        .set("x", PLOT_LEFT)
        .set("y", middle - BAR / 2.0)
        .set("width", (end - PLOT_LEFT).max(1.0))
        .set("height", BAR)
        .set("fill", bar.colour);
    Group::new().add(text(PLOT_LEFT - 10.0, middle + 4.0, 12.0, INK, &bar.label).set("text-anchor", "end")).add(drawn).add(text(
        end.max(PLOT_LEFT) + 6.0,
        middle + 4.0,
        11.0,
        INK,
        &microseconds(bar.us),
    ))
}

/// A published figure: a diamond in its column's colour.
fn mark(column: usize, x: f64, y: f64) -> Path {
    let outline = format!("M{x} {}l5 5l-5 5l-5 -5z", y - 5.0);
    Path::new().set("d", outline).set("fill", PUBLISHED[column]).set("stroke", "#ffffff")
}

#[cfg(test)]
pub mod tests {
    /// The texts of a chart.
    pub fn texts<'a>(document: &'a roxmltree::Document<'_>) -> Vec<&'a str> {
        let texts = document.descendants().filter(|node| node.has_tag_name("text"));
        texts.map(|node| node.text().unwrap_or_default().trim()).collect()
    }
}
