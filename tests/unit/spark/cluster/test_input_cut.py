"""The fewer rows are worked on, the finer files are cut."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from streamshed.spark.cluster.input_cut import MOST_PARTS_PER_CORE, PARTS_PER_CORE, WindowPieces

CORES = 3


@dataclass
class Asked:
    """What was asked of a cut."""

    pieces: list[int] = field(default_factory=list)

    def cut(self, pieces: int, why: str) -> None:
        """Remember it."""
        assert why
        self.pieces.append(pieces)


def test_files_are_cut_for_what_the_latest_micro_batches_had_to_work_on() -> None:
    asked = Asked()
    pieces = WindowPieces(asked, CORES)
    # Windows are kept in runs: a micro-batch has them or has none.
    for share in [1.0] * 8 + [1.0, 0.0, 0.0, 0.0] * 2 + [0.0] * 7 + [1.0] * 9:
        pieces.tell({"rows": 100}, {"rows": share})
    per_core = [one // CORES for one in asked.pieces]
    assert set(per_core[:9]) == {0}
    assert per_core[9] == PARTS_PER_CORE
    assert per_core[15] == 2 * PARTS_PER_CORE
    assert max(per_core) == MOST_PARTS_PER_CORE
    assert per_core[-3:] == [PARTS_PER_CORE, 0, 0]


@pytest.mark.parametrize(("shares", "expected"), [({"few": 0.0}, 16), ({"many": 0.2}, 8), ({"many": 0.1}, 16), ({}, 0)])
def test_streams_count_by_their_rows(shares: dict[str, float], expected: int) -> None:
    asked = Asked()
    pieces = WindowPieces(asked, 1)
    rows = {"few": 10, "many": 90} if "few" not in shares else {"few": 90, "rest": 10}
    pieces.tell(rows, shares)
    pieces.tell({"few": 0}, shares)
    assert asked.pieces[-1] == expected


def test_files_are_cut_into_no_more_pieces_than_they_have() -> None:
    asked = Asked()
    pieces = WindowPieces(asked, CORES)
    for most in (2, 5, None):
        pieces.tell({"rows": 100}, {"rows": 0.1}, most)
    assert asked.pieces == [2, 5, MOST_PARTS_PER_CORE * CORES]


def test_where_windows_are_dropped_by_group_rows_lie_everywhere() -> None:
    asked = Asked()
    pieces = WindowPieces(asked, CORES, {"rows"})
    pieces.tell({"rows": 100}, {"rows": 0.1})
    assert asked.pieces == [0]
    pieces.tell({"others": 100}, {"others": 0.1})
    assert asked.pieces[-1] == PARTS_PER_CORE * CORES
