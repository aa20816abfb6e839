"""Pictures have seven colors, the page its own, and people who are color-blind tell them apart."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from itertools import combinations
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from streamshed.dashboard.png import COLORS
from tests.unit.documentation import ROOT

DRAWING = {"axhline", "axhspan", "axvline", "axvspan", "bar", "barh", "fill_between", "plot", "scatter", "step"}
"""Methods of axes that take the next color of Matplotlib where none is given."""

FILES = [
    file
    for folder in ("src/streamshed", "benchmarks/streamshed_bench", "scripts")
    for file in (ROOT / folder).rglob("*.py")
    if "matplotlib" in file.read_text("utf-8") and file.name != "png.py"
]

PAGE = (ROOT / "src/streamshed/page/static/page.css").read_text("utf-8")

# How those see linear RGB who lack a kind of cone: G. Machado, M. Oliveira, L. Fernandes, A Physiologically-based Model
# for Simulation of Color Vision Deficiency, IEEE TVCG 15 (2009), table of severity 1.
SEEN_BY = {
    "all": np.eye(3),
    "protanopes": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "deuteranopes": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
    "tritanopes": np.array(
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]
    ),
}
JUST_NOTICED = 2.3
"""The distance in CIELAB at which colors begin to differ: G. Sharma, Digital Color Imaging Handbook (2003)."""

Numbers = npt.NDArray[np.float64]


def lab(linear: Numbers) -> Numbers:
    """CIELAB of linear sRGB, for the white point D65."""
    xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]) @ linear
    x, y, z = (
        share ** (1 / 3) if share > (6 / 29) ** 3 else share / (3 * (6 / 29) ** 2) + 4 / 29
        for share in xyz / np.array([0.9505, 1.0, 1.089])
    )
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def seen(color: str, by: str) -> Numbers:
    parts = np.array([int(color[place : place + 2], 16) / 255 for place in (1, 3, 5)])
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    return lab(np.clip(SEEN_BY[by] @ linear, 0, 1))


def least_distance(colors: Iterable[str], by: str) -> float:
    return min(float(np.linalg.norm(seen(one, by) - seen(other, by))) for one, other in combinations(colors, 2))


@pytest.mark.parametrize("by", SEEN_BY)
def test_everybody_tells_all_colors_apart(by: str) -> None:
    assert len(set(COLORS)) == 7
    assert least_distance(COLORS, by) > 4 * JUST_NOTICED


@pytest.mark.parametrize("by", SEEN_BY)
@pytest.mark.parametrize("names", [("good", "shedding", "late"), ("good", "blue", "orange", "gray")])
def test_everybody_tells_states_and_lines_of_the_page_apart(names: tuple[str, ...], by: str) -> None:
    light_and_dark = PAGE.split("prefers-color-scheme: dark")
    assert len(light_and_dark) == 2
    for text in light_and_dark:
        colors = dict(re.findall(r"--(\w+): (#[0-9a-f]{6});", text))
        assert least_distance([colors[name] for name in names], by) > 4 * JUST_NOTICED


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_whatever_is_drawn_has_one_of_them(file: Path) -> None:
    text = file.read_text("utf-8")
    assert re.findall(r"\"(#[0-9a-fA-F]{6}|C\d|tab:\w+)\"", text) == []
    calls = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)]
    uncolored = [
        ast.unparse(call)
        for call in calls
        if isinstance(call.func, ast.Attribute)
        and call.func.attr in DRAWING
        and "color" not in {keyword.arg for keyword in call.keywords}
        and not any(isinstance(word, ast.Constant) and str(word.value).startswith("k") for word in call.args)
    ]
    assert uncolored == []
