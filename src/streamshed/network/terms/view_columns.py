"""The columns of a typed view of a query's answers, and names of keys and aggregates that cannot be columns of it."""

from collections.abc import Iterator, Sequence

from streamshed.network.words.names import reserved_problem

_TIMES = ("window_start", "window_end")
_NUMBERS = ("window_from", "window_until")
EXACT_COLUMN = "exact"
_SIDES = ("lower", "upper")


def window_columns(*, is_numbered: bool) -> tuple[str, str]:
    """Return the columns that say where a window begins and ends, in time or along numbers."""
    return _NUMBERS if is_numbered else _TIMES


def bound_columns(aggregate: str) -> tuple[str, ...]:
    """Return the columns of the bounds of an aggregate, the lower one first.

    Example:
        >>> bound_columns("bytes")
        ('bytes_lower', 'bytes_upper')
    """
    return tuple(f"{aggregate}_{side}" for side in _SIDES)


def view_problems(keys: Sequence[str], aggregates: Sequence[str], *, is_numbered: bool = False) -> Iterator[str]:
    """Tell which keys and aggregates have the name of another column, upper and lower case being alike.

    Args:
        keys: The names of the keys; that one is given twice is told elsewhere.
        aggregates: The names of the aggregates, likewise.
        is_numbered: Whether windows lie along numbers.

    Example:
        >>> for problem in view_problems(["v", "Exact"], ["V"]):
        ...     print(problem)
        the key "Exact" has the name of another column of the answers, "exact": name it otherwise
        the aggregate "V" has the name of another column of the answers, the key "v": name it otherwise
    """
    for kind, names in (("key", keys), ("aggregate", aggregates)):
        yield from filter(None, (reserved_problem(kind, name) for name in names))
    owners: dict[str, str] = {}
    for column, owner in _columns(_distinct(keys), _distinct(aggregates), window_columns(is_numbered=is_numbered)):
        first = owners.setdefault(column.lower(), owner)
        if first is not owner:
            yield f"{owner} has the name of another column of the answers, {first}: name it otherwise"


def _columns(keys: Sequence[str], aggregates: Sequence[str], windows: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The columns, each with what it is of."""
    yield from ((column, f'"{column}"') for column in (*windows, EXACT_COLUMN))
    yield from ((key, f'the key "{key}"') for key in keys)
    yield from ((aggregate, f'the aggregate "{aggregate}"') for aggregate in aggregates)
    for aggregate in aggregates:
        for side, column in zip(_SIDES, bound_columns(aggregate), strict=True):
            yield column, f'the {side} bound of the aggregate "{aggregate}"'


def _distinct(names: Sequence[str]) -> list[str]:
    return [*{name.lower(): name for name in reversed(names)}.values()][::-1]
