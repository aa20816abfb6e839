"""Options of commands for settings of a run, from the table of settings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from streamshed.network.run.run_settings import RunSettings
from streamshed.network.run.setting import Setting, settings_of

_Command = TypeVar("_Command", bound=Callable[..., Any])


class SettingType(click.ParamType[Any]):
    """The text of a setting, read as far as its form says; a list is written with commas."""

    def __init__(self, setting: Setting) -> None:
        self.name = "list" if setting.form.schema["type"] == "array" else setting.form.schema.get("title", "text")
        self._setting = setting

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Split a list; of all else, check the text."""
        names = tuple(value.split(",")) if self._setting.form.schema["type"] == "array" else value
        for problem in self._setting.form.problems(self._setting.name, names):
            self.fail(problem, param, ctx)
        return names


def setting_options(*names: str) -> Callable[[_Command], _Command]:
    """Give a command an option for each setting of these names, None where it is not given.

    Args:
        *names: Those of the settings; none: all that are one value or a list of words.
    """
    table = settings_of(RunSettings)
    plain = [name for name, row in table.items() if row.form.schema.get("type", "object") != "object"]

    def decorate(command: _Command) -> _Command:
        for name in reversed(names or plain):
            command = _option(table[name])(command)
        return command

    return decorate


def _option(setting: Setting) -> Callable[[_Command], _Command]:
    option = f"--{setting.name.replace('_', '-')}"
    unless = setting.unless or setting.default
    match setting.form.schema:
        case {"type": "boolean"}:
            flags = f"{option}/--no-{option[2:]}"
            return click.option(flags, default=None, help=f"{setting.description}  [default: --no-{option[2:]}]")
        case {"enum": choices}:
            kind: Any = click.Choice(choices)
        case {"type": "number"}:
            kind = float
        case {"type": "integer"}:
            kind = int
        case _:
            kind = SettingType(setting)
    return click.option(option, type=kind, help=f"{setting.description}  [default: {unless}]")
