"""Networks that documents show, as Spark sees them: it analyzes each of them, and answers that of the tutorial."""

from __future__ import annotations

import importlib
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet as pq
from pyspark import cloudpickle
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import streamshed as ss
from streamshed.network.document.document import parse_network
from streamshed.spark.bounded import answers
from streamshed.spark.source.source_frame import empty_frame
from tests.unit.documentation import Page, pages
from tests.unit.test_docs_blocks import network_of_statements
from tests.unit.test_docs_examples import engine
from tests.unit.test_docs_tutorial import TUTORIAL, folder, ran

__all__ = ["engine", "folder"]

DOCUMENTS = [code for shown in pages() for code in shown.code("yaml") if "streams:" in code]
VISITS = 300
START = datetime(2024, 1, 1, tzinfo=UTC)


def analyze(spark: SparkSession, network: ss.QueryNetwork) -> None:
    """Let Spark find out whether all columns, types and functions are there."""
    sources = [stream for stream in network.all_streams if stream.joined is None]
    assert "value" in answers(network, spark, {stream.name: empty_frame(spark, stream) for stream in sources}).columns


def networks_in_python(shown: Page, namespace: dict[str, object]) -> Iterator[ss.QueryNetwork]:
    """The networks that the blocks of a page make, and those of the queries that they make."""
    seen: set[int] = set()
    for code in shown.code("python"):
        exec(compile(code, shown.path.name, "exec"), namespace)
        made = [value for value in namespace.values() if isinstance(value, ss.QueryNetwork | ss.Query)]
        yield from (ss.network(one) if isinstance(one, ss.Query) else one for one in made if id(one) not in seen)
        seen |= set(map(id, made))


@pytest.mark.parametrize("shown", [shown for shown in pages() if shown.code("python")], ids=lambda s: s.path.name)
def test_networks_in_python(shown: Page, engine: dict[str, object], spark: SparkSession) -> None:
    for network in networks_in_python(shown, engine):
        analyze(spark, network)


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("text", DOCUMENTS)
def test_documents(text: str, spark: SparkSession) -> None:
    analyze(spark, parse_network(text if "streamshed:" in text else f"streamshed: 1\n{text}").network)


@pytest.mark.parametrize("text", [code for shown in pages() for code in shown.code("sql")])
def test_statements(text: str, spark: SparkSession, tmp_path: Path) -> None:
    analyze(spark, network_of_statements(text, tmp_path))


def answered(spark: SparkSession) -> pa.Table:
    """What the network of the tutorial answers to a minute of visits."""
    visits = spark.range(VISITS).select(
        (F.lit(START) + F.make_interval(secs=F.col("id") * 60 / VISITS)).alias("timestamp"), F.col("id").alias("value")
    )
    return answers(parse_network(TUTORIAL.code("yaml")[0]).network, spark, {"visits": visits}).toArrow()


def with_gaps(row: Mapping[str, Any]) -> Mapping[str, Any]:
    """An answer as it is, or the gap in the place of every third answer of `worst`."""
    if row["query"] != "worst" or row["window_start"].second % 6 != 4:
        return row
    nothing = dict.fromkeys(("aggregate", "value", "value_text", "lower", "upper"))
    return {**row, **nothing, "kind": "gap", "reason": "load"}


def expected() -> dict[tuple[str, str, str, datetime], float]:
    """The same by Python: by query, aggregate, group and begin of the window."""
    score = importlib.import_module("scoring").score(pd.Series(range(VISITS)))
    grouped: Mapping[tuple[str, str, str, datetime], list[float]] = defaultdict(list)
    for visit in range(VISITS):
        second = visit * 60 // VISITS
        ten, two = (START + timedelta(seconds=second - second % size) for size in (10, 2))
        for aggregate, value in (("visits", 1.0), ("mean", score[visit])):
            grouped["by_page", aggregate, str(visit % 5), ten].append(value)
        grouped["worst", "worst", "", two].append(score[visit])
        grouped["total", "visits", "", ten].append(1.0)
    return {
        key: max(values) if key[1] == "worst" else sum(values) / (len(values) if key[1] == "mean" else 1)
        for key, values in grouped.items()
    }


@pytest.fixture
def by_value() -> Iterator[None]:
    """Lets tasks have the function of the tutorial without a file of their own, as `PYTHONPATH=.` does."""
    module = importlib.import_module("scoring")
    cloudpickle.register_pickle_by_value(module)  # type: ignore[no-untyped-call]
    yield
    cloudpickle.unregister_pickle_by_value(module)  # type: ignore[no-untyped-call]
    del sys.modules["scoring"]


@pytest.mark.usefixtures("folder", "by_value")
def test_the_tutorial_is_answered_and_its_answers_are_read(
    spark: SparkSession, capsys: pytest.CaptureFixture[str]
) -> None:
    table = answered(spark)
    found = {
        (row["query"], row["aggregate"], ",".join(row["key"]), row["window_start"]): row["value"]
        for row in table.to_pylist()
    }
    assert found == pytest.approx(expected())
    Path("out/answers").mkdir(parents=True)
    dropped = pa.Table.from_pylist(list(map(with_gaps, table.to_pylist())), schema=table.schema)
    pq.write_table(dropped, "out/answers/part.parquet")
    exec(compile(TUTORIAL.code("python")[1], "read.py", "exec"), {})
    printed = capsys.readouterr().out
    assert "10 windows were dropped, such as" in printed
    assert "by_page" in printed
    assert "worst: 10 windows dropped, 10 of them predicted" in ran("predict").output
