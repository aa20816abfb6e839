"""What partitions report of their work, and what is learned from it."""
