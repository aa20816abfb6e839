"""Rows as they come: sources, stored relations, the backlog, and what Spark reports of what was read."""
