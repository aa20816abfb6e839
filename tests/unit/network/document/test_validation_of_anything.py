"""Whatever stands in a document, checking it gives an answer: a document that loads, or problems."""

import copy
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from streamshed.network.document.document import network_to_document, parse_network
from streamshed.network.document.validation import validate_document
from streamshed.network.document.yaml_text import read_yaml, write_yaml
from tests.odd_documents import places

EXAMPLES = Path(__file__).parents[4] / "examples"
DOCUMENT = """
streamshed: 1
streams:
  packets:
    source:
      folder: packets
      schema: value binary, timestamp timestamp, n int
      options: {mergeSchema: true}
    parse: {json: value, schema: "host string, size int"}
    time: timestamp
    watermark: 1 second
    identity: [n]
    idle_after: 1 minute
    clock: time
  events:
    source: {folder: events, schema: "at timestamp, host string, tags array<string>, w map<string,double>"}
    time: at
relations:
  hosts: {path: known_hosts.csv, schema: "host string, subnet string", options: {header: true}}
operators:
  large: {from: packets, filter: size > 9}
  sized: {from: large, map: {kb: size / 1024}}
  known: {from: sized, lookup: hosts, on: {host: host}, columns: [subnet]}
  strange: {from: sized, semijoin: hosts, on: [host], negate: true}
  pairs: {from: large, join: events, on: {host: host}, within: [5 minutes, 1 second], weight: packets_n, memory: 1 MB}
  alike: {from: events, join: events, overlap: {left: tags, at_least: 1}, within: 1 s, prefixes: [a_, b_]}
  near: {from: events, join: events, inner_product: {left: w, right: w, at_least: 1.5}, within: 1 s, prefixes: [a, b]}
  any:
    from: pairs_of
    join: large
    pairs_where: "json:dumps"
    within: 1 s
    basic_window: 10 ms
    time: at
    mode: exact
    policy: direction
    sampling: 0.5
  pairs_of: {from: events, filter: host = 'a'}
  scored: {from: known, apply: "json:dumps", columns: [kb], into: score, returns: double}
queries:
  total:
    from: scored
    where: kb > 3
    window: {size: 5 minutes, slide: 10 seconds, offset: 1 second}
    by: [subnet, {class: size div 9}]
    aggregates: {n: count(*), s: sum(score)}
    weight: 2
    priority: 1
    mode: exact
  rows: {from: strange}
  joined: {from: pairs, window: {size: 5 minutes}, by: [packets_host], aggregates: {n: count(*)}}
  alike: {from: alike}
  near: {from: near}
  any: {from: any}
max_depth: 1
run: {trigger: 2 seconds, latency: 5 seconds, headroom: 0.8, sink: {parquet: out}, confidence: 0.9}
"""
WORDS = [
    *("packets", "hosts", "large", "known", "total", "size", "timestamp", "subnet", "nothing", "5 minutes"),
    *(
        "0 seconds",
        "count(*)",
        "size >",
        "sum(size)",
        "a int",
        "file_row",
        "pairs",
        "events",
        "exact",
        "console",
        "",
        " ",
        "json",
        "é `",
    ),
]
RAW = {
    "raw_int": "!!int x",
    "raw_float": "!!float abc",
    "raw_bool": "!!bool maybe",
    "raw_time": "!!timestamp soon",
    "raw_bytes": "!!binary ==",
    "raw_set": "!!set {a}",
    "raw_python": "!!python/name:os.system",
    "raw_long": "9" * 4400,
    "raw_hexadecimal": "0x" + "f" * 5000,
}
"""What a document may hold that no value is written as, by the word that stands for it."""
NUMBERS = st.integers(-2, 9) | st.sampled_from([2**31, 2**63, -(2**64), 10**400]) | st.floats()
SCALARS = st.sampled_from(WORDS) | st.sampled_from(list(RAW)) | NUMBERS | st.booleans() | st.none()
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(WORDS), inner, max_size=2),
    max_leaves=4,
)


@st.composite
def damaged_documents(draw: st.DrawFn) -> Any:
    document: Any = copy.deepcopy(read_yaml(DOCUMENT).value)
    for _ in range(draw(st.integers(1, 4))):
        *way, last = draw(st.sampled_from(list(places(document)) or [("streams",)]))
        inside = document
        for key in way:
            inside = inside[key]
        action = draw(st.sampled_from(["remove", "replace", "rename"]))
        if action == "replace":
            inside[last] = draw(VALUES)
        elif last in inside or isinstance(inside, list):
            removed = inside.pop(last)
            if action == "rename" and isinstance(inside, dict):
                inside[draw(st.sampled_from([f"{last}s", str(last)[1:], *WORDS]))] = removed
    return document


@given(damaged_documents())
def test_a_damaged_document_loads_or_has_problems(document: Any) -> None:
    text = write_yaml(document)
    for word, raw in RAW.items():
        text = text.replace(word, raw)
    problems = validate_document(text, folder=EXAMPLES)
    if not problems:
        loaded = parse_network(text, folder=EXAMPLES)
        assert parse_network(network_to_document(loaded.network, loaded.run), folder="/elsewhere") == loaded
    assert len({(problem.path, problem.message) for problem in problems}) == len(problems)


def test_the_document_is_sound_before_it_is_damaged() -> None:
    assert validate_document(DOCUMENT, folder=EXAMPLES) == ()
