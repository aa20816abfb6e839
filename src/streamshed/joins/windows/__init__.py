"""Basic windows: what waits in them, what they yield, when they are released ([G05] §4)."""
