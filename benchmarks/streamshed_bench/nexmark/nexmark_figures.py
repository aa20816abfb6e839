"""What the benchmark `nexmark` says of each query, and of each load."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from dataclasses import dataclass

from streamshed_bench.nexmark.side_by_side import RowCheck
from streamshed_bench.nexmark.statements import NOT_EXPRESSIBLE
from streamshed_bench.speed.goodput_figures import LoadFigures


@dataclass(frozen=True, slots=True, kw_only=True)
class QuerySpeeds:
    """How fast one query was, in rows per second, one value per round.

    Args:
        ours: As a network of its own.
        native: In plain Spark; empty: it refuses the query.
        refusal: What plain Spark says then.
        check: How the answers compare.
    """

    ours: tuple[float, ...]
    native: tuple[float, ...]
    refusal: str | None = None
    check: RowCheck


@dataclass(frozen=True, slots=True, kw_only=True)
class UnderLoad:
    """How the network of windows did at one load.

    Args:
        figures: Useful rows, and delay.
        error: Mean relative error of the sampled answers; None without any.
        windows_delivered: Share of the windows of queries that drop windows which were delivered; None without any.
        wrong: Answers of such windows that are not the exact ones.
    """

    figures: LoadFigures
    error: float | None
    windows_delivered: float | None
    wrong: int


def query_figures(speeds: Mapping[str, QuerySpeeds], *, cores: int) -> dict[str, float | None]:
    """Condense the speeds of queries; what cannot be asked is None.

    Args:
        speeds: By query.
        cores: How many there are.

    Example:
        >>> speeds = QuerySpeeds(ours=(40.0, 60.0), native=(20.0, 20.0), check=RowCheck(compared=5, different=0))
        >>> figures = query_figures({"q0": speeds}, cores=2)
        >>> figures["q0_rows_per_second_per_core"], figures["q0_ratio_to_native"], figures["q4_ratio_to_native"]
        (25.0, 2.5, None)
    """
    figures: dict[str, float | None] = {}
    for name in sorted([*speeds, *NOT_EXPRESSIBLE], key=lambda query: int(query[1:])):
        ours, native = (speeds[name].ours, speeds[name].native) if name in speeds else ((), ())
        figures[f"{name}_rows_per_second_per_core"] = _median(ours, cores)
        figures[f"{name}_rows_per_second_per_core_native"] = _median(native, cores)
        figures[f"{name}_ratio_to_native"] = median_ratio(ours, native)
    ratios = [ratio for of in speeds.values() if (ratio := median_ratio(of.ours, of.native)) is not None]
    figures["ratio_to_native"] = statistics.geometric_mean(ratios) if ratios else None
    figures["rows_compared"] = float(sum(of.check.compared for of in speeds.values()))
    figures["rows_different"] = float(sum(of.check.different for of in speeds.values()))
    return figures


def load_figures_of(loaded: Mapping[float, UnderLoad], sustained: float, *, cores: int) -> dict[str, float | None]:
    """Condense what happened at loads.

    Args:
        loaded: By load, as a multiple of what is sustained.
        sustained: Rows per second that are sustained without shedding.
        cores: How many there are.
    """
    figures: dict[str, float | None] = {"rows_per_second_per_core_sustained": sustained / cores}
    for load, under in loaded.items():
        figures[f"useful_rows_per_second_per_core_at_{load:g}"] = under.figures.useful_rows_per_second / cores
        figures[f"delay_ratio_at_{load:g}"] = under.figures.delay_ratio
        figures[f"error_at_{load:g}"] = under.error
        figures[f"windows_delivered_at_{load:g}"] = under.windows_delivered
    return figures | {"wrong_answers": float(sum(under.wrong for under in loaded.values()))}


def median_ratio(ours: tuple[float, ...], native: tuple[float, ...]) -> float | None:
    """Return the median of the rounds' own ratios; None where one of them was not measured."""
    if not ours or not native:
        return None
    return statistics.median(mine / other for mine, other in zip(ours, native, strict=True))


def _median(speeds: tuple[float, ...], cores: int) -> float | None:
    return statistics.median(speeds) / cores if speeds else None
