"""Aggregates that users write."""
