"""Telling what Spark raises from what is a bug of ours.

Rests on Spark's internals: tests/spark/contracts/test_failures.py.
"""

from __future__ import annotations

import re

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from streamshed.errors import (
    IncompatibleCheckpointError,
    InvalidExpressionError,
    MissingExtraError,
    ServerUnavailableError,
    SinkUnavailableError,
    SourceUnavailableError,
    StreamshedError,
)

_EXPLAINED: tuple[tuple[str, type[StreamshedError], str], ...] = (
    (
        r"PARQUET_COLUMN_DATA_TYPE_MISMATCH|Illegal Parquet type|SourceMismatchError: \"",
        SourceUnavailableError,
        (
            "a Parquet file has a column of another type than the stream, or one that Spark does not read, such as"
            ' times in nanoseconds (pandas: `to_parquet(path, coerce_timestamps="us")`); move the file away, and start'
            " again from the checkpoint"
        ),
    ),
    (
        r"CSV header does not conform to the schema",
        SourceUnavailableError,
        (
            "the first line of a CSV file names other columns than the stream's schema, or in another order: write the"
            " schema as the file has them, or set the option `enforceSchema: true` if the names mean nothing"
        ),
    ),
    (
        r"lines of CSV below a folder that tells a column",
        SourceUnavailableError,
        (
            "a folder of CSV files has got a folder whose name tells a column, such as `day=1`, and lines below it have"
            " one value less: start again from the checkpoint, then Spark reads the files"
        ),
    ),
    (
        r"DELTA_SOURCE_(?:TABLE_IGNORE_CHANGES|IGNORE_DELETE)",
        SourceUnavailableError,
        (
            "rows of a table of Delta Lake that is read as a stream were changed or deleted: with the option"
            " `skipChangeCommits: true` of its source such commits are passed over, and what was answered stays; set"
            " it, and start again from the checkpoint"
        ),
    ),
    (
        r"streamshed\.errors\.SourceUnavailableError: schema registry",
        SourceUnavailableError,
        (
            "the registry that has the schemas of a stream refuses to tell them, although it did when the run began:"
            " see to its address and credentials, and start again from the checkpoint"
        ),
    ),
    (
        r"streamshed\.errors\.SourceUnavailableError: iceberg",
        SourceUnavailableError,
        "a table of Iceberg that is read as a stream cannot be read on",
    ),
    (
        r"streamshed\.errors\.MissingExtraError: stream",
        MissingExtraError,
        (
            "a task cannot read topics: a worker came later, or has another Python, than those that were asked at the"
            " start; run `pip install 'streamshed[kafka]'` wherever tasks run, and start again from the checkpoint, or"
            " uninstall confluent-kafka where the network is started: then Spark reads the records"
        ),
    ),
    (
        r"the manifest does not name a sharing class",
        IncompatibleCheckpointError,
        (
            "the checkpoint's state holds sums of rows, and its manifest does not say of which queries, as if it were"
            " of another checkpoint or time: put it back, or start with a new checkpoint folder"
        ),
    ),
    (
        r"No space left on device",
        SinkUnavailableError,
        (
            "no space is left on a device that the run writes to, the checkpoint's, the sink's, or that of Spark's"
            " local folders (`spark.local.dir`): make room, and start again from the checkpoint"
        ),
    ),
    (
        r"NUMERIC_VALUE_OUT_OF_RANGE|ARITHMETIC_OVERFLOW",
        InvalidExpressionError,
        (
            "a value is larger than its type holds, such as a sum of decimals of more than 38 digits: sum it as a"
            " `double`, or as a decimal of fewer digits behind the point, by `CAST(x AS double)` in the query"
        ),
    ),
)
"""What Spark says in stack traces (a pattern), the error that it is, and what it means to who wrote the network."""


def is_failure_of_spark(error: BaseException) -> bool:
    """Tell whether an error is Spark's, such as that of a query that ended by a failure, and not one of Python's."""
    return isinstance(error, PySparkException | Py4JError)


def explained(error: Exception) -> Exception:
    """Return the error that says what stopped a run in the words of its network; the same one where none is known."""
    text = _OF_A_PLAN.sub("", str(error))
    for pattern, kind, sentence in _EXPLAINED:
        if (match := re.search(pattern, text)) is not None:
            said = " ".join(text[text.rfind("\n", 0, match.start()) + 1 :].partition("\tat ")[0].split())
            said = _BEHIND.split(said, maxsplit=1)[0]
            explanation = kind(f"{sentence}. Spark says: {said[:_LONGEST]}")
            explanation.__cause__ = error
            return explanation
    return error


_OF_A_PLAN = re.compile(r"^[ :]*(?:[+:]- |~)[^\n]*$", re.MULTILINE)
"""A line of a plan, which Spark shows beside what went wrong: it has the texts of errors that might be raised."""
_LONGEST = 300
_BEHIND = re.compile(r' If necessary set "spark\.sql\.ansi\.enabled"| SQLSTATE: | === Streaming Query ===')
"""What follows a sentence of Spark's: advice to let values that overflow be null, a code, the query."""
_JAVA_CLASS = re.compile(r"^(?:Caused by: )?(?:[\w$]+\.)+[\w$]+(?:: |$)")


_PASSING = re.compile(
    r"(?<![\w.])org\.apache\.kafka\.common\.errors\."
    r"(?:Timeout|Disconnect|Network|NotLeaderOrFollower|LeaderNotAvailable|BrokerNotAvailable|UnknownTopicOrPartition"
    r"|NotEnoughReplicas|NotEnoughReplicasAfterAppend|CoordinatorNotAvailable|KafkaStorage)Exception\b"
    r"|(?<![\w.])java\.net\.(?:Connect|SocketTimeout|Socket|NoRouteToHost|UnknownHost)Exception\b"
    r"|\bjava\.util\.concurrent\.TimeoutException"
    r"|No resolvable bootstrap urls"
)
"""What Java says of servers elsewhere that do not answer."""

_OURS = re.compile(r"(?<![\w.])streamshed\.errors\.ServerUnavailableError: ")
"""What a sink or a task of ours says of them."""

_OF_USER_CODE = re.compile(r"\bapi\.python\.PythonException\b|\[UDF_")
"""What Spark says of functions in tasks."""


def may_pass(error: BaseException) -> bool:
    """Tell whether what ended a query lies in a server elsewhere, and is likely to be over by and by.

    Example:
        >>> may_pass(RuntimeError("org.apache.kafka.common.errors.TimeoutException: Timed out waiting for a node"))
        True
        >>> may_pass(RuntimeError("[DIVIDE_BY_ZERO] Division by zero"))
        False
    """
    if isinstance(error, ServerUnavailableError):
        return True
    text = str(error)
    if _OURS.search(text) is not None:
        return True
    return _PASSING.search(text) is not None and _OF_USER_CODE.search(text) is None


def innermost_cause(error: BaseException) -> str:
    r"""Return the sentence of a Spark error that gives the reason, without stack traces and Java classes.

    Example:
        >>> text = "An error occurred while calling X.\n: java.lang.IllegalStateException: stopped\n\tat a.B.c(D:1)"
        >>> innermost_cause(RuntimeError(text))
        'stopped'
        >>> innermost_cause(RuntimeError(text + "\nCaused by: java.io.IOException: no route\n\tat a.B.d(D:2)"))
        'no route'
    """
    lines = [line.strip().removeprefix(": ") for line in str(error).splitlines()]
    sentences = [line for line in lines if _JAVA_CLASS.match(line)] or [line for line in lines if line]
    return _JAVA_CLASS.sub("", sentences[-1]) or sentences[-1] if sentences else type(error).__name__
