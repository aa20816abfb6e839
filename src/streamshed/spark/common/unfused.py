"""Projections that stay out of whole-stage code generation.

Spark generates one method for all that a fused stage does with a row until the next shuffle or explode, and HotSpot
never compiles a method of more than 8,000 bytecodes: with 35 queries it was interpreted, 60 times as slow as with 7.
A projection that is not fused is generated as many small methods.

Rests on Spark's internals: tests/spark/contracts/test_generated_code.py.
"""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F

MOST_FUSED = 24
"""With more expressions than this, projections of a row are not fused."""


_LEAST = -(2**63)


def unfused(number: Column) -> Column:
    """Return a column of numbers as it is, in a way that keeps the projection it stands in from being fused.

    Spark fuses no projection that holds a function it cannot generate code for. Sorting an array is one; the array
    here is always null, which Spark does not know. It costs some 20 ns a row.
    """
    never = F.array_sort(F.when(number < F.lit(_LEAST), F.array(number)))
    return F.when(never.isNull(), number)
