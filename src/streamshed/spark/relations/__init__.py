"""Stored relations: files that are read as they are at each micro-batch."""
