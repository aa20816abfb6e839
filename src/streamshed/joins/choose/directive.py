"""How much of a join a micro-batch is to do: what is written down before it runs, the same for every partition."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from streamshed.joins.choose.basic_window_size import merged_work, of_multiple, spread_over
from streamshed.joins.choose.expected_comparisons import ExpectedComparisons
from streamshed.joins.choose.join_policies import join_policy_named, plan_within
from streamshed.joins.choose.selection import CellWork, Prices
from streamshed.joins.windows.join_plan import JoinPlan, MemoryLimit
from streamshed.joins.windows.memory_shares import MemoryShares
from streamshed.joins.windows.yields import Yields


@dataclass(frozen=True, kw_only=True)
class JoinDirective:
    """Tells each partition which share of its comparisons to make; the partition chooses them by what it has stored.

    All partitions keep the same share of the cost of their own full join, so that one with many rows sheds as much of
    its work as one with few.

    Args:
        policy: The name of a shedding policy.
        work_share: r, the share of the cost of the full join that is to be spent, in [0, 1].
        yields: What cells were seen to yield, by weight where results have one.
        prices: What comparisons, results and reads cost.
        sampling: γ: of r, the share of new rows that is compared over all lags.
        seed: Of what chance decides.
        memory: How much of the windows partitions may keep; None: all.
        result_yields: Results per comparison, where they have a weight; None: `yields` are.
        sampling_code: Code of the rate at which rows of the sampled side are drawn; all rows drawn are compared. 0: no
            side is sampled, or all of its rows are drawn.
        basic_multiple: How many times the join's size basic windows are, which are chosen from as a whole.

    Example:
        >>> from streamshed.joins.model.join_windows import JoinWindows
        >>> yields = Yields((1e6, 1e6), (1e3, 2e3))
        >>> directive = JoinDirective(
        ...     policy="greedy", work_share=0.5, yields=yields, prices=Prices(), sampling=0.0, seed=1
        ... )
        >>> expected = ExpectedComparisons(
        ...     windows=JoinWindows(20, 0, 10), with_stored=(50.0, 50.0), among_new=(0.0, 0.0), reads=(1, 1)
        ... )
        >>> [round(one, 3) for one in directive.plan(expected, watermark_microseconds=None).fractions]
        [0.0, 1.0]
        >>> JoinDirective.from_document(directive.to_document()) == directive
        True
    """

    policy: str
    work_share: float
    yields: Yields
    prices: Prices
    sampling: float
    seed: int
    memory: MemoryShares | None = None
    result_yields: Yields | None = None
    sampling_code: int = 0
    basic_multiple: int = 1

    @property
    def is_full(self) -> bool:
        """Whether everything that the windows hold is to be compared."""
        return self.work_share >= 1.0

    def memory_limit(self, label: int) -> MemoryLimit | None:
        """Return how much of the windows a partition may keep."""
        return None if self.memory is None else MemoryLimit(bytes=self.memory.of(label), yields=self.yields)

    def cell_work(self, expected: ExpectedComparisons) -> CellWork:
        """Return what there is to choose from."""
        return CellWork(expected=expected, yields=self.yields, prices=self.prices, result_yields=self.result_yields)

    def plan(self, expected: ExpectedComparisons, *, watermark_microseconds: int | None) -> JoinPlan:
        """Return what a partition does.

        Args:
            expected: What its full join would compare.
            watermark_microseconds: As in `JoinPlan`.
        """
        fine = expected.windows
        coarse = of_multiple(fine, self.basic_multiple)
        work = merged_work(self.cell_work(expected), coarse)
        plan = plan_within(
            join_policy_named(self.policy),
            work,
            self.work_share * float(work.costs.sum()),
            plan=JoinPlan(
                watermark_microseconds=watermark_microseconds, seed=self.seed, basic_multiple=self.basic_multiple
            ),
            sampling=self.sampling,
        )
        return replace(plan, fractions=spread_over(plan.fractions or (), coarse, fine))

    def delivered_share(self, expected: ExpectedComparisons) -> float:
        """Return the share of the results of the full join that is to be expected, by what cells were seen to yield.

        Args:
            expected: What the full join would compare.
        """
        results = expected.comparisons * (self.result_yields or self.yields).per_comparison
        total = float(results.sum())
        if not total:
            return self.work_share
        plan = self.plan(expected, watermark_microseconds=None)
        return min(1.0, plan.keep_share**2 * float((results * (plan.fractions or ())).sum()) / total)

    def to_document(self) -> dict[str, Any]:
        """Return it as what JSON can hold."""
        return {
            "policy": self.policy,
            "work_share": self.work_share,
            **self.yields.to_document(),
            "found": None if self.result_yields is None else self.result_yields.to_document(),
            "prices": [self.prices.comparison, self.prices.result, self.prices.read],
            "sampling": self.sampling,
            "seed": self.seed,
            "memory": None if self.memory is None else self.memory.to_document(),
            "sampling_code": self.sampling_code,
            "basic_multiple": self.basic_multiple,
        }

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> JoinDirective:
        """Read what `to_document` wrote."""
        comparison, result, read = document["prices"]
        memory, result_yields = document.get("memory"), document.get("found")
        return cls(
            policy=document["policy"],
            work_share=document["work_share"],
            yields=Yields.from_document(document),
            result_yields=None if result_yields is None else Yields.from_document(result_yields),
            prices=Prices(comparison=comparison, result=result, read=read),
            sampling=document["sampling"],
            seed=document["seed"],
            memory=None if memory is None else MemoryShares.from_document(memory),
            sampling_code=document.get("sampling_code", 0),
            basic_multiple=document.get("basic_multiple", 1),
        )
