"""Answers that follow from others of their window and group by arithmetic, and how far off they may be."""
