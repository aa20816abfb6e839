"""A standalone cluster on this machine's loopback, of Spark's own master and workers: for benchmarks and tests.

Rests on Spark's internals: tests/spark/elastic/test_workers_that_die.py.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyspark

from streamshed.errors import JavaUnavailableError
from streamshed.spark.cluster.session import require_java

_HOST = "127.0.0.1"
_HOME = Path(pyspark.__file__).parent
_MASTER = re.compile(r"spark://127\.0\.0\.1:\d+")
_PROCESSES = ("/usr/bin/env", "ps", "-A", "-w", "-w", "-o", "pid=,ppid=,args=")
_EXECUTOR = re.compile(r"\s*(\d+)\s+(\d+)\s.*--executor-id (\S+)")
_PATIENCE_SECONDS = 120.0
_LOOK_EVERY_SECONDS = 0.1


@dataclass(frozen=True)
class ClusterWorker:
    """A worker of the cluster: a process, whose children are executors.

    Attributes:
        daemon: The worker's process.
    """

    daemon: subprocess.Popen[bytes]

    def executor_pids(self) -> dict[str, int]:
        """Return the processes of its executors, by executor; one that was released may take long to end."""
        process_table = subprocess.run(_PROCESSES, capture_output=True, text=True, check=True).stdout
        executor_matches = [_EXECUTOR.match(line) for line in process_table.splitlines()]
        return {one[3]: int(one[1]) for one in executor_matches if one and int(one[2]) == self.daemon.pid}

    def kill(self) -> None:
        """Kill it with its executors, as if its machine had lost power."""
        _kill(self.daemon)


class StandaloneCluster:
    """A master and its workers, all of them on the loopback address.

    Args:
        folder: For logs and the executors' files.
        master: The master's process.
        url: What an application calls it.
    """

    def __init__(self, folder: Path, master: subprocess.Popen[bytes], url: str) -> None:
        self._folder, self._master = folder, master
        self.url = url
        self._workers: list[ClusterWorker] = []

    @property
    def workers(self) -> tuple[ClusterWorker, ...]:
        """All workers that were added."""
        return tuple(self._workers)

    def add_worker(self, *, cores: int = 1, memory: str = "700m") -> ClusterWorker:
        """Start a worker; it registers with the master within seconds."""
        name = f"worker-{len(self._workers)}"
        place = ["--host", _HOST, "--webui-port", "0", "--work-dir", str(self._folder / name)]
        options = [*place, "--cores", str(cores), "--memory", memory, self.url]
        worker = ClusterWorker(_launched("worker.Worker", options, self._folder / f"{name}.log"))
        self._workers.append(worker)
        return worker

    def kill_master(self) -> None:
        """Kill the master; workers and executors go on."""
        _kill(self._master)

    def stop(self) -> None:
        """Kill all of it."""
        for worker in self._workers:
            worker.kill()
        self.kill_master()


@contextlib.contextmanager
def standalone_cluster(folder: Path, *, workers: int = 0) -> Iterator[StandaloneCluster]:
    """Start a cluster whose workers have a core each, and stop it at the end.

    Args:
        folder: For logs and the executors' files.
        workers: How many to begin with.

    Raises:
        JavaUnavailableError: There is no Java, it is too old, or the master does not start.
    """
    require_java()
    folder.mkdir(parents=True, exist_ok=True)
    log = folder / "master.log"
    master = _launched("master.Master", ["--host", _HOST, "--port", "0", "--webui-port", "0"], log)
    try:
        cluster = StandaloneCluster(folder, master, _told_url(master, log))
    except BaseException:
        _kill(master)
        raise
    try:
        for _ in range(workers):
            cluster.add_worker()
        yield cluster
    finally:
        cluster.stop()


def _launched(kind: str, options: list[str], log: Path) -> subprocess.Popen[bytes]:
    """Start one of Spark's programs, in a process group of its own, so that it can be killed with its children."""
    environment = {
        **os.environ,
        "SPARK_HOME": str(_HOME),
        "SPARK_LOCAL_IP": _HOST,
        "SPARK_DAEMON_MEMORY": "256m",
        "PYSPARK_PYTHON": sys.executable,
    }
    command = [str(_HOME / "bin" / "spark-class"), f"org.apache.spark.deploy.{kind}", *options]
    with log.open("ab") as output:
        return subprocess.Popen(command, stdout=output, stderr=output, env=environment, start_new_session=True)


def _told_url(master: subprocess.Popen[bytes], log: Path) -> str:
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while master.poll() is None and time.monotonic() < deadline:
        if address_match := _MASTER.search(log.read_text(errors="replace")):
            return address_match[0]
        time.sleep(_LOOK_EVERY_SECONDS)
    raise JavaUnavailableError(f"a standalone cluster: its master does not start: {log.read_text()[-500:]}")


def _kill(daemon: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(daemon.pid, signal.SIGKILL)
    daemon.wait()
