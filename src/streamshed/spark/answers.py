"""From window partials to answers: value, bounds, and whether the answer is exact."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from streamshed.network.aggregate import AggregateKind
from streamshed.spark.aggregate_values import exact_text, sampled_variance, value_of
from streamshed.spark.answer_outputs import Output, outputs_of
from streamshed.spark.answer_schema import ANSWER, ANSWER_SCHEMA, LATE, ROW, UNREADABLE
from streamshed.spark.group_keys import key_texts
from streamshed.spark.notation import key_as_written
from streamshed.spark.plan_row import ShedInterval
from streamshed.spark.set_apart import unreadable_field
from streamshed.spark.state_layout import StateLayout

FEW_ROWS = 100
"""With fewer rows than this behind it, the interval of a sampled answer is flagged `low`."""

SAMPLED, NO_ROW_KEPT = "sampled", "no row kept"


@dataclass(frozen=True)
class AnswerSettings:
    """What answers depend on beside the data.

    Attributes:
        confidence: Of the intervals (lower, upper).
        layout: The state layout.
    """

    confidence: float
    layout: StateLayout


class AnswerColumns:
    """The expressions that make answers of window partials, built once for a network.

    Args:
        outputs: What the network's queries ask.
        settings: Confidence and state layout.
    """

    def __init__(self, outputs: Sequence[Output], settings: AnswerSettings) -> None:
        unreadable = F.when(F.col("kind") == UNREADABLE, _unreadable_output())
        self._asked = F.explode(unreadable.otherwise(outputs_of(outputs))).alias("asked")
        self._wanted = _is_wanted()
        self._figures = _figures(settings)
        self._columns = [column.alias(name) for name, column in _answer_columns(settings).items()]

    def answers(self, partials: DataFrame, shed: Sequence[ShedInterval] = ()) -> DataFrame:
        """Turn window partials into answers.

        Args:
            partials: What `window_partials` returns.
            shed: What was shed of late, from the journal.

        Returns:
            Rows of `ANSWER_SCHEMA`.
        """
        named = partials.select("*", self._asked).where(self._wanted)
        figured = named.withColumn("__kept_rate", _least_rate_of_the_window(shed)).withColumns(self._figures)
        return figured.select(*self._columns)


def _is_wanted() -> Column:
    """Late pairs are told once per query, and only if there are any."""
    is_late = F.col("kind") == LATE
    return ~is_late | ((F.col("rows") > 0) & (F.col("slot") == 0) & F.col("asked.first"))


def _unreadable_output() -> Column:
    text = F.col("key_text")
    return F.array(
        F.struct(
            unreadable_field(text, "stream").alias("query"),
            unreadable_field(text, "stream").alias("stream"),
            F.lit("").alias("aggregate"),
            F.lit(str(AggregateKind.COUNT)).alias("function"),
            F.lit(True).alias("counts_rows"),
            F.lit("").alias("carriage"),
            F.lit("").alias("notation"),
            F.lit(0).alias("scale"),
            F.array().cast("array<string>").alias("key_notations"),
            F.lit(True).alias("first"),
        )
    )


def _least_rate_of_the_window(shed: Sequence[ShedInterval]) -> Column:
    """The least rate at which rows of the window may have been sampled: from the journal, not from the rows."""
    start, end = F.unix_micros("window.start"), F.unix_micros("window.end")
    rates = [F.lit(1.0) / F.coalesce(F.col("greatest_weight"), F.lit(1.0)), F.lit(1.0)]
    for interval in shed:
        of_stream = F.col("asked.stream") == interval.stream
        touches = of_stream & (end > interval.start) & (start <= interval.until) & (F.col("kind") == ANSWER)
        rates.append(F.when(touches, F.lit(interval.sampling_rate)))
    return F.least(*rates)


def _counts_values() -> Column:
    """Whether what counts is values that are not null; elsewhere, and of what came late, it is rows."""
    return (F.col("kind") == ANSWER) & ~F.col("asked.counts_rows")


def _figures(settings: AnswerSettings) -> dict[str, Column]:
    return {
        "__exact": F.col("__kept_rate") >= 1.0,
        "__value": value_of(settings.layout),
        "__error": F.sqrt(F.greatest(sampled_variance(), F.lit(0.0))),
        "__text": exact_text(settings.layout),
        "__counted": F.when(_counts_values(), F.col("present")).otherwise(F.col("rows")),
    }


def _answer_columns(settings: AnswerSettings) -> dict[str, Column]:
    is_answer = F.col("kind") == ANSWER
    is_unreadable, is_row = F.col("kind") == UNREADABLE, F.col("kind") == ROW
    exact = F.col("__exact")
    unsure = (is_answer | is_row) & ~exact
    lower, upper = _bounds(settings)
    rows_estimated = F.when(_counts_values(), F.col("present_weighted")).otherwise(F.col("rows_weighted"))
    rate = F.when(F.col("rows") > 0, F.least(F.col("rows") / F.col("rows_weighted"), F.lit(1.0)))
    keys = key_texts(F.col("key_long"), F.col("key_text"), F.size("asked.key_notations"))
    columns = {
        "kind": F.col("kind"),
        "query": F.col("asked.query"),
        "window_start": F.col("window.start"),
        "window_end": F.when(~is_row, F.col("window.end")),
        "key": F.when(is_answer, key_as_written(keys, F.col("asked.key_notations"))).when(
            is_unreadable, F.array(unreadable_field(F.col("key_text"), "identity"))
        ),
        "aggregate": F.when(is_answer, F.col("asked.aggregate")),
        "value": F.when(is_answer, F.col("__value")).when(~is_row, F.col("rows").cast("double")),
        "value_text": F.when(is_answer & exact, F.col("__text"))
        .when(is_row, F.col("key_text"))
        .when(is_unreadable, unreadable_field(F.col("key_text"), "text")),
        "lower": F.when(is_answer, F.when(exact, F.col("__value")).otherwise(lower)),
        "upper": F.when(is_answer, F.when(exact, F.col("__value")).otherwise(upper)),
        "confidence": F.when(is_answer, F.when(exact, F.lit(1.0)).otherwise(F.lit(settings.confidence))),
        "standard_error": F.when(is_answer, F.when(exact, F.lit(0.0)).otherwise(F.col("__error"))),
        "sampling_rate": F.when(
            is_answer | is_row, F.when(exact, F.lit(1.0)).otherwise(F.coalesce(rate, F.col("__kept_rate")))
        ),
        "rows_used": F.when(is_answer, F.col("__counted")).otherwise(F.col("rows")),
        "rows_estimated": rows_estimated,
        "exact": exact,
        "low": unsure & is_answer & (F.col("__counted") < FEW_ROWS),
        "reason": F.when(is_unreadable, unreadable_field(F.col("key_text"), "reason")).when(
            unsure, F.when(F.col("rows") == 0, F.lit(NO_ROW_KEPT)).otherwise(F.lit(SAMPLED))
        ),
    }
    return {name: columns[name].cast(kind) for name, kind in ANSWER_SCHEMA}


def _bounds(settings: AnswerSettings) -> tuple[Column, Column]:
    """A normal interval; a count is at least what was counted, and one of nothing at most ln(1/(1−confidence))/P."""
    quantile = NormalDist().inv_cdf(0.5 + settings.confidence / 2)
    spread = F.col("__error") * quantile
    value = F.col("__value")
    counts = F.col("asked.function") == str(AggregateKind.COUNT)
    unseen = F.lit(math.log(1 / (1 - settings.confidence))) / F.col("__kept_rate")
    blind = F.col("__error") == 0.0
    lower = F.when(counts, F.greatest(value - spread, F.col("__counted"))).otherwise(F.when(~blind, value - spread))
    upper = F.when(counts, value + F.when(blind, unseen).otherwise(spread)).otherwise(F.when(~blind, value + spread))
    return lower, upper
