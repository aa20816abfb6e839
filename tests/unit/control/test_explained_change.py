"""What other queries would cost, and whose answers would pay for it."""

import pytest

from streamshed.control.explained_change import ExplainedChange, explain_change
from streamshed.control.settings import ControlSettings
from streamshed.errors import InvalidNetworkError
from streamshed.network.model.declared_stream import stream
from streamshed.network.model.network import QueryNetwork, network
from streamshed.network.model.query import Query
from streamshed.network.source.sources import rate
from streamshed.statistics.guess import guessed_statistics
from tests.oracles.explaining import explain

TICKS = stream("ticks", rate(100), time="timestamp")
SETTINGS = ControlSettings(trigger_interval_seconds=2.0)


def scored(name: str, **goals: object) -> Query:
    scores = TICKS.apply(lambda value: value, columns=["value"], into="score", returns="int")
    return scores.window("1 minute").by(rest="value % 7").agg(total="sum(score)").query(name, **goals)  # type: ignore[arg-type]


COUNT = TICKS.window("1 minute").agg(n="count(*)").query("n")
RUNNING = network(COUNT, scored("scores"))


def change(after: QueryNetwork, load: float = 3.0) -> ExplainedChange:
    return explain_change(RUNNING, after, guessed_statistics(RUNNING.foundation), SETTINGS, load=load)


def test_the_same_network_costs_nothing() -> None:
    same = change(RUNNING)
    assert (same.before, same.added_seconds, same.payers) == (same.after, 0.0, ())


def test_who_gets_fewer_rows_pays() -> None:
    dear = TICKS.apply(lambda value: -value, columns=["value"], into="loss", returns="int")
    added = dear.window("1 minute").agg(worst="max(loss)").query("losses", mode="exact")
    change_now = change(RUNNING.with_queries(added))
    assert change_now.added_seconds > 0
    rates = [
        {one.query: one.effective_sampling_rate for one in of.outlooks} for of in (change_now.before, change_now.after)
    ]
    assert change_now.payers == tuple(name for name in ("n", "scores") if rates[1][name] < 0.99 * rates[0][name])
    assert rates[1]["scores"] < 0.9 * rates[0]["scores"]
    assert change(RUNNING.with_queries(added), load=0.1).payers == ()


def test_what_may_be_shed_no_longer_makes_others_pay_and_does_not_fit() -> None:
    exact = change(RUNNING.with_goals("scores", mode="exact"))
    assert not exact.fits
    assert "MORE THAN THERE IS" in str(exact)


def test_what_goes_leaves_its_time_to_others() -> None:
    gone = change(network(COUNT))
    assert gone.added_seconds < 0
    assert [one.effective_sampling_rate for one in gone.after.outlooks] == [1.0]
    assert str(gone).splitlines()[-1].split()[::6] == ["scores", "-"]


def test_a_load_of_the_statistics_is_that_of_explain() -> None:
    before = change(RUNNING, load=3.0).before
    again = explain(
        RUNNING.foundation, guessed_statistics(RUNNING.foundation), load_factor=before.load_factor, deadline_seconds=2.0
    )
    assert again.rows_per_second == pytest.approx(before.rows_per_second) == pytest.approx(300_000)
    assert [one.effective_sampling_rate for one in again.outlooks] == pytest.approx(
        [one.effective_sampling_rate for one in before.outlooks]
    )


def test_each_network_has_the_latency_of_its_queries() -> None:
    hasty = change(RUNNING.with_goals("n", latency="3 seconds"))
    assert (hasty.before.budget_seconds, hasty.after.budget_seconds) == (1.6, 0.8)
    assert "scores" in hasty.payers
    with pytest.raises(InvalidNetworkError, match=r'query "n": the latency must be longer'):
        change(RUNNING.with_goals("n", latency="1 second"))
