"""What is known of a join while it runs, and what its next micro-batch will take."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, astuple, dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from streamshed.joins.choose.basic_window_size import chosen_windows, merged_work, of_multiple
from streamshed.joins.choose.directive import JoinDirective
from streamshed.joins.choose.expected_comparisons import ExpectedComparisons
from streamshed.joins.choose.join_policies import SAMPLING
from streamshed.joins.choose.selection import CellWork, Prices
from streamshed.joins.learn.learned_prices import HALF_LIFE_MICRO_BATCHES, LearnedPrices, TimeBudget
from streamshed.joins.learn.partition_report import PartitionReport
from streamshed.joins.model.arrays import Floats
from streamshed.joins.model.join_windows import JoinWindows
from streamshed.joins.windows.yields import Yields

_LEAST_COMPARISON_SECONDS = 3e-10
"""A tenth of what is believed before anything was measured."""
_KEPT = 0.5 ** (1.0 / HALF_LIFE_MICRO_BATCHES)


@dataclass(frozen=True, slots=True)
class Arrived:
    """Rows that came to a join, the comparisons of its full join, and the time it took; older ones count less.

    Args:
        left: Rows of the left side.
        right: Rows of the right side.
        comparisons: Of the full join.
        seconds: How long.
    """

    left: float = 0.0
    right: float = 0.0
    comparisons: float = 0.0
    seconds: float = 0.0

    def and_then(self, later: Arrived) -> Arrived:
        """Return it after a micro-batch."""
        pairs = zip(astuple(self), astuple(later), strict=True)
        return Arrived(*(_KEPT * known + told for known, told in pairs))

    @property
    def per_second(self) -> tuple[float, float] | None:
        """λ1 and λ2; None: nothing came yet."""
        return (self.left / self.seconds, self.right / self.seconds) if self.seconds > 0 else None


@dataclass(frozen=True, kw_only=True)
class JoinKnowledge:
    """Yields, prices and sizes of a join, from what its partitions told of earlier micro-batches.

    n new rows are compared with those of the windows, s, and with one another: about n·(s + n/2) times some density d,
    which depends on windows, rates and keys, changes slowly, and is measured in every micro-batch.

    Args:
        windows: The windows of the join.
        yields: What cells yield, by weight where results have one.
        prices: What everything takes.
        density: d, comparisons per n·(s + n/2).
        taken_share: Rows that come to the join ÷ rows that its streams were offered.
        stored_rows: s; of a join whose rows are sampled, as many as it would be without.
        basic_windows: How many are stored.
        cells: Per cell, its share of the comparisons of the full join.
        partitions: How many were called in a micro-batch.
        last_rows: Rows that its streams were offered in the last micro-batch.
        weight: The weight of results, as a canonical text; None: all count 1.
        result_yields: Results per comparison, where they have a weight; None: `yields` are.
        arrived: How many rows came to it, and in which time.
        halves: What cells yield by every other micro-batch, and by those between: what is chosen by the one is judged
            by the other. The first is of those that come next.
        basic_multiple: How many times the join's size basic windows are.

    Example:
        >>> known = JoinKnowledge.initial(JoinWindows(20, 0, 10))
        >>> round(known.full_seconds(1000), 3), round(known.full_seconds(100_000), 3)
        (0.006, 3.855)
    """

    windows: JoinWindows
    yields: Yields
    prices: LearnedPrices = field(default_factory=LearnedPrices)
    density: float = 0.25
    taken_share: float = 1.0
    stored_rows: float = 0
    basic_windows: int = 0
    cells: tuple[float, ...]
    partitions: int = 1
    last_rows: int = 0
    weight: str | None = None
    result_yields: Yields | None = None
    arrived: Arrived = Arrived()
    halves: tuple[Yields, Yields]
    basic_multiple: int = 1

    @classmethod
    def initial(
        cls, windows: JoinWindows, weight: str | None = None, prices: LearnedPrices | None = None
    ) -> JoinKnowledge:
        """Return what is known before anything was compared.

        Args:
            windows: The windows of the join.
            weight: As in `JoinKnowledge`.
            prices: What everything is believed to take; None: a guess.
        """
        even, unknown = (1.0 / windows.cells,) * windows.cells, Yields.unknown(windows.cells)
        return cls(
            windows=windows,
            yields=unknown,
            cells=even,
            weight=weight,
            result_yields=None if weight is None else unknown,
            halves=(unknown, unknown),
            prices=prices or LearnedPrices(),
        )

    def compared_share(self, event_seconds_per_second: float = 1.0) -> float:
        """Return the share that the full join compares of the λ1·λ2·(w1 + w2) pairs within its windows; 1 if unknown.

        Args:
            event_seconds_per_second: How fast event time goes by, which windows are of.
        """
        left, right = self.arrived.per_second or (0.0, 0.0)
        pairs = left * right * self.windows.span_microseconds / 1e6 / event_seconds_per_second
        return min(1.0, self.arrived.comparisons / self.arrived.seconds / pairs) if pairs > 0 else 1.0

    @property
    def mean_yield(self) -> float:
        """Results per comparison of the full join."""
        return float(np.array(self.cells) @ self.results_per_comparison)

    @property
    def results_per_comparison(self) -> Floats:
        """Of each cell, whatever they are worth."""
        return np.array((self.result_yields or self.yields).per_comparison)

    def full_seconds(self, offered_rows: int) -> float:
        """Return what the full join of a micro-batch takes of a core.

        Args:
            offered_rows: Rows that the streams are offered.
        """
        learned, rows = self.prices.by_name, self.taken_share * offered_rows
        comparisons = self._comparisons(rows)
        return float(
            learned["fixed"] * self.partitions
            + learned["row"] * rows
            + learned["read"] * self.basic_windows
            + learned["comparison"] * comparisons.sum()
            + learned["result"] * (comparisons * self.results_per_comparison).sum()
        )

    @property
    def choice_prices(self) -> Prices:
        """The prices by which cells are chosen: a comparison always costs something, or all would be made."""
        learned = self.prices.prices
        return replace(learned, comparison=max(learned.comparison, _LEAST_COMPARISON_SECONDS))

    def directive(
        self,
        policy: str,
        work_share: float,
        *,
        micro_batch_id: int,
        offered_rows: int,
        sampling: float = SAMPLING,
    ) -> JoinDirective:
        """Return what the partitions are to do.

        Args:
            policy: The name of a shedding policy.
            work_share: The share of the cost of the full join that is to be spent.
            micro_batch_id: Which.
            offered_rows: Rows that the streams are offered.
            sampling: γ.
        """
        budget = TimeBudget(
            seconds=work_share * self.full_seconds(offered_rows),
            learned=self.prices,
            rows=offered_rows,
            basic_windows=self.basic_windows,
        )
        return JoinDirective(
            policy=policy,
            work_share=work_share,
            yields=self.yields,
            prices=self.choice_prices,
            sampling=budget.sampling(micro_batch_id, sampling),
            seed=micro_batch_id,
            result_yields=self.result_yields,
            basic_multiple=self.basic_multiple,
        )

    def with_chosen_size(self, work_share: float, offered_rows: int) -> JoinKnowledge:
        """Return it with basic windows of the size that is expected to give most ([G05] §6, Fig. 9).

        Small ones follow the yields of lags closely, but each that is read costs a read.

        Args:
            work_share: The share of the cost of the full join that is to be spent.
            offered_rows: Rows that the streams are offered.
        """
        if not all(any(half.results) for half in self.halves):
            return self
        reads = self.basic_windows * self.basic_multiple / self.windows.cells
        expected = replace(self.expected(offered_rows), reads=(reads,) * self.windows.cells)
        work = CellWork(
            expected=expected, yields=self.halves[0], prices=self.choice_prices, result_yields=self.result_yields
        )
        spent = work_share * float(merged_work(work, of_multiple(self.windows, self.basic_multiple)).costs.sum())
        chosen = chosen_windows(work, self.halves[1], spent, multiple=self.basic_multiple)
        return replace(self, basic_multiple=chosen.basic_microseconds // self.windows.basic_microseconds)

    def expected(self, offered_rows: int) -> ExpectedComparisons:
        """Return what the full join of a micro-batch compares, all partitions together.

        Args:
            offered_rows: Rows that the streams are offered.
        """
        comparisons = tuple(self._comparisons(self.taken_share * offered_rows).tolist())
        nothing = (0.0,) * self.windows.cells
        return ExpectedComparisons(
            windows=self.windows, with_stored=comparisons, among_new=nothing, reads=(0,) * self.windows.cells
        )

    def updated(
        self, reports: Sequence[PartitionReport], *, offered_rows: int, elapsed_seconds: float
    ) -> JoinKnowledge:
        """Return what is known after a micro-batch.

        Args:
            reports: Of its partitions.
            offered_rows: Rows that the streams were offered.
            elapsed_seconds: Since the one before.
        """
        if not reports:
            return self
        prices, chosen_by = self.prices, self.choice_prices
        for report in reports:
            prices = prices.update(report.work, seconds=report.seconds)
        rows, left = (sum(getattr(one, name) for one in reports) for name in ("full_rows", "full_left_rows"))
        expected, made = total(reports, "expected"), total(reports, "comparisons")
        costs = expected * (chosen_by.comparison + chosen_by.result * self.results_per_comparison)
        seen = partial(Yields.update, comparisons=made, seconds=elapsed_seconds, full=expected, costs=costs)
        weight = total(reports, "weight")
        next_half, last_half = self.halves
        could = rows * (self.stored_rows + rows / 2)
        tells = bool(rows and expected.sum())
        return replace(
            self,
            yields=seen(self.yields, results=weight),
            halves=(last_half.faded(elapsed_seconds), seen(next_half, results=weight)),
            result_yields=self.result_yields and seen(self.result_yields, results=total(reports, "results")),
            prices=prices,
            density=float(expected.sum()) / could if tells else self.density,
            taken_share=rows / offered_rows if offered_rows else self.taken_share,
            stored_rows=round(sum(report.full_stored_rows for report in reports)),
            basic_windows=sum(report.basic_windows for report in reports),
            cells=tuple((expected / expected.sum()).tolist()) if tells else self.cells,
            partitions=len(reports),
            last_rows=offered_rows,
            arrived=self.arrived.and_then(Arrived(left, rows - left, float(expected.sum()), elapsed_seconds)),
        )

    def to_document(self) -> dict[str, Any]:
        """Return it as what JSON can hold; windows are left out."""
        return {
            **self.yields.to_document(),
            "weight": self.weight,
            "found": None if self.result_yields is None else self.result_yields.to_document(),
            "squares": self.prices.squares.tolist(),
            "products": self.prices.products.tolist(),
            "arrived": asdict(self.arrived),
            "density": self.density,
            "taken_share": self.taken_share,
            "stored_rows": self.stored_rows,
            "basic_windows": self.basic_windows,
            "cells": list(self.cells),
            "partitions": self.partitions,
            "last_rows": self.last_rows,
            "halves": [half.to_document() for half in self.halves],
            "basic_multiple": self.basic_multiple,
        }

    @classmethod
    def from_document(
        cls,
        document: Mapping[str, Any],
        windows: JoinWindows,
        weight: str | None = None,
        prices: LearnedPrices | None = None,
    ) -> JoinKnowledge:
        """Read what `to_document` wrote; nothing of it holds for other windows, and no yields for another weight.

        Args:
            document: What it wrote.
            windows: The windows of the join.
            weight: As in `JoinKnowledge`.
            prices: As in `initial`, where nothing else was measured.
        """
        initial = cls.initial(windows, weight, prices)
        if len(document["cells"]) != windows.cells:
            return initial
        yields, yields_document = Yields.from_document(document), document.get("found")
        results = yields if yields_document is None else Yields.from_document(yields_document)
        if weight is None:
            yields = results
        elif weight != document.get("weight"):
            yields = initial.yields
        halves = [Yields.from_document(half) for half in document.get("halves", ())]
        rest = ("density", "taken_share", "stored_rows", "basic_windows", "partitions", "last_rows")
        return cls(
            windows=windows,
            yields=yields,
            weight=weight,
            result_yields=None if weight is None else results,
            prices=replace(
                initial.prices,
                squares=np.array(document["squares"]),
                products=np.array(document["products"]),
            ),
            arrived=Arrived(**document.get("arrived", {})),
            cells=tuple(document["cells"]),
            halves=(halves[0], halves[1]) if halves and weight == document.get("weight") else initial.halves,
            basic_multiple=document.get("basic_multiple", 1),
            **{name: document[name] for name in rest},
        )

    def _comparisons(self, rows: float) -> Floats:
        comparisons: Floats = self.density * rows * (self.stored_rows + rows / 2) * np.array(self.cells)
        return comparisons


def total(reports: Sequence[PartitionReport], counts: str) -> Floats:
    """Return counts per cell, all partitions together.

    Args:
        reports: Of the partitions, one at least.
        counts: The name of the counts.
    """
    added: Floats = np.sum([getattr(report, counts) for report in reports], axis=0)
    return added
