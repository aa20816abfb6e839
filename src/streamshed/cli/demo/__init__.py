"""The demo: a network of queries survives a burst, and its answers are compared with the exact ones."""
