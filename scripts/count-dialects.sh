#!/usr/bin/env bash
# Instructions of mach_msg in both dialects, for docs/darwin.md: a client and a server exchange plain messages over a line, each under callgrind, which
# counts what libmach does within the call. Neither spins, so the counts hardly change. Needs valgrind. The argument is the number of round trips.
set -euo pipefail
cd "$(dirname "$0")/.."

target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
work=$target/count-dialects
trips=${1:-20000}
cargo build --quiet --locked --release -p slipway-libmach -p slipway-libmach-darwin
mkdir -p "$work"
ln -sf "$target/release/libmach.so" "$work/libmach.so.1"
ln -sf libmach.so.1 "$work/libmach.so"
ln -sf "$target/release/libmach_darwin.so" "$work/libmach-darwin.so.1"
cp scripts/libmach-darwin.so.in "$work/libmach-darwin.so"
cat >"$work/trips.c" <<'END'
#include <mach/mach.h>
#include <mach/mig_support.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

typedef union {
    mach_msg_header_t header;
    char bytes[8192];
} message_t;

#define OPTIONS (MACH_SEND_MSG | MACH_RCV_MSG)

/* The first call is another function, which callgrind tells apart from the others. */
__attribute__((noinline)) int measured(message_t *it, mach_msg_size_t size, mach_port_t port) {
    return mach_msg(&it->header, OPTIONS, size, sizeof *it, port, 0, 0);
}

int main(int count, char **arguments) {
    const int trips = atoi(arguments[1]);
    const mach_msg_size_t size = (mach_msg_size_t) (sizeof(mach_msg_header_t) + (size_t) atoi(arguments[2]));
    static message_t it;
    mach_port_t port, to;
    (void) count;
    mach_port_allocate(mach_task_self(), MACH_PORT_RIGHT_RECEIVE, &port);
    mach_port_insert_right(mach_task_self(), port, port, MACH_MSG_TYPE_MAKE_SEND);
    task_set_special_port(mach_task_self(), TASK_EXCEPTION_PORT, port);
    const pid_t child = fork();
    if (child == 0) {
        task_get_special_port(mach_task_self(), TASK_EXCEPTION_PORT, &to);
        port = mach_reply_port();
        for (int i = -10; i < trips; i++) {
            it.header.msgh_bits = MACH_MSGH_BITS(MACH_MSG_TYPE_COPY_SEND, MACH_MSG_TYPE_MAKE_SEND_ONCE);
            it.header.msgh_remote_port = to;
            it.header.msgh_local_port = port;
            if ((i < 0 ? mach_msg(&it.header, OPTIONS, size, sizeof it, port, 0, 0) : measured(&it, size, port)) != 0) _exit(1);
        }
        _exit(0);
    }
    if (mach_msg(&it.header, MACH_RCV_MSG, 0, sizeof it, port, 0, 0) != 0) return 1;
    for (int i = -10; i < trips; i++) {
        it.header.msgh_bits = MACH_MSGH_BITS(MACH_MSG_TYPE_MOVE_SEND_ONCE, 0);
        it.header.msgh_local_port = MACH_PORT_NULL;
        if (i == trips - 1) {
            if (mach_msg(&it.header, MACH_SEND_MSG, size, 0, 0, 0, 0) != 0) return 1;
        } else if ((i < 0 ? mach_msg(&it.header, OPTIONS, size, sizeof it, port, 0, 0) : measured(&it, size, port)) != 0) {
            return 1;
        }
    }
    int status = -1;
    waitpid(child, &status, 0);
    return status != 0;
}
END
typed=(-I include "-L$work" -lmach)
darwin=(-I include/darwin -I include "-L$work" -lmach-darwin)
cc -O2 -o "$work/typed" "$work/trips.c" "${typed[@]}" "-Wl,-rpath,$work"
cc -O2 -o "$work/darwin" "$work/trips.c" "${darwin[@]}" "-Wl,-rpath,$work"

# count DIALECT SIZE: instructions a call, of client and server.
count() {
    rm -f "$work"/out.*
    SLIPWAY_SPIN=0 SLIPWAY_RUNTIME_DIR=$work/run SLIPWAY_BOOTSTRAP=$work/none timeout 300 valgrind --quiet --tool=callgrind --trace-children=yes \
        --toggle-collect=measured --callgrind-out-file="$work/out.%p" "$work/$1" "$trips" "$2" >"$work/log" 2>&1 </dev/null || { cat "$work/log" >&2; exit 1; }
    cat "$work"/out.* | awk -v trips="$trips" '/^(summary|totals):/ && !seen[FILENAME $2]++ { sum += $2 } END { printf "%.0f\n", sum / trips / 2 }'
}
echo "| bytes behind the header | typed | Darwin | difference |"
echo "|--:|--:|--:|--:|"
for size in 0 16 1024; do
    a=$(count typed $size) b=$(count darwin $size)
    echo "| $size | $a | $b | $(awk -v a="$a" -v b="$b" 'BEGIN { printf "%+.1f %%", 100 * (b - a) / a }') |"
done
a=$(count darwin 12)
echo "| 12 | - | $a | |"
