#!/usr/bin/env bash
# Every test there is, and a closing line that says how many ran. `make build` has been run.
# The programs under test use the optimised hooks, target/release/libslipway_preload.so.
set -euo pipefail
cd "$(dirname "$0")/.."

target=${CARGO_TARGET_DIR:-$PWD/target}
SLIPWAY_PRELOAD=$(realpath "$target/release/libslipway_preload.so")
export SLIPWAY_PRELOAD
log=$target/test.log
: >"$log"

step() { printf '\n== %s\n' "$*" | tee -a "$log"; }

step "what the tests run"
# Here with the features that the tests are compiled with, so that nothing is compiled twice; a test program that is run by
# itself builds what it needs.
cargo build --workspace --lib --bins --examples --locked 2>&1 | tee -a "$log"
SLIPWAY_TESTS_BUILT=$(realpath "$target/debug")
export SLIPWAY_TESTS_BUILT

step "the workspace's tests, with the programs under Xvfb"
cargo test --workspace --locked 2>&1 | tee -a "$log"

step "the ring and the sleep/wake protocol, under loom"
scripts/loom.sh 2>&1 | tee -a "$log"

step "a hostile peer"
scripts/fuzz.sh 2>&1 | tee -a "$log"

awk '/^test result:/ { passed += $4; failed += $6; ignored += $8 }
     END {
         if (!passed) { print "test: no test ran" > "/dev/stderr"; exit 1 }
         printf "\nAll of them, the log is '"$log"':\n%d passed, %d failed, %d skipped\n", passed, failed, ignored
     }' "$log"
