#!/usr/bin/env python3
"""Puts what `slipway bench NAME --json FILE` measured into docs/measurements/NAME.md (all of it) and README.md (a few rows).

usage: scripts/readme-tables.py NAME FILE     with NAME one of x11, sockets, ipc, rpc, colocate, channel, unix, unix-server

In docs/measurements/NAME.md the text between <!-- NAME:begin --> and <!-- NAME:end --> is replaced. README.md has one table for
all benches, between <!-- figures:begin --> and <!-- figures:end -->: the rows whose last cell is the bench's are replaced.
"""
import functools
import json
import math
import pathlib
import sys

# What a page's first table has: rows, and columns with their heads.
X11 = ("pointer", "prop", "getimage10", "getimage500", "putimage100", "noop", "dot", "rect1", "gc", "move", "ftext")
SHOWN = {
    "ipc": (
        ("null", "rpc", "rpc-100-owned", "rpc-100-moved", "16-longwords", "256-longwords", "4095-longwords", "1-port", "256-ports", "256-passed-on"),
        {
            "socket/different": "AF_UNIX",
            "ipc-channel/different": "ipc-channel",
            "iceoryx2/different": "iceoryx2, busy",
            "mach/different": "Mach here",
            "socket/one-core": "AF_UNIX, one core",
            "mach-sleep/one-core": "Mach here, one core",
        },
    ),
    "rpc": (
        ("null", "four-ints", "16-longwords", "256-longwords", "4095-longwords", "64-in", "1024-in", "1024-out", "128-inout"),
        {
            "bare/different": "bare message",
            "stubs/different": "call by stubs",
            "bare-sleep/one-core": "bare message, one core",
            "stubs-sleep/one-core": "call by stubs, one core",
        },
    ),
    "colocate": (
        ("null", "64-in", "1k-in", "1k-out", "128-inout"),
        {
            "capnp/different": "Cap'n Proto, AF_UNIX",
            "message/different": "messages, two processes",
            "one-process/different": "messages, one process",
            "trap/one-core": "trap",
            "trap-rust/one-core": "trap, Rust",
            "virtual/one-core": "virtual call",
            "plain/one-core": "C call",
        },
    ),
    "channel": (
        ("64", "4k", "64k", "1m", "stream", "set-1000", "set-1000-each", "sender", "receiver", "memory", "memory-made"),
        {
            "ipc-channel/different": "ipc-channel",
            "slipway/different": "Slipway",
            "ipc-channel/one-core": "ipc-channel, one core",
            "slipway/one-core": "Slipway, one core",
            "slipway-sleep/one-core": "Slipway, one core, no spinning",
        },
    ),
    "unix-server": (
        ("getpid", "nop", "getgid", "setrlimit", "read-4096", "read-64", "write-4096", "write-64", "stat", "create", "signal", "andrew"),
        {
            "message/different": "messages, two processes",
            "message-sleep/one-core": "messages, two processes, one core",
            "one-process/different": "messages, one process",
            "trap/one-core": "trap",
            "host/one-core": "host",
        },
    ),
    "unix": (
        ("stat", "stat-missing", "open", "create", "fstat", "exec", "start", "andrew-mkdir", "andrew-copy", "andrew-stat", "andrew-read", "make",
         "make-nothing", "git-status", "git-checkout", "python", "forks"),
        {
            "host/free": "host",
            "library/free": "slipway unix",
            "net/free": "slipway unix --net-only",
            "proot/free": "proot",
            "fakechroot/free": "fakechroot",
            "overlay/free": "bubblewrap, overlayfs",
        },
    ),
}

# A row of the README's table: what it is, its test, whose ratio or whose two variants it shows (Slipway's and the plain way's,
# with the latter's name), and what stands beside them: variants of peers, and figures that were published.
SUMMARY = {
    "x11": (
        ("X11: round trip, `x11perf -prop`", "prop", "HP, 2000: 0.80 times"),
        ("X11: image of 100x100 sent, `-putimage100`", "putimage100", "HP, SGI, 2000: 1.64, 2.55 times"),
        ("X11: small drawing, `-rect1`", "rect1", "HP, SGI, 2000: 1.30, 1.69 times"),
    ),
    "sockets": (
        ("Redis: GET, 1 client", "redis:1"),
        ("Redis: GET, 50 clients", "redis:50"),
        ("PostgreSQL: `pgbench -S`, 1 client", "postgresql:1"),
        ("memcached: get, 1 client", "memcached:1"),
        ("D-Bus: call to a service", "dbus:1"),
    ),
    "ipc": (
        ("Mach: null message, there and back", "null", "mach/different", "AF_UNIX", "socket/different",
         (("ipc-channel", "ipc-channel/different"), ("iceoryx2, busy", "iceoryx2/different")), "Mach, 1996: 401 µs"),
        ("the same on one core, without spinning", "null", "mach-sleep/one-core", "AF_UNIX", "socket/one-core", (), ""),
        ("Mach: 4,095 longwords each way", "4095-longwords", "mach/different", "AF_UNIX", "socket/different",
         (("ipc-channel", "ipc-channel/different"), ("iceoryx2, busy", "iceoryx2/different")), "Mach, 1996: 4340 µs"),
        ("Mach: 256 rights, there and back", "256-ports", "mach/different", "AF_UNIX", "socket/different",
         (("ipc-channel", "ipc-channel/different"),), "Mach, 1996: 29690 µs"),
    ),
    "rpc": (
        ("mig: null call by stubs", "null", "stubs/different", "bare messages", "bare/different", (), "Mach, 1996: 270 µs"),
        ("mig: 1,024 bytes in", "1024-in", "stubs/different", "bare messages", "bare/different", (), "Mach, 1993: 5,843 cycles"),
    ),
    "colocate": (
        ("Co-location: null call in one process", "null", "trap/one-core", "by messages, two processes", "message/different",
         (("Cap'n Proto", "capnp/different"), ("C call", "plain/one-core")), "Mach, 1993: 656 cycles, 2,312 by message"),
        ("Co-location: 1 KiB out", "1k-out", "trap/one-core", "by messages, two processes", "message/different",
         (("Cap'n Proto", "capnp/different"), ("C call", "plain/one-core")), "Mach, 1993: 2,741 cycles, 8,366 by message"),
    ),
    "channel": (
        ("ipc-channel's interface: 64 bytes, there and back", "64", "slipway/different", "ipc-channel", "ipc-channel/different", (), ""),
        ("the same: 1 MB", "1m", "slipway/different", "ipc-channel", "ipc-channel/different", (), ""),
        ("the same: a set of 1,000 senders", "set-1000", "slipway/different", "ipc-channel", "ipc-channel/different", (), ""),
    ),
    "unix": (
        ("Commands on a view: make, 49 files of C", "make", "library/free", "host", "host/free",
         (("proot", "proot/free"), ("bubblewrap, overlayfs", "overlay/free")), ""),
        ("the same: git status", "git-status", "library/free", "host", "host/free",
         (("proot", "proot/free"), ("bubblewrap, overlayfs", "overlay/free")), ""),
        ("the same: stat", "stat", "library/free", "host", "host/free", (("proot", "proot/free"),), "OSF/1's server, 1993: 273 µs, 181 by traps"),
    ),
    "unix-server": (
        ("Unix server: stat, by trap", "stat", "trap/one-core", "by messages, two processes", "message/different", (("host", "host/one-core"),),
         "OSF/1's server, 1993: 181 µs, 281 by messages"),
        ("the same: 4,096 bytes read", "read-4096", "trap/one-core", "by messages, two processes", "message/different", (("host", "host/one-core"),),
         "OSF/1's server, 1993: 682 µs, 814 by messages"),
    ),
}


def refuse(why):
    sys.exit(f"readme-tables: {why}")


def plain(value):
    """Three significant digits."""
    if value is None:
        return ""
    if value == 0:
        return "0"
    digits = max(0, 2 - math.floor(math.log10(abs(value))))
    return f"{value:.{min(digits, 4)}f}"


def lasting(us):
    """A time; long ones in milliseconds."""
    return f"{plain(us)} µs" if us < 10000 else f"{plain(us / 1000)} ms"


def figure(value):
    """Three significant digits, thousands as k and millions as M."""
    for size, mark in ((1e6, " M"), (1e3, " k")):
        if value >= 0.9995 * size:
            return plain(value / size) + mark
    return plain(value)


def table(head, align, rows):
    return ["| " + " | ".join(cells) + " |" for cells in (head, align, *rows)]


def when(result, what):
    machine, settings = result["machine"], result["settings"]
    return (
        f"{machine['cpu']}, {machine['cores']} cores, Linux {machine['kernel']}; {result['date'][:10]}; "
        f"medians of {settings['repeat']} interleaved repetitions; {what}."
    )


def reached(result):
    """The targets that were measured, and of these the missed ones."""
    targets = [target for target in result.get("targets", ()) if target["reached"] is not None]
    return targets, [target for target in targets if target["verdict"] != "met"]


def missed_ones(result):
    targets, missed = reached(result)
    if not targets:
        return []
    lines = [f"Of {len(targets)} targets, {len(targets) - len(missed)} are met." + (" Not reached:" if missed else "")]
    lines += [""] if missed else []
    return lines + [f"- {t['what']}: wanted {t['wanted']}, reached {plain(t['reached'])} ({t['detail']})." for t in missed]


def all_targets(result):
    targets, _ = reached(result)
    rows = [(t["what"], t["wanted"], plain(t["reached"]), t["verdict"], t["detail"]) for t in targets]
    return table(("target", "wanted", "reached", "verdict", "of"), ("---", "--:", "--:", "---", "---"), rows)


def x11(result):
    # Rows of other stages than the full one are experiments.
    rows = [row for row in result["rows"] if row.get("stage") in (None, "full")]
    first = rows[0]["placement"]
    main = [row for row in rows if row["placement"] == first]

    def measured(rows, *more):
        return table(
            ("x11perf", *more, "socket", "shared memory", "ratio", "CPU µs/op, socket", "CPU µs/op, shared memory"),
            ("---", *("---" for _ in more), *("--:" for _ in range(5))),
            [
                (row["test"], *(row[name] for name in more), figure(row["socket"]), figure(row["ours"]), plain(row["ratio"]),
                 plain(row["cpu_us_socket"]), plain(row["cpu_us_ours"]))
                for row in rows
            ],
        )

    ratios = [row["ratio"] for row in main if row["ratio"] > 0]
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    line = when(result, f"rates in {', '.join(sorted({row['unit'] for row in rows}))}")
    geometric = f"Geometric mean of all {len(ratios)} ratios at `{first}`: {mean:.2f}."
    short = [line, "", *measured([row for row in main if row["test"] in X11] or main)]
    return short, [line, "", *measured(rows, "placement"), "", geometric, *missed_ones(result), "", *all_targets(result)]


def sockets(result):
    places = list(dict.fromkeys(row["placement"] for row in result["rows"]))
    columns = {"AF_UNIX": "socket", "TCP": "tcp", "shared memory": "ours"}
    ratios = {(row["test"], row["placement"]): plain(row["ratio"]) for row in result["rows"]}
    short = table(
        ("times AF_UNIX", *places),
        ("---", *("--:" for _ in places)),
        [(test, *(ratios.get((test, place), "") for place in places)) for test in dict.fromkeys(row["test"] for row in result["rows"])],
    )
    every = table(
        ("test", "placement", *columns, "ratio", "lowest, highest", *(f"CPU µs/op, {head}" for head in columns), ""),
        ("---", "---", *("--:" for _ in range(8)), "---"),
        [
            (row["test"], row["placement"], *(figure(row[key]) for key in columns.values()), plain(row["ratio"]),
             ", ".join(map(plain, row["ratio_range"])), *(plain(row[f"cpu_us_{key}"]) for key in columns.values()),
             "stayed on the socket" if row["on_ring"] is False else "")
            for row in result["rows"]
        ],
    )
    line = when(result, f"operations/s. {', '.join(result['settings']['programs'])}")
    missing = [f"Not measured: {m['test']} ({m['variant']}): {m['reason']}" for m in result["skipped"] + result["failed"]]
    return [line, "", *short, "", *missed_ones(result), *missing], [line, "", *every, "", *all_targets(result)]


def trips(name, result):
    tests, columns = SHOWN[name]
    times = {(row["test"], row["variant"]): row for row in result["rows"] if row["unit"] == "us"}
    line = when(result, "microseconds")
    columns = {key: head for key, head in columns.items() if any((test, key) in times for test in tests)}
    rows = [
        (test, *(plain(times.get((test, key), {}).get("value")) for key in columns))
        for test in tests
        if any((test, key) in times for key in columns)
    ]
    short = [line, "", *table(("", *columns.values()), ("---", *("--:" for _ in columns)), rows), ""]
    short += missed_ones(result)
    every = [(row["test"], row["variant"], row["unit"], plain(row["value"]), plain(row["p50"]), plain(row["p99"])) for row in result["rows"]]
    full = [line, "", *table(("test", "variant", "unit", "value", "p50", "p99"), ("---", "---", "---", "--:", "--:", "--:"), every)]
    return short, [*full, "", *all_targets(result)]


def put(path, name, lines):
    begin, end = f"<!-- {name}:begin -->", f"<!-- {name}:end -->"
    text = path.read_text()
    if text.count(begin) != 1 or text.count(end) != 1:
        refuse(f"{path} needs one line {begin} and one line {end}")
    head, rest = text.split(begin)
    # The lines may depend on those that are there.
    lines = lines(rest.split(end)[0].strip().splitlines()) if callable(lines) else lines
    path.write_text("\n".join([head + begin, *lines, end]) + rest.split(end)[1])


def summary(name, result):
    """The bench's rows of the README's table."""
    command = f"[`slipway bench {name}`](docs/measurements/{name}.md)"
    rows = []
    if name in ("x11", "sockets"):
        main = [row for row in result["rows"] if row.get("stage") in (None, "full") and row["placement"] == result["rows"][0]["placement"]]
        found = {row["test"]: row for row in main}
        for what, test, *beside in SUMMARY[name]:
            if row := found.get(test):
                published = beside[0] if beside else f"TCP: {figure(row['tcp'])}/s"
                ours = f"{figure(row['ours'])}/s, {plain(row['ratio'])} times"
                rows.append((what, ours, f"socket: {figure(row['socket'])}/s", published, command))
    else:
        times = {(row["test"], row["variant"]): lasting(row["value"]) for row in result["rows"] if row["unit"] == "us"}
        for what, test, ours, plainly, other, peers, published in SUMMARY[name]:
            beside = [f"{head}: {times[test, peer]}" for head, peer in peers if (test, peer) in times]
            if (test, ours) in times:
                way = f"{plainly}: {times[test, other]}" if (test, other) in times else ""
                rows.append((what, times[test, ours], way, "; ".join([*beside, published] if published else beside), command))
    targets, missed = reached(result)
    if targets:
        rows.append((f"targets of `bench {name}`", f"{len(targets) - len(missed)} of {len(targets)} met", "", "", command))
    return rows, command


def instead(rows, command):
    """The README's table with the bench's rows where they were, else at the end."""
    def lines(old):
        own = [number for number, line in enumerate(old) if line.endswith(f"| {command} |")]
        place = own[0] if own else len(old)
        kept = [line for line in old if not line.endswith(f"| {command} |")]
        return [*kept[:place], *("| " + " | ".join(row) + " |" for row in rows), *kept[place:]]

    return lines


def main():
    if len(sys.argv) != 3 or sys.argv[1] not in ("x11", "sockets", *SHOWN):
        sys.exit(__doc__)
    name, source = sys.argv[1:]
    try:
        result = json.loads(pathlib.Path(source).read_text())
        short, full = {"x11": x11, "sockets": sockets}.get(name, functools.partial(trips, name))(result)
    except (OSError, ValueError, KeyError, TypeError, IndexError) as error:
        refuse(f"{source} is not a result of `slipway bench {name} --json`: {error!r}")
    root = pathlib.Path(__file__).resolve().parent.parent
    # The second begins as the first does: machine and day.
    put(root / "docs" / "measurements" / f"{name}.md", name, [*short, "", "Every row:", *full[1:]])
    put(root / "README.md", "figures", instead(*summary(name, result)))


if __name__ == "__main__":
    main()
