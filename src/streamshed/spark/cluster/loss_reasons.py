"""Why executors were lost, as Spark tells it, and what to do where they probably had too little memory."""

from __future__ import annotations

import re

_MEMORY = re.compile(
    # What Spark's executors end with when Java has no more memory; a signal of the system's, as where it has none.
    r"\bcode (52|137)\b|OOM|OutOfMemory|out of memory|memory limits|heartbeat timed out",
    re.IGNORECASE,
)
_REMEDY = "is its memory too small for the state of a partition? spark.executor.memory, partitions, state_limit"
_LONGEST = 200


def is_of_memory(reason: str) -> bool:
    """Tell whether too little memory is the likely reason.

    Example:
        >>> is_of_memory("Command exited with code 52"), is_of_memory("Command exited with code 1")
        (True, False)
    """
    return _MEMORY.search(reason) is not None


def told_loss(reason: str) -> str:
    """Return a reason of Spark's for a message, with what to do about it; empty: Spark tells none.

    Example:
        >>> told_loss("Command exited with code 137")
        'Command exited with code 137 (is its memory too small for the state of a partition? spark.executor.memory,
        partitions, state_limit)'
        >>> told_loss("")
        'Spark does not say why'
    """
    if not reason:
        return "Spark does not say why"
    line = reason.strip().splitlines()[0].rstrip(".")[:_LONGEST]
    return f"{line} ({_REMEDY})" if is_of_memory(reason) else line
