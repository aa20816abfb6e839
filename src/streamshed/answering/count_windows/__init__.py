"""Windows of so many rows: rows numbered, figures of windows."""
