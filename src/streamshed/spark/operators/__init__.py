"""The operators of all queries as one straight line of columns."""
