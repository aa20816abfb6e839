"""Which random queries there are, over which rows and relations: all scenarios here ask the same."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path

import pyarrow as pa
from pyspark.sql import SparkSession

from streamshed.network.model.relation import Relation
from tests.spark.exactness.build import build_relations
from tests.spark.exactness.generator import generate
from tests.spark.exactness.oracle import Oracle
from tests.spark.exactness.specification import QuerySpec
from tests.spark.exactness.tables import Tables, random_tables, write_relations
from tests.spark.trunks.inputs import Input
from tests.spark.trunks.random.arrivals import SETTINGS, arriving
from tests.thoroughness import share_of

NETWORKS, FIRST_SEED = share_of(8, least=3), 5033
ROWS = {"events": 260, "others": 180}


@cache
def queries() -> tuple[QuerySpec, ...]:
    """All queries of the random networks."""
    specs = [generate(seed, list(ROWS)) for seed in range(FIRST_SEED, FIRST_SEED + NETWORKS)]
    return tuple(query for spec in specs for query in spec.queries)


def aggregate_queries() -> tuple[QuerySpec, ...]:
    """Those that are not set-valued."""
    return tuple(query for query in queries() if query.window is not None)


@cache
def tables(folder: Path) -> Tables:
    """Streams and relations; the files of these are in a folder."""
    return random_tables(FIRST_SEED, ROWS, folder)


def prepare(folder: Path) -> None:
    """Write the files of the relations beside a scenario's folder: all scenarios have the same."""
    shared = _shared(folder)
    if not shared.exists():
        shared.mkdir()
        write_relations(tables(shared))


def relations(folder: Path) -> Mapping[str, Relation]:
    """The relations, over these files and a DataFrame."""
    return _relations(_shared(folder))


@cache
def _relations(shared: Path) -> Mapping[str, Relation]:
    return build_relations(tables(shared), SparkSession.builder.getOrCreate())


def _shared(folder: Path) -> Path:
    return folder.parent / "relations"


def oracle(rows: Mapping[str, pa.Table]) -> Oracle:
    """DuckDB with the relations, and rows of the streams."""
    return Oracle(replace(tables(Path()), streams=dict(rows)))


def _steps(name: str) -> list[pa.Table]:
    return arriving(tables(Path()).streams[name], FIRST_SEED + list(ROWS).index(name))


INPUTS = tuple(Input(name=name, steps=lambda name=name: _steps(name), settings=SETTINGS) for name in ROWS)  # type: ignore[misc]
