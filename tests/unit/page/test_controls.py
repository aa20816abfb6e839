"""Every control of the page is used, in a browser, and does what it says."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from streamshed.cli.ctl.request_box import RequestBox
from streamshed.network.document.document import network_to_document
from streamshed.page.serving import PageServer
from streamshed.spark.checkpoint.storage import Storage
from streamshed.spark.loop.history import History
from tests.unit.page.recorded import Recorded, row
from tests.unit.page.test_changes import ADDED, changes_of, served

CONTROLS = "a, button, input, select, summary, textarea"
NAME = """(control) => {
  const within = control.closest("thead") ? "column " : (control.closest("dialog")?.id ?? "");
  return control.id || control.dataset.part || control.name || within + control.textContent.trim();
}"""
"""What tells a control from all others."""


@pytest.fixture
def recorded(tmp_path: Path) -> Recorded:
    checkpoint = Recorded(tmp_path)
    checkpoint.add(3)
    checkpoint.add(2, share=0.25, state_rows=70, state_bytes=170_000)
    numbers = History(Storage.at(str(tmp_path)).below("number/journal"))
    numbers.append(row(7, checkpoint.network, clock="number", effective_sampling_rates={}))
    RequestBox(str(tmp_path)).begin(network_to_document(checkpoint.network))
    return checkpoint


class Opened:
    """The page, and which of its controls were used."""

    def __init__(self, page: Page) -> None:
        self.page, self.used = page, set[str]()

    def control(self, selector: str) -> Locator:
        control = self.page.locator(selector)
        self.used.add(control.evaluate(NAME))
        return control

    def says(self, selector: str, text: str) -> None:
        expect(self.page.locator(selector)).to_contain_text(text)

    @property
    def controls(self) -> set[str]:
        return {control.evaluate(NAME) for control in self.page.locator(CONTROLS).all()}


@pytest.fixture
def opened(browser: Browser, recorded: Recorded) -> Iterator[Opened]:
    with PageServer(str(recorded.path), changes=changes_of(recorded)) as server, served(recorded):
        page = browser.new_page()
        with page.expect_response("**/events"):
            page.goto(server.url)
        yield Opened(page)
        page.close()


def use_clocks_and_bundle(opened: Opened) -> None:
    clock = opened.control("#clock")
    clock.select_option("number")
    expect(opened.page.locator("#decisions tbody tr")).to_have_count(1)
    clock.select_option("time")
    expect(opened.page.locator("#decisions tbody tr")).to_have_count(5)
    with opened.page.expect_download() as download:
        opened.control("#bundle a").click()
    assert download.value.suggested_filename == "streamshed-bundle.zip"


def use_table_of_queries(opened: Opened) -> None:
    names = opened.page.locator("#queries tbody tr td:first-child")
    opened.page.keyboard.press("/")
    opened.page.keyboard.type("q1")
    assert opened.control("#filter").input_value() == "q1"
    expect(names).to_have_text(["q1"])
    opened.control("#filter").fill("")
    for column in range(1, opened.page.locator("#queries th").count() + 1):
        opened.control(f"#queries th:nth-child({column}) button").click()
    first = opened.control("#queries th:first-child button")
    first.click()
    expect(names).to_have_text(["q0", "q1", "q2"])
    first.click()
    expect(names).to_have_text(["q2", "q1", "q0"])
    opened.says("#query-count", "3 of 3")


def use_answers(opened: Opened) -> None:
    opened.page.locator("#queries tbody tr", has_text="q1").press("Enter")
    opened.says("#answers", "n 1,000 ± 60")
    for part in ("aggregate", "group"):
        opened.control(f"#answers [data-part={part}]").select_option(index=0, force=True)
    expect(opened.page.locator("#answers canvas")).to_be_visible()
    opened.control("#close-answers").click()
    expect(opened.page.locator("#answers")).to_be_hidden()


def use_network(opened: Opened) -> None:
    opened.says("#network", "holds 170 kB with 2 others")
    opened.says("#network", "25.0 %")
    opened.page.locator("#network g.aggregate").first.click()
    opened.says("#node", "70 rows or groups, 170 kB, together with 2 other nodes of its clock")
    expect(opened.page.locator("#node canvas")).to_have_count(3)
    opened.control("#node button").click()
    for key in ("Enter", " "):
        opened.page.locator("#network g.filter").first.press(key)
        # The dialog stays: the key does not go on to its button.
        opened.page.wait_for_timeout(200)
        expect(opened.page.locator("#node")).to_be_visible()
        opened.says("#node", "nothing")
        opened.page.keyboard.press("Escape")
        expect(opened.page.locator("#node")).to_be_hidden()


def use_path_of_query(opened: Opened) -> None:
    expect(opened.page.locator("#network g[role=button]")).to_have_count(10)
    expect(opened.page.locator("#path")).to_be_disabled()
    opened.page.locator("#queries tbody tr", has_text="q1").click()
    opened.control("#path").check()
    expect(opened.page.locator("#network g[role=button]")).to_have_count(4)
    opened.page.locator("#path").uncheck()
    expect(opened.page.locator("#network g[role=button]")).to_have_count(10)
    opened.page.locator("#close-answers").click()


def use_links_and_keys(opened: Opened) -> None:
    for link in opened.page.locator("nav a:visible").all():
        opened.used.add(link.evaluate(NAME))
        link.press("Enter")
        assert opened.page.evaluate("document.activeElement.id") == (link.get_attribute("href") or "")[1:]
    opened.used.add("Workers")  # it is there where their number changes
    opened.control("#show-keys").click()
    opened.control("#keys button").click()
    opened.page.keyboard.press("?")
    opened.says("#keys", "to another node, query or decision")
    opened.page.keyboard.press("Escape")
    expect(opened.page.locator("#keys")).to_be_hidden()


def use_decisions(opened: Opened) -> None:
    opened.page.locator("#decisions tbody tr").first.click()
    opened.says("#decision", "Micro-batch 4 of the clock time")
    opened.control("#decision button").click()
    expect(opened.page.locator("#decision")).to_be_hidden()


def use_what_if(opened: Opened) -> None:
    summary = opened.control("#what-if summary")
    opened.page.keyboard.press("w")
    opened.says("#what-if [data-part=sentence]", "Nothing is shed.")
    opened.says("#what-if [data-part=course]", "of a goal of 4 s; nothing is shed.")
    expect(opened.page.locator("#what-if canvas:visible")).to_have_count(2)
    opened.control("#what-if [data-part=load]").fill("1.7")
    expect(opened.page.locator("#what-if [data-part=waiting]")).to_be_hidden()
    opened.says("#what-if [data-part=shown]", "50 ×")
    opened.control("#what-if [data-part=policy]").select_option("uniform")
    opened.says("#what-if [data-part=sentence]", "with the policy uniform")
    summary.click()
    expect(opened.page.locator("#what-if [data-part=load]")).to_be_hidden()


def use_changes(opened: Opened) -> None:
    explain, make = (opened.control(f"#change [data-part={part}]") for part in ("explain", "make"))
    close = opened.control("#change button:text-is('Close')")
    opened.control("#add").click()
    opened.control("#change [data-part=fragment]").fill(ADDED)
    explain.click()
    opened.says("#change", "No other query pays for it.")
    make.click()
    opened.says("#change", "Done, with a pause of 500 ms. more: all its windows are whole")
    close.click()
    opened.page.locator("#queries tbody tr", has_text="q0").click()
    opened.control("#change-chosen").click()
    for goal, text in {
        "weight": "3",
        "priority": "1",
        "mode": "subset",
        "max_error": "",
        "max_gap": "4",
        "gaps_by": "window",
        "latency": "",
    }.items():
        opened.control(f"#change [name={goal}]").fill(text)
    explain.click()
    make.click()
    opened.says("#change", "Done")
    close.click()
    opened.control("#remove-chosen").click()
    opened.says("#change", "what changes")
    make.click()
    opened.says("#change", "Done")
    close.click()


def test_every_control_does_what_it_says(opened: Opened, recorded: Recorded) -> None:
    for use in (
        use_clocks_and_bundle,
        use_table_of_queries,
        use_answers,
        use_network,
        use_path_of_query,
        use_decisions,
        use_what_if,
        use_links_and_keys,
    ):
        use(opened)
    use_changes(opened)
    assert opened.used == opened.controls
    running = RequestBox(str(recorded.path)).running()
    assert "q0:" not in running
    assert "more:" in running


def test_what_is_new_appears_by_itself(opened: Opened, recorded: Recorded) -> None:
    opened.control("#clock").select_option("time")
    opened.says("#headline", "25 % of the work is done")
    opened.page.locator("#queries tbody tr", has_text="q1").click()
    canvases = opened.page.locator("canvas")
    expect(canvases).to_have_count(5)
    opened.page.evaluate("() => document.querySelectorAll('canvas').forEach((canvas) => (canvas.isOld = true))")
    recorded.add()
    opened.says("#headline", "of what fits.")
    opened.says("#decisions tbody tr:first-child", "within_budget")
    expect(opened.page.locator("#answers [data-part=table] tbody tr")).to_have_count(6)
    # Charts that were made anew each time would leave their canvases to be collected.
    assert canvases.evaluate_all("(canvases) => canvases.map((canvas) => canvas.isOld)") == [True] * 5


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_is_readable_in_light_and_in_dark(opened: Opened, scheme: str) -> None:
    opened.page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    text, ground = opened.page.evaluate(
        """() => {
          const style = getComputedStyle(document.body);
          const light = (color) => color.match(/[0-9]+/g).reduce((sum, part) => sum + Number(part), 0) / 765;
          return [light(style.color), light(style.backgroundColor)];
        }"""
    )
    darker, lighter = (text, ground) if scheme == "light" else (ground, text)
    assert darker < 0.3
    assert lighter > 0.7
