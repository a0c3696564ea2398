#!/usr/bin/env bash
# The tests of the crate ipc-channel with its own code for macOS, over libmach-darwin.so: the version that the bench measures beside. Its sources get other words in
# their cfg lines, and a build script that names the library. Arguments are the test runner's. A table has the counts. All output is in
# target/suites/ipc-channel-darwin.log.
set -euo pipefail
cd "$(dirname "$0")/.."

target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
package=$target/suites/ipc-channel-darwin
library=$target/suites/lib-darwin
log=$target/suites/ipc-channel-darwin.log
cargo build --quiet --locked -p slipway-libmach -p slipway-libmach-darwin -p slipway-bootstrap
# cargo fetches it.
read -r theirs version < <(cargo metadata --locked --format-version=1 | python3 -c '
import json, os, sys
[it] = [it for it in json.load(sys.stdin)["packages"] if it["name"] == "ipc-channel"]
print(os.path.dirname(it["manifest_path"]), it["version"])')

rm -rf "$package" "$library" && mkdir -p "$package" "$library"
ln -s "$target/debug/libmach.so" "$library/libmach.so.1"
ln -s "$target/debug/libmach_darwin.so" "$library/libmach-darwin.so.1"
cp scripts/libmach-darwin.so.in "$library/libmach-darwin.so"

cp -r "$theirs/src" "$theirs/tests" "$theirs/README.md" "$package/"
# This system is the one that they call macos.
as_macos() { sed -i 's/target_os = "linux"/target_os = "none"/; s/target_os = "macos"/target_os = "linux"/' "$@"; }
mapfile -t sources < <(find "$package/src" "$package/tests" -name '*.rs')
as_macos "${sources[@]}"
cp Cargo.lock "$package/"
{
    sed '/^\[\[bench\]\]/,/^$/d; /^criterion/d' "$theirs/Cargo.toml.orig" | sed 's/^edition = .*/&\nbuild = "build.rs"/'
    printf '\n[workspace]\n'
} >"$package/Cargo.toml"
as_macos "$package/Cargo.toml"
cat >"$package/build.rs" <<END
fn main() {
    println!("cargo:rustc-link-search=native=$library");
    println!("cargo:rustc-link-lib=dylib=mach-darwin");
    println!("cargo:rustc-link-arg=-Wl,-rpath,$library");
    // Called by one test, which is left out below.
    println!("cargo:rustc-link-arg=-Wl,--defsym=vm_region_recurse_64=0");
}
END

# A name server of its own.
runtime=$(mktemp -d)
export SLIPWAY_RUNTIME_DIR=$runtime SLIPWAY_BOOTSTRAP=$runtime/bootstrap
"$target/debug/slipway-bootstrap" --socket "$SLIPWAY_BOOTSTRAP" >"$log.server" 2>&1 </dev/null &
server=$!
trap 'kill "$server" 2>/dev/null || true; rm -rf "$runtime"' EXIT

# It asks for the tag that Darwin's kernel keeps with memory.
left_out=destroying_a_message_frees_every_kind_of_region
status=0
(cd "$package" && CARGO_TARGET_DIR=$target cargo test --lib --tests --features async,enable-slow-tests --no-fail-fast -- \
    --skip "$left_out" "$@") >"$log" 2>&1 </dev/null || status=$?
if ! grep -q '^test result' "$log"; then
    grep -m 5 '^error' "$log" >&2
    exit "$status"
fi
printf '%-32s %8s %10s %9s\n' "ipc-channel $version for macOS" passed failed ignored
awk '/Running/ { name = $2 == "unittests" ? $3 : $2 }
    /^test result/ && $4 + $6 + $8 { printf "%-32s %8d %10d %9d\n", name, $4, $6, $8 }' "$log"
echo "left out: $left_out (vm_region_recurse_64 and the tags of memory are not there)"
grep '^test [^ ]* \.\.\. \(FAILED\|ignored.*\)$' "$log" | sort -u || true
exit "$status"
