"""Rides of taxis, made up, and what examples/taxi_fares asks of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa

from streamshed.network.model.declared_stream import stream
from streamshed.network.model.network import QueryNetwork, network
from streamshed.network.source.sources import folder
from streamshed.traces.trace import Trace, trace_of
from streamshed_bench.inputs.workload import PacketQuery

RIDE_COLUMNS = (
    "ts timestamp, vendor_id string, payment_type string, tip_amount double, tolls_amount double, total_amount double"
)
PLAUSIBLE = "total_amount BETWEEN 2.5 AND 500"
REVENUE = PacketQuery(
    name="revenue",
    conditions=(PLAUSIBLE,),
    window_seconds=60,
    aggregates={"rides": "count(*)", "revenue": "sum(total_amount)"},
    weight=2.0,
)
"""The query of which DuckDB tells the answers."""

_ROWS_PER_SECOND, _SECONDS = 100_000, 8
_FIRST = np.datetime64("2026-01-01", "us")


def ride_trace(seed: int) -> Trace:
    """Return 8 seconds of rides; few of them pay tolls, and those pay much.

    Args:
        seed: Equal seeds give equal rides.
    """
    random, rows = np.random.default_rng(seed), _ROWS_PER_SECOND * _SECONDS
    fare = random.lognormal(2.3, 0.6, rows) + 2.5
    by_card = random.random(rows) < 0.55
    tolls = np.where(random.random(rows) < 0.04, random.lognormal(1.6, 0.5, rows), 0.0)
    tip = np.where(by_card, fare * random.uniform(0.0, 0.3, rows), 0.0)
    times = _FIRST + np.arange(rows) * (1_000_000 // _ROWS_PER_SECOND)
    rides = {
        "ts": pa.array(times).cast(pa.timestamp("us", "UTC")),
        "vendor_id": pa.array(random.choice(["CMT", "VTS"], rows)),
        "payment_type": pa.array(np.where(by_card, "CRD", "CSH")),
        "tip_amount": pa.array(tip.round(2)),
        "tolls_amount": pa.array(tolls.round(2)),
        "total_amount": pa.array((fare + tip + tolls).round(2)),
    }
    return trace_of(pa.table(rides), time="ts")


def fares_network(watched: Path) -> QueryNetwork:
    """Ask the four queries of the example.

    Args:
        watched: The folder in which rides arrive.
    """
    rides = stream("rides", folder(str(watched), "parquet", schema=RIDE_COLUMNS), time="ts", watermark="5 seconds")
    plausible = rides.filter(PLAUSIBLE)
    by_card = plausible.filter("payment_type = 'CRD'").window("5 minutes", every="1 minute").by("vendor_id")
    return network(
        plausible.window("1 minute", every="10 seconds")
        .agg(**REVENUE.aggregates)
        .query(REVENUE.name, REVENUE.weight, max_error="2 %"),
        by_card.agg(tip_share="sum(tip_amount) / sum(total_amount)").query("tips"),
        plausible.window("5 minutes", every="1 minute").agg(tolls="sum(tolls_amount)").query("tolls", 2.0),
        plausible.window("1 minute").agg(total="max(total_amount)").query("dearest_ride", mode="subset", max_gap=10),
    )
