"""Values and variances against straightforward arithmetic on the values themselves."""

from decimal import Decimal, localcontext

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamshed.answering.estimate.aggregate_value import sampled_variances, values
from streamshed.answering.table.group_key import ESCAPE, ESCAPED_SEPARATOR, NULL, SEPARATOR, keys_written
from streamshed.answering.table.output import Output, Shape
from streamshed.answering.table.outputs_by_place import OutputsByPlace
from streamshed.answering.table.value_kind import Carriage, Notation, ValueKind
from streamshed.answering.table.written import DECIMAL_HALF, decimal_halves_written, decimals_written, halves_written
from streamshed.network.terms.aggregate import AggregateKind
from tests.unit.answering.partials import kept, partials

NUMBERS = st.floats(-1e6, 1e6)
RATES = st.floats(0.01, 1.0)
NUMBER = ValueKind(Carriage.DOUBLE, Notation.NUMBER)


def shape(function: AggregateKind) -> Shape:
    return Shape(function, counts_rows=False, value=NUMBER, key_notations=())


@given(st.lists(st.lists(NUMBERS, min_size=1), min_size=1))
def test_variances_merged_from_slices_are_those_of_all_values(slices: list[list[float]]) -> None:
    moments = [{"present": len(s), "mean": np.mean(s), "dispersion": np.var(s) * len(s), "weight": 1.0} for s in slices]
    whole = [value for s in slices for value in s]
    (found,) = values(shape(AggregateKind.VAR_POP), partials({"moments": moments})).to_pylist()
    assert found == pytest.approx(np.var(whole), rel=1e-9, abs=1e-3)
    (sample,) = values(shape(AggregateKind.VARIANCE), partials({"moments": moments})).to_pylist()
    assert (sample is None) == (len(whole) == 1)
    if sample is not None:
        assert sample == pytest.approx(np.var(whole, ddof=1), rel=1e-9, abs=1e-3)


@given(RATES, st.lists(NUMBERS, min_size=1))
def test_the_variance_of_an_average_is_that_of_the_residuals(rate: float, kept_values: list[float]) -> None:
    of_sample = partials(kept(rate, kept_values))
    (average,) = values(shape(AggregateKind.AVG), of_sample).to_pylist()
    assert average == pytest.approx(np.mean(kept_values), rel=1e-9, abs=1e-6)
    residuals = np.array(kept_values) - np.mean(kept_values)
    expected = (residuals**2).sum() * (1 - rate) / rate**2 / (len(kept_values) / rate) ** 2
    largest = max(1.0, float(np.square(kept_values).max()))
    found = sampled_variances(shape(AggregateKind.AVG), of_sample)[0]
    assert (0.0 if np.isnan(found) else found) == pytest.approx(expected, abs=1e-9 * largest)


@given(st.integers(-(2**62), 2**62), st.integers(0, 2**62))
def test_halves_are_put_together_exactly(high: int, low: int) -> None:
    assert halves_written(pa.array([high, 3]), pa.array([low, 4]))[0].as_py() == str(high * 2**32 + low)


@given(st.integers(-(10**45), 10**45), st.integers(0, 32), st.booleans())
def test_halves_of_decimals_are_put_together_exactly(unscaled: int, scale: int, towards_zero: bool) -> None:
    sign = -1 if unscaled < 0 and towards_zero else 1
    high, low = (sign * half for half in divmod(sign * unscaled, DECIMAL_HALF))
    highs, lows = (pa.array([Decimal(half), None], pa.decimal128(38, 0)) for half in (high, low))
    text, nothing = decimal_halves_written(highs, lows, scale).to_pylist()
    with localcontext(prec=60):
        assert Decimal(text) == Decimal(unscaled).scaleb(-scale)
    assert nothing is None


@given(st.integers(-(10**37), 10**37), st.integers(0, 37))
def test_decimals_keep_all_digits(unscaled: int, scale: int) -> None:
    text = decimals_written(pa.array([Decimal(unscaled)], pa.decimal128(38, 0)), scale)[0].as_py()
    assert int(text.replace(".", "")) == unscaled
    assert len(text.partition(".")[2]) == scale


@given(st.lists(st.lists(st.none() | st.text(), min_size=2, max_size=2), min_size=1))
def test_keys_joined_into_one_text_are_found_again(groups: list[list[str | None]]) -> None:
    def joined(key: str | None) -> str:
        escaped = (key or "").replace("\\", ESCAPE).replace(SEPARATOR, ESCAPED_SEPARATOR)
        return NULL if key is None else escaped

    texts = pa.array([SEPARATOR.join(map(joined, group)) for group in groups])
    written = keys_written(pa.nulls(len(groups), pa.int64()), texts, [Notation.TEXT, Notation.TEXT])
    assert written.to_pylist() == groups


@given(
    st.lists(st.tuples(st.integers(-3, 3), st.integers(0, 2)), max_size=12),
    st.lists(st.tuples(st.integers(-(2**62), 3), st.integers(0, 2))),
)
def test_every_row_meets_every_output_of_its_place(places: list[tuple[int, int]], rows: list[tuple[int, int]]) -> None:
    outputs = [Output("q", "s", "a", shape(AggregateKind.SUM), definition, slot) for definition, slot in places]
    of_rows = np.array(rows, np.int64).reshape(-1, 2)
    found = [column.tolist() for column in OutputsByPlace(outputs).pairs(of_rows[:, 0], of_rows[:, 1])]
    expected = [(row, o) for row, place in enumerate(rows) for o, known in enumerate(places) if place == known]
    assert list(zip(*found, strict=True)) == expected
