"""What a checkpoint holds, and whether it is whole: read from its files, without Spark."""
