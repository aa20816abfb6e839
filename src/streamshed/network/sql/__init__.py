"""Expressions in SQL: their syntax, their meaning, their canonical form."""
