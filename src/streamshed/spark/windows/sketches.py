"""Sketches of values in state: what slices hold, and how windows are merged from them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from pyspark.sql import Column
from pyspark.sql import functions as F

from streamshed.answering.table.output import Output
from streamshed.network.terms.aggregate import AggregateKind
from streamshed.sharing.sharing_class import SharingClass
from streamshed.spark.checkpoint.state_layout import StateLayout

VALUES_KEPT = 400
"""k of KLL sketches: as many values are kept as they are; of more the rank is off by 0.7 %, in 99 of 100 cases."""

REGISTER_BITS = 12
"""lg k of HyperLogLog sketches: the count is off by 1.6 %, one standard deviation."""


@dataclass(frozen=True)
class Users:
    """Who asks for a kind of sketch.

    Attributes:
        classes: Ids of the sharing classes whose values are sketched.
        definitions: Ids of the queries that ask.
    """

    classes: tuple[int, ...]
    definitions: tuple[int, ...]

    @classmethod
    def of(cls, asking_outputs: Iterable[Output], classes: Sequence[SharingClass]) -> Users:
        """Find out where the values lie that some ask for."""
        asking = {(output.definition_id, output.slot) for output in asking_outputs}
        of_classes = {
            sharing_class.class_id
            for sharing_class in classes
            for member in sharing_class.members
            if (member.definition_id, member.slot) in asking
        }
        return cls(tuple(sorted(of_classes)), tuple(sorted({definition_id for definition_id, _ in asking})))

    @property
    def is_of_class(self) -> Column:
        """Whether a slice's values are sketched; where nobody's are, Spark must not see through it."""
        return F.col("class_id").isin(*self.classes) if self.classes else F.col("mask") < 0

    @property
    def asks(self) -> Column:
        """Whether the query of a routed slice that has values is among them."""
        asks = F.col("definition_id").isin(*self.definitions) if self.definitions else F.col("definition_id") < 0
        return asks & (F.col("present") > 0)


@dataclass(frozen=True)
class Sketches:
    """The sketches that a network's queries ask for.

    Attributes:
        quantiles: Who asks for quantiles.
        distincts: Who asks for distinct counts.
        collected: Who asks for the values themselves, for aggregates of the user's own.
        distinct_values: Who asks how many there are, of classes whose values are not collected anyway.
    """

    quantiles: Users
    distincts: Users
    collected: Users
    distinct_values: Users

    @classmethod
    def of(cls, outputs: Sequence[Output], classes: Sequence[SharingClass]) -> Sketches:
        """Find out who asks for what."""

        def of(kind: AggregateKind) -> Users:
            return Users.of([output for output in outputs if output.shape.function is kind], classes)

        collected, distinct = of(AggregateKind.USER), of(AggregateKind.COUNT_DISTINCT)
        only_distinct = tuple(sorted(set(distinct.classes) - set(collected.classes)))
        return cls(
            quantiles=of(AggregateKind.QUANTILE),
            distincts=of(AggregateKind.DISTINCT),
            collected=collected,
            distinct_values=replace(distinct, classes=only_distinct),
        )

    def of_slices(self, layout: StateLayout) -> list[Column]:
        """Aggregates of a slice's rows, by `number`, `long`, `instant`, `text`: sketch, distinct_sketch, collected."""
        aggregates = []
        if layout.quantiles:
            number = F.when(self.quantiles.is_of_class, F.col("number"))
            aggregates.append(F.kll_sketch_agg_double(number, VALUES_KEPT).alias("sketch"))
        if layout.distincts:
            hashed = F.when(self.distincts.is_of_class, F.col("long"))
            aggregates.append(F.hll_sketch_agg(hashed, REGISTER_BITS).alias("distinct_sketch"))
        if layout.collected:
            aggregates.append(self._collected(layout).alias("collected"))
        return aggregates

    def _collected(self, layout: StateLayout) -> Column:
        """Rows one by one where their order may matter, else each value once, at no time."""
        is_there = F.col("text").isNotNull()
        row = F.struct(F.col("instant"), F.col("text"))
        rows = F.collect_list(F.when(self.collected.is_of_class & is_there, row))
        if not layout.distinct_values:
            return rows
        value = F.struct(F.lit(0).cast("bigint").alias("instant"), F.col("text"))
        return F.concat(rows, F.collect_set(F.when(self.distinct_values.is_of_class & is_there, value)))

    def routed(self, layout: StateLayout) -> dict[str, Column]:
        """Columns of a slice on its way into a window: a sketch goes only to those who ask for it.

        One that was not sampled is merged with others; one that was keeps its weight.
        """
        columns: dict[str, Column] = {}
        if layout.quantiles:
            sampled = F.struct(F.col("weight"), F.col("sketch"))
            columns["whole_sketch"] = F.when(self.quantiles.asks & (F.col("weight") <= 1.0), F.col("sketch"))
            columns["sampled_sketch"] = F.when(self.quantiles.asks & (F.col("weight") > 1.0), sampled)
        if layout.distincts:
            columns["distinct_sketch"] = F.when(self.distincts.asks, F.col("distinct_sketch"))
        if layout.collected:
            asks = self.collected.asks | self.distinct_values.asks
            columns["collected"] = F.when(asks, F.col("collected"))
        return columns


def merged_sketches(layout: StateLayout) -> list[Column]:
    """Aggregates of a window's slices: sketch, sampled_sketches (weight, sketch), distinct_sketch, collected."""
    aggregates = []
    if layout.quantiles:
        aggregates.append(F.kll_merge_agg_double("whole_sketch", VALUES_KEPT).alias("sketch"))
        aggregates.append(F.collect_list("sampled_sketch").alias("sampled_sketches"))
    if layout.distincts:
        aggregates.append(F.hll_union_agg("distinct_sketch").alias("distinct_sketch"))
    if layout.collected:
        aggregates.append(F.flatten(F.collect_list("collected")).alias("collected"))
    return aggregates


def sketch_names(layout: StateLayout) -> list[str]:
    """The columns that `Sketches.of_slices` makes."""
    return ["sketch"] * layout.quantiles + ["distinct_sketch"] * layout.distincts + ["collected"] * layout.collected
