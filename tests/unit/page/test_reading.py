"""What the page looks like to who reads it: nothing is cut, hidden, or told by color alone."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from streamshed.page.serving import PageServer
from tests.unit.page.recorded import Recorded

CUT = "(cells) => cells.filter((cell) => cell.scrollWidth > cell.clientWidth + 1).map((cell) => cell.textContent)"
IN_SIGHT = """(element) => {
  const { left, top, right, bottom } = element.getBoundingClientRect();
  return left >= 0 && top >= 0 && right <= innerWidth && bottom <= innerHeight;
}"""
BOX = "(element) => element.getBoundingClientRect().toJSON()"
SECTIONS = "Time and load,Network,Queries,Decisions,Workers,What if (w),Changes,Bundle for support"


@pytest.fixture
def recorded(tmp_path: Path) -> Recorded:
    return Recorded(tmp_path)


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    opened = browser.new_page(viewport={"width": 1280, "height": 900}, locale="en-US", timezone_id="UTC")
    yield opened
    opened.close()


@contextmanager
def shown(page: Page, recorded: Recorded, more: str = "") -> Iterator[None]:
    with PageServer(str(recorded.path)) as server:
        page.goto(f"{server.url}?still{more}")
        page.wait_for_selector("html[data-shown=all]")
        yield


def recent(number: int) -> float:
    """When a micro-batch begins that has just finished, or one before it."""
    return time.time() - 1.25 - 2 * number


def widths(locator: Locator) -> list[str]:
    cut: list[str] = locator.evaluate_all(CUT)
    return cut


def answers_are(recorded: Recorded, **changed: Any) -> None:
    """Let the latest answers of all queries be others."""
    latest = max((recorded.path / "time").glob("answers/*.json"))
    document = json.loads(latest.read_text())
    for answer in document["answers"]:
        answer.update(changed)
    latest.write_text(json.dumps(document))


def test_sections_stand_in_order_of_what_is_asked_first(page: Page, recorded: Recorded) -> None:
    recorded.add(2, workers_running=2, workers_starting=0, workers_wanted=2, scaling_reason="steady", skew=1.0)
    with shown(page, recorded):
        assert ",".join(page.locator("h2").all_text_contents()) == SECTIONS
        tops = page.locator("h2:visible").evaluate_all("(heads) => heads.map((head) => head.getBoundingClientRect().y)")
        assert tops == sorted(tops)
        assert not widths(page.locator("#workers"))


def test_a_run_that_has_died_does_not_look_well(page: Page, recorded: Recorded) -> None:
    recorded.add(2)
    with shown(page, recorded):
        headline = page.locator("#headline")
        expect(headline).to_contain_text("Ended or hangs: nothing since 11/14/23, ")
        expect(headline).to_contain_text("At last: in time: answers come 3.25 s")
        expect(headline).to_have_class("old")
        expect(page.locator("#decisions tbody td").first).to_contain_text("11/14/23, ")


def test_a_run_that_goes_on_has_no_dates_of_today(page: Page, recorded: Recorded) -> None:
    recorded.add(1, started_at_seconds=recent(0))
    with shown(page, recorded):
        expect(page.locator("#headline")).to_have_class("good")
        assert "/" not in (page.locator("#decisions tbody td").first.text_content() or "")


def test_what_would_fit_is_a_line_beside_what_came(page: Page, recorded: Recorded) -> None:
    recorded.add(2, share=0.25)
    with shown(page, recorded):
        legend = page.locator(".chart", has_text="Rows per second").locator(".u-legend")
        # 2,500 rows/s are three times what fits. Without a cursor the latest values are told.
        for text in ("came2,500", "worked on625", "would fit833.3", "at11/14/23"):
            assert text.replace(" ", "") in "".join((legend.text_content() or "").split()).replace(":", "")


@pytest.mark.parametrize("missing", [{"budget_seconds": 0.0}, {"offered_rows": 0}, {"unshed_seconds": 0.0}])
def test_what_would_fit_is_left_out_where_it_is_not_known(
    page: Page, recorded: Recorded, missing: dict[str, Any]
) -> None:
    recorded.add(2, **missing)
    with shown(page, recorded):
        fits = page.locator(".u-series", has_text="would fit").locator(".u-value")
        expect(fits).to_have_text("–")


def test_what_is_lost_is_a_word(page: Page, recorded: Recorded) -> None:
    recorded.add(1, share=0.25, kept_shares={"q1": 0.5}, missed_goals="q2", samplers={})
    with shown(page, recorded):
        assert page.locator("#queries td.state").all_text_contents() == ["sampled", "windows dropped", "goal missed"]
        colors = page.locator("#queries tbody tr:first-child td").evaluate_all(
            "(cells) => [...new Set(cells.map((cell) => getComputedStyle(cell).color))].length"
        )
        assert colors == 2  # of the word, and of all else


def test_numbers_are_not_cut_and_exact_ones_have_all_digits(page: Page, recorded: Recorded) -> None:
    recorded.add(2)
    answers_are(recorded, value=2_567_512.0, lower=2_567_512.0, upper=2_567_512.0)
    with shown(page, recorded, "&query=q1"):
        expect(page.locator("#queries tbody td:nth-child(4)").first).to_have_text("n 2,567,512")
        assert page.locator("#answers [data-part=table] tbody tr").first.locator("td").all_text_contents()[1:4] == [
            "n 2,567,512",
            "2,567,512",
            "2,567,512",
        ]
    answers_are(recorded, value=112_100_000.0, lower=106_500_000.0, upper=117_700_000.0, exact=False, confidence=0.95)
    with shown(page, recorded):
        expect(page.locator("#queries tbody td:nth-child(4)").first).to_have_text("n 112,100,000 ± 5,600,000")
        assert widths(page.locator("#queries th, #queries td, #decisions th, #decisions td")) == []


def test_on_a_narrow_page_names_stay_and_reasons_are_in_sight(page: Page, recorded: Recorded) -> None:
    recorded.add(2)
    page.set_viewport_size({"width": 700, "height": 900})
    with shown(page, recorded):
        why = page.locator("#decisions tbody td.wide").first
        why.scroll_into_view_if_needed()
        assert why.evaluate(IN_SIGHT)
        table = page.locator(".scrolled:has(#queries)")
        table.evaluate("(box) => (box.scrollLeft = 400)")
        assert page.locator("#queries tbody td").first.evaluate(IN_SIGHT)
        assert page.evaluate("document.documentElement.scrollWidth") <= 700
        assert widths(page.locator("#queries th, #queries td")) == []


def test_a_long_dialog_is_read_from_its_title_and_can_be_closed(page: Page, tmp_path: Path) -> None:
    recorded = Recorded(tmp_path, 60)
    recorded.add(2)
    with shown(page, recorded):
        row = page.locator("#decisions tbody tr").first
        for key in ("Enter", " "):
            row.press(key)
            title = page.locator("#decision-title")
            expect(title).to_be_focused()
            assert title.evaluate(IN_SIGHT)
            assert page.locator("#decision button").evaluate(IN_SIGHT)
            page.locator("#decision").evaluate("(dialog) => (dialog.scrollTop = 9999)")
            page.keyboard.press("Escape")
            expect(row).to_be_focused()


@pytest.mark.parametrize("table", ["queries", "decisions"])
def test_tables_are_one_stop_each_and_walked_by_keys(page: Page, tmp_path: Path, table: str) -> None:
    recorded = Recorded(tmp_path, 100)
    recorded.add(100)
    names = "(rows) => rows.map((row) => row.dataset.name ?? row.dataset.number)"
    with shown(page, recorded):
        stops = page.locator(f"#{table} tbody tr[tabindex='0']")
        expect(stops).to_have_count(1)
        stops.focus()
        places, focused = [], page.locator(f"#{table} tbody tr:focus")
        for key in ("ArrowDown", "ArrowDown", "ArrowUp", "PageDown", "End", "ArrowDown", "ArrowUp", "Home"):
            page.keyboard.press(key)
            places += focused.evaluate_all(names)
            assert focused.evaluate(IN_SIGHT)
        newest_first = [str(99 - number) for number in range(100)]
        by_name = [query.name for query in sorted(recorded.network.queries, key=lambda query: query.name)]
        order = by_name if table == "queries" else newest_first
        assert places == [order[place] for place in (1, 2, 1, 11, 99, 99, 98, 0)]
        expect(stops).to_have_count(1)


def test_few_stops_lead_through_the_page(page: Page, tmp_path: Path) -> None:
    recorded = Recorded(tmp_path, 100)
    recorded.add(20)
    with shown(page, recorded):
        # Whichever row was the stop, one that is shown is it.
        page.locator("#filter").fill("q77")
        expect(page.locator("#queries tbody tr")).to_have_count(1)
        expect(page.locator("#queries tbody tr[tabindex='0']")).to_have_count(1)
        focusable = "a[href], button, input, select, summary, textarea, [tabindex='0']"
        assert page.locator(focusable).locator("visible=true").count() < 40


def test_of_many_queries_those_in_sight_are_in_the_document(page: Page, tmp_path: Path) -> None:
    recorded = Recorded(tmp_path, 300)
    recorded.add(2)
    rows, box = page.locator("#queries tbody tr"), page.locator(".scrolled:has(#queries)")
    with shown(page, recorded):
        height = box.evaluate("(box) => box.scrollHeight")
        for share in (0.0, 0.37, 1.0, 0.2):
            box.evaluate("(box, share) => box.scrollTo(0, share * box.scrollHeight)", share)
            page.wait_for_timeout(200)
            assert rows.count() < 60
            edges = box.evaluate(
                """(box) => {
                  const { top, bottom } = box.getBoundingClientRect();
                  const rows = [...box.querySelectorAll("tbody tr")].map((row) => row.getBoundingClientRect());
                  return [rows[0].top - top, rows.at(-1).bottom - bottom, box.scrollHeight];
                }"""
            )
            assert edges[0] < 60  # below the heads at most
            assert edges[1] > -5
            assert edges[2] == pytest.approx(height, abs=3)
        # Rows come and go beside one that has the focus.
        rows.nth(20).focus()
        name = page.evaluate("document.activeElement.dataset.name")
        box.evaluate("(box) => box.scrollBy(0, 200)")
        page.wait_for_timeout(200)
        assert page.evaluate("document.activeElement.dataset.name") == name


def test_the_band_is_named_once(page: Page, recorded: Recorded) -> None:
    recorded.add(2)
    recorded.add(2, share=0.25)
    with shown(page, recorded, "&query=q1"):
        labels = page.locator("#answers .u-label:visible").all_text_contents()
        assert labels == ["window until", "bounds", "answer", "exact", "estimated"]
        assert page.locator("#answers .u-value:visible").all_text_contents()[1:3] == ["940 to 1,060", "1,000"]


def test_what_if_says_sentences_and_that_it_waits(page: Page, recorded: Recorded) -> None:
    recorded.add(3)
    plan: dict[str, Any] = {}
    with shown(page, recorded):

        def slowly(route: Any) -> None:
            plan.update(route.fetch().json())
            plan["queries"] = [query | {"kept_share": 0.5, "meets_goal": False} for query in plan["queries"][:1]]
            page.wait_for_timeout(300)
            route.fulfill(json=plan)

        page.route("**/what-if.json*", slowly)
        page.keyboard.press("w")
        expect(page.locator("#what-if [data-part=waiting]")).to_be_visible()
        sentence = page.locator("#what-if [data-part=sentence]")
        expect(sentence).to_contain_text("Windows of 1 query are dropped. 1 query misses its goal.")
        expect(page.locator("#what-if [data-part=waiting]")).to_be_hidden()


def test_the_course_of_a_load_is_a_sentence_and_two_charts(page: Page, recorded: Recorded) -> None:
    recorded.add(3)
    changes: dict[str, Any] = {}
    with shown(page, recorded):

        def changed(route: Any) -> None:
            plan = route.fetch().json()
            route.fulfill(json=plan | {"course": plan["course"] | changes})

        page.route("**/what-if.json*", changed)
        page.keyboard.press("w")
        sentence = page.locator("#what-if [data-part=course]")
        expect(sentence).to_have_text("If it came now for 40 s: delay reaches 2.4 s of a goal of 4 s; nothing is shed.")
        titles, legends = page.locator("#what-if .u-title"), page.locator("#what-if .u-value")
        expect(titles).to_have_text(["Delay of answers if it came now, seconds", "Kept if it came now, percent"])
        # Ten micro-batches after 40 s of load; a legend tells the latest.
        expect(legends).to_have_text(["60", "2.401", "4", "60", "100"])
        changes |= {"worst_delay_seconds": 9.5, "within_goal_from_seconds": 52.0, "whole_from_seconds": 16.0}
        page.locator("#what-if [data-part=load]").fill("0.3")
        expect(sentence).to_contain_text("delay reaches 9.5 s, the goal is 4 s, and it is within it again 6 s after it")
        expect(sentence).to_contain_text("has gone; all is kept again 10 s after it came.")
        changes |= {"within_goal_from_seconds": None, "whole_from_seconds": None}
        changes |= {"is_complete": False, "end_seconds": 18.0}
        page.locator("#what-if [data-part=load]").fill("0.6")
        expect(sentence).to_have_text(
            "If it came now, the first 12 s of 40 s, for more there was no time to simulate: delay reaches 9.5 s, the"
            " goal is 4 s, and it is over it at the end; something is shed until the end."
        )


def test_nothing_runs_together(page: Page, recorded: Recorded) -> None:
    recorded.add(2)
    with shown(page, recorded):
        count, hint = (page.locator(part).first.evaluate(BOX) for part in ("#query-count", "#query-count ~ .hint"))
        assert count["y"] + count["height"] <= hint["y"] + 1
        last, footer = (page.locator(part).evaluate(BOX) for part in ("#bundle", "footer"))
        assert footer["y"] - last["y"] - last["height"] > 10
