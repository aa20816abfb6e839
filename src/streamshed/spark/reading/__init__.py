"""How much micro-batches read of what waits."""
