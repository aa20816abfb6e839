"""Where to drop windows, and how many: [T06] Figures 10 to 13, each place and shape in a run of its own."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from streamshed.network.terms.window import WindowSpecification
from streamshed_bench.runs.workplace import Workplace
from streamshed_bench.windows.drop_queries import BATCH, INNER, OUTER, fork_network, nested_network, shape_network
from streamshed_bench.windows.drop_runs import DropRun, DropRunSizes, run_drops
from streamshed_bench.windows.savings import drop_share_for

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EXCESSES = tuple(number / 20 for number in range(20))
"""x of Figures 10 and 11."""
HIGH_EXCESS = 0.9
EXCESS = 0.25
"""x of Figures 12 and 13."""

NESTED = DropRunSizes(rows=120_000, window=INNER * OUTER, span=INNER * OUTER, drop_shares=(0.0, 0.45, 0.9), counted=2)
FORKED = DropRunSizes(rows=3_000, window=INNER, span=INNER, drop_shares=(0.0, 0.45, 0.9), counted=2)
SHAPES = ((20, 20), (60, 60), (100, 100), (20, 1), (100, 1), (100, 5), (100, 10), (100, 20), (100, 50))
"""ω and δ, in rows: tumbling and sliding by one (Figure 12), and the slides of the largest window (Figure 13)."""
_SHAPE_ROWS = 3_000


@dataclass(frozen=True, slots=True, kw_only=True)
class DropPlaces:
    """What the runs showed.

    Args:
        nested: Figure 10, by place.
        forked: Figure 11, by place.
        shapes: Figures 12 and 13, by ω and δ.
    """

    nested: Mapping[str, DropRun] = field(default_factory=dict)
    forked: Mapping[str, DropRun] = field(default_factory=dict)
    shapes: Mapping[tuple[int, int], DropRun] = field(default_factory=dict)

    def figures(self) -> dict[str, float]:
        """Condense them into the benchmark's figures."""
        if not self.nested:
            return {}
        runs = (*self.nested.values(), *self.forked.values(), *self.shapes.values())
        delivered = {name: one.curve.delivered(HIGH_EXCESS) for name, one in self.nested.items()}
        return {
            "delivered_at_excess_90": delivered["input"],
            "delivered_at_excess_90_middle": delivered["middle"],
            "delivered_at_excess_90_output": delivered["output"],
            "output_drop_stops_at": self.nested["output"].curve.stops_at,
            "earliest_is_best": float(_is_ordered(self.nested) and _is_ordered(self.forked)),
            "wrong_answers_at_places": float(sum(one.wrong for one in runs)),
            "answers_at_places": float(sum(one.answers for one in runs)),
            "largest_error_of_model": max(
                abs(self.needed_drop(*shape) - self.predicted_drop(*shape)) for shape in self.shapes
            ),
        }

    def needed_drop(self, size: int, slide: int) -> float:
        """Return the measured share of windows to drop at the excess of Figures 12 and 13; 1: all are not enough."""
        return min(1.0, 1 - self.shapes[size, slide].curve.kept_at(EXCESS))

    def predicted_drop(self, size: int, slide: int) -> float:
        """Return that share by the savings model ([T06] §3.6), given what a micro-batch costs with nothing kept."""
        return predicted_drop(size, slide, self._unsaved_share)

    def to_document(self) -> dict[str, object]:
        """Return what JSON can hold."""
        return {
            "nested": {name: drop_run.to_document(EXCESSES) for name, drop_run in self.nested.items()},
            "forked": {name: drop_run.to_document(EXCESSES) for name, drop_run in self.forked.items()},
            "unsaved_share": self._unsaved_share,
            "shapes": [
                {
                    "size_rows": size,
                    "slide_rows": slide,
                    "needed_drop": self.needed_drop(size, slide),
                    "predicted_drop": self.predicted_drop(size, slide),
                    "predicted_drop_without_fixed_cost": predicted_drop(size, slide),
                    **drop_run.to_document((EXCESS,)),
                }
                for (size, slide), drop_run in self.shapes.items()
            ],
        }

    @property
    def _unsaved_share(self) -> float:
        """The share of a micro-batch that drops cannot save: what tumbling windows dropped at the input leave."""
        tumbling = [one.curve for (size, slide), one in self.shapes.items() if size == slide]
        shares = [max(0.0, one.seconds(0.0)) / one.seconds(1.0) for one in tumbling]
        return sum(shares) / len(shares) if shares else 0.0


def predicted_drop(size: int, slide: int, unsaved_share: float = 0.0) -> float:
    """Return p of the savings model at the excess of Figures 12 and 13: equal delays per row and per answer.

    Args:
        size: ω, in rows.
        slide: δ.
        unsaved_share: The share of a micro-batch's time that is neither.

    Example:
        >>> round(predicted_drop(100, 100), 3), round(predicted_drop(100, 1), 3), round(predicted_drop(20, 20, 0.2), 3)
        (0.2, 0.4, 0.25)
    """
    saved_excess = EXCESS / (1 + EXCESS) / (1 - unsaved_share)
    window = WindowSpecification(size, slide)
    return drop_share_for(
        window, BATCH, excess=saved_excess / (1 - saved_excess), above_seconds=1.0, below_seconds=1.0 / slide
    )


def drops_at_places(
    spark: SparkSession,
    place: Workplace,
    progress: Callable[[str, float], None],
) -> DropPlaces:
    """Run all of them.

    Args:
        spark: The session.
        place: Where rows and checkpoints are kept.
        progress: Told what is done, and which share.

    Raises:
        UnfinishedBenchmarkError: It takes too long, or a query has failed.
    """
    from streamshed_bench.runs.fixed_drops import DropPlace

    of_nested = {"input": DropPlace.INPUT, "middle": DropPlace.MIDDLE, "output": DropPlace.OUTPUT}
    of_forked = {"shared": DropPlace.INPUT, "split": DropPlace.SPLIT, "per_output": DropPlace.MIDDLE}
    total = len(of_nested) + len(of_forked) + len(SHAPES)
    nested, forked, by_shape = {}, {}, {}
    for number, (name, where) in enumerate(of_nested.items()):
        progress(f"nested windows, dropped at the {name}", number / total)
        nested[name] = run_drops(nested_network, spark, place, where, NESTED)
    for number, (name, where) in enumerate(of_forked.items(), len(of_nested)):
        progress(f"a fork, dropped {name.replace('_', ' ')}", number / total)
        forked[name] = run_drops(fork_network, spark, place, where, FORKED)
    for number, (size, slide) in enumerate(SHAPES, len(of_nested) + len(of_forked)):
        progress(f"windows of {size} rows every {slide}", number / total)
        sizes = DropRunSizes(rows=_SHAPE_ROWS, window=slide, span=size, drop_shares=(0.0, 0.25, 0.5), counted=2)
        network_over = partial(shape_network, size=size, slide=slide)
        by_shape[size, slide] = run_drops(network_over, spark, place, DropPlace.INPUT, sizes)
    return DropPlaces(nested=nested, forked=forked, shapes=by_shape)


def _is_ordered(by_place: Mapping[str, DropRun]) -> bool:
    """Tell whether at every excess an earlier place delivers no less than the next; they stand in order."""
    shares = [[one.curve.delivered(excess) for excess in EXCESSES[1:]] for one in by_place.values()]
    return all(
        before >= after
        for earlier, later in itertools.pairwise(shares)
        for before, after in zip(earlier, later, strict=True)
    )
