"""What came of a trunk, as one of its scenarios sees it."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import dataset

from streamshed.network.model.network import QueryNetwork
from streamshed.spark.checkpoint.storage import Storage
from streamshed.spark.loop.history import History
from streamshed.spark.plan.plan_row import PlanRow
from streamshed.spark.plan.written_plans import WrittenPlans
from streamshed.statistics.network_statistics import NetworkStatistics
from tests.spark.event_times import microseconds_of, seconds_of
from tests.spark.harness import Found, found_in, rows_in_order, values_by_window
from tests.spark.trunks.course import PLANS, PLANS_WHEN_KILLED, answers_of, before_start
from tests.spark.trunks.inputs import STEP
from tests.spark.trunks.scenario import Scenario, Shed
from tests.spark.trunks.scripted_loop import step_of, steps_read
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
    def all_rows(self) -> list[Found]:
        """What came of the scenario's queries, as it came."""
        beginning = prefixed(self.prefix, "")
        return [
            replace(row, query=row.query.removeprefix(beginning))
            for number, table in answers_of(self.cast)
            for row in found_in(table.filter(pc.starts_with(table["query"], beginning)), number)
        ]

    def rows(self, query: str | None = None, kind: str = "answer") -> list[Found]:
        """What came of one query, or of all, in order of time."""
        return rows_in_order(self.all_rows, query, kind)

    def values(self, query: str, aggregate: str) -> dict[datetime, float | None]:
        """Answers of an ungrouped query by the start of their window; fails where one came twice."""
        return values_by_window(self.all_rows, query, aggregate)

    def texts(self, query: str, aggregate: str) -> dict[tuple[float, str | None], str]:
        """Answers as text, by the second at which their window starts and their group; fails where one came twice."""
        rows = [row for row in self.rows(query) if row.aggregate == aggregate]
        texts = {(seconds_of(row.window_start), row.key[0]): str(row.value_text) for row in rows}
        assert len(texts) == len(rows), f"{query}: a window was answered twice"
        return texts

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

    def gap_starts(self, query: str) -> set[int]:
        """When windows begin that were not answered, microseconds."""
        return {microseconds_of(start) for start in self.gaps(query)}

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
        """Rows of some streams that could not be read; of all, where none is named."""
        folder = self.clock_folder(clock) / "set_aside"
        rows: list[dict[str, Any]] = dataset.dataset(folder, partitioning="hive").to_table().to_pylist()
        return [row for row in rows if not streams or row["stream"] in streams]

    def plans(self, clock: str = "time") -> dict[int, PlanRow]:
        """The plans of micro-batches, as they are in the end."""
        return _plans_in(self.clock_folder(clock) / PLANS)

    def plans_when_killed(self) -> dict[int, PlanRow]:
        """Those that were written before the kill, as they were then."""
        return _plans_in(self.cast.path / PLANS_WHEN_KILLED / "time")

    def sheds(self, stream: str, clock: str = "time") -> list[Shed]:
        """What the scenario shed of each step of a stream: what it says of that as which the micro-batch counts."""
        checkpoint = self.clock_folder(clock)
        counts_as: dict[int, int] = {}
        for steps in (steps_read(checkpoint, number) for number in _planned(checkpoint)):
            earliest = min((step for _, step in steps), default=0)
            counts_as |= {step: earliest for name, step in steps if name == stream}
        return [self.scenario.shed(counts_as[step]) for step in sorted(counts_as)]

    def micro_batch_of(self, step: int, clock: str = "time") -> int:
        """The micro-batch that read a step."""
        checkpoint = self.clock_folder(clock)
        return next(number for number in _planned(checkpoint) if step_of(checkpoint, number) == step)

    def last_before(self, start: int, clock: str = "time") -> int:
        """The last micro-batch that was done before a start: what follows is of the queries that were asked then."""
        last: int = json.loads(before_start(self.cast, start).read_text())[clock]
        return last

    def first_step(self, start: int) -> int:
        """The first step that was read after a start."""
        checkpoint, last = self.clock_folder(), self.last_before(start)
        later = (number for number in _planned(checkpoint) if number > last)
        return min(step for number in later for _, step in steps_read(checkpoint, number))

    def readers(self, stream: str, clock: str = "time") -> dict[int, int]:
        """By step of a stream, the micro-batch that read its file."""
        checkpoint = self.clock_folder(clock)
        return {
            step: number
            for number in _planned(checkpoint)
            for name, step in steps_read(checkpoint, number)
            if name == stream
        }

    def watermark_of(self, micro_batch_id: int, clock: str = "time") -> int:
        """The watermark with which Spark planned a micro-batch, microseconds; 0: there was none."""
        offsets = self.clock_folder(clock) / "spark/offsets" / str(micro_batch_id)
        return (
            int(json.loads(offsets.read_text().splitlines()[1])["batchWatermarkMs"]) * 1000 if offsets.exists() else 0
        )

    def rows_as_they_came(self, stream: str, clock: str = "time") -> pa.Table:
        """All rows, with the instant up to which windows were closed when they came, as Spark's checkpoint has it."""
        rows, readers = self.table(stream), self.readers(stream, clock)
        closed = [self.watermark_of(readers[step] - 1, clock) for step in rows[STEP].to_pylist()]
        return rows.append_column("closed_until", pa.array(closed, pa.int64()))

    def rows_of_files_by_micro_batch(self, clock: str = "time") -> Counter[int]:
        """How many rows there are in the files that each micro-batch read, whether they can be read or not."""
        rows: Counter[int] = Counter()
        for stream in next(one for one in self.network.time_domains if one.clock == clock).sources:
            for step, number in self.readers(stream.name, clock).items():
                rows[number] += self.cast.inputs[stream.name].rows_in_file(self.cast.path, step)
        return rows

    def rows_in_files(self, clock: str = "time") -> int:
        """How many rows there are in all files that a clock reads."""
        return self.rows_of_files_by_micro_batch(clock).total()


def _planned(checkpoint: Path) -> list[int]:
    """The numbers of the micro-batches that Spark has planned, in order."""
    return sorted(int(path.name) for path in (checkpoint / "spark/offsets").iterdir() if path.name.isdigit())


def _plans_in(folder: Path) -> dict[int, PlanRow]:
    plans, numbers = WrittenPlans(Storage.at(str(folder))), [int(path.stem) for path in folder.glob("[0-9]*.json")]
    return {number: row for number in numbers if (row := plans.row(number)) is not None}
