"""Programs that are killed, and what they left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pyarrow as pa

from tests.spark.streaming.harness import PATIENCE_SECONDS


def kill(path: Path, what: str, micro_batch_id: int, when: str) -> None:
    """Run the program in a process of its own until it says that it has come so far, and kill it with all its own."""
    marker = path / "marker"
    command = [sys.executable, "-m", "tests.spark.streaming.killed_program", what, str(path), str(micro_batch_id), when]
    with (path / "output").open("a") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output, start_new_session=True)
        try:
            deadline = time.monotonic() + PATIENCE_SECONDS
            while not marker.exists():
                assert _is_running(process), (path / "output").read_text()[-3000:]
                assert time.monotonic() < deadline, (path / "output").read_text()[-3000:]
        finally:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    marker.unlink()


def _is_running(process: subprocess.Popen[bytes]) -> bool:
    try:
        process.wait(timeout=0.1)
    except subprocess.TimeoutExpired:
        return True
    return False


def rows_of(folder: Path) -> list[dict[str, Any]]:
    """All rows of a sink's folder, each with the micro-batch that wrote it."""
    rows = []
    for file in sorted(folder.glob("query_id=*/micro_batch_id=*/*.parquet")):
        number = int(file.parent.name.removeprefix("micro_batch_id="))
        rows += [
            {**row, "micro_batch_id": number} for row in pa.parquet.read_table(file, partitioning=None).to_pylist()
        ]
    return rows
