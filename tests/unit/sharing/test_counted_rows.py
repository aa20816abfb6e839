"""Rows that are only counted have bits of their own, which nothing passes unless it is told so."""

from __future__ import annotations

import pandas as pd

from streamshed.network.model.declared_stream import stream
from streamshed.network.model.query import Query
from streamshed.network.source.sources import rate
from streamshed.planning.tree.quantization import SMALLEST
from streamshed.sharing.counted_rows import Role, role_of, value_slot
from streamshed.sharing.gating import NEVER, Gates, gates
from streamshed.sharing.stream_work import StreamWork, stream_work
from streamshed.spark.plan.plan_row import StreamPlan
from streamshed.spark.plan.share_codes import share_codes

TICKS = stream("ticks", rate(1), time="timestamp")
ODD = TICKS.filter("value % 2 = 1")


def _weigh(values: pd.Series) -> pd.Series:
    return values * 2.0


HEAVY = ODD.apply(_weigh, columns=["value"], into="weight", returns="double").filter("weight > 10")


def _queries() -> tuple[Query, Query, Query]:
    return (
        HEAVY.window("10 seconds").agg(n="count(*)", total="sum(weight)", mean="avg(value)").query("heavy"),
        HEAVY.filter("value > 7").window("10 seconds").agg(n="count(*)").query("large"),
        ODD.window("10 seconds").agg(n="count(*)").query("odd"),
    )


WORK = stream_work(TICKS.stream, _queries())


def codes_of(work: StreamWork, counting: dict[str, int], **query_codes: int) -> dict[tuple[str, Role], int]:
    """The codes of intakes, by queries and role."""
    plan = StreamPlan(
        sampling_code=min(query_codes.values()),
        share_codes=share_codes(work.intakes, query_codes, {}, counting),
    )
    found = plan.codes(work.gating)
    return {
        (" ".join(sorted(intake.queries)), role_of(intake.shares[0][1])): code
        for intake, code in zip(work.intakes, found, strict=True)
    }


def told(counting: dict[str, int], **query_codes: int) -> Gates:
    """What rows pass at some codes."""
    plan = StreamPlan(
        sampling_code=min(query_codes.values()),
        share_codes=share_codes(WORK.intakes, query_codes, {}, counting),
    )
    return gates(WORK.gating, plan.codes(WORK.gating))


def test_each_value_that_is_counted_or_summed_up_has_both_counts() -> None:
    """Those of the average alone have none: its slot is that of `value`."""
    heavy = _queries()[0].definition_id
    slots = {member.slot for one in WORK.classes for member in one.members if member.definition_id == heavy}
    roles = {(value_slot(slot), role_of(slot)) for slot in slots}
    assert {slot for slot, role in roles if role is Role.VALUES} == {0, 1}
    assert {slot for slot, role in roles if role is Role.COUNTED} == {0}
    assert {slot for slot, role in roles if role is Role.SAMPLED} == {0}


def test_bits_of_counted_rows_are_told_apart() -> None:
    for one in WORK.classes:
        counting = {member.bit for member in one.members if role_of(member.slot) is not Role.VALUES}
        valued = {member.bit for member in one.members if role_of(member.slot) is Role.VALUES}
        assert not counting & valued
        assert one.counting_mask == sum(1 << bit for bit in counting)
    assert any(one.counting_mask for one in WORK.classes)


def test_rows_that_two_queries_have_counted_are_counted_once() -> None:
    counted = [intake for intake in WORK.intakes if any(role_of(slot) is Role.COUNTED for _, slot in intake.shares)]
    assert [sorted(intake.queries) for intake in counted] == [["heavy", "large"]]


def test_samples_are_counted_at_the_rate_of_their_values() -> None:
    codes = codes_of(WORK, {"heavy": 3, "large": 5}, heavy=40, large=48, odd=3)
    assert codes == {
        ("odd", Role.VALUES): 3,
        ("heavy", Role.VALUES): 40,
        ("large", Role.VALUES): 48,
        ("heavy large", Role.COUNTED): 3,
        ("heavy", Role.SAMPLED): 40,
        ("large", Role.SAMPLED): 48,
    }


def test_what_is_not_worth_counting_is_passed_by_no_row() -> None:
    codes = codes_of(WORK, {"large": 5}, heavy=40, large=48, odd=3)
    assert codes["heavy", Role.SAMPLED] == NEVER
    assert codes["heavy large", Role.COUNTED] == 5
    found = told({"large": 5}, heavy=40, large=48, odd=3)
    assert found.passes is not None
    [heavy_sample] = [
        (intake.class_index, 1 << intake.bit)
        for intake in WORK.intakes
        if intake.queries == ("heavy",) and role_of(intake.shares[0][1]) is Role.SAMPLED
    ]
    assert heavy_sample[0] is not None
    assert not any(words[heavy_sample[0]] & heavy_sample[1] for words in found.passes[0])


def test_a_value_of_the_smallest_rate_still_has_its_rows() -> None:
    found = told({}, heavy=SMALLEST, large=SMALLEST, odd=0)
    assert found.passes is not None
    heavy = [
        (intake.class_index, 1 << intake.bit)
        for intake in WORK.intakes
        if "heavy" in intake.queries and role_of(intake.shares[0][1]) is Role.VALUES
    ]
    assert heavy
    assert all(word is not None and found.passes[0][-1][word] & bit for word, bit in heavy)


def test_while_nothing_is_shed_no_row_is_told_anything() -> None:
    found = told({}, heavy=0, large=0, odd=0)
    assert (found.codes, found.passes) == (None, None)


def test_where_all_are_sampled_alike_rows_need_not_be_told_apart() -> None:
    found = told({}, heavy=32, large=32, odd=32)
    assert found.codes is not None
    assert found.passes is None


def test_where_rows_are_counted_they_are_told_apart_though_the_samples_are_alike() -> None:
    found = told({"heavy": 32}, heavy=32, large=32, odd=32)
    assert found.passes is not None
