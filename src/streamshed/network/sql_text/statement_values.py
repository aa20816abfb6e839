"""Values in statements: lengths of time, and what stands in WITH (...)."""

from __future__ import annotations

from collections.abc import Iterator

from streamshed.network.sql.sql_syntax import Token, TokenKind
from streamshed.network.sql_text.sql_cursor import SqlCursor
from streamshed.network.sql_text.sql_tokens import SqlRefusal, Tokens, is_name, name_of, string_value


def take_length(cursor: SqlCursor) -> str | int:
    """Take a length of time, or how many numbers or rows: `INTERVAL '5' SECOND`, `'5 seconds'`, `100`.

    Returns:
        A duration as documents have it, or a number.

    Raises:
        SqlRefusal: Something else comes next.

    Example:
        >>> from streamshed.network.sql_text.sql_tokens import tokens_of
        >>> [take_length(SqlCursor(tokens_of(sql))) for sql in ("INTERVAL '5' SECOND", "'100 rows'", "100")]
        ['5 second', '100 rows', 100]
    """
    here = cursor.peek()
    is_interval = cursor.take("interval")
    token = cursor.peek()
    if token is not None and token.kind in {TokenKind.STRING, TokenKind.NUMBER}:
        cursor.advance()
        text = string_value(token) if token.kind is TokenKind.STRING else token.text
        unit = cursor.peek()
        if is_interval and unit is not None and is_name(unit) and text.strip().replace(".", "", 1).isdigit():
            return f"{text.strip()} {cursor.advance().text.lower()}"
        if token.kind is TokenKind.STRING:
            return text
        if text.isdigit() and not is_interval:
            return int(text)
    tokens = [each for each in (here, token) if each is not None]
    raise SqlRefusal(tokens[:1], "a length is expected here, such as INTERVAL '5' SECOND or '5 seconds'")


def length_of(tokens: Tokens) -> str | int:
    """The length that some tokens are."""
    cursor = SqlCursor(tokens)
    length = take_length(cursor)
    cursor.expect_end()
    return length


def settings_of(cursor: SqlCursor) -> Iterator[tuple[Token, str, object]]:
    """Read `key = value, key = value`: yields the token of each key, the key, and its value.

    Values are texts, numbers, truth values, lists `('a', 'b')` and settings again `(header = true)`.

    Raises:
        SqlRefusal: Something is no key, or no value.

    Example:
        >>> from streamshed.network.sql_text.sql_tokens import tokens_of
        >>> said = tokens_of("folder = 'in', 'options' = (header = true), identity = (topic, offset), n = -0.5")
        >>> {key: value for _, key, value in settings_of(SqlCursor(said))}
        {'folder': 'in', 'options': {'header': True}, 'identity': ['topic', 'offset'], 'n': -0.5}
    """
    while cursor.peek() is not None:
        token = cursor.peek()
        key = cursor.string("a key") if token and token.kind is TokenKind.STRING else name_of(cursor.name("a key"))
        cursor.expect_symbol("=")
        yield token, key, take_value(cursor)  # type: ignore[misc]
        if not cursor.take_symbol(","):
            cursor.expect_end()


def take_value(cursor: SqlCursor) -> object:
    """Take one value of a setting."""
    if cursor.is_at_symbol("("):
        inside = cursor.parenthesized()
        behind = inside.peek(1)
        if behind is not None and behind.is_symbol("="):
            return {key: value for _, key, value in settings_of(inside)}
        values = []
        while inside.peek() is not None:
            values.append(take_value(inside))
            if not inside.take_symbol(","):
                inside.expect_end()
        return values
    is_negative = cursor.take_symbol("-")
    token = cursor.peek()
    if token is not None and token.kind is TokenKind.NUMBER:
        number = _number(cursor.advance())
        return -number if is_negative else number
    if token is None or is_negative or not (is_name(token) or token.kind is TokenKind.STRING):
        raise SqlRefusal(cursor.rest[:1], "a value is expected here: a text in quotes, a number, true or false")
    cursor.advance()
    if token.is_word("true", "false"):
        return token.is_word("true")
    return string_value(token) if token.kind is TokenKind.STRING else name_of(token)


def _number(token: Token) -> int | float:
    try:
        return int(token.text) if token.text.isdigit() else float(token.text)
    except ValueError as error:
        raise SqlRefusal([token], f'"{token.text}" is no number') from error
