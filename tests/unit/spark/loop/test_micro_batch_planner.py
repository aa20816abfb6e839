"""A plan that is written down is carried out by whatever network comes after a crash."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from uuid import uuid4

import pytest

from streamshed.answering.table.shed_interval import UNSETTLED, ShedInterval, share_name
from streamshed.control.loop import ControlLoop
from streamshed.control.settings import ControlSettings
from streamshed.errors import SinkUnavailableError
from streamshed.network.model.declared_stream import stream
from streamshed.network.model.network import QueryNetwork, network
from streamshed.network.model.query import Query
from streamshed.network.source.sources import folder, rate
from streamshed.planning.tree.quantization import sampling_rate_of
from streamshed.sharing.gating import Gating
from streamshed.sharing.stream_work import stream_work
from streamshed.spark.checkpoint.storage import Storage
from streamshed.spark.domain_facts import DomainFacts
from streamshed.spark.loop.micro_batch_planner import MicroBatchPlanner
from streamshed.spark.plan.plan_row import PlanRow, SizedShares, StreamPlan
from streamshed.spark.plan.written_plans import WrittenPlans
from streamshed.spark.source.progress import MicroBatchReport
from streamshed.spark.windows.unseen_windows import ALWAYS, beginnings
from streamshed.statistics.micro_batch import MicroBatchOutcome
from tests.oracles.intakes import intake_count

EVENTS = stream("events", folder("/nowhere", "parquet", schema="ts timestamp, v bigint, w bigint"), time="ts")


def query(name: str, value: str) -> Query:
    return EVENTS.filter(f"{value} > 3").window("1 second").agg(total=f"sum({value})").query(name)


def share_of(asked: Query) -> str:
    return share_name(asked.definition_id, 0)


def gating_of(*queries: Query) -> Gating:
    return stream_work(EVENTS.stream, queries).gating


def planner_of(
    asked: QueryNetwork,
    path: Path,
    report: MicroBatchReport | Callable[[], MicroBatchReport] | None = None,
    *,
    clock: Callable[[], float] = lambda: 100.0,
    steady_clock: Callable[[], float] = lambda: 100.0,
    outcomes: list[MicroBatchOutcome] | None = None,
    effective_shares: Mapping[str, float] = MappingProxyType({}),
    since: Mapping[int, int] = MappingProxyType({}),
) -> MicroBatchPlanner:
    noted: list[MicroBatchOutcome] = [] if outcomes is None else outcomes
    return MicroBatchPlanner(
        DomainFacts(
            streams=asked.streams,
            intakes={one.name: stream_work(one, asked.queries).intakes for one in asked.streams},
            longest_window=1_000_000,
            trigger_interval_seconds=1.0,
            beginnings=beginnings(asked.queries, since),
        ),
        ControlLoop(asked, ControlSettings(trigger_interval_seconds=1.0), clock=lambda: 100.0),
        checkpoint=Storage.at(str(path / "spark")),
        plans=Storage.at(str(path / "plans")),
        clock=clock,
        steady_clock=steady_clock,
        reports=report if callable(report) else lambda: report,
        on_outcome=lambda _report, outcome, _plans: noted.append(outcome),
        effective_shares=lambda: effective_shares,
    )


def written(path: Path, plan: StreamPlan) -> None:
    row = PlanRow(micro_batch_id=5, open=7, streams={"events": plan})
    Storage.at(str(path / "plans")).write_sealed("000000000005.json", row.to_json())


def test_a_plan_of_an_earlier_network_tells_of_new_queries_that_they_are_shed(tmp_path: Path) -> None:
    kept, added = query("kept", "v"), query("added", "w")
    written(tmp_path, StreamPlan(sampling_code=10, share_codes={share_of(kept): 10, "1.0": 30}))
    found = PlanRow.from_json(planner_of(network(kept, added), tmp_path).plan(5))
    [shed] = found.shed
    assert shed.sampling_rates == {share_of(added): sampling_rate_of(10)}
    assert shed.start == 7
    assert shed.until > 100_000_000
    again = PlanRow.from_json(planner_of(network(kept, added), tmp_path).plan(5))
    assert again.shed == found.shed


def test_a_plan_of_the_same_network_stays_as_it_is(tmp_path: Path) -> None:
    asked = query("asked", "v")
    for plan in (StreamPlan(), StreamPlan(sampling_code=3, share_codes={share_of(asked): 3})):
        written(tmp_path, plan)
        found = PlanRow.from_json(planner_of(network(asked), tmp_path).plan(5))
        assert found.streams == {"events": plan}
        assert found.shed == ()


def test_a_plan_tells_from_when_on_windows_of_a_query_that_came_are_whole_while_others_may_be_open(
    tmp_path: Path,
) -> None:
    """So does one that an earlier network wrote down."""
    stayed, added = query("stayed", "v"), query("added", "w")
    for since, told in ((1_000_000, {added.definition_id: 1_000_000}), (-1_000_000, {})):
        written(tmp_path, StreamPlan())
        since_of = {added.definition_id: since, stayed.definition_id: ALWAYS}
        planner = planner_of(network(stayed, added), tmp_path, since=since_of)
        assert PlanRow.from_json(planner.plan(5)).whole_since == told


def test_who_looks_at_plans_does_not_disturb_whoever_writes_one(tmp_path: Path) -> None:
    """A change of queries looks at them while the network runs."""
    plans = Storage.at(str(tmp_path / "plans"))
    plans.write_sealed("000000000005.json", PlanRow(micro_batch_id=5, open=7, streams={}).to_json())
    draft = tmp_path / f"plans/.000000000006.json.{uuid4().hex}.tmp"
    draft.write_text("begun")
    assert [row.micro_batch_id for row in WrittenPlans(plans).latest(2)] == [5]
    assert draft.exists()
    planner_of(network(query("q", "v")), tmp_path)
    assert not draft.exists()


def test_codes_go_to_the_queries_that_they_were_meant_for() -> None:
    first, second, new = query("first", "v"), query("second", "w"), query("new", "v + w")
    plan = StreamPlan(sampling_code=4, share_codes={share_of(first): 9, share_of(second): 4})
    for queries in ([first, second, new], [new, second, first], [second, new], [first]):
        intakes = stream_work(EVENTS.stream, queries).intakes
        expected = {"first": 9, "second": 4, "new": 4}
        assert plan.codes(gating_of(*queries)) == tuple(expected[one.queries[0]] for one in intakes)


@pytest.mark.parametrize("are_both_sized", [True, False])
def test_an_intake_chooses_by_size_iff_all_its_values_do(*, are_both_sized: bool) -> None:
    first = query("first", "v")
    second = EVENTS.filter("v > 3").window("2 seconds").agg(total="sum(v)", n="count(*)").query("second")
    codes = {share_of(first): 40, share_of(second): 40 if are_both_sized else 32}
    effective = {share_of(one): 30 for one in ((first, second) if are_both_sized else (first,))}
    plan = StreamPlan(
        sampling_code=32, share_codes=codes, sized=SizedShares(column="v", threshold=2.0, effective_codes=effective)
    )
    gating = gating_of(first, second)
    assert intake_count(gating) == 1
    assert plan.sized_intakes(gating) == (frozenset({0}) if are_both_sized else frozenset())
    assert plan.codes(gating) == ((40,) if are_both_sized else (30,))
    assert plan.effective_codes(gating) == (30,)
    row = PlanRow(micro_batch_id=1, open=0, streams={"events": plan})
    assert PlanRow.from_json(row.to_json()) == row


@pytest.mark.parametrize(
    ("code_before", "latest", "until"),
    [(0, 300_000, 310_000), (10, 300_000, UNSETTLED), (0, 100_000, UNSETTLED)],
    ids=["a larger number came, all rows kept", "rows were shed again", "no larger number came"],
)
def test_up_to_where_numbers_were_shed_is_known_once_a_larger_one_came(
    tmp_path: Path, code_before: int, latest: int, until: int
) -> None:
    source = folder("/nowhere", "json", schema="n bigint, v bigint")
    trades = stream("trades", source, number="n", watermark=10)
    asked = network(trades.window(100).agg(n="count(*)").query("q"))
    shed = ShedInterval(stream="trades", start=50_000, until=UNSETTLED, sampling_rates={"7.0": 0.5})
    before = StreamPlan(sampling_code=code_before, share_codes={"7.0": code_before} if code_before else {})
    row = PlanRow(micro_batch_id=5, open=0, streams={"trades": before}, shed=(shed,), latest_event={"trades": 100_000})
    Storage.at(str(tmp_path / "plans")).write_sealed("000000000005.json", row.to_json())
    report = MicroBatchReport(
        micro_batch_id=5,
        started_at_seconds=98.0,
        processing_seconds=0.5,
        offered_rows={"trades": 100},
        admitted_rows={},
        earliest_event={"trades": 90_000},
        latest_event={"trades": latest},
        readable={"trades"},
        watermark=0,
        state_rows=0,
    )
    found = PlanRow.from_json(planner_of(asked, tmp_path, report).plan(6))
    assert [(one.start, one.until) for one in found.shed] == [(50_000, until)]
    assert PlanRow.from_json(found.to_json()) == found


def test_a_plan_tells_tasks_on_how_many_rows_estimates_rest_as_a_rule(tmp_path: Path) -> None:
    asked = network(query("asked", "v"))
    plan = planner_of(asked, tmp_path, effective_shares={"7.0": 0.125}).plan(0)
    assert PlanRow.from_json(plan).effective_shares == {"7.0": 0.125}
    again = planner_of(asked, tmp_path, effective_shares={"7.0": 0.5}).plan(0)
    assert again == plan


def test_a_joined_stream_is_offered_the_rows_of_both_sides() -> None:
    calls, alerts = (stream(name, rate(10), time="timestamp") for name in ("calls", "alerts"))
    joined = calls.join(alerts, on="value", within="5 s")
    twice = calls.join(calls, on="value", within="5 s", name="twice", prefixes=("a_", "b_"))
    facts = DomainFacts(
        tuple(rows.stream for rows in (alerts, calls, joined, twice)), {}, 1, 1.0, ("calls", "calls_alerts", "twice")
    )
    assert facts.sources == (alerts.stream, calls.stream)
    assert facts.of_asked({"calls": 3, "alerts": 4}) == {"calls": 3, "calls_alerts": 7, "twice": 3}
    assert facts.of_asked({"calls": 3}) == {"calls": 3, "twice": 3}
    kept = {"calls": 0.1, "twice": 0.5}
    assert facts.of_asked({"calls": 3.0, "alerts": 4.0}, kept) == {"calls": 3, "calls_alerts": 7, "twice": 1.5}


class FullJournal(list[MicroBatchOutcome]):
    """A journal for whose second row there is no room."""

    def append(self, outcome: MicroBatchOutcome) -> None:
        super().append(outcome)
        if len(self) == 2:
            raise SinkUnavailableError("no space is left")


def test_what_could_not_be_recorded_is_not_recorded_twice_and_nothing_is_planned_behind_it(tmp_path: Path) -> None:
    journal, reports = FullJournal(), [report_of(0)]
    planner = planner_of(network(query("q", "v")), tmp_path, lambda: reports[-1], outcomes=journal)
    for number in (0, 1):
        planner.plan(number)
    reports.append(report_of(1))
    for asked_for in (planner.record_last, planner.record_last, lambda: planner.plan(2), lambda: planner.plan(2)):
        with pytest.raises(SinkUnavailableError, match="no space is left"):
            asked_for()
    assert len(journal) == 2


def report_of(micro_batch_id: int, started_at_seconds: float = 99.5) -> MicroBatchReport:
    """A hundred rows of one second, which took half a second."""
    return MicroBatchReport(
        micro_batch_id=micro_batch_id,
        started_at_seconds=started_at_seconds,
        processing_seconds=0.5,
        offered_rows={"events": 100},
        admitted_rows={},
        earliest_event={"events": 1_000_000},
        latest_event={"events": 1_000_000},
        readable={"events"},
        watermark=0,
        state_rows=0,
    )


@pytest.mark.parametrize("step_days", [10, -3])
def test_a_step_of_the_wall_clock_is_no_time_that_went_by(tmp_path: Path, step_days: int) -> None:
    """Spark says on the wall clock when a micro-batch began."""
    wall, steady = [1_000.0], [1_000.0]
    outcomes: list[MicroBatchOutcome] = []
    planner = planner_of(
        network(query("q", "v")),
        tmp_path,
        report_of(0, 999.5),
        clock=lambda: wall[-1],
        steady_clock=lambda: steady[-1],
        outcomes=outcomes,
    )
    first = PlanRow.from_json(planner.plan(0))
    wall.append(1_002.0 + step_days * 86_400)
    steady.append(1_002.0)
    second = PlanRow.from_json(planner.plan(1))
    assert [one.started_at_seconds for one in outcomes] == [999.5]
    assert second.silent_seconds == {"events": 1.5}, "of the folder it is known that nothing has come"
    assert second.decided_at_seconds - first.decided_at_seconds == 2.0 + step_days * 86_400, "event times go by it"
