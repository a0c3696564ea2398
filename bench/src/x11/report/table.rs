//! The results for people.

use super::super::placement::Placement;
use super::super::published::{self, System};
use super::super::results::{Results, Row};
use super::super::targets::{self, Group};
use crate::report::format::{microseconds, rate, ratio};
use crate::report::table::{aligned, new_table, target_table};
use crate::stats::geometric_mean;
use crate::targets::{Judgement, reaches};
use comfy_table::Table;

/// The whole report.
pub fn render(results: &Results, judgements: &[Judgement]) -> String {
    let mut out = header(results);
    for placement in results.placements() {
        out.push_str(&format!("\n{}: {}\n", placement.name(), placement.title()));
        out.push_str(&placement_table(results, placement).to_string());
        out.push_str(&format!("\n{}\n", means(results, placement)));
    }
    out.push_str(&format!(
        "\nHP, SGI, XF86 (stages 1 to 2d): ratios in {}; its means: {}\n",
        published::SOURCE,
        published::GEOMETRIC_MEANS
    ));
    if !results.settings.baseline {
        out.push_str(&format!("\nTargets\n{}\n", target_table(judgements)));
    }
    for (what, list) in [("skipped", &results.skipped), ("FAILED", &results.failed)] {
        for missing in list {
            let place = missing.placement.name();
            out.push_str(&format!("{what}: {} ({place}): {}\n", missing.test, missing.reason));
        }
    }
    out
}

fn header(results: &Results) -> String {
    let settings = &results.settings;
    let what = match settings.baseline {
        true => "both sides plain: ratios show the noise of this machine",
        false => "plain socket against shared memory",
    };
    format!(
        "x11perf, {what}\n\
         machine    {}\n\
         memory     {}\n\
         date       {}\n\
         programs   X server {}, x11perf {}\n\
         placement  {}\n\
         waiting    stage {}, spin up to {} us\n\
         method     medians of {} interleaved runs of {} s; CPU: server and client together\n",
        results.machine.line(),
        results.floor.map_or_else(
            || "not measured".to_owned(),
            |f| format!(
                "1 MiB copied in {:.0} us within a core, in {:.0} us from core to core through a bare ring",
                f.within_us, f.across_us
            )
        ),
        results.date,
        settings.server,
        settings.x11perf,
        settings.cores,
        results.stage.map_or("-", |stage| stage.name()),
        settings.spin_us,
        settings.repeat,
        settings.seconds,
    )
}

fn placement_table(results: &Results, placement: Placement) -> Table {
    let rows: Vec<&Row> = results.main_rows().filter(|row| row.placement == placement).collect();
    let stages = results.other_stages();
    // Columns of which no row has a figure would only make the table wide.
    let systems: Vec<System> = System::ALL
        .into_iter()
        .filter(|system| placement.hooks_client() && rows.iter().any(|row| published::ratio(&row.test, *system).is_some()))
        .collect();
    let ours = if results.settings.baseline { "again" } else { "ours" };
    let mut heading: Vec<String> =
        ["test", "socket\n/s", &format!("{ours}\n/s"), "ratio", "CPU us\nsocket", &format!("CPU us\n{ours}")]
            .map(str::to_owned)
            .to_vec();
    heading.extend(stages.iter().map(|stage| format!("ratio\nstage {}", stage.name())));
    heading.push("target".to_owned());
    heading.extend(systems.iter().map(|system| system.heading().replacen(' ', "\n", 1)));
    let mut table = new_table(heading);
    for row in &rows {
        let mut cells = vec![
            row.test.clone(),
            rate(row.socket),
            rate(row.ours),
            ratio(row.ratio),
            row.cpu_us_socket.map_or("-".to_owned(), microseconds),
            row.cpu_us_ours.map_or("-".to_owned(), microseconds),
        ];
        cells.extend(stages.iter().map(|&stage| {
            let other = results.in_stage(row, stage);
            other.map_or(String::new(), |other| ratio(other.ratio))
        }));
        cells.push(match targets::wanted(&row.test, placement) {
            Some(_) if results.settings.baseline => String::new(),
            Some(wanted) if reaches(row.ratio, wanted) => format!("{wanted} met"),
            Some(wanted) => format!("{wanted} missed"),
            None => String::new(),
        });
        cells.extend(systems.iter().map(|&system| {
            let published = published::ratio(&row.test, system);
            published.map_or(String::new(), |value| format!("{value:.2}"))
        }));
        table.add_row(aligned(cells));
    }
    table
}

fn means(results: &Results, placement: Placement) -> String {
    let rows = || results.main_rows().filter(|row| row.placement == placement);
    let all = geometric_mean(rows().map(|row| row.ratio));
    let mut line = format!("geometric mean: all {}", all.map_or("-".to_owned(), ratio));
    for group in Group::ALL {
        let ratios = rows().filter(|row| Group::of(&row.test) == group);
        if let Some(mean) = geometric_mean(ratios.map(|row| row.ratio)) {
            line.push_str(&format!(", {} {}", group.name(), ratio(mean)));
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::super::sample::results;
    use super::*;

    #[test]
    fn everything_is_in_the_report() {
        let results = results();
        let text = render(&results, &targets::judge(&results, false));
        for part in [
            "A & B <CPU>",
            "X server 21.1.7",
            "stage full, spin up to 50 us",
            "different: server and client on different cores",
            "18.0k",
            "x50.0",
            "stage 1",
            "40 met",
            "0.98 missed",
            "geometric mean: all x4.58, round trips x50.0",
            "2.72",
            "skipped: shmput10 (different)",
        ] {
            assert!(text.contains(part), "'{part}' is not in\n{text}");
        }
    }

    #[test]
    fn a_baseline_has_no_targets() {
        let mut results = results();
        results.settings.baseline = true;
        let text = render(&results, &targets::judge(&results, false));
        assert!(!text.contains("40 met") && !text.contains("MISSED"), "{text}");
    }
}
