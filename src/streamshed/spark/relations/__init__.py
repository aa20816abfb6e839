"""Stored relations: files and tables that are read as they are at each micro-batch."""
