import json
from datetime import UTC, date, datetime
from decimal import Decimal

import pyarrow as pa
import pytest

from streamshed.traces.json_text import json_members, json_values

NOON = datetime(2004, 11, 9, 12, 0, 0, 976, tzinfo=UTC)


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (pa.array([1, None, -1], pa.int16()), ["1", None, "-1"]),
        (pa.array([True, None, False]), ["true", None, "false"]),
        (pa.array(['a"b', None, "\n\\", "ü"]), [r'"a\"b"', None, r'"\n\\"', '"ü"']),
        (pa.array(["a", None, "a"]).dictionary_encode(), ['"a"', None, '"a"']),
        (pa.array([0.1, None, float("-inf"), float("nan")]), ["0.1", None, '"-Infinity"', '"NaN"']),
        (pa.array([None, 1.0, -0.0], pa.float32()), [None, "1", "-0.0"]),
        (pa.array([NOON, None], pa.timestamp("ns", "UTC")), ['"2004-11-09T12:00:00.000976Z"', None]),
        (pa.array([date(2004, 11, 9), None]), ['"2004-11-09"', None]),
        (pa.array([Decimal("0.0000001"), None]), ["0.0000001", None]),
        (pa.array([b"\xff\x00", None]), ['"/wA="', None]),
        (pa.array([[1, 2], None, []]), ["[1, 2]", None, "[]"]),
        (pa.array([{"at": NOON.replace(tzinfo=None), "on": NOON.date()}]),
         ['{"at": "2004-11-09T12:00:00.000976Z", "on": "2004-11-09"}']),
        (pa.array([[NOON], [None]]), ['["2004-11-09T12:00:00.000976Z"]', "[null]"]),
        (pa.nulls(2), [None, None]),
    ],
)  # fmt: skip
def test_values(column: pa.Array, expected: list[str | None]) -> None:
    assert json_values(column).to_pylist() == expected


def test_names_are_escaped() -> None:
    members = json_members(pa.table({'a "name"': [1], "b": ["x"]})).to_pylist()
    assert json.loads(f"{{{members[0]}}}") == {'a "name"': 1, "b": "x"}


def test_rows_of_several_pieces_stay_in_order() -> None:
    piece = pa.table({"a": [1, 2]})
    table = pa.concat_tables([piece, piece.slice(1), piece])
    assert json_members(table).to_pylist() == ['"a":1', '"a":2', '"a":2', '"a":1', '"a":2']
