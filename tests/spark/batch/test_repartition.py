"""State is moved to other partitions by Spark's tool, at once or after an interruption."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, Row, SparkSession

from streamshed.errors import IncompatibleCheckpointError
from streamshed.spark.checkpoint.checkpoint_reader import last_committed
from streamshed.spark.checkpoint.storage import Storage
from streamshed.spark.cluster.session import settings_for_queries
from streamshed.spark.inspection.checks import flaws
from streamshed.spark.inspection.repartitionable import repartitionable
from streamshed.spark.plan.written_plans import WrittenPlans
from streamshed.spark.repartition import repartition
from streamshed.spark.windows.manifest import FILE, read_manifest
from tests.unit.spark.inspection.checkpoints import BEGUN, CLOCK, FINISHED, stopped_checkpoint


@pytest.fixture(params=[10, 9])
def checkpoint(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return stopped_checkpoint(tmp_path, request.param)


STAGES = (0, 1, 2)


def moved(spark: SparkSession, checkpoint: Path, partitions: int) -> None:
    repartition(spark, str(checkpoint), repartitionable(Storage.reached(str(checkpoint)), partitions), partitions)


def state(spark: SparkSession, checkpoint: Path) -> dict[int, Counter[Row]]:
    """The groups in each stage, as Spark reads them; it cannot before anybody has asked for streams."""
    assert spark.streams.active == []
    return {
        operator: Counter(rows.select("key", "value").collect()) for operator, rows in stages(spark, checkpoint).items()
    }


def stages(spark: SparkSession, checkpoint: Path) -> dict[int, DataFrame]:
    path = checkpoint / CLOCK / "spark"
    with settings_for_queries(spark, 1, Storage.at(str(path))):
        reader = spark.read.format("statestore").option("path", str(path))
        return {operator: reader.option("operatorId", operator).load() for operator in STAGES}


def partitions_in_use(spark: SparkSession, checkpoint: Path) -> set[int]:
    read = stages(spark, checkpoint).values()
    return {row.partition_id for stage in read for row in stage.select("partition_id").collect()}


def is_whole(checkpoint: Path) -> bool:
    return all(flaw.is_harmless for flaw in flaws(Storage.reached(str(checkpoint)), CLOCK))


def test_all_groups_are_there_and_the_plan_with_them(spark: SparkSession, checkpoint: Path) -> None:
    folder = Storage.reached(str(checkpoint / CLOCK))
    before, plan = state(spark, checkpoint), WrittenPlans(folder.below("plans")).row(FINISHED)
    moved(spark, checkpoint, 3)
    assert state(spark, checkpoint) == before
    assert all(before[stage] for stage in STAGES)
    assert partitions_in_use(spark, checkpoint) == {0, 1, 2}
    manifest = read_manifest(folder)
    assert manifest is not None
    assert manifest.partitions == 3
    last = WrittenPlans(folder.below("plans")).last()
    assert last is not None
    assert plan is not None
    assert (last.micro_batch_id, last.latest_event, last.drops) == (BEGUN, plan.latest_event, plan.drops)
    assert last_committed(folder.below("spark")) == BEGUN
    assert is_whole(checkpoint)
    moved(spark, checkpoint, 1)
    assert state(spark, checkpoint) == before
    assert is_whole(checkpoint)


def test_what_was_interrupted_is_repeated(spark: SparkSession, checkpoint: Path) -> None:
    """Once when the state was written in part, once when only the manifest was missing."""
    before, manifest = state(spark, checkpoint), (checkpoint / CLOCK / FILE).read_bytes()
    plan = (checkpoint / CLOCK / f"plans/{FINISHED:012d}.json").read_bytes()
    moved(spark, checkpoint, 3)
    (checkpoint / CLOCK / FILE).write_bytes(manifest)
    assert not is_whole(checkpoint)
    moved(spark, checkpoint, 3)
    assert is_whole(checkpoint)
    (checkpoint / CLOCK / FILE).write_bytes(manifest)
    (checkpoint / CLOCK / f"plans/{FINISHED:012d}.json").write_bytes(plan)
    (checkpoint / CLOCK / f"plans/{BEGUN:012d}.json").unlink()
    for name in (f"commits/{BEGUN}", f"commits/.{BEGUN}.crc"):
        (checkpoint / CLOCK / "spark" / name).unlink()
    written = sorted((checkpoint / CLOCK / "spark/state/0/0").glob(f"{BEGUN + 1}[._]*"))
    assert written
    written[0].write_text("half of what was to be written")
    with pytest.raises(IncompatibleCheckpointError, match="repeat that first, with --partitions 3"):
        moved(spark, checkpoint, 2)
    moved(spark, checkpoint, 3)
    assert state(spark, checkpoint) == before
    assert is_whole(checkpoint)


def test_what_spark_refuses_is_told_with_the_clock(spark: SparkSession, checkpoint: Path) -> None:
    offsets = checkpoint / CLOCK / f"spark/offsets/{FINISHED}"
    lines = offsets.read_text().splitlines()
    header = json.loads(lines[1])
    changing = repartitionable(Storage.reached(str(checkpoint)), 3)
    header["conf"]["spark.sql.streaming.stateStore.providerClass"] = "no.such.Provider"
    offsets.write_text("\n".join([lines[0], json.dumps(header), *lines[2:]]))
    offsets.with_name(f".{offsets.name}.crc").unlink()
    with pytest.raises(IncompatibleCheckpointError, match='the state of clock "time" could not be given 3 partitions'):
        repartition(spark, str(checkpoint), changing, 3)
