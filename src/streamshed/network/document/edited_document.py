"""Documents with other queries: what a document says is kept, but for what is to change."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from streamshed.errors import InvalidNetworkError, unknown_name
from streamshed.network.document.yaml_text import read_yaml, write_yaml

_ADDED = ("relations", "operators", "queries")
"""The sections that queries bring with them."""


def with_fragment(document: str, fragment: str) -> str:
    """Return a document with the relations, operators and queries of another text.

    Args:
        document: What runs.
        fragment: YAML with sections `relations`, `operators` and `queries`, as a document has them.

    Returns:
        The document, as YAML.

    Raises:
        InvalidNetworkError: The fragment has other sections or no queries, or names what is there already and differs.

    Example:
        >>> print(with_fragment("queries: {a: {from: s}}", "queries: {b: {from: s}}"), end="")
        queries:
          a:
            from: s
          b:
            from: s
    """
    whole, parts = _mapping(document), _mapping(fragment)
    problems: list[str] = [unknown_name("section of a fragment", name, _ADDED) for name in parts if name not in _ADDED]
    if not parts.get("queries"):
        problems.append("the fragment has no queries")
    problems += [
        f'{section}: "{name}" is there already, and is another: choose another name'
        for section in _ADDED
        for name, body in _section(parts, section).items()
        if _section(whole, section).get(name, body) != body
    ]
    problems += [
        f'queries: "{name}" runs already' for name in _section(parts, "queries") if name in _section(whole, "queries")
    ]
    if problems:
        raise InvalidNetworkError(*problems)
    for section in _ADDED:
        if added := _section(parts, section):
            whole[section] = {**_section(whole, section), **added}
    return write_yaml(whole)


def without_query(document: str, name: str) -> str:
    """Return a document without a query; its operators stay.

    Raises:
        InvalidNetworkError: There is no such query.
    """
    whole, queries = _queries(document, name)
    return write_yaml(whole | {"queries": {key: body for key, body in queries.items() if key != name}})


def with_goals(document: str, name: str, goals: Mapping[str, Any]) -> str:
    """Return a document with other goals of a query.

    Args:
        document: What runs.
        name: The query.
        goals: By key of a query in a document, such as `weight`; None: the default.

    Raises:
        InvalidNetworkError: There is no such query.
    """
    whole, queries = _queries(document, name)
    body = {key: value for key, value in (queries[name] | dict(goals)).items() if key not in goals or value is not None}
    return write_yaml(whole | {"queries": queries | {name: body}})


def queries_in(document: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Name the queries of a document, and what it says of each."""
    yield from _section(_mapping(document), "queries").items()


def _queries(document: str, name: str) -> tuple[dict[str, Any], dict[str, Any]]:
    whole = _mapping(document)
    queries = _section(whole, "queries")
    if name not in queries:
        raise InvalidNetworkError(unknown_name("query", name, queries))
    return whole, queries


def _mapping(text: str) -> dict[str, Any]:
    value = read_yaml(text).value
    if not isinstance(value, dict):
        raise InvalidNetworkError("a document is a mapping in YAML, this text is none")
    return value


def _section(whole: Mapping[str, Any], name: str) -> dict[str, Any]:
    section = whole.get(name) or {}
    return section if isinstance(section, dict) else {}
