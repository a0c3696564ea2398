#!/usr/bin/env bash
# test.sh: every test that is not marked `#[ignore = "long: why"]`, in minutes.
# test.sh long: those that are, with the loom models, the hostile peers for longer, the packages of Debian, installations by cargo and
# the tests of AArch64.
# One build, of the development profile, is what the tests are, run, load and link; the last three make their own.
set -euo pipefail
cd "$(dirname "$0")/.."

kind=${1:-short}
target=${CARGO_TARGET_DIR:-$PWD/target}
mkdir -p "$target"
log=$target/test-$kind.log
: >"$log"

# step WHAT COMMAND...: what the command prints is kept, too.
step() {
    printf '\n== %s\n' "$1" | tee -a "$log"
    shift
    "$@" 2>&1 | tee -a "$log"
}

# Descriptors on their way are counted against this limit of an ordinary user's, over all processes, and many systems begin with 1,024.
ulimit -Sn 20000 2>/dev/null || ulimit -Sn "$(ulimit -Hn)"

step "what the tests run" cargo build --workspace --all-targets --locked
# A test that is run without this script builds what it needs.
SLIPWAY_TESTS_BUILT=$(realpath "$target/debug")
export SLIPWAY_TESTS_BUILT
triple=$(rustc -vV | sed -n 's/^host: //p')
runner=CARGO_TARGET_$(tr 'a-z-' 'A-Z_' <<<"$triple")_RUNNER
export "$runner=$PWD/scripts/test-runner.sh"

case $kind in
short)
    step "the workspace's tests" cargo test --workspace --locked --no-fail-fast
    ;;
long)
    step "the long tests" cargo test --workspace --locked --no-fail-fast --tests -- --ignored
    step "the ring and the sleep/wake protocol, under loom" scripts/loom.sh
    step "hostile peers" scripts/fuzz.sh
    step "the packages of Debian" scripts/test-deb.sh
    step "installations by cargo" scripts/test-install.sh
    step "AArch64" scripts/aarch64.sh
    ;;
*)
    echo "usage: $0 [long]" >&2
    exit 2
    ;;
esac

# Tests that are processes of others say so in their output, too, and count twice.
awk -v log_file="$log" '/^test result:/ { passed += $4; ignored += $8 }
     END {
         if (!passed) { print "test: no test ran" > "/dev/stderr"; exit 1 }
         printf "\n%d passed, %d are for the other of `make test` and `make test-long`; the log is %s\n", passed, ignored, log_file
     }' "$log"
