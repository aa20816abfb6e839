"""What a network and its joins take at a load."""
