"""What stopped a run, as one line."""

import re

from streamshed.errors import StreamshedError
from streamshed.spark.cluster.loss_reasons import is_of_memory, told_loss

_PYTHON_CAUSE = re.compile(r"^[\w.]+(?:Error|Exception): (?P<sentence>.+)$")
_QUERY_FAILED = re.compile(r"^\[STREAM_FAILED\].*? terminated with exception: ")
_JAVA_CLASS = re.compile(r"^(?:[\w$]+\.)+[\w$]*(?:Exception|Error): ")
_SQL_STATE = re.compile(r"\s*SQLSTATE: \w+$")
_LOST_TASK = re.compile(
    r"failed (?P<times>\d+) times, most recent failure: Lost task .*?\): "
    r"(?P<lost>ExecutorLostFailure \([^)]*\) Reason: )?(?P<reason>.+)"
)
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
    if (lost := _lost_task(lines)) is not None:
        return f"the run failed: {lost}"
    sentence = _innermost_cause(lines) or (lines[0] if lines else type(failure).__name__)
    sentence = _JAVA_CLASS.sub("", _QUERY_FAILED.sub("", _SQL_STATE.sub("", sentence)))
    return f"the run failed: {sentence[:_LONGEST]}"


def _lost_task(lines: list[str]) -> str | None:
    """The sentence for a task that lost executor after executor, or found no memory; None: there is no such task."""
    lost_task = next((match for line in lines if (match := _LOST_TASK.search(line))), None)
    if lost_task is None or not (lost_task["lost"] or is_of_memory(lost_task["reason"])):
        return None
    return f"a task failed {lost_task['times']} times, the last time by: {told_loss(lost_task['reason'])}"


def _innermost_cause(lines: list[str]) -> str | None:
    """The last line of a Python traceback, if there is one."""
    if not any("Traceback (most recent call last)" in line for line in lines):
        return None
    causes = [match["sentence"] for line in lines[1:] if (match := _PYTHON_CAUSE.match(line))]
    return causes[-1] if causes else None
