"""Joins within a budget ([G05] §6), and on Spark."""
