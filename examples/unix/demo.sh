#!/usr/bin/env bash
# A small package is built and installed in a layer, looked at, and kept; a second command is looked at and discarded.
# The files are in a directory of this demo's own; `slipway` is found in PATH.
set -euo pipefail

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
export XDG_STATE_HOME=$dir/state
cp -r "$(dirname "$0")/greet" "$dir/greet"
cd "$dir/greet"
mkdir -p "$dir/root/bin"

# run WORD...: shows a command, then runs it.
run() {
    printf '\n$ %s\n' "$*"
    "$@"
}

run slipway unix --new first -- make -s install "PREFIX=$dir/root"
echo "It is installed in the layer, and not in the files: $(ls "$dir/root/bin" | wc -l) programs are there."
run slipway unix diff first
run slipway unix --layer first --quiet -- "$dir/root/bin/greet" layer
run slipway unix keep first
run "$dir/root/bin/greet" files

run slipway unix --new second -- make -s clean uninstall "PREFIX=$dir/root"
run slipway unix diff second "$dir/root"
run slipway unix discard second
run "$dir/root/bin/greet" again
