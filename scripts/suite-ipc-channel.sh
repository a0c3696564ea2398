#!/usr/bin/env bash
# The tests of the crate ipc-channel, of the version that the bench measures beside, over slipway-ipc-channel: a package of our sources
# with its tests in their places. They are not changed; our lib.rs and platform/mod.rs get the lines that name its modules of tests.
# Arguments are the test runner's. A table has the counts; the names of what fails follow. All output is in target/suites/ipc-channel.log.
set -euo pipefail
cd "$(dirname "$0")/.."

target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
package=$target/suites/ipc-channel
log=$target/suites/ipc-channel.log
# cargo fetches it.
read -r theirs version < <(cargo metadata --locked --format-version=1 | python3 -c '
import json, os, sys
[it] = [it for it in json.load(sys.stdin)["packages"] if it["name"] == "ipc-channel"]
print(os.path.dirname(it["manifest_path"]), it["version"])')

rm -rf "$package" && mkdir -p "$package"
cp -r crates/ipc-channel/src "$package/src"
cp "$theirs/src/test.rs" "$package/src/"
cp "$theirs/src/platform/test.rs" "$package/src/platform/"
cp -r "$theirs/src/bin" "$package/src/"
cp -r "$theirs/tests" "$package/tests"
for file in lib platform/mod; do printf '\n#[cfg(test)]\nmod test;\n' >>"$package/src/$file.rs"; done
cp Cargo.lock "$package/"
{
    printf '[workspace]\n\n[package]\nname = "ipc-channel"\nversion = "%s"\nedition = "2024"\n\n' "$version"
    sed -n '/^\[features\]/,$p' crates/ipc-channel/Cargo.toml | sed '/^\[dev-dependencies\]/,$d' | sed 's/^\(.*\)\.workspace = true/\1 = { workspace = true }/'
    printf '\n'
    sed -n '/^\[dev-dependencies\]/,/^$/p' "$theirs/Cargo.toml.orig" | grep -v criterion
    printf 'libc = "0.2"\n\n'
    # The versions and the profile of this workspace.
    sed -n '/^\[workspace\.dependencies\]/,/^$/p; /^\[profile\.dev/,/^$/p' Cargo.toml | sed "s|path = \"crates|path = \"$PWD/crates|"
} >"$package/Cargo.toml"

status=0
# Not in the workspace's directory: its libraries would get this build's features.
(cd "$package" && CARGO_TARGET_DIR=$target/suites/build cargo test --lib --tests --features async,enable-slow-tests --no-fail-fast -- "$@") \
    >"$log" 2>&1 || status=$?
if ! grep -q '^test result' "$log"; then
    grep -m 5 '^error' "$log" >&2
    exit "$status"
fi
printf '%-32s %8s %10s %9s\n' "ipc-channel $version's own tests" passed failed ignored
awk '/Running/ { name = $2 == "unittests" ? $3 : $2 }
    /^test result/ && $4 + $6 + $8 { printf "%-32s %8d %10d %9d\n", name, $4, $6, $8 }' "$log"
grep '^test .*\(FAILED\|ignored\)$' "$log" | sort -u || true
exit "$status"
