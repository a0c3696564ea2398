#!/usr/bin/env bash
# Starts kv-server, uses it, and stops it. Any step that goes wrong ends this with its exit status.
set -euo pipefail
# Another client than the one in C, if the caller names one.
client=$(realpath "${KV_CLIENT:-$(dirname "$0")/kv-client}")
cd "$(dirname "$0")"
service=slipway.example.kv.$$

say() { printf '\n$ %s\n' "$*"; }
client() {
    say "kv-client $*"
    "$client" -s "$service" "$@"
}

say "kv-server &"
exec {from_server}< <(exec ./kv-server "$service")
server=$!
trap 'kill $server 2>/dev/null' EXIT
# Its first line says that it is registered.
read -r line <&"$from_server"
echo "$line"

client put greeting "hello, world"
client put colour blue
client get greeting; echo
client list
client delete colour
say "kv-client get colour"
if "$client" -s "$service" get colour; then echo "It should be gone." >&2; exit 1; fi
say "seq 1 100000 | kv-client put numbers; kv-client get numbers | tail -1"
seq 1 100000 | "$client" -s "$service" put numbers
"$client" -s "$service" get numbers | tail -1

say "kv-client hold mine here &     (and then it is killed)"
exec {from_holder}< <(exec "$client" -s "$service" hold mine here)
holder=$!
read -r line <&"$from_holder"
client get mine; echo
kill -KILL "$holder"
# The server says when it has noticed.
read -r line <&"$from_server"
echo "$line"
say "kv-client get mine"
if "$client" -s "$service" get mine; then echo "It should be gone." >&2; exit 1; fi
echo
