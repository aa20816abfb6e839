from streamshed.elasticity.predictive_controller import PredictiveController
from streamshed.elasticity.settings import ElasticSettings
from streamshed.elasticity.utilization import Utilization
from streamshed.elasticity.view import ClusterView
from streamshed.elasticity.workers import Workers


def test_one_overloaded_worker_among_idle_ones_is_told_and_not_answered_with_workers() -> None:
    controller = PredictiveController.of(ElasticSettings())
    for now in range(0, 600, 10):
        view = ClusterView(
            now_seconds=float(now),
            offered=Utilization(0.3, largest=1.2),
            admitted=Utilization(0.25, largest=0.8),
            workers=Workers(running=8, free=20),
        )
        controller, decision = controller.step(view)
    assert (decision.workers, decision.reason) == (8, "skewed")
    assert "1.20 of the busiest worker" in decision.explanation
