//! No files of the sources need each other in a cycle.

use slipway_test_support::{Spread, cycles, needs};

const SPREAD: Spread = Spread { types: &["Task", "ReceiveRight", "SendRight"], values: &[("task", "Task")], derefs: None };

#[test]
fn no_files_need_each_other_in_a_cycle() {
    let found = cycles(&needs(env!("CARGO_MANIFEST_DIR"), SPREAD));
    assert!(found.is_empty(), "\n{found}");
}
