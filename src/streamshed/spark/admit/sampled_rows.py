"""The head of a stream's straight line: sampler at the input, then parsing, then event time."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from streamshed.network.model.stream import Stream
from streamshed.network.source.identity import IdentityKind
from streamshed.network.terms.cohorts import COHORTS
from streamshed.planning.tree.quantization import STEPS_PER_DECADE
from streamshed.planning.window_drop.track.retention import MOST_SLOTS
from streamshed.sharing.early_drops import drops_before_parsing
from streamshed.sharing.gating import LEVELS
from streamshed.spark.admit.admission import Admission
from streamshed.spark.admit.parsed_rows import parsed_rows
from streamshed.spark.admit.row_instants import row_microseconds, why_without_instant
from streamshed.spark.admit.row_size import row_size
from streamshed.spark.common.far_ahead import most_ahead
from streamshed.spark.common.group_cohort import group_cohort
from streamshed.spark.common.internal_names import (
    BY_LEVEL,
    CARRIER_OPENED,
    CHANCE,
    CODES_BY_SIZE,
    COHORT,
    FILE_PATH,
    FIRST_LEVEL,
    IS_CARRIER,
    LARGEST_SIZE,
    NOW,
    OPEN,
    OPENED,
    PAIR_CODES,
    PASSES,
    RATES_BY_SIZE,
    RETAINED,
    RETAINED_BASE,
    RETAINED_RATES,
    RETAINED_SLOT,
    RETAINED_STEP,
    RETAINED_WORDS,
    SAMPLING_CODES,
    SAMPLING_RATE,
    SIZE_COLUMN,
    SIZE_THRESHOLD,
    SUMS,
    TAKEN_TIME,
    TIME,
    UNREADABLE,
)
from streamshed.spark.plan.plan_columns import with_plan
from streamshed.spark.source.file_identity import file_path
from streamshed.spark.source.row_draws import told_apart, uniform

BEFORE_1970 = "event time is before 1970"
BELOW_ZERO = "number is below 0"
TOO_FAR_AHEAD = "event time is too far ahead of the clock"
IN_SUMS = "stands for many"
"""Of what rows, or results of a join, were summed up to: to queries it is no row."""

_ALWAYS_OPEN = -(2**62)


def sampled_rows(
    source: DataFrame,
    stream: Stream,
    admission: Admission,
    by_columns: Callable[[DataFrame], DataFrame] | None = None,
) -> DataFrame:
    """Sample, parse and time a stream's rows.

    A row is kept iff u < sampling rate, u a hash of what identifies it: read again, it is kept again. While nothing is
    shed, u is not computed. What is shed is not parsed. A row that is kept has a level, which follows from its u, and
    says which of the smaller rates further down it passes as well.

    Args:
        source: The rows.
        stream: Theirs.
        admission: How they are admitted.
        by_columns: Takes the rows that are admitted, and returns those that are left, and rows that stand for the
            others.

    Returns:
        The stream's columns with `TIME`, `UNREADABLE`, `PASSES`, what the plan tells of rows, and `FILE_PATH` where an
        unreadable row is identified by its file.
    """
    admitted = _admitted(source, stream, admission)
    if by_columns is not None:
        admitted = _told_again(by_columns(admitted), admission)
    rows = parsed_rows(_with_pair_codes(admitted), stream)
    if admission.plan is not None and admission.samples and not stream.is_identified_before_parsing:
        rows = _sampled(rows, stream, admission)
    if admission.plan is not None and admission.whole_words and not _is_early(stream, admission):
        rows = _retained(rows, stream, admission)
    microseconds, why = _believed(rows, stream)
    reason = F.coalesce(F.col(UNREADABLE), F.when(microseconds.isNull(), why))
    if SUMS in rows.columns:
        reason = F.when(F.col(SUMS).isNotNull(), F.lit(IN_SUMS)).otherwise(reason)
    if TAKEN_TIME in rows.columns:
        microseconds = F.coalesce(TAKEN_TIME, microseconds)
    timed = rows.withColumns({TIME: microseconds, UNREADABLE: reason}).drop(NOW, CHANCE)
    if stream.identity.kind is not IdentityKind.FILE_ROW:
        return timed
    return timed.withColumn(FILE_PATH, F.when(F.col(UNREADABLE).isNotNull(), file_path(rows)))


def _believed(rows: DataFrame, stream: Stream) -> tuple[Column, Column]:
    """The instant of a row, microseconds, where it is one that can be believed; and why it has none where it has none.

    One that is far ahead of the clock would move the watermark there, and make all others late. Spark's watermark
    begins in 1970: it never passes what was before. Results of a join have times that were believed.
    """
    microseconds, why = row_microseconds(rows, stream), why_without_instant(stream)
    if NOW not in rows.columns or stream.joined is not None:
        return microseconds, why
    ahead, is_before = most_ahead(stream), microseconds < 0
    why = F.when(is_before, BELOW_ZERO if stream.is_numbered else BEFORE_1970).otherwise(why)
    believed = F.when(~is_before, microseconds)
    if ahead is None:
        return believed, why
    is_ahead = F.col(NOW).isNotNull() & (microseconds > F.col(NOW) + F.lit(ahead).cast("bigint"))
    return F.when(~is_ahead, believed), F.when(is_ahead, TOO_FAR_AHEAD).otherwise(why)


def _with_pair_codes(rows: DataFrame) -> DataFrame:
    """Results of a join that is sampled were not sampled by the plan of their stream, but one by one."""
    if PAIR_CODES not in rows.columns:
        return rows
    return rows.withColumn(SAMPLING_CODES, F.col(PAIR_CODES)).drop(PAIR_CODES)


def _admitted(source: DataFrame, stream: Stream, admission: Admission) -> DataFrame:
    if admission.plan is None:
        always = F.lit(_ALWAYS_OPEN)
        rows = source if admission.clock is None else with_plan(source, admission.clock, admitting_names(admission))
        return rows.withColumns({OPEN: always, OPENED: always, **_passing_all()})
    names = [OPEN, OPENED, *(_SIZED if admission.samples and admission.size_columns else ())]
    rows = with_plan(source, admission.plan, [*names, *admitting_names(admission)])
    rows = told_apart(rows, stream) if admission.samples else rows
    if not admission.samples:
        rows = rows.withColumns(_passing_all())
    elif stream.is_identified_before_parsing:
        rows = _sampled(rows, stream, admission)
    return _retained(rows, stream, admission) if _is_early(stream, admission) else rows


def admitting_names(admission: Admission) -> list[str]:
    """Return what of the plan decides which rows are admitted, and what they pass, where all are of one size."""
    if admission.plan is None:
        return [] if admission.clock is None else [NOW]
    sampling = [SAMPLING_RATE, FIRST_LEVEL, SAMPLING_CODES, BY_LEVEL] if admission.samples else []
    return [NOW, *sampling, *([RETAINED] if admission.whole_words else [])]


def _told_again(rows: DataFrame, admission: Admission) -> DataFrame:
    """Tell rows what they were told before they were taken by columns: it is the same for all of them."""
    plan = admission.plan or admission.clock
    carried = [CARRIER_OPENED] if admission.plan is not None and IS_CARRIER in rows.columns else []
    codes = [SAMPLING_CODES] if admission.plan is not None and admission.samples else []
    opened = [OPEN, OPENED] if admission.plan is not None else []
    if plan is not None:
        rows = with_plan(rows, plan, [NOW, *opened, *codes, *carried])
    if not opened:
        rows = rows.withColumns({OPEN: F.lit(_ALWAYS_OPEN), OPENED: F.lit(_ALWAYS_OPEN)})
    if not codes:
        rows = rows.withColumn(SAMPLING_CODES, F.lit(None).cast("string"))
    elif COHORT in rows.columns:
        cohort = F.coalesce(F.hex(COHORT), F.lit(""))
        rows = rows.withColumn(SAMPLING_CODES, F.concat(SAMPLING_CODES, cohort)).drop(COHORT)
    return _with_carrier(rows) if carried else rows.drop(IS_CARRIER)


def _with_carrier(rows: DataFrame) -> DataFrame:
    """Tell the carrier's row, which tasks have brought, what `with_carrier` would."""
    is_other = F.col(IS_CARRIER).isNull()
    opened = F.when(is_other, F.col(OPENED)).otherwise(F.col(CARRIER_OPENED))
    codes = F.when(is_other, F.col(SAMPLING_CODES))
    return rows.withColumns({OPENED: opened, SAMPLING_CODES: codes}).drop(IS_CARRIER, CARRIER_OPENED)


def _passing_all() -> dict[str, Column]:
    return {SAMPLING_CODES: F.lit(None).cast("string"), PASSES: F.lit(None).cast("array<bigint>")}


_SIZED = (SIZE_COLUMN, SIZE_THRESHOLD, LARGEST_SIZE, RATES_BY_SIZE, CODES_BY_SIZE)


SHOWN_ONE_IN = 256
"""A power of two. Of rows that nobody needs so many stay, to show to the watermark how far the stream has come."""


def _retained(rows: DataFrame, stream: Stream, admission: Admission) -> DataFrame:
    """Let rows leave that no kept window needs and no sample holds; the others pass what anybody needs of them.

    A row whose time is not known, or lies where nothing is decided, passes as it did.
    """
    places = _place_columns(admission)
    slotted = _slotted(rows, stream, admission)
    is_decided = F.col(RETAINED_SLOT).isNotNull()
    rates = [F.get(F.col(RETAINED)[RETAINED_RATES], F.col(place)) for place in places]
    sampling_rate = F.coalesce(*rates, F.lit(1.0)) if len(rates) == 1 else F.coalesce(F.greatest(*rates), F.lit(1.0))
    stays = (sampling_rate >= 1) | (F.xxhash64(row_microseconds(rows, stream)).bitwiseAND(F.lit(SHOWN_ONE_IN - 1)) == 0)
    if admission.samples:
        stays |= uniform(slotted, stream) < sampling_rate
    retained = slotted.where(F.when(is_decided, stays).otherwise(F.lit(True)))
    words = [F.get(F.col(RETAINED)[RETAINED_WORDS], F.col(place)) for place in places]
    if admission.samples or len(words) > 1:
        passes = F.when(is_decided, _common_words(words, admission)).otherwise(F.col(PASSES))
    else:
        passes = words[0]
    return retained.withColumn(PASSES, passes).drop(RETAINED, RETAINED_SLOT, *places)


def _common_words(words: Sequence[Column], admission: Admission) -> Column:
    """What a row passes as it did, and in any of its places."""
    return F.array(
        *[
            F.coalesce(F.get(PASSES, F.lit(index)), F.lit(whole).cast("bigint")).bitwiseAND(_of_places(words, index))
            for index, whole in enumerate(admission.whole_words)
        ]
    )


def _of_places(words: Sequence[Column], index: int) -> Column:
    """What a row passes in any of its places; behind the last slot, everything."""
    everything = F.lit(-1).cast("bigint")
    return functools.reduce(
        Column.bitwiseOR, [F.coalesce(F.get(of_place, F.lit(index)), everything) for of_place in words]
    )


def _slotted(rows: DataFrame, stream: Stream, admission: Admission) -> DataFrame:
    """Tell each row its slot, and its places there: null before the first one, and while nothing is dropped.

    Spark would compute them anew wherever they are asked for; it does not copy what might be another at the next
    reading, such as the number of a task. Instants and rates of slots are no columns of their own: while nothing is
    dropped a row would take a tenth longer for each, as the more code there is for it, the slower all of it becomes.
    """
    is_told, retention, instant = F.spark_partition_id() >= 0, F.col(RETAINED), row_microseconds(rows, stream)
    passed = F.call_function("div", instant - retention[RETAINED_BASE], retention[RETAINED_STEP])
    is_later = retention.isNotNull() & (instant >= retention[RETAINED_BASE])
    slot = F.when(is_told & is_later, F.least(passed, F.lit(MOST_SLOTS)))
    slotted = rows.withColumn(RETAINED_SLOT, slot.cast("int"))
    places = _place_columns(admission)
    for number, (place, keys) in enumerate(zip(places, admission.cohort_keys, strict=False)):
        cohort = F.lit(number * COHORTS) + _cohort(rows, keys)
        slotted = slotted.withColumn(place, F.when(is_told, F.col(RETAINED_SLOT) * len(places) * COHORTS + cohort))
    return slotted


def _place_columns(admission: Admission) -> list[str]:
    """The columns that tell where a row is: in its slot, or in a place of it for each set of keys."""
    return [f"{RETAINED_SLOT}_{number}" for number in range(len(admission.cohort_keys))] or [RETAINED_SLOT]


def _cohort(rows: DataFrame, keys: Sequence[str]) -> Column:
    columns = [F.expr(sql) for sql in keys]
    types = [field.dataType for field in rows.select(*columns).schema]
    return group_cohort(list(zip(columns, types, strict=True)))


def _is_early(stream: Stream, admission: Admission) -> bool:
    """Whether rows that nobody needs leave before their text is parsed."""
    return bool(admission.whole_words) and drops_before_parsing(
        stream, admission.cohort_keys, samples=admission.samples
    )


def _sampled(rows: DataFrame, stream: Stream, admission: Admission) -> DataFrame:
    """Keep the rows that anybody takes, and tell each what it passes."""
    if not admission.size_columns:
        return _leveled(rows.where(_is_in_sample(rows, stream, F.col(SAMPLING_RATE))), stream, F.lit(0))
    # Not a column of its own: it is computed where it is asked for, which is nowhere while nothing is shed.
    size = row_size(admission.size_columns)
    sampling_rate = F.get(RATES_BY_SIZE, size)
    sample = rows.where(_is_in_sample(rows, stream, sampling_rate))
    codes = F.coalesce(F.get(CODES_BY_SIZE, size), SAMPLING_CODES)
    coded = sample.withColumn(SAMPLING_CODES, F.when(F.col(SAMPLING_CODES).isNotNull(), codes))
    return _leveled(coded, stream, size).drop(*_SIZED)


def _is_in_sample(rows: DataFrame, stream: Stream, sampling_rate: Column) -> Column:
    return F.when(F.col(SAMPLING_RATE) < 1.0, uniform(rows, stream) < sampling_rate).otherwise(F.lit(True))


def _leveled(rows: DataFrame, stream: Stream, size: Column) -> DataFrame:
    """Tell each row that was kept what it passes: that follows from its level, −32·log10 u, rounded down.

    Args:
        rows: The rows.
        stream: Theirs.
        size: How large they are.
    """
    code = F.floor(F.log10(uniform(rows, stream)) * -float(STEPS_PER_DECADE))
    level = F.least(F.greatest(F.coalesce(code, F.lit(LEVELS - 1)), FIRST_LEVEL), F.lit(LEVELS - 1)).cast("int")
    passed = F.get(F.get(BY_LEVEL, size), level)
    return rows.withColumn(PASSES, F.when(F.col(BY_LEVEL).isNotNull(), passed)).drop(BY_LEVEL, FIRST_LEVEL)
