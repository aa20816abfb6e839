"""Windows that were dropped stay so where nothing tolerates gaps any more, and rows need not be looked at for that."""

from tests.spark.trunks.restart.test_dropping import (
    NONE_TOLERATES_GAPS,
    scenario,
    test_groups_whose_windows_were_not_dropped_are_answered,  # noqa: F401
    test_no_window_is_dropped_that_begins_after_the_stop,  # noqa: F401
    test_one_that_needs_all_windows_has_them_beside_one_that_drops_some,  # noqa: F401
    test_what_was_dropped_is_a_gap_and_all_else_is_exact,  # noqa: F401
)
from tests.thoroughness import thorough

pytestmark = thorough

SCENARIO = scenario(NONE_TOLERATES_GAPS)
