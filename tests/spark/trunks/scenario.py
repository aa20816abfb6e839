"""What a scenario is: queries over inputs, and what is shed of them in each step. It runs nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from streamshed.network.model.query import Query
from streamshed.network.model.rows import Rows
from streamshed.planning.plan.query_rates import SizedRate
from tests.spark.trunks.inputs import Input
from tests.spark.trunks.windows_of_duckdb import ExactWindows


@dataclass(frozen=True, kw_only=True)
class Shed:
    """What is shed in a step, by the names of the scenario's own queries; whatever is left out is whole.

    Attributes:
        codes: Sampling code of queries.
        kept_shares: Share of their windows that queries keep.
        dropped: Windows of queries that are dropped from then on, by the second they start at.
        work_shares: Share of the work on their rows that is done, by joined stream.
        sized: Queries whose rows are chosen by size, where they are shed.
        counting: Queries whose rows are counted, where they are shed, with the code of the rate of counting.
        read_shares: Share of their rows that is read, in whole blocks, by stream.
        bundle_widths: How many neighboring blocks of these are read together.
    """

    codes: Mapping[str, int] = field(default_factory=dict)
    kept_shares: Mapping[str, float] = field(default_factory=dict)
    dropped: Mapping[str, Sequence[float]] = field(default_factory=dict)
    work_shares: Mapping[str, float] = field(default_factory=dict)
    sized: Mapping[str, SizedRate] = field(default_factory=dict)
    counting: Mapping[str, int] = field(default_factory=dict)
    read_shares: Mapping[str, float] = field(default_factory=dict)
    bundle_widths: Mapping[str, int] = field(default_factory=dict)


NOTHING_SHED = Shed()

KILLED = "killed"
"""The file in a trunk's folder that tells that the first process has come to where it is to be killed."""


@dataclass(frozen=True, kw_only=True)
class Setting:
    """Where a scenario's queries are built.

    Attributes:
        streams: By the name of an input, its stream.
        folder: A folder of the scenario's own, the same in each process and after each restart.
        start: How often the trunk was started before: 0, then 1 after the kill, then 2 after the stop.
    """

    streams: Mapping[str, Rows]
    folder: Path
    start: int

    def __getitem__(self, name: str) -> Rows:
        return self.streams[name]

    @property
    def killed(self) -> Path:
        """The file that has the first process killed once it is there, wherever it is then."""
        return self.folder.parents[1] / KILLED


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """One course of events, and what is asked meanwhile; a test module has one, called `SCENARIO`.

    Attributes:
        queries: Builds the queries; after a restart it may build others.
        inputs: Streams of its own, beside those of its trunk.
        shed: What is shed in a step.
        exact: By query, what DuckDB says; for the checks in `checks.py`.
        prepare: Writes what else queries need into the scenario's folder, before the first start.
        afterwards: Changes something there when the answers of a step of the clock "time" were written, before the
            next micro-batch begins; after the kill it may be called with a step again.
    """

    queries: Callable[[Setting], Iterable[Query]]
    inputs: tuple[Input, ...] = ()
    shed: Callable[[int], Shed] = lambda _: NOTHING_SHED
    exact: Mapping[str, ExactWindows] = field(default_factory=dict)
    prepare: Callable[[Path], None] = lambda _: None
    afterwards: Callable[[Path, int], None] = lambda _folder, _step: None
