"""What stopped a run, as one line."""

import re

from streamshed.errors import StreamshedError
from streamshed.spark.loss_reasons import told_loss

_PYTHON_CAUSE = re.compile(r"^[\w.]+(?:Error|Exception): (?P<sentence>.+)$")
_QUERY_FAILED = re.compile(r"^\[STREAM_FAILED\].*? terminated with exception: ")
_JAVA_CLASS = re.compile(r"^(?:[\w$]+\.)+[\w$]*(?:Exception|Error): ")
_SQL_STATE = re.compile(r"\s*SQLSTATE: \w+$")
_LOST_EXECUTORS = re.compile(r"failed (?P<times>\d+) times.*?ExecutorLostFailure \([^)]*\) Reason: (?P<reason>.+)")
_LONGEST = 400


class RunFailedError(StreamshedError):
    """A run ended by a failure after it had started."""


def failure_text(failure: Exception) -> str:
    r"""Take the sentence out of what Spark raises, without its stack traces.

    Example:
        >>> failure_text(RuntimeError("java.io.IOException: No space left on device\n\tat org.apache..."))
        'the run failed: No space left on device'
    """
    if isinstance(failure, StreamshedError):
        return f"the run failed: {failure}"
    lines = [line.strip() for line in str(failure).splitlines() if line.strip()]
    if lost := next((match for line in lines if (match := _LOST_EXECUTORS.search(line))), None):
        return f"the run failed: a task lost {lost['times']} executors, the last one: {told_loss(lost['reason'])}"
    sentence = _innermost_cause(lines) or (lines[0] if lines else type(failure).__name__)
    sentence = _JAVA_CLASS.sub("", _QUERY_FAILED.sub("", _SQL_STATE.sub("", sentence)))
    return f"the run failed: {sentence[:_LONGEST]}"


def _innermost_cause(lines: list[str]) -> str | None:
    """The last line of a Python traceback, if there is one."""
    if not any("Traceback (most recent call last)" in line for line in lines):
        return None
    causes = [match["sentence"] for line in lines[1:] if (match := _PYTHON_CAUSE.match(line))]
    return causes[-1] if causes else None
