"""Columns, schemas and their text: Spark's DDL, such as "ts timestamp, size int"."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from streamshed.errors import InvalidNetworkError, Problem, closest_name
from streamshed.network.words.given import is_filled_text, is_text

_SYNONYMS = {
    "integer": "int",
    "long": "bigint",
    "short": "smallint",
    "byte": "tinyint",
    "real": "float",
    "dec": "decimal",
    "numeric": "decimal",
    "bool": "boolean",
    "timestamp_ltz": "timestamp",
}
_ATOMIC_TYPES = frozenset(
    {
        *("bigint", "int", "smallint", "tinyint", "float", "double", "decimal", "boolean"),
        *("string", "char", "varchar", "binary", "date", "timestamp", "timestamp_ntz", "time"),
        *("interval", "variant", "void"),
    }
)
_NESTED_TYPES = frozenset({"array", "map", "struct"})
_NAME = re.compile(r"\s*(?:`(?P<quoted>(?:[^`]|``)+)`|(?P<plain>\w+))\s*:?\s*")
_TAIL = re.compile(r"(?:\s+not\s+null|\s+comment\s+(?:'[^']*'|\"[^\"]*\"))\s*$", re.IGNORECASE)
_TYPE_NAME = re.compile(r"[a-z_]\w*")


@dataclass(frozen=True, slots=True)
class Column:
    """A named column; its type is Spark's DDL text in normal form, None where only Spark will know it."""

    name: str
    type: str | None

    def __post_init__(self) -> None:
        if not is_filled_text(self.name):
            raise InvalidNetworkError(Problem("a column's name is text that is not empty", got=repr(self.name)))
        if self.type is not None:
            object.__setattr__(self, "type", normal_type(self.type))


def parse_schema(ddl: str) -> tuple[Column, ...]:
    """Read a schema written as Spark's DDL.

    Raises:
        InvalidNetworkError: Listing every column that cannot be read.

    Example:
        >>> parse_schema("ts timestamp, size INTEGER NOT NULL")
        (Column(name='ts', type='timestamp'), Column(name='size', type='int'))
        >>> parse_schema("size itn")
        Traceback (most recent call last):
        streamshed.errors.InvalidNetworkError: column "size": unknown type "itn" (did you mean "int"?)
    """
    if not is_filled_text(ddl):
        raise InvalidNetworkError(Problem('a schema is text such as "ts timestamp, size int"', got=repr(ddl)))
    columns: list[Column] = []
    problems: list[str] = []
    for part in _split(ddl):
        try:
            columns.append(_parse_column(part))
        except InvalidNetworkError as error:
            problems += error.problems
    problems += duplicate_names(column.name for column in columns)
    if problems:
        raise InvalidNetworkError(*problems)
    return tuple(columns)


def format_schema(columns: Iterable[Column]) -> str:
    """Write columns of known types as DDL, the inverse of `parse_schema`.

    Example:
        >>> format_schema(parse_schema("ts timestamp, `a b` long"))
        'ts timestamp, `a b` bigint'
    """
    return ", ".join(f"{_written(column.name)} {column.type or 'void'}" for column in columns)


def normal_type(text: str) -> str:
    """Write a type as Spark's `DataFrame.dtypes` does: lower case, one name per type, no white space.

    Example:
        >>> normal_type("Decimal(10, 2)"), normal_type("STRUCT<a: LONG, B array<integer>>")
        ('decimal(10,2)', 'struct<a:bigint,B:array<int>>')
    """
    if not is_text(text):
        raise InvalidNetworkError(Problem('a type is text such as "double"', got=repr(text)))
    head, bracket, inside = text.strip().partition("<")
    name = head.strip().lower()
    if bracket and name in _NESTED_TYPES and inside.rstrip().endswith(">"):
        return f"{name}<{','.join(_normal_inside(name, inside.rstrip()[:-1]))}>"
    match = _TYPE_NAME.match(name)
    word = match.group() if match else name
    normal = _SYNONYMS.get(word, word)
    if normal not in _ATOMIC_TYPES or (bracket and normal not in _NESTED_TYPES):
        near_miss = closest_name(word, _ATOMIC_TYPES | _NESTED_TYPES)
        raise InvalidNetworkError(Problem(f'unknown type "{text.strip()}"', near_miss=near_miss, name=text.strip()))
    rest = name[len(word) :]
    if normal == "interval" or rest.lstrip().startswith("collate "):
        return " ".join([normal, *rest.split()])
    if normal == "decimal" and not rest.strip():
        return "decimal(10,0)"
    parameters = "".join(rest.split())
    if parameters and not re.fullmatch(r"\(\d+(,\d+)?\)", parameters):
        raise InvalidNetworkError(f'cannot read the type "{text.strip()}": what does "{rest.strip()}" mean?')
    return normal + parameters


def duplicate_names(names: Iterable[str]) -> list[str]:
    """Tell of names that differ from another one in case at most, as Spark would find them ambiguous.

    Example:
        >>> duplicate_names(["ts", "size", "Size"])
        ['the columns "size" and "Size" have the same name for Spark']
    """
    seen: dict[str, str] = {}
    problems = []
    for name in names:
        first = seen.setdefault(name.lower(), name)
        if first is not name:
            problems.append(f'the columns "{first}" and "{name}" have the same name for Spark')
    return problems


def declared_name(name: str, columns: Mapping[str, str | None]) -> str | None:
    """Find the declared spelling of a column, upper and lower case being alike; None where there is none."""
    if name in columns:
        return name
    folded = name.lower()
    return next((column for column in columns if column.lower() == folded), None)


def _parse_column(part: str) -> Column:
    match = _NAME.match(part)
    rest = part[match.end() :] if match else ""
    if match is None or not rest.strip():
        raise InvalidNetworkError(f'"{part.strip()}" is no column: write a name and a type, such as "size int"')
    name = match["plain"] or match["quoted"].replace("``", "`")
    while tail := _TAIL.search(rest):
        rest = rest[: tail.start()]
    try:
        return Column(name, rest)
    except InvalidNetworkError as error:
        problems = (Problem.of(problem, lead=f'column "{name}"', name=name) for problem in error.problems)
        raise InvalidNetworkError(*problems) from error


def _normal_inside(name: str, inside: str) -> Iterator[str]:
    if name != "struct":
        yield from (normal_type(part) for part in _split(inside))
        return
    for column in (_parse_column(part) for part in _split(inside)):
        yield f"{_written(column.name)}:{column.type}"


def _split(text: str) -> Iterator[str]:
    """The parts between the commas that stand in no brackets or quotes."""
    depth = start = 0
    quote = ""
    for index, character in enumerate(text):
        if quote:
            quote = "" if character == quote else quote
        elif character in "`'\"":
            quote = character
        elif character in "<(":
            depth += 1
        elif character in ">)":
            depth -= 1
        elif character == "," and depth == 0:
            yield text[start:index]
            start = index + 1
    yield text[start:]


def _written(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z_]\w*", name) else "`" + name.replace("`", "``") + "`"
