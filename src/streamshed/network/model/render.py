"""Pictures of a network, all drawn from one snapshot: text, Mermaid, Graphviz, JSON."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass

from streamshed.errors import InvalidNetworkError, Problem, closest_name
from streamshed.network.model.network import QueryNetwork
from streamshed.network.model.node import Node
from streamshed.network.model.stream import Stream


@dataclass(frozen=True, slots=True)
class NodeSnapshot:
    """A node as others may see it.

    Attributes:
        id: Its name in the pictures.
        kind: "stream", "filter", "map", "lookup", "apply" or "aggregate".
        label: What it does, on one line.
        input: The id of its input; None for streams.
        columns: Type by column name after it.
        joins: Of a joined stream, the ids of what it joins, the left side first.
        address: What statistics and samplers call it.
    """

    id: str
    kind: str
    label: str
    input: str | None
    columns: Mapping[str, str | None]
    joins: tuple[str, ...] = ()
    address: str = ""


@dataclass(frozen=True, slots=True)
class QuerySnapshot:
    """A query as others may see it; `node` is the id of what it asks for."""

    name: str
    node: str
    weight: float
    priority: int
    mode: str
    max_error: str | None
    max_gap: str | None
    gaps_by: str
    latency: str | None
    definition_id: int


@dataclass(frozen=True, slots=True)
class NetworkSnapshot:
    """A network as others may see it: each node after its input, queries as given."""

    nodes: tuple[NodeSnapshot, ...]
    queries: tuple[QuerySnapshot, ...]


def snapshot(network: QueryNetwork) -> NetworkSnapshot:
    """Take a snapshot of a network."""
    ids = {node: f"n{index}" for index, node in enumerate(network.nodes)}
    nodes = tuple(_node_snapshot(node, ids) for node in network.nodes)
    queries = tuple(
        QuerySnapshot(
            q.name,
            ids[q.node],
            q.weight,
            q.priority,
            str(q.mode),
            None if q.max_error is None else str(q.max_error),
            None if q.max_gap is None else str(q.max_gap),
            str(q.gaps_by),
            q.latency,
            q.definition_id,
        )
        for q in network.queries
    )
    return NetworkSnapshot(nodes, queries)


def rendered(network: QueryNetwork, form: str = "text") -> str:
    """Draw a network.

    Args:
        network: The network.
        form: "text", "mermaid", "dot" (Graphviz) or "json".

    Raises:
        InvalidNetworkError: There is no such form.

    Example:
        >>> from streamshed.network.model.network import network
        >>> from streamshed.network.source.sources import rate
        >>> from streamshed.network.model.declared_stream import stream
        >>> ticks = network(stream("ticks", rate(100), time="timestamp").query("rows"))
        >>> print(rendered(ticks))
        ticks (time timestamp, watermark 0 seconds)
        └─ query rows
    """
    if form not in _FORMS:
        near_miss = closest_name(str(form), _FORMS)
        problem = Problem(f"a network is drawn as {', '.join(_FORMS)}", got=f'"{form}"', near_miss=near_miss)
        raise InvalidNetworkError(problem)
    return _FORMS[form](snapshot(network))


def to_text(picture: NetworkSnapshot) -> str:
    """Draw a network as a tree of lines, streams at the left.

    Example:
        >>> from streamshed.network.model.network import network
        >>> from streamshed.network.source.sources import rate
        >>> from streamshed.network.model.declared_stream import stream
        >>> ticks = stream("ticks", rate(100), time="timestamp")
        >>> even = ticks.filter("value % 2 = 0")
        >>> count = even.window("1 minute").agg(n="count(*)").query("even")
        >>> print(to_text(snapshot(network(count, even.query("rows", weight=2)))))
        ticks (time timestamp, watermark 0 seconds)
        └─ filter value % 2 = 0
           ├─ n = count(*) over 1 minute
           │  └─ query even
           └─ query rows (weight 2)
        >>> calls = stream("calls", rate(100), time="timestamp")
        >>> pairs = calls.join(even, on="value", within="30 seconds")
        >>> print(to_text(snapshot(network(pairs.query("pairs")))))
        calls (time timestamp, watermark 0 seconds)
        └─ joined in calls_ticks
        ticks (time timestamp, watermark 0 seconds)
        └─ filter value % 2 = 0
           └─ joined in calls_ticks
        calls_ticks (calls join ticks on value within 30 seconds)
        └─ query pairs
    """
    lines: list[str] = []
    for root in picture.nodes:
        if root.input is None:
            lines.append(root.label)
            lines += _branches(picture, root.id)
    return "\n".join(lines)


def to_mermaid(picture: NetworkSnapshot) -> str:
    """Draw a network as a Mermaid flowchart."""
    lines = ["flowchart TD"]
    for node in picture.nodes:
        left, right = ("[(", ")]") if node.input is None else ("[", "]")
        lines.append(f"  {node.id}{left}{_mermaid_text(node.label)}{right}")
    lines += [f"  {node.input} --> {node.id}" for node in picture.nodes if node.input is not None]
    lines += [f"  {side} --> {node.id}" for node in picture.nodes for side in dict.fromkeys(node.joins)]
    for index, query in enumerate(picture.queries):
        lines.append(f"  {query.node} --> q{index}([{_mermaid_text(_query_label(query))}])")
    return "\n".join(lines)


def to_dot(picture: NetworkSnapshot) -> str:
    """Draw a network in Graphviz's language."""
    lines = ["digraph network {", "  node [shape=box];"]
    for node in picture.nodes:
        shape = ", shape=cylinder" if node.input is None else ""
        lines.append(f"  {node.id} [label={_dot_text(node.label)}{shape}];")
    lines += [f"  {node.input} -> {node.id};" for node in picture.nodes if node.input is not None]
    lines += [f"  {side} -> {node.id};" for node in picture.nodes for side in dict.fromkeys(node.joins)]
    for index, query in enumerate(picture.queries):
        lines.append(f"  q{index} [label={_dot_text(_query_label(query))}, shape=oval];")
        lines.append(f"  {query.node} -> q{index};")
    return "\n".join([*lines, "}"])


def to_json(picture: NetworkSnapshot) -> str:
    """Write a network as JSON: an object of `nodes` and `queries`, with the fields of the snapshots."""
    return json.dumps(asdict(picture), indent=2, ensure_ascii=False)


_FORMS: Mapping[str, Callable[[NetworkSnapshot], str]] = {
    "text": to_text,
    "mermaid": to_mermaid,
    "dot": to_dot,
    "json": to_json,
}


def _node_snapshot(node: Node, ids: Mapping[Node, str]) -> NodeSnapshot:
    kind = type(node).__name__.lower()
    if isinstance(node, Stream):
        label = f"{node} ({node.windowing})"
        sides = () if node.joined is None else (node.joined.left, node.joined.right)
        joins = tuple(ids[side] for side in sides)
        return NodeSnapshot(ids[node], kind, label, None, dict(node.columns), joins, node.address)
    return NodeSnapshot(ids[node], kind, str(node), ids[node.path[-2]], dict(node.columns), address=node.address)


def _branches(picture: NetworkSnapshot, root: str) -> Iterator[str]:
    """The lines below a node; every line is told how its ancestors' branches go on."""
    below: dict[str, list[tuple[str, str | None]]] = {}
    for node in picture.nodes:
        if node.input is not None:
            below.setdefault(node.input, []).append((node.label, node.id))
        for side in dict.fromkeys(node.joins):
            below.setdefault(side, []).append((f"joined in {node.label.partition(' (')[0]}", None))
    for query in picture.queries:
        below.setdefault(query.node, []).append((f"query {_query_label(query)}", None))
    waiting = _indented(below.get(root, []), "")
    while waiting:
        line, deeper, id_ = waiting.pop()
        yield line
        if id_ is not None:
            waiting += _indented(below.get(id_, []), deeper)


def _indented(children: list[tuple[str, str | None]], prefix: str) -> list[tuple[str, str, str | None]]:
    """Per child, last first: its line, the prefix of the lines below it, its id."""
    lines = []
    for index, (label, id_) in enumerate(children):
        is_last = index == len(children) - 1
        lines.append((f"{prefix}{'└' if is_last else '├'}─ {label}", prefix + ("   " if is_last else "│  "), id_))
    return lines[::-1]


def _query_label(query: QuerySnapshot) -> str:
    notes = []
    if query.weight != 1:
        notes.append(f"weight {query.weight:g}")
    if query.priority:
        notes.append(f"priority {query.priority}")
    if query.mode != "approximate":
        notes.append(query.mode)
    if query.max_error is not None:
        notes.append(f"error at most {query.max_error}")
    if query.max_gap is not None:
        notes.append(f"gaps of at most {query.max_gap}")
    if query.latency is not None:
        notes.append(f"within {query.latency}")
    if query.gaps_by != "window":
        notes.append(f"gaps by {query.gaps_by}")
    return f"{query.name} ({', '.join(notes)})" if notes else query.name


def _mermaid_text(text: str) -> str:
    escaped = text.replace("#", "#35;").replace('"', "#quot;").replace("<", "#lt;").replace(">", "#gt;")
    return f'"{" ".join(escaped.split())}"'


def _dot_text(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{" ".join(escaped.split())}"'
