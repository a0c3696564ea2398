#!/usr/bin/env bash
# count.sh WHAT COMMAND...: runs cargo's COMMAND, shows its output, fails if it fails or if no test ran.
set -euo pipefail

what=$1
shift
out=$(mktemp)
trap 'rm -f "$out"' EXIT
"$@" 2>&1 | tee "$out"
ran=$(awk '/^test result:/ { n += $4 } END { print n + 0 }' "$out")
if [ "$ran" -eq 0 ]; then
    echo "$what: no test ran, which counts as a failure" >&2
    exit 1
fi
echo "$what: $ran tests ran"
