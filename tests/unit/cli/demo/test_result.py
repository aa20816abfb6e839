from dataclasses import replace

import pandas as pd
import pytest

from streamshed.cli.demo.answers import Gap, paired
from streamshed.cli.demo.result import answer_figures, micro_batch_figures, percentile
from tests.unit.cli.demo.examples import SECOND, TIMES, answer, demo_pairs, truth

STARTS = [102.0 + 2 * number for number in range(14)]  # until 128, the burst is from 110 to 120
RATES = [0.25 if 110 < start <= 122 else 1.0 for start in STARTS]
JOURNAL = pd.DataFrame(
    {
        "started_at_seconds": STARTS,
        "offered_rows": [5000 if rate < 1 else 1000 for rate in RATES],
        "admitted_rows": [1250 if rate < 1 else 1000 for rate in RATES],
        "sampling_rate": RATES,
        "utilization": [0.9 if rate < 1 else 0.4 for rate in RATES],
        "delay_seconds": [3.0] * 13 + [3.5],
    }
)


def test_the_figures_of_a_journal() -> None:
    figures = micro_batch_figures(JOURNAL, TIMES, trigger_interval_seconds=2.0)
    assert (figures.micro_batches, figures.burst_micro_batches) == (14, 6)
    assert figures.p95_utilization == 0.9
    assert figures.burst_kept_share == pytest.approx(0.25)
    assert figures.worst_delay_seconds == 3.5


def test_whole_again_is_counted_from_the_end_of_the_burst() -> None:
    figures = micro_batch_figures(JOURNAL, TIMES, trigger_interval_seconds=2.0)
    assert figures.seconds_to_whole == 124 - 120


def test_a_run_that_sheds_to_its_end_was_never_whole_again() -> None:
    figures = micro_batch_figures(JOURNAL.assign(sampling_rate=0.5), TIMES, trigger_interval_seconds=2.0)
    assert figures.seconds_to_whole is None


def test_the_figures_of_answers() -> None:
    figures = answer_figures(demo_pairs(), TIMES)
    assert (figures.answers, figures.approximate_answers) == (5, 2)
    assert (figures.missing_answers, figures.unseen_groups) == (0, 1)
    assert (figures.outside_answers, figures.outside_exact_answers) == (2, 2)
    assert figures.wrong_exact_answers == 0
    assert (figures.intervals, figures.intervals_held) == (2, 1)
    assert figures.mean_error == pytest.approx((0.02 + 130 / 400) / 2)
    assert figures.worst_error == pytest.approx(130 / 400)


def test_percentiles_are_values_that_occurred() -> None:
    values = [float(value) for value in range(1, 101)]
    assert [percentile(values, share) for share in (0.5, 0.95, 1.0)] == [50.0, 95.0, 100.0]


def test_what_was_dropped_is_neither_missing_nor_an_error() -> None:
    values = [
        replace(truth(start, 7.0, query="top", key=(key,)), cohort=cohort)
        for start in (0, 5, 10, 15)
        for key, cohort in (("a", 1), ("b", 2))
    ]
    gaps = [Gap(query="top", start=start * SECOND, cohorts=frozenset({1})) for start in (5, 10)]
    given = [answer(value, 7.0, exact=True) for value in values if not (value.cohort == 1 and value.start > 0)]
    figures = answer_figures(paired(values, given, gaps), TIMES)
    assert (figures.subset_answers, figures.dropped_answers, figures.longest_gap) == (8, 2, 2)
    assert (figures.missing_answers, figures.mean_error, figures.wrong_exact_answers) == (1, 0.5, 0)
    assert figures.unseen_groups == 0
    whole = [Gap(query="top", start=gap.start, cohorts=None) for gap in gaps]
    assert answer_figures(paired(values, given, whole), TIMES).dropped_answers == 4
