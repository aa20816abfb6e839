"""A control loop that has only a share of the workers' time sees that share as the whole."""

import pytest

from streamshed.control.cluster_view import cluster_view
from streamshed.control.decision import Upcoming
from streamshed.control.loop import ControlLoop
from streamshed.control.settings import ControlSettings
from streamshed.elasticity.workers import Workers
from streamshed.network.model.declared_stream import stream
from streamshed.network.model.network import network
from streamshed.network.run.load_prior import LoadPrior
from streamshed.network.source.sources import rate


@pytest.mark.parametrize("share", [1.0, 0.5, 0.25])
def test_utilization_is_of_the_share(share: float) -> None:
    ticks = stream("ticks", rate(10), time="timestamp", watermark="1 second")
    queries = network(ticks.window("1 minute").agg(n="count(*)").query("q"))
    prior = LoadPrior(fixed_seconds=0.2, seconds_per_row=1e-3, is_measured=True)
    settings = ControlSettings(trigger_interval_seconds=10.0, headroom=0.8 * share, prior=prior)
    loop = ControlLoop(queries, settings, lambda: 0.0)
    decision = loop.plan(
        Upcoming(micro_batch_id=0, offered_rows={"ticks": 1000}, sizes_known=True, backlog_rows=0, now_seconds=10.0)
    )
    view = cluster_view(
        decision,
        settings,
        Workers(running=2),
        fixed_seconds=0.2,
        elapsed_seconds=10.0,
        skew=1.0,
        share=share,
    )
    assert view.offered.mean == pytest.approx(decision.plan.unshed_seconds / (10.0 * share))
    assert view.offered.fixed == pytest.approx(0.02 / share)
