#!/usr/bin/env bash
# Fetches a Debian source package for the suites: `suite-source.sh PACKAGE[=VERSION] RELEASE` prints its directory in target/suites, where it
# stays. Apt's state is in a directory of its own: the system's may have no sources in its list.
set -euo pipefail
cd "$(dirname "$0")/.."

package=$1 release=$2
work=$(realpath -m "${CARGO_TARGET_DIR:-target}")/suites
apt=$work/apt-$release
mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial"
# A package of the release may be built from any version that it has, or had an update with.
find_tree() { compgen -G "$work/${package%%=*}-*/" | head -n 1; }
if ! find_tree >"$apt/tree"; then
    source="deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org"
    echo "$source/debian $release main" >"$apt/sources.list"
    if [ "$release" != sid ]; then echo "$source/debian-security $release-security main" >>"$apt/sources.list"; fi
    options=(-q -o "Dir::Etc::sourcelist=$apt/sources.list" -o Dir::Etc::sourceparts=- -o "Dir::State::lists=$apt/lists"
        -o "Dir::Cache=$apt/cache" -o APT::Sandbox::User=root)
    cd "$work"
    {
        apt-get "${options[@]}" update
        apt-get "${options[@]}" source "$package" || apt-get "${options[@]}" source "${package%%=*}"
    } >"$work/fetch-${package%%=*}.log" 2>&1 || {
        echo "suite-source: the source of $package can't be fetched; the end of $work/fetch-${package%%=*}.log:" >&2
        tail -n 3 "$work/fetch-${package%%=*}.log" >&2
        exit 1
    }
    find_tree >"$apt/tree"
fi
cat "$apt/tree"
