"""Labels of zones, in tables and in files that Spark has written, to look rows up in."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import pyarrow as pa
from pyspark.sql import SparkSession

from streamshed.network.model.query import Query
from streamshed.network.model.relation import Relation, relation
from streamshed.network.model.rows import Rows
from streamshed.network.source.delta_source import delta
from streamshed.network.source.iceberg_source import iceberg
from tests.iceberg_lake import IcebergLake

LABELS: tuple[Mapping[int | None, str], ...] = ({0: "north", 1: "east", None: "nowhere"}, {1: "west", 2: "south"})
"""By zone, before and after they are replaced."""

TABLES = ("delta", "iceberg")
KINDS = (*TABLES, "avro", "orc")
_NAME = "live.labels"


def write_labels(spark: SparkSession, folder: Path, version: int, kinds: Iterable[str] = KINDS) -> None:
    """Put a version of the labels in the place of what is there."""
    labels = LABELS[version]
    rows = pa.table({"zone": pa.array(labels, pa.int32()), "label": [*labels.values()]})
    for kind in kinds:
        if kind == "iceberg":
            with IcebergLake(folder).catalog as catalog:
                catalog.create_namespace_if_not_exists("live")
                catalog.create_table_if_not_exists(_NAME, rows.schema).overwrite(rows)
        else:
            frame = spark.createDataFrame(rows).coalesce(1)
            frame.write.format(kind).mode("overwrite").save(str(folder / f"labels.{kind}"))


def stored(folder: Path, kind: str) -> Relation:
    """The labels as a relation; tables tell their columns, and so do files, but not before a run."""
    match kind:
        case "delta":
            return relation("in_delta", delta(folder / "labels.delta"))
        case "iceberg":
            return relation("in_iceberg", iceberg(_NAME, IcebergLake.name))
        case _:
            return relation(f"in_{kind}", folder / f"labels.{kind}")


def labeled(rows: Rows, folder: Path, kinds: Iterable[str] = KINDS) -> Iterator[Query]:
    """How many rows have which label, and how many have none."""
    for kind in kinds:
        labels = stored(folder, kind)
        known = rows.lookup(labels, on="zone", columns=["label"]).window("20 seconds").by("label")
        unknown = rows.semijoin(labels, on="zone", negate=True).window("20 seconds")
        yield known.agg(n="count(*)").query(f"labeled_{kind}", mode="exact")
        yield unknown.agg(n="count(*)").query(f"unknown_{kind}", mode="exact")
