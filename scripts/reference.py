#!/usr/bin/env python3
"""Writes the reference of commands, documents and `start`: docs/{cli,document,running}.md, docs/network.schema.json.

    scripts/reference.py            write it
    scripts/reference.py --check    exit with 1 if a page has another one

The commands, and the tables from which the JSON Schema is made, say all. What ends a description, "By default ...", or
a help text, "[default: ...]", is in the column of defaults. A page has a block per command, per section of a document,
or for `start`, from `<!-- reference: NAME -->` to the next heading; what is before that is written by hand. Nothing is
explained twice: keys of `run` and options that are settings of `start` are only listed, so are options that many
commands of a group have. Operators leave their `from` to the page, and aggregates to queries.
"""

import argparse
import dataclasses
import functools
import json
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import click

from streamshed.cli.main import cli
from streamshed.network.document.document_schema import DOCUMENT_SCHEMA, schema_text
from streamshed.network.run.setting import Setting, settings_of
from streamshed.network.words.schema_forms import Schema
from streamshed.spark.start_settings import StartSettings

DOCS = Path(__file__).parents[1] / "docs"
BLOCK = re.compile(
    r"^(?P<before>#+ (?P<heading>.+)\n(?:(?!#+ ).*\n)*?<!-- reference: (?P<name>.+) -->\n)(?:(?!#+ ).*\n)*",
    re.MULTILINE,
)
DEFINITIONS: Mapping[str, Schema] = DOCUMENT_SCHEMA["$defs"]
OPERATORS = [each["$ref"].rpartition("/")[2] for each in DEFINITIONS["operator"]["oneOf"]]
FROM: Schema = DEFINITIONS["filter"]["properties"]["from"]
AGGREGATE: Schema = DEFINITIONS["query"]["properties"]["aggregates"]["additionalProperties"]
WORDS = {
    "array": "list",
    "boolean": "Boolean",
    "float": "number",
    "integer": "whole number",
    "object": "mapping",
    "string": "text",
}
SETTINGS = settings_of(StartSettings)
GROUP, MANY = 2, 3
"""How long the path of a group of commands is, and how many commands share an option that is explained once."""
FEW = 5
"""How many keys or options are a list, and no table."""
SAID_ELSEWHERE = "[Settings of every run](running.md#settings)"
LIMITS = {"minimum": "≥", "exclusiveMinimum": ">", "maximum": "≤", "exclusiveMaximum": "<"}
LINKS = {
    "aggregates": "how-to/own-aggregates.md",
    "base_shed": "elasticity.md#thresholds",
    "controller": "elasticity.md#controllers",
    "ctl.explain": "live.md#what-it-would-cost",
    "divisible": "elasticity.md#skew",
    "document.sql": "sql.md#within-a-document",
    "fault_patience": "kafka.md#a-broker-that-does-not-answer",
    "gaps_by": "how-to/tolerate-gaps.md",
    "held_up": "elasticity.md#shedding-and-scaling-together",
    "host": "how-to/secure.md",
    "identity": "how-to/connect-a-stream.md#rows-and-their-identity",
    "idle_after": "how-to/connect-a-stream.md#streams-that-fall-silent",
    "jars": "kafka.md#the-connector",
    "join.basic_window": "joins.md#basic-windows-and-cells",
    "join.memory": "joins.md#memory",
    "join.mode": "joins.md#samples",
    "join.policy": "joins.md#policies",
    "join.weight": "joins.md#worth",
    "log": "metrics.md#logs",
    "max_age": "how-to/catch-up.md",
    "max_ahead": "how-to/bad-rows.md#event-times-far-ahead",
    "metrics": "metrics.md",
    "page": "page.md",
    "partition_by": "answers.md",
    "policy": "shedding.md#policies",
    "predict.method": "how-to/fill-gaps.md#what-a-prediction-says",
    "predictions": "how-to/fill-gaps.md",
    "priority": "how-to/choose-what-is-shed.md#say-what-matters-most",
    "push_metrics": "metrics.md#pushed-by-opentelemetry",
    "publish_needs": "how-to/several-applications.md",
    "reserve": "running.md#state-families",
    "run.json": "running.md#the-handle",
    "run.workers": "how-to/cluster.md",
    "start.advisory": "how-to/start.md#try-it-without-loss",
    "start.checkpoint": "how-to/restart.md#what-a-checkpoint-holds",
    "start.elastic": "how-to/cluster.md#let-the-number-of-workers-change",
    "start.feeds": "how-to/several-applications.md",
    "start.sink": "running.md#sinks",
    "set_aside_limit": "how-to/bad-rows.md#how-much-is-kept",
    "state_limit": "how-to/bound-memory.md",
    "statistics": "cli.md#statistics",
    "stream.number": "document.md#windows-along-numbers",
    "stream.time": "document.md#event-time-from-an-expression",
    "thresholds": "elasticity.md#thresholds",
    "traces": "metrics.md#traces",
    "worker_patience": "how-to/cluster.md#when-nothing-can-run",
    "worker_rows": "elasticity.md#utilization",
}
"""Where the documents say more of a key or an option: by its name, or by section or command and name."""


def commands(path: tuple[str, ...], command: click.Command) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Each command with its name, all that it has included."""
    yield path, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            if part := command.get_command(context, name):
                yield from commands((*path, name), part)


def command_text(path: tuple[str, ...], command: click.Command) -> str:
    """Write how a command is called, what it does, and its options."""
    usage = " ".join([*path, *command.collect_usage_pieces(click.Context(command))])
    paragraphs = [f"`{usage}`", " ".join((command.help or "").split())]
    options = options_of(command)
    if shared := [option for option in options if option_name(option) in shared_options(path[:-1])]:
        options = [option for option in options if option not in shared]
        paragraphs.append(f"[As above](#{path[-2]}): {', '.join(quoted(flags_of(option)) for option in shared)}.")
    if shared_options(path):
        options += shared_options(path).values()
        paragraphs.append("Options of several commands:")
    cells = {option: option_cells(path[-1], option) for option in options}
    settings = [option for option in options if is_setting(option_name(option), cells[option][-1])]
    if settings:
        paragraphs.append(f"{SAID_ELSEWHERE}: {', '.join(quoted(flags_of(option)) for option in settings)}.")
    if rows := [cells[option] for option in options if option not in settings]:
        paragraphs.append(table_or_list(("option", "value", "default", "meaning"), rows))
    return "\n\n".join(paragraphs)


def options_of(command: click.Command) -> list[click.Option]:
    """The options of a command."""
    return [option for option in command.params if isinstance(option, click.Option)]


@functools.cache
def shared_options(path: tuple[str, ...]) -> Mapping[str, click.Option]:
    """The options that many commands of a group have, with the same meaning; of none but a group below the first."""
    group = dict(commands(("streamshed",), cli)).get(path)
    if len(path) < GROUP or not isinstance(group, click.Group):
        return {}
    options = [option for command in group.commands.values() for option in options_of(command)]
    times = Counter((option_name(option), option.help) for option in options)
    return {option_name(option): option for option in options if times[option_name(option), option.help] >= MANY}


def flags_of(option: click.Option) -> str:
    """Write how an option is called."""
    return "/".join([*option.opts, *option.secondary_opts])


def option_name(option: click.Option) -> str:
    """The name of an option, as a setting has it."""
    return option.opts[-1].removeprefix("--").replace("-", "_")


def is_setting(name: str, meaning: str) -> bool:
    """Whether a key or an option is a setting of `start`, with the same meaning."""
    return name in SETTINGS and SETTINGS[name].description == meaning


def option_cells(command: str, option: click.Option) -> tuple[str, ...]:
    """Write an option as cells of a table."""
    meaning, _, default = (option.help or "").removesuffix("]").partition("  [default: ")
    match option.default:
        case _ if option.required:
            default = "required"
        case bool() as is_on if option.secondary_opts:
            default = (option.opts if is_on else option.secondary_opts)[0]
        case float() as number:
            default = f"{number:g}"
        case str() | int() | Path() as value if not option.is_flag:
            default = str(value)
    shown = linked(command, option_name(option), flags_of(option))
    return shown, "" if option.is_flag else value_text(option.type), default, meaning


def value_text(kind: click.ParamType[Any]) -> str:
    """Say what an option takes."""
    match kind:
        case click.Choice(choices=choices):
            return alternatives(map(quoted, choices))
        case click.IntRange() | click.FloatRange():
            bounds = {"minimum": kind.min, "maximum": kind.max}
            return type_text({"type": kind.name.removesuffix(" range")} | bounds)
    return WORDS.get(kind.name, kind.name)


def section_text(name: str, schema: Schema) -> str:
    """Write what a section of a document is, and its keys."""
    paragraphs, properties = [schema["description"]], schema["properties"]
    settings = [key for key in properties if name == "run" and is_plain_setting(key, properties[key])]
    if settings:
        paragraphs.append(f"{SAID_ELSEWHERE}: {', '.join(map(quoted, settings))}.")
    others = {key: value for key, value in properties.items() if key not in settings}
    rows = list(key_rows(name, {**schema, "properties": others}))
    return "\n\n".join([*paragraphs, table_or_list(("key", "type", "default", "meaning"), rows)])


def is_plain_setting(key: str, value: Schema) -> bool:
    """Whether a key of `run` is a setting of `start`, with the same values and the same meaning."""
    meaning = value.get("description", "").partition(" By default ")[0]
    return is_setting(key, meaning) and type_text(value) == setting_cells("start", SETTINGS[key], "")[1]


def key_rows(section: str, schema: Schema, prefix: str = "") -> Iterator[tuple[str, ...]]:
    """Write the keys of a mapping, each followed by the keys of its value."""
    for key, value in schema["properties"].items():
        if section in OPERATORS and value == FROM:
            continue
        defined = value | DEFINITIONS.get(reference_in(value), {})
        meaning, _, default = value.get("description", defined["description"]).partition(" By default ")
        if key in schema["required"]:
            default = "required"
        default = default.removesuffix(".") or default_text(value.get("default"))
        yield linked(section, key, prefix + key), type_text(value), default, meaning
        for inner, before in ((value, f"{key}."), (value.get("additionalProperties"), f"{key}.NAME.")):
            if isinstance(inner, dict) and "properties" in inner and not (section in OPERATORS and inner == AGGREGATE):
                yield from key_rows(section, inner, prefix + before)


def settings_text(function: str, kind: type) -> str:
    """Write the settings that a function of Python takes as keywords, what must be given first."""
    rows = sorted(settings_of(kind).values(), key=lambda row: row.default is not dataclasses.MISSING)
    classes = {column.name: str(column.type).removesuffix(" | None") for column in dataclasses.fields(kind)}
    cells = [setting_cells(function, row, classes[row.name]) for row in rows]
    return table(("keyword", "type", "default", "meaning"), cells)


def setting_cells(function: str, row: Setting, kind: str) -> tuple[str, ...]:
    """Write a setting as cells of a table: of values that a document has a mapping for, the class in Python."""
    words = type_text(row.form.schema) if row.form.schema.get("type", "object") != "object" else quoted(kind)
    default = json.dumps(row.default) if isinstance(row.default, str | bool) else repr(row.default)
    unless = (row.unless or "").removeprefix("none").removeprefix(": ") if row.default is None else ""
    meaning = f"{row.description} `None`: {unless}." if unless else row.description
    shown = "required" if row.default is dataclasses.MISSING else quoted(default)
    return (
        linked(function, row.name, row.name),
        words,
        shown,
        meaning,
    )


def type_text(schema: Schema) -> str:
    """Say what a value is: choices, a section of the page, or its type with its limits."""
    limits = [f"{sign} {schema[key]:g}" for key, sign in LIMITS.items() if schema.get(key) is not None]
    each = schema.get("additionalProperties", schema.get("items"))
    match schema:
        case {"$ref": _}:
            name = reference_in(schema)
            return f"[{name.replace('_', ' ')}](#{ANCHORS[name]})" if name in ANCHORS else type_text(DEFINITIONS[name])
        case {"oneOf": forms}:
            return alternatives(map(type_text, forms))
        case {"enum": choices}:
            return alternatives(map(quoted, choices))
        case {"const": value}:
            return quoted(value)
        case {"title": title}:
            words = str(title)
        case {"type": "object"} if isinstance(each, dict):
            words = f"by name: {type_text(each)}" if each.keys() & {"$ref", "oneOf", "title"} else "by name"
        case {"type": "array"} if isinstance(each, dict) and "enum" in each:
            words = f"list of {type_text(each)}"
        case {"type": list(types)}:
            words = alternatives(WORDS.get(kind, str(kind)) for kind in types)
        case {"type": kind}:
            words = WORDS.get(kind, str(kind))
    return " ".join([words, ", ".join(limits)]).strip()


def default_text(value: object) -> str:
    """Write a default as YAML has it.

    >>> [default_text(value) for value in (None, {}, False, 1e-6, 0.8, "2 seconds")]
    ['', '', 'false', '1e-06', '0.8', '2 seconds']
    """
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, int | float) else str(value or "")


def reference_in(schema: Schema) -> str:
    """The name of the definition that a schema refers to; empty: to none."""
    return str(schema.get("$ref", "")).rpartition("/")[2]


def quoted(value: object) -> str:
    """Write a value as code."""
    return f"`{value}`"


def alternatives(words: Iterable[str]) -> str:
    """Write a list whose last word follows an "or".

    >>> alternatives("abc"), alternatives("a")
    ('a, b or c', 'a')
    """
    *others, last = words
    return f"{', '.join(others)} or {last}" if others else last


def linked(section: str, name: str, shown: str) -> str:
    """Write a name as code, with a link where the documents say more."""
    target = LINKS.get(f"{section}.{name}", LINKS.get(name))
    return f"[`{shown}`]({target})" if target else f"`{shown}`"


def table_or_list(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    r"""Write a table of (name, type, default, meaning), or a list where it would have few rows.

    >>> table_or_list((), [("`rate`", "number", "2", "Rows."), ("`--json`", "", "", "Print JSON.")])
    '- `rate` (number, default: 2): Rows.\\n- `--json`: Print JSON.'
    """
    if len(rows) > FEW:
        return table(head, rows)
    lines = []
    for name, kind, default, meaning in rows:
        details = [kind, default if default in ("", "required") else f"default: {default}"]
        within = f" ({', '.join(filter(None, details))})" if any(details) else ""
        lines.append(f"- {name}{within}: {meaning}")
    return "\n".join(lines)


def table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    """Write a table."""
    cells = [head, *((cell.replace("|", "\\|") for cell in row) for row in rows)]
    lines = [re.sub(" +", " ", f"| {' | '.join(row)} |") for row in cells]
    return "\n".join([lines[0], "|---" * len(head) + "|", *lines[1:]])


def written(page: str, blocks: Mapping[str, str]) -> str:
    """Write the blocks of a page anew.

    Raises:
        ValueError: The page lacks a block, or has one of something else.
    """
    names = [block["name"] for block in BLOCK.finditer(page)]
    if sorted(names) != sorted(blocks):
        raise ValueError(f"blocks of {sorted({*names} ^ {*blocks})} are missing, or too many")
    return BLOCK.sub(lambda block: f"{block['before']}{blocks[block['name']]}\n\n", page).rstrip("\n") + "\n"


ANCHORS = {
    block["name"]: re.sub(r"[^\w\- ]", "", block["heading"].lower()).replace(" ", "-")
    for block in BLOCK.finditer((DOCS / "document.md").read_text("utf-8"))
}
"""The heading above each block of the page of documents, as links have it."""


def files() -> Iterator[tuple[Path, str]]:
    """Each file, and what it should hold."""
    called = {" ".join(path[1:] or path): command_text(path, each) for path, each in commands(("streamshed",), cli)}
    sections = {name: section_text(name, schema) for name, schema in DEFINITIONS.items() if "properties" in schema}
    sections["document"] = section_text("document", DOCUMENT_SCHEMA)
    settings = {"start": settings_text("start", StartSettings)}
    for name, blocks in (("cli.md", called), ("document.md", sections), ("running.md", settings)):
        yield DOCS / name, written((DOCS / name).read_text("utf-8"), blocks)
    yield DOCS / "network.schema.json", schema_text()


def main() -> int:
    """Run the script."""
    parser = argparse.ArgumentParser(description="Write the reference of the command line and of documents.")
    parser.add_argument("--check", action="store_true", help="write nothing, exit with 1 if a page has another one")
    is_check = parser.parse_args().check
    differing = [(file, text) for file, text in files() if file.read_text("utf-8") != text]
    for file, text in differing:
        if not is_check:
            file.write_text(text, "utf-8")
        sys.stdout.write(f"{file.name}: {'not what the code says' if is_check else 'written'}\n")
    return int(is_check and bool(differing))


if __name__ == "__main__":
    sys.exit(main())
