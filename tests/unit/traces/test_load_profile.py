from pathlib import Path

import pytest

from streamshed.errors import SourceUnavailableError
from streamshed.traces.errors import InvalidLoadProfileError
from streamshed.traces.load_profile import (
    LoadProfile,
    LoadStep,
    constant_load,
    load_of_rates,
    parse_load_profile,
    read_rates,
)

SECOND = 1_000_000


def test_a_burst() -> None:
    profile = parse_load_profile("1x:60s,5x:60s,1x:60s")
    assert profile.duration_microseconds == 180 * SECOND
    rows = [profile.rows_until(seconds * SECOND, rows_per_second=10) for seconds in (0, 60, 90, 120, 180, 999)]
    assert rows == [0, 600, 2100, 3600, 4200, 4200]


@pytest.mark.parametrize("text", ["2x:1 minute", " 2X : 60 s ", "2.0x:1 minute"])
def test_spellings(text: str) -> None:
    assert parse_load_profile(text).steps == (LoadStep(duration_microseconds=60 * SECOND, factor=2),)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "step 1 of the load profile: expected FACTORx:DURATION"),
        ("1x:60s,", "step 2 .* got ''"),
        ("1x", "step 1 .* got '1x'"),
        ("5:60s", "is the x after the factor missing"),
        ("fivex:60s", "step 1 .* expected a number before the x, got 'fivex'"),
        ("1x:60", "step 1 of the load profile: .*60"),
        ("1x:0s", "step 1 of the load profile: a load step must last longer than 0"),
        ("1x:60s,-1x:60s", "step 2 of the load profile: a load factor must be finite and >= 0, got -1"),
        ("nanx:60s", "must be finite"),
        ("0x:60s", "needs a factor above 0 somewhere"),
    ],
)
def test_what_cannot_be_read_says_where_and_why(text: str, message: str) -> None:
    with pytest.raises(InvalidLoadProfileError, match=message):
        parse_load_profile(text)


def test_a_profile_needs_steps() -> None:
    with pytest.raises(InvalidLoadProfileError, match="at least one step"):
        LoadProfile(steps=())
    with pytest.raises(InvalidLoadProfileError, match="longer than 0"):
        LoadStep(duration_microseconds=-1, factor=1)


def test_what_comes_after_a_load_comes_after_the_silence() -> None:
    profile = parse_load_profile("2x:1s,0x:3s,1x:1s")
    assert profile.time_of_load([0, SECOND, 2 * SECOND, 2.5 * SECOND]).tolist() == [
        0,
        0.5 * SECOND,
        4 * SECOND,
        4.5 * SECOND,
    ]


def test_rates_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "rates.txt"
    path.write_text("# rows per second\n100\n\n 700.5 # the burst\n0\n", encoding="utf-8")
    assert read_rates(path) == load_of_rates([100, 700.5, 0])
    assert read_rates(path).rows_until(3 * SECOND, rows_per_second=1) == 800


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("100\nmany\n", "line 2: expected rows per second, got 'many'"),
        ("# none\n", "rates.txt: a load profile needs at least one step"),
        ("-5", "rates.txt: a load factor must be finite and >= 0"),
    ],
)
def test_a_bad_file_of_rates_says_where(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "rates.txt").write_text(content, encoding="utf-8")
    with pytest.raises(InvalidLoadProfileError, match=message):
        read_rates(tmp_path / "rates.txt")


def test_a_missing_file_of_rates(tmp_path: Path) -> None:
    with pytest.raises(SourceUnavailableError, match=r"rates\.txt: cannot be read"):
        read_rates(tmp_path / "rates.txt")


def test_rounding_loses_no_row() -> None:
    assert constant_load(100 * SECOND).rows_until(100 * SECOND, rows_per_second=4.35) == 435
