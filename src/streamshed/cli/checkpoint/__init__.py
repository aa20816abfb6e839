"""`streamshed checkpoint`: what a checkpoint holds, whether it is whole, and its partitions."""
