import pytest

from tests.unit.control.examples import upcoming


@pytest.mark.parametrize(
    ("rows", "backlog_rows", "message"),
    [({"packets": -1}, 0, "rows of 'packets' must be at least 0"), ({}, -5, "rows of 'backlog'")],
)
def test_there_are_no_negative_rows(rows: dict[str, int], backlog_rows: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        upcoming(3, rows, backlog_rows=backlog_rows)
