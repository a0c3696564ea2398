#!/usr/bin/env bash
# test-runner.sh PROGRAM ARGS...: one test program, as cargo runs it for test.sh. It is ended when it takes longer than SLIPWAY_TEST_LIMIT
# seconds, and so is, in the end, all that it has left running: a server that outlives its failed test would keep the test's output
# open, and whoever reads that would wait for it.
set -uo pipefail

limit=${SLIPWAY_TEST_LIMIT:-900}
# Not with the prefix of the variables that tests take out of the environment.
mark=RUN_OF_SLIPWAY_TESTS=$$.${EPOCHREALTIME/./}
timeout --kill-after=10 "$limit" env "$mark" "$@"
code=$?
[ "$code" -ne 124 ] || echo "test-runner: ${1##*/} did not end within $limit s" >&2

# A process may have ended meanwhile, or be another user's.
grep -lzsxF "$mark" /proc/[0-9]*/environ | while IFS=/ read -r _ _ process _; do
    echo "test-runner: ${1##*/} left process $process running: $(tr '\0' ' ' 2>/dev/null <"/proc/$process/cmdline")" >&2
    kill -KILL "$process" 2>/dev/null
done
exit "$code"
