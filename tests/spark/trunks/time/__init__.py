"""What comes, when, and in what state: clocks, silence, rows that cannot be read, windows along numbers and of rows."""

from streamshed.spark.loop.interpreting import INTERPRETED
from tests.spark.trunks.time.events import EVENTS
from tests.spark.trunks.time.history import HISTORY
from tests.spark.trunks.time.messages import JSON_MESSAGES
from tests.spark.trunks.time.numbers import LINES, NUMBERED
from tests.spark.trunks.time.steps import KILLED_IN, STEPS
from tests.spark.trunks.time.texts import JSON
from tests.spark.trunks.time.trades import TRADES
from tests.spark.trunks.trunk import Trunk

TRUNK = Trunk(
    inputs=(EVENTS, JSON, JSON_MESSAGES, TRADES, HISTORY, NUMBERED, LINES),
    steps=STEPS,
    killed_in=KILLED_IN,
    # With so much confidence no bound is missed by chance.
    settings={"confidence": 1 - 1e-6, "unscalable": "keep"},
    session=INTERPRETED,
)
