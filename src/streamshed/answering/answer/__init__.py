"""Partial aggregates made answers."""
