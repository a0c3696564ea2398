#!/usr/bin/env bash
# Makes the Debian packages, has lintian look at them, and installs, uses and removes them in a root directory of their own. What
# that has besides is copied from the packages that are installed here, so that no network is needed. A user other than root
# gets a user namespace for it.
set -euo pipefail
cd "$(dirname "$0")/.."

fail() { echo "test-deb: $*" >&2; exit 1; }
made=$(realpath -m "${CARGO_TARGET_DIR:-target}")/deb

if [ "${1:-}" != in-namespace ]; then
    scripts/deb.sh
    echo "== lintian"
    lintian --allow-root --fail-on error,warning "$made"/*.deb
    user=()
    if [ "$(id -u)" -ne 0 ]; then user=(--map-root-user); fi
    exec unshare "${user[@]}" --mount --pid --fork --kill-child "$0" in-namespace
fi

root=$(mktemp -d)
trap 'umount -l "$root/proc" "$root/dev" 2>/dev/null || true; rm -rf --one-file-system "$root"' EXIT
inside() { env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin timeout 120 chroot "$root" "$@"; }
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
# The directories that are links, where they are.
for dir in bin sbin lib lib64; do
    if [ -L /$dir ]; then mkdir -p "$root/usr/$dir" && ln -s usr/$dir "$root/$dir"; fi
done
mkdir -p "$root"/{proc,dev,tmp,root,var/lib/dpkg/{info,updates,triggers,parts,alternatives}}
dpkg-query -L "${!have[@]}" | grep '^/' | sort -u | while IFS= read -r path; do
    case $path in /usr/share/doc/* | /usr/share/locale/* | /usr/share/man/* | /usr/share/info/*) ;; *) if [ -e "$path" ] || [ -L "$path" ]; then echo "${path#/}"; fi ;; esac
done | tar -C / --no-recursion -cf - -T - | tar -C "$root" --keep-directory-symlink -xf -
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
files() { find "$root" -xdev ! -path "$root/var/*" ! -path "$root/tmp/*" ! -path "$root/debs/*" ! -path "$root/root/*" ! -name 'ld.so.cache' | sort; }
files >"$root/var/before"

echo "== install"
mkdir "$root/debs"
cp "$made"/*.deb "$root/debs/"
inside sh -c "dpkg -i /debs/*.deb"
[ -z "$(inside dpkg --audit)" ] || fail "dpkg finds fault: $(inside dpkg --audit)"

echo "== use"
inside slipway --version
inside mig --version
inside slipway run --private -- true
inside slipway x11 -- grep -q /usr/lib/slipway/libslipway_preload.so /proc/self/maps || fail "the hooks are not loaded"
inside slipway bench x11 --help >/dev/null
# Compiled here, with what is in that root; the libraries are found there as any program's are.
export PKG_CONFIG_SYSROOT_DIR=$root PKG_CONFIG_SYSTEM_INCLUDE_PATH=/ PKG_CONFIG_SYSTEM_LIBRARY_PATH=/
PKG_CONFIG_LIBDIR=$(echo "$root"/usr/lib/*/pkgconfig)
export PKG_CONFIG_LIBDIR
read -ra flags < <(pkg-config --cflags --libs mach)
cat >"$root/task.c" <<'C'
#include <mach/mach.h>
#include <mach/task_main.h>
#include <stdio.h>
MACH_TASK_MAIN(argc, argv) {
    mach_port_t port;
    kern_return_t code = mach_port_allocate(mach_task_self(), MACH_PORT_RIGHT_RECEIVE, &port);
    return printf("%s: %s\n", argc > 1 ? argv[1] : "none", mach_error_string(code)) < 0 || code != KERN_SUCCESS;
}
C
cc -shared -fPIC -o "$root/tmp/task.so" "$root/task.c" "${flags[@]}"
cc -DMACH_TASK_EXECUTABLE -o "$root/tmp/task" "$root/task.c" "${flags[@]}"
inside /tmp/task program | grep '^program: '
inside slipway run --private /tmp/task.so -- task | grep '^task: '
for program in server client; do
    sources=("examples/kv/$program.c")
    if [ $program = server ]; then sources+=(examples/kv/store.c); fi
    cc -std=gnu11 -o "$root/tmp/kv-$program" "${sources[@]}" "${flags[@]}"
done
cp examples/kv/demo.sh "$root/tmp/"
# seq and tail are of coreutils; the rest of it is bash.
inside slipway run --private -- /tmp/demo.sh >"$root/tmp/demo.log" || { cat "$root/tmp/demo.log"; fail "the service of examples/kv"; }
tail -n 3 "$root/tmp/demo.log"

echo "== remove"
rm "$root/task.c"
inside dpkg --purge slipway libmach-dev libmach1
rm -r "$root/debs"
files | diff "$root/var/before" - || fail "the lines above are what the packages leave, or take with them"
echo "test-deb: the packages come, work and go"
