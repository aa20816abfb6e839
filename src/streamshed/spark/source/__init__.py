"""Rows as they come: sources, the backlog, and what Spark reports of what was read."""
