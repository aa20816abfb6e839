"""Programs in processes of their own, since a process has one Spark: that of a course, and `streamshed run`."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

from streamshed.cli.terminal.exit_code import ExitCode
from tests.spark.elastic.pace import PACES
from tests.spark.harness import PATIENCE_SECONDS
from tests.spark.sessions import QUICK_JAVA

_ROOT = Path(__file__).parents[3]
_LONGEST = 3000

Status = dict[str, Any]

DOCUMENT = """
streamshed: 1
streams:
  ticks: {source: {rate: {rows_per_second: 10}}, time: timestamp}
queries:
  total: {from: ticks, window: {size: 4 seconds}, aggregates: {total: sum(value)}}
run: {trigger: 1 second}
"""


class Program:
    """A program of this interpreter's, killed at the end of a test with all that it has started.

    Args:
        arguments: Of the interpreter.
        folder: For what it writes; it runs there.
    """

    def __init__(self, arguments: list[str], folder: Path) -> None:
        self._folder = folder
        environment = {
            **os.environ,
            "SPARK_LOCAL_IP": "127.0.0.1",
            "PYSPARK_PYTHON": sys.executable,
            "PYTHONPATH": str(_ROOT),
            "SPARK_SUBMIT_OPTS": f"{QUICK_JAVA} -Xmn700m",
            "TMPDIR": str(folder),
        }
        with (folder / "output").open("w") as output, (folder / "errors").open("w") as errors:
            command = [sys.executable, *arguments]
            self._process = subprocess.Popen(
                command, stdout=output, stderr=errors, cwd=folder, env=environment, start_new_session=True
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def written(self, name: str) -> str:
        """Return what it has written to a file; nothing if there is none."""
        file = self._folder / name
        return file.read_text() if file.exists() else ""

    def wait(self, condition: Callable[[], bool], what: str) -> None:
        """Wait until something holds, which it has to while the program runs."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not condition():
            assert self._process.poll() is None, f"ended before {what}: {self.written('errors')[-_LONGEST:]}"
            assert time.monotonic() < deadline, f"no sign of {what}: {self.written('errors')[-_LONGEST:]}"
            time.sleep(0.1)

    def ended(self) -> ExitCode:
        """Wait for its end, and return what it says by its exit code."""
        return ExitCode(self._process.wait(PATIENCE_SECONDS))


class Command(Program):
    """`streamshed run` on a cluster.

    Args:
        folder: Where it runs.
        master: The cluster's.
        options: More of its options.
        document_text: What it runs.
    """

    def __init__(self, folder: Path, master: str, *options: str, document_text: str = DOCUMENT) -> None:
        folder.mkdir(exist_ok=True)
        document = folder / "network.yaml"
        document.write_text(document_text)
        command = ["-m", "streamshed", "run", document.name, "--master", master]
        command += ["--sink", "memory:answers", "--json", "--memory", "2g", *options]
        super().__init__(command, folder)

    @property
    def micro_batches(self) -> int:
        """How many it has told of."""
        return self.written("output").count("\n")

    @property
    def scaling(self) -> Status:
        """What the last micro-batch told of workers."""
        whole, _, _ = self.written("output").rpartition("\n")
        told: Status = json.loads(whole.splitlines()[-1])["scaling"]
        return told


class FedProgram(Program):
    """`elastic_program`, whose network is fed with a load.

    Args:
        folder: Where it reads and writes.
        master: The cluster's.
        pace: How fast it goes, by name.
        load: What is fed at first, in one worker's time.
    """

    def __init__(self, folder: Path, master: str, pace: str, load: float) -> None:
        folder.mkdir()
        self._folder, self._pace = folder, PACES[pace]
        (folder / "network.yaml").write_text(DOCUMENT)
        self.feed(load)
        super().__init__(["-m", "tests.spark.elastic.elastic_program", str(folder), master, pace], folder)

    def feed(self, load: float | None) -> None:
        """Let a load be fed from now on; None: feed no more, and answer all windows."""
        draft = self._folder / ".rows"
        draft.write_text("" if load is None else str(self._pace.rows_per_file(load)))
        draft.rename(self._folder / "rows")

    def until(self, condition: Callable[[Status], bool], what: str) -> Status:
        """Wait until it tells of something, and return what it tells."""
        found: list[Status] = []

        def holds() -> bool:
            told = self.written("status.json")
            found[:] = [json.loads(told)] if told else []
            return any(condition(one) for one in found)

        self.wait(holds, what)
        return found[0]
