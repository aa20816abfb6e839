"""How the text in a column, or bytes of Avro, become columns."""

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from streamshed.errors import InvalidNetworkError, Problem, unknown_name
from streamshed.network.words.columns import Column, parse_schema
from streamshed.network.words.given import given_options, is_a, is_filled_text
from streamshed.network.words.keywords import with_advice
from streamshed.network.words.reader_options import reader_option_problems
from streamshed.network.words.schema_registry import SchemaRegistry, registry_problems


class TextFormat(StrEnum):
    """How text, or bytes, become columns."""

    JSON = "json"
    CSV = "csv"
    AVRO = "avro"


@dataclass(frozen=True, slots=True)
class Parse:
    """How the text in one column becomes columns; made by `parse_json`, `parse_csv` or `parse_avro`.

    Attributes:
        format: Of the text.
        column: Where it is.
        schema: The columns that come out of it; of Avro, empty while only the registry knows them.
        options: Of the reader, or of the registry, sorted by name.
        avro_schema: The schema as which values of Avro are read; empty: the registry's latest.
        registry: Where the schemas that values were written with are found by their ids; None: in none, and values have
            no ids.
        subject: Under which name the registry has the schema of the stream; None: the topic's, with `-value`.
    """

    format: TextFormat
    column: str
    schema: tuple[Column, ...] = ()
    options: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    avro_schema: str = field(default="", repr=False)
    registry: str | None = None
    subject: str | None = None

    def __post_init__(self) -> None:
        try:
            object.__setattr__(self, "format", TextFormat(self.format))
        except ValueError as error:
            raise InvalidNetworkError(unknown_name("text format", self.format, TextFormat)) from error
        object.__setattr__(self, "options", tuple(sorted(self.options)))
        if not is_filled_text(self.column):
            raise InvalidNetworkError(Problem("what is to be parsed is the name of a column", got=repr(self.column)))
        if self.format is TextFormat.AVRO:
            problems = [*_avro_problems(self)]
        else:
            problems = [*reader_option_problems(f"{self.format} text", self.options, f'parsing "{self.column}"')]
        if problems:
            raise InvalidNetworkError(*problems)
        if self.avro_schema:
            from streamshed.network.words.avro_schema import avro_columns

            object.__setattr__(self, "schema", avro_columns(self.avro_schema))
        elif not (self.schema or self.registry):
            raise InvalidNetworkError(f'parsing "{self.column}" needs a schema, such as "ts timestamp, size int"')

    @property
    def schema_registry(self) -> SchemaRegistry | None:
        """The registry of schemas; None: there is none."""
        return None if self.registry is None else SchemaRegistry(self.registry, self.options)


def _avro_problems(parse: Parse) -> Iterator[Problem]:
    if parse.registry is not None:
        yield from registry_problems(parse.registry, parse.options)
        if parse.subject is not None and not is_filled_text(parse.subject):
            yield Problem('a subject is a name such as "packets-value"', "subject", got=repr(parse.subject))
        return
    if not parse.avro_schema:
        says = f'values of Avro in "{parse.column}" need a schema, or a registry that has it'
        yield Problem(says, "schema")
    for key, value in (("subject", parse.subject), ("options", parse.options)):
        if value is not None and (not is_a(value, str, tuple) or len(value) > 0):
            yield Problem(f"{key} is of a registry, and there is none: say which by `registry`", key)


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


@with_advice
def parse_avro(
    column: str,
    schema: str | Mapping[str, object] | os.PathLike[str] | None = None,
    *,
    registry: str | None = None,
    subject: str | None = None,
    options: Mapping[str, str] | None = None,
) -> Parse:
    """Say that a column holds records of Avro, in binary.

    Without a registry, a value is Avro's bytes and nothing else, written with the schema. With one, a value begins as
    Confluent's wire format has it: a byte 0, four bytes of the id of the schema that it was written with, then Avro's
    bytes. They are resolved to the schema that is given here, by Avro's rules, else to the latest of the subject.
    Fields become columns by the types that Spark gives them; needs the extra `avro`.

    Args:
        column: The column.
        schema: The schema, as the text of JSON or what it says, or the path of a file that holds it.
        registry: Where the registry is, such as "http://registry:8081".
        subject: What the schema is called there; None: the topic's name with "-value" behind it.
        options: Who asks the registry: {"basic.auth.user.info": "user:password"} or {"bearer.auth.token": "..."}.

    Raises:
        InvalidNetworkError: Naming each field of the schema that no column can hold, and whatever else is wrong.

    Example:
        >>> packet = {"type": "record", "name": "Packet", "fields": [{"name": "size", "type": ["null", "int"]}]}
        >>> parse_avro("value", packet).schema
        (Column(name='size', type='int'),)
    """
    text = avro_text(schema)
    return Parse(TextFormat.AVRO, column, (), given_options(options), text, registry, subject)


def avro_text(schema: object) -> str:
    """Return a schema of Avro as `Parse` has it: in one line, the same for the same schema; empty: there is none.

    Args:
        schema: As `parse_avro` takes it.

    Raises:
        InvalidNetworkError: It is none.

    Example:
        >>> avro_text('{"type":   "record"}'), avro_text({"type": "record"}), avro_text(None)
        ('{"type": "record"}', '{"type": "record"}', '')
    """
    if schema is None:
        return ""
    if isinstance(schema, os.PathLike):
        schema = _file_text(os.fspath(schema))
    if not is_a(schema, str, dict):
        raise InvalidNetworkError(Problem("an Avro schema is a mapping, a text or a path", "schema", got=repr(schema)))
    from streamshed.network.words.avro_schema import read_schema

    try:
        return json.dumps(read_schema(schema) if isinstance(schema, str) else schema)
    except (TypeError, ValueError, RecursionError) as error:
        if isinstance(error, InvalidNetworkError):
            raise
        raise InvalidNetworkError(Problem(f"an Avro schema is what JSON can hold ({error})", "schema")) from error


def _file_text(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InvalidNetworkError(
            Problem(f"the file of the Avro schema cannot be read: {reason}", "schema_file", got=f'"{path}"')
        ) from error
