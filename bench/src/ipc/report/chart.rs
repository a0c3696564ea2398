//! The results as a chart: a bar for each way, on a logarithmic axis, the published figures as marks.

use crate::ipc::cases::{Method, Placement, Test};
use crate::ipc::results::{Results, Row, Unit};
use crate::ipc::seed;
use crate::report::axis::Axis;
use crate::report::drawing::{INK, PALE, page, save, text};
use crate::report::format::microseconds;
use std::path::Path as FilePath;
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

const OURS: &str = "#3b75af";
const PEER: &str = "#d1a04f";
const SYSTEM: &str = "#8a8a8a";

/// The colours of the published columns.
const PUBLISHED: [&str; 3] = ["#2e9e5b", "#b04fb5", "#222222"];

/// Writes the chart of `results` to `file`.
///
/// # Errors
/// When the file can't be written.
pub fn write(file: &FilePath, results: &Results) -> anyhow::Result<()> {
    save(file, &draw(results))
}

fn draw(results: &Results) -> Document {
    let rows: Vec<&Row> = results.rows.iter().filter(|row| row.unit == Unit::Microseconds && row.value > 0.0).collect();
    let tests: Vec<Test> = Test::ALL.into_iter().filter(|test| rows.iter().any(|row| row.case.test == *test)).collect();
    let published = tests.iter().flat_map(|&test| published_us(test)).flatten();
    let axis = Axis::around(rows.iter().map(|row| row.value).chain(published), PLOT_LEFT, PLOT_WIDTH);
    let mut y = 38.0;
    let mut body = title(results, &mut y);
    for test in tests {
        let mut lines: Vec<&Row> = rows.iter().filter(|row| row.case.test == test).copied().collect();
        lines.sort_by_key(|row| Placement::ALL.iter().position(|place| *place == row.case.placement));
        body = section(body, test, &lines, &axis, &mut y);
    }
    page(WIDTH, y + 24.0, body)
}

fn title(results: &Results, y: &mut f64) -> Group {
    let day = results.date.split('T').next().unwrap_or_default();
    let settings = &results.settings;
    let heading = text(MARGIN, *y, 20.0, INK, "Messages and rights, there and back: microseconds");
    *y += 22.0;
    let machine = text(MARGIN, *y, 13.0, PALE, &format!("{}, {day}", results.machine.line()));
    *y += 18.0;
    let method = format!("medians of {} interleaved runs of {} s; logarithmic axis", settings.repeat, settings.seconds);
    let method = text(MARGIN, *y, 13.0, PALE, &method);
    *y += 24.0;
    let mut group = Group::new().add(heading.set("font-weight", "bold")).add(machine).add(method);
    let mut x = MARGIN;
    for (colour, name) in [(OURS, "Slipway"), (PEER, "other libraries"), (SYSTEM, "the system")] {
        let box_ = Rectangle::new().set("x", x).set("y", *y - 10.0).set("width", 12.0).set("height", 12.0).set("fill", colour);
        group = group.add(box_).add(text(x + 18.0, *y, 12.0, INK, name));
        x += 38.0 + 7.2 * name.len() as f64;
    }
    for (index, name) in seed::COLUMNS.into_iter().enumerate() {
        group = group.add(mark(index, x + 5.0, *y - 4.0)).add(text(x + 16.0, *y, 12.0, INK, name));
        x += 36.0 + 7.2 * name.len() as f64;
    }
    *y += 18.0;
    let source = text(MARGIN, *y, 11.0, PALE, &format!("Marks: {}", seed::SOURCE));
    *y += 8.0;
    group.add(source)
}

fn section(mut body: Group, test: Test, rows: &[&Row], axis: &Axis, y: &mut f64) -> Group {
    let top = *y + HEADING;
    let bottom = top + ROW * rows.len() as f64;
    body = body.add(text(MARGIN, *y + 22.0, 14.0, INK, &test.title()).set("font-weight", "bold"));
    for tick in axis.ticks().into_iter().filter(|tick| tick.log10().fract().abs() < 1e-9) {
        let x = axis.x(tick);
        let line = Line::new().set("x1", x).set("x2", x).set("y1", top).set("y2", bottom).set("stroke", "#dddddd");
        let label = text(x, top - 5.0, 10.0, PALE, &tick.to_string());
        body = body.add(line).add(label.set("text-anchor", "middle"));
    }
    for (index, row) in rows.iter().enumerate() {
        let middle = top + ROW * (index as f64 + 0.5);
        body = body.add(bar(row, axis, middle));
    }
    for (index, us) in published_us(test).into_iter().enumerate() {
        if let Some(us) = us {
            body = body.add(mark(index, axis.x(us), top + ROW * rows.len() as f64 / 2.0));
        }
    }
    *y = bottom;
    body
}

fn bar(row: &Row, axis: &Axis, middle: f64) -> Group {
    let end = axis.x(row.value);
    let name = format!("{}, {}", row.case.method.heading().replace('\n', " "), row.case.placement.name());
    let bar = Rectangle::new()
        .set("x", PLOT_LEFT)
        .set("y", middle - BAR / 2.0)
        .set("width", (end - PLOT_LEFT).max(1.0))
        .set("height", BAR)
        .set("fill", colour(row.case.method));
    Group::new().add(text(PLOT_LEFT - 10.0, middle + 4.0, 12.0, INK, &name).set("text-anchor", "end")).add(bar).add(text(
        end.max(PLOT_LEFT) + 6.0,
        middle + 4.0,
        11.0,
        INK,
        &microseconds(row.value),
    ))
}

fn colour(method: Method) -> &'static str {
    match method {
        Method::Fabric | Method::Mach | Method::MachSleep | Method::MachOneProcess => OURS,
        Method::IpcChannel | Method::Iceoryx2 => PEER,
        _ => SYSTEM,
    }
}

/// A published figure: a diamond in its column's colour.
fn mark(column: usize, x: f64, y: f64) -> Path {
    let outline = format!("M{x} {}l5 5l-5 5l-5 -5z", y - 5.0);
    Path::new().set("d", outline).set("fill", PUBLISHED[column]).set("stroke", "#ffffff")
}

/// The published figures of `test`, in the order of their columns, microseconds.
fn published_us(test: Test) -> [Option<f64>; 3] {
    seed::published(test).map_or([None; 3], |line| line.columns().map(|ms| ms.map(|ms| ms * 1000.0)))
}

#[cfg(test)]
mod tests {
    use super::super::sample::results;
    use super::*;

    #[test]
    fn the_chart_is_well_formed_and_whole() {
        let results = results();
        let drawn = draw(&results).to_string();
        let document = roxmltree::Document::parse(&drawn).unwrap();
        let texts: Vec<&str> = document
            .descendants()
            .filter(|node| node.has_tag_name("text"))
            .map(|node| node.text().unwrap_or_default().trim())
            .collect();
        for part in ["null message", "256 ports", "AF_UNIX, one-core", "290", "L3 native"] {
            assert!(texts.contains(&part), "{part} in {texts:?}");
        }
        assert!(texts.iter().any(|text| text.contains("A & B <CPU>") && text.contains("2026-01-02")));
        let filled = |colours: &[&str]| -> usize {
            let fills = document.descendants().filter_map(|node| Some((node.tag_name().name(), node.attribute("fill")?)));
            fills.filter(|(name, fill)| *name == "rect" && colours.contains(fill)).count()
        };
        let timed = results.rows.iter().filter(|row| row.unit == Unit::Microseconds).count();
        assert_eq!(filled(&[OURS, PEER, SYSTEM]), timed + 3);
    }

    #[test]
    fn longer_times_have_longer_bars() {
        let results = results();
        let drawn = draw(&results).to_string();
        let document = roxmltree::Document::parse(&drawn).unwrap();
        let width = |name: &str| -> f64 {
            let label = document.descendants().find(|node| node.text().is_some_and(|text| text.trim() == name)).unwrap();
            let group = label.ancestors().find(|node| node.has_tag_name("g")).unwrap();
            let bar = group.children().find(|node| node.has_tag_name("rect")).unwrap();
            bar.attribute("width").unwrap().parse().unwrap()
        };
        assert!(width("Mach, different") < width("iceoryx2, different"));
        assert!(width("iceoryx2, different") < width("AF_UNIX, different"));
    }

    #[test]
    fn a_chart_without_rows_is_still_a_chart() {
        let mut results = results();
        results.rows.clear();
        roxmltree::Document::parse(&draw(&results).to_string()).unwrap();
    }
}
