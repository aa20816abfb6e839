"""When a feed should start so that no file's rows are split between two micro-batches."""

import math

EARLY_SECONDS = 0.3
"""How long before a micro-batch starts its last file comes: long enough to be seen, shorter than until the next."""


def aligned_start(earliest_seconds: float, trigger_seconds: float) -> float:
    """Return the first instant at or after the earliest that is a little before a multiple of the trigger interval.

    Spark starts micro-batches at multiples of the trigger interval on the clock. A feed that starts so, and whose load
    changes after a whole number of trigger intervals, changes it between two micro-batches.

    Example:
        >>> aligned_start(101.0, 2.0), aligned_start(101.8, 2.0)
        (101.7, 103.7)
    """
    return math.ceil((earliest_seconds + EARLY_SECONDS) / trigger_seconds) * trigger_seconds - EARLY_SECONDS
