"""YAML text to values and back, with the line of each value, and nothing taken in silence.

Scalars are those of YAML 1.2: `on`, `off`, `yes` and `no` are text, `010` is ten, `12:30` and dates are text.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import yaml

from streamshed.network.words.document_problem import Findings, Keys, Mark, Place

_TAG = "tag:yaml.org,2002:"
_MOST_VALUES = 200_000
_Entry: TypeAlias = tuple[yaml.Node, yaml.Node]
_CORE_SCALARS = (
    ("bool", re.compile(r"^(?:true|True|TRUE|false|False|FALSE)$"), list("tTfF")),
    ("int", re.compile(r"^(?:[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+)$"), list("-+0123456789")),
    (
        "float",
        re.compile(
            r"^(?:[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?"
            r"|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$"
        ),
        list("-+.0123456789"),
    ),
    ("null", re.compile(r"^(?:~|null|Null|NULL|)$"), ["~", "n", "N", ""]),
    ("merge", re.compile(r"^<<$"), ["<"]),
)


class _Loader(yaml.SafeLoader):
    yaml_implicit_resolvers = {}  # noqa: RUF012 - as declared by its base, and filled below


class _Dumper(yaml.SafeDumper):
    yaml_implicit_resolvers = {}  # noqa: RUF012 - as declared by its base, and filled below

    def ignore_aliases(self, python_value: Any) -> bool:  # noqa: ARG002 - equal values are written out
        """Write no anchors."""
        return True


@dataclass(frozen=True, slots=True)
class YamlText:
    """What a YAML text says.

    Attributes:
        value: Mappings, lists and scalars; None where it is no YAML.
        findings: Its problems so far, and the lines of its values.
        is_readable: Whether it is YAML at all.
        repeated: How often keys were given of which one value counts, by the way to them.
        text: The text.
    """

    value: object
    findings: Findings
    is_readable: bool
    repeated: Mapping[Keys, int] = field(default_factory=dict)
    text: str = ""


def read_yaml(text: str, *, earlier: int = 0) -> YamlText:
    r"""Read one YAML document.

    Reported are: what is no YAML, with line and column; keys given twice; keys that are no text; values that
    contain themselves.

    Args:
        text: The document.
        earlier: Of a key given several times, the value so many before the last one counts, or the first. Of one at
            the top all values count together where they are mappings.

    Example:
        >>> said = read_yaml("tcp: {on: 010}\ntcp: 2")
        >>> said.value, [(problem.path, problem.message) for problem in said.findings.problems]
        ({'tcp': 2}, [('tcp', 'this key is given twice, first on line 1')])
    """
    findings = Findings()
    try:
        loader = _Loader(text)
        try:
            root = loader.get_single_node()
            if root is None:
                findings.report((), None, "the document is empty", line=1)
                return YamlText(None, findings, is_readable=False)
            reader = _Reader(loader, findings, earlier)
            return YamlText(reader.value(root, ()), findings, is_readable=True, repeated=reader.repeated, text=text)
        finally:
            loader.dispose()
    except yaml.YAMLError as error:
        _report_syntax(findings, error, text)
    except RecursionError:
        findings.report((), None, "it is nested too deeply")
    return YamlText(None, findings, is_readable=False)


def write_yaml(value: object) -> str:
    """Write a value as YAML, keys in their order.

    Example:
        >>> print(write_yaml({"on": {"host": "no"}, "by": ["8", "a"]}), end="")
        on:
          host: no
        by:
        - '8'
        - a
    """
    text: str = yaml.dump(value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=110)
    return text


_UNREADABLE = object()


class _Reader:
    """Turns the nodes of one document into values."""

    def __init__(self, loader: _Loader, findings: Findings, earlier: int) -> None:
        self.repeated: dict[Keys, int] = {}
        self._loader = loader
        self._findings = findings
        self._earlier = earlier
        self._open: set[int] = set()
        self._checked: set[int] = set()
        self._values = 0

    def value(self, node: yaml.Node, keys: Keys) -> object:
        """The value of a node."""
        self._values += 1
        if self._values > _MOST_VALUES:
            raise yaml.constructor.ConstructorError(
                None, None, f"more than {_MOST_VALUES} values (aliases of aliases?)", node.start_mark
            )
        self._findings.marks.setdefault(keys, Mark(_line(node)))
        if isinstance(node, yaml.ScalarNode):
            value = self._constructed(node)
            if value is not _UNREADABLE:
                return value
            Place(self._findings, keys).report(node.value, f"it cannot be read as {node.tag.rpartition(':')[2]}")
            self._findings.unusable.add(keys)
            return None
        if id(node) in self._open:
            Place(self._findings, keys).report(None, "it contains itself")
            self._findings.unusable.add(keys)
            return None
        self._open.add(id(node))
        try:
            if isinstance(node, yaml.MappingNode):
                return dict(self._entries(node, keys))
            items: list[yaml.Node] = node.value
            return [self.value(item, (*keys, index)) for index, item in enumerate(items)]
        finally:
            self._open.discard(id(node))

    def _entries(self, node: yaml.MappingNode, keys: Keys) -> Iterator[tuple[str, object]]:
        """The entries in the order written; of merged ones (`<<`) and keys given twice, one counts."""
        if id(node) not in self._checked:
            self._checked.add(id(node))
            node.value = self._without_repeated(node, keys)
        self._loader.flatten_mapping(node)
        for key_node, value in node.value:
            if not isinstance(key_node, yaml.ScalarNode):
                self._findings.report(keys, "...", "a key is text, no list or mapping", line=_line(key_node))
                continue
            key = self._constructed(key_node)
            if not isinstance(key, str):
                message = f'a key is text: write "{key_node.value}" in quotes'
                shown = key_node.value if key is _UNREADABLE else key
                self._findings.report(keys, shown, message, line=_line(key_node))
            else:
                start, end = value.start_mark.index, value.end_mark.index
                self._findings.marks[(*keys, key)] = Mark(_line(key_node), start=start, end=end)
                yield key, self.value(value, (*keys, key))

    def _without_repeated(self, node: yaml.MappingNode, keys: Keys) -> list[_Entry]:
        """The entries with one value per key; keys given twice are reported."""
        by_key: dict[str, list[_Entry]] = {}
        for key_node, value in node.value:
            if isinstance(key_node, yaml.ScalarNode) and key_node.tag != _TAG + "merge":
                by_key.setdefault(key_node.value, []).append((key_node, value))
        superseded: set[int] = set()
        merged: dict[int, yaml.Node] = {}
        for key, entries in by_key.items():
            if len(entries) == 1:
                continue
            self._report_repeated((*keys, key), entries)
            values = [value for _, value in entries]
            counting, _ = entries[max(len(entries) - 1 - self._earlier, 0)]
            superseded.update(id(key_node) for key_node, _ in entries if key_node is not counting)
            if not keys and all(isinstance(value, yaml.MappingNode) for value in values):
                merged[id(counting)] = _together(values)
            else:
                self.repeated[(*keys, key)] = len(entries)
        return [
            (key_node, merged.get(id(key_node), value))
            for key_node, value in node.value
            if id(key_node) not in superseded
        ]

    def _constructed(self, node: yaml.ScalarNode) -> object:
        """What a node stands for; PyYAML takes one with a tag for what the tag says, whatever it is."""
        try:
            return self._loader.construct_object(node)
        except (ValueError, TypeError, LookupError, AttributeError):
            return _UNREADABLE

    def _report_repeated(self, keys: Keys, entries: list[_Entry]) -> None:
        message = f"this key is given twice, first on line {_line(entries[0][0])}"
        for key_node, value in entries[1:]:
            self._findings.report(keys, _shown(value), message, line=_line(key_node))


_MOST_BITS = 1024
"""What a float can hold."""


def _together(mappings: list[yaml.Node]) -> yaml.Node:
    """All entries of several mappings as one, at the place of the last."""
    entries = [entry for mapping in dict.fromkeys(mappings) for entry in mapping.value]
    last = mappings[-1]
    return yaml.MappingNode(last.tag, entries, last.start_mark, last.end_mark)


def _line(node: yaml.Node) -> int:
    return int(node.start_mark.line) + 1


def _shown(node: yaml.Node) -> object:
    return node.value if isinstance(node, yaml.ScalarNode) else "..."


def _report_syntax(findings: Findings, error: yaml.YAMLError, text: str) -> None:
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    if mark is None:
        what = getattr(error, "reason", None) or str(error)
        position = getattr(error, "position", 0)
        line = text.count("\n", 0, position) + 1
        findings.report((), None, f"this is no YAML: {what} on line {line}", line=line)
        return
    parts = filter(None, (getattr(error, "context", None), getattr(error, "problem", None)))
    lines = text.splitlines()
    value = lines[mark.line].strip() if mark.line < len(lines) else ""
    where = f"line {mark.line + 1}, column {mark.column + 1}"
    findings.report((), value, f"this is no YAML: {', '.join(parts)} on {where}", line=mark.line + 1)


def _integer(_: yaml.SafeLoader, node: yaml.ScalarNode) -> int:
    text: str = node.value
    number = int(text, 0) if text[:2] in {"0x", "0o"} else int(text, 10)
    if number.bit_length() > _MOST_BITS - 1:
        raise ValueError("no float holds so large a number")
    return number


for _kind, _pattern, _first in _CORE_SCALARS:
    _Loader.add_implicit_resolver(_TAG + _kind, _pattern, _first)
    _Dumper.add_implicit_resolver(_TAG + _kind, _pattern, _first)
_Loader.add_constructor(_TAG + "int", _integer)
