from pathlib import Path
from unittest.mock import MagicMock

from streamshed.cli.demo.deadline import Deadline
from streamshed.cli.demo.exact_answers import exact_values
from streamshed.cli.demo.exact_sql import EXACT_SQL


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_steps_are_taken_as_long_as_one_more_would_end_in_time() -> None:
    clock = Clock()
    deadline = Deadline(10.0, clock=clock)
    taken = []
    for step in deadline.each(["tcp", "udp", "mail", "large"]):
        taken.append(step)
        clock.now += 4.0
    assert taken == ["tcp", "udp"]
    assert deadline.left_out == ("mail", "large")
    assert deadline.seconds_left == 2.0


def test_the_first_step_is_taken_in_any_case() -> None:
    clock = Clock()
    deadline = Deadline(10.0, clock=clock)
    clock.now = 60.0
    assert list(deadline.each(["tcp", "udp"])) == ["tcp"]
    assert deadline.left_out == ("udp",)


def test_queries_that_would_not_end_in_time_are_not_compared() -> None:
    clock, spark = Clock(), MagicMock()

    def slow(_sql: str) -> MagicMock:
        clock.now += 30.0
        return MagicMock()

    spark.sql.side_effect = slow
    deadline = Deadline(100.0, clock=clock)
    assert list(exact_values(spark, Path("rows"), Path("hosts"), deadline=deadline)) == []
    assert spark.sql.call_count == 3
    assert deadline.left_out == tuple(EXACT_SQL)[3:]


def test_without_a_deadline_all_are() -> None:
    spark = MagicMock()
    assert list(exact_values(spark, Path("rows"), Path("hosts"))) == []
    assert spark.sql.call_count == len(EXACT_SQL)
