"""From sums over samples to values and bounds."""
