"""Which selections share a mask: all of them once, in chunks that one mask can tell."""

import math

from hypothesis import given
from hypothesis import strategies as st

from streamshed.sharing.shared_masks import MOST_BITS, Selection, chunks
from tests.thoroughness import examples

CONDITIONS = {f"{value} > {level}": value for value in ("size", "port", "flags", "ttl") for level in range(6)}
SELECTIONS = st.lists(
    st.lists(st.sampled_from(sorted(CONDITIONS)), min_size=1, max_size=3, unique=True).map(tuple),
    max_size=60,
    unique=True,
)


def masks(chunk: list[Selection]) -> int:
    """The parts that the conditions on each value make of it, multiplied; counted anew."""
    conditions = {condition for selection in chunk for condition in selection}
    values = [CONDITIONS[condition] for condition in conditions]
    return math.prod(values.count(value) + 1 for value in set(values))


@examples(200)
@given(SELECTIONS, st.integers(2, 400))
def test_each_selection_is_in_one_chunk_and_no_chunk_has_too_many_masks(
    selections: list[Selection], most_masks: int
) -> None:
    found = chunks(selections, CONDITIONS, most_masks)
    assert sorted(one for chunk in found for one in chunk) == sorted(selections)
    for chunk in found:
        assert len(chunk) == 1 or (len(chunk) <= MOST_BITS and masks(chunk) <= most_masks)
