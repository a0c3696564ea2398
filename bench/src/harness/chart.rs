//! Charts: a bar for each measurement on a logarithmic axis, published figures as marks.

use super::format::microseconds;
use super::results::Results;
use super::{Method, Placement, Test};
use anyhow::anyhow;
use plotters::coord::Shift;
use plotters::coord::combinators::IntoLogRange;
use plotters::coord::ranged1d::Ranged;
use plotters::element::{Circle, Polygon};
use plotters::prelude::{BLACK, DrawingArea, IntoDrawingArea, PathElement, RGBColor, Rectangle, SVGBackend, Text, WHITE};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{Color, FontStyle, IntoFont, TextStyle};

/// The number of the colour of what this repository makes, or what is better.
pub const OURS: usize = 0;
/// That of other libraries', or what is worse.
pub const LIBRARY: usize = 1;
/// That of what the system has, or what makes no difference.
pub const SYSTEM: usize = 2;

const COLOURS: [RGBColor; 3] = [RGBColor(0x3b, 0x75, 0xaf), RGBColor(0xd1, 0x8a, 0x3f), RGBColor(0x8a, 0x8a, 0x8a)];
const MARKS: [RGBColor; 6] = [
    RGBColor(0x2e, 0x9e, 0x5b),
    RGBColor(0xb0, 0x4f, 0xb5),
    RGBColor(0xe3, 0xc1, 0x2b),
    RGBColor(0xc0, 0x39, 0x2b),
    RGBColor(0x12, 0xa5, 0xb8),
    RGBColor(0x22, 0x22, 0x22),
];
const PALE: RGBColor = RGBColor(0x77, 0x77, 0x77);
const LINES: RGBColor = RGBColor(0xdd, 0xdd, 0xdd);

const WIDTH: u32 = 1120;
const MARGIN: i32 = 28;
/// Where the bars are; names are left of it, figures right.
const PLOT: std::ops::Range<i32> = 240..900;
const ROW: i32 = 19;
const BAR: i32 = 12;
/// Room for a section's heading and the axis' labels.
const HEADING: i32 = 46;

/// What a chart shows.
pub struct Chart {
    /// Over all of it, and what explains it.
    pub title: String,
    pub notes: Vec<String>,
    /// What the colours stand for; none: there is none of it.
    pub keys: Vec<String>,
    /// What the marks stand for.
    pub marks: Vec<String>,
    /// Where bars begin; None: at the left end.
    pub base: Option<f64>,
    pub sections: Vec<Section>,
}

/// Bars under one heading.
pub struct Section {
    pub title: String,
    pub bars: Vec<Bar>,
}

/// One bar, with marks beside it.
pub struct Bar {
    pub label: String,
    /// Where it ends; None: there are only marks.
    pub value: Option<f64>,
    pub colour: usize,
    pub text: String,
    /// Marks by their number, and where they are.
    pub marks: Vec<(usize, f64)>,
}

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

fn style(size: f64, colour: RGBColor, side: HPos) -> TextStyle<'static> {
    ("DejaVu Sans", size).into_font().color(&colour).pos(Pos::new(side, VPos::Center))
}

impl Chart {
    /// That of round trips.
    pub fn of(results: &Results) -> Self {
        let (bench, settings) = (results.bench, &results.settings);
        let bar = |test: &Test, method: &Method, place: Placement| {
            let us = results.us(test, method, Some(place)).filter(|us| *us > 0.0)?;
            let label = format!("{}, {}", method.label().replace('\n', " "), place.name());
            Some(Bar { label, value: Some(us), colour: method.colour, text: microseconds(us), marks: Vec::new() })
        };
        let section = |test: &'static Test| {
            // Methods without a column are shown where there are no others.
            let bars_of = |has_column: bool| -> Vec<Bar> {
                let methods = || bench.methods.iter().filter(|method| method.heading.is_empty() != has_column);
                let by_place = Placement::ALL.into_iter().flat_map(|place| methods().map(move |method| (method, place)));
                by_place.filter_map(|(method, place)| bar(test, method, place)).collect()
            };
            let mut bars = bars_of(true);
            if bars.is_empty() {
                bars = bars_of(false);
            }
            let marks = bench.figures.published_us(&test.name);
            if !bars.is_empty() && !marks.is_empty() {
                bars.push(Bar { label: "published".to_owned(), value: None, colour: SYSTEM, text: String::new(), marks });
            }
            (!bars.is_empty()).then(|| Section { title: test.title.clone(), bars })
        };
        let day = results.date.split('T').next().unwrap_or_default();
        let mut notes = vec![format!("{}, {day}", results.machine.line()), format!("{}; logarithmic axis", settings.method())];
        notes.extend(bench.figures.sources.iter().map(|source| format!("published: {source}")));
        Self {
            title: bench.figures.chart.clone(),
            notes,
            keys: bench.figures.keys.clone(),
            marks: bench.figures.marks().into_iter().map(str::to_owned).collect(),
            base: None,
            sections: bench.tests.iter().filter(|test| test.share.is_none()).filter_map(section).collect(),
        }
    }

    /// As SVG.
    pub fn draw(&self) -> anyhow::Result<String> {
        let rows: usize = self.sections.iter().map(|section| section.bars.len()).sum();
        let top = 38 + 20 * self.notes.len() as i32 + 34;
        let height = top + HEADING * self.sections.len() as i32 + ROW * rows as i32 + 24;
        let mut svg = String::new();
        {
            let area = SVGBackend::with_string(&mut svg, (WIDTH, height as u32)).into_drawing_area();
            // plotters' errors are not Send.
            self.draw_on(&area, top).and_then(|()| Ok(area.present()?)).map_err(|error| anyhow!("chart: {error}"))?;
        }
        Ok(svg)
    }

    fn draw_on(&self, area: &Area<'_>, top: i32) -> Result<(), Box<dyn std::error::Error>> {
        area.fill(&WHITE)?;
        let title = ("DejaVu Sans", 20.0, FontStyle::Bold).into_font().color(&BLACK).pos(Pos::new(HPos::Left, VPos::Center));
        area.draw(&Text::new(self.title.clone(), (MARGIN, 30), title))?;
        for (line, y) in self.notes.iter().zip((54..).step_by(20)) {
            area.draw(&Text::new(line.clone(), (MARGIN, y), style(13.0, PALE, HPos::Left)))?;
        }
        let mut x = MARGIN;
        let colours = self.keys.iter().zip(COLOURS).filter(|(name, _)| !name.is_empty());
        let keys = colours.map(|(name, colour)| (name, colour, None));
        for (name, colour, mark) in keys.chain(self.marks.iter().enumerate().map(|(at, name)| (name, BLACK, Some(at)))) {
            let y = top - 14;
            match mark {
                None => area.draw(&Rectangle::new([(x, y - 6), (x + 12, y + 6)], colour.filled()))?,
                Some(at) => draw_mark(area, at, (x + 6, y))?,
            }
            area.draw(&Text::new(name.clone(), (x + 18, y), style(12.0, BLACK, HPos::Left)))?;
            x += 38 + (7.2 * name.chars().count() as f64) as i32;
        }
        let axis = self.axis();
        let mut y = top;
        for section in &self.sections {
            draw_section(area, section, (&axis, self.base), &mut y)?;
        }
        Ok(())
    }

    /// Shows every value, and some room around 1; from one round value to another.
    fn axis(&self) -> std::ops::Range<f64> {
        let bars = self.sections.iter().flat_map(|section| &section.bars);
        let values = bars.flat_map(|bar| bar.value.into_iter().chain(bar.marks.iter().map(|mark| mark.1)));
        let (mut low, mut high) = (0.5_f64, 2.0_f64);
        for value in values.filter(|value| *value > 0.0 && value.is_finite()) {
            (low, high) = (low.min(value), high.max(value));
        }
        let floor = steps().rev().find(|step| *step <= low).unwrap_or(low);
        floor..steps().find(|step| *step >= high).unwrap_or(high)
    }
}

/// 1, 2 and 5 times powers of ten.
fn steps() -> impl DoubleEndedIterator<Item = f64> {
    (-4..=7).flat_map(|power| [1.0, 2.0, 5.0].map(|digit| digit * 10_f64.powi(power)))
}

fn draw_section(
    area: &Area<'_>,
    section: &Section,
    (range, base): (&std::ops::Range<f64>, Option<f64>),
    y: &mut i32,
) -> Result<(), Box<dyn std::error::Error>> {
    let axis: plotters::coord::combinators::LogCoord<f64> = range.clone().log_scale().into();
    let x = |value: f64| axis.map(&value, (PLOT.start, PLOT.end));
    let top = *y + HEADING;
    let bottom = top + ROW * section.bars.len() as i32;
    let bold = ("DejaVu Sans", 14.0, FontStyle::Bold).into_font().color(&BLACK).pos(Pos::new(HPos::Left, VPos::Center));
    area.draw(&Text::new(section.title.clone(), (MARGIN, *y + 20), bold))?;
    let shown = range.start * 0.999..=range.end * 1.001;
    // Of a short axis each step has its label, of a long one powers of ten.
    let few = steps().filter(|step| shown.contains(step)).count() < 12;
    for tick in steps().filter(|step| shown.contains(step) && (few || step.log10().fract().abs() < 1e-9)) {
        let colour = if base == Some(tick) { BLACK } else { LINES };
        area.draw(&PathElement::new([(x(tick), top), (x(tick), bottom)], colour))?;
        area.draw(&Text::new(tick.to_string(), (x(tick), top - 7), style(10.0, PALE, HPos::Center)))?;
    }
    for (bar, middle) in section.bars.iter().zip((top + ROW / 2..).step_by(ROW as usize)) {
        area.draw(&Text::new(bar.label.clone(), (PLOT.start - 10, middle), style(12.0, BLACK, HPos::Right)))?;
        if let Some(value) = bar.value {
            let (start, end) = (base.map_or(PLOT.start, x), x(value));
            let (left, right) = (start.min(end), start.max(end).max(start.min(end) + 1));
            area.draw(&Rectangle::new([(left, middle - BAR / 2), (right, middle + BAR / 2)], COLOURS[bar.colour].filled()))?;
            let beside = if base.is_some() { PLOT.end + 10 } else { right + 6 };
            area.draw(&Text::new(bar.text.clone(), (beside, middle), style(11.0, BLACK, HPos::Left)))?;
        }
        for (mark, value) in &bar.marks {
            draw_mark(area, *mark, (x(*value), middle))?;
        }
    }
    *y = bottom;
    Ok(())
}

/// Colour and shape tell the marks apart.
fn draw_mark(area: &Area<'_>, number: usize, (x, y): (i32, i32)) -> Result<(), Box<dyn std::error::Error>> {
    let fill = MARKS[number % MARKS.len()].filled();
    match number % 3 {
        0 => area.draw(&Polygon::new([(x, y - 6), (x + 6, y), (x, y + 6), (x - 6, y)], fill))?,
        1 => area.draw(&Circle::new((x, y), 5, fill))?,
        _ => area.draw(&Polygon::new([(x, y - 6), (x + 6, y + 5), (x - 6, y + 5)], fill))?,
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::results::tests::sample;
    use super::*;

    fn chart(timed: &[(&str, &str, f64)]) -> String {
        Chart::of(&sample(crate::bench("ipc"), timed)).draw().unwrap()
    }

    #[test]
    fn the_chart_is_well_formed_and_longer_times_have_longer_bars() {
        let svg = chart(&[("null", "socket/different", 40.0), ("null", "mach/different", 0.5)]);
        let document = roxmltree::Document::parse(&svg).unwrap();
        let texts: Vec<&str> = document
            .descendants()
            .filter(|node| node.has_tag_name("text"))
            .filter_map(|node| Some(node.text()?.trim()))
            .collect();
        for part in ["null message", "AF_UNIX, different", "Mach, different", "40.0", "L3 native", "published"] {
            assert!(texts.contains(&part), "{part} in {texts:?}");
        }
        assert!(texts.iter().any(|text| text.contains("A & B <CPU>")), "{texts:?}");
        let bars = document.descendants().filter(|node| node.has_tag_name("rect") && node.attribute("x") == Some("240"));
        let widths: Vec<u32> = bars.map(|node| node.attribute("width").unwrap().parse().unwrap()).collect();
        // The sockets' column comes first.
        assert!(matches!(widths[..], [socket, mach] if mach > 0 && mach < socket), "{widths:?}");
        assert_eq!(document.descendants().filter(|node| node.has_tag_name("circle")).count(), 2);
    }

    #[test]
    fn a_chart_without_rows_is_still_a_chart() {
        roxmltree::Document::parse(&chart(&[])).unwrap();
    }
}
