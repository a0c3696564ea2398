#!/usr/bin/env bash
# Starts kv-server, uses it, and stops it. Any step that goes wrong ends this with its exit status.
set -euo pipefail
cd "$(dirname "$0")"
service=slipway.example.kv.$$

say() { printf '\n$ %s\n' "$*"; }
client() {
    say "kv-client $*"
    ./kv-client -s "$service" "$@"
}

say "kv-server &"
coproc SERVER { exec ./kv-server "$service"; }
server=$SERVER_PID
trap 'kill $server 2>/dev/null' EXIT
# Its first line says that it is registered.
read -r line <&"${SERVER[0]}"
echo "$line"

client put greeting "hello, world"
client put colour blue
client get greeting; echo
client list
client delete colour
say "kv-client get colour"
if ./kv-client -s "$service" get colour; then echo "It should be gone." >&2; exit 1; fi
say "seq 1 100000 | kv-client put numbers; kv-client get numbers | tail -1"
seq 1 100000 | ./kv-client -s "$service" put numbers
./kv-client -s "$service" get numbers | tail -1

say "kv-client hold mine here &     (and then it is killed)"
coproc HOLDER { exec ./kv-client -s "$service" hold mine here; }
holder=$HOLDER_PID
read -r line <&"${HOLDER[0]}"
client get mine; echo
kill -KILL "$holder"
# The server says when it has noticed.
read -r line <&"${SERVER[0]}"
echo "$line"
say "kv-client get mine"
if ./kv-client -s "$service" get mine; then echo "It should be gone." >&2; exit 1; fi
echo
