"""Estimates that know how many rows came to a function: unbiased, as far off as they say, and nearer than without."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamshed.answering.estimate.interval import normal_interval
from streamshed.answering.estimate.known_rows import KnownRows
from streamshed.answering.table.output import Shape
from streamshed.answering.table.value_kind import Carriage, Notation, ValueKind
from streamshed.answering.table.window_partials import Doubles, Truths, WindowPartials
from streamshed.network.terms.aggregate import AggregateKind
from streamshed.planning.tree.quantization import sampling_rate_of
from tests.thoroughness import examples

COUNT = Shape(AggregateKind.COUNT, counts_rows=True, value=None, key_notations=())
SUM = Shape(AggregateKind.SUM, counts_rows=False, value=ValueKind(Carriage.DOUBLE, Notation.NUMBER), key_notations=())
WINDOWS, ROWS = 500, 4_000
RATES = st.tuples(st.integers(6, 24), st.integers(0, 6)).map(lambda codes: tuple(map(sampling_rate_of, codes)))


@dataclass(frozen=True)
class Sampled:
    """Windows over the same rows, each sampled anew.

    Attributes:
        partials: What is kept of them.
        scaled: What they are estimated at, one row as good as the other.
        true: What is true.
    """

    partials: WindowPartials
    scaled: Doubles
    true: float


def sampled(shape: Shape, parts: Doubles, rates: list[tuple[float, float]], seed: int) -> Sampled:
    """Sample windows.

    Args:
        shape: COUNT or SUM.
        parts: What each row that comes to the function contributes, 0 where it does not pass what follows.
        rates: Sampling rate and counting rate of equal parts of the rows, one after the other.
        seed: Of the samples.
    """
    u = np.random.default_rng(seed).random((WINDOWS, len(parts)))
    which = np.arange(len(parts)) * len(rates) // len(parts)
    rate, counting = (np.array(column)[which] for column in zip(*rates, strict=True))
    kept, counted = u < rate, u < counting
    passes: Truths = parts != 0
    weight = 1 / rate
    excess = weight * (weight - 1)
    columns = {
        "counted_weighted": (counted / counting).sum(axis=1),
        "counted_excess": (counted * (1 - counting) / counting**2).sum(axis=1),
        "sampled_weighted": kept @ weight,
        "sampled_excess": kept @ excess,
        "sampled_excess_squared": kept @ excess**2,
    }
    for name, power in (("rows", 0), ("present", 0), ("total", 1), ("squares", 2), ("cubes", 3), ("quads", 4)):
        of_row: Doubles = passes * parts**power
        columns[f"{name}_excess"] = kept @ (excess * of_row)
        columns[f"{name}_excess_squared"] = kept @ (excess**2 * of_row)
    whole = passes.astype(np.float64) if shape is COUNT else parts
    batch = pa.RecordBatch.from_pydict({name: pa.array(column) for name, column in columns.items()})
    scaled: Doubles = kept @ (weight * whole)
    return Sampled(WindowPartials(batch), scaled, float(whole.sum()))


def contributions(selectivity: float, spread: float, seed: int) -> Doubles:
    """Values of a lognormal distribution, of as many rows as pass."""
    random = np.random.default_rng(seed)
    values: Doubles = random.lognormal(0.0, spread, ROWS) * (random.random(ROWS) < selectivity)
    return values


@examples(25)
@given(
    st.sampled_from((COUNT, SUM)),
    st.floats(0.1, 0.9),
    st.floats(0.0, 1.0),
    st.lists(RATES, min_size=1, max_size=3),
    st.integers(0, 2**32 - 1),
)
def test_estimates_are_unbiased_and_as_far_off_as_they_say(
    shape: Shape, selectivity: float, spread: float, rates: list[tuple[float, float]], seed: int
) -> None:
    windows = sampled(shape, contributions(selectivity, spread, seed), rates, seed)
    known = KnownRows.of(shape, windows.partials)
    estimates = windows.scaled + known.correction
    error = estimates.std()
    # The quotient's bias is of the order of the variance over the rows of the sample.
    assert abs(estimates.mean() - windows.true) <= 4.5 * error / np.sqrt(WINDOWS) + 0.01 * error
    assert known.variance.mean() == pytest.approx(error**2, rel=0.35)
    lower, upper = normal_interval(estimates, np.sqrt(known.variance), 0.95, effective_rows=known.effective_rows)
    enough = known.effective_rows >= 100
    if enough.sum() >= WINDOWS / 2:
        held = (lower <= windows.true) & (windows.true <= upper)
        assert 0.9 <= held[enough].mean() <= 0.99


@examples(15)
@given(st.floats(0.3, 0.9), st.integers(0, 2**32 - 1))
def test_they_are_nearer_by_what_is_known(selectivity: float, seed: int) -> None:
    """Of a count, (1 − s) of the squared error is left where all rows are counted."""
    windows = sampled(COUNT, contributions(selectivity, 0.0, seed), [(0.2, 1.0)], seed)
    known = KnownRows.of(COUNT, windows.partials)
    share = (windows.scaled + known.correction).var() / windows.scaled.var()
    assert share == pytest.approx(1 - windows.true / ROWS, rel=0.3)


def test_all_of_the_sample_tells_of_a_count_that_half_of_it_passes() -> None:
    """Half of the rows are R above 0, half 1 − R: all count alike. Of one that nearly all pass, it is the others."""
    half = sampled(COUNT, (np.arange(ROWS) % 2).astype(np.float64), [(0.25, 1.0)], 1)
    most = sampled(COUNT, (np.arange(ROWS) % 50 != 0).astype(np.float64), [(0.25, 1.0)], 1)
    assert KnownRows.of(COUNT, half.partials).effective_rows.mean() == pytest.approx(ROWS / 4, rel=0.01)
    assert KnownRows.of(COUNT, most.partials).effective_rows.mean() == pytest.approx(ROWS / 4 / 50, rel=0.1)


@given(st.integers(1, 64), st.integers(0, 2**32 - 1))
def test_counted_at_the_same_rate_they_tell_nothing_new(code: int, seed: int) -> None:
    rate = sampling_rate_of(code)
    windows = sampled(SUM, contributions(0.5, 0.5, seed)[:200], [(rate, rate)], seed)
    known = KnownRows.of(SUM, windows.partials)
    assert np.allclose(known.correction, 0.0, atol=1e-6 * np.abs(windows.scaled).max())
    plain = windows.partials.doubles("squares_excess")
    told = np.isfinite(known.variance)
    assert np.allclose(known.variance[told], plain[told], rtol=1e-6)


def test_where_nothing_was_shed_nothing_is_corrected() -> None:
    """The rest of the window was sampled at no rate below 1: it weighs nothing."""
    parts = contributions(0.5, 0.5, 3)
    partly = sampled(SUM, parts, [(1.0, 1.0), (0.2, 1.0)], 5)
    only = sampled(SUM, parts[ROWS // 2 :], [(0.2, 1.0)], 5)
    for windows, share in ((partly, 0.5), (only, 1.0)):
        known = KnownRows.of(SUM, windows.partials)
        assert known.is_known.all()
        assert (windows.scaled + known.correction).mean() == pytest.approx(windows.true, rel=0.02 * share)
    whole = sampled(SUM, parts, [(1.0, 1.0)], 5)
    known = KnownRows.of(SUM, whole.partials)
    assert not known.is_known.any()
    assert (known.correction == 0).all()
