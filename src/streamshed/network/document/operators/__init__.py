"""Operators and queries of a document: of each its keys, how it is read, and how it is written."""
