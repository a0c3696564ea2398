#!/usr/bin/env bash
# readme-table.sh FILE.json: puts the measurements of `slipway bench x11 --json FILE.json` into README.md,
# between the lines <!-- bench:begin --> and <!-- bench:end -->.
set -euo pipefail

if [ $# -ne 1 ]; then
    echo "usage: scripts/readme-table.sh FILE.json   (written by: slipway bench x11 --json FILE.json)" >&2
    exit 2
fi
json=$(realpath -- "$1")
cd "$(dirname "$0")/.."
python3 - "$json" README.md <<'PYTHON'
import json, math, sys

SHOWN = (
    "pointer", "prop", "getimage10", "getimage500", "putimage10", "putimage100", "putimage500",
    "noop", "dot", "line1", "rect1", "gc", "move", "ftext",
)
BEGIN, END = "<!-- bench:begin -->", "<!-- bench:end -->"


def refuse(why):
    sys.exit(f"readme-table: {why}")


def figure(value):
    """Three significant digits, thousands as k and millions as M."""
    for size, mark in ((1e6, " M"), (1e3, " k")):
        if value >= 0.9995 * size:
            return plain(value / size) + mark
    return plain(value)


def plain(value):
    if value == 0:
        return "0"
    digits = max(0, 2 - math.floor(math.log10(abs(value))))
    return f"{value:.{min(digits, 3)}f}"


def cpu(value):
    return "" if value is None else plain(value)


def table(head, align, rows):
    return ["| " + " | ".join(cells) + " |" for cells in (head, align, *rows)]


source, readme = sys.argv[1:]
try:
    result = json.load(open(source))
    # Rows of other stages than the full one are experiments.
    rows = [row for row in result["rows"] if row.get("stage") in (None, "full")]
except (OSError, ValueError, KeyError, TypeError) as error:
    refuse(f"{source} is not a result of `slipway bench x11 --json`: {error!r}")
if not rows:
    refuse(f"{source} has no rows")

units = sorted({row["unit"] for row in rows})
lines = [BEGIN]
if "machine" in result:
    machine, settings = result["machine"], result["settings"]
    lines += [
        f"{machine['cpu']}, {machine['cores']} cores, Linux {machine['kernel']}; {result['date'][:10]}; "
        f"medians of {settings['repeat']} interleaved repetitions; rates in {', '.join(units)}.",
        "",
    ]
first = rows[0]["placement"]
main = [row for row in rows if row["placement"] == first]


def measured(rows, *more):
    """A table of rows, with the columns `more` behind the name."""
    return table(
        ("x11perf", *more, "socket", "shared memory", "ratio", "CPU µs/op, socket", "CPU µs/op, shared memory"),
        ("---", *("---" for _ in more), *("--:" for _ in range(5))),
        [
            (row["test"], *(row[name] for name in more), figure(row["socket"]), figure(row["ours"]), plain(row["ratio"]),
             cpu(row["cpu_us_socket"]), cpu(row["cpu_us_ours"]))
            for row in rows
        ],
    )


# What a reader sees at once: these, or all where none of them was measured.
lines += measured([row for row in main if row["test"] in SHOWN] or main)
ratios = [row["ratio"] for row in main if row["ratio"] > 0]
mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
lines += ["", f"Geometric mean of all {len(ratios)} ratios at `{first}`: {mean:.2f}."]
targets = [target for target in result.get("targets", ()) if target["reached"] is not None]
missed = [t for t in targets if t["verdict"] != "met"]
if targets:
    lines.append(f"Of {len(targets)} targets, {len(targets) - len(missed)} are met." + (" Not reached:" if missed else ""))
    if missed:
        lines.append("")
    lines += [f"- {t['what']}: wanted {t['wanted']}, reached {plain(t['reached'])} ({t['detail']})." for t in missed]
lines += ["", "<details><summary>All that was measured, and the targets</summary>", "", *measured(rows, "placement")]
if targets:
    lines += ["", *table(
        ("target", "wanted", "reached", "verdict", "of"),
        ("---", "--:", "--:", "---", "---"),
        [(t["what"], t["wanted"], plain(t["reached"]), t["verdict"], t["detail"]) for t in targets],
    )]
lines += ["", "</details>"]
lines.append(END)

text = open(readme).read()
if text.count(BEGIN) != 1 or text.count(END) != 1:
    refuse(f"{readme} needs one line {BEGIN} and one line {END}")
head, rest = text.split(BEGIN)
open(readme, "w").write(head + "\n".join(lines) + rest.split(END)[1])
print(f"{readme}: {len(rows)} rows, geometric mean {mean:.2f}")
PYTHON
