"""What lies in a checkpoint, Spark's files and ours, and how it is read."""
