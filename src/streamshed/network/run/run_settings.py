"""What the `run` part of a document says: the settings of a run, and where its answers go."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from streamshed.errors import InvalidNetworkError, Problem, unknown_name
from streamshed.network.run import forms
from streamshed.network.run.postgres_connection import check_postgres
from streamshed.network.run.prediction_settings import PredictionSettings
from streamshed.network.run.setting import setting
from streamshed.network.run.settings import Settings
from streamshed.network.words.iceberg_name import check_iceberg
from streamshed.network.words.schema_forms import reference

CONSOLE, PARQUET, DELTA, MEMORY = "console", "parquet", "delta", "memory"
KAFKA, POSTGRES, ICEBERG = "kafka", "postgres", "iceberg"
SINK_KINDS = (CONSOLE, PARQUET, DELTA, MEMORY, KAFKA, POSTGRES, ICEBERG)


@dataclass(frozen=True, slots=True)
class SinkSettings:
    """Where answers go.

    Attributes:
        kind: One of `SINK_KINDS`: they are printed, written as Parquet or to a table of Delta Lake, kept in
            memory, sent to a topic, or written to a table of Postgres or Iceberg.
        place: The folder of "parquet" and "delta", the table of "memory", "postgres" and "iceberg", the topic of
            "kafka".
        address: Where the cluster of "kafka" is found, how the server of "postgres" is reached, as libpq takes it, or
            the name of the catalog of "iceberg"; empty for the last two: the environment says so.
        options: Of "kafka", options of Spark's connector, sorted by name.
        partition_by: Of "parquet", "delta" and "iceberg", the columns of answers by which they are partitioned.

    Raises:
        InvalidNetworkError: There is no such kind, a place is missing or is one too many, an address has a password,
            or a table or a catalog no proper name.
    """

    kind: str = CONSOLE
    place: str = ""
    address: str = ""
    options: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    partition_by: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.kind not in SINK_KINDS:
            raise InvalidNetworkError(unknown_name("sink", self.kind, SINK_KINDS))
        if bool(self.place) is (self.kind == CONSOLE):
            says = (
                "a sink is console, parquet or delta and its folder, memory, postgres or iceberg and its table, or"
                " kafka and its topic"
            )
            raise InvalidNetworkError(Problem(says))
        if (self.kind == KAFKA and not self.address) or (self.options and self.kind != KAFKA):
            raise InvalidNetworkError(Problem("a sink of kafka has servers, and no other has options"))
        if self.address and self.kind not in {KAFKA, POSTGRES, ICEBERG}:
            raise InvalidNetworkError(Problem("a sink has an address where it is kafka, postgres or iceberg"))
        if self.partition_by and self.kind not in {PARQUET, DELTA, ICEBERG}:
            raise InvalidNetworkError(Problem("a sink has partition_by where it is parquet, delta or iceberg"))
        if self.kind == POSTGRES:
            check_postgres(self.place, self.address)
        if self.kind == ICEBERG:
            check_iceberg(self.place, self.address)


@dataclass(frozen=True, kw_only=True)
class RunSettings(Settings):
    """How the network of a document is to be run.

    Raises:
        InvalidNetworkError: As `Settings`; or predictions have no answers in Parquet to be made from.
    """

    statistics: str | None = setting(
        None,
        "A JSON file of costs and rows, as `streamshed profile` writes it.",
        forms.path("statistics.json"),
        unless="guesses",
    )
    checkpoint: str | None = setting(
        None,
        "Folder (path or URI) of the checkpoint.",
        forms.path("out/checkpoint"),
        unless="none: each run starts anew",
    )
    sink: SinkSettings = setting(
        SinkSettings(),
        "Where answers go.",
        forms.instance(SinkSettings, {"oneOf": [reference(f"{kind}_sink") for kind in SINK_KINDS], "default": CONSOLE}),
    )
    predictions: PredictionSettings | None = setting(
        None,
        "Write predictions of dropped windows while the network runs. Needs a sink of Parquet without `partition_by`.",
        forms.instance(PredictionSettings, reference("predictions")),
        unless="none",
    )

    def _joint_problems(self, wrong: frozenset[str]) -> Iterator[Problem]:
        yield from super()._joint_problems(wrong)
        if self.predictions is not None and wrong.isdisjoint({"predictions", "sink"}) and self.sink.kind != PARQUET:
            yield Problem(
                f"predictions go to {self.predictions.path}, but they are made from answers in Parquet, and the sink is"
                f" {self.sink.kind}: choose a sink of Parquet, or leave predictions out",
                "predictions",
            )
        if self.predictions is not None and self.sink.partition_by:
            yield Problem("predictions are made from answers without partition_by: leave one of them out", "sink")
