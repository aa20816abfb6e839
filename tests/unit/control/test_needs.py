import json
import math

import pytest

from streamshed.control.needs import InvalidNeedsError, NetworkNeeds, StreamNeeds


def needs(**streams: StreamNeeds) -> NetworkNeeds:
    return NetworkNeeds(told_at_seconds=100.0, lifetime_seconds=30.0, streams=streams)


def test_everything_is_read_as_it_was_written() -> None:
    told = needs(
        alerts=StreamNeeds(rows_per_second=12.5, kept_shares={"q": 0.4}, unneeded=((-5, 0), (7, 9))),
        others=StreamNeeds(),
    )
    assert NetworkNeeds.from_json(told.to_json()) == told


def test_it_holds_for_its_lifetime_and_not_long_before_it_was_told() -> None:
    told = needs()
    assert [told.holds_at(now) for now in (69.0, 70.0, 100.0, 130.0, 131.0)] == [False, True, True, True, False]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "null",
        "{}",
        '{"format": 1}',
        '{"format": 1, "told_at_seconds": 1, "lifetime_seconds": 1, "streams": []}',
        '{"format": 1, "told_at_seconds": 1, "lifetime_seconds": 1, "streams": {"a": {}}}',
        '{"format": 1, "told_at_seconds": 1, "lifetime_seconds": 1, "streams": {"a": {"rows_per_second": "x"}}}',
        '{"format": 1, "told_at_seconds": null, "lifetime_seconds": 1, "streams": {}}',
    ],
)
def test_what_is_something_else_is_refused(text: str) -> None:
    with pytest.raises(InvalidNeedsError, match="not what a network publishes"):
        NetworkNeeds.from_json(text)


def test_another_format_is_named() -> None:
    document = json.loads(needs().to_json()) | {"format": 2}
    with pytest.raises(InvalidNeedsError, match="format 1 is known, got 2"):
        NetworkNeeds.from_json(json.dumps(document))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"rows_per_second": -1.0}, "finite and at least 0"),
        ({"rows_per_second": math.nan}, "finite and at least 0"),
        ({"kept_shares": {"q": 1.5}}, "a share of its windows"),
        ({"unneeded": ((4, 4),)}, "must end after it starts"),
    ],
)
def test_needs_that_cannot_be_are_refused(settings: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidNeedsError, match=message):
        StreamNeeds(**settings)  # type: ignore[arg-type]


@pytest.mark.parametrize("times", [{"lifetime_seconds": 0.0}, {"told_at_seconds": math.inf}])
def test_times_that_cannot_be_are_refused(times: dict[str, float]) -> None:
    with pytest.raises(InvalidNeedsError, match="told at some time and hold for a while"):
        NetworkNeeds(**{"told_at_seconds": 1.0, "lifetime_seconds": 1.0, **times}, streams={})
