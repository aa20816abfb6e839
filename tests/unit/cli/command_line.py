"""Running the command line in this process."""

import json
from dataclasses import dataclass
from typing import Any

from click.testing import CliRunner

from streamshed.cli.main import cli


@dataclass(frozen=True)
class Outcome:
    code: int
    output: str
    errors: str

    @property
    def object(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.output)
        return found


def streamshed(*arguments: object) -> Outcome:
    result = CliRunner().invoke(cli, [str(argument) for argument in arguments], prog_name="streamshed")
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return Outcome(result.exit_code, result.stdout, result.stderr)
