#!/usr/bin/env bash
# Redis's own test suite over local sockets: plain, and with both ends under `slipway sockets`. Its client is in Tcl, which knows TCP alone: a command in C
# gives it connections to local sockets, and servers listen at a path with their port's number. What connects to a server's port by itself (replicas, a
# cluster's bus) stays on TCP. The server is the installed one; the tests come from its Debian source. A table has the counts: what fails with
# hooks and not without is named, and makes this fail. The outputs are in target/suites/redis. Arguments choose tests, such as unit/type/list.
set -euo pipefail
cd "$(dirname "$0")/.."

target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
out=$target/suites/redis
release=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
scripts/setup.sh suites
cargo build --quiet --locked -p slipway -p slipway-preload
tree=$(scripts/suite-source.sh "redis=$(dpkg-query -W -f '${Version}' redis-server)" "$release")
mkdir -p "$out"

# A path may have 107 bytes.
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cp -r "$tree/tests" "$tree/runtest" "$tree/redis.conf" "$place/"
mkdir -p "$place/src" "$place/at" "$place/run"
chmod 700 "$place/run"
for program in server cli benchmark check-aof check-rdb; do ln -s "$(command -v redis-$program)" "$place/src/"; done
cat >"$place/local.c" <<'END'
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <tcl.h>
#include <unistd.h>

/* local_socket PATH: a channel, as of the command socket. */
static int local_socket(ClientData data, Tcl_Interp *interp, int count, const char *words[])
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    snprintf(address.sun_path, sizeof address.sun_path, "%s", words[1]);
    if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof address) < 0) {
        Tcl_SetResult(interp, (char *)Tcl_PosixError(interp), TCL_VOLATILE);
        close(fd);
        return TCL_ERROR;
    }
    Tcl_Channel channel = Tcl_MakeTcpClientChannel((ClientData)(long)fd);
    Tcl_RegisterChannel(interp, channel);
    Tcl_SetResult(interp, (char *)Tcl_GetChannelName(channel), TCL_VOLATILE);
    return TCL_OK;
}

int Local_Init(Tcl_Interp *interp)
{
    Tcl_CreateCommand(interp, "local_socket", local_socket, NULL, NULL);
    return TCL_OK;
}
END
# shellcheck disable=SC2046 # flags
cc -O1 -shared -fPIC $(pkg-config --cflags tcl) -o "$place/liblocal.so" "$place/local.c"
cat >"$place/tests/local.tcl" <<'END'
load ./liblocal.so Local
rename socket tcp_socket
# A server that does not listen at its path (not yet, no longer, one of the suite's own) is reached as before.
proc socket args {
    set path "at/[lindex $args end]"
    if {[llength $args] == 2 && [lindex $args 0] in {127.0.0.1 localhost} && [file exists $path] && ![catch {local_socket $path} channel]} { return $channel }
    uplevel 1 [list tcp_socket {*}$args]
}
END
sed -i '1i source tests/local.tcl' "$place/tests/test_helper.tcl"
# shellcheck disable=SC2016 # Tcl's
sed -i 's|set unixsocket \[file normalize .*|set unixsocket [file normalize at/$port]|' "$place/tests/support/server.tcl"
chosen=()
for test in "$@"; do chosen+=(--single "$test"); done
if [ $# -eq 0 ]; then
    # Servers that connect to each other, over TCP; the machine's addresses; minutes of one client; and one whose client says QUIT to a server that has closed its local socket, which ends the suite.
    for test in integration/{block-repl,replication{,-2,-3,-4,-psync,-buffer},psync2{,-reg,-pingoff,-master-restart},failover,shutdown,corrupt-dump-fuzzer} \
        unit/{cluster,cluster-scripting,cluster/misc,cluster/links,tls,wait,violations,memefficiency,networking,tracking}; do chosen+=(--skipunit "$test"); done
fi
export SLIPWAY_PRELOAD=$target/debug/libslipway_preload.so SLIPWAY_X11_AFTER=0 SLIPWAY_RUNTIME_DIR=$place/run

# The most connections on shared memory that were seen at once.
watch_rings() {
    local most=0 now
    while [ -e "$place/running" ]; do
        now=$("$target/debug/slipway" sockets status 2>/dev/null | grep -c 'shared memory *┆' || true)
        if [ "$now" -gt "$most" ]; then most=$now; fi
        sleep 0.5
    done
    echo "$most" >"$1.rings"
}

run() {
    local name=$1
    shift
    touch "$place/running"
    watch_rings "$out/$name" &
    (cd "$place" && TERM=dumb timeout -k 5 3000 "$@" ./runtest --clients 4 --timeout 300 "${chosen[@]}") </dev/null >"$out/$name.log" 2>&1 || true
    rm "$place/running"
    wait
    sed -n 's/^\[ok\]: \(.*\) ([0-9]* ms)$/\1/p' "$out/$name.log" | sort -u >"$out/$name.ok"
    sed -n 's/^\[\(err\|exception\|TIMEOUT\)\]: \(.*\)/\2/p' "$out/$name.log" | sort -u >"$out/$name.failed"
    printf '%-32s %8d %8d %8s\n' "$name" "$(wc -l <"$out/$name.ok")" "$(wc -l <"$out/$name.failed")" "$(cat "$out/$name.rings")"
}

printf '%-32s %8s %8s %8s\n' "Redis's own tests" passed failed "on rings"
run plain env
run both "$target/debug/slipway" sockets --
# Its client must have sent a command before the server, which has no place for it, has closed: else it does not read why.
lost=$(comm -13 "$out/both.ok" "$out/plain.ok")
if [ -n "$lost" ]; then
    printf 'Passed over the plain socket only:\n%s\n' "$lost"
    [ "$(grep -cv 'Check if maxclients works refusing connections' <<<"$lost")" -eq 0 ]
fi
