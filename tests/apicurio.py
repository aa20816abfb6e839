"""A registry of schemas that others wrote: Apicurio, started by the project's own script."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.programs import free_port, script


@contextmanager
def running_apicurio(folder: Path) -> Iterator[str]:
    """Run it, and tell the address at which it speaks as Confluent's does; it forgets all when it ends."""
    try:
        yield script("registry.sh", "start", str(folder), str(free_port()))
    finally:
        script("registry.sh", "stop", str(folder))
