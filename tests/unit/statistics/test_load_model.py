import math
from dataclasses import replace

import pytest

from streamshed.network.run.load_prior import LoadPrior
from streamshed.statistics.load_memory import aged, remembered
from streamshed.statistics.load_model import LoadModel
from streamshed.statistics.micro_batch import MicroBatchOutcome

PRIOR = LoadPrior(fixed_seconds=0.4, seconds_per_row=1e-6, read_share=0.25)
TRUE = {"packets": (2e-7, 1.8e-6), "flows": (1e-6, 4e-6)}
TRUE_FIXED_SECONDS = 0.2


def outcome(rows: dict[str, int], kept: dict[str, float] | None = None, *, factor: float = 1.0) -> MicroBatchOutcome:
    kept = kept or {}
    seconds = TRUE_FIXED_SECONDS + sum(
        n * (TRUE[stream][0] + TRUE[stream][1] * kept.get(stream, 1.0)) for stream, n in rows.items()
    )
    return MicroBatchOutcome(
        micro_batch_id=0,
        offered_rows=rows,
        admitted_rows={stream: n * kept.get(stream, 1.0) for stream, n in rows.items()},
        sampling_rates=kept,
        processing_seconds=seconds * factor,
        trigger_interval_seconds=2.0,
        started_at_seconds=0.0,
    )


def learned(model: LoadModel, *outcomes: MicroBatchOutcome) -> LoadModel:
    for each in outcomes:
        model = model.updated(each)
    return model


CALM = outcome({"packets": 200_000})


@pytest.mark.parametrize("wrong_by", [1 / 3, 1, 3])
def test_costs_wrong_by_three_are_corrected_by_the_first_micro_batches(wrong_by: float) -> None:
    prior = LoadPrior(fixed_seconds=0.2, seconds_per_row=2e-6 * wrong_by)
    model = learned(LoadModel.initial(["packets"], prior), CALM, CALM)
    assert model.seconds(CALM.offered_rows, {}) == pytest.approx(CALM.processing_seconds, rel=0.05)


@pytest.mark.parametrize(("factor", "from_read"), [(10.0, 0.02), (2.0, 0.15)])
def test_what_rows_take_more_than_believed_is_put_down_to_work_until_something_is_shed(
    factor: float, from_read: float
) -> None:
    loads = [outcome({"packets": rows}, factor=factor) for rows in (100_000, 400_000) * 20]
    model = learned(LoadModel.initial(["packets"], PRIOR), *loads)
    read, work = model.read_seconds_per_row("packets"), model.work_seconds_per_row("packets")
    assert read + work == pytest.approx(factor * 2e-6, rel=0.1)
    assert PRIOR.read_seconds_per_row <= read <= from_read * (read + work)


def test_rows_are_dear_rather_than_what_is_fixed() -> None:
    """Of micro-batches alike: fixed costs are known within a factor or two, what users do with rows is not."""
    slow = outcome({"packets": 200_000}, factor=4.0)
    model = learned(LoadModel.initial(["packets"], PRIOR), *[slow] * 10)
    assert model.seconds({"packets": 200_000}, {}) == pytest.approx(slow.processing_seconds, rel=0.02)
    assert model.fixed_seconds < 0.6
    assert model.work_seconds_per_row("packets") > 1.7 / 200_000


def test_the_first_dear_micro_batch_of_more_rows_is_learned_from() -> None:
    """Ten times the rows take fifteen times as long as was thought of them: rows are dear, it is no hiccup."""
    cheap = LoadPrior(fixed_seconds=0.7, seconds_per_row=1e-7)
    calm = learned(LoadModel.initial(["packets"], cheap), *[outcome({"packets": 200_000}, factor=1.2)] * 10)
    burst = outcome({"packets": 4_000_000}, factor=1.2)
    assert burst.processing_seconds > 4 * calm.seconds(burst.offered_rows, {})
    model = calm.updated(burst)
    assert not model.disregards_latest
    assert model.work_seconds_per_row("packets") == pytest.approx(1.2 * 2e-6, rel=0.1)


def test_work_takes_no_less_than_functions_were_measured_to_take() -> None:
    """What the prior says of it, 0.75 µs, would leave the rest of a steady load to what is fixed."""
    steady = outcome({"packets": 200_000}, factor=2.5)
    model = LoadModel.initial(["packets"], PRIOR)
    for _ in range(5):
        model = model.updated(steady, {"packets": 5e-6})
    assert model.seconds(steady.offered_rows, {}) == pytest.approx(steady.processing_seconds, rel=0.02)
    assert model.work_seconds_per_row("packets") == pytest.approx(5e-6, rel=0.1)
    dear = LoadPrior(fixed_seconds=0.4, seconds_per_row=10e-6)
    told, untold = (LoadModel.initial(["packets"], dear).updated(steady, each) for each in ({"packets": 5e-6}, {}))
    assert told == untold


def test_all_coefficients_of_two_streams_are_found_when_loads_and_rates_vary() -> None:
    varied = [
        outcome({"packets": 100_000 * (1 + step % 5), "flows": 50_000 * (1 + step % 3)}, kept)
        for step in range(60)
        for kept in [{"packets": (1.0, 0.1, 0.4)[step % 3], "flows": (0.2, 1.0, 0.05, 0.6)[step % 4]}]
    ]
    model = learned(LoadModel.initial(["packets", "flows"], PRIOR), *varied)
    assert model.fixed_seconds == pytest.approx(TRUE_FIXED_SECONDS, rel=0.4)
    for stream, (read, work) in TRUE.items():
        assert model.read_seconds_per_row(stream) == pytest.approx(read, abs=0.15 * (read + work))
        assert model.work_seconds_per_row(stream) == pytest.approx(work, rel=0.1)
    for each in varied:
        expected = model.seconds(each.offered_rows, each.sampling_rates)
        assert expected == pytest.approx(each.processing_seconds, rel=0.1)


@pytest.mark.parametrize("factor", [10.0, 2.0, 0.1])
def test_nothing_is_learned_from_a_single_outlier(factor: float) -> None:
    model = learned(LoadModel.initial(["packets"], PRIOR), *[CALM] * 10)
    after = model.updated(outcome({"packets": 200_000}, factor=factor))
    assert after.disregards_latest
    assert after.seconds(CALM.offered_rows, {}) == model.seconds(CALM.offered_rows, {})
    later = after.updated(CALM)
    assert not later.disregards_latest
    assert later.seconds(CALM.offered_rows, {}) == pytest.approx(model.seconds(CALM.offered_rows, {}), rel=1e-3)


@pytest.mark.parametrize("calm", [3, 5, 20])
@pytest.mark.parametrize("factor", [2.0, 4.0])
@pytest.mark.parametrize("rows", [190_000, 200_000, 215_000])
def test_a_hiccup_of_about_as_many_rows_is_an_outlier_whatever_may_be_believed_of_them(
    calm: int, factor: float, rows: int
) -> None:
    """A few rows more cannot take twice as long altogether, dear as they may be."""
    loads = [outcome({"packets": 200_000 + 5_000 * (-1) ** number}) for number in range(calm)]
    model = learned(LoadModel.initial(["packets"], LoadPrior()), *loads)
    assert model.updated(outcome({"packets": rows}, factor=factor)).disregards_latest


def test_an_outlier_displaces_nothing_from_memory() -> None:
    """Neither one of the latest, nor those of another regime that it is alike to."""
    shed = outcome({"packets": 2_000_000}, {"packets": 0.2})
    model = learned(LoadModel.initial(["packets"], PRIOR), shed, *[CALM] * 10)
    suspect = outcome({"packets": 2_000_000}, {"packets": 0.2}, factor=3.0)
    after = model.updated(suspect)
    assert after.disregards_latest
    assert after.memory == model.memory
    assert after.updated(CALM).memory == remembered(aged(model.memory), model.updated(CALM).memory[-1])
    confirmed = after.updated(suspect)
    assert not confirmed.disregards_latest
    assert [known.rows[0] for known in confirmed.memory[-2:]] == [2_000_000.0] * 2


def test_an_outlier_soon_after_another_is_learned_from() -> None:
    model = learned(LoadModel.initial(["packets"], PRIOR), *[CALM] * 10)
    slow = outcome({"packets": 200_000}, factor=3.0)
    after = learned(model, slow, CALM, slow)
    assert not after.disregards_latest
    assert after.seconds(CALM.offered_rows, {}) > 1.05 * model.seconds(CALM.offered_rows, {})
    assert learned(model, slow, *[CALM] * 6, slow).disregards_latest


@pytest.mark.parametrize("factor", [3.0, 1 / 3])
def test_a_lasting_change_is_believed_the_second_time(factor: float) -> None:
    model = learned(LoadModel.initial(["packets"], PRIOR), *[CALM] * 10)
    changed = outcome({"packets": 200_000}, factor=factor)
    after = learned(model, changed, changed)
    assert after.seconds(CALM.offered_rows, {}) == pytest.approx(changed.processing_seconds, rel=0.15)


def test_a_cold_start_several_times_too_slow_is_soon_forgotten() -> None:
    warm_up = [outcome({"packets": 200_000}, factor=factor) for factor in (5, 4, 3, 2, 1.5, 1.2)]
    model = learned(LoadModel.initial(["packets"], PRIOR), *warm_up, *[CALM] * 4)
    assert model.seconds(CALM.offered_rows, {}) == pytest.approx(CALM.processing_seconds, rel=0.1)


def test_what_shedding_taught_survives_a_long_calm() -> None:
    shed = [outcome({"packets": 2_000_000}, {"packets": kept}) for kept in (0.05, 0.1, 0.2, 0.3)]
    model = learned(LoadModel.initial(["packets"], PRIOR), *shed, *[CALM] * 60)
    again = outcome({"packets": 2_000_000}, {"packets": 0.2})
    predicted = model.seconds(again.offered_rows, again.sampling_rates)
    assert predicted == pytest.approx(again.processing_seconds, rel=0.1)


def test_an_empty_micro_batch_shows_the_fixed_cost() -> None:
    model = learned(LoadModel.initial(["packets"], PRIOR), *[outcome({"packets": 0})] * 5)
    assert model.fixed_seconds == pytest.approx(TRUE_FIXED_SECONDS, rel=0.02)
    assert model.work_seconds_per_row("packets") == pytest.approx(0.75e-6)


def profiled(*, sizes: tuple[int, ...], fixed_seconds: float, cold: float) -> tuple[float, float]:
    """What a row is thought to cost, divided by the 2 µs that it does, and by how much that may well be off."""
    model = LoadModel.initial(["packets"], LoadPrior())
    for number in range(11):
        rows = sizes[number % len(sizes)]
        seconds = (fixed_seconds + 2e-6 * rows) * (1 + cold * 0.7**number)
        model = model.updated(replace(CALM, offered_rows={"packets": rows}, processing_seconds=seconds))
    cost = model.read_seconds_per_row("packets") + model.work_seconds_per_row("packets")
    return cost / 2e-6, math.exp(model.row_deviation("packets"))


@pytest.mark.parametrize("fixed_seconds", [0.3, 0.8, 1.5])
@pytest.mark.parametrize("rows", [1_000, 30_000, 80_000, 300_000, 1_000_000])
@pytest.mark.parametrize("cold", [0.0, 1.5])
def test_a_cost_per_row_is_off_by_no_more_than_is_told(fixed_seconds: float, rows: int, cold: float) -> None:
    """Alike as micro-batches may be, few as rows are, and cold as code is: by two and a half deviations."""
    wrong_by, factor = profiled(sizes=(rows,), fixed_seconds=fixed_seconds, cold=cold)
    assert abs(math.log(wrong_by)) <= 2.5 * math.log(factor)


@pytest.mark.parametrize("cold", [0.0, 1.5])
def test_micro_batches_of_different_sizes_tell_costs_apart(cold: float) -> None:
    """Where all are alike, a slow start passes for dear rows, and that is told; in pieces of two sizes it does not."""
    alike, unsure = profiled(sizes=(80_000,), fixed_seconds=1.5, cold=cold)
    differing, _ = profiled(sizes=(40_000, 120_000), fixed_seconds=1.5, cold=cold)
    assert alike > 5
    assert unsure > 2.5
    assert 1 / 3 <= differing <= 3


def test_rows_of_an_unknown_stream_are_refused() -> None:
    model = LoadModel.initial(["packets"], PRIOR)
    with pytest.raises(ValueError, match="unknown stream 'flows', known are packets"):
        model.seconds({"flows": 1}, {})
    with pytest.raises(ValueError, match="unknown stream 'flows'"):
        model.updated(outcome({"flows": 1}))


def test_a_restart_goes_on_exactly_where_it_stopped() -> None:
    model = learned(LoadModel.initial(["packets"], PRIOR), CALM, outcome({"packets": 200_000}, factor=5))
    assert LoadModel.from_json(model.to_json(), streams=["packets"], prior=PRIOR) == model


def test_a_restart_keeps_an_outlier_in_mind_and_apart() -> None:
    model = learned(LoadModel.initial(["packets"], PRIOR), *[CALM] * 10)
    slow = outcome({"packets": 200_000}, factor=5)
    suspecting = model.updated(slow)
    assert suspecting.disregards_latest
    assert LoadModel.from_json(suspecting.to_json(), streams=["packets"], prior=PRIOR) == suspecting
    both = ["packets", "flows"]
    refitted = LoadModel.from_json(suspecting.to_json(), streams=both, prior=PRIOR)
    assert refitted == LoadModel.from_json(model.to_json(), streams=both, prior=PRIOR)


def test_a_restart_with_other_streams_keeps_what_still_holds() -> None:
    both = learned(
        LoadModel.initial(["packets", "flows"], PRIOR),
        *[outcome({"packets": 100_000 * step, "flows": 0}) for step in range(1, 8)],
        outcome({"packets": 100_000, "flows": 100_000}),
    )
    restored = LoadModel.from_json(both.to_json(), streams=["packets", "sessions"], prior=PRIOR)
    assert restored.streams == ("packets", "sessions")
    assert len(restored.memory) == len(both.memory) - 1
    assert restored.seconds({"packets": 400_000}, {}) == pytest.approx(1.0, rel=0.1)
    assert restored.work_seconds_per_row("sessions") == pytest.approx(0.75e-6)


def test_a_restart_with_none_of_the_streams_starts_from_the_prior() -> None:
    model = learned(LoadModel.initial(["packets"], PRIOR), CALM)
    restored = LoadModel.from_json(model.to_json(), streams=["flows"], prior=PRIOR)
    assert restored == LoadModel.initial(["flows"], PRIOR)


EMPTY = outcome({"packets": 0}, factor=0.3)
"""Without rows, much is spared that is fixed with any."""


def test_what_a_micro_batch_without_rows_takes_is_no_fixed_cost_of_others_for_long() -> None:
    loads = [outcome({"packets": rows}) for rows in (200_000, 800_000, 400_000)]
    prior = LoadPrior(fixed_seconds=0.1, seconds_per_row=2e-6)
    after_empty = learned(LoadModel.initial(["packets"], prior), *[EMPTY] * 5, *loads, *loads)
    alone = learned(LoadModel.initial(["packets"], prior), *loads, *loads)
    assert after_empty.mean == pytest.approx(alone.mean, rel=1e-3)
    assert all(any(known.rows) for known in after_empty.memory)


def test_what_a_micro_batch_without_rows_takes_is_all_that_is_known_at_first() -> None:
    model = learned(LoadModel.initial(["packets"], LoadPrior(fixed_seconds=0.6, seconds_per_row=2e-6)), *[EMPTY] * 5)
    assert model.seconds({}, {}) == pytest.approx(EMPTY.processing_seconds, rel=0.1)


def test_rows_of_a_join_are_counted_by_what_they_take_however_dear_those_of_streams_are() -> None:
    """Of a stream rows take 5 ms each; of a join so many units of a microsecond as its work was seen to take."""
    dear = LoadPrior(fixed_seconds=0.5, seconds_per_row=5e-3)
    model = LoadModel.initial(["packets", "pairs"], dear, frozenset({"pairs"}))
    both = MicroBatchOutcome(
        micro_batch_id=0,
        offered_rows={"packets": 1_000, "pairs": 500},
        admitted_rows={},
        sampling_rates={},
        processing_seconds=6.5,
        trigger_interval_seconds=2.0,
        started_at_seconds=0.0,
        work_per_row={"pairs": 2_000.0},
    )
    assert model.seconds(both.costed_rows, {}) == pytest.approx(0.5 + 5.0 + 1.0)
    for _ in range(5):
        model = model.updated(both)
    assert model.seconds({"packets": 0, "pairs": 1_000_000}, {}) < 4.0
    again = LoadModel.from_json(model.to_json(), streams=["packets", "pairs"], prior=dear, timed=frozenset({"pairs"}))
    assert again == model
