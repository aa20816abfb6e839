"""Rows by columns: what a task does with many rows at once, in Arrow and NumPy, as Spark would do it row by row."""
