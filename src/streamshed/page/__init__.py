"""The page of a run, read from its checkpoint: while it runs, and when it has ended."""
