"""The schema of answers: one row per query, window, key and aggregate; the same for every network and sink."""

from collections.abc import Sequence

import pyarrow as pa

from streamshed.errors import InvalidNetworkError, Problem, unknown_name

ANSWER_SCHEMA = (
    ("kind", "string"),
    ("query", "string"),
    ("window_start", "timestamp"),
    ("window_end", "timestamp"),
    ("window_from", "bigint"),
    ("window_until", "bigint"),
    ("key", "array<string>"),
    ("aggregate", "string"),
    ("value", "double"),
    ("value_text", "string"),
    ("lower", "double"),
    ("upper", "double"),
    ("confidence", "double"),
    ("standard_error", "double"),
    ("sampling_rate", "double"),
    ("rows_used", "bigint"),
    ("rows_estimated", "double"),
    ("exact", "boolean"),
    ("low", "boolean"),
    ("reason", "string"),
)
"""Name and type of each column; `docs/answers.md` says what they mean."""

IDENTITY_COLUMNS = ("kind", "query", "window_start", "window_end", "window_from", "window_until", "key", "aggregate")
"""What an answer is told by from all others of its network."""

ANSWER_DDL = ", ".join(f"{name} {kind}" for name, kind in ANSWER_SCHEMA)

ANSWER = "answer"
"""An aggregate of a window."""
ROW = "row"
"""A row of a set-valued query, as JSON."""
LATE = "late"
"""How many (row, window) pairs of a query came when the window had closed."""
UNREADABLE = "unreadable"
"""A row that could not be read."""

GAP = "gap"
"""A window that was dropped, for all of its groups, or for those of the cohorts in `value_text`; or one that began
before its query was added."""

PREDICTION = "prediction"
"""What a dropped window would have been answered, as far as others tell; made afterwards, never by a run."""

KINDS = (ANSWER, ROW, LATE, UNREADABLE, GAP)
"""All kinds."""


def arrow_schema() -> pa.Schema:
    """Return the schema in Arrow's types."""
    return pa.schema([pa.field(name, _ARROW_TYPES[kind]) for name, kind in ANSWER_SCHEMA])


_ARROW_TYPES = {
    "string": pa.string(),
    "timestamp": pa.timestamp("us", tz="UTC"),
    "array<string>": pa.list_(pa.string()),
    "double": pa.float64(),
    "bigint": pa.int64(),
    "boolean": pa.bool_(),
}


def answer_columns(names: Sequence[str]) -> tuple[str, ...]:
    """Check the names of columns of answers, by which they are partitioned.

    Example:
        >>> answer_columns(["query", "kind"])
        ('query', 'kind')

    Raises:
        InvalidNetworkError: There is no such column, it is named twice, or a folder cannot be named by its values.
    """
    columns = dict(ANSWER_SCHEMA)
    if unknown := [name for name in names if name not in columns]:
        raise InvalidNetworkError(unknown_name("column of answers", unknown[0], [*columns]))
    if twice := [name for name in names if names.count(name) > 1]:
        raise InvalidNetworkError(Problem(f'answers are partitioned by "{twice[0]}" twice'))
    for name in names:
        if columns[name] in _NO_NAMES_OF_FOLDERS:
            raise InvalidNetworkError(Problem(f'answers cannot be partitioned by "{name}", which is {columns[name]}'))
    return tuple(names)


_NO_NAMES_OF_FOLDERS = frozenset({"array<string>", "double"})
