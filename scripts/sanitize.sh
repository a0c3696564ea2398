#!/usr/bin/env bash
# The C programs that call by trap from several threads, with libmach, the stubs and the programs under a sanitizer of the compilers:
# `scripts/sanitize.sh thread` (races; the default) or `scripts/sanitize.sh address`. Rust's own library is not instrumented, so
# what waits by it (Rust's threads, libmach's cthreads) can't be watched this way; loom watches the fabric.
set -euo pipefail
cd "$(dirname "$0")/.."

kind=${1:-thread}
case $kind in thread | address) ;; *) echo "usage: $0 [thread|address]" >&2; exit 2 ;; esac
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")/$kind
triple=$(rustc -vV | sed -n 's/^host: //p')

# The sanitizers of the stable compiler are not stable options of it.
RUSTC_BOOTSTRAP=1 RUSTFLAGS="-Zsanitizer=$kind -Cunsafe-allow-abi-mismatch=sanitizer" \
    cargo build --locked -p slipway-libmach --target "$triple" --target-dir "$target"
cargo build --locked -p slipway-mig
mig=$(realpath "${CARGO_TARGET_DIR:-target}/debug/mig")
library=$target/$triple/debug
ln -sf libmach.so "$library/libmach.so.1"

root=$PWD
own=$(mktemp -d)
trap 'rm -rf "$own"' EXIT
cd "$own"
flags=(-fsanitize="$kind" -D_GNU_SOURCE -g -O1 -I. -I"$root/include" -I"$root/crates/mig/tests/c")
libmach=$root/crates/libmach/tests/c
stubs=$root/crates/mig/tests/c

# What Rust's compiler calls and the C compiler's sanitizer does not have.
cat >others.c <<'C'
#include <string.h>
void *__tsan_memcpy(void *to, const void *from, size_t size) { return memcpy(to, from, size); }
void *__tsan_memmove(void *to, const void *from, size_t size) { return memmove(to, from, size); }
void *__tsan_memset(void *at, int byte, size_t size) { return memset(at, byte, size); }
C
cc -O1 -fno-builtin -c others.c
"$mig" -I "$root/include" --trap -sheader trapsServer.h "$stubs/trap.defs"
cc "${flags[@]}" -include mach/trap.h -Dmach_trap=counted_trap -c trapsUser.c
c++ "${flags[@]}" -c "$libmach/throws.cpp"

build() {
    local name=$1
    shift
    cc -std=gnu11 "${flags[@]}" -rdynamic -o "$name" "$@" others.o -L"$library" -lmach -lpthread -lstdc++
}
build traps "$libmach"/{traps,adder,check}.c throws.o
build trap_tasks trapsUser.o trapsServer.c "$stubs"/trap_{tasks,client,server}.c

export LD_LIBRARY_PATH=$library TSAN_OPTIONS=halt_on_error=1 ASAN_OPTIONS=detect_leaks=0
for words in traps "trap_tasks message" "trap_tasks trap" "trap_tasks midway"; do
    read -r name mode <<<"$words"
    echo "== $words"
    timeout --foreground 300 "./$name" ${mode:+"$mode" client server}
done
echo "no complaint of the $kind sanitizer"
