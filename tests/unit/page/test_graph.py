"""The graph of the network: where its nodes stand, and whose figures they have."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from streamshed.network.model.declared_stream import stream
from streamshed.network.model.network import network
from streamshed.network.source.sources import rate
from streamshed.page.serving import PageServer
from tests.unit.page.recorded import Recorded

NETWORKS = 20
LAYOUTS = """async (networks) => {
  const { layout, sizeOf } = await import("./static/layout.js");
  return Promise.all(networks.map(async (things) => {
    const { places, arrows, ...size } = await layout(things);
    const boxes = things.map((thing) => ({ key: thing.key, ...places.get(thing.key), ...sizeOf(thing) }));
    const paths = arrows.map(({ path }) => {
      const drawn = document.createElementNS("http://www.w3.org/2000/svg", "path");
      drawn.setAttribute("d", path);
      const length = drawn.getTotalLength();
      return Array.from({ length: 200 }, (_, part) => drawn.getPointAtLength((part * length) / 199));
    });
    const isWithin = ({ x, y }, label) =>
      x > label.x + 2 && x < label.x + label.width - 2 && y > label.y + 2 && y < label.y + label.height - 2;
    const crossed = arrows.filter(({ label }) => paths.flat().some((point) => isWithin(point, label)));
    return { ...size, boxes, arrows, crossed: crossed.map(({ from, to }) => `${from} → ${to}`) };
  }));
}"""
BOXES = """(boxes) => boxes.map((box) => {
  const { x, y, width, height } = box.getBoundingClientRect();
  return { x, y, width, height };
})"""


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    opened = browser.new_page(viewport={"width": 1280, "height": 900})
    yield opened
    opened.close()


def random_network(seed: int) -> list[dict[str, Any]]:
    """Nodes with their inputs: chains, joins, streams that are only joined, several streams."""
    draw = random.Random(seed)
    things: list[dict[str, Any]] = []
    for number in range(draw.randint(2, 30)):
        count = 0 if number < 2 else draw.choice([0, 1, 1, 1, 1, 2])
        inputs = draw.sample([thing["key"] for thing in things], count)
        things.append({"key": f"n{number}", "inputs": inputs})
    return things


def overlap(left: dict[str, Any], right: dict[str, Any]) -> bool:
    """Whether two rectangles have some of their inside in common."""
    return all(
        left[at] + 0.5 < right[at] + right[extent] and right[at] + 0.5 < left[at] + left[extent]
        for at, extent in (("x", "width"), ("y", "height"))
    )


def test_no_two_nodes_overlap_and_arrows_lead_to_the_right(page: Page, tmp_path: Path) -> None:
    networks = [random_network(seed) for seed in range(NETWORKS)]
    networks.append([{"key": "left", "inputs": []}, {"key": "right", "inputs": []}])
    networks[-1].append({"key": "pairs", "inputs": ["left", "right"]})
    with PageServer(str(tmp_path)) as server:
        page.goto(server.url)
        laid = page.evaluate(LAYOUTS, networks)
    for things, drawn in zip(networks, laid, strict=True):
        boxes = {box["key"]: box for box in drawn["boxes"]}
        # What stands at arrows keeps clear of frames, too.
        drawn_parts = [*boxes.values(), *(arrow["label"] for arrow in drawn["arrows"])]
        for number, part in enumerate(drawn_parts):
            assert 0 <= part["x"] <= drawn["width"] - part["width"]
            assert not any(overlap(part, other) for other in drawn_parts[number + 1 :])
        assert {(arrow["from"], arrow["to"]) for arrow in drawn["arrows"]} == {
            (given, thing["key"]) for thing in things for given in thing["inputs"]
        }
        assert drawn["crossed"] == []
        for arrow in drawn["arrows"]:
            start = boxes[arrow["from"]]
            assert start["x"] + start["width"] < boxes[arrow["to"]]["x"]


def test_a_query_named_like_a_stream_has_figures_of_its_own(page: Page, tmp_path: Path) -> None:
    ticks = stream("ticks", rate(100), time="timestamp")
    counted = ticks.window("10 seconds").agg(n="count(*)")
    recorded = Recorded(tmp_path, asked=network(counted.query("ticks"), ticks.filter("value > 1").query("large")))
    recorded.add(2, samplers={"query ticks": 0.25}, effective_sampling_rates={"ticks": 0.25, "large": 1.0})
    with PageServer(str(tmp_path)) as server:
        costs = page.request.get(f"{server.url}nodes.json").json()
        of_ticks = {node["is_query"]: node for node in costs if node["address"] == "ticks"}
        assert of_ticks[False]["seconds_per_row"] != of_ticks[True]["seconds_per_row"]
        assert [node["address"] for node in costs if "selectivity" in node] == ["ticks > filter value > 1"]
        past_of = f"{server.url}past/time?node=ticks&kind="
        pasts = [page.request.get(past_of + kind).json() for kind in ("stream", "query")]
        assert ["effective_sampling_rate" in past[0] for past in pasts] == [False, True]
        page.goto(f"{server.url}?still")
        page.wait_for_selector("html[data-shown=all]")
        texts = {
            kind: page.locator(f"#network g.{kind}", has_text="ticks").locator(".cost").first.text_content()
            for kind in ("stream", "query")
        }
        assert texts["stream"] != texts["query"]
        # Half of the rows are for the query whose sampler it is, and all of them for the other.
        assert page.locator("#network .rate", has_text="▼").all_text_contents() == ["▼ 25.0 %"]


def test_a_large_network_shows_some_queries_and_the_path_of_the_chosen(page: Page, tmp_path: Path) -> None:
    recorded = Recorded(tmp_path, 60)
    recorded.add(3, state_rows=70, state_bytes=170_000)
    nodes = page.locator("#network g[role=button]")
    with PageServer(str(tmp_path)) as server:
        page.goto(server.url)
        expect(nodes).to_have_count(1 + 3 * 50)
        stream_box, graph = (
            page.locator(part).evaluate_all(BOXES)[0] for part in ("#network g.stream .frame", "#network .graph")
        )
        assert graph["y"] < stream_box["y"] < graph["y"] + graph["height"]
        page.locator("#filter").fill("q5")
        expect(nodes).to_have_count(1 + 3 * 11)
        page.locator("#queries tbody tr", has_text="q59").click()
        page.locator("#path").check()
        expect(nodes).to_have_count(4)
        # What holds state together is all of it, not what is drawn.
        expect(page.locator("#network g.aggregate .cost").last).to_have_text("holds 170 kB with 59 others")


def test_it_fits_its_place_or_says_that_there_is_more(page: Page, tmp_path: Path) -> None:
    ticks = stream("ticks", rate(100), time="timestamp")
    filtered = ticks.filter("value > 0")
    for number in range(1, 5):
        filtered = filtered.filter(f"value > {number}")
    Recorded(tmp_path, asked=network(filtered.window("10 seconds").agg(n="count(*)").query("deep"))).add(2)
    more, last = page.locator("#network [data-part=more]"), page.locator("#network g.query .frame")
    with PageServer(str(tmp_path)) as server:
        page.goto(server.url)
        expect(more).to_be_visible()
        page.locator("#network .graph").evaluate("(graph) => graph.scrollTo(9999, 0)")
        expect(more).to_be_hidden()
        page.set_viewport_size({"width": 1700, "height": 900})
        page.add_style_tag(content="body { max-width: none !important; }")
        expect(more).to_be_hidden()
        assert last.evaluate_all(BOXES)[0]["x"] < 1600


def test_it_is_walked_by_keys(page: Page, tmp_path: Path) -> None:
    Recorded(tmp_path).add(2)
    with PageServer(str(tmp_path)) as server:
        page.goto(server.url)
        stops = page.locator("#network g[tabindex='0']")
        expect(stops).to_have_count(1)
        stops.focus()
        at = "document.activeElement.dataset.key"
        walked = [page.evaluate(at)]
        for key in ("ArrowRight", "ArrowDown", "ArrowRight", "ArrowRight", "ArrowLeft", "End", "Home"):
            page.keyboard.press(key)
            walked.append(page.evaluate(at))
        aggregate = "ticks > filter value > 1 > n = count(*) over 10 seconds"
        assert walked == [
            "ticks",
            "ticks > filter value > 0",
            "ticks > filter value > 1",
            aggregate,
            "query q1",
            aggregate,
            "query q2",
            "ticks",
        ]
        expect(stops).to_have_count(1)
