"""A join on equal columns that two scenarios ask for: in full, rows and windows over it."""

from __future__ import annotations

from streamshed.network.model.rows import Rows
from tests.spark.trunks.scenario import Setting

WITHIN_SECONDS = (6, 3)
SAME = "a.lane = b.lane AND a.port = b.port"
"""The condition, of rows `a` and `b`."""

LAST_WITH_ROWS = 1
"""The last start with queries that need its rows: thereafter, all is summed up where pairs are found."""


def matched(setting: Setting, after: int = WITHIN_SECONDS[0]) -> Rows:
    """The joined stream.

    Args:
        setting: Where it is.
        after: How many seconds calls wait for alerts.
    """
    calls = setting["calls"].filter("port > 0")
    within = (f"{after} s", f"{WITHIN_SECONDS[1]} s")
    return calls.join(setting["alerts"], on=["lane", "port"], within=within, basic_window="1 s", name="matched")
