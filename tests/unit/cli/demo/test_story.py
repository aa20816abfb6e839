import io
from dataclasses import replace

from rich.console import Console

from streamshed.cli.demo.capacity import Capacity
from streamshed.cli.demo.load import DemoLoad
from streamshed.cli.demo.predicted import PredictionFigures
from streamshed.cli.demo.result import MicroBatchFigures, answer_figures
from streamshed.cli.demo.story import answer_table, headline, sentence
from tests.unit.cli.demo.examples import TIMES, demo_pairs

LOAD = DemoLoad(trigger_seconds=2, rows_per_second=70_000, phase_seconds=30)
CAPACITY = Capacity(trigger_seconds=2, rows_per_second=200_000, fixed_seconds=0.5, seconds_per_row=4e-6)
ENGINE = MicroBatchFigures(
    micro_batches=50,
    burst_micro_batches=16,
    p95_utilization=0.84,
    burst_kept_share=0.31,
    worst_delay_seconds=3.6,
    seconds_to_whole=2.1,
)
ANSWERS = answer_figures(demo_pairs(), TIMES)


def test_the_sentence_says_what_was_measured() -> None:
    assert sentence(LOAD, CAPACITY, ENGINE, replace(ANSWERS, unseen_groups=0)) == (
        "Load rose to 5× for 30 s, 1.75 times what this machine sustains: streamshed kept the 95th percentile of"
        " processing time at 0.84 of the trigger interval by using 31 % of the rows; the answers computed from"
        " samples are off by 17.2 % on average and 50 % of their intervals hold the exact value; all 2 answers of"
        " windows outside the burst are exact."
    )


def test_the_sentence_tells_what_was_dropped() -> None:
    dropped = replace(ANSWERS, subset_answers=1200, dropped_answers=300, longest_gap=2)
    assert (
        "; of 1,200 answers that may be missing but never wrong 300 are, none more than 2 times in a row; "
        in sentence(LOAD, CAPACITY, ENGINE, dropped)
    )


def test_the_sentence_tells_how_far_off_predictions_are() -> None:
    predicted = PredictionFigures(predicted=280, error=0.123)
    dropped = replace(ANSWERS, subset_answers=1200, dropped_answers=300, longest_gap=2, predictions=predicted)
    told = sentence(LOAD, CAPACITY, ENGINE, dropped)
    assert "2 times in a row (280 of them predicted from other windows, they are off by 12.3 %); " in told


def test_the_sentence_hides_nothing() -> None:
    told = sentence(
        LOAD, CAPACITY, ENGINE, replace(ANSWERS, outside_exact_answers=1, wrong_exact_answers=3, missing_answers=1)
    )
    assert "1 of 2 answers of windows outside the burst are exact" in told
    assert "3 answers said to be exact are not, and 1 are missing" in told
    assert "; 1 group has no answer, as samples kept none of their rows; " in told
    told = sentence(LOAD, CAPACITY, ENGINE, replace(ANSWERS, unseen_groups=1200))
    assert "1,200 groups have no answer" in told


def test_a_headline() -> None:
    assert headline(ENGINE, ANSWERS) == "Kept up with 5× load: 31 % of the rows used, answers off by 17.2 %"
    late = replace(ENGINE, p95_utilization=1.01)
    assert headline(late, ANSWERS).startswith("Did not keep up with 5× load")
    assert headline(late, replace(ANSWERS, missing_answers=9)) == "5× load: there was no time for 9 of the answers"


def test_the_table_has_answers_beside_the_exact_ones() -> None:
    output = io.StringIO()
    Console(file=output, width=120).print(answer_table(demo_pairs(), TIMES))
    lines = [" ".join(line.split()) for line in output.getvalue().splitlines()]
    assert "tcp packets 500 510 ± 20 2 % 2 % 100 % 2 of 2" in lines
    assert "web packets of 10.0.0 300 330 ± 20 10 % 32.5 % 0 % 0 of 0" in lines
