from streamshed.elasticity.balance import Balance, StageWork
from streamshed.elasticity.predictive_controller import PredictiveController
from streamshed.elasticity.settings import ElasticSettings
from streamshed.elasticity.utilization import Utilization
from streamshed.elasticity.view import ClusterView
from streamshed.elasticity.workers import WorkerLimits, Workers


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


def test_a_worker_with_one_piece_more_than_others_is_answered_with_workers() -> None:
    """Eight equal pieces on seven workers: one has two of them, which is 1.75 times the mean."""
    limits = WorkerLimits(most=8, partitions=8)
    controller = PredictiveController.of(ElasticSettings(limits=limits, rescale_price_seconds=9.0))
    for now in range(0, 60, 10):
        view = ClusterView(
            now_seconds=float(now),
            offered=Utilization(1.2 / 1.75, largest=1.2),
            admitted=Utilization(0.8 / 1.75, largest=0.8),
            workers=Workers(running=7, free=1),
        )
        controller, decision = controller.step(view)
        assert decision.reason in {"steady", "overload"}
        if decision.workers > 7:
            break
    assert (decision.workers, decision.reason) == (8, "overload")
    assert round(decision.expected_utilization, 6) == 0.6


def test_of_input_that_is_even_nothing_is_cut_and_no_bound_is_known() -> None:
    balance = balanced(Balance(), stage(*[1.0] * 4), times=10, slots=4)
    assert (balance.is_cut, balance.undivided_share) == (False, 0.0)


def test_one_uneven_micro_batch_is_an_accident() -> None:
    balance = Balance()
    for seconds in ([9.0, 1.0], [5.0, 5.0], [9.0, 1.0]):
        balance = balance.observed([stage(*seconds)], slots=2)
    assert not balance.is_cut


def test_one_worker_is_never_uneven() -> None:
    balance = balanced(Balance(), stage(9.0, 1.0), times=10, slots=1)
    assert (balance.is_cut, balance.undivided_share) == (False, 0.0)


def test_tasks_that_cannot_be_cut_are_a_bound_at_once() -> None:
    """A topic's partitions, keys in state: after three micro-batches."""
    seen = [balanced(Balance(), stage(6.0, 2.0, is_input=False), times=times, slots=2) for times in (2, 3)]
    assert [balance.undivided_share for balance in seen] == [0.0, 0.75]
    assert not seen[-1].is_cut


def test_stages_follow_one_another_and_so_do_their_longest_tasks() -> None:
    stages = [stage(1.0, 1.0, is_input=False), stage(5.0, 1.0, is_input=False)]
    balance = Balance()
    for _ in range(3):
        balance = balance.observed(stages, slots=2)
    assert balance.undivided_share == 6.0 / 8.0


def test_a_bound_is_forgotten_with_the_first_micro_batch_without_it() -> None:
    hot = balanced(Balance(is_cut=True), stage(9.0, *[0.1] * 7), times=3, slots=2)
    assert hot.undivided_share > 0.9
    assert hot.observed([stage(*[1.0] * 8)], slots=2).undivided_share == 0.0


def test_next_to_no_work_tells_nothing() -> None:
    balance = balanced(Balance(), stage(0.4, 0.01), times=10, slots=2)
    assert balance == Balance()


def balanced(balance: Balance, work: StageWork, *, times: int, slots: int) -> Balance:
    for _ in range(times):
        balance = balance.observed([work], slots=slots)
    return balance


def stage(*seconds: float, is_input: bool = True) -> StageWork:
    return StageWork(tasks=len(seconds), seconds=sum(seconds), longest_seconds=max(seconds), is_input=is_input)


def test_a_piece_is_no_reason_to_release_workers_that_are_needed_beside_it() -> None:
    controller = PredictiveController.of(ElasticSettings(release_after_seconds=60.0))
    for now in range(0, 600, 10):
        controller, decision = controller.step(
            ClusterView(
                now_seconds=float(now),
                offered=Utilization(1.2),
                admitted=Utilization(0.8),
                workers=Workers(running=3, free=20),
                undivided_share=0.4,
            )
        )
    assert (decision.workers, decision.reason) == (3, "skewed")
    assert decision.explanation.endswith(
        "one piece is 0.4 of the work, beside which no more than 3 workers can carry load"
    )
