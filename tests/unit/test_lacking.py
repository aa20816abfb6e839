import pytest

from tests.lacking import EVERYTHING, lacking


def test_what_a_machine_lacks_skips_a_test_or_fails_it_where_nothing_may_be_skipped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv(EVERYTHING, raising=False)
    assert _outcome() == (pytest.skip.Exception, "no browser")
    monkeypatch.setenv(EVERYTHING, "1")
    assert _outcome() == (pytest.fail.Exception, "no browser; STREAMSHED_TEST_EVERYTHING is set")


def _outcome() -> tuple[type[BaseException], str]:
    """How a test ends that lacks a browser; both ways are caught here, so that neither ends the test that asks."""
    with pytest.raises((pytest.skip.Exception, pytest.fail.Exception)) as ended:
        lacking("no browser")
    return ended.type, str(ended.value)
