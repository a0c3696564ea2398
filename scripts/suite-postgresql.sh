#!/usr/bin/env bash
# PostgreSQL's own regression tests and isolation tests over its local socket, as `make installcheck` runs them: with neither end under
# `slipway sockets`, with each, and with both. The server is the installed one; the tests come from its Debian source. A table has the counts: what
# fails with an end hooked and not without is named, and makes this fail. The outputs are in target/suites/postgresql. SIDES and SCHEDULES choose.
set -euo pipefail
cd "$(dirname "$0")/.."

target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
out=$target/suites/postgresql
version=$(find /usr/lib/postgresql -name initdb | sed 's|^/usr/lib/postgresql/||; s|/.*||' | sort -n | tail -n 1)
lib=/usr/lib/postgresql/$version/lib
bin=/usr/lib/postgresql/$version/bin
package=postgresql-$version
release=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
scripts/setup.sh suites
cargo build --quiet --locked -p slipway -p slipway-preload
exact=$(dpkg-query -W -f '${Version}' "$package")
tree=$(scripts/suite-source.sh "$package=$exact" "$release")
mkdir -p "$out"

# The server refuses to be root's; another user may have no way into this directory.
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
as=()
if [ "$(id -u)" -eq 0 ]; then as=(setpriv --reuid=65534 --regid=65534 --clear-groups --); fi
cp "$target/debug/slipway" "$target/debug/libslipway_preload.so" "$place/"
cp -r "$tree/src/test/regress" "$tree/src/test/isolation" "$place/"
# Functions in C, which the tests load; what they call may differ from one minor version to the next.
headers=$out/headers
if ! [ -d "$headers" ]; then
    (cd "$out" && apt-get -q download "postgresql-server-dev-$version=$exact" >fetch.log 2>&1 && dpkg-deb -x postgresql-server-dev-*.deb "$headers")
fi
cc -w -O1 -shared -fPIC -I "$headers/usr/include/postgresql/$version/server" -o "$place/regress/regress.so" "$tree/src/test/regress/regress.c"
cp "$lib/refint.so" "$lib/autoinc.so" "$place/regress/"
chmod 755 "$place"
if [ "$(id -u)" -eq 0 ]; then chown -R 65534:65534 "$place"; fi
export HOME=$place XDG_CONFIG_HOME=$place/none SLIPWAY_PRELOAD=$place/libslipway_preload.so SLIPWAY_X11_AFTER=0
hooked() { if [ "$1" = yes ]; then echo "$place/slipway sockets --"; fi; }

# The most connections on shared memory that were seen at once.
watch_rings() {
    local most=0 now
    while [ -e "$1/postmaster.pid" ]; do
        now=$("${as[@]}" "$place/slipway" sockets status 2>/dev/null | grep -c 'shared memory *┆' || true)
        if [ "$now" -gt "$most" ]; then most=$now && echo "$most" >"$1.rings"; fi
        sleep 0.5
    done
}

# One run: its name, and which ends are hooked. Each has a server of its own, in a directory of its own.
run() {
    local name=$1 server client
    server=$(hooked "$2") client=$(hooked "$3")
    local dir=$place/$name
    "${as[@]}" mkdir -p "$dir/sockets" "$dir/run"
    chmod 700 "$dir/run"
    export SLIPWAY_RUNTIME_DIR=$dir/run
    "${as[@]}" "$bin/initdb" -N -U tester -A trust --no-locale -E SQL_ASCII -D "$dir/data" >"$out/$name.initdb" 2>&1
    # shellcheck disable=SC2086 # a command and its arguments
    "${as[@]}" $server "$bin/postgres" -D "$dir/data" -c listen_addresses= -c fsync=off -c max_prepared_transactions=2 \
        -c "unix_socket_directories=$dir/sockets" </dev/null >"$out/$name.server" 2>&1 &
    local postmaster=$!
    until "$bin/pg_isready" -q -h "$dir/sockets"; do kill -0 $postmaster; done
    watch_rings "$dir/data" &
    local schedule
    for schedule in ${SCHEDULES:-regress isolation}; do
        local tests=$place/$schedule program=$lib/pgxs/src/test/$schedule/pg_$schedule file=parallel_schedule
        if [ "$schedule" = isolation ]; then program=$lib/pgxs/src/test/isolation/pg_isolation_regress file=isolation_schedule; fi
        mkdir -p "$out/$name.$schedule"
        # shellcheck disable=SC2086
        (cd "$tests" && timeout -k 5 1200 "${as[@]}" $client "$program" --inputdir="$tests" --outputdir="$dir" --bindir="$bin" --dlpath="$place/regress" \
            --host="$dir/sockets" --user=tester --max-concurrent-tests=20 --schedule="$tests/$file") </dev/null >"$out/$name.$schedule/log" 2>&1 || true
        cp "$dir"/regression.* "$dir"/output_iso/regression.* "$out/$name.$schedule/" 2>/dev/null || true
        # As versions up to 15 say it, and as later ones do.
        sed -n -e 's/^\(test\|  *\) *\([a-z0-9_-]*\) *\.\.\. \(ok\|FAILED\|failed\).*/\3 \2/p' \
            -e 's/^\(ok\|not ok\) *[0-9]* *[+-] \([a-z0-9_-]*\) .*/\1 \2/p' "$out/$name.$schedule/log" | sort >"$out/$name.$schedule/results"
    done
    kill -INT $postmaster
    wait $postmaster || true
    wait
    for schedule in ${SCHEDULES:-regress isolation}; do
        local results=$out/$name.$schedule/results
        printf '%-32s %8d %8d %8s\n' "$schedule, $name" "$(grep -c '^ok' "$results" || true)" "$(grep -civ '^ok' "$results" || true)" \
            "$(cat "$dir/data.rings" 2>/dev/null || echo 0)"
        if ! cmp -s "$out/plain.$schedule/results" "$results"; then
            diff "$out/plain.$schedule/results" "$results" | sed -n "s/^>/differs, $name:/p"
            status=1
        fi
    done
}

status=0
printf '%-32s %8s %8s %8s\n' "PostgreSQL $version's own tests" passed failed "on rings"
for side in plain ${SIDES:-both server client}; do
    case $side in
        plain) run plain no no ;;
        both) run both yes yes ;;
        server) run server yes no ;;
        client) run client no yes ;;
    esac
done
exit $status
