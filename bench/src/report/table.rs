//! The tables for people.

use crate::targets::{Judgement, Verdict};
use comfy_table::{Cell, CellAlignment, ContentArrangement, ContentLineStyle, LineStyle, Table, TableStyle};

/// A line under the heading and no others: the tables are wide.
const RULED: TableStyle = TableStyle::new()
    .header_lines(ContentLineStyle::none())
    .header_separator(LineStyle::none().fill('─'))
    .content_lines(ContentLineStyle::none());

/// An empty table with that heading.
pub fn new_table(heading: Vec<String>) -> Table {
    let mut table = Table::new();
    table.load_style(RULED).set_content_arrangement(ContentArrangement::Disabled).set_header(aligned(heading));
    table
}

/// Text on the left, figures on the right.
pub fn aligned(cells: Vec<String>) -> Vec<Cell> {
    let mut cells = cells.into_iter().map(Cell::new);
    let first = cells.next();
    let rest = cells.map(|cell| cell.set_alignment(CellAlignment::Right));
    first.into_iter().chain(rest).collect()
}

/// The targets and what came of them.
pub fn target_table(judgements: &[Judgement]) -> Table {
    let heading = ["target", "wanted", "reached", "", ""].map(str::to_owned);
    let mut table = new_table(heading.to_vec());
    for judgement in judgements {
        let verdict = match judgement.verdict {
            Verdict::Met => "met",
            Verdict::Missed => "MISSED",
            Verdict::NotMeasured => "not measured",
        };
        let reached = judgement.reached.map_or(String::new(), |value| format!("{value:.2}"));
        table.add_row(vec![
            Cell::new(&judgement.what),
            Cell::new(&judgement.wanted).set_alignment(CellAlignment::Right),
            Cell::new(reached).set_alignment(CellAlignment::Right),
            Cell::new(verdict),
            Cell::new(&judgement.detail),
        ]);
    }
    table
}
