import pytest

from streamshed.spark.cluster.loss_reasons import is_of_memory, told_loss
from streamshed.spark.cluster.missing_executors import ClusterFacts, Size, missing_executors

GIBIBYTE = 2**30


def told(**facts: object) -> str:
    known: dict[str, object] = {
        "master": "spark://there:7077",
        "executor": Size(GIBIBYTE, 1),
        "driver": "here:4040",
        "workers": (),
    }
    return missing_executors(ClusterFacts(**(known | facts)), 120.4)  # type: ignore[arg-type]


def test_it_says_where_and_for_how_long() -> None:
    where = 'the cluster "spark://there:7077" has given the application no worker (executor)'
    assert told().startswith(f"{where} for 120 s, and nothing can run: ")


def test_a_master_that_has_gone_is_the_reason_whatever_else_is_known() -> None:
    text = told(refusals=("there:7077: connection refused",), workers=(Size(1, 1),))
    assert "its master cannot be reached: there:7077: connection refused (has it gone?" in text


def test_no_worker_at_all() -> None:
    assert "it has no worker (start one: sbin/start-worker.sh spark://there:7077)" in told()


@pytest.mark.parametrize(
    ("workers", "known"),
    [
        ((Size(GIBIBYTE // 2, 4),), "an executor takes 1 GiB and 1 core, and its worker has 512 MiB and 4 cores"),
        (
            (Size(GIBIBYTE // 2, 4), Size(GIBIBYTE - 2**20, 2)),
            "and the largest of its 2 workers has 1023 MiB and 2 cores",
        ),
    ],
)
def test_workers_that_are_too_small(workers: tuple[Size, ...], known: str) -> None:
    text = told(workers=workers)
    assert known in text
    assert "take less with spark.executor.memory and spark.executor.cores" in text


def test_memory_of_one_and_cores_of_another_do_not_add_up() -> None:
    text = told(executor=Size(2 * GIBIBYTE, 4), workers=(Size(4 * GIBIBYTE, 2), Size(GIBIBYTE, 8)))
    assert "an executor takes 2 GiB and 4 cores, and the largest of its 2 workers has 4 GiB and 2 cores" in text


def test_workers_that_would_do() -> None:
    text = told(workers=(Size(GIBIBYTE, 1), Size(GIBIBYTE // 2, 1)))
    assert "its master knows 1 of 2 workers to be large enough (have they gone?" in text
    assert "driver at here:4040, spark.driver.host?" in text
    assert "do 2 other applications hold them" in told(workers=(Size(GIBIBYTE, 1),), other_applications=2)


def test_other_clusters_do_not_tell() -> None:
    text = told(master="yarn", workers=None)
    assert 'the cluster "yarn"' in text
    assert "why is not told (is its queue full" in text


def test_the_last_loss_is_named() -> None:
    text = told(lost=("Command exited with code 52", "Command exited with code 1"), workers=(Size(GIBIBYTE, 1),))
    assert "the last one was lost: Command exited with code 52 (is its memory too small" in text
    assert "code 1;" not in text


@pytest.mark.parametrize(
    "reason",
    [
        "Command exited with code 52",
        "Command exited with code 137",
        "Executor heartbeat timed out after 130000 ms",
        "Container killed by YARN for exceeding physical memory limits. 2.1 GB of 2 GB used.",
        "java.lang.OutOfMemoryError: Java heap space",
        "The executor with id 3 exited with exit code 137(SIGKILL, possible container OOM).",
    ],
)
def test_losses_for_want_of_memory(reason: str) -> None:
    assert is_of_memory(reason)
    assert "spark.executor.memory" in told_loss(reason)


@pytest.mark.parametrize(
    "reason",
    [
        "Command exited with code 1",
        "Command exited with code 521",
        "worker lost",
        # Said of whatever is lost without a word.
        "Remote RPC client disassociated. Likely due to containers exceeding thresholds, or network issues.",
        "",
    ],
)
def test_others(reason: str) -> None:
    assert not is_of_memory(reason)
    assert "spark.executor.memory" not in told_loss(reason)


def test_a_reason_of_many_lines_is_told_in_one() -> None:
    assert told_loss("Unable to create executor.\n\tat org.apache.spark.X") == "Unable to create executor"
