"""What came of a trunk, as one of its scenarios sees it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
from pyarrow import dataset

from streamshed.network.network import QueryNetwork
from streamshed.spark.history import History
from streamshed.spark.storage import Storage
from streamshed.statistics.network_statistics import NetworkStatistics
from tests.spark.streaming.harness import Found, found_in
from tests.spark.trunks.course import answers_of
from tests.spark.trunks.scenario import Scenario
from tests.spark.trunks.scripted_loop import step_of
from tests.spark.trunks.trunk import Cast, prefixed


@dataclass(frozen=True)
class Outcome:
    """Answers, journal and what was set aside; queries have the names that their scenario gives them."""

    cast: Cast
    prefix: str

    @property
    def scenario(self) -> Scenario:
        """The scenario."""
        return self.cast.scenarios[self.prefix]

    @property
    def folder(self) -> Path:
        """The scenario's own folder."""
        return self.cast.folder(self.prefix)

    @cached_property
    def network(self) -> QueryNetwork:
        """All queries of the trunk, as they are after the last restart."""
        return self.cast.network(2)

    def table(self, name: str) -> pa.Table:
        """All rows of an input, with the column `step`."""
        return self.cast.inputs[name].rows

    @cached_property
    def _of_all(self) -> list[Found]:
        return [row for number, table in answers_of(self.cast) for row in found_in(table, number)]

    @cached_property
    def all_rows(self) -> list[Found]:
        """What came of the scenario's queries, as it came."""
        beginning = prefixed(self.prefix, "")
        return [
            replace(row, query=row.query.removeprefix(beginning))
            for row in self._of_all
            if row.query.startswith(beginning)
        ]

    def rows(self, query: str | None = None, kind: str = "answer") -> list[Found]:
        """What came of one query, or of all, in order of time."""
        chosen = [row for row in self.all_rows if row.kind == kind and query in (None, row.query)]
        return sorted(chosen, key=lambda row: (str(row.window_start), row.query, repr(row.key), repr(row.aggregate)))

    def values(self, query: str, aggregate: str) -> dict[datetime, float | None]:
        """Answers of an ungrouped query by the start of their window; fails where one came twice."""
        rows = [row for row in self.rows(query) if row.aggregate == aggregate]
        values = {row.window_start: row.value for row in rows}
        assert len(values) == len(rows), f"{query}: a window was answered twice"
        return values

    def answers(self, query: str, aggregate: str) -> dict[tuple[datetime, tuple[str | None, ...]], float | None]:
        """Answers by the start of their window and their key; fails where one came twice."""
        rows = [row for row in self.rows(query) if row.aggregate == aggregate]
        values = {(row.window_start, row.key): row.value for row in rows}
        assert len(values) == len(rows), f"{query}: a window was answered twice"
        return values

    def gaps(self, query: str) -> dict[datetime, Found]:
        """Windows that were not answered, by their start; fails where one is told twice."""
        rows = self.rows(query, kind="gap")
        gaps = {row.window_start: row for row in rows}
        assert len(gaps) == len(rows), f"{query}: a gap was told twice"
        return gaps

    @cached_property
    def raw_answers(self) -> pa.Table:
        """All rows of the sink for all queries of the trunk, as they are there."""
        return pa.concat_tables([table for _, table in answers_of(self.cast)]).combine_chunks()

    def clock_folder(self, clock: str = "time") -> Path:
        """What is kept of a clock."""
        return self.cast.checkpoint / clock

    @cached_property
    def journal(self) -> pd.DataFrame:
        """The journal of the first clock, of all runs."""
        return self.journal_of("time")

    def journal_of(self, clock: str) -> pd.DataFrame:
        """The journal of a clock, of all runs."""
        return History(Storage.at(str(self.clock_folder(clock) / "journal"))).table()

    @cached_property
    def statistics(self) -> NetworkStatistics:
        """What the last run had learned."""
        return NetworkStatistics.from_json((self.cast.path / "statistics.json").read_text())

    def set_aside(self, *streams: str, clock: str = "time") -> list[dict[str, Any]]:
        """Rows of some streams that could not be read."""
        folder = self.clock_folder(clock) / "set_aside"
        rows: list[dict[str, Any]] = dataset.dataset(folder, partitioning="hive").to_table().to_pylist()
        return [row for row in rows if row["stream"] in streams]

    def micro_batch_of(self, step: int, clock: str = "time") -> int:
        """The micro-batch that read a step."""
        offsets = [
            int(path.name) for path in (self.clock_folder(clock) / "spark/offsets").iterdir() if path.name.isdigit()
        ]
        return next(number for number in sorted(offsets) if step_of(self.clock_folder(clock), number) == step)
