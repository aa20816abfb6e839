"""Documents of networks, damaged at random from a seed: their values, and their text."""

from __future__ import annotations

import copy
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from streamshed.errors import StreamshedError
from streamshed.network.document.document import Language, parse_network
from streamshed.network.document.yaml_text import read_yaml, write_yaml
from tests.odd_calls import MOST_SAID

EXAMPLES = Path(__file__).parents[1] / "examples"
ODD_VALUES: tuple[Any, ...] = (
    *(None, True, 0, -1, 5, 2**63, 10**400, 0.5, float("nan"), float("inf"), "", " ", "é `", "x" * 100_000),
    *("size", "size >", "sum(size)", "count(*)", "5 minutes", "-1 s", "9" * 4_400, "1e400 s", "exact", "json", "a int"),
    *("(" * 500, "x" + " AND x" * 500, "json:dumps", [], {}, [None], [[]], {"a": 5}, {"": ""}, ["size", "size"]),
)
ODD_TEXTS = (
    *("!!int x", "!!float abc", "!!timestamp soon", "!!binary ==", "!!set {a}", "!!python/name:os.system", "&a [*a]"),
    *(
        "*nobody",
        "<<: 5",
        "? ",
        "- ",
        ": ",
        "{",
        "[",
        "'",
        '"',
        "\t",
        "\x00",
        "\ud800",
        "%YAML 9.9",
        "---",
        "...",
        "9" * 4_400,
    ),
)
ODD_STATEMENTS = (
    *(
        ";",
        "(",
        ")",
        "`",
        "--",
        "/*",
        "/*+",
        "-- streamshed: ",
        "SELECT",
        " FROM ",
        "''",
        "CASE",
        " AND ",
        " AS ",
        ".*",
        ",",
    ),
    *(
        "FROM (SELECT * " * 400,
        "(" * 3_000,
        "x" * 100_000,
        " AND x" * 500,
        "INTERVAL '1' ",
        "ON OVERLOAD ",
        "1e400",
        "\\",
    ),
)
"""Pieces of SQL."""


def odd_document(draws: random.Random, sound: Sequence[str]) -> str:
    """Return one of some documents with a few values or pieces of its text removed, replaced, moved or added."""
    text = draws.choice(sound)
    if draws.random() < 0.7:
        document = copy.deepcopy(read_yaml(text).value)
        for _ in range(draws.randint(1, 4)):
            _damage(document, draws)
        text = write_yaml(document)
    for _ in range(draws.choice((0, 0, 1, 3))):
        text = _damaged_text(text, draws)
    return text


def odd_statements(draws: random.Random, sound: Sequence[str]) -> str:
    """Return one of some texts of SQL with a few pieces of it removed, repeated or added."""
    text = draws.choice(sound)
    for _ in range(draws.randint(1, 4)):
        text = _damaged_text(text, draws, (*ODD_TEXTS, *ODD_STATEMENTS))
    return text


def document_fault(text: str, language: Language = Language.YAML) -> Exception | None:
    """Return what is wrong with what comes of a document: neither a network nor an error of ours that can be read."""
    try:
        parse_network(text, folder=EXAMPLES, language=language)
    except StreamshedError as error:
        longest = max((len(line) for line in str(error).splitlines()), default=0)
        return None if longest <= MOST_SAID else ValueError(f"a problem of {longest} characters")
    except Exception as error:  # noqa: BLE001 - which is what is looked for
        return error
    return None


def places(value: Any, keys: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The ways to all values in a document."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in inside:
        yield (*keys, key)
        yield from places(item, (*keys, key))


def _damage(document: Any, draws: random.Random) -> None:
    ways = list(places(document))
    if not ways:
        return
    *way, last = draws.choice(ways)
    inside = document
    for key in way:
        inside = inside[key]
    match draws.choice(("remove", "replace", "rename", "move")):
        case "replace":
            inside[last] = copy.deepcopy(draws.choice(ODD_VALUES))
        case "move":
            *_, other = draws.choice(ways)
            inside[last] = copy.deepcopy(document.get(other))
        case "rename" if isinstance(inside, dict):
            inside[draws.choice((f"{last}s", str(last)[1:], "size", "from"))] = inside.pop(last)
        case _:
            del inside[last]


def _damaged_text(text: str, draws: random.Random, insertions: Sequence[str] = ODD_TEXTS) -> str:
    begin, end = sorted(draws.randrange(len(text) + 1) for _ in range(2))
    match draws.choice(("cut", "insert", "repeat", "truncate")):
        case "cut":
            return text[:begin] + text[min(end, begin + 20) :]
        case "insert":
            return text[:begin] + draws.choice(insertions) + text[begin:]
        case "repeat":
            return text[:begin] + text[begin:end] * 2 + text[end:]
        case _:
            return text[:end]
