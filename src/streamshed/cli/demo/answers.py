"""The answers of a run beside the exact ones."""

import itertools
import statistics
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

Place = tuple[str, str, int, tuple[str | None, ...]]
"""What an answer is the answer to: query, aggregate, start of the window in microseconds, key."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """What there is of a group and a window; times in microseconds since 1970."""

    query: str
    aggregate: str
    start: int
    end: int
    key: tuple[str | None, ...]

    @property
    def place(self) -> Place:
        """What it is the answer to."""
        return self.query, self.aggregate, self.start, self.key


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer(Placed):
    """One answer of a run."""

    value: float | None
    lower: float | None
    upper: float | None
    exact: bool
    low: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ExactValue(Placed):
    """One value that plain Spark computed from all rows; `cohort` is that of its group, where gaps are by group."""

    value: float
    cohort: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """A window that was dropped; `cohorts` are those of the groups that miss it, None: all do."""

    query: str
    start: int
    cohorts: frozenset[int] | None

    def covers(self, truth: ExactValue) -> bool:
        """Whether a value of its window is missing for it."""
        return self.cohorts is None or truth.cohort in self.cohorts


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """An exact value and its answer; None: there is no answer, and `is_dropped` says whether a gap was reported."""

    truth: ExactValue
    answer: Answer | None
    is_dropped: bool = False

    @property
    def is_exact(self) -> bool:
        """Whether the answer was said to be exact."""
        return self.answer is not None and self.answer.exact

    @property
    def deviation(self) -> float:
        """How far off the answer is; one that is missing counts as 0."""
        value = self.answer.value if self.answer else None
        return abs((value or 0.0) - self.truth.value)

    @property
    def is_right(self) -> bool:
        """Whether the answer is the exact value, but for the last digits of floating point."""
        return self.deviation <= 1e-9 * abs(self.truth.value)

    @property
    def is_held(self) -> bool | None:
        """Whether the interval holds the exact value; None where no interval was promised."""
        answer = self.answer
        if answer is None or answer.exact or answer.low or answer.lower is None or answer.upper is None:
            return None
        return answer.lower <= self.truth.value <= answer.upper


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowError:
    """The error of one aggregate of one window: Σ|answer − exact| / Σ|exact| over its groups."""

    query: str
    aggregate: str
    start: int
    end: int
    error: float
    is_exact: bool


def paired(truths: Iterable[ExactValue], answers: Iterable[Answer], gaps: Iterable[Gap] = ()) -> tuple[Pair, ...]:
    """Put each exact value beside its answer, or the gap, in the order of query, aggregate, window and key."""
    given = {answer.place: answer for answer in answers}
    missed = {(gap.query, gap.start): gap for gap in gaps}

    def is_dropped(truth: ExactValue) -> bool:
        gap = missed.get((truth.query, truth.start))
        return gap is not None and gap.covers(truth)

    ordered = sorted(truths, key=lambda truth: (*truth.place[:3], tuple(str(part) for part in truth.key)))
    return tuple(Pair(truth=truth, answer=given.get(truth.place), is_dropped=is_dropped(truth)) for truth in ordered)


def window_errors(pairs: Iterable[Pair]) -> Iterator[WindowError]:
    """Return one error per window over all its groups, large ones counting more; dropped groups are left out."""
    answerable = (pair for pair in pairs if not pair.is_dropped)
    for (query, aggregate, start), group in itertools.groupby(answerable, key=lambda pair: pair.truth.place[:3]):
        members = list(group)
        total = sum(abs(pair.truth.value) for pair in members)
        deviation = sum(pair.deviation for pair in members)
        yield WindowError(
            query=query,
            aggregate=aggregate,
            start=start,
            end=members[0].truth.end,
            error=deviation / total if total else float(deviation > 0),
            is_exact=all(pair.is_exact for pair in members),
        )


def errors_by_query(errors: Iterable[WindowError]) -> Mapping[str, dict[int, float]]:
    """Per query and end of a window, the mean error of its aggregates."""
    errors_by_end: dict[str, dict[int, list[float]]] = {}
    for error in errors:
        errors_by_end.setdefault(error.query, {}).setdefault(error.end, []).append(error.error)
    return {
        query: {end: statistics.fmean(values) for end, values in sorted(ends.items())}
        for query, ends in errors_by_end.items()
    }
