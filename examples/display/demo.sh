#!/usr/bin/env bash
# A display that starts with its first client, and a display as a capability, with programs as they come from their packages.
set -euo pipefail

number=${DISPLAY_NUMBER:-177}
export DISPLAY=:$number
slipway=$(command -v "${SLIPWAY:-slipway}")
# Where the libraries are, which a sandbox without /tmp must have if they are below it.
prefix=$(dirname "$(dirname "$slipway")")
self=$(realpath "$0")

say() { printf '\n$ %s\n' "$*"; }
state() { if [ -e "/tmp/.X11-unix/X$number" ]; then echo "A server of $DISPLAY runs."; else echo "No server of $DISPLAY runs."; fi; }
over_ports() { "$slipway" x11 --over ports "$@"; }
sandboxed=(bwrap --unshare-all --die-with-parent --ro-bind / / --tmpfs /tmp --ro-bind "$prefix" "$prefix" --dev /dev --proc /proc xdpyinfo)

case ${1:-} in
"")
    # All of it with a name server of its own, which knows one service: the display.
    directory=$(mktemp -d)
    trap 'rm -rf "$directory"' EXIT
    printf '#!/bin/sh\nexec "%s" server\n' "$self" >"$directory/server"
    chmod 700 "$directory/server"
    "$slipway" run --private --service "x11.$number=$directory/server" -- "$self" demo
    ;;
server)
    exec "$slipway" x11 --over ports -- Xvfb "$DISPLAY" -terminate 2>/dev/null
    ;;
demo)
    echo "A display that starts with its first client: the name server has a service x11.$number, which is a script with Xvfb."
    state
    say "slipway x11 --over ports -- xdpyinfo"
    over_ports -- xdpyinfo | sed -n 1,3p
    echo
    echo "A display as a capability: a sandbox that sees no socket, no name server, no network and no other process."
    say "slipway x11 --over ports -- bwrap --unshare-all ... xdpyinfo"
    if over_ports -- "${sandboxed[@]}"; then
        echo "It should have no display." >&2
        exit 1
    fi
    say "slipway x11 --over ports --hold $DISPLAY -- bwrap --unshare-all ... xdpyinfo"
    over_ports --hold "$DISPLAY" -- "${sandboxed[@]}" | sed -n 1,3p
    ;;
esac
