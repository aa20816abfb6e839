from pathlib import Path

import pytest

from streamshed.control.needs import InvalidNeedsError, NetworkNeeds, StreamNeeds
from streamshed.errors import SinkUnavailableError
from streamshed.spark.loop.needs_files import NeedsFile, read_needs


def needs(told_at_seconds: float, **rates: float) -> NetworkNeeds:
    streams = {name: StreamNeeds(rows_per_second=rate) for name, rate in rates.items()}
    return NetworkNeeds(told_at_seconds=told_at_seconds, lifetime_seconds=30.0, streams=streams)


def test_what_was_told_is_read(tmp_path: Path) -> None:
    place = str(tmp_path / "new" / "needs.json")
    NeedsFile(place).tell("time", needs(1.0, alerts=5.0))
    assert read_needs(place) == needs(1.0, alerts=5.0)
    assert [file.name for file in (tmp_path / "new").iterdir()] == ["needs.json"]


def test_clocks_are_told_together_and_the_oldest_says_how_old_it_is(tmp_path: Path) -> None:
    place = str(tmp_path / "needs.json")
    file = NeedsFile(place)
    file.tell("a", needs(1.0, alerts=5.0))
    file.tell("b", needs(2.0, flows=7.0))
    assert read_needs(place) == needs(1.0, alerts=5.0, flows=7.0)
    file.tell("a", needs(3.0, alerts=6.0))
    assert read_needs(place) == needs(2.0, alerts=6.0, flows=7.0)


def test_nothing_is_published_yet(tmp_path: Path) -> None:
    assert read_needs(str(tmp_path / "needs.json")) is None
    assert read_needs(str(tmp_path / "nowhere" / "needs.json")) is None


@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe"])
def test_what_cannot_be_read_is_told(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "needs.json").write_bytes(content)
    assert isinstance(read_needs(str(tmp_path / "needs.json")), InvalidNeedsError)
    assert isinstance(read_needs("nothing://knows/needs.json"), InvalidNeedsError)


def test_a_place_that_cannot_be_written_is_refused_at_once(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(SinkUnavailableError, match="cannot write"):
        NeedsFile(str(tmp_path / "file" / "needs.json"))
    with pytest.raises(SinkUnavailableError, match="names a folder"):
        NeedsFile(f"{tmp_path}/")


def test_a_place_that_goes_away_is_no_reason_to_stop(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    place = tmp_path / "needs"
    file = NeedsFile(str(place / "needs.json"))
    place.rmdir()
    place.touch()
    file.tell("time", needs(1.0))
    assert "cannot be published" in caplog.text
