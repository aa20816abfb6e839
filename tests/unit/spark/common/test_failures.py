"""What stopped a run, in the words of the one who wrote the network."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from streamshed.errors import (
    IncompatibleCheckpointError,
    InvalidExpressionError,
    MissingExtraError,
    SinkUnavailableError,
    SourceUnavailableError,
)
from streamshed.spark.checkpoint.storage import Storage
from streamshed.spark.common.failures import explained

STREAM = "[STREAM_FAILED] Query [id = 1] terminated with exception: Job aborted due to stage failure: Task 0 failed\n"


@pytest.mark.parametrize(
    ("said", "kind", "way_out"),
    [
        (
            "org.apache.spark.SparkException: [FAILED_READ_FILE.PARQUET_COLUMN_DATA_TYPE_MISMATCH] Encountered error",
            SourceUnavailableError,
            "coerce_timestamps",
        ),
        (
            "streamshed.errors.SourceUnavailableError: schema registry http://r: credentials are refused (status 401)",
            SourceUnavailableError,
            "http://r: credentials are refused",
        ),
        (
            'streamshed.errors.SourceUnavailableError: iceberg "live.fares": rows of it SQLSTATE: 38000\n=== Streaming',
            SourceUnavailableError,
            'iceberg "live.fares": rows of it',
        ),
        (
            'streamshed.errors.MissingExtraError: stream "packets": its topics are to be read by /python on b, which',
            MissingExtraError,
            'stream "packets": its topics are to be read by /python on b',
        ),
        (
            "streamshed.errors.MissingExtraError: stream",
            MissingExtraError,
            "run `pip install 'streamshed[kafka]'` wherever tasks run",
        ),
        (
            "SparkRuntimeException: [USER_RAISED_EXCEPTION] the manifest does not name a sharing class that has slices",
            IncompatibleCheckpointError,
            "put it back",
        ),
        ("java.io.IOException: No space left on device", SinkUnavailableError, "make room"),
        (
            "org.apache.spark.SparkArithmeticException: [NUMERIC_VALUE_OUT_OF_RANGE.WITH_SUGGESTION] The value 1E+38",
            InvalidExpressionError,
            "CAST",
        ),
        (
            "java.lang.Exception: CSV header does not conform to the schema.\n Header: b, a\n Schema: a, b",
            SourceUnavailableError,
            "Header: b, a Schema: a, b",
        ),
        (
            "DeltaUnsupportedOperationException: [DELTA_SOURCE_TABLE_IGNORE_CHANGES] Detected a data update",
            SourceUnavailableError,
            "`skipChangeCommits: true`",
        ),
        (
            "DeltaUnsupportedOperationException: [DELTA_SOURCE_IGNORE_DELETE] Detected deleted data from a stream",
            SourceUnavailableError,
            "`skipChangeCommits: true`",
        ),
    ],
)
def test_what_is_known_is_said_with_the_way_out(said: str, kind: type[Exception], way_out: str) -> None:
    error = explained(RuntimeError(f"{STREAM}{said}\n\tat org.apache.spark.Anything(Any.scala:1)"))
    assert isinstance(error, kind)
    assert way_out in str(error)
    assert "SQLSTATE" not in str(error)
    assert "Any.scala" not in str(error)


def test_what_is_not_known_stays_as_it_is() -> None:
    error = RuntimeError(f"{STREAM}java.lang.IllegalStateException: never seen")
    assert explained(error) is error


@contextmanager
def files_up_to(size: int) -> Iterator[None]:
    """Let files of this process become no longer than so many bytes."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_file_for_which_there_is_no_room_is_named_and_what_was_there_stays(tmp_path: Path) -> None:
    storage = Storage.at(str(tmp_path))
    storage.write_text("control.json", "old")
    with files_up_to(1_000), pytest.raises(SinkUnavailableError, match=r'cannot write ".*control\.json"'):
        storage.write_text("control.json", "new" * 1_000)
    assert storage.read_text("control.json") == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["control.json"]


def test_what_a_plan_might_have_raised_is_not_what_was_raised() -> None:
    """Spark shows the plan of a query that failed, with the texts of all errors that are in it."""
    plan = (
        "=== Streaming Query ===\nCurrent State: ACTIVE\n\nLogical Plan:\n~WriteToMicroBatchDataSourceV1 Sink\n"
        "+- ~Generate explode(raise_error(concat(the manifest does not name a sharing class that has slices: )))\n"
        "   :  +- ~Filter (text = ARITHMETIC_OVERFLOW)\n   +- Project [a]"
    )
    error = RuntimeError(f"{STREAM}streamshed.errors.SinkUnavailableError: cannot write\n\n{plan}\n SQLSTATE: 39000")
    assert explained(error) is error
