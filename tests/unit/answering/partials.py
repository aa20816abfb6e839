"""Tables of window partials for tests, of which only what matters is said."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from streamshed.answering.table.answer_schema import ANSWER
from streamshed.answering.table.window_partials import WindowPartials

SECOND = 1_000_000
MOMENTS = pa.list_(
    pa.struct([("present", pa.int64()), ("mean", pa.float64()), ("dispersion", pa.float64()), ("weight", pa.float64())])
)
COHORTS = pa.list_(
    pa.struct(
        [
            ("cohort", pa.int32()),
            ("weight", pa.float64()),
            ("rows", pa.int64()),
            ("present", pa.int64()),
            ("total", pa.float64()),
            ("squares", pa.float64()),
        ]
    )
)
_LONGS = ["window_start", "window_end", "definition_id", "slot", "key_long", "rows", "present", "sum_low", "sum_high"]
_LONGS += ["least_long", "greatest_long"]
_TEXTS = ("kind", "key_text", "least_text", "greatest_text")
_DECIMALS = ("sum_decimal_low", "sum_decimal_high", "least_decimal", "greatest_decimal")
_DOUBLES = ["total", "rows_weighted", "present_weighted", "total_weighted", "rows_excess", "present_excess"]
_POWERS = ("present", "total", "squares", "cubes", "quads")
_DOUBLES += ["total_excess", "squares_excess", "cubes_excess", "quads_excess", "squares_weighted"]
_DOUBLES += ["sizes_weighted"]
_DOUBLES += [f"{name}_excess_squared" for name in _POWERS]
_COUNTED = ["counted_weighted", "counted_excess", "sampled_weighted", "sampled_excess", "sampled_excess_squared"]
_DOUBLES += ["rows_excess_squared", *_COUNTED]
_DOUBLES += ["greatest_weight", "least_number", "greatest_number"]
_TYPES = {
    **dict.fromkeys(_LONGS, pa.int64()),
    **dict.fromkeys(_TEXTS, pa.string()),
    **dict.fromkeys(_DECIMALS, pa.decimal128(38, 0)),
    **dict.fromkeys(_DOUBLES, pa.float64()),
    "moments": MOMENTS,
    "cohorts": COHORTS,
    "block_sums": pa.list_(pa.float32()),
}
_USUAL: Mapping[str, Any] = {
    **dict.fromkeys(("rows", "present", "rows_weighted", "present_weighted"), 1),
    **dict.fromkeys(("rows_excess", "present_excess", "total_excess", "squares_excess"), 0.0),
    **dict.fromkeys(("cubes_excess", "quads_excess", *(f"{name}_excess_squared" for name in _POWERS)), 0.0),
    "kind": ANSWER,
    "definition_id": 7,
    "slot": 0,
    "window_start": 0,
    "window_end": 10 * SECOND,
    "greatest_weight": 1.0,
}


def partials(*rows: Mapping[str, Any]) -> WindowPartials:
    """Window partials; what is left out is one row at rate 1, or null."""
    complete = [{**dict.fromkeys(_TYPES), **_USUAL, **row} for row in rows]
    columns = [pa.array([row[name] for row in complete], kind) for name, kind in _TYPES.items()]
    return WindowPartials(pa.RecordBatch.from_arrays(columns, names=list(_TYPES)))


def kept(rate: float, values: npt.ArrayLike, *, nulls: int = 0) -> dict[str, Any]:
    """The partials of one window of which each row was kept with probability `rate`, so many of them without a value.

    As on Spark, nothing tells of the rate if no row was kept.
    """
    weight = 1 / rate
    excess = weight * (weight - 1)
    numbers = np.asarray(values, np.float64)
    count = len(numbers)
    sums = [float((numbers**power).sum()) for power in range(5)]
    total = sums[1]
    mean = total / count if count else 0.0
    dispersion = float(((numbers - mean) ** 2).sum())
    return {
        "rows": count + nulls,
        "present": count,
        "total": total,
        "rows_weighted": (count + nulls) * weight,
        "present_weighted": count * weight,
        "total_weighted": total * weight,
        "rows_excess": (count + nulls) * excess,
        "squares_weighted": sums[2] * weight,
        **{f"{name}_excess": sums[power] * excess for power, name in enumerate(_POWERS)},
        **{f"{name}_excess_squared": sums[power] * excess**2 for power, name in enumerate(_POWERS)},
        "moments": [{"present": count, "mean": mean, "dispersion": dispersion, "weight": weight}] if count else [],
        "greatest_weight": weight if count + nulls else None,
        "least_number": float(numbers.min()) if count else None,
        "greatest_number": float(numbers.max()) if count else None,
    }


def together(*slices: Mapping[str, Any]) -> dict[str, Any]:
    """The partials of one window of which each slice was kept with a probability of its own."""
    extremes = {"greatest_weight": max, "least_number": min, "greatest_number": max}
    sums = [name for name in slices[0] if name not in {"moments", *extremes}]
    merged = {name: sum(one[name] for one in slices) for name in sums}
    moments = [moment for one in slices for moment in one["moments"]]
    found = {
        name: side((one[name] for one in slices if one[name] is not None), default=None)
        for name, side in extremes.items()
    }
    return {**merged, "moments": moments, **found}
