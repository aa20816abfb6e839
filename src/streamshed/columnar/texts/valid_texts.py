"""Texts whose bytes are UTF-8: readers of files and Spark take any bytes for a text."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from streamshed.columnar.texts.dictionaries import Entries, plain
from streamshed.joins.model.arrays import Booleans


def are_valid(texts: pa.Array) -> Booleans:
    r"""Return which texts are UTF-8; null is.

    >>> broken = pa.array([b"a", b"\xff", None], pa.binary())
    >>> are_valid(pa.StringArray.from_buffers(3, *broken.buffers()[1:], broken.buffers()[0])).tolist()
    [True, False, True]
    """
    entries = Entries.of(texts)
    if entries is not None:
        return are_valid(entries.values)[entries.places]
    texts = plain(texts)
    try:
        texts.validate(full=True)
    except pa.ArrowInvalid:
        return np.array([text is None or is_utf8(text) for text in texts.cast(pa.binary()).to_pylist()], np.bool_)
    return np.ones(len(texts), np.bool_)


def is_utf8(text: bytes) -> bool:
    """Return whether bytes are a text."""
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True
