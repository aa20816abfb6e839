"""What is happening: measured micro-batches, the load model learned from them, arrival rates."""
