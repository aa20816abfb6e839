"""Types of option values: durations, sizes, numbers, sinks, workers."""

import math
import re
from collections.abc import Callable
from typing import Any

import click

from streamshed.elasticity.errors import InvalidElasticityError
from streamshed.elasticity.thresholds import Thresholds
from streamshed.errors import InvalidNetworkError
from streamshed.network.run.run_settings import ICEBERG, KAFKA, POSTGRES, SinkSettings
from streamshed.network.words.duration import parse_duration


class MeasureType(click.ParamType[int]):
    """A text such as `2 seconds` or `2 GiB`, as a whole number of the smallest unit.

    Args:
        name: What help calls it.
        parse: Reads the text; raises `InvalidNetworkError`.
    """

    def __init__(self, name: str, parse: Callable[[str], int]) -> None:
        self.name = name
        self._parse = parse

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Read the text; a default may be such a number already."""
        if isinstance(value, int):
            return value
        try:
            return self._parse(value)
        except InvalidNetworkError as error:
            self.fail(str(error), param, ctx)


class PositiveNumberType(click.ParamType[float]):
    """A number above 0, and not endless."""

    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Read the text."""
        try:
            number = float(value)
        except ValueError:
            number = math.nan
        if not 0 < number < math.inf:
            self.fail(f"expected a number above 0, got {value!r}", param, ctx)
        return number


SINK_FORMS = (
    "console, parquet:FOLDER, delta:FOLDER, memory:NAME, kafka:TOPIC@HOST:PORT, postgres:TABLE@CONNECTION or"
    " iceberg:NAMESPACE.TABLE@CATALOG"
)


class SinkType(click.ParamType[SinkSettings]):
    """Where answers go, in one of the `SINK_FORMS`."""

    name = "sink"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> SinkSettings:
        """Read the text."""
        if isinstance(value, SinkSettings):
            return value
        kind, _, place = value.partition(":")
        place, _, address = place.partition("@") if kind in {KAFKA, POSTGRES, ICEBERG} else (place, "", "")
        try:
            return SinkSettings(kind, place, address)
        except InvalidNetworkError as error:
            if kind in {POSTGRES, ICEBERG} and place:  # what was given may hold a password
                return self.fail(str(error), param, ctx)
            return self.fail(f"expected {SINK_FORMS}, got {value!r}", param, ctx)


class ColumnsType(click.ParamType[tuple[str, ...]]):
    """Columns of answers, `query,kind`."""

    name = "list"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, ...]:
        """Read the text."""
        if isinstance(value, tuple):
            return value
        from streamshed.answering.table.answer_schema import answer_columns

        try:
            return answer_columns([name.strip() for name in value.split(",")])
        except InvalidNetworkError as error:
            self.fail(str(error), param, ctx)


class WorkersType(click.ParamType[tuple[int, int]]):
    """How few and how many workers: `4`, or `2..16`."""

    name = "workers"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, int]:
        """Read the text."""
        if isinstance(value, tuple):
            return value
        range_match = re.fullmatch(r"(\d+)(?:\.\.(\d+))?", value.strip())
        if range_match is None:
            self.fail(f"expected a number such as 4, or a range such as 2..16, got {value!r}", param, ctx)
        least = int(range_match[1])
        return least, int(range_match[2] or least)


class AddressType(click.ParamType[tuple[str, int]]):
    """A host and a port: `127.0.0.1:9464`, or `[::1]:9464`."""

    name = "HOST:PORT"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, int]:
        """Read the text."""
        if isinstance(value, tuple):
            return value
        address_match = re.fullmatch(r"\[?([^\[\]]+?)\]?:(\d{1,5})", value.strip())
        if address_match is None or int(address_match[2]) > _LAST_PORT:
            self.fail(f"expected HOST:PORT such as 127.0.0.1:9464, got {value!r}", param, ctx)
        return address_match[1], int(address_match[2])


_LAST_PORT = 65_535


class ThresholdsType(click.ParamType[Thresholds]):
    """Four thresholds of utilization, `0.2,0.4,0.8,0.95`."""

    name = "thresholds"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Thresholds:
        """Read the text."""
        if isinstance(value, Thresholds):
            return value
        try:
            release, initial, shed, add = (float(part) for part in value.split(","))
        except ValueError:
            self.fail(f"expected four numbers such as 0.2,0.4,0.8,0.95, got {value!r}", param, ctx)
        try:
            return Thresholds(release=release, initial=initial, shed=shed, add=add)
        except InvalidElasticityError as error:
            self.fail(str(error), param, ctx)


DURATION = MeasureType("duration", parse_duration)
POSITIVE_NUMBER = PositiveNumberType()
SINK = SinkType()
COLUMNS = ColumnsType()
WORKERS = WorkersType()
THRESHOLDS = ThresholdsType()
ADDRESS = AddressType()
