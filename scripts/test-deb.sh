#!/usr/bin/env bash
# Makes the Debian packages, has lintian look at them, and installs, uses, removes and purges them in a root directory of their
# own. What that has besides is copied from the packages that are installed here, so that no network is needed. The mounts and
# processes are in namespaces, and end with them. A user other than root gets a user namespace for it, or uses sudo where the
# system gives none.
set -euo pipefail
cd "$(dirname "$0")/.."

fail() { echo "test-deb: $*" >&2; exit 1; }
made=$(realpath -m "${CARGO_TARGET_DIR:-target}")/deb

if [ "${1:-}" != in-namespace ]; then
    scripts/deb.sh
    echo "== lintian"
    lintian --allow-root --fail-on error,warning "$made"/*.deb
    as=() apart=(unshare --mount --pid --fork --kill-child)
    if [ "$(id -u)" -ne 0 ]; then
        if unshare --map-root-user --mount true 2>/dev/null; then apart+=(--map-root-user); else as=(sudo -n); fi
    fi
    "${as[@]}" "${apart[@]}" true || fail "a root directory with mounts of its own is not allowed here: unshare(1) and root, user namespaces or sudo are needed"
    root=$(mktemp -d)
    trap '"${as[@]}" rm -rf --one-file-system "$root"' EXIT
    "${as[@]}" "${apart[@]}" "$0" in-namespace "$root" "$made"
    exit
fi

root=$2 made=$3
inside() { env -i HOME=/test XDG_RUNTIME_DIR=/test/runtime PATH=/usr/sbin:/usr/bin:/sbin:/bin timeout 600 chroot "$root" "$@"; }
# The names in a list of dependencies; of alternatives the first that is installed.
needs() {
    tr ',' '\n' | while IFS= read -r alternatives; do
        for name in $(tr '|' '\n' <<<"$alternatives" | awk '{ sub(/:.*/, "", $1); print $1 }'); do
            if dpkg-query -W -f '${db:Status-Status}\n' "$name" 2>/dev/null | grep -qx installed; then echo "$name"; break; fi
        done
    done
}

echo "== a root"
declare -A have=()
wanted=(base-files bash coreutils dash diffutils dpkg grep libc-bin sed)
for deb in "$made"/*.deb; do mapfile -t -O "${#wanted[@]}" wanted < <(dpkg-deb -f "$deb" Depends | needs); done
while [ ${#wanted[@]} -gt 0 ]; do
    package=${wanted[0]}
    wanted=("${wanted[@]:1}")
    if [ -n "${have[$package]:-}" ]; then continue; fi
    have[$package]=1
    mapfile -t -O "${#wanted[@]}" wanted < <(dpkg-query -W -f '${Pre-Depends},${Depends}\n' "$package" | needs)
done
install -d -m 700 "$root/test/runtime"
# The directories that are links, where they are.
for dir in bin sbin lib lib64; do
    if [ -L /$dir ]; then mkdir -p "$root/usr/$dir" && ln -s usr/$dir "$root/$dir"; fi
done
mkdir -p "$root"/{proc,dev,tmp,root,test,var/cache/ldconfig,var/lib/dpkg/{info,updates,triggers,parts,alternatives}}
dpkg-query -L "${!have[@]}" | grep '^/' | sort -u | while IFS= read -r path; do
    case $path in /root | /var/cache/ldconfig | /usr/share/doc/* | /usr/share/locale/* | /usr/share/man/* | /usr/share/info/*) ;; *) if [ -e "$path" ] || [ -L "$path" ]; then echo "${path#/}"; fi ;; esac
done | tar -C / --no-recursion -cf - -T - | tar -C "$root" --keep-directory-symlink --no-same-owner -xf -
# Triggers that wait here are not that root's.
dpkg-query -s "${!have[@]}" | sed -e 's/^Status: .*/Status: install ok installed/' -e '/^Triggers-/d' >"$root/var/lib/dpkg/status"
for package in "${!have[@]}"; do
    for info in /var/lib/dpkg/info/"$package".* /var/lib/dpkg/info/"$package":*.*; do
        case $info in *.triggers) [ "$package" = libc-bin ] || continue ;; esac
        if [ -e "$info" ]; then cp "$info" "$root/var/lib/dpkg/info/"; fi
    done
done
cp /var/lib/dpkg/triggers/ldconfig "$root/var/lib/dpkg/triggers/"
cp /var/lib/dpkg/info/format "$root/var/lib/dpkg/info/"
cp /var/lib/dpkg/arch "$root/var/lib/dpkg/" 2>/dev/null || true
touch "$root/var/lib/dpkg/available"
mount -t proc proc "$root/proc" 2>/dev/null || mount --rbind /proc "$root/proc"
mount --rbind /dev "$root/dev"
inside ldconfig
# Every file with its mode and content, but for dpkg's own records of what it did, caches, and what this test has there.
files() {
    (cd "$root" && LC_ALL=C find . -xdev \( -path ./test -o -path ./var/lib/dpkg -o -path ./var/log -o -path ./var/cache/ldconfig \) -prune -o \
        ! -path ./etc/ld.so.cache \( -printf '%p %y %m %l\n' -o -true \) -type f -exec sha256sum {} + && find var/lib/dpkg/info) | sort
}
install_all() {
    cp -r "$made" "$root/test/debs"
    inside sh -c "dpkg -i /test/debs/*.deb"
    rm -r "$root/test/debs"
    [ -z "$(inside dpkg --audit)" ] || fail "dpkg finds fault: $(inside dpkg --audit)"
}
# gone HOW: `dpkg --HOW` takes everything away again, and what programs made while they ran has gone, too.
gone() {
    inside dpkg "--$1" slipway libmach-dev libmach1
    ! inside dpkg-query -W slipway libmach1 libmach-dev 2>/dev/null | grep . || fail "dpkg knows the packages above after --$1"
    files | diff "$root/test/before" - || fail "the lines above are what the packages leave after --$1, or take with them"
}
files >"$root/test/before"

echo "== install"
install_all

echo "== use"
inside slipway --version
inside mig --version
inside slipway run --private -- true
inside slipway x11 -- grep -q /usr/lib/slipway/libslipway_preload.so /proc/self/maps || fail "the hooks are not loaded"
inside slipway run --private unix-server.so -- --help >/dev/null
inside slipway bench x11 --help >/dev/null
# Compiled here, with what is in that root; the libraries are found there as any program's are.
export PKG_CONFIG_SYSROOT_DIR=$root PKG_CONFIG_SYSTEM_INCLUDE_PATH=/ PKG_CONFIG_SYSTEM_LIBRARY_PATH=/
PKG_CONFIG_LIBDIR=$(echo "$root"/usr/lib/*/pkgconfig)
export PKG_CONFIG_LIBDIR
read -ra flags < <(pkg-config --cflags --libs mach)
cat >"$root/test/task.c" <<'C'
#include <mach/mach.h>
#include <mach/task_main.h>
#include <stdio.h>
MACH_TASK_MAIN(argc, argv) {
    mach_port_t port;
    kern_return_t code = mach_port_allocate(mach_task_self(), MACH_PORT_RIGHT_RECEIVE, &port);
    return printf("%s: %s\n", argc > 1 ? argv[1] : "none", mach_error_string(code)) < 0 || code != KERN_SUCCESS;
}
C
read -ra darwin < <(pkg-config --cflags --libs mach-darwin)
cat >"$root/test/darwin.c" <<'C'
#include <mach/mach.h>
int main(void) {
    mach_port_t port;
    mach_msg_empty_t message = {.send = {.header = {.msgh_bits = MACH_MSGH_BITS(MACH_MSG_TYPE_MAKE_SEND, 0), .msgh_id = 7}}};
    mach_port_allocate(mach_task_self(), MACH_PORT_RIGHT_RECEIVE, &port);
    message.send.header.msgh_remote_port = port;
    int code = mach_msg(&message.send.header, MACH_SEND_MSG | MACH_RCV_MSG, sizeof message.send, sizeof message, port, 0, 0);
    return code != MACH_MSG_SUCCESS || message.rcv.header.msgh_id != 7 || message.rcv.trailer.msgh_trailer_size != 8;
}
C
cc -o "$root/test/darwin" "$root/test/darwin.c" "${darwin[@]}"
inside /test/darwin
cc -shared -fPIC -o "$root/test/task.so" "$root/test/task.c" "${flags[@]}"
cc -DMACH_TASK_EXECUTABLE -o "$root/test/task" "$root/test/task.c" "${flags[@]}"
inside /test/task program | grep '^program: '
inside slipway run --private /test/task.so -- task | grep '^task: '
for program in server client; do
    sources=("examples/kv/$program.c")
    if [ $program = server ]; then sources+=(examples/kv/store.c); fi
    cc -std=gnu11 -o "$root/test/kv-$program" "${sources[@]}" "${flags[@]}"
done
cp examples/kv/demo.sh "$root/test/"
# seq and tail are of coreutils; the rest of it is bash.
inside slipway run --private -- /test/demo.sh >"$root/test/demo.log" 2>&1 || { cat "$root/test/demo.log"; fail "the service of examples/kv"; }
tail -n 3 "$root/test/demo.log"

echo "== remove, and purge"
gone remove
install_all
gone purge
echo "test-deb: the packages come, work and go"
