from dataclasses import replace

import pytest

from streamshed.dashboard.run_history import RunHistory
from tests.unit.dashboard.statuses import answered, status


def test_answers_add_up_and_the_latest_error_stays() -> None:
    history = RunHistory()
    history = history.after(status(0, tcp=answered(3, exact=3)))
    history = history.after(status(1, tcp=answered(2, exact=0, error=0.1, late=4)))
    history = history.after(status(2, tcp=answered(0, exact=0, error=None)))
    tcp = history.queries["tcp"]
    assert (tcp.answers, tcp.exact_answers, tcp.relative_error, tcp.late_pairs) == (5, 3, 0.1, 4)
    assert tcp.latest_window_end_seconds == 1_700_000_010.0
    assert history.domains["time"].late_pairs == 4


def test_rows_add_up() -> None:
    history = RunHistory().after(status(0)).after(status(1, offered=5000, kept=0.2))
    assert (history.micro_batches, history.offered_rows, history.admitted_rows) == (2, 6000, 2000)
    assert history.moment is not None
    assert history.moment.kept_share == pytest.approx(0.2)
    assert history.moment.offered_rows_per_second == pytest.approx(2500)


def test_skipped_rows_add_up() -> None:
    history = RunHistory().after(replace(status(0), skipped_rows=900)).after(replace(status(1), skipped_rows=7))
    history = history.after(status(2)).after(status(0, clock="sensors"))
    assert {clock: domain.skipped_rows for clock, domain in history.domains.items()} == {"time": 907, "sensors": 0}


def test_the_same_micro_batch_counts_once() -> None:
    history = RunHistory().after(status(3))
    assert history.after(status(3)) is history
    assert history.after(status(-1)) is history


def test_a_late_micro_batch_brings_what_came_in_a_longer_time() -> None:
    history = RunHistory().after(status(0)).after(status(2))
    assert history.moment is not None
    assert history.moment.offered_rows_per_second == pytest.approx(1000 / 4)


def test_the_past_is_bounded() -> None:
    history = RunHistory()
    for micro_batch_id in range(100):
        history = history.after(status(micro_batch_id))
    assert len(history.domains["time"].moments) == 60
    assert history.micro_batches == 100


def test_every_time_domain_counts() -> None:
    history = RunHistory().after(status(0, clock="time", tcp=answered(3, exact=3)))
    history = history.after(status(0, clock="sensors", heat=answered(2, exact=2, late=1)))
    history = history.after(status(1, clock="time", tcp=answered(1, exact=1)))
    assert (history.micro_batches, history.offered_rows) == (3, 3000)
    assert history.micro_batch_ids == {"time": 1, "sensors": 0}
    assert {name: query.answers for name, query in history.queries.items()} == {"tcp": 4, "heat": 2}
    assert {clock: domain.late_pairs for clock, domain in history.domains.items()} == {"time": 0, "sensors": 1}
    assert history.latest is history.domains["time"].latest


def test_time_domains_have_moments_of_their_own() -> None:
    history = RunHistory().after(status(0)).after(status(3, clock="sensors")).after(status(1))
    assert history.moment is not None
    assert history.moment.offered_rows_per_second == pytest.approx(1000 / 2)
