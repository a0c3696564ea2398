#!/usr/bin/env bash
# Model checks the ring, the sleep/wake protocol and the turn of calls: every interleaving that loom finds within the
# preemption bound. Builds apart from the rest, because --cfg loom changes every crate.
set -euo pipefail
cd "$(dirname "$0")/.."

export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-target}/loom
export RUSTFLAGS="${RUSTFLAGS:-} --cfg loom"
export LOOM_MAX_PREEMPTIONS=${LOOM_MAX_PREEMPTIONS:-3}
exec scripts/count.sh loom \
    timeout --foreground 3600 cargo test -p slipway-fabric --release --locked --test loom "$@"
