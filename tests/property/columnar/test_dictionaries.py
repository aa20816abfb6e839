"""Texts that are numbers of entries stay the texts they are, however rows are chosen and put together."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from streamshed.columnar.group_keys import key_codes
from streamshed.columnar.row_file import RowPart, part_of_rows
from streamshed.columnar.texts.dictionaries import concatenated, plain

TEXTS = st.lists(st.sampled_from(["", "a", "b", "ä", None]), max_size=12)


@given(st.lists(st.tuples(TEXTS, st.booleans(), st.integers(0, 99)), min_size=1, max_size=4))
def test_chosen_rows_of_several_files_are_the_texts_they_are(files: list[tuple[list[str | None], bool, int]]) -> None:
    parts, expected = [], []
    for texts, is_encoded, seed in files:
        column = pa.array(texts, pa.string())
        rows = np.flatnonzero(np.random.default_rng(seed).random(len(texts)) < 0.7)
        part = RowPart(0, len(texts), {"text": column.dictionary_encode() if is_encoded else column})
        parts.append(part_of_rows(part, rows).columns["text"])
        expected += [texts[row] for row in rows.tolist()]
    together = concatenated(parts)
    assert plain(together).to_pylist() == expected
    codes = key_codes(together).tolist()
    assert len({*zip(codes, expected, strict=True)}) == len({*codes}) == len({*expected})
