"""What a checkpoint holds, whether it is whole, and what could be changed of it: read from its files, without Spark."""
