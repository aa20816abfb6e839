"""What a kill must not change, as in the trunk `restart`: killed when answers were written, and nobody knew it yet."""

from tests.spark.trunks.restart.test_killed import (  # noqa: F401
    SCENARIO,
    test_no_answer_is_given_twice,
    test_no_answer_is_lost,
    test_no_gap_is_longer_than_allowed,
    test_sampled_windows_hold_fewer_rows,
    test_states_of_ones_own_hold_each_row_once_and_in_order,
    test_what_is_delivered_is_exact_and_the_rest_are_gaps,
    test_windows_of_rows_are_whole_and_given_once,
)
