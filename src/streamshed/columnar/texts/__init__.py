"""Texts of many rows at once: entries of dictionaries, bytes that are UTF-8, and JSON and CSV read into columns."""
