"""Windowed joins of two streams that shed comparisons, not rows ([G05]); see docs/joins.md."""
