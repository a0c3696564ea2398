#!/usr/bin/env bash
# What a change must satisfy before its tests count. Ends at the first check that fails.
set -euo pipefail
cd "$(dirname "$0")/.."

step() { printf '\n== %s\n' "$*"; }

step "cargo fmt"
cargo fmt --all --check

step "cargo clippy"
cargo clippy --workspace --all-targets --locked -- -D warnings

step "cargo clippy, as loom sees the code"
CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-target}/loom RUSTFLAGS="--cfg loom" \
    cargo clippy -p slipway-fabric --tests --locked -- -D warnings

step "atomics"
# By path, which clippy can't do: see clippy.toml.
if git ls-files --cached --others --exclude-standard -- '*.rs' ':!crates/fabric/src/sync/' |
    xargs -d '\n' grep -nE '\bsync::atomic\b|\batomic::' --; then
    echo "lint: use the atomics and the fence of slipway_fabric::sync instead: loom can model them" >&2
    exit 1
fi

step "cargo doc"
# Made with the private items, which links may therefore name.
RUSTDOCFLAGS="-D warnings -A rustdoc::private_intra_doc_links" cargo doc --workspace --no-deps --document-private-items --locked

step "shellcheck"
shellcheck scripts/*.sh .ci/run

# Files that are, or are about to be, in the repository.
files() { git ls-files -z --cached --others --exclude-standard; }

step "file lengths (listed above 500 lines, refused above 600)"
scripts/file-lengths.sh

step "paths of one machine"
# Built from pieces, so that this script doesn't find itself.
stray='(^|[^[:alnum:]_.~$}/-])/(home|Users|work'"|root)/[[:alnum:]_.-]+"
if files | xargs -0 grep -nIE "$stray" --; then
    echo "lint: the lines above name a directory that only one machine has" >&2
    exit 1
fi

echo
echo "lint: all checks passed"
