"""Answers of a demo: a burst from second 10 to 20, windows of 5 s."""

from streamshed.cli.demo.answers import Answer, ExactValue, Pair, paired
from streamshed.cli.demo.result import BurstTimes

SECOND = 1_000_000
TIMES = BurstTimes(begin=110.0, end=120.0, event_begin=10.0, event_end=20.0)


def truth(start: int, value: float, *, query: str = "tcp", key: tuple[str, ...] = ()) -> ExactValue:
    return ExactValue(
        query=query, aggregate="packets", start=start * SECOND, end=(start + 5) * SECOND, key=key, value=value
    )


def answer(
    of: ExactValue, value: float | None, *, width: float | None = None, exact: bool = False, low: bool = False
) -> Answer:
    return Answer(
        query=of.query,
        aggregate=of.aggregate,
        start=of.start,
        end=of.end,
        key=of.key,
        value=value,
        lower=None if width is None or value is None else value - width,
        upper=None if width is None or value is None else value + width,
        exact=exact,
        low=low,
    )


CALM, BURST, AFTER = truth(0, 100), truth(10, 500), truth(20, 100)
WEB = [truth(10, 300, query="web", key=("10.0.0",)), truth(10, 100, query="web", key=("10.0.1",))]


def demo_pairs() -> tuple[Pair, ...]:
    return paired(
        [CALM, BURST, AFTER, *WEB],
        [
            answer(CALM, 100, exact=True),
            answer(AFTER, 100, exact=True),
            answer(BURST, 510, width=20),
            answer(WEB[0], 330, width=20),
        ],
    )
