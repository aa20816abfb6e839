"""How lines of CSV are written, as options of Spark's reader say it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Self

from streamshed.columnar.texts.letters import MARGIN
from streamshed.columnar.untranslatable import Untranslatable

QUOTE = '"'
_SEPARATORS = frozenset(",;|\t:^~")
_COMMENTS = frozenset("#!%;/*")
_LITERALS = MARGIN // 2


@dataclass(frozen=True, slots=True)
class CsvForm:
    """How lines of CSV are written; made by `CsvForm.of`.

    Attributes:
        separator: Stands between two values; a letter of ASCII.
        comment: What a line begins with that is a comment; None: no line is.
        null: The value that stands for null, beside none at all.
        escape: Stands before a quotation mark that is part of a value.
        trims: Whether spaces around values are no part of them.
        time_zone: Of times without one; None: the session's.
    """

    separator: str = ","
    comment: str | None = None
    null: str = ""
    escape: str = "\\"
    trims: bool = False
    time_zone: str | None = None

    @classmethod
    def of(cls, options: Mapping[str, str]) -> Self:
        r"""Read options of `from_csv`; names may be in upper or lower case.

        Raises:
            Untranslatable: One of them lets Spark read lines in its own way. Its text says which.

        Example:
            >>> CsvForm.of({"sep": "\t", "nullValue": "NA"})
            CsvForm(separator='\t', comment=None, null='NA', escape='\\', trims=False, time_zone=None)
            >>> CsvForm.of({"quote": "'"})
            Traceback (most recent call last):
            streamshed.columnar.untranslatable.Untranslatable: the option "quote" of lines of CSV is for Spark
        """
        said = {name.lower(): (name, value) for name, value in options.items()}
        for key, (name, value) in said.items():
            if key not in _ALLOWED or not _ALLOWED[key](value):
                raise Untranslatable(f'the option "{name}" of lines of CSV is for Spark')
        values = {key: value for key, (_, value) in said.items()}
        separator = _separator(values.get("sep", values.get("delimiter", ",")))
        comment = values.get("comment")
        if comment == separator:
            raise Untranslatable(f"lines of CSV have {comment!r} between values, and before comments")
        trims = {values.get(name, "false").lower() for name in _TRIMMING} != {"false"}
        escape, null = values.get("escape", "\\"), values.get("nullvalue", "")
        return cls(separator, comment, null, escape, trims, values.get("timezone"))


_TRIMMING = ("ignoreleadingwhitespace", "ignoretrailingwhitespace")


def _separator(said: str) -> str:
    return "\t" if said == "\\t" else said


def _is_plain(null: str) -> bool:
    return null.isprintable() and not {QUOTE, "\\"} & {*null} and len(null.encode()) <= _LITERALS


def _is_truth(value: str) -> bool:
    return value.lower() in {"true", "false"}


def _is_utf8(value: str) -> bool:
    return value.upper() in {"UTF-8", "UTF8"}


def _anything(_value: str) -> bool:
    return True


_ALLOWED: Mapping[str, Callable[[str], bool]] = {
    "sep": lambda value: _separator(value) in _SEPARATORS,
    "delimiter": lambda value: _separator(value) in _SEPARATORS,
    "comment": lambda value: value in _COMMENTS,
    "quote": lambda value: value == QUOTE,
    "escape": lambda value: value in {"\\", QUOTE},
    "nullvalue": _is_plain,
    # What is between two quotation marks and nothing else is left to Spark.
    "emptyvalue": _anything,
    "timezone": _anything,
    "multiline": lambda value: value.lower() == "false",
    "mode": lambda value: value.upper() == "PERMISSIVE",
    "encoding": _is_utf8,
    "charset": _is_utf8,
    **dict.fromkeys(_TRIMMING, _is_truth),
}
"""By option, which values do not make Spark read lines in another way than they are read here."""
