#!/usr/bin/env bash
# Other projects' own tests of what uses files, natively and in `slipway unix`: CPython's, git's, coreutils' and gnulib's, SQLite's, and pjdfstest. A table has
# the counts. What goes otherwise in the net is named, and makes this fail unless scripts/suite-unix-known.txt has it with its reason; so does a change
# of the host's files by a run in the net. The outputs are in target/suites/unix. Arguments choose suites.
# shellcheck disable=SC2317 # the names of functions are put together below
set -Eeuo pipefail
trap 'echo "suite-unix: a step failed; its output is in $out" >&2' ERR
cd "$(dirname "$0")/.."

target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
out=$target/suites/unix
release=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
known=$PWD/scripts/suite-unix-known.txt
if [ $# -eq 0 ]; then set -- python git coreutils gnulib sqlite pjdfstest; fi
scripts/setup.sh suites
cargo build --quiet --locked -p slipway
mkdir -p "$out"

# Root's tests run as another user, who may have no way into this directory; those that are meant for root stay root's.
place=$(mktemp -d)
trap 'chmod -R u+rwX "$place"; rm -rf "$place"' EXIT
here=(env "HOME=$place" "TMPDIR=$place/tmp" "XDG_STATE_HOME=$place/state" "XDG_CONFIG_HOME=$place/none" LC_ALL=C.UTF-8)
as=("${here[@]}")
if [ "$(id -u)" -eq 0 ]; then as=(setpriv --reuid=65534 --regid=65534 --clear-groups "${here[@]}"); fi
cp "$target/debug/slipway" "$place/"
mkdir -p "$place/tmp" "$place/state/root"
chmod 755 "$place"
unset DISPLAY MAKEFLAGS MAKELEVEL
jobs=$(nproc)

# In the net, or natively. The paths and the files are the same, since a run in the net leaves nothing behind.
in_net() { if [ "$mode" = net ]; then "${as[@]}" "$place/slipway" unix --discard -- "$@"; else "${as[@]}" "$@"; fi; }
give() { if [ "$(id -u)" -eq 0 ]; then chown -R 65534:65534 "$place"; fi; }

# What each suite needs, in $place; how it is run; and its results: a line for each test, with its name and "ok" if it passed.
fetch_python() {
    python=$(basename "$(realpath /usr/bin/python3)")
    local package=$out/$python
    if ! [ -d "$package" ]; then
        (cd "$out" && apt-get -q download "lib$python-testsuite" >fetch.log 2>&1 && dpkg-deb -x "lib$python"-testsuite_*.deb "$package")
    fi
    mkdir "$place/python"
    cp -r "$package/usr/lib/$python/test" "$place/python/"
    # What the standard library itself has of it.
    cp -r "/usr/lib/$python/test/." "$place/python/test/"
    cat >"$place/python/run.py" <<'PYTHON'
import os, sys, unittest
say = os.fdopen(os.dup(1), "w")
class Result(unittest.TestResult):
    def tell(self, test, how):
        print("\nRESULT", test.id().replace(" ", "_"), how, file=say, flush=True)
    def addSuccess(self, test): self.tell(test, "ok")
    def addExpectedFailure(self, test, error): self.tell(test, "ok")
    def addSkip(self, test, reason): self.tell(test, "skipped")
    def addUnexpectedSuccess(self, test): self.tell(test, "unexpected")
    def fail(self, test, error):
        self.tell(test, "failed")
        print(self._exc_info_to_string(error, test), file=say, flush=True)
    addError = addFailure = fail
    def addSubTest(self, test, part, error):
        if error: self.fail(test, error)
unittest.defaultTestLoader.loadTestsFromName(sys.argv[1]).run(Result())
PYTHON
}
run_python() {
    local name
    for name in test_os test_shutil test_subprocess test_tempfile; do
        (cd "$place/python" && in_net env PYTHONPATH="$place/python" PYTHONDONTWRITEBYTECODE=1 "$python" run.py "test.$name")
    done
}
results_python() { sed -n 's/^RESULT //p'; }

fetch_git() {
    local tree
    tree=$(scripts/suite-source.sh "git=$(dpkg-query -W -f '${Version}' git)" "$release")
    (cd "$tree" && make "-j$jobs" CFLAGS=-O1 NO_CURL=1 NO_EXPAT=1 NO_GETTEXT=1 NO_OPENSSL=1 NO_TCLTK=1 NO_PYTHON=1 all) >"$out/git.build" 2>&1
    # Builtins are one file with many names.
    cp -a "$tree" "$place/git"
    mkdir "$place/trash"
    find "$place/git" -name '*.o' -delete
    cat >"$place/git/one" <<'SCRIPT'
#!/bin/sh
# A test script of git's, from the beginning to its end; each has a net of its own.
name=$1
shift
"$@" "./$name.sh" --root="$TEST_ROOT" 2>&1 </dev/null | sed -u "s/^\(not ok\|ok\) \([0-9]*\)/RESULT $name.\2 \1/"
SCRIPT
    chmod 755 "$place/git/one"
}
run_git() {
    export TEST_NO_MALLOC_CHECK=1 GIT_TEST_CHAIN_LINT=0 TEST_OUTPUT_DIRECTORY=$place/trash TEST_ROOT=$place/trash
    local net=()
    if [ "$mode" = net ]; then net=("$place/slipway" unix --discard --); fi
    # Those that need more than half a minute each are left out.
    (cd "$place/git/t" && find . -name 't*.sh' | sed 's|^./||; s|\.sh$||' | sort | grep -E '^t(000[1-9]|00[1-9]|10|13|15|20|21|22|24|30|36|37|70|71|73)' \
        | grep -vE '^t(0027|1013|1092|2013|3060|7112)' \
        | "${as[@]}" xargs -P "$jobs" -I {} timeout -k 5 300 "$place/git/one" {} "${net[@]}")
}
results_git() { sed -n 's/^RESULT \([^ ]*\) \(ok\|not ok\).*/\1 \2/p' | sed 's/not ok/failed/'; }

fetch_coreutils() {
    local tree
    tree=$(scripts/suite-source.sh "coreutils=$(dpkg-query -W -f '${Version}' coreutils)" "$release")
    if ! [ -e "$tree/src/ls" ]; then
        (cd "$tree" && FORCE_UNSAFE_CONFIGURE=1 ./configure --quiet CFLAGS=-O1 --disable-nls && make "-j$jobs") >"$out/coreutils.build" 2>&1
    fi
    if [ -d "$place/coreutils" ]; then return; fi
    cp -a "$tree" "$place/coreutils"
    # The makefiles have the directory where it was configured.
    find "$place/coreutils" -name Makefile -exec sed -i "s|${tree%/}|$place/coreutils|g" {} +
}
run_coreutils() {
    (cd "$place/coreutils" && in_net make -k "-j$jobs" check-TESTS VERBOSE=yes \
        TESTS="$(echo tests/{chgrp,chmod,chown,cp,dd,du,install,ln,ls,mkdir,mv,readlink,rm,rmdir,tail-2,touch}/*.sh)")
}
results_coreutils() { sed -n -e 's/^\(PASS\|SKIP\|FAIL\|ERROR\): \([^ ]*\.sh\)$/\2 \1/p' | sed 's/ PASS/ ok/'; }

# Gnulib's tests of functions that take a path or a descriptor of a file, as coreutils carries them.
fetch_gnulib() {
    fetch_coreutils
    gnulib="areadlink areadlink-with-size areadlinkat canonicalize chown cloexec dirent-safer dup2 faccessat fadvise fchdir fchmodat
        fchownat fcntl fdopendir fdutimensat file-has-acl.sh fopen freopen fstat fstatat ftruncate.sh futimens getcwd getcwd-lgpl lchmod lchown link linkat lock lstat
        mkdir mkdirat mkfifo mkfifoat mknod open openat openat-safer read-file readlink readlinkat remove rename renameat renameatu rmdir
        stat stat-time symlink symlinkat unlink unlinkat utime utimens utimensat"
    gnulib=$(for name in $gnulib; do echo "test-$name"; done | tr '\n' ' ')
    # shellcheck disable=SC2086 # names of programs
    make -C "$place/coreutils/gnulib-tests" -k "-j$jobs" ${gnulib//.sh/} >"$out/gnulib.build" 2>&1
}
run_gnulib() { (cd "$place/coreutils/gnulib-tests" && in_net make -k "-j$jobs" check-TESTS VERBOSE=yes TESTS="$gnulib"); }
results_gnulib() { sed -n -e 's/^\(PASS\|SKIP\|FAIL\|ERROR\): \(test-[^ ]*\)$/\2 \1/p' | sed 's/ PASS/ ok/'; }

fetch_sqlite() {
    local tree
    tree=$(scripts/suite-source.sh "sqlite3=$(dpkg-query -W -f '${Version}' sqlite3)" "$release")
    if ! [ -e "$tree/testfixture" ]; then
        (cd "$tree" && ./configure --quiet CFLAGS=-O1 --with-tcl="$(pkg-config --variable=libdir tcl)/tcl$(pkg-config --modversion tcl | cut -d. -f1,2)" \
            && make testfixture) >"$out/sqlite.build" 2>&1
    fi
    mkdir "$place/sqlite"
    cp -a "$tree/testfixture" "$tree/test" "$place/sqlite/"
}
run_sqlite() {
    local name
    for name in attach attach2 attach3 avtrans backup chunksize delete_db exclusive exclusive2 incrvacuum io journal1 journal2 journal3 jrnlmode jrnlmode2 jrnlmode3 \
        lock lock2 lock3 lock4 lock5 lock6 lock7 mmap1 mmap2 multiplex nolock pager1 pager2 pager3 rollback savepoint shared shared2 symlink symlink2 sync tempdb \
        temptable unixexcl uri vacuum vacuum2 wal wal2 walmode walro walpersist walshared zeroblob; do
        (cd "$place/sqlite" && in_net timeout -k 5 300 ./testfixture "test/$name.test") || true
    done
}
# The numbers in some names are random.
results_sqlite() { sed -n -e 's/^\(avtrans-9[^-]*\)-[0-9]*/\1/' -e 's/^\([^ ]*\)\.\.\. Ok$/\1 ok/p' -e 's/^! \([^ ]*\) expected.*/\1 failed/p'; }

# The version in Rust, of its makers. Most of it needs root, who becomes other users in it.
fetch_pjdfstest() {
    local root=$out/pjdfstest
    if ! [ -x "$root/bin/pjdfstest" ]; then
        cargo install --quiet --locked --root "$root" --target-dir "$root/target" pjdfstest --version 0.2.2 >"$out/pjdfstest.build" 2>&1
    fi
    mkdir "$place/pjdfstest"
    cp "$root/bin/pjdfstest" "$place/pjdfstest/"
    cat >"$place/pjdfstest/features.toml" <<'TOML'
[features]
posix_fallocate = {}
utime_now = {}
utimensat = {}
[settings]
naptime = 0.01
allow_remount = false
[dummy_auth]
entries = [["nobody", "nogroup"], ["games", "games"]]
TOML
}
run_pjdfstest() {
    local user=("${as[@]}") as=("${here[@]}" "XDG_STATE_HOME=$place/state/root")
    if [ "$(id -u)" -eq 0 ]; then run_pjdfstest_as root; fi
    as=("${user[@]}")
    run_pjdfstest_as user
}
run_pjdfstest_as() {
    in_net env -C "$place/pjdfstest" ./pjdfstest -c features.toml -p "$place/pjdfstest" 2>"$out/pjdfstest.errors" | sed "s/^[a-z_0-9:]*  */$1::&/" || true
}
results_pjdfstest() { sed -n 's/^\([a-z_]*::[a-z_0-9:]*\)  *\(ok\|FAILED\|skipped\).*/\1 \2/p'; }

# Names, types, sizes, modes, owners and times of all that the tests have on the host, but for the layers.
look() { find "$place" -path "$place/state" -prune -o -printf '%P %y %s %m %U %G %T@ %C@\n' | sort; }

status=0
printf '%-12s %8s %10s %10s %10s\n' "in the net" ran "ok native" "ok net" differing
for suite in "$@"; do
    "fetch_$suite"
    give
    for mode in net native; do
        look >"$out/$suite.before"
        start=$SECONDS
        "run_$suite" >"$out/$suite.$mode.log" 2>&1 </dev/null || true
        "results_$suite" <"$out/$suite.$mode.log" | sort >"$out/$suite.$mode"
        echo "$mode: $((SECONDS - start)) s" >>"$out/$suite.times"
        if [ "$mode" = net ] && ! look | cmp -s - "$out/$suite.before"; then
            look | diff "$out/$suite.before" - | head -n 20 | sed "s/^/$suite, changed on the host: /"
            status=1
        fi
    done
    passed() { grep -c ' ok$' "$out/$suite.$1" || true; }
    comm -3 "$out/$suite.native" "$out/$suite.net" | sed 's/^\t//' | awk '{ print $1 }' | sort -u >"$out/$suite.differing"
    printf '%-12s %8d %10d %10d %10d\n' "$suite" "$(wc -l <"$out/$suite.native")" "$(passed native)" "$(passed net)" "$(wc -l <"$out/$suite.differing")"
    if [ "$(passed native)" -eq 0 ]; then status=1; fi
    while read -r name; do
        if reason=$(grep -F "$suite $name: " "$known"); then
            echo "  differs: $name: ${reason#*: }"
        else
            echo "  DIFFERS: $name: natively $(awk -v n="$name" '$1 == n { print $2 }' "$out/$suite.native" | head -n 1), in the net $(awk -v n="$name" '$1 == n { print $2 }' "$out/$suite.net" | head -n 1)"
            status=1
        fi
    done <"$out/$suite.differing"
done
exit $status
