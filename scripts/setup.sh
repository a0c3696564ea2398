#!/usr/bin/env bash
# Brings this machine to where what is named works: `setup.sh build` (slipway and the demos in C), demo (X11), ports (X11 over ports), test (everything that
# `make test` runs), bench (what `slipway bench` measures), suites (other people's tests over sockets), deb (Debian packages), aarch64 (cross-compiled tests) or long (everything
# that `make test-long` runs); without a name, test.
# Costs nothing, and no network, when nothing is missing.
# Exit codes: 0 ready; 1 wrong arguments; 2 a package could not be installed; 3 packages are missing and may not be
# installed from here; 4 Rust is missing or too old.
set -euo pipefail
cd "$(dirname "$0")/.."

purpose=${1:-test}
missing=()

# need PACKAGE COMMAND...: COMMAND succeeds if what is needed from PACKAGE is there.
need() {
    local package=$1
    shift
    "$@" >/dev/null 2>&1 || missing+=("$package")
}

# on_path NAME...: all of them are commands here.
on_path() {
    local name
    for name in "$@"; do command -v "$name" || return 1; done
}

# A JRE without a display library can't open a window.
java_with_windows() {
    local java
    java=$(command -v java) || return 1
    java=$(readlink -f "$java")
    test -e "${java%/bin/java}/lib/libawt_xawt.so"
}

# clang_sanitizes: clang has the runtimes of its sanitizers.
clang_sanitizes() { echo 'int main(void) { return 0; }' | clang -fsanitize=address -x c - -o /dev/null; }

# libc_for_static: the archive that static programs link with.
libc_for_static() { test -e "$(gcc -print-file-name=libc.a)"; }

need_for_build() {
    need gcc on_path gcc cc
    need libc6-dev test -e "$(gcc -print-file-name=libc.so)"
    need make on_path make
    need pkg-config on_path pkg-config
}

need_for_demo() {
    need xvfb on_path Xvfb
    need x11-apps on_path x11perf
}

need_for_ports() {
    need_for_demo
    need x11-utils on_path xdpyinfo
    need bubblewrap on_path bwrap
}

need_for_deb() {
    need debhelper on_path dh
    need dpkg-dev on_path dpkg-shlibdeps
    need lintian on_path lintian
}

need_for_aarch64() {
    need gcc-aarch64-linux-gnu on_path aarch64-linux-gnu-gcc
    need g++-aarch64-linux-gnu on_path aarch64-linux-gnu-g++
    need libc6-dev-arm64-cross test -e /usr/aarch64-linux-gnu/include/stdio.h
    need qemu-user-static on_path qemu-aarch64-static
    need python3 test -x /usr/bin/python3
}

need_for_test() {
    need_for_ports
    need git on_path git
    need python3 test -x /usr/bin/python3
    need tar on_path tar
    need g++ on_path g++
    need clang on_path clang
    need libclang-rt-dev clang_sanitizes
    need cmake on_path cmake
    need libc6-dev libc_for_static
    need libx11-dev pkg-config --exists x11
    need xserver-xephyr on_path Xephyr
    need x11-apps on_path xwd xeyes
    need x11-utils on_path xdpyinfo xwininfo xprop xlsclients
    need xterm on_path xterm
    need xauth on_path xauth
    need xdotool on_path xdotool
    need imagemagick on_path import
    need tk on_path wish
    need python3-tk /usr/bin/python3 -c 'import tkinter'
    need default-jre java_with_windows
    need default-jdk-headless on_path javac
    need zenity on_path zenity
    need strace on_path strace
    need valgrind on_path valgrind
    need gnumach-dev test -e /usr/include/x86_64-linux-gnu/mach/mach_port.defs
    need librsvg2-bin on_path rsvg-convert
    need shellcheck on_path shellcheck
    need redis-server on_path redis-server
    need redis-tools on_path redis-benchmark redis-cli
    need postgresql test -d /usr/lib/postgresql
    need nginx-light test -e /usr/sbin/nginx
    need curl on_path curl
    need dbus on_path dbus-daemon dbus-send dbus-monitor
}

need_for_bench() {
    need_for_demo
    need xterm on_path xterm
    need valgrind on_path valgrind
    need redis-server on_path redis-server
    need redis-tools on_path redis-benchmark
    need postgresql test -d /usr/lib/postgresql
    need memcached on_path memcached
    need libmemcached-tools on_path memcslap
    need dbus-daemon on_path dbus-daemon
    need dbus-tests on_path dbus-test-tool
    need nginx-light test -e /usr/sbin/nginx
    need proot on_path proot
    need fakechroot on_path fakechroot
    need bubblewrap on_path bwrap
    need apache2-utils on_path ab
}

need_for_suites() {
    need dpkg-dev on_path dpkg-source
    need postgresql test -d /usr/lib/postgresql
    need redis-server on_path redis-server
    need redis-tools on_path redis-benchmark redis-cli redis-check-aof redis-check-rdb
    need tcl on_path tclsh
    need tcl-dev pkg-config --exists tcl
    need zlib1g-dev pkg-config --exists zlib
    need gcc on_path gcc
    need make on_path make
    need perl on_path perl
}

need_for_long() {
    need_for_test
    need mariadb-server test -x /usr/sbin/mariadbd
    need mariadb-client on_path mariadb mariadb-dump
    need weston on_path weston weston-simple-shm
    need python3-grpcio /usr/bin/python3 -c 'import grpc'
    need libgrpc++-dev test -e /usr/include/grpcpp/grpcpp.h
    need php-fpm compgen -G '/usr/sbin/php-fpm*'
    need pulseaudio on_path pulseaudio
    need pulseaudio-utils on_path pactl pacat
    need openssh-client on_path ssh-agent ssh-add ssh-keygen
    need_for_deb
    need_for_aarch64
}

find_missing() {
    missing=()
    need_for_build
    case $purpose in
        build) ;;
        demo | ports | test | bench | suites | deb | aarch64 | long) "need_for_$purpose" ;;
        *) echo "usage: $0 [build|demo|ports|test|bench|suites|deb|aarch64|long]" >&2; exit 1 ;;
    esac
}

install_missing() {
    local as_root=()
    local install=(apt-get install -y --no-install-recommends "${missing[@]}")
    if ! command -v apt-get >/dev/null; then
        echo "setup: missing, by their Debian package names: ${missing[*]}" >&2
        echo "setup: this system has no apt-get; install them its own way, then run this again" >&2
        exit 3
    fi
    if [ "$(id -u)" -ne 0 ]; then
        if ! sudo -n true 2>/dev/null; then
            echo "setup: Debian packages are missing, and installing them needs root. Run this, then try again:" >&2
            echo "    sudo apt-get update && sudo ${install[*]}" >&2
            exit 3
        fi
        as_root=(sudo -n env DEBIAN_FRONTEND=noninteractive)
    fi
    echo "setup: installing ${missing[*]}"
    export DEBIAN_FRONTEND=noninteractive
    "${as_root[@]}" apt-get update -q </dev/null || exit 2
    "${as_root[@]}" "${install[@]}" -q </dev/null || exit 2
}

find_missing
if [ ${#missing[@]} -gt 0 ]; then
    install_missing
    find_missing
    if [ ${#missing[@]} -gt 0 ]; then
        echo "setup: still missing after the installation: ${missing[*]}" >&2
        exit 2
    fi
fi

# Debian's newest compiler with its libraries for this processor and for AArch64, unpacked in target/debian-rust and not installed.
debian_rust() {
    local home apt name runtime llvm package
    home=$(realpath -m "${CARGO_TARGET_DIR:-target}")/debian-rust
    if [ -x "$home/rustc" ]; then return; fi
    rm -rf "$home"
    mkdir -p "$home"/apt/{lists,archives}/partial
    apt=(-q -o Dir::State="$home/apt" -o Dir::State::status=/var/lib/dpkg/status -o Dir::Cache="$home/apt" -o APT::Sandbox::User=
        -o APT::Architectures::="$(dpkg --print-architecture)" -o APT::Architectures::=arm64 -o Acquire::Languages=none)
    apt-get "${apt[@]}" update || return
    name=libstd-rust-web-dev
    runtime=$(apt-cache "${apt[@]}" depends $name | sed -n 's/^ *Depends: \(libstd-rust-.*\)/\1/p')
    llvm=$(apt-cache "${apt[@]}" depends "$runtime" | sed -n 's/^ *Depends: \(libllvm.*\)/\1/p')
    (cd "$home/apt" && apt-get "${apt[@]}" download rustc-web $name $name:arm64 "$runtime" "$llvm") || return
    for package in "$home"/apt/*.deb; do dpkg-deb -x "$package" "$home" || return; done
    rm -rf "$home/apt"
    printf '#!/bin/sh\nLD_LIBRARY_PATH=%s exec %s --sysroot %s "$@"\n' \
        "$(echo "$home"/usr/lib/*-linux-gnu)" "$home/usr/bin/rustc" "$home/usr" >"$home/rustc"
    chmod +x "$home/rustc"
}

wanted=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
# no_rust WHY: says how to get a toolchain that will do.
no_rust() {
    echo "setup: $1; Slipway needs Rust $wanted or newer." >&2
    echo "    Install rustup (https://rustup.rs), then: rustup toolchain install stable" >&2
    exit 4
}
# version TOOL: its number, "1.95.0".
version() { "$1" --version 2>/dev/null | awk '{print $2}'; }
for tool in cargo rustc; do
    command -v "$tool" >/dev/null || no_rust "$tool is not on PATH"
    have=$(version "$tool") || have=
    if [ "$(printf '%s\n' "$wanted" "${have%%-*}" | sort -V | head -n 1)" != "$wanted" ]; then
        no_rust "$tool is ${have:-unusable}"
    fi
done
if [ "$purpose" = test ]; then
    for tool in cargo-fmt cargo-clippy; do
        if ! command -v "$tool" >/dev/null; then
            echo "setup: note: $tool is missing, make lint needs it: rustup component add rustfmt clippy" >&2
        fi
    done
fi
if [ "$purpose" = aarch64 ] || [ "$purpose" = long ]; then
    target=aarch64-unknown-linux-gnu
    if ! test -d "$(rustc --print sysroot)/lib/rustlib/$target"; then
        # Where rustup has no network, Debian may.
        rustup target add $target || debian_rust || no_rust "its library for $target is missing"
    fi
fi
