"""`streamshed checkpoint`: what a checkpoint holds, and whether it is whole."""
