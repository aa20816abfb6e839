"""Kill a network under overload at random moments, and see that nothing is lost: see tests/spark/kill_loop/loop.py."""

from __future__ import annotations

import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
MODULE = "tests.spark.kill_loop.loop"

if __name__ == "__main__":
    paths = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    os.execve(sys.executable, [sys.executable, "-m", MODULE, *sys.argv[1:]], {**os.environ, "PYTHONPATH": paths})  # noqa: S606
