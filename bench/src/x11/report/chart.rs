//! The results as a chart: a bar for each test on a logarithmic axis, published ratios as marks.

use super::super::placement::Placement;
use super::super::published::{self, System};
use super::super::results::{Results, Row};
use super::super::targets::wanted;
use super::marks::{self, Mark};
use crate::report::axis::Axis;
use crate::report::drawing::{INK, PALE, page, save, text};
use crate::report::format::{rate, ratio};
use std::path::Path;
use svg::Document;
use svg::node::element::{Group, Line, Rectangle};

const WIDTH: f64 = 1120.0;
const MARGIN: f64 = 28.0;
/// Where the bars are; the tests' names are left of it, the figures right.
const PLOT_LEFT: f64 = 190.0;
const PLOT_WIDTH: f64 = 640.0;
const RATIO_X: f64 = PLOT_LEFT + PLOT_WIDTH + 70.0;
const ROW: f64 = 21.0;
const BAR: f64 = 13.0;
/// Room for a placement's heading and its axis labels.
const HEADING: f64 = 46.0;

const FASTER: &str = "#3b75af";
const SLOWER: &str = "#d1702f";
/// Less than 5 % from 1: no more than noise.
const EVEN: &str = "#8a8a8a";

/// Writes the chart of `results` to `file`.
///
/// # Errors
/// When the file can't be written.
pub fn write(file: &Path, results: &Results) -> anyhow::Result<()> {
    save(file, &draw(results))
}

fn draw(results: &Results) -> Document {
    let legend = marks::legend(results);
    let axis = Axis::around(shown(results), PLOT_LEFT, PLOT_WIDTH);
    let mut y = 0.0;
    let mut body = Group::new();
    body = title(body, results, &mut y);
    body = body.add(marks::draw_legend(&legend, MARGIN, y));
    y += 14.0;
    for placement in results.placements() {
        body = section(body, results, placement, &axis, &legend, &mut y);
    }
    y += 26.0;
    let source = format!("Marks: {}.", published::SOURCE);
    body = body.add(text(MARGIN, y, 11.0, PALE, &source));
    y += 20.0;
    page(WIDTH, y, body)
}

/// Every ratio in the chart.
fn shown(results: &Results) -> impl Iterator<Item = f64> {
    let ours = results.rows.iter().map(|row| row.ratio);
    let wanted = results.rows.iter().filter_map(|row| target(results, row));
    let published = results.rows.iter().flat_map(|row| marks::SHOWN.map(|system| published::ratio(&row.test, system))).flatten();
    ours.chain(wanted).chain(published)
}

fn target(results: &Results, row: &Row) -> Option<f64> {
    wanted(&row.test, row.placement).filter(|_| !results.settings.baseline)
}

fn title(body: Group, results: &Results, y: &mut f64) -> Group {
    let heading = match results.settings.baseline {
        true => "x11perf: the plain socket against itself (noise)",
        false => "x11perf: shared memory against the plain socket",
    };
    let mean = results.overall_mean().map_or(String::new(), |mean| format!(", geometric mean {}", ratio(mean)));
    let day = results.date.split('T').next().unwrap_or_default();
    let settings = &results.settings;
    *y += 38.0;
    let body = body.add(text(MARGIN, *y, 20.0, INK, &format!("{heading}{mean}")).set("font-weight", "bold"));
    *y += 22.0;
    let machine = format!("{}, {day}", results.machine.line());
    let body = body.add(text(MARGIN, *y, 13.0, PALE, &machine));
    *y += 18.0;
    let method = format!(
        "X server {}, x11perf {}; rate over shared memory / rate over the socket, medians of {} interleaved runs of {} s",
        settings.server, settings.x11perf, settings.repeat, settings.seconds
    );
    let body = body.add(text(MARGIN, *y, 13.0, PALE, &method));
    *y += 28.0;
    body
}

fn section(mut body: Group, results: &Results, placement: Placement, axis: &Axis, legend: &[Mark], y: &mut f64) -> Group {
    let rows: Vec<&Row> = results.main_rows().filter(|row| row.placement == placement).collect();
    let top = *y + HEADING;
    let bottom = top + ROW * rows.len() as f64;
    let heading = text(MARGIN, *y + 22.0, 14.0, INK, placement.title());
    body = body.add(heading.set("font-weight", "bold"));
    for tick in axis.ticks() {
        let (x, one) = (axis.x(tick), tick == 1.0);
        let line = Line::new()
            .set("x1", x)
            .set("x2", x)
            .set("y1", top)
            .set("y2", bottom)
            .set("stroke", if one { INK } else { "#dddddd" })
            .set("stroke-width", if one { 1.5 } else { 1.0 });
        let label = text(x, top - 5.0, 10.0, PALE, &tick.to_string());
        body = body.add(line).add(label.set("text-anchor", "middle"));
    }
    for (index, row) in rows.into_iter().enumerate() {
        let middle = top + ROW * (index as f64 + 0.5);
        body = body.add(draw_row(results, row, axis, legend, middle));
    }
    *y = bottom;
    body
}

fn draw_row(results: &Results, row: &Row, axis: &Axis, legend: &[Mark], middle: f64) -> Group {
    let (one, end) = (axis.x(1.0), axis.x(row.ratio));
    let colour = match row.ratio {
        1.05.. => FASTER,
        0.95.. => EVEN,
        _ => SLOWER,
    };
    let bar = Rectangle::new()
        .set("x", one.min(end))
        .set("y", middle - BAR / 2.0)
        .set("width", (end - one).abs().max(1.0))
        .set("height", BAR)
        .set("fill", colour);
    let figure = ratio(row.ratio).replace('x', "\u{d7}");
    let rates = format!("{} \u{2192} {} /s", rate(row.socket), rate(row.ours));
    let mut group = Group::new()
        .add(text(PLOT_LEFT - 10.0, middle + 4.0, 12.0, INK, &row.test).set("text-anchor", "end"))
        .add(bar)
        .add(text(RATIO_X, middle + 4.0, 12.0, colour, &figure).set("text-anchor", "end").set("font-weight", "bold"))
        .add(text(RATIO_X + 16.0, middle + 4.0, 11.0, PALE, &rates));
    for mark in legend {
        let value = match *mark {
            Mark::Published(system) => published_for(row, system),
            Mark::Stage(stage) => results.in_stage(row, stage).map(|other| other.ratio),
            Mark::Target => target(results, row),
        };
        if let Some(value) = value {
            group = group.add(mark.draw(axis.x(value), middle));
        }
    }
    group
}

/// The published figures stand beside the placement that is nearest to theirs, once.
fn published_for(row: &Row, system: System) -> Option<f64> {
    let placed = matches!(row.placement, Placement::Different | Placement::Free);
    published::ratio(&row.test, system).filter(|_| placed)
}

#[cfg(test)]
mod tests {
    use super::super::sample::results;
    use super::*;

    #[test]
    fn the_chart_is_well_formed_and_whole() {
        let results = results();
        let text = draw(&results).to_string();
        let document = roxmltree::Document::parse(&text).unwrap();
        assert_eq!(document.root_element().tag_name().name(), "svg");
        let texts: Vec<&str> = document
            .descendants()
            .filter(|node| node.has_tag_name("text"))
            .map(|node| node.text().unwrap_or_default().trim())
            .collect();
        for row in results.main_rows() {
            assert!(texts.contains(&row.test.as_str()), "{} in {texts:?}", row.test);
        }
        assert!(texts.iter().any(|text| text.contains("A & B <CPU>") && text.contains("2026-01-02")));
        assert!(texts.contains(&"\u{d7}50.0"), "{texts:?}");
    }

    #[test]
    fn bars_start_at_one() {
        let results = results();
        let text = draw(&results).to_string();
        let document = roxmltree::Document::parse(&text).unwrap();
        let bars: Vec<(f64, f64, &str)> = document
            .descendants()
            .filter(|node| node.has_tag_name("rect") && node.attribute("x").is_some())
            .filter(|node| [FASTER, EVEN, SLOWER].contains(&node.attribute("fill").unwrap_or_default()))
            .map(|node| {
                let number = |name| node.attribute(name).unwrap().parse::<f64>().unwrap();
                (number("x"), number("width"), node.attribute("fill").unwrap())
            })
            .collect();
        assert_eq!(bars.len(), results.main_rows().count());
        let one = bars[0].0;
        for (x, width, colour) in bars {
            let starts = match colour {
                FASTER => x == one,
                SLOWER => (x + width - one).abs() < 0.01,
                _ => x <= one && one <= x + width + 0.01,
            };
            assert!(starts, "{x} {width} {colour}");
        }
    }

    #[test]
    fn a_chart_without_rows_is_still_a_chart() {
        let mut results = results();
        results.rows.clear();
        roxmltree::Document::parse(&draw(&results).to_string()).unwrap();
    }
}
