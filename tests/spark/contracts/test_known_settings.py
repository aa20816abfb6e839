"""Settings of Spark that documents advise are those that Spark knows: it takes any other name without a word."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from streamshed.spark.cluster.session import FILE_CHECKSUMS, FILE_MANAGER, LOCAL_CHECKPOINT_SETTINGS, SAFETY_SETTINGS
from tests.unit.documentation import ROOT

_ROCKSDB = "spark.sql.streaming.stateStore.rocksdb."
CONSTRAINTS = "spark.sql.constraintPropagation.enabled"
_PAGES = ("secure", "bound-memory")
_SETTING = re.compile(r"\bspark(?:\.[a-zA-Z]+){1,}[a-zA-Z]\b(?!\.md)")


def settings_of(page: str) -> set[str]:
    """The settings of Spark that a page names, but for files of that name."""
    named = set(_SETTING.findall((ROOT / f"docs/how-to/{page}.md").read_text()))
    return {name for name in named if not name.endswith((".conf", "."))}


def knows(java: Any, name: str) -> bool:
    """Whether Spark has a setting of a name."""
    if name.startswith(_ROCKSDB):
        rocksdb = java.org.apache.spark.sql.execution.streaming.state.RocksDBConf
        keys = (rocksdb.BOUNDED_MEMORY_USAGE_CONF_KEY(), rocksdb.MAX_MEMORY_USAGE_MB_CONF_KEY())
        return name.removeprefix(f"{rocksdb.ROCKSDB_SQL_CONF_NAME_PREFIX()}.") in keys
    return java.org.apache.spark.internal.config.ConfigEntry.findEntry(name) is not None


@pytest.fixture
def java(spark: SparkSession) -> Any:
    """Classes of Java."""
    spark.sql("SELECT 1").collect()  # those of SQL have their settings once they are used
    return spark.sparkContext._jvm  # noqa: SLF001 - Python has no list of settings


@pytest.mark.parametrize("page", _PAGES)
def test_settings_that_a_page_advises_are_known_to_spark(java: Any, page: str) -> None:
    named = settings_of(page)
    assert named
    assert [name for name in sorted(named) if not knows(java, name)] == []


def test_those_of_checkpoints_are_known_to_spark(java: Any) -> None:
    assert [name for name in (*SAFETY_SETTINGS, FILE_CHECKSUMS, CONSTRAINTS) if not knows(java, name)] == []


def test_others_are_not(java: Any) -> None:
    assert not any(knows(java, f"{name}.nothing") for name in ("spark.authenticate", "spark.sql.streaming", _ROCKSDB))


def test_checksums_of_rows_are_fixed_when_a_checkpoint_is_made(java: Any, spark: SparkSession) -> None:
    settings = spark._jsparkSession.conf()  # noqa: SLF001 - Python's are another object
    metadata = java.org.apache.spark.sql.execution.streaming.checkpointing.OffsetSeqMetadata.apply(0, 0, settings)
    assert "spark.sql.streaming.stateStore.rowChecksum.enabled" in metadata.toString()


def test_a_damaged_file_of_a_local_checkpoint_is_noticed(java: Any, spark: SparkSession, tmp_path: Path) -> None:
    """Hadoop sees it, so Spark's own checksums are left off."""
    hadoop = java.org.apache.hadoop.fs
    settings = spark.sparkContext._jsc.hadoopConfiguration()  # noqa: SLF001 - as above
    manager = getattr(java, LOCAL_CHECKPOINT_SETTINGS[FILE_MANAGER])(hadoop.Path(str(tmp_path)), settings)
    path = hadoop.Path(str(tmp_path / "1.changelog"))
    written = manager.createAtomic(path, True)
    written.write(bytearray(b"state"))
    written.close()
    assert manager.open(path).read() == ord("s")
    (tmp_path / "1.changelog").write_bytes(b"stale")
    with pytest.raises(Py4JJavaError, match="ChecksumException"):
        manager.open(path).read()
