"""Whether a table that is there already takes answers."""

from __future__ import annotations

from collections.abc import Collection

from streamshed.answering.table.answer_schema import ANSWER_SCHEMA
from streamshed.errors import SinkUnavailableError


def require_columns(label: str, there: Collection[str]) -> None:
    """See that a table has the columns of answers.

    Args:
        label: What the sink is called in messages.
        there: The table's columns.

    Raises:
        SinkUnavailableError: Some are missing.
    """
    if missing := [name for name, _ in ANSWER_SCHEMA if name not in there]:
        raise SinkUnavailableError(f"{label}: the table there is of no answers, it lacks {', '.join(missing)}")


def require_partitions(label: str, wanted: tuple[str, ...], there: tuple[str, ...]) -> None:
    """See that a table is partitioned as it is wanted.

    Args:
        label: What the sink is called in messages.
        wanted: Columns; none: whatever there is will do.
        there: Those by which the table is partitioned.

    Raises:
        SinkUnavailableError: They differ.
    """
    if wanted and there != wanted:
        by_wanted, by_there = (", ".join(names) or "nothing" for names in (wanted, there))
        raise SinkUnavailableError(f"{label}: the table there is partitioned by {by_there}, not by {by_wanted}")
