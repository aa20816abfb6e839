"""Which rows are let in: samplers, windows that are dropped, rows that cannot be read."""
