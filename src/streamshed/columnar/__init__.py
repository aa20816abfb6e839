"""Rows as Arrow columns: texts and expressions read as Spark reads them, many rows at a time."""
