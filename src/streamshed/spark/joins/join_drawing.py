"""The rows of the side of a join that is sampled: what each has drawn, and those that the plan lets pass."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from streamshed.joins.match.drawn import DRAWN
from streamshed.joins.model.side import Side
from streamshed.network.model.join_source import JoinSource
from streamshed.network.model.stream import Stream
from streamshed.network.source.identity import IdentityKind
from streamshed.network.terms.join_shedding import COHORTS, JOIN_SIDES
from streamshed.planning.tree.quantization import SMALLEST, STEPS_PER_DECADE
from streamshed.spark.common.internal_names import CHANCE, DRAW_CODE
from streamshed.spark.plan.plan_columns import Plan, with_plan
from streamshed.spark.source.row_draws import as_uniform, row_hash, told_apart

_BYTE = 256


def sampled_side_of(join: JoinSource) -> Side | None:
    """Return the side of a join whose rows are drawn; None: it is not sampled."""
    return list(Side)[JOIN_SIDES.index(join.shedding.sampled_side)] if join.is_sampled else None


def draws_by_chance(join: JoinSource) -> bool:
    """Whether rows of the side that is sampled have no identity: each time they are read, they draw anew."""
    sampled = dict(zip(JOIN_SIDES, (join.left, join.right), strict=True))[join.shedding.sampled_side]
    return join.is_sampled and sampled.stream.identity.kind is IdentityKind.NONE


def drawn_rows(rows: DataFrame, stream: Stream, join: str, plan: Plan) -> DataFrame:
    """Give each row the column `DRAWN`, and let those leave that do not pass the rate in force.

    What a row draws is hashed from its identity, or is chance where it has none, and is another thing for each join.
    Every row draws, whether any is shed or not: a later micro-batch may have a smaller rate. The partition adds the
    rate, and looks for itself which rows pass.

    Args:
        rows: With what identifies them.
        stream: Theirs.
        join: The name of the joined stream.
        plan: Tells `DRAW_CODE`.
    """
    apart = told_apart(rows, stream)
    hashed = row_hash(apart, stream, salt=f"join {join}")
    # The lowest bits are no part of u.
    u, cohort = as_uniform(hashed), hashed.bitwiseAND(F.lit(COHORTS - 1))
    level = F.least(F.floor(F.coalesce(F.log10(u), F.lit(-float(_BYTE))) * -float(STEPS_PER_DECADE)), F.lit(SMALLEST))
    drawn = with_plan(apart, plan, (DRAW_CODE,)).withColumn(DRAWN, (level * _BYTE + cohort).cast("int"))
    passes = F.shiftright(DRAWN, 8) >= F.col(DRAW_CODE)
    passing = drawn.where(F.when(F.col(DRAW_CODE) > 0, passes).otherwise(F.lit(True)))
    return passing.drop(DRAW_CODE, CHANCE)
