"""The reader options of a stored relation: those of Spark's that its own reader knows."""

from collections.abc import Mapping
from dataclasses import dataclass

from streamshed.errors import InvalidNetworkError, Problem, closest_name
from streamshed.network.source.sources import FileFormat

_TRUTHS = {"true": True, "false": False}
_OPTIONS: Mapping[FileFormat, tuple[str, ...]] = {FileFormat.CSV: ("header", "sep", "delimiter")}
_TAB = "\\t"


@dataclass(frozen=True, slots=True)
class CsvLayout:
    """How a CSV file is laid out.

    Attributes:
        has_header: Whether its first line names the columns; unlike in Spark, it does unless said otherwise.
        separator: What stands between two values, one character.
    """

    has_header: bool = True
    separator: str = ","


def csv_layout(options: Mapping[str, str]) -> CsvLayout:
    """Read the options of a CSV file; names may be in upper or lower case.

    Raises:
        InvalidNetworkError: Listing the values that cannot be.

    Example:
        >>> csv_layout({"Header": "false", "sep": ";"})
        CsvLayout(has_header=False, separator=';')
    """
    given = {name.lower(): value for name, value in options.items()}
    header, separator = given.get("header", "true"), given.get("sep", given.get("delimiter", ","))
    separator = "\t" if separator == _TAB else separator
    problems = []
    if header.lower() not in _TRUTHS:
        problems.append(Problem('the option "header" is true or false', got=repr(header)))
    if len(separator) != 1:
        problems.append(Problem("the separator is one character", got=repr(separator)))
    if problems:
        raise InvalidNetworkError(*problems)
    return CsvLayout(_TRUTHS[header.lower()], separator)


def check_options(kind: FileFormat, options: Mapping[str, str]) -> None:
    """Check that the reader of a format has such options, and that their values are right.

    Raises:
        InvalidNetworkError: An option is unknown, or its value is wrong.

    Example:
        >>> check_options(FileFormat.CSV, {"mode": "DROPMALFORMED"})
        Traceback (most recent call last):
        streamshed.errors.InvalidNetworkError: unknown option "mode" of a csv relation, known: header, sep, delimiter
        >>> check_options(FileFormat.JSON, {"multiLine": "true"})
        Traceback (most recent call last):
        streamshed.errors.InvalidNetworkError: unknown option "multiLine" of a json relation, which has none
    """
    option_names = _OPTIONS.get(kind, ())
    has = f"known: {', '.join(option_names)}" if option_names else "which has none"
    unknown = [name for name in options if name.lower() not in option_names]
    if unknown:
        raise InvalidNetworkError(
            *(
                Problem(
                    f'unknown option "{name}" of a {kind} relation, {has}',
                    near_miss=closest_name(name, option_names),
                    name=name,
                )
                for name in unknown
            )
        )
    if kind is FileFormat.CSV:
        csv_layout(options)
