#!/usr/bin/env bash
# Other people's files: each interface of GNU Mach and of the Hurd goes through mig as their builds call it, and what is made is
# compiled. The sources come from Debian (`apt-get source`) into target/suites; where they can't be had, the files of the package
# gnumach-dev stand in. A table has the counts; the names of what fails, and why, are in target/suites/failures.
# MIG names another compiler, for a comparison. Then the crate ipc-channel's tests, over ours: scripts/suite-ipc-channel.sh; and the suites of
# PostgreSQL and Redis with their sockets hooked: scripts/suite-postgresql.sh, scripts/suite-redis.sh; and suites of what uses files, in
# `slipway unix`: scripts/suite-unix.sh.
set -euo pipefail
cd "$(dirname "$0")/.."

root=$PWD
work=$(realpath -m "${CARGO_TARGET_DIR:-target}")/suites
if [ -z "${MIG:-}" ]; then
    cargo build --quiet --locked -p slipway-mig
    MIG=$(realpath -m "${CARGO_TARGET_DIR:-target}")/debug/mig
fi
CPP="cc -E -x c -undef -ansi"
CC="cc -w -std=gnu99 -c -o /dev/null"
made=$work/made
mkdir -p "$work"
shopt -s nullglob
: >"$work/failures"

# The directories in which an interface's includes are, after the library's own.
includes=()
files=()
for source in gnumach hurd; do
    if tree=$(scripts/suite-source.sh $source "${SUITE:-sid}"); then
        mapfile -t -O ${#files[@]} files < <(find "$tree" -name '*.defs' | sort)
        includes+=(-I "$tree" -I "${tree}include")
        for machine in x86_64 i386; do includes+=(-I "${tree}$machine/include"); done
    else
        echo "suites: $source's source can't be had ($work/fetch-$source.log says why)" >&2
    fi
done
if [ ${#files[@]} -eq 0 ]; then
    packaged=/usr/include/x86_64-linux-gnu
    mapfile -t files < <(find $packaged/mach $packaged/device $packaged/mach_debug -name '*.defs' | sort)
fi

read_defs() { $CPP "$@" -I "$root/include" "${includes[@]}" "$defs" 2>/dev/null; }
# One way to call mig: a name, what the preprocessor gets, and what mig gets. What it made is compiled.
way() {
    local name=$1 flags=$2 outputs=$3
    rm -rf "$made" && mkdir -p "$made"
    count[$name]=$((${count[$name]:-0} + 1))
    # shellcheck disable=SC2086 # the flags are words
    if ! (cd "$made" && read_defs $flags | $MIG -n -cc cat - /dev/null $outputs) >"$work/said" 2>&1; then
        echo "$name, mig: ${defs#"$work"/}: $(grep -m 1 error "$work/said" || tail -n 1 "$work/said")" >>"$work/failures"
        return
    fi
    generated[$name]=$((${generated[$name]:-0} + 1))
    for file in "$made"/*.c; do
        if ! $CC -DMIG_EOPNOTSUPP=45 -I "$root/include" -I "$made" "${includes[@]}" "$file" >"$work/said" 2>&1; then
            echo "$name, cc: ${defs#"$work"/}: $(grep -m 1 error "$work/said")" >>"$work/failures"
            return
        fi
    done
    compiled[$name]=$((${compiled[$name]:-0} + 1))
}

declare -A count generated compiled
for defs in "${files[@]}"; do
    grep -qi '^ *subsystem' "$defs" || continue
    way "callers (-subrprefix __)" "-DUSERPREFIX=__" "-subrprefix __ -user u.c -header u.h"
    way "server (-sheader)" "-DSERVERPREFIX=S_" "-server s.c -sheader s.h"
    way "server with reply ports" "-DSERVERPREFIX=S_ -DREPLY_PORTS" "-server s.c -sheader s.h"
    way "libports (-prefix ports_)" "-DSEQNOS" "-prefix ports_ -server s.c -sheader s.h"
    way "a file for each routine (-i)" "" "-i r_ -header u.h"
    way "Rust" "-DSERVERPREFIX=S_" "--lang rust -rust module.rs"
done
printf '%-32s %8s %10s %9s\n' "as builds call mig" files generated compiled
for name in "${!count[@]}"; do
    printf '%-32s %8d %10d %9s\n' "$name" "${count[$name]}" "${generated[$name]:-0}" "$([ "$name" = Rust ] && echo - || echo "${compiled[$name]:-0}")"
done | sort
if [ -s "$work/failures" ]; then echo "What failed is in $work/failures."; fi

scripts/suite-ipc-channel.sh
scripts/suite-ipc-channel-darwin.sh
scripts/suite-mach2.sh
scripts/suite-postgresql.sh
scripts/suite-redis.sh
scripts/suite-unix.sh
