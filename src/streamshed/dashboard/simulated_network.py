"""A simulation in the forms that people want: text, JSON, picture."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path

from streamshed.dashboard.simulation_picture import write_simulation_picture
from streamshed.elasticity.pieces import Pieces
from streamshed.elasticity.settings import ElasticSettings
from streamshed.elasticity.sizing import workers_at
from streamshed.network.words.wording import count_text, seconds_text, share_text
from streamshed.simulator.course import Course
from streamshed.simulator.network_joins import UsualJoin

_MOST_LINES = 20
"""So many rescales, spells and queries are listed; `to_json` has all of them."""


@dataclass(frozen=True)
class SimulatedNetwork:
    """What became of a network on a cluster under a load; `str` writes it for a person.

    Attributes:
        course: What happened.
        load: What came, for people.
        rows_per_second: 1×.
        controller: Who decided on workers.
        elastic: What was asked of it.
        initial_workers: Workers at the beginning.
        costs_are_guessed: Whether costs and selectivities are guesses, as no statistics were given.
        joins: What its joins take at 1×.
    """

    course: Course
    load: str
    rows_per_second: float
    controller: str
    elastic: ElasticSettings
    initial_workers: int
    costs_are_guessed: bool = False
    joins: tuple[UsualJoin, ...] = ()

    @property
    def workers_to_shed_nothing(self) -> int | None:
        """The fewest workers that would have carried the largest load without shedding; None: no number would have."""
        worst = max(self.course.moments, key=lambda moment: moment.demand)
        shed, fixed = self.elastic.thresholds.shed, worst.fixed_utilization
        return workers_at(shed, demand=worst.demand, fixed=fixed, pieces=Pieces(self.elastic.limits.partitions))

    def to_document(self) -> dict[str, object]:
        """Return it as what JSON can hold."""
        course = self.course
        return {
            "load": self.load,
            "rows_per_second": self.rows_per_second,
            "controller": self.controller,
            "costs_are_guessed": self.costs_are_guessed,
            "thresholds": list(self.elastic.thresholds.values),
            "seconds": course.end_seconds - course.moments[0].started_at_seconds,
            "micro_batches": len(course.moments),
            "initial_workers": self.initial_workers,
            "most_workers": max(moment.running for moment in course.moments),
            "least_workers": min(moment.running for moment in course.moments),
            "workers_to_shed_nothing": self.workers_to_shed_nothing,
            "worker_hours": course.worker_hours,
            "failures": course.failures,
            "rows_shed_share": course.rows_shed_share,
            "rows_skipped_share": course.rows_skipped_share,
            "time_over_latency_goal_seconds": course.time_over_latency_goal_seconds,
            "latency_goal_seconds": course.latency_goal_seconds,
            "latency_seconds": {str(share): course.latency_seconds(share) for share in (0.5, 0.95, 1.0)},
            "rescales": [
                {
                    "at_seconds": moment.started_at_seconds,
                    "workers": moment.committed,
                    "wanted": moment.wanted,
                    "reason": moment.scaling_reason,
                    "explanation": moment.scaling_explanation,
                }
                for moment in course.rescales
            ],
            "shed": [asdict(spell) for spell in course.spells],
            "queries": [asdict(query) for query in course.queries],
            "joins": [asdict(join) for join in self.joins],
            "course": _columns(course),
        }

    def to_json(self) -> str:
        """Return it as one JSON object."""
        return json.dumps(self.to_document(), allow_nan=False)

    def draw(self, file: str | Path) -> None:
        """Draw load, workers, utilization, shedding and delay over time, as a PNG.

        Raises:
            SinkUnavailableError: The file cannot be written.
        """
        guesses = "; costs are guesses" if self.costs_are_guessed else ""
        title = f"{self._message}\n{self._title}{guesses}"
        write_simulation_picture(self.course, self.elastic.thresholds, Path(file), title=title)

    def __str__(self) -> str:
        return "\n".join(
            [self._title, *self._about_joins(), *self._about_workers(), *self._about_shedding(), *self._about_answers()]
        )

    @property
    def _message(self) -> str:
        """What came of it, in a line."""
        course = self.course
        running = [moment.running for moment in course.moments]
        least, most = min(running), max(running)
        workers = counted(most, "worker") if least == most else f"{least} to {most} workers"
        shed = f"shed {share_text(course.rows_shed_share)} of the rows" if course.spells else "shed nothing"
        worst, goal = course.latency_seconds(1.0), course.latency_goal_seconds
        in_time = "within" if worst <= goal else "beyond"
        return f"{workers} {shed}; answers within {seconds_text(worst)}, {in_time} the goal of {seconds_text(goal)}"

    @property
    def _title(self) -> str:
        seconds = self.course.end_seconds - self.course.moments[0].started_at_seconds
        return (
            f"{self.load}, 1× = {count_text(self.rows_per_second)} rows/s, for {seconds_text(seconds)}"
            f" ({len(self.course.moments):,} micro-batches); {self.controller}"
        )

    def _about_joins(self) -> Iterator[str]:
        for join in self.joins:
            yield (
                f"join {join.join}: {count_text(join.comparisons_per_second)} comparisons/s at 1×, which take"
                f" {join.comparing_seconds_per_second:.2g} of a worker, all else of it"
                f" {join.overhead_seconds_per_second:.2g}; {'may be' if join.is_sheddable else 'never'} done in part"
            )

    def _about_workers(self) -> Iterator[str]:
        course, needed = self.course, self.workers_to_shed_nothing
        running = [moment.running for moment in course.moments]
        yield ""
        yield (
            f"workers    {self.initial_workers} to begin with, {min(running)} to {max(running)} later,"
            f" {course.worker_hours:.3g} worker-hours; {counted(len(course.rescales), 'rescale')}"
            + (f", {course.failures} died" if course.failures else "")
        )
        yield (
            "           no number of workers would have carried the largest load whole"
            if needed is None
            else f"           {needed} would have carried the largest load whole"
        )
        for moment in islice(course.rescales, _MOST_LINES):
            yield (
                f"           {_clock(moment.started_at_seconds)}  {moment.committed} → {moment.wanted}"
                f"  {moment.scaling_reason}: {moment.scaling_explanation}"
            )
        yield from _more(len(course.rescales))

    def _about_shedding(self) -> Iterator[str]:
        course, spells = self.course, self.course.spells
        yield ""
        if not spells:
            yield "shed       nothing"
        else:
            share = share_text(course.rows_shed_share)
            yield f"shed       {share} of all rows, in {counted(len(spells), 'spell')}; the longest:"
        longest_first = sorted(spells, key=lambda one: one.start_seconds - one.end_seconds)
        for spell in islice(longest_first, _MOST_LINES):
            length = seconds_text(spell.end_seconds - spell.start_seconds)
            worst = share_text(spell.worst_share)
            yield f"           {_clock(spell.start_seconds)}  for {length}, at worst {worst}"
        yield from _more(len(spells))
        if course.rows_skipped_share > 0:
            yield f"skipped    {share_text(course.rows_skipped_share)} of all rows, older than max_age"
        latencies = (seconds_text(course.latency_seconds(share)) for share in (0.5, 0.95, 1.0))
        yield "delay      median {}, 95th percentile {}, worst {};".format(*latencies) + (
            f" over the goal of {seconds_text(course.latency_goal_seconds)} for"
            f" {seconds_text(course.time_over_latency_goal_seconds)}"
        )

    def _about_answers(self) -> Iterator[str]:
        yield ""
        width = max(5, *(len(query.query) for query in self.course.queries))
        yield f"{'query':<{width}}  whole for  least P  worst error  mean error while shed"
        worst_first = sorted(self.course.queries, key=lambda query: -query.worst_error)
        for query in islice(worst_first, _MOST_LINES):
            windows = "" if query.kept_windows_share >= 1 else f"  {share_text(query.kept_windows_share)} of windows"
            yield (
                f"{query.query:<{width}}  {share_text(query.whole_share):>9}  {query.least_rate:>7.3g}"
                f"  {share_text(query.worst_error):>11}  {share_text(query.mean_error):>21}{windows}"
            )
        yield from _more(len(self.course.queries))


def _more(count: int) -> Iterator[str]:
    if count > _MOST_LINES:
        yield f"           and {count - _MOST_LINES} more"


def _clock(seconds: float) -> str:
    """Hours, minutes and seconds since the beginning."""
    whole = round(seconds)
    return f"{whole // 3600:02d}:{whole // 60 % 60:02d}:{whole % 60:02d}"


def counted(count: int, word: str) -> str:
    """Write a number of things.

    Example:
        >>> counted(1, "rescale"), counted(2, "rescale")
        ('1 rescale', '2 rescales')
    """
    return f"{count} {word}" if count == 1 else f"{count} {word}s"


_COLUMNS = (
    "started_at_seconds",
    "offered_rows",
    "running",
    "offered_utilization",
    "admitted_utilization",
    "shed_share",
    "worst_error",
    "latency_seconds",
)


def _columns(course: Course) -> dict[str, list[float]]:
    """What changes from micro-batch to micro-batch, column by column."""
    return {name: [getattr(moment, name) for moment in course.moments] for name in _COLUMNS}
