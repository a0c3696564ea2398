#!/usr/bin/env bash
# Compiles everything that is shipped for AArch64, and runs under QEMU's user emulation the tests that it can run. Those that it
# can't are listed with the reason at the end. Programs that tests start run too: a user namespace has a binfmt_misc of its own
# (Linux 6.7), and nothing of this machine's is changed.
set -euo pipefail
cd "$(dirname "$0")/.."

triple=aarch64-unknown-linux-gnu
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc
export CC_aarch64_unknown_linux_gnu=aarch64-linux-gnu-gcc QEMU_LD_PREFIX=/usr/aarch64-linux-gnu

built=$(realpath -m "${CARGO_TARGET_DIR:-target}")/$triple
tests=$built/tests
fail() { echo "aarch64: $*" >&2; exit 1; }
tested=(-p slipway-fabric -p slipway-transport -p slipway-ports -p slipway-libmach -p slipway-mach -p slipway-mig -p slipway-preload
    -p slipway-domain -p slipway-libmach-darwin)
case ${1:-} in
    "")
        scripts/setup.sh aarch64
        # Else setup.sh has unpacked Debian's compiler.
        test -d "$(rustc --print sysroot)/lib/rustlib/$triple" || export RUSTC=${built%/*}/debian-rust/rustc
        echo "== what is shipped"
        cargo build --target $triple --locked "${tested[@]}" -p slipway-bootstrap -p slipway -p slipway-unix-task --lib --bins
        echo "== the tests"
        cargo test --no-run --target $triple --locked "${tested[@]}" --message-format json-render-diagnostics |
            /usr/bin/python3 -c '
import json, os, sys
for line in sys.stdin:
    made = json.loads(line)
    if made.get("executable") and made["profile"]["test"]:
        print(os.path.dirname(made["manifest_path"]), made["target"]["kind"][0], made["executable"])' >"$tests"
        if ! grep -qs '^enabled' /proc/sys/fs/binfmt_misc/qemu-aarch64; then
            apart=(unshare --user --map-root-user --mount --pid --fork --kill-child --mount-proc)
            "${apart[@]}" true || fail "a user namespace with mounts of its own is not allowed here, and programs for AArch64 are not registered in \
this system: allow the one, or install qemu-user-static with binfmt-support"
            exec "${apart[@]}" "$0" register
        fi
        exec "$0" run
        ;;
    register)
        mount -t binfmt_misc binfmt_misc /proc/sys/fs/binfmt_misc 2>/dev/null ||
            fail "programs for AArch64 can't be registered here: that needs Linux 6.7, or the package binfmt-support"
        # An ELF file of 64 bits, little-endian, executable or shared, for this processor; F opens QEMU now, for every root.
        magic='\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00'
        mask='\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff'
        printf '%s' ":qemu-aarch64:M::$magic:$mask:$(command -v qemu-aarch64-static):FPC" >/proc/sys/fs/binfmt_misc/register
        # Tests of what root alone can do would find that it can do less here.
        exec unshare --user --map-user=1000 --map-group=1000 "$0" run
        ;;
    run) ;;
    *) echo "usage: $0" >&2; exit 1 ;;
esac

# The tests compile C by these names.
own=$built/compilers
mkdir -p "$own"
ln -sf "$(command -v aarch64-linux-gnu-gcc)" "$own/cc"
ln -sf "$(command -v aarch64-linux-gnu-g++)" "$own/c++"
export PATH="$own:$PATH" SLIPWAY_TESTS_BUILT=$built/debug PROPTEST_DISABLE_FAILURE_PERSISTENCE=1

not_run=()
# skip REASON TEST...: of the tests that `run` is about to run. A test's name may be a part of it.
skip() {
    local reason=$1 name
    shift
    for name in "$@"; do
        skipped+=(--skip "$name")
        not_run+=("$(printf '%-55s %s' "$name" "$reason")")
    done
}
skipped=()
again=()
total=0
threads=2
# once DIR PROGRAM [NAME...]: one run of a test program.
once() {
    local dir=$1 program=$2
    shift 2
    (cd "$dir" && timeout 300 "$program" --quiet --test-threads "$threads" "${skipped[@]}" "$@" </dev/null) | tee "$built/said"
}
# run CRATE KIND [NAME...]: the tests of the crate's libraries ("*lib"), its test programs ("test") or all ("*"), by parts of their
# names. Not by cargo, which would build anew for one package, and for this machine with the compilers above.
run() {
    local crate=$1 wanted=$2 dir kind program name passed=$total
    shift 2
    : >"$built/listed"
    while read -r dir kind program; do
        # shellcheck disable=SC2053 # a pattern
        if [ "${dir##*/}" = "$crate" ] && [[ $kind == $wanted ]]; then
            echo "== $crate: $(basename "$program" | sed 's/-[0-9a-f]*$//')"
            "$program" --list </dev/null >>"$built/listed"
            if ! once "$dir" "$program" "$@"; then
                # A process that is forked may wait for ever for a lock of QEMU's that another thread had, and a thread may sleep in QEMU
                # itself, where a test takes it to wait in the program. What fails twice fails; on x86-64 the same tests have one run.
                again+=("$crate: ${program##*/}")
                once "$dir" "$program" "$@"
            fi
            total=$((total + $(awk '/^test result: ok/ { n += $4 } END { print n + 0 }' "$built/said")))
        fi
    done <"$tests"
    [ "$total" -gt "$passed" ] || fail "$crate has no test that was run"
    for name in "$@" "${skipped[@]}"; do
        if [ "$name" != --skip ]; then grep -qF -- "$name" "$built/listed" || fail "$crate has no test $name"; fi
    done
    skipped=()
}

robust="QEMU has no robust mutexes (set_robust_list)"
cookie="QEMU does not tell sockets apart (SO_COOKIE)"
iov="QEMU sends and receives no message without bytes as Linux does"
memory="QEMU does not say that memory is missing (MADV_POPULATE_WRITE)"
copies="QEMU has no process_vm_readv"
prefix="QEMU finds no loader for a program with an empty environment"
numbers="QEMU has other numbers for some signals (F_SETSIG)"
timeouts="QEMU has time-outs of sockets of another size (SO_RCVTIMEO)"
processes="the kernel does not limit the processes of root, who these tests' user is outside"
underway="the kernel counts descriptors under way for all of a user at once, and tests beside it have few; root has no limit"
interrupted="the program waits for ever under QEMU, without hooks as well: for signals and cancellation"
faults="a thread that gets many signals ends with SIGSEGV in some runs under QEMU, and in none of 150 on x86-64; why is not known"
flags="QEMU takes no notice of flags that accept4 does not know"
filters="QEMU filters no system calls (PR_SET_SECCOMP)"
waits="/proc says this machine's numbers of the calls that a thread waits in"

skip "$robust" a_holder_that_is_killed_is_succeeded who_mends_and_is_killed_leaves_it_to_the_next
skip "$iov" the_end_is_no_packet_and_an_empty_packet_is_one
skip "$memory" a_ring_without_memory memory_that_is_not_to_be_had_is_a_shortage
run fabric "*"
skip "$robust" stream::lock::
skip "$cookie" ports::end::
run transport "*lib"
skip "$cookie" sockets_are_told_apart a_receive_right_that_cannot_be_listened_to_arrives_dead a_process_that_leaves_takes_nothing_back a_port_that_anything_else_knows_is_ended_in_order a_port_that_died_is_polled_no_more a_receive_right_that_was_moved_is_polled_anew
run ports "*lib"
skip "$cookie" between_processes
run ports test within_a_task what_was_taken changes_wake every_waiter_hears a_waiting_thread_gets receivers_that_give_up any_sequence_follows
skip "$cookie" a_right_is_found_as_often_as_it_is_looked_for an_event_loop_waits_on_the_descriptor
skip "$copies" an_item_has_as_many_bytes_as_it_says
run mach "*"
run mig "*lib"
run libmach test everything_declared each_by_itself macros_and_initialisers values threads_mutexes_and_conditions linked_statically traps \
    notifications_are_those
skip "$prefix" a_program_without_hooks_carries_on a_program_without_hooks_gets a_spawned_program_carries_on more_than_a_sockets_buffer_goes_back
skip "$iov" a_connection_is_as_a_socketpair so_it_is_with_a_bell_for_every_write so_it_is_without_spinning so_it_is_when_the_ring_comes_late
skip "$numbers" numbers_that_are_no_descriptors
skip "$waits" waking:: epoll_sets_of_both_ends a_socket_that_a_child_gets
skip "$timeouts" a_client_that_would_offer_late_can_be_bound a_socket_that_was_refused_can_be_bound a_socket_that_was_told_to_try_again_can_be_bound a_time_that_is_over
skip "$faults" a_signal_interrupts_a_blocking_read a_blocking_read_goes_on_after
skip "$flags" an_accept_with_unknown_flags
skip "$filters" filters::
skip "$processes" a_fork_that_fails
skip "$interrupted" interrupts::
skip "$underway" a_sender_of_many_descriptors
# Each of them starts a process: fewer threads have locks of QEMU's then.
threads=1
run preload test
threads=2
run domain "*"

for entry in "ports: lines and all that needs them@$cookie" "tests that are marked as long@QEMU makes them longer" "libmach: conformance, edges@$memory; $copies" \
    "bootstrap, slipway: their programs@$cookie: the name server knows its clients by that" \
    "transport: hostile@$robust" "mig: what compares its output@the same on every processor" \
    "the order of memory accesses@QEMU keeps to this machine's, which is stricter; loom checks it"; do
    not_run+=("$(printf '%-55s %s' "${entry%%@*}" "${entry#*@}")")
done
echo
[ ${#again[@]} -eq 0 ] || printf 'aarch64: %s had a second run\n' "${again[@]}"
echo "aarch64: $total tests passed. Not run:"
printf '  %s\n' "${not_run[@]}"
