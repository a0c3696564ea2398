#!/usr/bin/env bash
# Installs slipway by cargo, from the workspace and from its packages as a registry has them, and uses each installation where
# nothing else of Slipway's is. `test-install.sh workspace` and `test-install.sh registry` do one of the two.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/setup.sh build
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml)
# Not in this directory, where cargo would take the packages for the workspace's.
own=$(mktemp -d)
trap 'chmod -R u+w "$own"; rm -rf "$own"' EXIT
# Where the parts are is what is tested, not how fast they are.
export CARGO_PROFILE_RELEASE_OPT_LEVEL=0 CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16
export CARGO_PROFILE_RELEASE_DEBUG=false CARGO_TARGET_DIR=$own/target
unset SLIPWAY_PARTS

step() { printf '\n== %s\n' "$*"; }
fail() { echo "test-install: $*" >&2; exit 1; }

# use DIRECTORY: its bin/slipway does by itself what it does with the others beside it.
use() {
    local home=$1/home parts preload
    mkdir -p "$home/runtime"
    chmod 700 "$home/runtime"
    run() { (cd "$home" && env -i PATH=/usr/bin:/bin HOME="$home" XDG_RUNTIME_DIR="$home/runtime" timeout 600 "$@"); }
    local slipway=$1/bin/slipway
    run "$slipway" --version | grep -Fx "slipway $version"
    # shellcheck disable=SC2016 # for the shell that is run
    run "$slipway" x11 -- sh -c 'grep -o "/.*libslipway_preload.so" /proc/self/maps | sort -u' >"$home/mapped"
    preload=$(cat "$home/mapped")
    case $preload in "$home"/.cache/slipway/*) ;; *) fail "the hooks came from '$preload'" ;; esac
    run "$slipway" run --private -- true
    cat >"$home/task.c" <<'C'
#include <mach/mach.h>
#include <mach/task_main.h>
#include <stdio.h>
MACH_TASK_MAIN(argc, argv) {
    mach_port_t port;
    kern_return_t code = mach_port_allocate(mach_task_self(), MACH_PORT_RIGHT_RECEIVE, &port);
    return printf("%s: %s\n", argc > 1 ? argv[1] : "none", mach_error_string(code)) < 0 || code != KERN_SUCCESS;
}
C
    cc -shared -fPIC -I include -o "$home/task.so" "$home/task.c"
    # shellcheck disable=SC2094
    run "$slipway" run --private ./task.so -- allocated >"$home/said"
    grep -q '^allocated: ' "$home/said" || fail "the task said: $(cat "$home/said")"
    parts=$(find "$home/.cache/slipway" -type f | wc -l)
    [ "$parts" -eq 4 ] || fail "$parts parts were unpacked instead of 4"
    [ -z "$(find "$home/.cache/slipway" -type d ! -perm 700 -o -type f ! -perm 500)" ] || fail "others may read or write the parts"
    # One that is not what it was is not used.
    chmod 700 "$preload" && echo >>"$preload" && chmod 500 "$preload" && cp "$preload" "$home/spoilt"
    run "$slipway" x11 -- true
    ! cmp -s "$preload" "$home/spoilt" || fail "a spoilt part is used"
    echo "$slipway works by itself"
}

if [ "${1:-}" != registry ]; then
    step "from the workspace"
    cargo install --quiet --locked --path crates/slipway --root "$own/workspace"
    use "$own/workspace"
fi
if [ "${1:-}" = workspace ]; then exit; fi

step "as from a registry"
CARGO_TARGET_DIR=$own/packages cargo package --quiet --workspace --exclude slipway-bench --exclude slipway-unix-server --exclude slipway-unix-task --no-verify --allow-dirty --locked
cargo vendor --quiet --locked --versioned-dirs "$own/registry/crates" >/dev/null
for package in "$own"/packages/package/*.crate; do
    tar -xzf "$package" -C "$own/registry/crates"
    name=$(basename "$package" .crate)
    sum=$(sha256sum <"$package")
    printf '{"files":{},"package":"%s"}' "${sum%% *}" >"$own/registry/crates/$name/.cargo-checksum.json"
done
# From a registry cargo installs by the configuration in its home alone.
mkdir "$own/home"
cat >"$own/home/config.toml" <<TOML
[source.crates-io]
replace-with = "here"
[source.here]
directory = "$own/registry/crates"
[net]
offline = true
TOML
CARGO_HOME=$own/home cargo install --quiet --locked slipway --version "$version" --root "$own/registry"
use "$own/registry"
