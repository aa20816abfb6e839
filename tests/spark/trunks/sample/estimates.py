"""Answers from a sample as docs/answers.md has them, row by row."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
from scipy.stats import binom, gamma, t

from streamshed.planning.tree.quantization import WHOLE
from tests.spark.event_times import seconds_of
from tests.spark.harness import Found
from tests.spark.trunks.drawn_rows import DrawnRows
from tests.spark.trunks.outcome import Outcome
from tests.spark.trunks.sample import CONFIDENCE

ENOUGH = 15
"""Effective rows with which a sum or an average does not warn of few."""

MANY = 50
"""Effective rows of which no single one of these values carries much."""


@dataclass(frozen=True, kw_only=True)
class Asked:
    """A query whose aggregates are `n`, `total` and `mean`.

    Attributes:
        size: Of its windows, seconds.
        slide: Between them; None: as long as they are.
        where: Which rows it takes.
        by: What groups are told apart by; None: there are none.
        value: What is summed.
    """

    size: int
    slide: int | None = None
    where: Callable[[DrawnRows], np.ndarray] = lambda rows: np.full(len(rows), fill_value=True)
    by: Callable[[DrawnRows], np.ndarray] | None = None
    value: Callable[[DrawnRows], np.ndarray] = lambda rows: rows["v"].astype(float)

    def group(self, rows: DrawnRows, row: Found) -> DrawnRows:
        """The rows of an answer's window and group."""
        inside = rows.inside(row)
        return inside if self.by is None else inside.those(self.by(inside) == int(row.key[0] or 0))

    def places(self, rows: DrawnRows) -> set[tuple[float, tuple[str, ...]]]:
        """Windows, by their start, and keys of which there are rows."""
        slide = self.slide or self.size
        first, last = (math.floor(rows.seconds[place] / slide) * slide for place in (0, -1))
        starts = range(first - (self.size // slide - 1) * slide, last + 1, slide)
        inside = {start: rows.between(start, start + self.size) for start in starts}
        if self.by is None:
            return {(start, ()) for start, of_window in inside.items() if len(of_window)}
        return {(start, (str(key),)) for start, of_window in inside.items() for key in set(self.by(of_window).tolist())}


def check_answers(outcome: Outcome, rows: DrawnRows, query: str, asked: Asked) -> None:
    """Check that each window is answered once, from the rows that are in the sample of a query, and from no others."""
    taken = rows.those(asked.where(rows))
    kept = taken.kept(query)
    answers = outcome.rows(query)
    # A group of which no row was kept has no answer; a window without groups has.
    places = asked.places(rows if asked.by is None else kept)
    for aggregate in {row.aggregate for row in answers}:
        given = [(seconds_of(row.window_start), row.key) for row in answers if row.aggregate == aggregate]
        assert len(given) == len(set(given)), query
        assert places <= set(given), query
    flags = []
    for row in answers:
        inside = rows.inside(row)
        is_whole, least_rate = bool((inside.codes(query) == WHOLE).all()), min(inside.rates(query), default=1.0)
        assert row.exact == is_whole, f"{query} {row.window_start} {row.key}"
        sample = asked.group(kept, row)
        if len(sample):
            values, rates = asked.value(sample), sample.rates(query)
            check_answer(row, values, rates, least_rate, of_groups=asked.by is not None)
            if not is_whole and row.aggregate != "n":
                effective = effective_rows(row.aggregate or "", values, rates, least_rate)
                # Of so many rows of one value at one rate, rounding decides.
                if not math.isclose(effective, ENOUGH, rel_tol=1e-9):
                    flags.append((row.low, effective))
    # Where most samples of a query rest on few rows, none is trusted; nor is one of few that others may be missing in.
    assert all(low for low, effective in flags if effective < ENOUGH), query
    if all(effective >= MANY for _, effective in flags):
        assert not any(low for low, _ in flags), query


def t_quantile(effective: float) -> float:
    """So many standard errors the bounds are from an estimate."""
    return float(t.ppf(0.5 + CONFIDENCE / 2, max(effective - 1, 1)))


def check_answer(
    row: Found, values: np.ndarray, rates: np.ndarray, least_rate: float, *, of_groups: bool = False
) -> None:
    """Check all that an answer says but `low`, by the values kept, their rates and the least of the window."""
    aggregate = row.aggregate or ""
    value, error = estimate(aggregate, values, rates)
    assert row.rows_used == len(rates)
    assert row.rows_estimated == pytest.approx((1 / rates).sum())
    assert row.value == pytest.approx(value, rel=1e-9)
    if row.exact:
        assert (row.lower, row.upper, row.standard_error) == (row.value, row.value, 0.0)
        return
    assert row.sampling_rate == pytest.approx(len(rates) / (1 / rates).sum())
    assert row.standard_error == pytest.approx(error, rel=1e-6, abs=1e-6)
    if aggregate == "n":
        _check_bounds_of_count(row, rates, of_groups=of_groups)
    else:
        effective = effective_rows(aggregate, values, rates, least_rate)
        # Of so many rows of one value at one rate, rounding decides.
        is_either = math.isclose(effective, ENOUGH, rel_tol=1e-9)
        possible = {True, False} if is_either else {effective < ENOUGH}
        found = (row.lower, row.upper)
        assert any(
            found == pytest.approx(bounds(aggregate, values, rates, least_rate, are_few=are_few), rel=1e-6)
            for are_few in possible
        )
    assert (row.confidence, row.reason, row.value_text) == (CONFIDENCE, "sampled", None)


def bounds(
    aggregate: str, values: np.ndarray, rates: np.ndarray, least_rate: float, *, are_few: bool
) -> tuple[float, float]:
    """Those of the rows kept, and how far those move them that may have come at a rate at which none was kept."""
    lower, upper = _bounds_of_kept(aggregate, values, rates, least_rate, are_few=are_few)
    if not are_unseen(rates, least_rate):
        return lower, upper
    unseen, least, greatest = math.log(2 / (1 - CONFIDENCE)) / least_rate, float(values.min()), float(values.max())
    if aggregate == "total":
        return lower + unseen * min(least, 0.0), upper + unseen * max(greatest, 0.0)
    count = (1 / rates).sum()
    mean = (values / rates).sum() / count
    share = unseen / (count + unseen)
    return lower + share * (least - mean), upper + share * (greatest - mean)


def are_unseen(rates: np.ndarray, least_rate: float) -> bool:
    """Whether no row was kept at the least rate of a window."""
    return bool(rates.min() > least_rate * (1 + 1e-9))


def _bounds_of_kept(
    aggregate: str, values: np.ndarray, rates: np.ndarray, least_rate: float, *, are_few: bool
) -> tuple[float, float]:
    """Of few rows Student's, of more the gamma bounds of values of one sign (Fay and Feuer 1997)."""
    value, error = estimate(aggregate, values, rates)
    least, greatest = float(values.min()), float(values.max())
    if aggregate == "total":
        origin = 0.0 if least >= 0 or greatest <= 0 else math.nan
        step = max(-least, greatest) / rates.min()
    else:
        origin = least if greatest - value >= value - least else greatest
        step = max(value - least, greatest - value) / rates.min() / (1 / rates).sum()
    if are_few or math.isnan(origin):
        half = t_quantile(effective_rows(aggregate, values, rates, least_rate)) * error
        return value - half, value + half
    size = abs(value - origin)
    near, far = (
        gamma.ppf(share, mean * mean / variance, scale=variance / mean)
        for share, mean, variance in (
            ((1 - CONFIDENCE) / 2, size, error**2),
            ((1 + CONFIDENCE) / 2, size + step, error**2 + step**2),
        )
    )
    return (origin - far, origin - near) if value < origin else (origin + near, origin + far)


def effective_rows(aggregate: str, values: np.ndarray, rates: np.ndarray, least_rate: float) -> float:
    """(Σq)²/Σq², q = r²(1−P)/P² of the rows kept at a rate P below 1, and of the largest r at one where none was."""
    mean = (values / rates).sum() / (1 / rates).sum()
    contribution = values if aggregate == "total" else values - mean
    shares = contribution**2 * (1 - rates) / rates**2
    if are_unseen(rates, least_rate):
        shares = np.append(shares, (contribution**2).max() * (1 - least_rate) / least_rate**2)
    return float(np.minimum(shares.sum() ** 2 / (shares**2).sum(), len(rates)))


def estimate(aggregate: str, values: np.ndarray, rates: np.ndarray) -> tuple[float, float]:
    """Value and standard error."""
    weights, excess = 1 / rates, (1 - rates) / rates**2
    count, total = weights.sum(), (values * weights).sum()
    match aggregate:
        case "n":
            return count, math.sqrt(excess.sum())
        case "total":
            return total, math.sqrt((values**2 * excess).sum())
        case _:
            mean = total / count
            return mean, math.sqrt(((values - mean) ** 2 * excess).sum()) / count


def _check_bounds_of_count(row: Found, rates: np.ndarray, *, of_groups: bool) -> None:
    """Under a count at its bounds, so many or so few rows are kept at one rate with the probability of a tail.

    A group is answered only if any row of it was kept: of it that is given.
    """
    assert row.lower is not None
    assert row.upper is not None
    assert row.value is not None
    count, tail = len(rates), (1 - CONFIDENCE) / 2
    assert not row.low
    assert count <= row.lower <= row.value * (1 + 1e-9)
    assert row.upper >= row.value

    def as_many(rows: int) -> float:
        return float(binom.sf(count - 1, rows, rates[0]) / (binom.sf(0, rows, rates[0]) if of_groups else 1.0))

    if len(set(rates)) == 1:
        assert binom.cdf(count, math.ceil(row.upper), rates[0]) <= tail * (1 + 1e-6)
        assert as_many(math.floor(row.lower)) <= max(tail, as_many(count)) * (1 + 1e-6)
        assert as_many(math.ceil(row.lower)) >= tail * (1 - 1e-6)
