"""Reading topics of a real broker: how fast, how late, and how soon again after a crash."""
