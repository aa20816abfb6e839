"""Work that is kept buys what work that is worked out anew buys; and it is kept for no longer than that holds."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamshed.network.model.network import QueryNetwork, network
from streamshed.network.run.load_prior import LoadPrior
from streamshed.planning.plan.coming_work import ComingWork, coming_work
from streamshed.planning.plan.kept_work import STEADY, KeptWork
from streamshed.planning.plan.policies import POLICIES, Policy, policy_named
from streamshed.planning.plan.query_rates import QueryRates
from streamshed.planning.window_drop.track.decisions import UpcomingWindows
from streamshed.statistics.alike import are_alike
from streamshed.statistics.forecast import Statistics
from streamshed.statistics.group_sizes import GroupSizes
from streamshed.statistics.guess import guessed_statistics
from streamshed.statistics.load_model import LoadModel
from streamshed.statistics.network_statistics import Moments, NetworkStatistics, QueryStatistics
from tests.unit.planning.networks import counting, rows_of

HASHED = rows_of("packets").map(hashed="sha2(CAST(value AS STRING), 256)")
QUERIES = (
    HASHED.filter("hashed LIKE 'a%'").window("10 seconds").agg(total="sum(value)").query("few", weight=3),
    HASHED.window("10 seconds", every="5 seconds").agg(mean="avg(value)").query("many"),
    rows_of("packets").window("1 minute").agg(n="count(*)").query("all"),
    rows_of("packets").window("1 minute").agg(n="max(value)").query("largest", mode="exact"),
)
NETWORK = network(*QUERIES)
KNOWN = guessed_statistics(NETWORK)
LEAST_ERROR = policy_named("least_error")


def coming(rows: dict[str, int], correction: float = 1.0) -> Statistics:
    prior = LoadPrior(fixed_seconds=0.2, seconds_per_row=1e-6, read_share=0.2)
    model = LoadModel.initial(list(rows), prior)
    return Statistics(offered_rows=rows, load_model=model, correction=correction)


class Keeping:
    """The work of a network, and how often it was worked out anew: then it has another tree."""

    def __init__(self, asked: QueryNetwork = NETWORK, policy: Policy = LEAST_ERROR) -> None:
        self._kept = KeptWork(asked, policy, trigger_interval_seconds=2.0)
        self._works: list[ComingWork] = []

    def coming_work(
        self, known: NetworkStatistics, statistics: Statistics, windows: UpcomingWindows | None = None
    ) -> ComingWork:
        self._works.append(self._kept.coming_work(known, statistics, windows))
        return self._works[-1]

    @property
    def worked_out(self) -> int:
        return len({id(work.tree) for work in self._works})


def bought(work: ComingWork, policy: Policy, code: int) -> QueryRates:
    return policy.query_rates(work, dict.fromkeys(work.stream_seconds, code))


def moved(known: NetworkStatistics, factor: float) -> NetworkStatistics:
    """What is known, with one operator's cost moved."""
    address = next(iter(known.operators))
    operator = known.operators[address]
    dearer = replace(operator, seconds_per_row=operator.seconds_per_row * factor)
    return replace(known, operators={**known.operators, address: dearer})


@pytest.mark.parametrize("policy", POLICIES, ids=[policy.name for policy in POLICIES])
@given(first=st.integers(100_000, 2_000_000), factor=st.floats(0.2, 50), code=st.integers(1, 60))
def test_it_buys_what_work_worked_out_anew_buys(policy: Policy, first: int, factor: float, code: int) -> None:
    kept = Keeping(policy=policy)
    kept.coming_work(KNOWN, coming({"packets": first}))
    now = coming({"packets": int(first * factor)}, correction=1.3)
    anew = coming_work(
        NETWORK,
        KNOWN,
        now,
        trigger_interval_seconds=2.0,
        large_values=policy.large_values,
        counted_rows=policy.counted_rows,
    )
    found, expected = bought(kept.coming_work(KNOWN, now), policy, code), bought(anew, policy, code)
    assert kept.worked_out == 1
    assert found.samplers == pytest.approx(expected.samplers, rel=0.02)
    assert found.work_shares == pytest.approx(expected.work_shares, rel=0.02)
    assert found.expected_errors == pytest.approx(expected.expected_errors, rel=0.02)


def test_it_is_kept_while_statistics_hardly_move_and_not_a_step_further() -> None:
    kept = Keeping()
    for factor in (1.0, 1 + STEADY / 2, 1 - STEADY / 2):
        kept.coming_work(moved(KNOWN, factor), coming({"packets": 1_000_000}))
    assert kept.worked_out == 1
    kept.coming_work(moved(KNOWN, 1 + 2 * STEADY), coming({"packets": 1_000_000}))
    assert kept.worked_out == 2


def test_slow_drift_is_noticed() -> None:
    """Each step is small, but it is what the plan was made for that statistics are held against."""
    kept = Keeping()
    for step in range(12):
        kept.coming_work(moved(KNOWN, 1.02**step), coming({"packets": 1_000_000}))
    assert kept.worked_out == 4


def with_groups(seconds_per_group: float, *queries: str) -> NetworkStatistics:
    sizes = GroupSizes(((10_000.0, 20.0),))
    about = QueryStatistics(seconds_per_row=1e-7, seconds_per_group=seconds_per_group, groups=sizes)
    return replace(KNOWN, queries={**KNOWN.queries, **dict.fromkeys(queries, about)})


@pytest.mark.parametrize(
    ("known", "is_kept"),
    [
        pytest.param(KNOWN, True, id="a mere change of load"),
        pytest.param(with_groups(1e-5, "few", "many", "all"), False, id="groups that cost"),
        pytest.param(with_groups(0.0, "few", "many", "all"), True, id="errors that the load changes nothing about"),
        pytest.param(with_groups(0.0, "few"), False, id="some of which it does, and some of which not"),
    ],
)
def test_what_does_not_grow_by_one_factor_is_worked_out_anew(known: NetworkStatistics, *, is_kept: bool) -> None:
    kept = Keeping()
    for rows in (1_000_000, 3_000_000, 2_000_000):
        kept.coming_work(known, coming({"packets": rows}))
    assert kept.worked_out == (1 if is_kept else 3)


def test_with_a_goal_each_plan_is_a_new_one() -> None:
    kept = Keeping(network(*QUERIES, rows_of("packets").window("5 s").agg(n="count(*)").query("g", max_error="2 %")))
    for rows in (1_000_000, 3_000_000):
        kept.coming_work(KNOWN, coming({"packets": rows}))
    assert kept.worked_out == 2


def test_an_error_as_large_as_any_is_no_factor_of_another() -> None:
    """Where windows have hardly a row, all of them are taken to be off by all."""
    brief = rows_of("packets").window("1 second").agg(n="count(*)").query("brief")
    kept = Keeping(network(*QUERIES, brief))
    for rows in (1_000_000, 1, 1_000_000):
        kept.coming_work(KNOWN, coming({"packets": rows}))
    assert kept.worked_out == 3


def test_which_windows_are_dropped_is_decided_anew() -> None:
    tolerant = rows_of("packets").window("5 s").agg(n="count(*)").query("t", mode="subset", max_gap=2)
    for asked, times in ((network(*QUERIES, tolerant), 2), (NETWORK, 1)):
        kept = Keeping(asked)
        for rows in (1_000_000, 3_000_000):
            kept.coming_work(KNOWN, coming({"packets": rows}), UpcomingWindows())
        assert kept.worked_out == times


def test_streams_that_grow_apart_are_worked_out_anew() -> None:
    asked = counting("packets", "flows")
    kept = Keeping(asked)
    known = guessed_statistics(asked)
    for packets, flows in ((100_000, 50_000), (200_000, 100_000)):
        kept.coming_work(known, coming({"packets": packets, "flows": flows}))
    assert kept.worked_out == 1
    kept.coming_work(known, coming({"packets": 200_000, "flows": 50_000}))
    assert kept.worked_out == 2


def test_a_mean_near_nothing_is_not_steady() -> None:
    one, other = (
        NetworkStatistics(queries={"q": QueryStatistics(moments={"a": Moments(mean=mean)})}) for mean in (-1e-9, 1e-9)
    )
    assert not are_alike(one, other, tolerance=STEADY)
    assert not are_alike(one, NetworkStatistics(), tolerance=STEADY)
