"""Slices in state find their queries, or stop the run."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from streamshed.errors import IncompatibleCheckpointError
from streamshed.network.terms.window import WindowSpecification
from streamshed.sharing.sharing_class import Member
from streamshed.spark.common.failures import explained
from streamshed.spark.common.set_apart import CARRIER_CLASS, UNREADABLE_CLASS
from streamshed.spark.windows.manifest import RememberedClass
from streamshed.spark.windows.slice_routing import Carried, routed

SECOND = 1_000_000
MEMBER = Member(bit=0, definition_id=5, slot=0, window=WindowSpecification(SECOND, SECOND), counts_only=True)
NAMED = RememberedClass(class_id=7, members=(MEMBER,))
COLUMNS = "closes timestamp, class_id bigint, slice_start bigint, mask bigint, key_long bigint, key_text string"


def routed_slices(spark: SparkSession, *class_ids: int) -> DataFrame:
    closes = datetime.fromtimestamp(1, UTC)
    slices = spark.createDataFrame([(closes, class_id, 0, 1, 0, "") for class_id in class_ids], COLUMNS)
    return routed(slices, [NAMED], Carried({}, {}))


def test_slices_go_to_the_queries_that_the_manifest_names(spark: SparkSession) -> None:
    rows = routed_slices(spark, NAMED.class_id, UNREADABLE_CLASS, CARRIER_CLASS).collect()
    assert sorted((row.class_id, row.kind) for row in rows) == [(UNREADABLE_CLASS, "unreadable"), (7, "answer")]


def test_slices_of_a_class_that_it_does_not_name_are_never_dropped_in_silence(spark: SparkSession) -> None:
    with pytest.raises(PySparkException) as refused:
        routed_slices(spark, NAMED.class_id, 8).collect()
    error = explained(refused.value)
    assert isinstance(error, IncompatibleCheckpointError)
    assert "slices in state: 8" in str(error)
