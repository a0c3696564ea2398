//! Copies of files with several names are found without going through the layer.

use rustix::fs::RenameFlags;
use slipway_layer::View;
use std::{
    fs,
    path::Path,
    time::{Duration, Instant},
};

mod common;
use common::{Bench, linked::on_view, path};

const COUNT: usize = 300;

fn fill(host: &Path) {
    for number in 0..COUNT {
        fs::write(host.join(number.to_string()), "x").expect("write");
        for other in ["b", "c"] {
            fs::hard_link(host.join(number.to_string()), host.join(format!("{number}{other}"))).expect("link");
        }
    }
}

/// How long it takes with each file: `N` is its number.
fn time(acts: &str) -> Duration {
    let bench = Bench::over(fill, |_, _| {});
    let mut taken = Duration::ZERO;
    let exchange = |view: &mut View, one: &str, other: &str| {
        let found = view.find(&path(one)).expect("find");
        view.rename(&found, &path(other), RenameFlags::EXCHANGE).expect("exchange");
    };
    bench.change(|view| {
        let begun = Instant::now();
        for number in 0..COUNT {
            for act in acts.replace('N', &number.to_string()).split("; ") {
                match act.split_whitespace().collect::<Vec<_>>()[..] {
                    ["exchange", one, other] => exchange(view, one, other),
                    _ => on_view(&bench, view, act),
                }
            }
        }
        taken = begun.elapsed();
    });
    taken
}

#[test]
fn also_where_the_first_of_its_names_is_gone() {
    for (acts, as_long_as) in [
        ("add N; add Nb; rm N; add Nc", "add N; add Nb; add Nc; rm N"),
        ("add N; add Nb; rm Nb; add Nc", "add N; add Nb; add Nc; rm Nb"),
        ("ln N Nt; put new; mv new N; add Nc", "ln N Nt; put new; add Nc; mv new N"),
        ("add N; put Ny; exchange N Ny; add Nb", "add N; put Ny; add Nb; exchange N Ny"),
    ] {
        // Another process may have had the machine.
        let ratio = || time(acts).as_secs_f64() / time(as_long_as).as_secs_f64();
        assert!((0..3).any(|_| ratio() < 3.0), "{acts}");
    }
}
