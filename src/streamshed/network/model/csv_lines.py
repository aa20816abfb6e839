"""Lines of a folder of CSV, each a text of its own."""

from __future__ import annotations

from streamshed.network.source.sources import FolderSource
from streamshed.network.terms.parsing import Parse, TextFormat
from streamshed.network.words.reader_options import reader_option_problems

OF_FILES = frozenset({"header", "enforceschema", "inferschema"})
"""Options of CSV files, in lower case, that say nothing about a line that is a row."""


def parse_of_lines(source: FolderSource) -> Parse | None:
    """Return how lines of a folder of CSV become columns; None: an option lets a row be something else.

    Example:
        >>> from streamshed.network.source.sources import folder
        >>> parse_of_lines(folder("in", "csv", schema="size int", options={"header": "true", "sep": ";"})).options
        (('sep', ';'),)
        >>> parse_of_lines(folder("in", "csv", schema="size int", options={"encoding": "UTF-16"}))
    """
    options = tuple((name, value) for name, value in source.options if name.lower() not in OF_FILES)
    if [*reader_option_problems("csv text", options)]:
        return None
    return Parse(TextFormat.CSV, "value", source.columns, options)
