"""Two applications on one machine: one picks alerts out of events, the other judges them, which takes it long.

Of a thousand events a second 500 are alerts; the second can judge hardly two hundred. It says how many it can use in
a file (`publish_needs`), and the first, which reads that file (`feeds`), delivers no more than those: what the second
would have to drop is not written and read for nothing. Each alert that is delivered says how many it stands for, so
that counts come out right all the same: in ten seconds there are 5,000 alerts, of which 2,000 are severe. When the
second application stops telling, the first delivers everything again, and its journal says why.

What a judgment takes the second knows when it starts (`prior`). If it had to find out, the alerts that come until both
run would keep it busy for minutes.

    python examples/two_applications.py judge FOLDER &     # starts first: it makes the folder
    python examples/two_applications.py pick FOLDER

Both run until Ctrl-C, or for the number of seconds given as a third argument. The first windows are told when alerts of
later ones have been judged, a minute or two after the start.
"""

from __future__ import annotations

import argparse
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd

import streamshed as ss
from streamshed.spark import each_micro_batch, local_session

EVENTS_PER_SECOND = 1_000
SECONDS_PER_JUDGMENT = 0.004
TRIGGER = "15 seconds"

JUDGMENTS = ss.LoadPrior(fixed_seconds=1.0, seconds_per_row=SECONDS_PER_JUDGMENT, read_share=0.01)


def judged(severities: pd.Series) -> pd.Series:
    """Judge each alert, which takes as long as asking somebody else."""
    time.sleep(SECONDS_PER_JUDGMENT * len(severities))
    return severities >= 3


def picking() -> ss.QueryNetwork:
    """Every second event is an alert."""
    events = ss.stream("events", ss.rate(EVENTS_PER_SECOND), time="timestamp")
    alerts = events.filter("value % 2 = 0").map(severity="cast(value % 5 as int)")
    return ss.network(
        alerts.query("alerts"),
        events.window("10 seconds").agg(n="count(*)").query("events"),
    )


def judging(folder: Path) -> ss.QueryNetwork:
    """How many of the alerts are severe, each counted as often as it stands for others."""
    source = ss.folder(
        folder / "alerts",
        "parquet",
        schema="value bigint, timestamp timestamp, severity int, stands_for double",
    )
    alerts = ss.stream("alerts", source, time="timestamp", watermark="5 seconds", identity=["value"])
    severe = alerts.apply(judged, columns=["severity"], into="is_severe", returns="boolean").filter("is_severe")
    return ss.network(
        severe.window("10 seconds").agg(n="sum(stands_for)").query("severe"),
        alerts.window("10 seconds").agg(n="sum(stands_for)", delivered="count(*)").query("alerts"),
    )


def delivered_to(folder: Path) -> Callable[..., None]:
    """Return what lets the alerts of a micro-batch appear in a folder at once."""

    def deliver(answers: Any, micro_batch_id: int) -> None:
        rows = answers.where("kind = 'row' AND query = 'alerts'").selectExpr(
            "from_json(value_text, 'value bigint, timestamp timestamp, severity int') AS alert",
            "rows_estimated AS stands_for",
        )
        alerts = rows.select("alert.*", "stands_for").toPandas()
        if len(alerts):
            draft = folder / f".{micro_batch_id:08d}.parquet"
            alerts.to_parquet(draft, coerce_timestamps="us")
            draft.replace(folder / f"{micro_batch_id:08d}.parquet")

    return deliver


def printed(answers: Any, _micro_batch_id: int) -> None:
    """Print what a micro-batch tells of windows, a line for each."""
    columns = ["date_format(window_start, 'HH:mm:ss') AS start", "concat_ws('.', query, aggregate) AS name", "value"]
    windows: dict[str, dict[str, float]] = {}
    for row in answers.where("kind = 'answer'").selectExpr(*columns).collect():
        windows.setdefault(row.start, {})[row.name] = row.value
    for start, found in sorted(windows.items()):
        alerts, rows, severe = (found.get(name) or 0.0 for name in ("alerts.n", "alerts.delivered", "severe.n"))
        print(f"from {start}: {rows:5,.0f} alerts delivered, which stand for {alerts:5,.0f}; severe are {severe:5,.0f}")


def told(journal: pd.DataFrame, part: str) -> pd.DataFrame:
    """What the journal says of the latest micro-batches: how many rows came, and what of them was of use."""
    rates = [row.get("alerts", 1.0) for row in journal.effective_sampling_rates]
    found = journal[["micro_batch_id", "reason", "offered_rows"]].assign(alerts_sampled_at=rates)
    if part == "pick":
        needed = [row.get("alerts") for row in journal.needed_rows_per_second]
        found = found.assign(alerts_needed_per_second=needed, ignored_needs=journal.ignored_needs)
    return found.tail(12)


def watch(run: Any, seconds: float | None) -> None:
    """Wait until Ctrl-C or for so many seconds; what ends the run by itself is raised."""
    stopped = threading.Event()
    # Spark's own answer to Ctrl-C is to cancel what it is doing, which a run takes for a failure.
    signal.signal(signal.SIGINT, lambda *_: stopped.set())
    deadline = None if seconds is None else time.monotonic() + seconds
    while not stopped.is_set() and (deadline is None or time.monotonic() < deadline):
        if run.await_termination(0.5):
            return


def main(part: str, folder: Path, seconds: float | None) -> None:
    """Run one of the two applications, and print what becomes of it."""
    (folder / "alerts").mkdir(parents=True, exist_ok=True)
    needs = folder / "needs.json"
    with local_session(part, cores=2, memory="1g") as spark:
        if part == "judge":
            run = judging(folder).start(
                spark,
                checkpoint=folder / "judge",
                sink=each_micro_batch(printed),
                publish_needs=needs,
                prior=JUDGMENTS,
                trigger=TRIGGER,
            )
        else:
            run = picking().start(
                spark,
                checkpoint=folder / "pick",
                sink=each_micro_batch(delivered_to(folder / "alerts")),
                trigger=TRIGGER,
                feeds=[ss.Feed(query="alerts", needs=str(needs), stream="alerts", same_time=True)],
            )
        with run:
            watch(run, seconds)
            print(told(run.journal(), part).to_string(index=False))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description="Two applications on one machine: start both, the one that judges first."
    )
    parser.add_argument("part", choices=["judge", "pick"], help="which of the two this is")
    parser.add_argument("folder", type=Path, help="where they meet, the same for both; made if there is none")
    parser.add_argument("seconds", type=float, nargs="?", help="how long it runs; until Ctrl-C if left out")
    arguments = parser.parse_args()
    main(arguments.part, arguments.folder, arguments.seconds)
