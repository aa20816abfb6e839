import pytest

from streamshed.cli.terminal.failure import failure_text
from streamshed.errors import ClusterUnavailableError

STREAM_FAILED = "[STREAM_FAILED] Query [id = 1, runId = 2] terminated with exception: "
PYTHON = f"""{STREAM_FAILED}[PYTHON_EXCEPTION] An exception was thrown: Traceback (most recent call last):
  File "/plan_table.py", line 104, in read
    raise PlanUnavailableError(
streamshed.spark.plan.plan_client.PlanUnavailableError: no plan from the driver
 SQLSTATE: 38000"""

LOST = f"""{STREAM_FAILED}Job aborted due to stage failure: Task 0 in stage 3.0 failed 4 times, most recent failure: \
Lost task 0.3 in stage 3.0 (TID 9) (127.0.0.1 executor 3): ExecutorLostFailure (executor 3 exited caused by one of \
the running tasks) Reason: Command exited with code 52
Driver stacktrace:
 SQLSTATE: XXKST"""
OF_MEMORY = "is its memory too small for the state of a partition? spark.executor.memory, partitions, state_limit"


@pytest.mark.parametrize(
    ("message", "sentence"),
    [
        ("No space left on device", "No space left on device"),
        ("org.apache.spark.SparkException: Job aborted\n\tat org.apache.spark.X", "Job aborted"),
        (PYTHON, "no plan from the driver"),
        (
            f"{STREAM_FAILED}Job aborted. SQLSTATE: XXKST",
            "Job aborted.",
        ),
        (
            LOST,
            f"a task failed 4 times, the last time by: Command exited with code 52 ({OF_MEMORY})",
        ),
        (
            (
                "Aborted: Task 1 in stage 3.0 failed 4 times, most recent failure: Lost task 1.3 in stage 3.0 (TID 9)"
                " (10.0.0.1 executor 3): java.lang.OutOfMemoryError: Java heap space"
            ),
            f"a task failed 4 times, the last time by: java.lang.OutOfMemoryError: Java heap space ({OF_MEMORY})",
        ),
        ("", "RuntimeError"),
    ],
)
def test_the_sentence_is_taken_out(message: str, sentence: str) -> None:
    assert failure_text(RuntimeError(message)) == f"the run failed: {sentence}"


def test_an_error_of_ours_is_told_as_it_is() -> None:
    error = ClusterUnavailableError("no worker: " + "x" * 1000)
    assert failure_text(error) == f"the run failed: {error}"


def test_it_is_never_endless() -> None:
    assert len(failure_text(RuntimeError("x" * 10_000))) < 500
