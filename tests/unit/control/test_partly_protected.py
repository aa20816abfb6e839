"""A stream of whose work only a part may be shed, beside one without rows."""

from dataclasses import replace

import pandas as pd
import pytest

from streamshed.control.decision import Decision
from streamshed.control.loop import ControlLoop
from streamshed.control.settings import ControlSettings
from streamshed.network.model.network import network
from streamshed.network.run.load_prior import LoadPrior
from streamshed.planning.tree.quantization import sampling_rate_of
from streamshed.statistics.network_statistics import (
    Moments,
    NetworkStatistics,
    OperatorStatistics,
    QueryStatistics,
    StreamStatistics,
)
from tests.unit.control.examples import outcome, upcoming
from tests.unit.planning.networks import rows_of

PRIOR = LoadPrior(fixed_seconds=0.01, seconds_per_row=1e-6, read_share=0.01, is_measured=True)
CALM = [700_000] * 6


def _judge(values: pd.Series) -> pd.Series:
    return values


def loop_with(least_share: float) -> ControlLoop:
    """So much of the work on `packets`, next to all there is to do, is for a query that is never shed."""
    positive = rows_of("packets").filter("value > 0")
    judged = rows_of("packets").apply(_judge, columns=["value"], into="verdict", returns="bigint")
    asked = network(
        judged.window("1 minute").agg(n="count(*)").query("sure", mode="exact"),
        positive.window("1 minute").agg(total="sum(value)").query("rough"),
        rows_of("idle").window("1 minute").agg(n="count(*)").query("silent"),
    )
    known = NetworkStatistics(
        fixed_seconds=PRIOR.fixed_seconds,
        streams={name: StreamStatistics(rows_per_second=1000.0) for name in ("packets", "idle")},
        operators={positive.node.address: OperatorStatistics(), judged.node.address: OperatorStatistics()},
        queries={
            "sure": QueryStatistics(seconds_per_row=least_share * 1e-6),
            "rough": QueryStatistics(
                seconds_per_row=(1 - least_share) * 1e-6, moments={"total": Moments(mean=1.0, deviation=4.0)}
            ),
            "silent": QueryStatistics(seconds_per_row=1e-6),
        },
    )
    settings = ControlSettings(trigger_interval_seconds=2.0, prior=PRIOR, statistics=known)
    return ControlLoop(asked, settings, lambda: 99.0)


def run(loop: ControlLoop, *course: int, are_late: bool = False) -> list[Decision]:
    """What is decided of a course of rows, after a calm; its outcomes are not known yet if they are late."""
    decisions = []
    for number, count in enumerate([*CALM, *course]):
        rows = {"packets": count, "idle": 0}
        decision = loop.plan(upcoming(number, rows))
        done = dict(decision.work_shares)
        if number < len(CALM) or not are_late:
            loop.record(outcome(number, rows, done, 0.01 + count * 1e-6 * (0.01 + 0.99 * done["packets"])))
        decisions.append(decision)
    return decisions[len(CALM) :]


@pytest.mark.parametrize("least_share", [0.68, 0.69, 0.7, 0.71])
def test_beside_a_query_that_is_never_shed_the_others_get_all_that_is_left(least_share: float) -> None:
    """Of 2.2 s of work some 1.5 s may not be shed; of the rest about a fifth fits, and is not rounded to less."""
    for decision in run(loop_with(least_share), 2_200_000, 2_200_000, 2_200_000):
        assert decision.plan.least_shares["packets"] == pytest.approx(least_share)
        assert (decision.reason, decision.query_codes["sure"]) == ("overload", 0)
        assert decision.effective_sampling_rates["rough"] > 0.1
        assert 0.98 * decision.plan.allowed_seconds < decision.expected_seconds <= decision.plan.allowed_seconds


@pytest.mark.parametrize("least_share", [0.0, 0.5, 0.7])
def test_the_mildest_shedding_is_mild_for_those_that_may_be_shed(least_share: float) -> None:
    *_, decision = run(loop_with(least_share), 2_200_000, 1_850_000, 1_550_000, are_late=True)
    assert decision.reason == "leaving"
    assert decision.effective_sampling_rates["rough"] >= sampling_rate_of(1)


def test_rates_rise_until_the_time_is_filled_though_little_of_it_is_for_what_may_be_shed() -> None:
    *before, decision = run(loop_with(0.7), *[2_200_000] * 3, *[1_900_000] * 12)
    codes = [known.query_codes["rough"] for known in before]
    assert codes == sorted(codes, reverse=True)
    assert 0.95 * decision.plan.allowed_seconds < decision.expected_seconds <= decision.plan.allowed_seconds


def test_a_stream_without_rows_is_not_clamped() -> None:
    for decision in run(loop_with(0.5), 2_200_000, 1_850_000, 1_550_000, are_late=True):
        assert decision.plan.least_shares["idle"] == 0.0
        assert decision.query_codes["silent"] == 0
        assert decision.clamps == ()


def test_a_restart_remembers_what_of_the_work_could_not_be_shed_and_whose_rows_are_chosen_by_size() -> None:
    loop = loop_with(0.7)
    *_, decision = run(loop, 2_200_000)
    assert set(decision.sized) == {"rough"}
    restored = ControlLoop.from_json(loop.to_json(), network=loop.network, settings=loop.settings, clock=lambda: 99.0)
    assert restored.state == loop.state
    assert restored.plan(upcoming(len(CALM), {})) == decision


def test_a_micro_batch_that_starts_late_is_no_saturation() -> None:
    """What may be taken without catching up is then more than what would be late; one per cent more may be noise."""
    for fixed_seconds in (0.2, 1.1, 1.3):
        prior = replace(PRIOR, fixed_seconds=fixed_seconds)
        settings = ControlSettings(trigger_interval_seconds=2.0, prior=prior)
        loop = ControlLoop(network(rows_of("packets").query("rows")), settings, lambda: 99.0)
        usual, coming = (round((seconds - fixed_seconds) * 1e6) for seconds in (1.6, 1.61))
        for number in range(6):
            loop.record(outcome(number, {"packets": usual}, {}, 1.6))
        late = replace(upcoming(6, {"packets": coming}), now_seconds=upcoming(5, {}).now_seconds + 2.75)
        decision = loop.plan(late)
        assert decision.plan.allowed_seconds > 1.4
        assert (decision.reason, decision.shedding) == ("entering", False)


def test_what_is_late_in_any_case_is_shed_at_once() -> None:
    prior = replace(PRIOR, fixed_seconds=2.1)
    loop = ControlLoop(
        network(rows_of("packets").query("rows")),
        ControlSettings(trigger_interval_seconds=2.0, prior=prior),
        lambda: 99.0,
    )
    decision = loop.plan(upcoming(0, {"packets": 300_000}))
    assert decision.plan.unshed_seconds < 1.15 * decision.plan.allowed_seconds
    assert (decision.reason, decision.shedding) == ("saturated", True)
