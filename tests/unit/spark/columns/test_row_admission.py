"""What becomes of the rows of a run, decided part by part, is what becomes of them at once."""

from __future__ import annotations

import numpy as np
import pytest

from streamshed.spark.columns.row_admission import Admitted

ROWS, PARTS = np.array([0, 2, 3, 7, 8]), ((0, 3), (3, 5), (5, 9))


@pytest.mark.parametrize("is_chosen", [True, False])
@pytest.mark.parametrize("has_words", [True, False])
def test_parts_are_joined_and_taken_apart_again(*, is_chosen: bool, has_words: bool) -> None:
    rows = ROWS if is_chosen else None
    words = np.arange(10 if is_chosen else 18).reshape(-1, 2) if has_words else None
    whole = Admitted(rows, words)
    apart = [(start, whole.within(start, stop)) for start, stop in PARTS]
    joined = Admitted.joined(apart)
    for first, second in ((joined.rows, rows), (joined.words, words)):
        assert (first is None) == (second is None)
        assert first is None or second is None or np.array_equal(first, second)
    for start, stop in PARTS:
        expected = [row for row in (ROWS if is_chosen else range(9)) if start <= row < stop]
        places = np.arange(len(ROWS) if is_chosen else 9)[whole.among(start, stop)]
        assert [ROWS[place] if is_chosen else place for place in places] == expected
