"""Sums over pairs, without the pairs."""
