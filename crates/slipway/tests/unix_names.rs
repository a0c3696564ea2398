//! The same calls give the same on a tree of the host's and in a layer over an equal one.

mod harness;

use harness::build::{asset, scratch_in_target};
use harness::process::clean;
use harness::{Running, SLIPWAY};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

fn tree(dir: &Path) {
    fs::create_dir_all(dir.join("a/b/c")).expect("mkdir");
    fs::create_dir(dir.join("d")).expect("mkdir");
    for name in ["x", "a/x", "a/y", "a/b/z", "a/b/c/f", "d/g", "d/x"] {
        fs::write(dir.join(name), format!("of the host: {name}")).expect("write");
    }
    for (target, name) in [("a/b", "link"), ("../x", "d/s"), ("d", "a/s"), ("nowhere", "s")] {
        symlink(target, dir.join(name)).expect("link");
    }
}

/// What a life printed: with these options of `slipway unix`, or without it.
fn life(seed: u64, count: u32, options: Option<&[&str]>) -> String {
    let dir = scratch_in_target();
    let root = dir.path().join("tree");
    tree(&root);
    let mut command = match options {
        None => Command::new("/usr/bin/python3"),
        Some(options) => {
            let mut command = Command::new(SLIPWAY);
            command.args(["unix", "--quiet", "--discard"]).args(options).args(["--", "/usr/bin/python3"]);
            command
        }
    };
    command.arg(asset("py/names.py")).arg(&root).args([seed.to_string(), count.to_string()]);
    command.env("XDG_STATE_HOME", dir.path().join("state")).current_dir(dir.path());
    clean(&mut command);
    let ran = Running::start(command).finish();
    assert_eq!((ran.code(), ran.stderr.as_str()), (0, ""), "seed {seed}, {options:?}");
    ran.stdout
}

fn live(seeds: std::ops::Range<u64>, count: u32) {
    for seed in seeds {
        let host = life(seed, count, None);
        for options in [&["--net-only"][..], &[]] {
            let layer = life(seed, count, Some(options));
            for (number, (expected, got)) in host.lines().zip(layer.lines()).enumerate() {
                assert_eq!(got, expected, "seed {seed}, {options:?}, call {number}");
            }
            assert_eq!(layer.lines().count(), host.lines().count(), "seed {seed}, {options:?}");
        }
    }
}

#[test]
fn random_calls() {
    live(0..4, 1500);
}

#[test]
#[ignore = "long: many lives"]
fn many_random_calls() {
    live(100..130, 3000);
}
