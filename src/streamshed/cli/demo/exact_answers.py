"""The exact answers by plain Spark, from all rows that were fed, and reading those of the run."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from streamshed.cli.demo.answers import Answer, ExactValue, Gap
from streamshed.cli.demo.deadline import Deadline
from streamshed.cli.demo.exact_sql import EXACT_SQL, HOSTS_VIEW, ROWS_VIEW

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row, SparkSession

    from streamshed.cli.terminal.progress_bar import ShowProgress

_BESIDE_AGGREGATES = ("start", "end", "key", "cohort")


class CollectedAnswers:
    """A sink that keeps the answers of the windows in this process."""

    def __init__(self) -> None:
        self._by_micro_batch: dict[int, list[Answer]] = {}
        self._gaps: dict[int, list[Gap]] = {}

    @property
    def answers(self) -> list[Answer]:
        """All answers so far."""
        return [answer for answers in self._by_micro_batch.values() for answer in answers]

    @property
    def gaps(self) -> list[Gap]:
        """All gaps so far."""
        return [gap for gaps in self._gaps.values() for gap in gaps]

    def __call__(self, answers: DataFrame, micro_batch_id: int) -> None:
        """Keep the answers of a micro-batch; again the same after a retry."""
        rows = answers.where("kind IN ('answer', 'gap')").selectExpr(
            "kind",
            "query",
            "aggregate",
            "unix_micros(window_start) AS start",
            "unix_micros(window_end) AS end",
            "key",
            "value",
            "lower",
            "upper",
            "exact",
            "low",
            "CASE WHEN kind = 'gap' THEN value_text END AS missing",
        )
        collected_rows = rows.collect()
        self._by_micro_batch[micro_batch_id] = [_answer(row) for row in collected_rows if row.kind == "answer"]
        self._gaps[micro_batch_id] = [_gap(row) for row in collected_rows if row.kind == "gap"]


def exact_values(
    spark: SparkSession,
    rows: Path,
    hosts: Path,
    *,
    deadline: Deadline | None = None,
    show: ShowProgress = lambda _share, _words: None,
) -> Iterator[ExactValue]:
    """Ask plain Spark the demo's queries, one by one.

    Args:
        spark: The session.
        rows: The folder of all rows that were fed, with types.
        hosts: The file of the hosts.
        deadline: Queries that would not end in time are left out; None: none is.
        show: Told the progress.
    """
    spark.read.option("pathGlobFilter", "*.parquet").parquet(str(rows)).createOrReplaceTempView(ROWS_VIEW)
    spark.read.parquet(str(hosts)).createOrReplaceTempView(HOSTS_VIEW)
    queries = EXACT_SQL if deadline is None else deadline.each(EXACT_SQL)
    for number, query in enumerate(queries):
        show(number / len(EXACT_SQL), query)
        windows = spark.sql(
            f"SELECT unix_micros(window.start) AS start, unix_micros(window.end) AS end, * EXCEPT (window)"
            f" FROM ({EXACT_SQL[query]})"
        )
        for row in windows.collect():
            yield from _values(query, row)


def _values(query: str, row: Row) -> Iterator[ExactValue]:
    fields = row.asDict()
    for aggregate, value in fields.items():
        if aggregate not in _BESIDE_AGGREGATES and value is not None:
            yield ExactValue(
                query=query,
                aggregate=aggregate,
                start=fields["start"],
                end=fields["end"],
                key=tuple(fields["key"]),
                value=float(value),
                cohort=fields.get("cohort"),
            )


def _answer(row: Row) -> Answer:
    fields = row.asDict()
    fields["key"] = tuple(fields["key"] or ())
    return Answer(**{name: value for name, value in fields.items() if name not in {"kind", "missing"}})


def _gap(row: Row) -> Gap:
    cohorts = None if row.missing is None else frozenset(json.loads(row.missing)["cohorts"])
    return Gap(query=row.query, start=row.start, cohorts=cohorts)
