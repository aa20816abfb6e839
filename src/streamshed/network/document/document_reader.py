"""Reading a document: YAML or SQL, then its shape, then what it means; all problems are found in one go."""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TypeAlias

from streamshed.errors import DocumentProblem
from streamshed.network.document.document_feeds import check_feeds
from streamshed.network.document.document_relations import read_relation
from streamshed.network.document.document_run import read_run
from streamshed.network.document.document_shape import check_shape
from streamshed.network.document.document_sql import ExpressionChecker, SqlReader
from streamshed.network.document.document_statements import KEY, with_statements
from streamshed.network.document.document_streams import read_stream
from streamshed.network.document.document_values import mapping_at, text_at
from streamshed.network.document.operators.operator_form import Context
from streamshed.network.document.operators.operator_forms import read_operator
from streamshed.network.document.operators.query_form import read_query
from streamshed.network.document.yaml_text import YamlText, read_yaml
from streamshed.network.model.network import QueryNetwork
from streamshed.network.model.node import Node
from streamshed.network.model.query import Query
from streamshed.network.model.relation import Relation
from streamshed.network.model.stream import Stream
from streamshed.network.run.run_settings import RunSettings
from streamshed.network.sql_text.sql_reader import Declaration, read_sql_text
from streamshed.network.words.document_problem import Findings, Place, is_within
from streamshed.network.words.names import name_problem

_MOST_BODIES = 5


class Language(StrEnum):
    """What a document is written in."""

    YAML = "yaml"
    SQL = "sql"

    @classmethod
    def of(cls, path: str | os.PathLike[str]) -> "Language":
        """The language of a file: SQL where its name ends with .sql, else YAML."""
        return cls.SQL if Path(path).suffix.lower() == ".sql" else cls.YAML


_Entries: TypeAlias = dict[str, tuple[Place, Mapping[str, object]]]


@dataclass(frozen=True)
class NetworkDocument:
    """A network and how it is to be run."""

    network: QueryNetwork
    run: RunSettings


@dataclass(frozen=True)
class Reading:
    """What became of a text: a document, or problems."""

    document: NetworkDocument | None
    problems: tuple[DocumentProblem, ...]


def read_document(
    text: str,
    *,
    folder: Path,
    expression_checker: ExpressionChecker | None = None,
    language: Language = Language.YAML,
    sources: Mapping[str, Stream | Relation] | None = None,
) -> Reading:
    """Read the text of a document.

    Args:
        text: The document.
        folder: Where relative paths begin.
        expression_checker: Tells why an engine cannot parse an SQL expression; None: what streamshed
            parses is taken for right.
        language: What it is written in.
        sources: For SQL: streams and relations that are declared elsewhere, by name.
    """
    if language is Language.SQL:
        value, findings = read_sql_text(text, sources)
        return _read(YamlText(value, findings, is_readable=True), folder, expression_checker, sources)
    said = read_yaml(text)
    reading = _read(said, folder, expression_checker)
    distinct_problems = {(problem.path, problem.message): problem for problem in reading.problems}
    for earlier in range(1, min(max(said.repeated.values(), default=1), _MOST_BODIES)):
        for problem in _read(read_yaml(text, earlier=earlier), folder, expression_checker).problems:
            if any(is_within(problem.path, keys) for keys in said.repeated):
                distinct_problems.setdefault((problem.path, problem.message), problem)
    problems = sorted(distinct_problems.values(), key=lambda problem: problem.line or 0)
    return Reading(reading.document, tuple(problems))


def _read(
    said: YamlText,
    folder: Path,
    expression_checker: ExpressionChecker | None,
    sources: Mapping[str, Stream | Relation] | None = None,
) -> Reading:
    """Read what a text says, where one value counts of each key that is given twice."""
    findings = said.findings
    if not said.is_readable:
        return Reading(None, findings.problems)
    value = written_out(said, folder)
    whole = value if isinstance(value, dict) else {}
    usable = check_shape(value, findings)
    reader = _DocumentReader(Place(findings), whole, usable, folder, SqlReader(expression_checker), sources or {})
    document = reader.read()
    problems = findings.problems
    return Reading(None if problems else document, problems)


def written_out(said: YamlText, folder: Path) -> object:
    """Return what a document says, with what its statements of SQL say in the place of these.

    Args:
        said: The document; problems of the statements go to its findings.
        folder: Where relative paths begin.
    """
    whole = said.value
    if not isinstance(whole, dict) or not isinstance(whole.get(KEY), str):
        return whole
    elsewhere = {key: value for key, value in whole.items() if key != KEY}
    unheard = Findings()
    usable = check_shape(elsewhere, unheard)
    reader = _DocumentReader(Place(unheard), elsewhere, usable, folder, SqlReader(None), {})
    return with_statements(said, reader.declared())


class _DocumentReader:
    """Reads the parts of a document in the order of their dependence."""

    def __init__(
        self,
        place: Place,
        whole: Mapping[str, object],
        usable: Mapping[str, object],
        folder: Path,
        sql: SqlReader,
        sources: Mapping[str, Stream | Relation],
    ) -> None:
        self._place = place
        self._whole = whole
        self._usable = usable
        self._folder = folder
        self._sql = sql
        self._given_streams = {name: source for name, source in sources.items() if isinstance(source, Stream)}
        self._given_relations = {name: source for name, source in sources.items() if isinstance(source, Relation)}

    def declared(self) -> Mapping[str, Declaration]:
        """Read what statements may name; None: it has problems."""
        nodes, relations = self._read_nodes()
        return {**relations, **nodes}

    def read(self) -> NetworkDocument | None:
        """Read everything; None where the network has problems."""
        nodes, relations = self._read_nodes()
        queries = [
            read_query(place, body, Context(name, self._input(place, body, nodes), self._sql, relations))
            for name, (place, body) in self._entries("queries").items()
        ]
        run = read_run(self._place.at("run"), mapping_at(self._usable, "run"), self._folder)
        for query in filter(None, queries):
            if (problem := query.latency_problem(run.trigger_seconds)) is not None:
                self._place.at("queries", query.name, "latency").report(query.latency, problem.says)
        if self._place.findings.count:
            return None
        network = self._network([query for query in queries if query is not None])
        if network is None or not check_feeds(self._place.at("run", "feeds"), run.feeds, network):
            return None
        return NetworkDocument(network, run)

    def _read_nodes(self) -> tuple[dict[str, Node | None], dict[str, Relation | None]]:
        nodes: dict[str, Node | None] = {
            name: self._given_streams.get(name) or read_stream(place, name, body, self._folder, self._sql)
            for name, (place, body) in self._entries("streams").items()
        }
        relations = {
            name: self._given_relations.get(name) or read_relation(place, name, body, self._folder)
            for name, (place, body) in self._entries("relations").items()
        }
        self._read_operators(nodes, relations)
        return nodes, relations

    def _network(self, queries: list[Query]) -> QueryNetwork | None:
        max_depth = self._usable.get("max_depth", 1)
        return self._place.at("queries").attempt(
            [query.name for query in queries],
            lambda: QueryNetwork(
                tuple(queries),
                max_depth=int(max_depth) if isinstance(max_depth, int | float) else 1,
            ),
        )

    def _entries(self, part: str) -> _Entries:
        """What stands in a part of the document, by name."""
        folded: dict[str, str] = {}
        entries = {}
        for name in mapping_at(self._whole, part):
            place = self._place.at(part, name)
            first = folded.setdefault(name.lower(), name)
            if first != name:
                place.report(name, f'this is the name "{first}" for Spark, which takes upper and lower case for alike')
            entries[name] = place, mapping_at(mapping_at(self._usable, part), name)
        return entries

    def _read_operators(self, nodes: dict[str, Node | None], relations: Mapping[str, Relation | None]) -> None:
        """Add the operators to the nodes, each after the one that its rows come from."""
        entries = self._entries("operators")
        for name in entries.keys() & nodes.keys():
            entries.pop(name)[0].report(name, "a stream has this name, too")
        for name, (place, _) in entries.items():
            if (problem := name_problem("operator", name)) is not None:
                place.report_all(name, [problem])
        order, cycles = dependence_order({name: [*_inputs(body).values()] for name, (_, body) in entries.items()})
        for cycle in cycles:
            place, body = entries[cycle[0]]
            key = next(key for key, name in _inputs(body).items() if name == (*cycle, cycle[0])[1])
            place.at(key).report(body[key], f"a cycle: {' <- '.join((*cycle, cycle[0]))}")
        for name in order:
            place, body = entries[name]
            above, right = self._input(place, body, nodes), self._input(place, body, nodes, key="join")
            nodes[name] = read_operator(place, body, Context(name, above, self._sql, relations, right))

    def _input(
        self, place: Place, body: Mapping[str, object], nodes: Mapping[str, Node | None], *, key: str = "from"
    ) -> Node | None:
        """The node that rows come from; None where it is not known. A name of nothing is reported."""
        name = text_at(body, key)
        if name is None or name in nodes:
            return None if name is None else nodes[name]
        operators, streams, relations, queries = (
            mapping_at(self._whole, part) for part in ("operators", "streams", "relations", "queries")
        )
        here = place.at(key)
        if name in relations:
            here.report(name, "this is a relation: look rows up in it by a lookup or semijoin")
        elif name not in operators and name in queries:
            here.report(name, "this is a query, which has answers and no rows: name an operator")
        elif name not in operators:
            here.report_unknown("stream or operator", name, [*streams, *operators])
        return None


def _inputs(body: Mapping[str, object]) -> dict[str, str]:
    """The names of what an operator's rows come from, by key."""
    return {key: name for key in ("from", "join") if (name := text_at(body, key)) is not None}


def dependence_order(inputs: Mapping[str, Sequence[str]]) -> tuple[list[str], list[tuple[str, ...]]]:
    """Put operators after the ones that their rows come from.

    Args:
        inputs: What each operator names as its inputs; names that are no operators end the way up.

    Returns:
        All operators in order, and cycles among them, each of which names the next as an input; those in a cycle stand
        somewhere.

    Example:
        >>> dependence_order({"web": ["tcp"], "tcp": ["packets"], "a": ["b"], "b": ["a"], "c": ["a"]})
        (['tcp', 'web', 'b', 'a', 'c'], [('a', 'b')])
        >>> dependence_order({"pairs": ["web", "tcp"], "web": ["tcp"], "tcp": ["packets"]})
        (['tcp', 'web', 'pairs'], [])
    """
    order: dict[str, None] = {}
    cycles: list[tuple[str, ...]] = []
    for name in inputs:
        way: dict[str, Iterator[str]] = {} if name in order else {name: iter(inputs[name])}
        while way:
            last = next(reversed(way))
            above = next(way[last], None)
            if above is None:
                del way[last]
                order[last] = None
            elif above in way:
                names = list(way)
                cycles.append(tuple(names[names.index(above) :]))
            elif above in inputs and above not in order:
                way[above] = iter(inputs[above])
    return list(order), cycles
