"""The story of a demo: one sentence, and a table of answers beside the exact ones."""

from collections.abc import Sequence

from rich import box
from rich.table import Table

from streamshed.cli.demo.answers import Pair
from streamshed.cli.demo.capacity import Capacity
from streamshed.cli.demo.load import BURST_FACTOR, DemoLoad
from streamshed.cli.demo.result import (
    AnswerFigures,
    BurstTimes,
    MicroBatchFigures,
    is_outside,
    sampled_errors,
)
from streamshed.network.words.wording import count_text, share_text


def sentence(load: DemoLoad, capacity: Capacity, engine: MicroBatchFigures, answers: AnswerFigures) -> str:
    """Tell in one sentence what happened."""
    overload = BURST_FACTOR * load.rows_per_second / capacity.rows_per_second
    opening = (
        f"Load rose to {BURST_FACTOR}× for {load.phase_seconds} s, {overload:.2f} times what this machine"
        f" sustains: streamshed kept the 95th percentile of processing time at {engine.p95_utilization:.2f}"
        f" of the trigger interval by using {share_text(engine.burst_kept_share)} of the rows"
    )
    return "; ".join((opening, *_approximate(answers), *_dropped(answers), _outside(answers), *_wrong(answers))) + "."


def headline(engine: MicroBatchFigures, answers: AnswerFigures) -> str:
    """Tell the same in a title: whether it kept up, and what that cost the answers."""
    if answers.missing_answers:
        return f"{BURST_FACTOR}× load: there was no time for {answers.missing_answers:,} of the answers"
    verdict = "Kept up with" if engine.p95_utilization <= 1 else "Did not keep up with"
    return (
        f"{verdict} {BURST_FACTOR}× load: {share_text(engine.burst_kept_share)} of the rows used,"
        f" answers off by {share_text(answers.mean_error)}"
    )


def _approximate(answers: AnswerFigures) -> list[str]:
    if not answers.approximate_answers:
        return []
    text = f"the answers computed from samples are off by {share_text(answers.mean_error)} on average"
    if answers.intervals:
        held = share_text(answers.intervals_held / answers.intervals)
        text += f" and {held} of their intervals hold the exact value"
    return [text]


def _dropped(answers: AnswerFigures) -> list[str]:
    if not answers.dropped_answers:
        return []
    text = f"of {answers.subset_answers:,} answers that may be missing but never wrong {answers.dropped_answers:,} are"
    text += f", none more than {answers.longest_gap} times in a row"
    if predicted_count := answers.predictions.predicted:
        error = share_text(answers.predictions.error)
        text += f" ({predicted_count:,} of them predicted from other windows, they are off by {error})"
    return [text]


def _wrong(answers: AnswerFigures) -> list[str]:
    clauses = []
    if unseen := answers.unseen_groups:
        groups = "1 group has" if unseen == 1 else f"{unseen:,} groups have"
        clauses.append(f"{groups} no answer, as samples kept none of their rows")
    wrong, missing = answers.wrong_exact_answers, answers.missing_answers
    if wrong or missing:
        clauses.append(f"{wrong} answers said to be exact are not, and {missing} are missing")
    return clauses


def _outside(answers: AnswerFigures) -> str:
    exact, total = answers.outside_exact_answers, answers.outside_answers
    how_many = f"all {total:,}" if exact == total else f"{exact:,} of {total:,}"
    return f"{how_many} answers of windows outside the burst are exact"


def answer_table(pairs: Sequence[Pair], times: BurstTimes) -> Table:
    """Per query: one window in the middle of the burst with answer and truth, all windows in short."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("query", no_wrap=True)
    table.add_column("in the burst", min_width=8)
    for heading in ("exact", "answer", "off by"):
        table.add_column(heading, justify="right", no_wrap=True)
    for heading in ("mean error", "intervals held", "exact outside"):
        table.add_column(heading, justify="right")
    for query in dict.fromkeys(pair.truth.query for pair in pairs):
        of_query = [pair for pair in pairs if pair.truth.query == query]
        table.add_row(query, *_example(of_query, times), *_in_short(of_query, times))
    return table


def _example(pairs: Sequence[Pair], times: BurstTimes) -> tuple[str, str, str, str]:
    middle = (times.event_begin + times.event_end) / 2 * 1e6

    def distance(pair: Pair) -> float:
        return abs((pair.truth.start + pair.truth.end) / 2 - middle)

    nearest = min(distance(pair) for pair in pairs)
    aggregate = pairs[0].truth.aggregate
    candidates = [pair for pair in pairs if distance(pair) == nearest and pair.truth.aggregate == aggregate]
    pair = max(candidates, key=lambda candidate: candidate.truth.value, default=pairs[0])
    key = f" of {', '.join(str(part) for part in pair.truth.key)}" if pair.truth.key else ""
    answer, truth = pair.answer, pair.truth.value
    if answer is None or answer.value is None:
        return f"{pair.truth.aggregate}{key}", _number(truth), "dropped" if pair.is_dropped else "missing", "–"
    width = 0.0 if answer.lower is None or answer.upper is None else (answer.upper - answer.lower) / 2
    return (
        f"{pair.truth.aggregate}{key}",
        _number(truth),
        _number(answer.value) + (f" ± {_number(width)}" if width else ""),
        share_text(pair.deviation / abs(truth)) if truth else "–",
    )


def _in_short(pairs: Sequence[Pair], times: BurstTimes) -> tuple[str, str, str]:
    errors = sampled_errors(pairs)
    held = [pair.is_held for pair in pairs if pair.is_held is not None]
    outside = [pair for pair in pairs if is_outside(pair, times)]
    return (
        share_text(sum(errors) / len(errors)) if errors else "–",
        share_text(sum(held) / len(held)) if held else "–",
        f"{count_text(sum(pair.is_exact for pair in outside))} of {count_text(len(outside))}",
    )


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
