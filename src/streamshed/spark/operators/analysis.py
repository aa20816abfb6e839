"""What Spark's analyzer has against an expression, in the words of the one who wrote it.

Rests on Spark's internals: tests/spark/batch/test_refused_expressions.py.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame

from streamshed.errors import InvalidExpressionError
from streamshed.sharing.instructions import Call, Define, Instruction, Match, StreamProgram, Test

_ERROR_CLASS = re.compile(r"^\[[\w.]+\]\s*")
_SQL_STATE = re.compile(r"\.?\s*SQLSTATE: \w+.*$", re.DOTALL)
_COMPUTED = re.compile(r"__\w+")
_QUOTED_WORD = re.compile(r"`([A-Za-z_]\w*)`")
_T = TypeVar("_T")


def first_refused(candidates: Sequence[_T], run: Callable[[Sequence[_T]], object]) -> tuple[_T, AnalysisException]:
    """Return the first of some things that Spark refuses, given that it refuses all together.

    Args:
        candidates: In an order in which each needs only those before it.
        run: Has Spark analyze some of the first.
    """
    fine, refused = 0, len(candidates)
    refusal = _refusal(candidates, run)
    while refused - fine > 1:
        middle = (fine + refused) // 2
        error = _refusal(candidates[:middle], run)
        fine, refused, refusal = (middle, refused, refusal) if error is None else (fine, middle, error)
    if refusal is None:
        raise ValueError("Spark refuses none of them")
    return candidates[refused - 1], refusal


def _refusal(candidates: Sequence[_T], run: Callable[[Sequence[_T]], object]) -> AnalysisException | None:
    try:
        run(candidates)
    except AnalysisException as error:
        return error
    return None


def refused_instruction(
    program: StreamProgram, run: Callable[[Sequence[Instruction]], DataFrame]
) -> InvalidExpressionError:
    """Say which operator of a stream Spark refuses, and why.

    Args:
        program: The stream's straight line.
        run: Adds the columns of its first instructions to the stream's rows.
    """
    instruction, error = first_refused(program.instructions, run)
    names = written_names(program)
    match instruction:
        case Test():
            what = f'the predicate "{readable(instruction.sql, names)}"'
        case Define():
            what = f'"{readable(instruction.sql, names)}"'
        case Match():
            what = f'the lookup in "{instruction.relation.name}"'
        case Call():
            what = f"the function {instruction.function.name}"
    return InvalidExpressionError(f'stream "{program.stream.name}", {what}: {complaint(error, names)}')


def written_names(program: StreamProgram) -> dict[str, str]:
    """Return, by the names that columns have on the straight line, those that their operators gave them."""
    return {column: name for place in program.places.values() for name, column in place.columns.items()}


def readable(text: str, names: Mapping[str, str]) -> str:
    """Replace the names of the straight line by those that were written, and leave out needless backquotes.

    >>> readable("`__map_0a` > `a b`", {"__map_0a": "kilobytes"})
    'kilobytes > `a b`'
    """
    named = _COMPUTED.sub(lambda found: names.get(found.group(), found.group()), text)
    return _QUOTED_WORD.sub(r"\1", named)


def complaint(error: AnalysisException, names: Mapping[str, str]) -> str:
    """Take the sentence out of a message of Spark's analyzer."""
    sentence = _SQL_STATE.sub("", _ERROR_CLASS.sub("", str(error).strip())).partition("\n")[0].rstrip(". ")
    return f"Spark says: {readable(sentence, names)}"
