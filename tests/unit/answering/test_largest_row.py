"""What samples look like without their largest row, and with which bounds large values are met."""

from __future__ import annotations

import numpy as np
import pytest

from streamshed.answering.estimate.largest_row import LargestRow
from streamshed.answering.estimate.skewed_bounds import skewed_bounds
from streamshed.answering.table.output import Shape
from streamshed.answering.table.value_kind import Carriage, Notation, ValueKind
from streamshed.network.terms.aggregate import AggregateKind
from tests.unit.answering.partials import kept, partials, together


def shape(function: AggregateKind) -> Shape:
    return Shape(function, counts_rows=False, value=ValueKind(Carriage.DOUBLE, Notation.NUMBER), key_notations=())


@pytest.mark.parametrize("function", [AggregateKind.SUM, AggregateKind.AVG])
@pytest.mark.parametrize("large", [300.0, -300.0])
def test_it_is_what_the_other_rows_would_be_without_it(function: AggregateKind, large: float) -> None:
    others = np.random.default_rng(3).uniform(0.5, 1.5, 100)
    window = partials(kept(0.1, [*others, large]))
    origin = 0.0 if function is AggregateKind.SUM else others.mean()
    found = LargestRow.of(shape(function), window)
    assert found.lead[0] == pytest.approx((large - origin) ** 2 / ((others - origin) ** 2).sum(), rel=1e-6)
    assert (found.is_trusted_without[0], found.is_trusted_with[0]) == (True, False)


def test_others_that_are_few_or_of_which_one_is_large_too_are_not_trusted_either() -> None:
    two_large, few = kept(0.1, [*[1.0] * 100, 300.0, 300.0]), kept(0.1, [1.0] * 10 + [300.0])
    found = LargestRow.of(shape(AggregateKind.SUM), partials(two_large, few))
    assert not found.is_trusted_without.any()
    assert not found.is_trusted_with.any()


def test_others_that_contribute_nothing_have_no_bounds_to_be_trusted() -> None:
    zeros, ones = kept(0.1, [0.0] * 100 + [300.0]), kept(0.1, [1.1] * 100 + [300.0])
    of_sums, of_averages = (
        LargestRow.of(shape(function), partials(zeros, ones)) for function in (AggregateKind.SUM, AggregateKind.AVG)
    )
    assert of_sums.is_trusted_without.tolist() == [False, True]
    assert of_averages.is_trusted_without.tolist() == [False, False]


def test_of_several_rates_the_lead_of_a_row_that_leads_far_is_known() -> None:
    window = partials(together(kept(0.1, [1.0] * 50 + [300.0]), kept(0.5, [1.0] * 200)))
    found = LargestRow.of(shape(AggregateKind.SUM), window)
    assert found.lead[0] == pytest.approx(90 * 300.0**2 / (90 * 50 + 2 * 200), rel=1e-2)
    assert found.is_trusted_without[0]


def test_values_of_one_sign_mirror_each_other() -> None:
    values = np.random.default_rng(4).exponential(1.0, 60)
    window = partials(kept(0.2, values), kept(0.2, -values))
    for function, estimate in ((AggregateKind.SUM, 5 * values.sum()), (AggregateKind.AVG, values.mean())):
        estimated = np.array([estimate, -estimate])
        lower, upper = skewed_bounds(shape(function), window, estimated, np.full(2, estimate / 8), 0.95)
        assert (lower[0], upper[0]) == pytest.approx((-upper[1], -lower[1]))
        assert upper[0] - estimate > estimate - lower[0]


def test_sums_of_both_signs_and_spreads_have_none() -> None:
    window = partials(kept(0.2, [-1.0, 1.0] * 20))
    for function in (AggregateKind.SUM, AggregateKind.STDDEV):
        bounds = skewed_bounds(shape(function), window, np.array([1.0]), np.array([1.0]), 0.95)
        assert np.isnan(bounds).all()
