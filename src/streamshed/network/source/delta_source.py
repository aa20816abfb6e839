"""A table of Delta Lake as a source, described without Spark."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field

from streamshed.errors import InvalidNetworkError, Problem, SourceUnavailableError
from streamshed.network.words.columns import Column, format_schema, parse_schema
from streamshed.network.words.given import given_options, is_a, is_filled_text, is_whole_number, option_problems
from streamshed.network.words.keywords import with_advice
from streamshed.network.words.local_path import local_path

_SAID_ELSEWHERE = {"maxfilespertrigger": "max_files_per_micro_batch"}
"""Options of Delta's source that have a place of their own, and which."""

_CHANGES = "rows that were changed would come again beside the old ones: `skipChangeCommits` leaves them as they came"
_FEED = "a row would come with each change of it, and be counted again"
_OURS = {
    "ignorechanges": _CHANGES,
    "ignorefiledeletion": _CHANGES,
    "readchangefeed": _FEED,
    "readchangedata": _FEED,
    "failondataloss": "answers would lack rows of files that are gone, and nothing would say so",
}
"""Options of Delta's source that a network cannot be run with, and why."""


@dataclass(frozen=True, slots=True)
class DeltaSource:
    """A table of Delta Lake whose new rows are read as they are committed; made by `delta`.

    Attributes:
        path: The table's folder; a URI of a folder of this machine becomes its path.
        schema: The columns that are read, as DDL; None: all that the table has.
        max_files_per_micro_batch: At most so many new files a micro-batch; None: as many as Delta takes, a thousand.
        options: Options of Delta's source, sorted by name.
    """

    path: str
    schema: str | None = None
    max_files_per_micro_batch: int | None = None
    options: tuple[tuple[str, str], ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        if not is_filled_text(self.path):
            raise InvalidNetworkError(Problem("a table of Delta Lake is a path or a URI", "delta", got=repr(self.path)))
        local = local_path(self.path)
        object.__setattr__(self, "path", self.path if local is None else local)
        object.__setattr__(self, "options", tuple(sorted(self.options)))
        if self.schema is not None:
            object.__setattr__(self, "schema", format_schema(parse_schema(self.schema)))
        problems = [*option_problems(self.options, _SAID_ELSEWHERE, _OURS)]
        limit = self.max_files_per_micro_batch
        if limit is not None and not is_whole_number(limit, at_least=1):
            says = "max_files_per_micro_batch must be at least 1"
            problems.append(Problem(says, "max_files_per_micro_batch", got=repr(limit)))
        if problems:
            raise InvalidNetworkError(*(Problem.of(problem, subject=self.label) for problem in problems))

    @property
    def label(self) -> str:
        """What it is called in messages.

        Example:
            >>> DeltaSource("fares").label
            'delta "fares"'
        """
        return f'delta "{self.path}"'

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns of its rows; reads the table's log where no schema was given.

        Raises:
            SourceUnavailableError: No schema, and no table on this machine to read it from.
        """
        if self.schema is not None:
            return parse_schema(self.schema)
        if local_path(self.path) is None:
            raise SourceUnavailableError(f"{self.label} is not on this machine: say its columns by schema")
        from streamshed.network.words.delta_log import delta_columns

        return delta_columns(self.path)


@with_advice
def delta(
    path: str | os.PathLike[str],
    *,
    schema: str | None = None,
    max_files_per_micro_batch: int | None = None,
    options: Mapping[str, str] | None = None,
) -> DeltaSource:
    """Describe a table of Delta Lake as a source: the rows that it has, then those that are added to it.

    Args:
        path: The table's folder, or its URI.
        schema: The columns that are read, as DDL; None: all that the table has, of one on this machine.
        max_files_per_micro_batch: At most so many new files a micro-batch; None: as many as Delta takes, a thousand.
        options: Options of Delta's source, such as {"startingVersion": "latest"}.

    Raises:
        InvalidNetworkError: Listing all that is wrong.

    Example:
        >>> delta("fares", schema="ts timestamp, fare double").columns[1]
        Column(name='fare', type='double')
        >>> delta("fares", options={"ignoreChanges": "true"})
        Traceback (most recent call last):
        streamshed.errors.InvalidNetworkError: delta "fares": the option "ignoreChanges" cannot be: rows that were
        changed would come again beside the old ones: `skipChangeCommits` leaves them as they came
    """
    if not is_a(path, str, os.PathLike):
        raise InvalidNetworkError(Problem('a table of Delta Lake is a path such as "data/fares"', got=repr(path)))
    return DeltaSource(os.fspath(path), schema, max_files_per_micro_batch, given_options(options))
