#!/usr/bin/env bash
# A source file holds one idea: lists those above 500 lines, fails on any above 600.
set -euo pipefail
cd "$(dirname "$0")/.."

listed=500 refused=600
git ls-files --cached --others --exclude-standard -- \
    '*.rs' '*.c' '*.h' '*.S' '*.sh' '*.py' '*.tcl' '*.java' '*.md' '*.toml' Makefile '.ci/*' |
    while read -r file; do
        if [ -f "$file" ]; then printf '%d %s\n' "$(wc -l <"$file")" "$file"; fi
    done |
    sort -rn |
    awk -v listed=$listed -v refused=$refused '
        $1 > listed { print; long++ }
        $1 > refused { over++ }
        END {
            if (!NR) { print "lint: no file was measured" > "/dev/stderr"; exit 1 }
            printf "%d files measured, %d above %d lines\n", NR, long, listed
            if (over) { printf "lint: %d above %d lines: split them\n", over, refused > "/dev/stderr"; exit 1 }
        }'
