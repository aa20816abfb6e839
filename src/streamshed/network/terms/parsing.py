"""How the text in a column becomes columns."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from streamshed.errors import InvalidNetworkError, Problem, unknown_name
from streamshed.network.words.columns import Column, parse_schema
from streamshed.network.words.given import given_options, is_filled_text
from streamshed.network.words.keywords import with_advice
from streamshed.network.words.reader_options import reader_option_problems


class TextFormat(StrEnum):
    """How text becomes columns."""

    JSON = "json"
    CSV = "csv"


@dataclass(frozen=True, slots=True)
class Parse:
    """How the text in one column becomes columns; made by `parse_json` or `parse_csv`."""

    format: TextFormat
    column: str
    schema: tuple[Column, ...]
    options: tuple[tuple[str, str], ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        try:
            object.__setattr__(self, "format", TextFormat(self.format))
        except ValueError as error:
            raise InvalidNetworkError(unknown_name("text format", self.format, TextFormat)) from error
        object.__setattr__(self, "options", tuple(sorted(self.options)))
        if problems := [*reader_option_problems(f"{self.format} text", self.options, f'parsing "{self.column}"')]:
            raise InvalidNetworkError(*problems)
        if not is_filled_text(self.column):
            raise InvalidNetworkError(Problem("what is to be parsed is the name of a column", got=repr(self.column)))
        if not self.schema:
            raise InvalidNetworkError(f'parsing "{self.column}" needs a schema, such as "ts timestamp, size int"')


@with_advice
def parse_json(column: str, schema: str, *, options: Mapping[str, str] | None = None) -> Parse:
    """Say that a column holds JSON text.

    Args:
        column: The column.
        schema: The columns to take out of it as DDL, such as "ts timestamp, size int".
        options: Spark's options of `from_json`, such as {"timestampFormat": "..."}.
    """
    return Parse(TextFormat.JSON, column, parse_schema(schema), given_options(options))


@with_advice
def parse_csv(column: str, schema: str, *, options: Mapping[str, str] | None = None) -> Parse:
    """Say that a column holds a line of CSV; arguments as for `parse_json`."""
    return Parse(TextFormat.CSV, column, parse_schema(schema), given_options(options))
