"""LIKE: a pattern that is a literal becomes a comparison, a search, or a regular expression."""

import re
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from streamshed.columnar.expressions.coercion import BOOLEAN, STRING, expect
from streamshed.columnar.expressions.column_node import ColumnNode, Kernel, constant, is_null, strict
from streamshed.columnar.expressions.regexes import may_part_a_line_end, searched_regex
from streamshed.columnar.expressions.values import Datum, SureValues, noted, truths
from streamshed.columnar.untranslatable import Untranslatable

_ANY, _SINGLE = "%", "_"
Piece: TypeAlias = tuple[bool, str]
"""Whether characters stand for others (`%` or `_`), and the characters."""


def like(text: ColumnNode, pattern: ColumnNode, escape: str = "\\") -> ColumnNode:
    """`text LIKE pattern ESCAPE escape`.

    Raises:
        Untranslatable: The pattern is no literal, or ends in the middle of an escape.
    """
    text, pattern = expect(text, [STRING], "LIKE"), expect(pattern, [STRING], "LIKE")
    if is_null(pattern):
        return strict(BOOLEAN, SureValues, pattern, text)
    if pattern.constant is None:
        raise Untranslatable("LIKE with a pattern that is no literal is evaluated by Spark")
    return strict(BOOLEAN, _matching(like_pieces(pattern.constant.as_py(), escape)), text)


def like_pieces(pattern: str, escape: str) -> list[Piece]:
    r"""Divide a pattern of LIKE into what stands for itself and what does not.

    Example:
        >>> like_pieces(r"10\%_%", "\\")
        [(False, '10%'), (True, '_'), (True, '%')]
    """
    pieces: list[Piece] = []
    characters = iter(pattern)
    for character in characters:
        if character == escape:
            escaped = next(characters, "")
            if escaped not in (_ANY, _SINGLE, escape):
                raise Untranslatable(f'the pattern "{pattern}" is not one of LIKE: Spark evaluates it')
            _append(pieces, escaped)
        elif character in (_ANY, _SINGLE):
            if not (character == _ANY and pieces and pieces[-1] == (True, _ANY)):
                pieces.append((True, character))
        else:
            _append(pieces, character)
    return pieces


def _append(pieces: list[Piece], character: str) -> None:
    if pieces and not pieces[-1][0]:
        pieces[-1] = (False, pieces[-1][1] + character)
    else:
        pieces.append((False, character))


def _matching(pieces: Sequence[Piece]) -> Kernel:
    match pieces:
        case []:
            return lambda datum: SureValues(pc.equal(datum, pa.scalar("", STRING)))
        case [(False, text)]:
            return lambda datum: SureValues(pc.equal(datum, pa.scalar(text, STRING)))
        case [(False, text), (True, "%")]:
            return _search(pc.starts_with, text)
        case [(True, "%"), (False, text)]:
            return _search(pc.ends_with, text)
        case [(True, "%"), (False, text), (True, "%")]:
            return _search(pc.match_substring, text)
    regex = "".join(_regex(piece) for piece in pieces)
    return _search(pc.match_substring_regex, rf"\A(?s:{regex})\z")


def _regex(piece: Piece) -> str:
    is_wildcard, text = piece
    if is_wildcard:
        return ".*" if text == _ANY else "."
    return re.sub(r"[^A-Za-z0-9 ]", lambda match: rf"\x{{{ord(match[0]):x}}}", text)


def _search(function: Callable[..., Any], pattern: str) -> Kernel:
    def kernel(datum: Datum) -> SureValues:
        return SureValues(function(datum, pattern))

    return kernel


def searching(function: Callable[..., Any], text: ColumnNode, pattern: ColumnNode) -> ColumnNode:
    """`startswith`, `endswith`, `contains` with a literal."""
    text, pattern = expect(text, [STRING], "a search"), expect(pattern, [STRING], "a search")
    if is_null(pattern):
        return strict(BOOLEAN, SureValues, pattern, text)
    if pattern.constant is None:
        raise Untranslatable("a search for a text that is no literal is evaluated by Spark")
    return strict(BOOLEAN, _search(function, pattern.constant.as_py()), text)


def matching_regex(text: ColumnNode, pattern: ColumnNode) -> ColumnNode:
    """`text RLIKE pattern` with a literal; unsure where the match may end within a line end."""
    if pattern.type != STRING or pattern.constant is None or not pattern.constant.is_valid:
        return searching(pc.match_substring_regex, text, pattern)
    regex = searched_regex(pattern.constant.as_py())
    if not may_part_a_line_end(pattern.constant.as_py()):
        return searching(pc.match_substring_regex, text, constant(pa.scalar(regex, STRING)))

    def kernel(datum: pa.Array) -> SureValues:
        is_unsure = truths(pc.ends_with(datum, "\r\n"))
        return SureValues(pc.match_substring_regex(datum, regex), noted(is_unsure))

    return strict(BOOLEAN, kernel, expect(text, [STRING], "a search"))
