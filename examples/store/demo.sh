#!/usr/bin/env bash
# The store and its load: in two processes, in one, and as a supervised system whose store is killed.
set -euo pipefail
cd "$(dirname "$0")"
slipway=${SLIPWAY:-slipway}
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
cp ./*.so pair.toml system.toml "$directory"
cd "$directory"

# The same binaries; one word of the configuration differs.
sed 's/TITLE/two processes/' pair.toml >apart.toml
sed 's/TITLE/one process/; s/^process = .*/process = "both"/' pair.toml >together.toml

for placement in apart together apart together; do
    rm -f demo.log
    "$slipway" run --config "$placement.toml" 2>"$placement.err" || { cat "$placement.err" >&2; exit 1; }
done

printf '\nThree tasks; the store is killed and started again:\n'
rm -f demo.log
"$slipway" run --config system.toml >system.out 2>system.err &
system=$!
# Once the watcher has seen entries the store has said which process it has.
grep -q -m 1 '^watch: [1-9]' <(tail -f -n +1 --pid="$system" system.out)
store=$(sed -n 's/^.*entries in .*, process \([0-9]*\)$/\1/p' system.err | head -1)
kill -KILL "$store"
code=0
wait "$system" || code=$?
cat system.out
grep 'store' system.err || true
grep -q 'no value that was put is missing' system.out || code=1
exit "$code"
