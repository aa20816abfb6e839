"""Reading the tokens of a statement from the left."""

from __future__ import annotations

from collections.abc import Sequence

from streamshed.errors import closest_name
from streamshed.network.sql.sql_syntax import Token, TokenKind
from streamshed.network.sql_text.sql_tokens import SqlRefusal, is_name, name_of, string_value

_OPENING, _CLOSING = ("(", "["), (")", "]")


class SqlCursor:
    """What is left of a statement.

    Args:
        tokens: The tokens, those of one statement.
        behind: What to point at where something is missing at the end.
    """

    def __init__(self, tokens: Sequence[Token], behind: Sequence[Token] = ()) -> None:
        self._tokens = tuple(tokens)
        self._behind = tuple(behind) or self._tokens[-1:]
        self._next = 0

    def peek(self, ahead: int = 0) -> Token | None:
        """The token so many places ahead; None: behind the end."""
        place = self._next + ahead
        return self._tokens[place] if place < len(self._tokens) else None

    @property
    def rest(self) -> tuple[Token, ...]:
        """All that is left."""
        return self._tokens[self._next :]

    def advance(self) -> Token:
        """Take the next token, whatever it is."""
        token = self.peek()
        if token is None:
            raise SqlRefusal(self._behind, "the statement ends here, but something is missing")
        self._next += 1
        return token

    def is_at(self, *words: str) -> bool:
        """Whether these words come next."""
        tokens = (self.peek(ahead) for ahead in range(len(words)))
        return all(token is not None and token.is_word(word) for token, word in zip(tokens, words, strict=True))

    def is_at_symbol(self, *symbols: str) -> bool:
        """Whether one of some symbols comes next."""
        token = self.peek()
        return token is not None and token.is_symbol(*symbols)

    def take(self, *words: str) -> bool:
        """Take these words, if they come next."""
        is_here = self.is_at(*words)
        self._next += len(words) * is_here
        return is_here

    def take_symbol(self, symbol: str) -> bool:
        """Take a symbol, if it comes next."""
        is_here = self.is_at_symbol(symbol)
        self._next += is_here
        return is_here

    def expect(self, *words: str) -> None:
        """Take these words.

        Raises:
            SqlRefusal: Something else comes next.
        """
        for word in words:
            token = self.peek()
            if token is None or not token.is_word(word):
                near_miss = closest_name(token.text, [word.upper()]) if is_name(token) and token else None
                raise SqlRefusal(self._here, f"{' '.join(words).upper()} is expected here", near_miss)
            self._next += 1

    def expect_symbol(self, symbol: str) -> None:
        """Take a symbol.

        Raises:
            SqlRefusal: Something else comes next.
        """
        if not self.take_symbol(symbol):
            raise SqlRefusal(self._here, f'"{symbol}" is expected here')

    def expect_end(self) -> None:
        """See that nothing is left.

        Raises:
            SqlRefusal: There is.
        """
        if self.peek() is not None:
            raise SqlRefusal(self._here, "the statement should end before this")

    def name(self, what: str) -> Token:
        """Take a name, such as that of "a stream".

        Raises:
            SqlRefusal: None comes next.
        """
        token = self.peek()
        if not is_name(token):
            raise SqlRefusal(self._here, f"the name of {what} is expected here")
        return self.advance()

    def string(self, what: str) -> str:
        """Take a text in quotes, such as "a path".

        Raises:
            SqlRefusal: None comes next.
        """
        token = self.peek()
        if token is None or token.kind is not TokenKind.STRING:
            raise SqlRefusal(self._here, f"{what} in quotes is expected here")
        return string_value(self.advance())

    def parenthesized(self) -> SqlCursor:
        """Take a pair of parentheses and return what stands inside.

        Raises:
            SqlRefusal: None comes next, or it is never closed.
        """
        opening = self._here
        self.expect_symbol("(")
        first, depth = self._next, 1
        while depth:
            token = self.peek()
            if token is None:
                raise SqlRefusal(opening, '"(" is never closed')
            depth += token.is_symbol(*_OPENING) - token.is_symbol(*_CLOSING)
            self._next += 1
        return SqlCursor(self._tokens[first : self._next - 1], self._tokens[self._next - 1 : self._next])

    def until(self, *stops: str, commas: bool = False) -> tuple[Token, ...]:
        """Take what comes before the first of some words outside brackets and CASE, or before a comma, or all."""
        first, depth = self._next, 0
        while (token := self.peek()) is not None:
            before = self._tokens[self._next - 1] if self._next > first else None
            is_inner = before is not None and (  # a field, or IS DISTINCT FROM
                before.is_symbol(".") or (before.is_word("distinct") and token.is_word("from"))
            )
            if depth == 0 and not is_inner and (token.is_word(*stops) or (commas and token.is_symbol(","))):
                break
            if token.is_symbol(*_CLOSING) and depth == 0:
                raise SqlRefusal([token], f'"{token.text}" closes nothing')
            if not is_inner:
                depth += token.is_symbol(*_OPENING) or token.is_word("case")
                depth -= depth > 0 and (token.is_symbol(*_CLOSING) or token.is_word("end"))
            self._next += 1
        return self._tokens[first : self._next]

    def listed(self, *stops: str) -> list[tuple[Token, ...]]:
        """Take what commas separate, up to some words.

        Raises:
            SqlRefusal: Nothing stands between two commas.
        """
        items = [self.until(*stops, commas=True)]
        while self.take_symbol(","):
            items.append(self.until(*stops, commas=True))
        for item in items:
            if not item:
                raise SqlRefusal(self._here, "an expression is missing here")
        return items

    @property
    def _here(self) -> tuple[Token, ...]:
        token = self.peek()
        return self._behind if token is None else (token,)


def check_closed(tokens: Sequence[Token]) -> None:
    """See that quotes and brackets of a statement are closed.

    Raises:
        SqlRefusal: One is not, or closes nothing.
    """
    waiting: list[Token] = []
    for token in tokens:
        if token.is_symbol("'", '"', "`"):
            raise SqlRefusal([token], "this quote is left open")
        if token.is_symbol(*_OPENING):
            waiting.append(token)
        elif token.is_symbol(*_CLOSING) and (
            not waiting or _OPENING.index(waiting.pop().text) != _CLOSING.index(token.text)
        ):
            raise SqlRefusal([token], f'"{token.text}" closes nothing')
    if waiting:
        raise SqlRefusal([waiting[-1]], f'"{waiting[-1].text}" is never closed')


def conjuncts_of(tokens: Sequence[Token]) -> list[tuple[Token, ...]]:
    """Cut a predicate at its outermost ANDs, but for those of BETWEEN.

    Example:
        >>> from streamshed.network.sql_text.sql_tokens import tokens_of
        >>> [len(part) for part in conjuncts_of(tokens_of("a BETWEEN 1 AND 2 AND (b AND c)"))]
        [5, 5]
        >>> [len(part) for part in conjuncts_of(tokens_of("a AND b OR c"))]
        [5]

    Raises:
        SqlRefusal: Nothing stands beside an AND.
    """
    cursor, parts, betweens = SqlCursor(tokens), [list[Token]()], 0
    while cursor.peek() is not None:
        parts[-1] += cursor.until("and", "or", "between")
        token = cursor.peek()
        if token is None:
            break
        if token.is_word("or"):
            return [tuple(tokens)]
        betweens += token.is_word("between")
        if token.is_word("and") and betweens == 0:
            cursor.advance()
            parts.append([])
            continue
        betweens -= token.is_word("and")
        parts[-1].append(cursor.advance())
    if not all(parts):
        raise SqlRefusal(tokens, "a predicate is missing beside an AND")
    return [tuple(part) for part in parts]


def unquoted_name(tokens: Sequence[Token]) -> str | None:
    """The name that some tokens are; None: they are something else."""
    return name_of(tokens[0]) if len(tokens) == 1 and is_name(tokens[0]) else None
