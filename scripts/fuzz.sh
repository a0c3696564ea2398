#!/usr/bin/env bash
# Runs the test programs that play a hostile peer, those named hostile* and forgery*. SLIPWAY_FUZZ_SECONDS (default 20) is for the
# tests that go on for as long as they are let.
set -euo pipefail
cd "$(dirname "$0")/.."

export SLIPWAY_FUZZ_SECONDS=${SLIPWAY_FUZZ_SECONDS:-20}
exec cargo test --workspace --locked --test 'hostile*' --test 'forgery*'
