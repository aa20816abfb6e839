"""What a measurement was made with: versions, cores, the state of the sources."""

import importlib.metadata
import os
import platform
import shutil
import subprocess
from pathlib import Path

from streamshed import __version__

_PACKAGES = ("pyspark", "pyarrow", "numpy", "pandas", "duckdb", "sqlglot")


def versions() -> dict[str, str]:
    """Return the versions of streamshed, Python and what matters below; absent packages are left out."""
    version_by_package = {"streamshed": __version__, "python": platform.python_version()}
    for package in _PACKAGES:
        try:
            version_by_package[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return version_by_package


def cores() -> int:
    """Count the cores that this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def source_commit() -> str | None:
    """Name the commit of the sources that run, with `+changes` where there are some; None outside a clone."""
    git = shutil.which("git")
    here = Path(__file__).parent
    if git is None:
        return None
    head = _output(git, "-C", str(here), "rev-parse", "HEAD")
    if head is None:
        return None
    changes = _output(git, "-C", str(here), "status", "--porcelain", "--untracked-files=no")
    return f"{head}+changes" if changes else head


def _output(*command: str) -> str | None:
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    return result.stdout.strip() if result.returncode == 0 else None
