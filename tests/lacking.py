"""Tests that need a program which a machine may lack: a browser, Prometheus, Postgres, Maven, systemd."""

import os
from typing import Final, NoReturn

import pytest

EVERYTHING: Final = "STREAMSHED_TEST_EVERYTHING"
"""The environment variable with which nothing is skipped: a test whose program is not there fails."""


def lacking(reason: str) -> NoReturn:
    """Skip the test, or fail where `EVERYTHING` is set.

    Args:
        reason: What is not there, and where it comes from.
    """
    if os.environ.get(EVERYTHING):
        pytest.fail(f"{reason}; {EVERYTHING} is set")
    pytest.skip(reason)
