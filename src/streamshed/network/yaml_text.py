"""YAML text to values and back, with the line of each value, and nothing taken in silence.

Scalars are those of YAML 1.2: `on`, `off`, `yes` and `no` are text, `010` is ten, `12:30` and dates are text.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import yaml

from streamshed.network.document_problem import Findings, Keys, Place

_TAG = "tag:yaml.org,2002:"
_MOST_VALUES = 200_000
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

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002 - equal values are written out
        """Write no anchors."""
        return True


@dataclass(frozen=True, slots=True)
class YamlText:
    """What a YAML text says.

    Attributes:
        value: Mappings, lists and scalars; None where it is no YAML.
        findings: Its problems so far, and the lines of its values.
        is_readable: Whether it is YAML at all.
    """

    value: object
    findings: Findings
    is_readable: bool


def read_yaml(text: str) -> YamlText:
    r"""Read one YAML document.

    Reported are: what is no YAML, with line and column; keys given twice; keys that are no text; values that
    contain themselves.

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
            return YamlText(_Reader(loader, findings).value(root, ()), findings, is_readable=True)
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


class _Reader:
    """Turns the nodes of one document into values."""

    def __init__(self, loader: _Loader, findings: Findings) -> None:
        self._loader = loader
        self._findings = findings
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
        self._findings.lines.setdefault(keys, _line(node))
        if isinstance(node, yaml.ScalarNode):
            return self._loader.construct_object(node)
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
        """The entries in the order written; of merged ones (`<<`) and keys given twice, the last counts."""
        self._report_duplicates(node, keys)
        self._loader.flatten_mapping(node)
        for key_node, value in node.value:
            if not isinstance(key_node, yaml.ScalarNode):
                self._findings.report(keys, "...", "a key is text, no list or mapping", line=_line(key_node))
                continue
            key = self._loader.construct_object(key_node)
            if not isinstance(key, str):
                message = f'a key is text: write "{key_node.value}" in quotes'
                self._findings.report(keys, key, message, line=_line(key_node))
            else:
                self._findings.lines[(*keys, key)] = _line(key_node)
                yield key, self.value(value, (*keys, key))

    def _report_duplicates(self, node: yaml.MappingNode, keys: Keys) -> None:
        if id(node) in self._checked:
            return
        self._checked.add(id(node))
        first_lines: dict[str, int] = {}
        for key_node, value in node.value:
            if not isinstance(key_node, yaml.ScalarNode) or key_node.tag == _TAG + "merge":
                continue
            if (first_line := first_lines.get(key_node.value)) is not None:
                self._findings.report(
                    (*keys, key_node.value),
                    _shown(value),
                    f"this key is given twice, first on line {first_line}",
                    line=_line(key_node),
                )
            first_lines.setdefault(key_node.value, _line(key_node))


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
    return int(text, 0) if text[:2] in {"0x", "0o"} else int(text, 10)


for _kind, _pattern, _first in _CORE_SCALARS:
    _Loader.add_implicit_resolver(_TAG + _kind, _pattern, _first)
    _Dumper.add_implicit_resolver(_TAG + _kind, _pattern, _first)
_Loader.add_constructor(_TAG + "int", _integer)
