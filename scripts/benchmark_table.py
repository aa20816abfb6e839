#!/usr/bin/env python3
"""Writes the table of results in docs/benchmarks.md from docs/benchmarks/*.json.

    scripts/benchmark_table.py                                            write the table
    scripts/benchmark_table.py --check                                    exit with 1 if the page has another one
    scripts/benchmark_table.py --add out/bench/burst.json --machine A     take the figures of a run first

A file holds the figures of one run: `benchmark`; `variant`, an option of the run, or null; `machine`, a letter that the
page explains, "any" where equal seeds give equal figures, or null; `commit`; and `figures`, null where one was not
measured. Where several files have a figure, the table has their values in the order of the files' names. `bars.json`
names the figures that the table shows, in its order, and the bar of each, "" where it has none; a variant may have
figures and bars of its own, such as "throughput --text". Each value is held against "≥ x" and "≤ x". A quick run is
shown where there is no full one of its variant.
"""

import argparse
import json
import math
import re
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs/benchmarks.md"
RUNS = ROOT / "docs/benchmarks"
QUICK = "--quick"
HEAD = "| benchmark (run) | figure | value | bar |\n|---|---|---|---|\n"
TABLE = re.compile(re.escape(HEAD) + r"(?:\|.*\n)*")


def runs_of(folder: Path) -> list[dict[str, Any]]:
    """Read all runs, in the order of their files' names."""
    return [json.loads(file.read_text("utf-8")) for file in sorted(folder.glob("*.json")) if file.name != "bars.json"]


def value_text(value: float | None) -> str:
    """Write a value as people read it.

    >>> [value_text(value) for value in (None, 2, 0.7730, 1.0, 19.7e6, 39e3)]
    ['not measured', '2', '0.773', '1', '19.7 M', '39,000']
    """
    if value is None:
        return "not measured"
    if abs(value) >= 1e6:
        return f"{value / 1e6:.4g} M"
    return f"{value:,.4f}".rstrip("0").rstrip(".")


def bar_text(bar: str, values: list[float | None]) -> str:
    """Write a bar, and how many values miss it.

    >>> bar_text("≥ 0.95", [0.773]), bar_text("≤ 1", [1, 2, 3]), bar_text("≤ 1", [1, None]), bar_text("", [3])
    ('≥ 0.95: **not met**', '≤ 1: **not met** by 2 of 3', '≤ 1', '')
    """
    limit = re.fullmatch(r"([≥≤]) ([\d.]+)", bar)
    if limit is None:
        return bar
    least, most = (float(limit[2]), math.inf) if limit[1] == "≥" else (-math.inf, float(limit[2]))
    misses = sum(value is not None and not least <= value <= most for value in values)
    many = f" by {misses} of {len(values)}" if len(values) > 1 else ""
    return f"{bar}: **not met**{many}" if misses else bar


def table(runs: list[dict[str, Any]], bars: dict[str, dict[str, str]]) -> str:
    """Write the table: a row per benchmark, variant and figure that is to be shown."""
    lines = [HEAD]
    for key, shown in bars.items():
        benchmark = key.split(" ")[0]
        options = {run["variant"] or "" for run in runs if key_of(run, bars) == key}
        for option in sorted(option for option in options if QUICK not in option or full(option) not in options):
            variant = option or None
            runs_of_variant = [run for run in runs if (run["benchmark"], run["variant"]) == (benchmark, variant)]
            name = benchmark if variant is None else f"{benchmark} `{variant}`"
            above = ""
            for figure, bar in shown.items():
                if measured := [run for run in runs_of_variant if figure in run["figures"]]:
                    label = f"{name} ({places_text(measured)})"
                    values = [run["figures"][figure] for run in measured]
                    texts = ("" if label == above else label, f"`{figure}`", "; ".join(map(value_text, values)))
                    lines.append(f"| {' | '.join([*texts, bar_text(bar, values)])} |\n")
                    above = label
    return "".join(lines)


def full(variant: str) -> str:
    """Return the variant of the full run.

    >>> full("--quick --text"), full("--quick"), full("--cluster")
    ('--text', '', '--cluster')
    """
    return variant.replace(QUICK, "").strip()


def key_of(run: dict[str, Any], bars: dict[str, dict[str, str]]) -> str:
    """Return under which name a run's figures and bars are: that of its variant, else of its benchmark.

    >>> bars = {"throughput": {}, "throughput --text": {}}
    >>> key_of({"benchmark": "throughput", "variant": "--quick --text"}, bars)
    'throughput --text'
    >>> key_of({"benchmark": "throughput", "variant": "--quick"}, bars)
    'throughput'
    """
    name = f"{run['benchmark']} {full(run['variant'] or '')}".strip()
    return name if name in bars else str(run["benchmark"])


def places_text(runs: list[dict[str, Any]]) -> str:
    """Write on which machines and of which commits runs were."""
    return "; ".join(dict.fromkeys(f"{run['machine'] or 'unknown'} {run['commit'] or '–'}" for run in runs))


def add(file: Path, machine: str, folder: Path) -> None:
    """Take the figures of what `streamshed bench --json` wrote, in the place of those of earlier runs."""
    report = json.loads(file.read_text("utf-8"))
    options = [option for option in ("quick", "text", "cluster") if report[option]]
    variant = " ".join(f"--{option}" for option in options) or None
    for earlier in folder.glob("*.json"):
        run = json.loads(earlier.read_text("utf-8"))
        if run.get("benchmark") == report["benchmark"] and run["variant"] == variant:
            run["figures"] = {name: run["figures"][name] for name in run["figures"] if name not in report["figures"]}
            earlier.write_text(_json(run), "utf-8") if run["figures"] else earlier.unlink()
    head, plus, changes = (report["commit"] or "").partition("+")
    run = {"benchmark": report["benchmark"], "variant": variant, "machine": machine}
    run |= {"commit": head[:7] + plus + changes or None, "figures": report["figures"]}
    (folder / f"{'-'.join([report['benchmark'], *options])}.json").write_text(_json(run), "utf-8")


def _json(value: object) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def main() -> int:
    """Run the script."""
    parser = argparse.ArgumentParser(description="Write the table of results in docs/benchmarks.md.")
    parser.add_argument("--add", type=Path, help="what `streamshed bench --json` wrote")
    parser.add_argument("--machine", help="on which machine of the page it ran")
    parser.add_argument("--check", action="store_true", help="write nothing, exit with 1 if the page has another table")
    parser.add_argument("--page", type=Path, default=PAGE)
    parser.add_argument("--runs", type=Path, default=RUNS)
    options = parser.parse_args()
    if options.add:
        if not options.machine:
            parser.error("--add wants --machine")
        add(options.add, options.machine, options.runs)
    bars = json.loads((options.runs / "bars.json").read_text("utf-8"))
    before = options.page.read_text("utf-8")
    written = table(runs_of(options.runs), bars)
    after, places = TABLE.subn(lambda _: written, before)
    if places != 1:
        parser.error(f"{options.page} has {places} tables of results, not 1")
    if not options.check:
        options.page.write_text(after, "utf-8")
    return int(options.check and after != before)


if __name__ == "__main__":
    sys.exit(main())
