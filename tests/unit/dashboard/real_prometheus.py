"""A Prometheus that runs on this machine, from Debian's package."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.lacking import lacking

_PATIENCE_SECONDS = 60


@dataclass(frozen=True)
class RealPrometheus:
    """Where it listens."""

    url: str

    def result_of(self, query: str) -> list[dict[str, Any]]:
        """Return the result of a query, once there is one; nothing if there is none for a minute."""
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while time.monotonic() < deadline:
            try:
                with urllib.request.urlopen(f"{self.url}/api/v1/query?query={urllib.parse.quote(query)}") as response:
                    result: list[dict[str, Any]] = json.load(response)["data"]["result"]
            except OSError:  # it does not listen yet
                result = []
            if result:
                return result
            time.sleep(0.2)
        return []


def needs(program: str) -> str:
    path = shutil.which(program)
    if path is None:
        lacking(f"{program} is not installed: Debian's package prometheus has it")
    return path


@contextmanager
def prometheus_scraping(url: str, folder: Path) -> Iterator[RealPrometheus]:
    """Let a Prometheus scrape metrics as the job `streamshed` meanwhile."""
    program = needs("prometheus")
    target = urllib.parse.urlsplit(url).netloc
    (folder / "prometheus.yml").write_text(
        "global: {scrape_interval: 200ms}\n"
        f"scrape_configs: [{{job_name: streamshed, static_configs: [{{targets: ['{target}']}}]}}]\n"
    )
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = f"127.0.0.1:{free.getsockname()[1]}"
    process = subprocess.Popen(
        [
            *(program, f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/data"),
            f"--web.listen-address={address}",
        ],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield RealPrometheus(f"http://{address}")
    finally:
        process.kill()
        process.wait()
