#!/usr/bin/env bash
# Debian packages of this system's architecture, in target/deb: slipway, libmach1 and libmach-dev, from debian/.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/setup.sh deb
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml)
packaged=$(dpkg-parsechangelog -S Version)
if [ "$version" != "$packaged" ]; then
    echo "deb: Cargo.toml has version $version, debian/changelog $packaged: add an entry to the changelog" >&2
    exit 1
fi
make --no-print-directory build
made=$(realpath -m "${CARGO_TARGET_DIR:-target}")/deb
rm -rf "$made"
mkdir -p "$made"
export DEB_DESTINATION=$made
# Root's rights are not needed (Rules-Requires-Root), and nothing of the tree stays changed.
trap 'debian/rules clean >/dev/null' EXIT
debian/rules binary
echo "The packages are in $made; install them with: sudo apt install $made/*.deb"
