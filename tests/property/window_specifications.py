"""Random windows that are short, so that all of their rows can be tried."""

from __future__ import annotations

from hypothesis import strategies as st

from streamshed.network.terms.window import WindowSpecification


@st.composite
def short_windows(draw: st.DrawFn) -> WindowSpecification:
    """Windows of at most 20 microseconds, some of which overlap and some of which begin later than zero."""
    slide = draw(st.integers(1, 9))
    return WindowSpecification(draw(st.integers(slide, 20)), slide, draw(st.integers(0, 8)))
