"""Objects show themselves in ten lines, and in notebooks in full."""

from __future__ import annotations

import streamshed as ss
from streamshed.spark.loop.run_status import QueryStatus, RunStatus

TICKS = ss.stream("ticks", ss.rate(10), time="timestamp")
QUERIES = [TICKS.filter(f"value > {i}").window("1 minute").agg(n="count(*)").query(f"q{i}") for i in range(30)]
NETWORK = ss.network(*QUERIES)


def test_a_network_is_drawn_and_cut_after_ten_lines() -> None:
    lines = repr(NETWORK).splitlines()
    assert lines[:2] == NETWORK.render().splitlines()[:2]
    assert (len(lines), lines[-1]) == (10, f"… {len(NETWORK.render().splitlines()) - 9} more lines")
    assert repr(ss.network(QUERIES[0])) == ss.network(QUERIES[0]).render()


def test_a_notebook_shows_all_of_it_as_text() -> None:
    assert NETWORK._repr_html_().count("query q") == 30
    assert "value &gt; 29" in NETWORK._repr_html_()


def test_parts_are_shown_by_their_address() -> None:
    assert repr([TICKS, QUERIES[1]]) == (
        "[<Stream ticks>, <Query q1: ticks > filter value > 1 > n = count(*) over 1 minute>]"
    )


def test_an_explanation_is_shown_as_text_and_picture() -> None:
    explained = ss.network(QUERIES[0]).explain(load=2.0)
    assert repr(explained) == str(explained)
    assert explained._repr_png_().startswith(b"\x89PNG")


def test_a_status_says_how_its_queries_fare() -> None:
    status = RunStatus(
        clock="time",
        micro_batch_id=3,
        offered_rows=1000,
        admitted_rows=400,
        delay_seconds=2.3,
        processing_seconds=1.2,
        trigger_interval_seconds=2.0,
        reason="overload",
        queries={
            "q": QueryStatus(answers=10, exact_answers=4, gaps=3),
            "exact": QueryStatus(answers=2, exact_answers=2),
        },
        effective_sampling_rates={"q": 0.4},
    )
    assert str(status).splitlines() == [
        "time: micro-batch 3, overload, delay 2.3 s, took 1.2 s of 2 s, 400 of 1 k rows kept",
        "  q: 10 answers, 4 exact, 3 windows missing, from 40 %",
        "  exact: 2 answers, from 100 %",
    ]
    assert str(RunStatus(clock="time")) == "time: before the first micro-batch"
