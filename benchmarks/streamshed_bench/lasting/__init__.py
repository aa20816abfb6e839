"""What becomes of a run that goes on: what it holds, and what it leaves on disk."""
