import pytest

from streamshed.errors import InvalidNetworkError
from streamshed.network.terms.window import Edge, WindowSpecification
from tests.oracles.windows_of_a_row import windows_containing


@pytest.mark.parametrize(
    ("size", "slide", "problem"),
    [
        (0, 1, "size must be positive, got 0 seconds"),
        (-5, 1, "size must be positive, got -5 microseconds"),
        (5, 0, "slide must be positive"),
        (60_000_000, 120_000_000, "a slide of 2 minutes and a size of 1 minute: .*are the two swapped"),
    ],
)
def test_windows_that_cannot_be(size: int, slide: int, problem: str) -> None:
    with pytest.raises(InvalidNetworkError, match=problem):
        WindowSpecification(size, slide)


def test_offsets_that_differ_by_slides_name_the_same_windows() -> None:
    assert WindowSpecification(10, 4, 1) == WindowSpecification(10, 4, 9) == WindowSpecification(10, 4, -3)


def test_starts_and_ends_coincide_when_the_size_is_a_multiple_of_the_slide() -> None:
    assert WindowSpecification(12, 4, 3).edges == (Edge(4, 3),)


def test_starts_and_ends_are_apart_otherwise() -> None:
    assert WindowSpecification(10, 4, 3).edges == (Edge(4, 3), Edge(4, 1))


def test_instants_before_the_epoch_have_windows() -> None:
    assert list(windows_containing(WindowSpecification(10, 5), -1)) == [-10, -5]


@pytest.mark.parametrize(
    ("window", "text"),
    [
        (WindowSpecification(60_000_000, 60_000_000), "1 minute"),
        (WindowSpecification(60_000_000, 10_000_000), "1 minute every 10 seconds"),
        (
            WindowSpecification(60_000_000, 10_000_000, 1_000),
            "1 minute every 10 seconds offset 1 millisecond",
        ),
    ],
)
def test_windows_say_what_they_are(window: WindowSpecification, text: str) -> None:
    assert str(window) == text
