"""Programs that the project's own scripts start for tests."""

from __future__ import annotations

import socket
import subprocess
from pathlib import Path

from tests.lacking import lacking

_SCRIPTS = Path(__file__).parents[1] / "scripts"
_UNAVAILABLE = 69


def script(name: str, *arguments: str) -> str:
    """Run a script, and return what it prints; without Maven the test lacks it."""
    done = subprocess.run(["bash", str(_SCRIPTS / name), *arguments], capture_output=True, text=True, check=False)
    if done.returncode == _UNAVAILABLE:
        lacking(f"a test with a real server: {done.stderr.strip()}")
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def free_port() -> int:
    """A port that is free, as the next one is, which the controller of a broker takes."""
    while True:
        with socket.socket() as first, socket.socket() as second:
            first.bind(("127.0.0.1", 0))
            port: int = first.getsockname()[1]
            try:
                second.bind(("127.0.0.1", port + 1))
            except OSError:
                continue
            return port
