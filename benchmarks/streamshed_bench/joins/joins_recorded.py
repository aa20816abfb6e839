"""What policies deliver of joins of recorded streams, at five times the load that the budget is enough for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import numpy as np

from streamshed.joins.choose.join_policies import JOIN_POLICIES, JoinPolicy
from streamshed.network.terms.join_shedding import DEFAULT_JOIN_POLICY_NAME
from streamshed_bench.joins.join_recordings import OVERLOAD, SENSORS, TRACES, lag_profile, recorded_joins
from streamshed_bench.joins.join_runs import FULL, JoinRun

HOURS, QUICK_HOURS = 6, 1
"""Of the alerts of each scenario."""
DROPS = 5
"""Runs of random drop, whose mean counts."""
NAMES = (*("_".join(sensors).lower() for sensors in SENSORS), *(f"mooncake_{trace}" for trace in TRACES))


@dataclass(frozen=True, kw_only=True)
class RecordedRuns:
    """One join of recorded streams.

    Args:
        by_policy: Its runs, `FULL` among them; of each choice of rows one of each stretch.
        profile: Seconds of lag, right row − left row, and results per comparison in the full join.
    """

    by_policy: Mapping[str, Sequence[Sequence[JoinRun]]]
    profile: Sequence[tuple[float, float]]

    def results(self, policy: str) -> float:
        """Return how many results there were, the mean over choices of rows."""
        return sum(run.total_results for run in chain(*self.by_policy[policy])) / len(self.by_policy[policy])

    def share(self, policy: str) -> float:
        """Return which share of the full join was delivered."""
        return self.results(policy) / max(1, self.results(FULL))

    @property
    def most_share(self) -> float:
        """Which share of the full join could be delivered by whoever knew what each lag gives in each micro-batch."""
        return sum(run.most_results(1.0 / OVERLOAD) for run in self.by_policy[FULL][0]) / max(1, self.results(FULL))

    def comparisons(self, policy: str) -> float:
        """Return how many comparisons were made."""
        return sum(sum(run.comparisons) for run in chain(*self.by_policy[policy])) / len(self.by_policy[policy])

    def share_by_stretch(self, policy: str) -> list[float]:
        """Return which share of the full join was delivered of each stretch."""
        stretches = zip(*self.by_policy[policy], strict=True)
        of_full = [max(1, run.total_results) for run in self.by_policy[FULL][0]]
        return [
            float(np.mean([run.total_results for run in runs])) / full
            for runs, full in zip(stretches, of_full, strict=True)
        ]


def run_recorded(
    recordings: Path, *, hours: int, seed: int, progress: Callable[[str], None]
) -> Mapping[str, RecordedRuns]:
    """Run every join of recorded streams in full and under each policy.

    Raises:
        MissingRecordingsError: A recording is not in the folder.
    """
    runs_by_join = {}
    for join in recorded_joins(recordings, hours=hours, seed=seed):
        progress(join.name)
        full = join.full_runs()
        policies = {
            policy.name: [join.runs(policy.name, full, seed=number) for number in range(_seeds(policy))]
            for policy in JOIN_POLICIES
        }
        runs_by_join[join.name] = RecordedRuns(by_policy={FULL: [full], **policies}, profile=lag_profile(join, full))
    return runs_by_join


def recorded_figures(runs: Mapping[str, RecordedRuns]) -> dict[str, float]:
    """Return what the default policy delivers of each full join, ÷ what random drop does, and what could be."""
    figures = {}
    for name, of in runs.items():
        figures[f"{name}_share"] = of.share(DEFAULT_JOIN_POLICY_NAME)
        figures[f"{name}_most_share"] = of.most_share
        figures[f"{name}_gain"] = of.results(DEFAULT_JOIN_POLICY_NAME) / max(1, of.results("random_drop"))
    return figures


def recorded_document(runs: Mapping[str, RecordedRuns]) -> list[dict[str, object]]:
    """Return the runs as what JSON can hold."""
    return [
        {
            "join": name,
            "overload": OVERLOAD,
            "results": of.results(FULL),
            "comparisons": of.comparisons(FULL),
            "micro_batches": sum(len(run.results) for run in of.by_policy[FULL][0]),
            "most_share": of.most_share,
            "share_delivered": {policy: of.share(policy) for policy in of.by_policy},
            "share_delivered_by_stretch": {policy: of.share_by_stretch(policy) for policy in of.by_policy},
            "share_compared": {policy: of.comparisons(policy) / of.comparisons(FULL) for policy in of.by_policy},
            "results_per_comparison_by_lag_seconds": [list(pair) for pair in of.profile],
        }
        for name, of in runs.items()
    ]


def _seeds(policy: JoinPolicy) -> int:
    """A policy that drops rows may keep or drop the few rows that most results are of."""
    return 1 if policy.name != "random_drop" else DROPS
