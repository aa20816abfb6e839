"""What a Python worker has loaded is kept out of the search for garbage after each of its tasks."""

from __future__ import annotations

import gc
import sys

_modules_frozen = 0


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
