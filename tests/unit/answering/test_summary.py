from streamshed.answering.answer.answering import Answering
from streamshed.answering.table.output import Output, Shape
from streamshed.answering.table.summary import Tally, added, summarized
from streamshed.network.terms.aggregate import AggregateKind
from tests.unit.answering.partials import SECOND, kept, partials

COUNT = Shape(AggregateKind.COUNT, counts_rows=True, value=None, key_notations=())
ANSWERING = Answering([Output("q", "s", "n", COUNT, 7, 0)], confidence=0.95)


def test_answers_are_tallied_by_kind_and_query() -> None:
    (table,) = ANSWERING.answers(partials({}, {**kept(0.25, [1.0] * 100), "window_end": 60 * SECOND}))
    tally = summarized(table)["answer", "q"]
    assert (tally.answers, tally.exact_answers, tally.rows) == (2, 1, 101)
    assert (tally.widths_count, tally.latest_window_end) == (2, 60 * SECOND)
    assert 0.16 < tally.widths < 0.18


def test_the_parts_of_a_table_add_up_to_it() -> None:
    rows = [{"rows": count, "rows_weighted": float(count), "window_end": count} for count in (0, 1, 5)]
    (whole,) = ANSWERING.answers(partials(*rows))
    parts = [summarized(whole.slice(0, 1)), {}, summarized(whole.slice(1))]
    assert added(parts) == summarized(whole)
    assert added([]) == {}
    assert Tally() + Tally(latest_window_end=3) == Tally(latest_window_end=3)
