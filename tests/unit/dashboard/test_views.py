import io
import json
from dataclasses import replace

from rich.console import Console

from streamshed.dashboard.live_view import live_view
from streamshed.dashboard.log_line import log_line
from streamshed.dashboard.run_history import RunHistory
from streamshed.dashboard.views import JsonView, LogView, TerminalView
from streamshed.spark.loop.run_status import QueryStatus
from tests.unit.dashboard.statuses import answered, status

CALM = RunHistory().after(status(0, tcp=answered(3, exact=3)))
BUSY = CALM.after(status(1, offered=5000, kept=0.2, tcp=answered(2, exact=0, error=0.023), web=answered(1, exact=1)))


def drawn(history: RunHistory, *, note: str = "") -> str:
    output = io.StringIO()
    view = live_view(history, title="network.yaml", elapsed_seconds=72, note=note)
    Console(file=output, width=100).print(view)
    return output.getvalue()


def test_before_the_first_micro_batch() -> None:
    assert "waiting for the first micro-batch" in drawn(RunHistory())
    assert log_line(RunHistory()) == ""


def test_the_live_view_shows_load_rates_delay_reason_and_queries() -> None:
    view = drawn(BUSY, note="5× burst")
    for expected in (
        "network.yaml · 1 min 12 s",
        "5× burst",
        "2.5 k rows/s",
        "20 %",
        "1.5 s of 2 s",
        "3.5 s",
        "overload: 5,000 rows would take 4.1 s",
        "unreadable 2",
    ):
        assert expected in view
    [tcp] = [line for line in view.splitlines() if "tcp" in line]
    assert tcp.strip("│ ").split() == ["tcp", "5", "60", "%", "2.3", "%", "0", "0", "22:13:30"]
    [web] = [line for line in view.splitlines() if "web" in line]
    assert web.strip("│ ").split() == ["web", "1", "100", "%", "exact", "0", "0", "22:13:30"]


def test_every_query_has_an_effective_sampling_rate_while_any_is_shed() -> None:
    rates = {"tcp": 0.25, "web": 1.0, "dns": 0.25}
    shed = replace(status(2), sampling_rates={"packets": 1.0}, effective_sampling_rates=rates)
    assert "effective sampling rates: 25 % dns, tcp; 100 % web" in drawn(BUSY.after(shed))
    assert "sampling rates" not in drawn(BUSY)


def test_dropped_windows_are_told() -> None:
    gaps = {"top": QueryStatus(gaps=4), "least": QueryStatus(answers=3, exact_answers=3, relative_error=0.0, gaps=2)}
    dropping = replace(status(2), kept_shares={"top": 0.0, "least": 0.4, "whole": 1.0}, queries=gaps)
    history = BUSY.after(dropping).after(replace(dropping, micro_batch_id=3))
    view = drawn(history)
    assert "windows kept: 40 % least; none top" in view
    [least] = [line for line in view.splitlines() if line.strip("│ ").startswith("least")]
    assert least.strip("│ ").split() == ["least", "6", "100", "%", "exact", "4", "0", "–"]
    assert log_line(history).endswith("3 answers, 100 % exact, 6 windows dropped")
    assert "windows" not in log_line(BUSY)


def test_predictions_are_told_beside_the_gaps_that_they_fill() -> None:
    gaps = {"top": QueryStatus(gaps=4, predictions=3), "least": QueryStatus(answers=3, exact_answers=3, gaps=2)}
    history = BUSY.after(replace(status(2), queries=gaps)).after(replace(status(3), queries=gaps))
    [top] = [line for line in drawn(history).splitlines() if line.strip("│ ").startswith("top")]
    assert top.strip("│ ").split() == ["top", "0", "–", "–", "8", "(6", "predicted)", "0", "–"]
    assert log_line(history).endswith("6 windows dropped, 3 predictions")


def test_where_samplers_are_is_shown() -> None:
    shed = replace(status(2), samplers={"packets": 0.5, "packets > filter proto = 6": 0.25})
    assert "samplers: 50 % packets; 25 % packets > filter proto = 6" in drawn(BUSY.after(shed))
    assert "samplers" not in drawn(BUSY)


def test_every_time_domain_is_shown() -> None:
    history = BUSY.after(status(7, clock="sensors", heat=answered(4, exact=4)))
    view = drawn(history)
    for expected in ("clock sensors", "clock time", "micro-batch 1 ·", "micro-batch 7 ·", "heat", "tcp"):
        assert expected in view
    assert "clock time" not in drawn(BUSY)
    assert log_line(history).startswith("22:13:34 sensors: micro-batch 7: ")


def test_a_line_of_the_log() -> None:
    assert log_line(BUSY) == (
        "22:13:22 micro-batch 1: 5 k rows, kept 20 %, took 1.5 s of 2 s, delay 3.5 s, overload,"
        " 3 answers, 33.3 % exact, worst error ±2.3 % (tcp)"
    )


def test_the_log_prints_each_micro_batch_and_note_once() -> None:
    output = io.StringIO()
    with LogView(Console(file=output)) as view:
        for history in (RunHistory(), CALM, CALM, BUSY):
            view.show(history, note="calm" if history is not BUSY else "burst")
    lines = output.getvalue().splitlines()
    assert [line.split(":")[0] for line in lines] == ["calm", "22", "burst", "22"]


def test_json_has_a_line_per_micro_batch() -> None:
    output = io.StringIO()
    with JsonView(output) as view:
        for history in (RunHistory(), CALM, CALM, BUSY):
            view.show(history)
    lines = [json.loads(line) for line in output.getvalue().splitlines()]
    assert [line["micro_batch_id"] for line in lines] == [0, 1]
    assert lines[1]["utilization"] == 0.75
    assert lines[1]["queries"]["tcp"]["relative_error"] == 0.023


class Terminal:
    """A terminal view whose clock is set by hand."""

    def __init__(self) -> None:
        self.now = 0.0
        self.output = io.StringIO()
        console = Console(file=self.output, force_terminal=True, width=100)
        self.view = TerminalView(console, "network.yaml", clock=lambda: self.now)


def test_the_terminal_view_redraws_at_most_twice_a_second() -> None:
    terminal = Terminal()
    with terminal.view as view:
        view.show(CALM)
        once = terminal.output.getvalue()
        terminal.now = 0.1
        view.show(BUSY)
        assert terminal.output.getvalue() == once
        terminal.now = 0.7
        view.show(BUSY)
        assert "overload" in terminal.output.getvalue()


def test_a_new_note_is_drawn_at_once() -> None:
    terminal = Terminal()
    with terminal.view as view:
        view.show(CALM)
        view.show(CALM, note="stopping")
        assert "stopping" in terminal.output.getvalue()


def test_the_last_state_stays_visible() -> None:
    terminal = Terminal()
    with terminal.view as view:
        view.show(CALM)
        view.show(BUSY)
        assert "overload" not in terminal.output.getvalue()
    assert "overload" in terminal.output.getvalue()


def test_a_note_that_ends_leaves_no_line_in_the_log() -> None:
    output = io.StringIO()
    with LogView(Console(file=output)) as view:
        view.show(RunHistory(), note="stopping")
        view.show(RunHistory())
    assert output.getvalue() == "stopping\n"
