"""What other queries would cost a network that runs, and whose answers would pay for it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass

from streamshed.control.lasting_load import load_planner
from streamshed.control.settings import ControlSettings
from streamshed.network.model.network import QueryNetwork
from streamshed.network.words.notebook import Shown
from streamshed.network.words.wording import count_text, share_text
from streamshed.planning.explain.explanation import Explanation
from streamshed.planning.explain.outlook import Outlook
from streamshed.statistics.guess import believed_statistics
from streamshed.statistics.join_sides import with_sides
from streamshed.statistics.network_statistics import NetworkStatistics

_SAME, _NOTICEABLE = 1e-6, 0.01


@dataclass(frozen=True, repr=False)
class ExplainedChange(Shown):
    """A network beside the one that is to follow it, at the same load; `str` writes it for a person.

    Attributes:
        before: What runs.
        after: What is to follow.
    """

    before: Explanation
    after: Explanation

    @property
    def added_seconds(self) -> float:
        """How much more work a micro-batch has when nothing is shed."""
        return self.after.unshed_seconds - self.before.unshed_seconds

    @property
    def fits(self) -> bool:
        """Whether the work that is left when all is shed that is worth it fits."""
        return self.after.expected_seconds <= self.after.budget_seconds * (1 + _SAME)

    @property
    def payers(self) -> tuple[str, ...]:
        """The queries before whose answers get worse, from at least a hundredth fewer rows or windows."""
        after = outlooks_of(self.after)
        return tuple(
            name
            for name, outlook in outlooks_of(self.before).items()
            if name in after and _is_worse(after[name], outlook)
        )

    def to_json(self) -> str:
        """Return it as one JSON object."""
        before, after = asdict(self.before), asdict(self.after)
        more = {"added_seconds": self.added_seconds, "payers": list(self.payers)}
        return json.dumps({"before": before, "after": after, **more}, indent=2)

    def __str__(self) -> str:
        rows, fits = count_text(self.before.rows_per_second), self.before.budget_seconds
        width = max(len("query"), *(len(name) for name in outlooks_of(self.before) | outlooks_of(self.after)))
        work = f"a micro-batch has {self.before.unshed_seconds:.3g} s of work for {fits:.3g} s"
        lines = [
            f"at {rows} rows/s {work}, with the change {self.after.unshed_seconds:.3g} s ({self.added_seconds:+.3g} s)",
            f"under its plan {self.after.expected_seconds:.3g} s{'' if self.fits else ': MORE THAN THERE IS'}",
            f"whose answers get worse: {', '.join(self.payers) or 'none'}",
            "",
            f"{'query':<{width}}  {'before':<28}  after",
            *self._rows(width),
        ]
        return "\n".join(lines)

    def _rows(self, width: int) -> Iterator[str]:
        before, after = outlooks_of(self.before), outlooks_of(self.after)
        for name in before | after:
            yield f"{name:<{width}}  {_expected(before.get(name)):<28}  {_expected(after.get(name))}".rstrip()


def explain_change(
    before: QueryNetwork,
    after: QueryNetwork,
    statistics: NetworkStatistics,
    control: ControlSettings,
    *,
    load: float = 1.0,
) -> ExplainedChange:
    """Tell what a change of queries would cost, and whose answers would pay for it.

    Args:
        before: What runs.
        after: What is to follow.
        statistics: What is known of what runs; what is new is guessed.
        control: How it is run; each network has the latency goal of its queries.
        load: How many times as many rows come as by the statistics.

    Raises:
        InvalidNetworkError: A latency goal of a query cannot be.
        InvalidStatisticsError: No load is sustained, or every load is.

    Example:
        >>> from streamshed.network.model.network import network
        >>> from streamshed.network.source.sources import rate
        >>> from streamshed.network.model.declared_stream import stream
        >>> from streamshed.statistics.guess import guessed_statistics
        >>> ticks = stream("ticks", rate(100), time="timestamp")
        >>> n = ticks.window("1 minute").agg(n="count(*)").query("n")
        >>> dear = ticks.apply(lambda value: value, columns=["value"], into="score", returns="int")
        >>> scores = dear.window("1 minute").agg(total="sum(score)").query("scores")
        >>> change = explain_change(
        ...     network(n),
        ...     network(n, scores),
        ...     guessed_statistics(network(n)),
        ...     ControlSettings(trigger_interval_seconds=2.0),
        ...     load=3.0,
        ... )
        >>> print(change)
        at 300 k rows/s a micro-batch has 0.67 s of work for 1.6 s, with the change 3.08 s (+2.41 s)
        under its plan 1.6 s
        whose answers get worse: none
        <BLANKLINE>
        query   before                        after
        n       exact                         exact
        scores  -                             P 0.384, error 0.03 %
    """

    def explained(network: QueryNetwork) -> Explanation:
        foundation = network.foundation
        believed = with_sides(foundation, believed_statistics(foundation, statistics), statistics)
        planner = load_planner(network, believed, control)
        return planner.plan(load * planner.usual_rows_per_second)

    return ExplainedChange(explained(before), explained(after))


def outlooks_of(explanation: Explanation) -> dict[str, Outlook]:
    """Return what is to be expected of each query, by its name."""
    return {outlook.query: outlook for outlook in explanation.outlooks}


def _is_worse(after: Outlook, before: Outlook) -> bool:
    def share(outlook: Outlook) -> float:
        return outlook.effective_sampling_rate * (1.0 if outlook.kept_share is None else outlook.kept_share)

    return share(after) < share(before) * (1 - _NOTICEABLE)


def _expected(outlook: Outlook | None) -> str:
    """What is to be expected of a query, in a few words."""
    if outlook is None:
        return "-"
    if outlook.kept_share is not None:
        return f"{share_text(outlook.kept_share)} of its windows"
    misses = "" if outlook.meets_goal else f", MISSES {outlook.goal}"
    if outlook.effective_sampling_rate >= 1:
        return "exact"
    return f"P {outlook.effective_sampling_rate:.3g}, error {outlook.error_text}{misses}"
