#!/usr/bin/env bash
# Runs every test target of the workspace that plays a hostile peer: those named hostile*, forgery* or fuzz*.
# SLIPWAY_FUZZ_SECONDS (default 20) is for the targets that go on for as long as they are let.
set -euo pipefail
cd "$(dirname "$0")/.."

export SLIPWAY_FUZZ_SECONDS=${SLIPWAY_FUZZ_SECONDS:-20}
targets=$(cargo metadata --no-deps --format-version 1 --locked | /usr/bin/python3 -c '
import json, sys
for package in json.load(sys.stdin)["packages"]:
    for target in package["targets"]:
        if "test" in target["kind"] and target["name"].startswith(("hostile", "fuzz", "forgery")):
            print(package["name"], target["name"])')
if [ -z "$targets" ]; then
    echo "fuzz: the workspace has no test target named hostile*, forgery* or fuzz*" >&2
    exit 1
fi
while read -r package name; do
    scripts/count.sh "fuzz: $package/$name" \
        cargo test -p "$package" --release --locked --test "$name" </dev/null
done <<<"$targets"
echo "fuzz: ran $(tr '\n' ',' <<<"$targets" | sed 's/,$//; s/,/, /g') ($SLIPWAY_FUZZ_SECONDS s for the open-ended ones)"
