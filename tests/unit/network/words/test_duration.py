import pytest

from streamshed.errors import InvalidNetworkError
from streamshed.network.words.duration import format_duration, parse_duration


@pytest.mark.parametrize(
    ("text", "microseconds"),
    {
        "5 minutes": 300_000_000,
        "1 minute": 60_000_000,
        "200 ms": 200_000,
        "200ms": 200_000,
        "1 hour 30 minutes": 5_400_000_000,
        "1 Hour, 30 Minutes": 5_400_000_000,
        "1.5 seconds": 1_500_000,
        "0.000001 s": 1,
        "2 weeks": 1_209_600_000_000,
        "1d": 86_400_000_000,
        "7 µs": 7,
        "0 seconds": 0,
    }.items(),
)
def test_durations_are_read(text: str, microseconds: int) -> None:
    assert parse_duration(text) == microseconds


@pytest.mark.parametrize(
    ("text", "problem"),
    {
        "": "is no duration",
        "5": "is no duration",
        "minutes": "is no duration",
        "-5 minutes": "is no duration",
        "5 minutes ago": "is no duration",
        "5 minuts": 'unknown unit "minuts" \\(did you mean "minutes"\\?\\) in "5 minuts"',
        "1 month": "the length of a month varies",
        "0.5 us": "no whole number of microseconds",
    }.items(),
)
def test_what_is_no_duration_is_refused(text: str, problem: str) -> None:
    with pytest.raises(InvalidNetworkError, match=problem):
        parse_duration(text)


def test_text_only() -> None:
    with pytest.raises(InvalidNetworkError, match="a duration is text"):
        parse_duration(5)  # type: ignore[arg-type]


def test_negative_durations_cannot_be_written() -> None:
    with pytest.raises(InvalidNetworkError, match="cannot be negative"):
        format_duration(-1)
