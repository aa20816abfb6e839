"""Rows as Arrow columns: expressions of Spark SQL evaluated over whole columns, with Spark's answers or none."""
