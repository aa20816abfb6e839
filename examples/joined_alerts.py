"""Which alerts of two sensors are about the same attack, and how long one sensor takes longer than the other.

A network sensor reports a host at once; a sensor on the host itself reports it again, often about twenty seconds later.
Joining both on the host, within a minute, finds such pairs, and by chance others: alerts of a busy host that have
nothing to do with one another. The *lag* of a pair is the time of its right alert less that of its left one. A *lag
profile* says how many pairs there are at each lag: here a hill around 20 s and a smaller one at 0, on a plain of chance
pairs. It is what a join learns while it runs: where there is no time to compare everything, it leaves out the lags at
which little is found, and keeps the hills (docs/joins.md).

    python examples/joined_alerts.py [FOLDER]

Without a folder, alerts are made up in one that is gone afterwards. The network is that of `alerts_joined.yaml`.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import streamshed as ss
from streamshed.spark import local_session

HOSTS, MINUTES = 40, 10
ATTACKS, CHANCE_ALERTS = 600, 400
TYPICAL_LAG_SECONDS = 20
START_MICROSECONDS = 1_704_067_200_000_000


def alerts_network(folder: Path) -> ss.QueryNetwork:
    """Return the queries over the alerts in a folder."""
    network_alerts = ss.stream(
        "network_alerts",
        ss.folder(folder / "network", "parquet", schema="ts timestamp, host string, name string"),
        time="ts",
        watermark="5 seconds",
    )
    host_alerts = ss.stream(
        "host_alerts",
        ss.folder(folder / "host", "parquet", schema="ts timestamp, host string, severity int"),
        time="ts",
        watermark="5 seconds",
    )
    pairs = network_alerts.join(
        host_alerts.filter("severity >= 2"),
        on="host",
        within=("1 minute", "5 seconds"),
        name="pairs",
        basic_window="5 seconds",
        prefixes=("network_", "host_"),
        policy="greedy",
        sampling=0.1,
    )
    lagged = pairs.map(lag_seconds="floor((unix_seconds(host_ts) - unix_seconds(network_ts)) / 5) * 5")
    return ss.network(
        pairs.window("1 minute")
        .by("network_host")
        .agg(pairs="count(*)", severity="avg(host_severity)")
        .query("by_host"),
        lagged.window("10 minutes").by("lag_seconds").agg(pairs="count(*)").query("lag_profile"),
        network_alerts.window("1 minute").agg(alerts="count(*)").query("network_alerts"),
    )


def write_alerts(folder: Path) -> None:
    """Write made-up alerts: attacks that both sensors see, and alerts by chance that only one of them does."""
    chance = np.random.default_rng(5)
    seconds = chance.random(ATTACKS) * MINUTES * 60
    hosts = chance.integers(0, HOSTS, ATTACKS)
    lags = np.where(chance.random(ATTACKS) < 0.25, 0.0, chance.normal(TYPICAL_LAG_SECONDS, 3, ATTACKS))
    reports = {"network": seconds, "host": seconds + np.maximum(0.0, lags)}
    for sensor, seen in reports.items():
        when = np.concatenate([seen, chance.random(CHANCE_ALERTS) * MINUTES * 60])
        where = np.concatenate([hosts, chance.integers(0, HOSTS, CHANCE_ALERTS)])
        order = np.argsort(when)
        instants = START_MICROSECONDS + (when[order] * 1e6).astype(np.int64)
        severities = chance.integers(1, 5, len(order)).astype(np.int32)
        said = (
            {"severity": severities} if sensor == "host" else {"name": [f"rule {number}" for number in severities % 3]}
        )
        rows = {"ts": pa.array(instants, pa.timestamp("us", "UTC")), "host": [f"host{h}" for h in where[order]], **said}
        (folder / sensor).mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table(rows), folder / sensor / "alerts.parquet")


def main(folder: Path) -> None:
    """Make alerts up, join them, and print the lag profile.

    All alerts are there, so that `answers` does; `network.start(spark, checkpoint=..., sink=...)` takes its place where
    they keep coming, as in `stocks.py`.
    """
    write_alerts(folder)
    network = alerts_network(folder)
    with local_session("alerts") as spark:
        found = network.answers(spark).where("query = 'lag_profile'").selectExpr("key[0] AS lag", "value AS pairs")
        profile = found.groupBy("lag").agg({"pairs": "sum"}).orderBy(found["lag"].cast("int")).collect()
    most = max(pairs for _, pairs in profile)
    for lag, pairs in profile:
        print(f"{lag:>4} to {int(lag) + 5:>3} s {pairs:>7.0f}  {'#' * round(40 * pairs / most)}")


if __name__ == "__main__":
    if sys.argv[1:]:
        main(Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as scratch:
            main(Path(scratch))
