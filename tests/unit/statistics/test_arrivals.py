import pytest

from streamshed.statistics.arrivals import Arrivals


def test_nothing_is_expected_before_two_micro_batches() -> None:
    assert Arrivals().expected_rows("packets", elapsed_seconds=2.0) == 0
    once = Arrivals().observed({"packets": 1000}, 2.0)
    assert once.expected_rows("packets", elapsed_seconds=2.0) == 0


def test_a_slight_fall_is_averaged_and_any_other_change_followed_at_once() -> None:
    steady = Arrivals().observed({"packets": 0}, 0.0).observed({"packets": 1000}, 1.0)
    assert steady.observed({"packets": 900}, 2.0).rows_per_second["packets"] == pytest.approx(970)
    assert steady.observed({"packets": 1001}, 2.0).rows_per_second["packets"] == 1001
    assert steady.observed({"packets": 5000}, 2.0).rows_per_second["packets"] == 5000
    assert steady.observed({"packets": 100}, 2.0).rows_per_second["packets"] == 100


def test_a_stream_can_fall_silent_and_return() -> None:
    silent = Arrivals().observed({"packets": 0}, 0.0).observed({"packets": 0}, 1.0)
    assert silent.expected_rows("packets", elapsed_seconds=9.0) == 0
    assert silent.observed({"packets": 7}, 2.0).expected_rows("packets", elapsed_seconds=1.0) == 7


@pytest.mark.parametrize("before", [5.0, 5.0 + 10 * 86_400])
def test_where_the_clock_was_set_back_it_goes_on_from_there(before: float) -> None:
    arrivals = Arrivals().observed({"packets": 0}, before - 1).observed({"packets": 10}, before)
    assert arrivals.observed({"packets": 9}, 5.0).rows_per_second == {"packets": 10}
    assert arrivals.observed({"packets": 9}, 5.0).observed({"packets": 50}, 7.0).rows_per_second == {"packets": 25}


def test_a_stream_left_out_keeps_its_rate() -> None:
    arrivals = Arrivals().observed({}, 0.0).observed({"packets": 10, "flows": 20}, 1.0)
    assert arrivals.observed({"packets": 10}, 2.0).rows_per_second == {"packets": 10, "flows": 20}
