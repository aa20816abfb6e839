"""Conditions of joins: equal columns, nearness in time, and the other conditions that streams are joined on."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise

from streamshed.errors import InvalidNetworkError
from streamshed.network.sql.sql_syntax import Token
from streamshed.network.sql_text.row_scope import Scope, is_time
from streamshed.network.sql_text.sql_cursor import SqlCursor, conjuncts_of
from streamshed.network.sql_text.sql_tokens import SqlRefusal, Tokens, is_name, name_of
from streamshed.network.sql_text.statement_values import take_length, take_value
from streamshed.network.words.duration import parse_duration

_SOON = "1 second"
"""How late a right row may be where times are equal: more than not at all, which no join can do, and then filtered."""

_NEAR = "such as b.ts BETWEEN a.ts - INTERVAL '5' SECOND AND a.ts + INTERVAL '1' MINUTE"


def equal_pair(tokens: Tokens) -> tuple[Tokens, Tokens] | None:
    """Split `a.x = b.y` into its sides; None: it is something else."""
    cursor = SqlCursor(tokens)
    left = _operand(cursor)
    if not left or not (cursor.take_symbol("=") or cursor.take_symbol("==")):
        return None
    right = _operand(cursor)
    return (left, right) if right and cursor.peek() is None else None


def qualifier_of(tokens: Tokens) -> str | None:
    """The qualifier of a column, in lower case; None: it has none."""
    return name_of(tokens[0]).lower() if len(tokens) > 1 else None


@dataclass
class PairCondition:
    """When rows of two streams are a pair, as a document's join has it.

    Attributes:
        equal: Columns that are equal, left to right.
        other: Another condition, by its key; None: there is none.
        left_waits: How long left rows wait for later right ones.
        right_waits: How long right rows wait for later left ones.
        rest: What is left for a filter of the pairs.
    """

    equal: dict[str, str] = field(default_factory=dict)
    other: tuple[str, object] | None = None
    left_waits: str | None = None
    right_waits: str | None = None
    rest: list[Tokens] = field(default_factory=list)


@dataclass(frozen=True)
class PairReader:
    """Reads the ON of a join of two streams.

    Attributes:
        left: What names of the left side stand for.
        right: Those of the right side.
    """

    left: Scope
    right: Scope

    def read(self, on: Tokens, using: bool, words: Tokens) -> PairCondition:  # noqa: FBT001 - what stands before the list
        """Read a condition.

        Raises:
            SqlRefusal: It does not say how near pairs are in time, or cannot be said of pairs.
        """
        condition = PairCondition()
        if using:
            raise SqlRefusal(words, f"streams are joined ON equal columns and nearness in time, {_NEAR}")
        for part in conjuncts_of(on):
            if not (self._take_equal(part, condition) or self._take_near(part, condition)):
                other = self._other(part)
                if other is None or condition.other is not None:
                    condition.rest.append(part)
                condition.other = condition.other or other
        if condition.left_waits is None or condition.right_waits is None:
            missing = "how much later" if condition.left_waits is None else "how much earlier"
            raise SqlRefusal(on, f"{missing} a right row may be is not said: streams are joined near in time, {_NEAR}")
        if condition.other is not None and condition.equal:
            raise SqlRefusal(on, f"a join is on equal columns or {condition.other[0]}, not both: filter the pairs")
        return condition

    def _side(self, tokens: Tokens) -> Scope | None:
        qualifier = qualifier_of(tokens)
        return next((side for side in (self.left, self.right) if qualifier in side.names), None)

    def _take_equal(self, part: Tokens, condition: PairCondition) -> bool:
        pair = equal_pair(part)
        if pair is None:
            return False
        sides = [self._side(operand) for operand in pair]
        if sides == [self.right, self.left]:
            pair, sides = (pair[1], pair[0]), sides[::-1]
        if sides != [self.left, self.right]:
            return False
        if (
            is_time(pair[0], self.left)
            and is_time(pair[1], self.right)
            and self.left.rows.times
            and self.right.rows.times
        ):
            _bound(condition, later=_SOON, earlier="0 seconds")
            condition.rest.append(part)
            return True
        mine, theirs = self.left.column(pair[0]) or "", self.right.column(pair[1]) or ""
        if mine in condition.equal:
            condition.rest.append(part)
        else:
            condition.equal[mine] = theirs
        return True

    def _take_near(self, part: Tokens, condition: PairCondition) -> bool:
        """Take `r.ts BETWEEN l.ts - i AND l.ts + j`, or one half of it as `r.ts <= l.ts + j`."""
        cursor = SqlCursor(part)
        first = self._time(cursor)
        if first is None:
            return False
        if cursor.take("between"):
            low = self._shifted(cursor, first)
            cursor.expect("and")
            high = self._shifted(cursor, first)
        elif cursor.is_at_symbol("<", ">"):
            raise SqlRefusal(part, "nearness in time holds at its ends, too: write <= or >=")
        elif cursor.take_symbol("<="):
            low, high = None, self._shifted(cursor, first)
        elif cursor.take_symbol(">="):
            low, high = self._shifted(cursor, first), None
        else:
            return False
        cursor.expect_end()
        _bound_by(condition, low, high, part, is_right=first is self.right)
        return True

    def _time(self, cursor: SqlCursor) -> Scope | None:
        """Take the event time of a side, a column or an expression over columns; None: something else comes next."""
        rest = cursor.rest
        for count in range(1, len(rest) + 1):
            for side in (self.left, self.right):
                if _is_qualified(rest[:count], side) and is_time(rest[:count], side):
                    for _ in range(count):
                        cursor.advance()
                    return side
        return None

    def _shifted(self, cursor: SqlCursor, first: Scope) -> int:
        """Read the other side's time with what is added to it, in microseconds."""
        start = cursor.rest[:1]
        other = self._time(cursor)
        if other is None or other is first:
            raise SqlRefusal(start, f"the other side's event time is expected here, {_NEAR}")
        sign = 1 if cursor.take_symbol("+") else -1 if cursor.take_symbol("-") else 0
        if sign == 0:
            return 0
        here = cursor.rest[:2]
        length = take_length(cursor)
        if not isinstance(length, str):
            raise SqlRefusal(here, "a length of time is expected here, such as INTERVAL '5' SECOND")
        try:
            return sign * parse_duration(length)
        except InvalidNetworkError as error:
            raise SqlRefusal(here, error.problems[0]) from error

    def _other(self, part: Tokens) -> tuple[str, object] | None:
        """Read `overlap(l.a, r.b) >= 2`, `inner_product(l.a, r.b) >= 0.5` or `pairs_where('module:function')`."""
        cursor = SqlCursor(part)
        if not is_name(cursor.peek()) or len(part) < 4:
            return None
        function = cursor.advance()
        if not function.is_word("overlap", "inner_product", "pairs_where") or not cursor.is_at_symbol("("):
            return None
        inside = cursor.parenthesized()
        if function.is_word("pairs_where"):
            cursor.expect_end()
            return "pairs_where", inside.string("a function such as 'module:function'")
        columns = inside.listed()
        sides = [self._side(column) for column in columns]
        if sides != [self.left, self.right]:
            raise SqlRefusal(part, f"{function.text} takes a column of the left side and one of the right side")
        cursor.expect_symbol(">=")
        at_least = take_value(cursor)
        cursor.expect_end()
        mine, theirs = self.left.column(columns[0]), self.right.column(columns[1])
        return function.text.lower(), {"left": mine, "right": theirs, "at_least": at_least}


def _bound_by(condition: PairCondition, low: int | None, high: int | None, part: Tokens, *, is_right: bool) -> None:
    """Note that the right time less the left one is at least, and at most, so much; of the left one the reverse."""
    if not is_right:
        low, high = (None if high is None else -high), (None if low is None else -low)
    if (high is not None and high < 0) or (low is not None and low > 0):
        raise SqlRefusal(
            part, "pairs of rows at the same time are always among those of a join: let the interval hold 0"
        )
    later = None if high is None else f"{high} microseconds"
    earlier = None if low is None else f"{-low} microseconds"
    if (later and condition.left_waits) or (earlier and condition.right_waits):
        raise SqlRefusal(part, "how near rows are in time is said twice")
    _bound(condition, later=later, earlier=earlier)


def _bound(condition: PairCondition, *, later: str | None, earlier: str | None) -> None:
    condition.left_waits = condition.left_waits if later is None else later
    condition.right_waits = condition.right_waits if earlier is None else earlier


def _is_qualified(tokens: Tokens, side: Scope) -> bool:
    """Whether tokens are a column of a side, or name one where its event time is known."""
    if not side.rows.times and len(tokens) != 3:
        return False
    return any(
        name_of(first).lower() in side.names and dot.is_symbol(".") for first, dot in pairwise(tokens) if is_name(first)
    )


def _operand(cursor: SqlCursor) -> tuple[Token, ...]:
    """Take a column, qualified or not; empty: something else comes next."""
    if not is_name(cursor.peek()):
        return ()
    tokens = [cursor.advance()]
    if cursor.is_at_symbol("(", "["):
        return ()
    if cursor.is_at_symbol(".") and is_name(cursor.peek(1)):
        tokens += [cursor.advance(), cursor.advance()]
    return tuple(tokens)
