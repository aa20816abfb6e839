"""A network put together: sources, joins, windows and the plan table as one query of Spark."""
