"""What windows tell of the share of rows that passes a filter, when load or sampling rates change."""

from dataclasses import replace

import pytest

from streamshed.network.model.declared_stream import stream
from streamshed.network.model.network import network
from streamshed.network.source.sources import rate
from streamshed.statistics.guess import guessed_statistics
from streamshed.statistics.learned import LearnedStatistics, learned_from_document
from streamshed.statistics.measured import CallCost, Measured, SpannedTime, WindowSums

SECOND = 1_000_000
BIG = stream("ticks", rate(10), time="timestamp").filter("value > 3")
NETWORK = network(BIG.window("10 seconds").agg(total="sum(value)").query("big"))


def passing(learned: LearnedStatistics) -> float:
    return learned.statistics(NETWORK, guessed_statistics(NETWORK)).operators[BIG.address].selectivity


@pytest.mark.parametrize(("size", "slide"), [(60, 60), (600, 600), (600, 20), (20, 20)])
def test_a_burst_is_no_selectivity_however_long_windows_are(size: int, slide: int) -> None:
    """Half of the rows pass; of micro-batches of 2 seconds, some hundred have five times the rows."""
    offered = [5000 if 500 <= number < 800 else 1000 for number in range(1600)]
    learned, shares = LearnedStatistics(), []
    for number, rows in enumerate(offered):
        until = 2 * number
        measured = Measured(event_seconds=2.0)
        if until >= size and until % slide == 0:
            taken = sum(offered[number - size // 2 : number]) / 2
            starts = frozenset({(until - size) * SECOND})
            sums = WindowSums(starts, taken, taken, span=SpannedTime("ticks", float(size), float(size)))
            measured = replace(measured, windows={("big", "total"): sums})
        learned = learned.updated(measured, offered_rows={"ticks": rows}, elapsed_seconds=2.0)
        if until > 2 * size:
            shares.append(passing(learned))
    assert [min(shares), max(shares)] == pytest.approx([0.5, 0.5], abs=0.04)


def ten_seconds(rows: float) -> Measured:
    """A window of 10,000 rows, of which so many passed; micro-batches of a second have 1,000 rows."""
    sums = WindowSums(frozenset({0}), rows, rows, 3 * rows, 13 * rows, span=SpannedTime("ticks", 10.0, 10.0))
    return Measured(windows={("big", "total"): sums}, event_seconds=1.0)


def after(
    learned: LearnedStatistics, measured: Measured, micro_batches: int, sampling_rate: float
) -> LearnedStatistics:
    for _ in range(micro_batches):
        learned = learned.updated(
            measured, offered_rows={"ticks": 1000}, elapsed_seconds=1.0, sampling_rates={"big": sampling_rate}
        )
    return learned


HALF = after(LearnedStatistics(), ten_seconds(5000.0), 5, 1.0)


@pytest.mark.parametrize("sampling_rate", [1e-8, 1e-6, 1e-4])
def test_a_query_of_which_hardly_a_row_is_kept_is_not_taught_to_have_none(sampling_rate: float) -> None:
    learned = after(HALF, ten_seconds(0.0), 40, sampling_rate)
    assert passing(learned) == pytest.approx(0.5)
    moments = learned.statistics(NETWORK, guessed_statistics(NETWORK)).queries["big"].moments["total"]
    assert [moments.mean, moments.deviation] == pytest.approx([3.0, 2.0])


def test_windows_are_believed_again_that_began_after_a_query_was_starved() -> None:
    starved = after(HALF, ten_seconds(0.0), 5, 1e-8)
    meanwhile = after(starved, ten_seconds(1.0), 9, 0.5)
    assert passing(meanwhile) == pytest.approx(0.5)
    assert passing(after(meanwhile, ten_seconds(2000.0), 40, 0.5)) == pytest.approx(0.2, abs=0.02)
    assert learned_from_document(meanwhile.to_document()) == meanwhile


def test_that_nothing_is_left_of_several_rows_that_were_to_be_expected_is_a_sign() -> None:
    """Five rows of a window were to be kept; once less than one is, there is nothing to be learned any more."""
    assert passing(after(HALF, ten_seconds(0.0), 40, 1e-3)) == pytest.approx(0.1, abs=0.011)


def test_a_function_of_which_hardly_a_row_is_kept_is_not_taught_to_get_none() -> None:
    judged = BIG.apply(lambda values: values, columns=["value"], into="verdict", returns="bigint")
    asked = network(judged.window("10 seconds").agg(total="sum(verdict)").query("judged"))
    learned = LearnedStatistics()
    for number in range(40):
        sampling_rate = 1.0 if number < 5 else 1e-8
        measured = Measured(
            calls={judged.address: CallCost(400.0 if number < 5 else 0.0, 1e-3)},
            call_rates={judged.address: sampling_rate},
        )
        learned = learned.updated(measured, offered_rows={"ticks": 1000}, elapsed_seconds=1.0)
    statistics = learned.statistics(asked, guessed_statistics(asked))
    assert statistics.operators[BIG.address].selectivity == pytest.approx(0.4)
