"""Two streams of files whose hosts come and go, with bad rows in them: a file of each for every second."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import parquet

import streamshed as ss
from streamshed.network.model.network import QueryNetwork

ROWS_PER_SECOND, BURST_FACTOR = 200, 50
BURST_EVERY_SECONDS, BURST_SECONDS = 100, 10
ALERTS_PER_SECOND = 5
HOSTS, HOSTS_LIVE_SECONDS = 50, 60
"""So many hosts at a time; each is there for so long, and never again."""
_BAD_ROW = b'{"ts": "no time", "host'


def soak_network(folder: Path) -> QueryNetwork:
    """Return windows by host, windows over these, windows that may be dropped, and a join.

    Args:
        folder: Where the folders `events` and `alerts` are fed. Files are deleted when Spark has read them.
    """
    consumed = {"cleanSource": "delete"}
    events = ss.stream(
        "events",
        ss.folder(str(folder / "events"), "json", schema="ts timestamp, host string, bytes bigint", options=consumed),
        time="ts",
        watermark="2 seconds",
    )
    alerts = ss.stream(
        "alerts",
        ss.folder(str(folder / "alerts"), "parquet", schema="ts timestamp, host string", options=consumed),
        time="ts",
        watermark="2 seconds",
    )
    by_host = events.window("30 seconds", every="10 seconds").by("host").agg(n="count(*)", mean="avg(bytes)")
    alerted = events.filter("bytes > 900").join(alerts, on="host", within="5 seconds", name="alerted")
    return ss.network(
        by_host.query("by_host"),
        by_host.window("1 minute", every="30 seconds").agg(most="max(n)").query("busiest", mode="exact"),
        events.window("20 seconds", every="5 seconds").agg(total="sum(bytes)").query("total", mode="subset", max_gap=6),
        events.window("20 seconds").agg(middle="median(bytes)").query("middle"),
        alerted.window("20 seconds").agg(n="count(*)").query("alerted"),
    )


def hosts_of(second: int, count: int, chance: np.random.Generator) -> list[str]:
    """Return who sends rows in a second.

    Example:
        >>> hosts = hosts_of(125, 3, np.random.default_rng(1))
        >>> {host.rpartition(".")[0] for host in hosts}
        {'host.2'}
    """
    return [f"host.{second // HOSTS_LIVE_SECONDS}.{number}" for number in chance.integers(HOSTS, size=count)]


class SoakFeed(threading.Thread):
    """Lets a file of each stream appear every second, by the clock of the machine, until it is ended.

    Args:
        folder: The folder of the streams' folders, which are made.
        seed: Equal seeds give equal rows.
    """

    def __init__(self, folder: Path, seed: int) -> None:
        super().__init__(name="soak-feed", daemon=True)
        self._folder, self._seed = folder, seed
        self._ended = threading.Event()
        self.rows = 0
        """So many events were fed."""
        for name in ("events", "alerts"):
            (folder / name).mkdir(parents=True)

    def run(self) -> None:
        """Feed until ended."""
        began, second = time.time(), 0
        while not self._ended.wait(max(0.0, began + second + 1 - time.time())):
            self._feed(began, second)
            second += 1

    def end(self) -> None:
        """Feed no more."""
        self._ended.set()
        self.join()

    def _feed(self, began: float, second: int) -> None:
        chance = np.random.default_rng([self._seed, second])
        is_burst = second % BURST_EVERY_SECONDS >= BURST_EVERY_SECONDS - BURST_SECONDS
        count = ROWS_PER_SECOND * (BURST_FACTOR if is_burst else 1)
        times = began + second + np.sort(chance.random(count))
        sizes = chance.integers(1, 1000, size=count).tolist()
        stamps = np.datetime_as_string((times * 1e6).astype("datetime64[us]"), timezone="UTC").tolist()
        rows = zip(stamps, hosts_of(second, count, chance), sizes, strict=True)
        lines = [json.dumps({"ts": at, "host": host, "bytes": size}).encode() for at, host, size in rows]
        _appear(self._folder / "events" / f"{second:07d}.json", b"\n".join([*lines, _BAD_ROW, b""]))
        alert_times = began + second + chance.random(ALERTS_PER_SECOND)
        alerts = {
            "ts": pa.array((alert_times * 1e6).astype("int64"), pa.timestamp("us", "UTC")),
            "host": hosts_of(second, ALERTS_PER_SECOND, chance),
        }
        sink = pa.BufferOutputStream()
        parquet.write_table(pa.table(alerts), sink)
        _appear(self._folder / "alerts" / f"{second:07d}.parquet", sink.getvalue().to_pybytes())
        self.rows += count + 1


def _appear(path: Path, content: bytes) -> None:
    draft = path.with_name(f".{path.name}")
    draft.write_bytes(content)
    draft.rename(path)
