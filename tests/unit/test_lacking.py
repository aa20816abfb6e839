import pytest

from tests.lacking import EVERYTHING, lacking


def test_what_a_machine_lacks_skips_a_test_or_fails_it_where_nothing_may_be_skipped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv(EVERYTHING, raising=False)
    with pytest.raises(pytest.skip.Exception, match="no browser"):
        lacking("no browser")
    monkeypatch.setenv(EVERYTHING, "1")
    with pytest.raises(pytest.fail.Exception, match="no browser; STREAMSHED_TEST_EVERYTHING is set"):
        lacking("no browser")
