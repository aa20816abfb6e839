"""How many rows came is counted once, though rows that are answers themselves are read a second time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import duckdb
import pytest

from streamshed.network.model.declared_stream import stream
from streamshed.network.model.query import Query
from streamshed.network.model.rows import Rows
from tests.spark.trunks.inputs import Input
from tests.spark.trunks.outcome import Outcome
from tests.spark.trunks.scenario import Scenario, Setting
from tests.spark.trunks.time.events import ROWS_PER_STEP
from tests.spark.trunks.time.messages import session
from tests.spark.trunks.time.numbers import CLOCK as NUMBERS
from tests.spark.trunks.time.numbers import NUMBERS_PER_STEP
from tests.spark.trunks.time.steps import STEP_SECONDS, STEPS

ROWS = {"numbered": "v BETWEEN 5 AND 15", "lines": "v < 10"}
"""Which rows of files are answers themselves: of Parquet and of text."""

WINDOWS = ("events", "json_messages")
"""Streams beside them, of which no rows are answers."""


class TickInput(Input):
    """A source that counts by itself, as brokers do: it reports its rows by another way than files do."""

    def stream(self, path: Path) -> Rows:
        """The stream over the generator."""
        ticks = session().readStream.format("rate-micro-batch").option("rowsPerBatch", NUMBERS_PER_STEP)
        return stream(self.name, ticks.load(), **self.settings)


def _queries(setting: Setting) -> Iterable[Query]:
    ticks = setting["ticks"]
    return [
        *(setting[name].filter(condition).query(name) for name, condition in ROWS.items()),
        *(setting[name].window("5 seconds").agg(n="count(ts)").query(name) for name in WINDOWS),
        ticks.window(100).agg(n="count(*)").query("counted"),
        ticks.filter("value >= 0").query("ticks"),
    ]


SCENARIO = Scenario(
    queries=_queries,
    inputs=(TickInput(name="ticks", steps=list, settings={"number": "value", "clock": NUMBERS}),),
)


@pytest.mark.parametrize("name", ROWS)
def test_each_row_is_an_answer_once(outcome: Outcome, name: str) -> None:
    with duckdb.connect() as database:
        database.register("rows", outcome.table(name))
        expected = database.execute(f"SELECT count(*) FROM rows WHERE {ROWS[name]}").fetchall()
    assert [(len(outcome.rows(name, kind="row")),)] == expected


def test_offered_rows_are_those_that_came(outcome: Outcome) -> None:
    """Nothing is sampled on this clock, and what cannot be read was offered, too."""
    assert outcome.journal.offered_rows.sum() == outcome.rows_in_files("time")
    assert outcome.journal.admitted_rows.sum() == outcome.rows_in_files("time")
    assert sum(outcome.values("events", "n").values()) == STEPS * ROWS_PER_STEP  # type: ignore[arg-type]
    assert sum(outcome.values("json_messages", "n").values()) == STEPS * STEP_SECONDS  # type: ignore[arg-type]


def test_rows_that_are_answers_are_offered_once(outcome: Outcome) -> None:
    """And so are those of a source that counts by itself."""
    journal = outcome.journal_of(NUMBERS).set_index("micro_batch_id")
    ticks = Counter(row.micro_batch_id for row in outcome.rows("ticks", kind="row"))
    assert set(ticks.values()) == {NUMBERS_PER_STEP}
    files = outcome.rows_of_files_by_micro_batch(NUMBERS)
    assert files.total() > 0
    assert journal.offered_rows.to_dict() == {number: ticks[number] + files[number] for number in journal.index}
