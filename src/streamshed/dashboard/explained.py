"""An explanation as text: the network as a tree with its samplers, and what its queries may expect."""

from __future__ import annotations

from collections.abc import Sequence

from streamshed.dashboard.explained_join import joined_lines
from streamshed.network.terms.gap import GapsBy
from streamshed.network.words.wording import count_text, share_text
from streamshed.planning.explain.explained_steps import Step
from streamshed.planning.explain.explanation import Explanation
from streamshed.planning.explain.outlook import Outlook


def explained(explanation: Explanation) -> str:
    """Write an explanation for a person.

    Example:
        >>> step = Step(name="packets", address="packets", depth=0, seconds=3.0, effective_sampling_rate=0.4,
        ...     sampling_rate=0.4)
        >>> outlook = Outlook(query="tcp", effective_sampling_rate=0.4, expected_error=0.012, bound_by="packets",
        ...     is_protected=False)
        >>> print(explained(Explanation(policy="least_error", load_factor=3.0, rows_per_second=2e6,
        ...     trigger_interval_seconds=2.0, budget_seconds=1.6, unshed_seconds=4.1, unsheddable_seconds=0.4,
        ...     expected_seconds=1.6, steps=(step,), outlooks=(outlook,))))
        3 times what is sustained: 2 M rows/s, 4.1 s of work for 1.6 s, 0.4 s of it for reading and fixed cost
        policy least_error: 1.6 s
        <BLANKLINE>
        P        sampler         work s
        0.4      × 0.4            3.000  packets
        <BLANKLINE>
        query                                 P    error  bound by
        tcp                              0.4       1.2 %  packets
    """
    e = explanation
    load = f"{e.load_factor:g} times what is sustained: {count_text(e.rows_per_second)} rows/s"
    work = f"{e.unshed_seconds:.3g} s of work for {e.budget_seconds:.3g} s"
    lines = [
        f"{load}, {work}, {e.unsheddable_seconds:.3g} s of it for reading and fixed cost",
        f"policy {e.policy}{_bound(e)}: {e.expected_seconds:.3g} s{_saturation(e)}",
        "",
        f"{'P':<8} {'sampler':<13} {'work s':>8}",
        *_tree(e.steps),
        "",
        f"{'query':<32} {'P':>6} {'error':>8}  bound by",
        *map(_line, e.outlooks),
        *(line for join in e.joins for line in ("", *joined_lines(join))),
    ]
    return "\n".join(lines)


def _bound(explanation: Explanation) -> str:
    return "" if explanation.hoeffding is None else f" ({explanation.hoeffding})"


_MOST_NAMED = 3
"""So many queries are named that leave no time for others, the dearest first."""


def _saturation(explanation: Explanation) -> str:
    e = explanation
    if not e.is_saturated:
        is_more = e.expected_seconds > e.budget_seconds * (1 + 1e-6)
        return ", which still fits, but for headroom: to shed more would save next to nothing" if is_more else ""
    dearest = sorted(e.whole_seconds.items(), key=lambda one: -one[1])
    whole = ", ".join(f"{query} {seconds:.3g} s" for query, seconds in dearest[:_MOST_NAMED])
    alone = f", and {e.protected_seconds:.3g} s queries that need every row (alone: {whole})" if whole else ""
    return f", more than there is: {e.unsheddable_seconds:.3g} s take reading and fixed cost{alone}"


def _tree(steps: Sequence[Step]) -> list[str]:
    return [f"{_figures(step)}  {'  ' * step.depth}{step.name}{_basis(step)}" for step in steps]


def _basis(step: Step) -> str:
    """Whether what it costs was measured; else it was guessed, or told."""
    return "  (measured)" if step.is_measured else ""


def _figures(step: Step) -> str:
    seconds = "" if step.seconds is None else f"{step.seconds:.3f}"
    return f"{step.effective_sampling_rate:<8.3g} {_sampler(step):<13} {seconds:>8}"


def _sampler(step: Step) -> str:
    """The sampler before a node, or the share of its rows in windows that are kept."""
    if step.sampling_rate is not None:
        return f"× {step.sampling_rate:.3g}"
    is_dropping = step.needed_share is not None and step.needed_share < 1
    return f"windows {step.needed_share:.3g}" if is_dropping else ""


def _windows(kept_share: float, max_gap: int, gaps_by: str | None, delay_seconds: float | None) -> str:
    if kept_share <= 0:
        return f"SHUT DOWN, as its gaps would be longer than {max_gap}"
    if kept_share >= 1:
        return "no windows dropped"
    of_each = " of each group" if gaps_by == GapsBy.GROUP else ""
    late = "" if delay_seconds is None else f", answers up to {delay_seconds:.2g} s after their rows"
    return f"{share_text(kept_share)} of its windows kept, gaps{of_each} of at most {max_gap}{late}"


def _never_shed(outlook: Outlook) -> str:
    return "never shed" if outlook.whole_because is None else f"never shed: {outlook.whole_because}"


def _line(outlook: Outlook) -> str:
    notes = _never_shed(outlook) if outlook.is_protected else outlook.bound_by or ""
    error = outlook.error_text
    if outlook.kept_share is not None:
        notes = _windows(outlook.kept_share, outlook.max_gap or 0, outlook.gaps_by, outlook.delay_seconds)
    if outlook.goal is not None:
        notes += f"{'; ' if notes else ''}{'within' if outlook.meets_goal else 'MISSES'} {outlook.goal}"
    if outlook.size_column is not None:
        notes += f"; |{outlook.size_column}| above {outlook.size_threshold:.3g} kept likelier"
    if outlook.counting_rate is not None:
        notes += f"; rows counted at {outlook.counting_rate:.3g}"
    return f"{outlook.query:<32} {outlook.effective_sampling_rate:<6.3g} {error:>8}  {notes}".rstrip()
