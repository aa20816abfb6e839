"""One spelling for expressions that differ only in case, white space, quoting or needless parentheses.

The result depends on the source text and on which parentheses matter, never on how a library prints SQL:
the ids of queries are hashed from it and outlive releases.
"""

from sqlglot import exp

from streamshed.errors import InvalidExpressionError
from streamshed.network.sql.sql_syntax import Syntax, Token, TokenKind, Tree, read_sql

_SYNONYMS = {"==": "=", "<>": "!=", "!": "not"}
_OPERATOR_WORDS = frozenset(
    {
        *("and", "or", "not", "in", "is", "between", "like", "ilike", "rlike", "regexp", "div"),
        *("case", "when", "then", "else", "from", "as"),
    }
)
_ATOMS = (exp.Column, exp.Literal, exp.Anonymous, exp.Boolean, exp.Null)
_DELIMITED = (exp.Paren, exp.Select, exp.Anonymous, exp.Case, exp.If, exp.Tuple)
_PRECEDENCES: dict[type[Tree], int] = {
    **dict.fromkeys((exp.Mul, exp.Div, exp.IntDiv, exp.Mod), 6),
    **dict.fromkeys((exp.Add, exp.Sub), 5),
    **dict.fromkeys((exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.NullSafeEQ), 4),
    **dict.fromkeys((exp.Is, exp.In, exp.Between, exp.Like, exp.ILike, exp.RegexpLike), 4),
    exp.Not: 3,
    exp.And: 2,
    exp.Or: 1,
}
"""Operators on whose precedence the parser and Spark agree: parentheses around others stay."""

_CHAINED = frozenset({1, 2, 5, 6})
"""Precedences whose operators both read from the left: `a - b - c` is `(a - b) - c`."""


def canonical_sql(syntax: Syntax) -> str:
    """Spell an expression in the one way that all its trivial variants share.

    Returns:
        Lower case outside string literals and behind dots, where a name may be a key of a map; single spaces, no
        comments, no needless quotes or parentheses.

    Example:
        >>> canonical_sql(read_sql("( SIZE>3 )  AND (`proto`== 'TCP')"))
        "size > 3 and proto = 'TCP'"
        >>> canonical_sql(read_sql("(a + b) * (c)"))
        '(a + b) * c'
    """
    if any(token.kind is TokenKind.QUOTED for token in syntax.tokens):
        syntax = _without_needless_quotes(syntax)
    dropped: set[int] = set()
    for node in syntax.nodes:
        if isinstance(node, exp.Paren) and "start" in node.meta and _is_needless(node):
            start, end = syntax.place(node)
            dropped |= {start, end - 1}
    before = (None, *syntax.tokens)
    return _spelled(
        [_plain(*pair) for pair in zip(before, syntax.tokens, strict=False) if pair[1].start not in dropped]
    )


def _is_needless(parentheses: exp.Paren) -> bool:
    outer = parentheses.parent
    if outer is None or isinstance(outer, _DELIMITED):
        return True
    outer_precedence = _PRECEDENCES.get(type(outer))
    if outer_precedence is None:
        return False
    inner = parentheses.unnest()
    if isinstance(inner, _ATOMS):
        return True
    inner_precedence = _PRECEDENCES.get(type(inner), 0)
    if inner_precedence == outer_precedence:
        return inner_precedence in _CHAINED and parentheses.arg_key == "this"
    return inner_precedence > outer_precedence


def _without_needless_quotes(syntax: Syntax) -> Syntax:
    for token in reversed(syntax.tokens):
        name = token.text[1:-1]
        if token.kind is not TokenKind.QUOTED or not (name.isascii() and name.isidentifier()):
            continue
        try:
            plain = read_sql(f"{syntax.text[: token.start]} {name} {syntax.text[token.end :]}")
        except InvalidExpressionError:
            continue
        if _unquoted(plain.tree) == _unquoted(syntax.tree):
            syntax = plain
    return syntax


def _unquoted(tree: Tree) -> Tree:
    plain = tree.copy()
    for identifier in plain.find_all(exp.Identifier):
        identifier.set("quoted", False)
    return plain


def _plain(before: Token | None, token: Token) -> Token:
    if token.kind is TokenKind.STRING or (before is not None and before.is_symbol(".")):
        return token
    text = token.text.lower()
    return Token(token.kind, _SYNONYMS.get(text, text), token.start, token.end)


def _spelled(tokens: list[Token]) -> str:
    pieces: list[str] = []
    previous: Token | None = None
    for token in tokens:
        if previous is not None and _is_spaced(previous, token):
            pieces.append(" ")
        pieces.append(token.text)
        previous = token
    return "".join(pieces)


def _is_spaced(left: Token, right: Token) -> bool:
    if left.text == right.text and right.is_symbol("<", ">"):
        return left.end != right.start
    if right.is_symbol(",", ")", ".", "]", "[", "::") or left.is_symbol("(", ".", "[", "::"):
        return False
    is_name = left.kind in {TokenKind.WORD, TokenKind.QUOTED} and left.text not in _OPERATOR_WORDS
    return not (right.is_symbol("(") and is_name)
