"""Which operators are probed, and where their rows are counted."""

from __future__ import annotations

from streamshed.network.model.declared_stream import stream
from streamshed.network.model.query import Query
from streamshed.network.source.sources import rate
from streamshed.sharing.counted_rows import Role, role_of
from streamshed.sharing.probes import PROBED, is_probe, probes
from streamshed.sharing.stream_work import stream_work

TICKS = stream("ticks", rate(100), time="timestamp")
FIRST = TICKS.filter("value > 3")
SECOND = FIRST.filter("value % 2 = 0")


def counting(name: str, node: object) -> Query:
    return node.window("1 second").agg(n="count(*)").query(name)  # type: ignore[attr-defined, no-any-return]


def test_operators_whose_rows_are_counted_anyway_are_not_probed() -> None:
    assert probes([counting("first", FIRST), counting("second", SECOND)]) == ()
    called = FIRST.apply("math:sqrt", columns=["value"], into="root", returns="double").filter("root < 9")
    assert probes([counting("called", called)]) == (), "a function tells how many rows it was given"
    assert probes([SECOND.query("rows")]) == (), "there are no windows in which to count"


def test_columns_that_are_computed_drop_nothing() -> None:
    mapped = FIRST.map(half="value / 2").map(third="value / 3")
    assert probes([counting("mapped", mapped)]) == ()


def test_the_host_is_the_query_below_with_the_fewest_groups() -> None:
    grouped = SECOND.window("1 second").by("value").agg(n="count(*)").query("grouped")
    plain = counting("plain", SECOND.filter("value < 9"))
    found = {str(probe.node): probe.query.name for probe in probes([grouped, plain])}
    assert found == {"filter value > 3": "plain"}
    assert {probe.query.name for probe in probes([grouped])} == {"grouped"}


def test_a_probe_makes_no_class_of_its_own() -> None:
    third = SECOND.filter("value < 99")
    queries = [
        third.window("2 seconds").by("value").agg(n="count(*)", total="sum(value)").query("grouped"),
        third.window("1 second").by(third="value % 3").agg(n="count(*)").query("others"),
    ]
    work = stream_work(TICKS.stream, queries)
    without = stream_work(TICKS.stream, [*queries, counting("first", FIRST), counting("second", SECOND)])
    grouped = [c for c in without.classes if c.keys]
    assert [c.keys for c in work.classes] == [c.keys for c in grouped]
    assert len(work.probes) == 2
    assert work.program.instructions[0].column == PROBED  # type: ignore[union-attr]
    probed = [member for c in work.classes for member in c.members if is_probe(member.slot)]
    assert {member.slot for member in probed} == {probe.slot for probe in work.probes}
    assert all(role_of(member.slot) is Role.VALUES for member in probed)
    for one in work.classes:
        bits = {member.bit for member in one.members if is_probe(member.slot)}
        assert one.key_mask == sum(1 << bit for bit in range(len(one.selections)) if bit not in bits)
    assert PROBED not in {one.column for one in without.program.instructions if hasattr(one, "column")}


def test_a_probe_is_sampled_as_its_query_is() -> None:
    work = stream_work(TICKS.stream, [counting("second", SECOND)])
    [probe] = work.probes
    [own, probing] = sorted(work.intakes, key=lambda intake: max(slot for _, slot in intake.shares))
    assert own.queries == probing.queries == ("second",)
    assert probing.shares == ((probe.query.definition_id, probe.slot),)
