"""Memory of a Python worker: where it comes from, and what of it is searched for garbage after each task."""

from __future__ import annotations

import gc
import os
import sys

import pyarrow as pa

_modules_frozen = 0


def allocate_as_usual() -> None:
    """Let Arrow take memory from the C library, unless `ARROW_DEFAULT_MEMORY_POOL` says from where.

    mimalloc, from which Arrow takes it otherwise, gives it back to the system within a second. Each micro-batch has it
    made and zeroed anew, in huge pages: for three million rows of Parquet, read in 1.1 s, that takes 0.1 to 1 s more.
    """
    if "ARROW_DEFAULT_MEMORY_POOL" not in os.environ:
        pa.set_memory_pool(pa.system_memory_pool())


def freeze_modules() -> None:
    """Take all that is loaded out of garbage collection, whenever there are more modules than before.

    After every task a worker of PySpark collects garbage among all objects that it has: with our modules, those of
    PyArrow, NumPy and pandas 120,000 of them, which takes 35 ms. Modules stay; so they need not be searched. What is
    garbage already is collected first, and what a task makes later is collected as ever. Modules are loaded a limited
    number of times, so that what is frozen beside them does not grow without bound.
    """
    global _modules_frozen  # noqa: PLW0603 - of the process, as what is frozen is
    modules = len(sys.modules)
    if modules > _modules_frozen:
        gc.collect()
        gc.freeze()
        _modules_frozen = modules
