"""Queries that are added, removed and changed from the page: what a change would cost first, then the change."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

from streamshed.control.explained_change import ExplainedChange, outlooks_of
from streamshed.errors import InvalidNetworkError, unknown_name
from streamshed.network.document.document import parse_network
from streamshed.network.document.edited_document import with_fragment, with_goals, without_query
from streamshed.page.known_run import KnownRun
from streamshed.planning.explain.outlook import Outlook

_GOALS = ("weight", "priority", "mode", "max_error", "max_gap", "gaps_by", "latency")


class Changed(Protocol):
    """What became of a change."""

    @property
    def pause_seconds(self) -> float:
        """How long no micro-batch could begin."""

    @property
    def first_windows(self) -> Mapping[str, object]:
        """By query that came, when its first whole window begins; None: all its windows are whole."""


def edited(document: str, change: Mapping[str, Any]) -> str:
    """Return a document with a change.

    Args:
        document: What runs.
        change: `action` with what belongs to it: "add" with `fragment`, YAML as `streamshed ctl add` takes it; "remove"
            with `query`; "change" with `query` and `goals`, by the keys of a query in a document, null: the default.

    Raises:
        InvalidNetworkError: It is no change, or cannot be made.

    Example:
        >>> print(edited("queries: {a: {from: s}, b: {from: s}}", {"action": "remove", "query": "a"}), end="")
        queries:
          b:
            from: s
    """
    match change:
        case {"action": "add", "fragment": str(fragment)}:
            return with_fragment(document, fragment)
        case {"action": "remove", "query": str(query)}:
            return without_query(document, query)
        case {"action": "change", "query": str(query), "goals": dict(goals)} if goals:
            strangers = [unknown_name("goal", goal, _GOALS) for goal in goals if goal not in _GOALS]
            if strangers:
                raise InvalidNetworkError(*strangers)
            return with_goals(document, query, goals)
    raise InvalidNetworkError(
        "a change is add with a fragment, remove with a query, or change with a query and its goals, got"
        f" {dict(change)!r}"
    )


class Changes:
    """Makes changes to a run that goes on, and explains them before.

    Args:
        running: Returns the document that runs.
        hand_over: Given how to edit the document that runs, goes on with what comes of it; returns when the run does,
            or raises a `StreamshedError`. It may edit more than once, where others change what runs meanwhile.
        folder: Where relative paths in documents begin.
    """

    def __init__(
        self,
        running: Callable[[], str],
        hand_over: Callable[[Callable[[str], str]], Changed],
        *,
        folder: Path = Path(),
    ) -> None:
        self._running, self._hand_over, self._folder = running, hand_over, folder

    def explain(self, change: Mapping[str, Any], known_run: KnownRun, rows_per_second: float) -> dict[str, Any]:
        """Tell what a change would cost, and who would pay.

        Args:
            change: As `edited` takes it.
            known_run: How the network is run, and what is known of it; costs of what is new are guessed.
            rows_per_second: The load.

        Returns:
            `seconds_before` and `seconds_after` of a micro-batch if nothing were shed, the `budget_seconds` for them;
            `changed`, the queries that come or go or get other goals; and `payers`, others whose answers get worse.

        Raises:
            StreamshedError: It cannot be made; the message says why.
        """
        running = self._running()
        before, after = (self._run(text, known_run) for text in (running, edited(running, change)))
        return _compared(before, after, rows_per_second)

    def make(self, change: Mapping[str, Any]) -> dict[str, Any]:
        """Make a change; returns when the run goes on with it.

        Returns:
            `pause_seconds`, how long no micro-batch could begin, and `first_windows` of queries that come, as texts.

        Raises:
            StreamshedError: It cannot be made, or the run refused it, or did not answer in time.
        """
        changed = self._hand_over(lambda document: edited(document, change))
        windows = {name: None if start is None else str(start) for name, start in changed.first_windows.items()}
        return {"pause_seconds": changed.pause_seconds, "first_windows": windows}

    def _run(self, document: str, known_run: KnownRun) -> KnownRun:
        network = parse_network(document, folder=self._folder).network
        return replace(known_run, document=replace(known_run.document, network=network))


def _compared(before: KnownRun, after: KnownRun, rows_per_second: float) -> dict[str, Any]:
    change = ExplainedChange(before.plan(rows_per_second), after.plan(rows_per_second))
    outlooks_before, outlooks_after = outlooks_of(change.before), outlooks_of(change.after)
    asked_before, asked_after = (
        {query.name: query for query in run.document.network.queries} for run in (before, after)
    )
    changed = [name for name in asked_before | asked_after if asked_before.get(name) != asked_after.get(name)]
    payers = [name for name in change.payers if name not in changed]
    return {
        "rows_per_second": rows_per_second,
        "seconds_before": change.before.unshed_seconds,
        "seconds_after": change.after.unshed_seconds,
        "budget_seconds": change.after.budget_seconds,
        **{
            kind: [
                {
                    "query": name,
                    "before": _foreseen(outlooks_before.get(name)),
                    "after": _foreseen(outlooks_after.get(name)),
                }
                for name in names
            ]
            for kind, names in (("changed", changed), ("payers", payers))
        },
    }


def _foreseen(outlook: Outlook | None) -> dict[str, Any] | None:
    if outlook is None:
        return None
    return {
        "effective_sampling_rate": outlook.effective_sampling_rate,
        "expected_error": outlook.expected_error,
        "kept_share": outlook.kept_share,
        "goal": outlook.goal,
        "meets_goal": outlook.meets_goal,
    }
