"""What fails as a whole is tried in parts."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

import pyarrow as pa

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class TextPart(Generic[Result]):
    """Rows `start` to `stop`, and what became of them; None: nothing."""

    start: int
    stop: int
    result: Result | None


def in_parts(
    attempt: Callable[[pa.Array], Result | None], texts: pa.Array, *, sizes: tuple[int, ...], start: int = 0
) -> Iterator[TextPart[Result]]:
    """Try all texts at once, where that fails in parts of the first size, those that fail in parts of the next.

    So what a failure costs is bounded: each text is tried at most once more than there are sizes.

    Args:
        attempt: What is tried; None: it failed.
        texts: On what.
        sizes: Lengths of parts, each smaller than the one before.
        start: The number of the first text.

    Returns:
        Parts in order, which together are all texts.

    Example:
        >>> texts = pa.array(["1", "2", "x", "4", "5"])
        >>> def numbers(texts):
        ...     try:
        ...         return texts.cast(pa.int64()).to_pylist()
        ...     except pa.ArrowInvalid:
        ...         return None
        >>> [(part.start, part.result) for part in in_parts(numbers, texts, sizes=(2, 1))]
        [(0, [1, 2]), (2, None), (3, [4]), (4, [5])]
    """
    result = attempt(texts)
    if result is not None or not sizes or len(texts) <= sizes[-1]:
        yield TextPart(start, start + len(texts), result)
        return
    size, *smaller = sizes
    for offset in range(0, len(texts), size):
        yield from in_parts(attempt, texts.slice(offset, size), sizes=tuple(smaller), start=start + offset)
