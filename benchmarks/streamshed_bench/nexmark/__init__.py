"""The queries of Nexmark that can be asked: beside plain Spark's, and under load."""
