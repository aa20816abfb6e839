"""Operators of a document as SELECTs: as many of them in one SELECT as the order of its clauses allows."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, TypeAlias

from streamshed.network.sql.sql_syntax import Token, TokenKind
from streamshed.network.sql_text.sql_tokens import is_name, name_of, tokens_of
from streamshed.network.sql_text.written_values import identifier, literal

Body: TypeAlias = Mapping[str, Any]

_JOINED, _CHOSEN, _LISTED = 1, 2, 3
"""Where operators stand in a SELECT: lookups in JOIN, filters in WHERE, all else in the SELECT list."""

_STOPS = (
    *("from", "where", "group", "having", "on", "order", "sort", "limit", "union", "intersect", "except", "qualify"),
    *("emit", "lateral", "cluster", "distribute", "join", "inner", "left", "right", "full", "cross", "semi", "anti"),
    *("natural", "outer", "using"),
)
"""Words that end a clause where they stand outside parentheses."""

_NUMBER = re.compile(r"[0-9]+")
_LONGEST_LINE = 100
_END = Token(TokenKind.SYMBOL, ";", -1, -1)


def clause(text: str, *stops: str) -> str:
    """An expression as a clause holds it: in parentheses, where a word or comma in it would end the clause.

    Example:
        >>> clause("size > 3"), clause("limit > 3"), clause("extract(year from ts)")
        ('size > 3', '(limit > 3)', 'extract(year from ts)')
    """
    depth = 0
    for token in tokens_of(text):
        depth += token.is_symbol("(", "[")
        depth -= token.is_symbol(")", "]")
        if depth == 0 and (token.is_word(*(stops or _STOPS)) or token.is_word("select")):
            return f"({text})"
    return text


@dataclass
class Block:
    """What one SELECT says.

    Attributes:
        table: The stream or view of FROM.
        lookups: The lookups and semijoins of its JOINs.
        where: The predicate; None: all rows.
        items: What the SELECT list computes.
        group: What GROUP BY lists.
        texts: The expressions in it, in which no name of a table may be misread.
    """

    table: str
    lookups: list[Body] = field(default_factory=list)
    where: str | None = None
    items: list[str] = field(default_factory=list)
    group: list[str] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)


def _table(name: str, taken: set[str]) -> tuple[str, str]:
    """A table and what it is called: by its name, if nothing else is, nor read so in an expression."""
    called, number = name, 1
    while called.lower() in taken:
        number += 1
        called = f"{name}_{number}"
    taken.add(called.lower())
    return identifier(name) + ("" if called == name else f" AS {identifier(called)}"), identifier(called)


@dataclass(frozen=True)
class SelectWriter:
    """Writes operators and queries.

    Attributes:
        operators: All operators, by name.
        relations: The columns of relations, in order; None: not known.
        functions: The names of declared functions, by place and returned type.
        times: What event time of a stream or operator is called.
        views: The operators that are views: those that are used more than once, or that no SELECT can hold.
        names: What views are called.
    """

    operators: Mapping[str, Body]
    relations: Mapping[str, tuple[str, ...] | None]
    functions: Mapping[tuple[str, str], str]
    times: Mapping[str, str]
    views: frozenset[str]
    names: Mapping[str, str]

    def view(self, name: str) -> str:
        """The SELECT of an operator, other than a join."""
        return self._text(self._block(self.operators[name]))

    def query(self, body: Body) -> str:
        """The SELECT of a query."""
        if "aggregates" in body:
            return self._text(self._block(body))
        return self._text(self._input(body))

    def join(self, body: Body) -> tuple[dict[str, Any], str]:
        """The settings of a join of streams, and its SELECT."""
        sides = [self.names.get(body[key], body[key]) for key in ("from", "join")]
        settings = {key: body[key] for key in body if key in _JOIN_SETTINGS}
        called = _aliases(body["prefixes"])
        if called is None:
            called, settings["prefixes"] = ("l", "r"), body["prefixes"]
        tables = [
            identifier(side) + ("" if alias == side else f" AS {identifier(alias)}")
            for side, alias in zip(sides, called, strict=True)
        ]
        left, right = map(identifier, called)
        conditions = [*_pair_conditions(body, left, right)]
        mine, theirs = (_qualified(self.times[body[key]], alias) for key, alias in (("from", left), ("join", right)))
        within = body["within"]
        later, earlier = [within, within] if isinstance(within, str) else within
        conditions.append(f"{theirs} BETWEEN {mine} - {interval(earlier)} AND {mine} + {interval(later)}")
        on = "\n  AND ".join(conditions)
        return settings, f"SELECT *\nFROM {tables[0]} JOIN {tables[1]}\n  ON {on}"

    def _block(self, body: Body) -> Block:
        """The SELECT of an operator, with those above it that it can hold."""
        block = self._input(body)
        match body:
            case {"filter": str(predicate)}:
                block.where = clause(predicate)
                block.texts.append(predicate)
            case {"map": columns}:
                block.items += [f"{_computed(text, name)} AS {identifier(name)}" for name, text in columns.items()]
                block.texts += columns.values()
            case {"apply": place, "columns": columns, "into": into, "returns": kind}:
                called = f"{self.functions[place, kind]}({', '.join(map(identifier, columns))})"
                block.items.append(f"{called} AS {identifier(into)}")
            case {"aggregates": aggregates}:
                self._aggregate(block, body, aggregates)
            case {"lookup": _} | {"semijoin": _}:
                block.lookups.append(body)
        return block

    def _input(self, body: Body) -> Block:
        """The SELECT that an operator goes on from: the one above it, where that is no view and comes before it."""
        name = body["from"]
        above = self.operators.get(name)
        if above is None or name in self.views:
            return Block(self.names.get(name, name))
        return self._block(above)

    def _text(self, block: Block) -> str:
        tokens = [token for text in block.texts for token in (*tokens_of(text), _END)]
        taken = {name_of(a).lower() for a, b in pairwise(tokens) if is_name(a) and b.is_symbol(".")}
        source, base = _table(block.table, taken)
        joins, added = [], []
        for body in block.lookups:
            join, columns = self._join(body, taken)
            joins.append(join)
            added += columns
        is_partial = any(not column.endswith(".*") for column in added)
        stars = [f"{base}.*", *added] if is_partial else ["*"]
        lines = [
            f"SELECT {', '.join(block.items if block.group else [*stars, *block.items])}",
            f"FROM {source}",
            *joins,
        ]
        lines += [f"WHERE {block.where}"] if block.where else []
        lines += [f"GROUP BY {', '.join(block.group)}"] if block.group else []
        short = " ".join(lines)
        return short if len(short) <= _LONGEST_LINE and not block.group else "\n".join(lines)

    def _join(self, body: Body, taken: set[str]) -> tuple[str, list[str]]:
        """The JOIN of a lookup or semijoin, and the items that say which columns it adds."""
        relation, pairs = body.get("lookup") or body["semijoin"], pairs_of(body["on"])
        table, called = _table(relation, taken) if "lookup" in body else (identifier(relation), identifier(relation))
        kind = "JOIN" if "lookup" in body else "LEFT ANTI JOIN" if body.get("negate") else "LEFT SEMI JOIN"
        if all(ours == theirs for ours, theirs in pairs):
            join = f"{kind} {table} USING ({', '.join(identifier(ours) for ours, _ in pairs)})"
        else:
            keys = [f"{identifier(ours)} = {called}.{identifier(theirs)}" for ours, theirs in pairs]
            join = f"{kind} {table} ON {' AND '.join(keys)}"
        if "lookup" not in body:
            return join, []
        if _adds_all(body, self.relations.get(relation)):
            return join, [f"{called}.*"]
        return join, [f"{called}.{identifier(column)}" for column in body["columns"]]

    def _aggregate(self, block: Block, body: Body, aggregates: Mapping[str, Any]) -> None:
        window, time = body["window"], self.times[body["from"]]
        lengths = [window["size"], *[window[key] for key in ("slide",) if key in window]]
        if "offset" in window:
            lengths = [window["size"], window.get("slide", window["size"]), window["offset"]]
        block.group.append(f"window({', '.join((time, *map(literal, lengths)))})")
        for key in body.get("by", []):
            name, text = (key, identifier(key)) if isinstance(key, str) else next(iter(key.items()))
            written = text if isinstance(key, str) else clause(text)
            written = f"({written})" if _NUMBER.fullmatch(written) else written
            block.group.append(written)
            block.items.append(written if written == identifier(name) else f"{written} AS {identifier(name)}")
            block.texts.append(text)
        for name, answer in aggregates.items():
            written = answer if isinstance(answer, str) else self._user_aggregate(answer)
            block.items.append(f"{written} AS {identifier(name)}")
            block.texts.append(written)

    def _user_aggregate(self, answer: Body) -> str:
        called = self.functions[answer["user"], answer["returns"]]
        where = f" FILTER (WHERE {answer['where']})" if "where" in answer else ""
        return f"{called}({', '.join(map(identifier, answer['columns']))}){where}"


def rank(body: Body) -> int:
    """Where an operator stands in a SELECT."""
    return _JOINED if "lookup" in body or "semijoin" in body else _CHOSEN if "filter" in body else _LISTED


def can_hold(above: Body, below: Body | None, relations: Mapping[str, tuple[str, ...] | None]) -> bool:
    """Whether the SELECT of an operator can hold the one above it.

    Args:
        above: The operator above, which is used once.
        below: The one that goes on from it; None: a query for rows.
        relations: The columns of relations.
    """
    if "join" in above or "aggregates" in above or (below is not None and "join" in below):
        return False
    if below is None:
        return True
    if "lookup" in above and not _adds_all(above, relations.get(above["lookup"])):
        return False  # its SELECT list says which columns it adds
    return rank(above) < rank(below) or rank(above) == rank(below) == _JOINED


def pairs_of(on: Any) -> list[tuple[str, str]]:
    """The pairs of columns of a key: of the rows, and of the relation or the other side."""
    names = [on] if isinstance(on, str) else on
    return [*names.items()] if isinstance(names, Mapping) else [(name, name) for name in names]


def _adds_all(lookup: Body, columns: tuple[str, ...] | None) -> bool:
    """Whether a lookup adds all of a relation's columns but the key, as it does where it does not say which."""
    keys = {theirs.lower() for _, theirs in pairs_of(lookup["on"])}
    added = lookup.get("columns")
    return added is None or (columns is not None and [*added] == [name for name in columns if name.lower() not in keys])


def interval(duration: str) -> str:
    """A duration as SQL has it.

    Example:
        >>> interval("1 second"), interval("1 minute 30 seconds")
        ("INTERVAL '1' SECOND", "INTERVAL '1 minute 30 seconds'")
    """
    number, _, unit = duration.partition(" ")
    return f"INTERVAL '{number}' {unit.upper()}" if unit.isalpha() else f"INTERVAL {literal(duration)}"


_JOIN_SETTINGS = ("basic_window", "time", "mode", "policy", "weight", "memory", "sampling", "sampled_side")


def _pair_conditions(body: Body, left: str, right: str) -> Iterator[str]:
    for mine, theirs in pairs_of(body["on"]) if "on" in body else ():
        yield f"{left}.{identifier(mine)} = {right}.{identifier(theirs)}"
    for function in ("overlap", "inner_product"):
        if function in body:
            said = body[function]
            columns = f"{left}.{identifier(said['left'])}, {right}.{identifier(said.get('right', said['left']))}"
            yield f"{function}({columns}) >= {literal(said['at_least'])}"
    if "pairs_where" in body:
        yield f"pairs_where({literal(body['pairs_where'])})"


def _aliases(prefixes: list[str]) -> tuple[str, str] | None:
    """What both sides are called so that columns begin with these; None: no names do that."""
    first, second = (prefix[:-1] for prefix in prefixes)
    is_possible = all(prefix.endswith("_") and len(prefix) > 1 for prefix in prefixes)
    return (first, second) if is_possible and first.lower() != second.lower() else None


def _qualified(time: str, alias: str) -> str:
    """Event time of a side: its columns with the name of the side before them."""
    from streamshed.network.sql.expression import parse_expression
    from streamshed.network.sql.sql_meaning import column_uses
    from streamshed.network.sql.sql_syntax import read_sql

    text = parse_expression(time).text
    pieces, end = [], 0
    for use in column_uses(read_sql(text)):
        pieces += [text[end : use.start], f"{alias}.{text[use.start : use.end]}"]
        end = use.end
    return "".join([*pieces, text[end:]])


def _computed(text: str, name: str) -> str:
    """What a column is computed by; in parentheses where it is nothing but the column itself."""
    tokens = tokens_of(text)
    is_itself = len(tokens) == 1 and is_name(tokens[0]) and name_of(tokens[0]).lower() == name.lower()
    return f"({text})" if is_itself else clause(text, "from")
