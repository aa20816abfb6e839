"""Random networks in batch mode, many in one Spark job, against the same queries one by one in DuckDB."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from streamshed.network.model.network import network
from streamshed.spark.bounded import answers
from tests.spark.exactness.build import build_query, build_relations, build_streams
from tests.spark.exactness.comparison import Answer, first_difference, rows_difference
from tests.spark.exactness.generator import generate
from tests.spark.exactness.oracle import Oracle
from tests.spark.exactness.specification import NetworkSpec
from tests.spark.exactness.tables import make_tables
from tests.thoroughness import chosen, share_of

NETWORKS_PER_JOB = int(os.environ.get("EXACTNESS_NETWORKS", share_of(24)))
FIRST_SEED = int(os.environ.get("EXACTNESS_SEED", "0"))
JOBS: dict[str, dict[str, int]] = {
    "two streams": {"events": 300, "others": 200},
    "one silent": {"events": 300, "others": 0},
    "few rows": {"events": 12, "others": 7},
    "no rows": {"events": 0, "others": 0},
    "one stream": {"events": 400},
}


@pytest.mark.parametrize("job", chosen(JOBS, "two streams", "one silent", "one stream"))
def test_answers_equal_those_of_duckdb(job: str, spark: SparkSession, tmp_path: Path) -> None:
    first = FIRST_SEED + list(JOBS).index(job) * NETWORKS_PER_JOB
    tables = make_tables(first, JOBS[job], tmp_path)
    specs = [generate(seed, list(JOBS[job])) for seed in range(first, first + NETWORKS_PER_JOB)]
    streams, relations = build_streams(tables), build_relations(tables, spark)
    queries = [build_query(query, streams, relations) for spec in specs for query in spec.queries]
    found = answers(network(*queries), spark).cache()
    try:
        assert not _flaws(found)
        differences = list(_differences(specs, found, Oracle(tables)))
    finally:
        found.unpersist()
    assert not differences, "\n".join(differences[:20])


def _flaws(found: DataFrame) -> list[Any]:
    """Answers that claim to be anything but exact, or are neither answers nor rows."""
    sure = (
        "exact AND confidence = 1 AND standard_error = 0 AND sampling_rate = 1 AND lower <=> value AND upper <=> value"
    )
    known = f"(kind = 'answer' AND {sure} AND NOT low AND reason IS NULL) OR (kind = 'row' AND exact)"
    return found.where(~F.coalesce(F.expr(known), F.lit(False))).limit(3).collect()


def _differences(specs: list[NetworkSpec], found: DataFrame, oracle: Oracle) -> Iterator[str]:
    answered, rows = _collected(found)
    for spec in specs:
        for query in spec.queries:
            if query.window is None:
                difference = rows_difference(query, rows[query.name], oracle.rows(query))
            else:
                difference = first_difference(query, answered[query.name], oracle.answers(query))
            if difference is not None:
                yield f"seed {spec.seed}, query {query.name}: {difference}\n    {query}"
                break


def _collected(found: DataFrame) -> tuple[dict[str, list[Answer]], dict[str, list[str]]]:
    answered: dict[str, list[Answer]] = defaultdict(list)
    rows: dict[str, list[str]] = defaultdict(list)
    columns = found.select(
        "kind", "query", F.unix_micros("window_start"), "key", "aggregate", "value", "value_text", "rows_used"
    )
    table = columns.toArrow()
    for kind, query, start, key, aggregate, value, text, used in zip(
        *(column.to_pylist() for column in table.columns), strict=True
    ):
        if kind == "row":
            rows[query].append(text)
        else:
            answered[query].append(Answer(start, tuple(key), aggregate, value, text, used))
    return answered, rows
